// Lays out the slides: what does not fit goes on to the next slide, by whole paragraphs, code and
// outputs. Words have one size, and so has code; a prediction ends its slide.
const [TOP, BOTTOM, RUNNING] = [16, 680, 30];  // of a slide, and of the heading that runs on
const FLOW = ".jp-MarkdownOutput > *, .jp-CodeCell > .jp-Cell-inputWrapper, .jp-OutputArea-child";
const every = (name, root = document) => [...root.querySelectorAll(name)];
const slides = () => every(".slides > section > section");

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
  const { predict } = document.body.dataset;
  for (const word of every(".slides .jp-MarkdownOutput > p > strong")) {
    const head = word.textContent.slice(0, predict.length + 1);  // 预测 also stands in 先预测
    if (head.includes(predict)) ask(word);
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

const isExplorer = (part) => part.querySelector(".d2l-explorer");
const isHeading = (part) => /^H\d$/.test(part.tagName);
const leads = (part) => isHeading(part) ||
  (part.tagName === "P" && /[:：]$/.test(part.textContent.trim()));

/** Whether a slide has to end between two parts: before what answers a prediction, and around an
 * explorer, which has a slide of its own. */
const mustTurn = (before, after) =>
  before.matches(".predict") || isExplorer(before) || isExplorer(after);

/** Whether it had better not: what leads to something stays with it, and an output with the
 * paragraph that explains it. */
const belong = (before, after) => leads(before) ||
  (after.tagName === "P" && before.matches(".jp-OutputArea-child"));

/** The lesson's picture stands below its question, as large as there is room. */
function fitPicture(slide) {
  const picture = slide.querySelector("img");
  if (!picture) return;
  const [above, top] = [picture, slide].map((part) => part.getBoundingClientRect().top);
  const room = BOTTOM - 24 - (above - top);
  picture.style.maxHeight = `${room / picture.currentCSSZoom}px`;
}

/** The index of the part with which the next slide has to begin, or -1. Of all ways to cut the
 * parts into slides this is the one that leaves the least room empty, in squares: so two slides
 * that are half full come before a full one and one that is nearly empty. */
function ending(parts, slide) {
  const top = slide.getBoundingClientRect().top;
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const best = Array(parts.length + 1).fill({ cost: 0, end: -1 });  // for the parts from each on
  for (let i = parts.length - 1; i >= 0; i -= 1) {
    best[i] = { cost: Infinity };
    const first = i === 0 ? boxes[0].top - top : isHeading(parts[i]) ? TOP : TOP + RUNNING;
    let bottom = 0;
    for (let end = i + 1; end <= parts.length; end += 1) {
      if (end > i + 1 && mustTurn(parts[end - 2], parts[end - 1])) break;
      bottom = Math.max(bottom, boxes[end - 1].bottom);
      const free = BOTTOM - first - (bottom - boxes[i].top);
      if (free < 0 && end > i + 1) break;
      const torn = end < parts.length && belong(parts[end - 1], parts[end]);
      const cost = best[end].cost + Math.max(free, 0) ** 2 + (torn ? BOTTOM ** 2 : 0);
      if (cost < best[i].cost) best[i] = { cost, end: end < parts.length ? end : -1 };
    }
  }
  return best[0].end;
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
  fitPicture(slides()[0]);
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
