// Lays out the slides at the smallest letters that can be read in a hall: what does not fit goes on
// to the next slide, by whole paragraphs, code and outputs. Then each slide grows to fill its room.
const BOTTOM = 680, RIGHT = 1280 - 48 + 1, GROW = [1.5, 1.4, 1.3, 1.2, 1.1, 1];
const FLOW = ".jp-MarkdownOutput > *, .jp-CodeCell > .jp-Cell-inputWrapper, .jp-OutputArea-child";
const every = (name, root = document) => [...root.querySelectorAll(name)];
const slides = () => every(".slides > section > section");

/** Whether a part of the slide lies within its room; ``wide``: to the right as well. */
function inside(part, slide, wide) {
  const { right, bottom } = part.getBoundingClientRect(), { left, top } =
    slide.getBoundingClientRect();
  return bottom - top <= BOTTOM && (!wide || right - left <= RIGHT);
}

function fits(slide) {
  const parts = every(`:is(${FLOW}), :is(${FLOW}) *`, slide);
  return parts.every((part) => inside(part, slide, true));
}

/** Enlarge the slide as far as it fits; explorers fill their slides by themselves. */
function grow(slide) {
  const steps = isExplorer(slide) ? [1] : GROW;
  steps.find((step) => {
    slide.style.setProperty("--grow", step);
    return fits(slide);
  });
}

/** An answer comes with the next step; a link to what the deck does not have is text, and an empty
 * corner of a table no heading. */
function prepare() {
  for (const corner of every("th:empty")) corner.replaceWith(document.createElement("td"));
  for (const anchor of every(".anchor-link")) anchor.remove();
  for (const link of every('.slides a[href^="#"]')) link.replaceWith(...link.childNodes);
  for (const folded of every(".slides details")) {
    const step = document.createElement("div");
    step.className = "fragment";
    step.append(...[...folded.childNodes].filter(({ tagName }) => tagName !== "SUMMARY"));
    folded.replaceWith(step);
  }
}

const isExplorer = (part) => part?.querySelector(".d2l-explorer");
const isOutput = (part) => part.matches(".jp-OutputArea-child");
const leads = (part) => /^H\d$/.test(part.tagName) ||
  (part.tagName === "P" && /[:：]$/.test(part.textContent.trim()));

/** The index of the part with which the next slide has to begin, or -1. What leads to something
 * stays with it, a paragraph with the output that it explains. Explorers have their own slides. */
function ending(parts, slide) {
  const end = parts.findIndex((part, i) =>
    i > 0 && (isExplorer(part) || isExplorer(parts[i - 1]) || !inside(part, slide)));
  if (end < 2 || isExplorer(parts[end - 1])) return end;
  let better = end;
  if (parts[end].tagName === "P" && isOutput(parts[end - 1])) better -= 1;
  while (better > 0 && leads(parts[better - 1])) better -= 1;
  return better > 0 ? better : end;
}

/** Take everything from ``part`` on into a slide of its own, behind ``slide``. */
function turn(slide, part) {
  const rest = slide.cloneNode(false), stack = slide.parentNode.cloneNode(false);
  const range = document.createRange();
  range.setStartBefore(part);
  range.setEnd(slide, slide.childNodes.length);
  rest.append(range.extractContents());
  // nobody waits before an empty slide
  const step = rest.firstElementChild;
  if (step.matches(".fragment")) step.classList.remove("fragment");
  stack.append(rest);
  slide.parentNode.after(stack);
}

/** A slide without a heading has the last one, small, above it. */
function head(slide, title) {
  const heading = slide.querySelector("h1, h2, h3");
  if (heading || !title) return heading?.textContent;
  const running = document.createElement("p");
  running.className = "running";
  running.textContent = title;
  slide.prepend(running);
  return title;
}

/** The teacher's notes: what stands in NOTES of the slide's cells, and how late it is then. */
function takeNotes(slide) {
  const notes = every(".jp-Cell", slide).map((cell) => NOTES[cell.id.slice("cell-id=".length)]);
  const aside = document.createElement("aside");
  aside.className = "notes";
  aside.innerHTML = notes.map(({ words }) => words).join("") + notes.at(-1).minute;
  slide.append(aside);
}

function layOut() {
  document.querySelector(".reveal").classList.add("measuring");
  prepare();
  let title = "";
  for (let i = 0; i < slides().length; i += 1) {
    const slide = slides()[i];
    title = head(slide, title);
    const parts = every(FLOW, slide), end = ending(parts, slide);
    if (end > 0) turn(slide, parts[end]);
    grow(slide);
    takeNotes(slide);
  }
  document.querySelector(".reveal").classList.remove("measuring");
}

// In an explorer all keys are the explorer's, until Escape leaves it.
function isForTheDeck(event) {
  const explorer = document.activeElement.closest(".d2l-explorer");
  if (explorer && event.key === "Escape") document.activeElement.blur();
  return !explorer;
}

addEventListener("load", () => {  // explorers have been drawn by then
  layOut();
  Reveal.initialize({
    width: 1280, height: 720, margin: 0, maxScale: 4, center: false, hash: true,
    transition: "none", backgroundTransition: "none", controls: false, navigationMode: "linear",
    slideNumber: "c/t", pdfSeparateFragments: false, keyboardCondition: isForTheDeck,
    plugins: [RevealNotes],
  });
});
