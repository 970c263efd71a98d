// Lays out the slides: what does not fit goes on to the next slide, by whole paragraphs, code and
// outputs. Words have one size, and so has code; a prediction stands alone.
const BOTTOM = 680;
const FLOW = ".jp-MarkdownOutput > *, .jp-CodeCell > .jp-Cell-inputWrapper, .jp-OutputArea-child";
const every = (name, root = document) => [...root.querySelectorAll(name)];
const slides = () => every(".slides > section > section");

const inside = (part, slide) =>
  part.getBoundingClientRect().bottom - slide.getBoundingClientRect().top <= BOTTOM;

/** What a paragraph asks to predict becomes a part of its own, with the options behind it. */
function ask(word) {
  const paragraph = word.parentNode, asked = document.createElement("div");
  const range = document.createRange(), next = paragraph.nextElementSibling;
  range.setStartBefore(word);
  range.setEnd(paragraph, paragraph.childNodes.length);
  asked.className = "predict";
  asked.append(range.extractContents(), ...(next?.matches("ul") ? [next] : []));
  paragraph.after(asked);
  if (!paragraph.textContent.trim()) paragraph.remove();
}

/** An answer comes with the next step; a link to what the deck does not have is text, and an empty
 * corner of a table no heading. */
function prepare() {
  for (const word of every(".slides .jp-MarkdownOutput > p > strong")) {
    if (/^(Predict|先?预测)/.test(word.textContent)) ask(word);
  }
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
const isAlone = (part) => isExplorer(part) || part.matches(".predict");
const isHeading = (part) => /^H\d$/.test(part.tagName);
const isOutput = (part) => part.matches(".jp-OutputArea-child");
const leads = (part) => isHeading(part) ||
  (part.tagName === "P" && /[:：]$/.test(part.textContent.trim()));

/** The index of the part with which the next slide has to begin, or -1. What leads to something
 * stays with it, a paragraph with the output that it explains. Explorers and predictions have
 * slides of their own, these under their heading. */
function ending(parts, slide) {
  const end = parts.findIndex((part, i) => i > 0 && (
    isExplorer(part) || (isAlone(part) && !isHeading(parts[i - 1])) || isAlone(parts[i - 1]) ||
    !inside(part, slide)));
  if (end < 2 || isAlone(parts[end - 1]) || isAlone(parts[end])) return end;
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
    takeNotes(slide);
  }
  for (const step of every(".slides .fragment")) {  // what was in it is on another slide
    if (!step.textContent.trim() && !step.querySelector("img, svg")) step.className = "";
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
