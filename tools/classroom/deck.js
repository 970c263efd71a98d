// What does not fit on a slide goes on to the next: whole paragraphs, code, outputs, never parts.
const ROOM = 720 - 24;

const parts = (slide) => [...slide.querySelectorAll(
  ".jp-MarkdownOutput > *, .jp-Cell-inputWrapper:not(.jp-MarkdownCell *), .jp-OutputArea-child")];

function bottom(part, slide) {
  return part.getBoundingClientRect().bottom - slide.getBoundingClientRect().top;
}

/** Take everything from ``part`` on into a slide of its own, behind ``slide``. */
function turn(slide, part) {
  const rest = slide.cloneNode(false), stack = slide.parentNode.cloneNode(false);
  const range = document.createRange();
  range.setStartBefore(part);
  range.setEnd(slide, slide.childNodes.length);
  rest.append(range.extractContents());
  stack.append(rest);
  slide.parentNode.after(stack);
  return rest;
}

function paginate() {
  let title = "";
  document.querySelector(".reveal").classList.add("measuring");
  for (let slide = document.querySelector(".slides section section"); slide;) {
    const heading = slide.querySelector("h1, h2, h3");
    if (!heading && title) {
      const running = document.createElement("p");
      running.className = "running";
      running.textContent = title;
      slide.prepend(running);
    }
    title = heading ? heading.textContent.replace("¶", "") : title;
    const all = parts(slide);
    let over = all.findIndex((part) => bottom(part, slide) > ROOM);
    // a heading or a question does not stay behind alone
    while (over > 1 && /^H\d$/.test(all[over - 1].tagName)) over -= 1;
    if (over > 0) turn(slide, all[over]);
    slide = next(slide);
  }
  document.querySelector(".reveal").classList.remove("measuring");
}

function next(slide) {
  const all = [...document.querySelectorAll(".slides section section")];
  return all[all.indexOf(slide) + 1];
}

paginate();
Reveal.initialize({
  width: 1280, height: 720, margin: 0, center: false, hash: true, transition: "none",
  navigationMode: "linear", slideNumber: "c/t", pdfSeparateFragments: false,
  plugins: [RevealNotes],
});
