// Small helps; without them every page is readable.

// The contents are open beside a wide page, closed above a narrow one.
const contents = document.querySelector(".contents");
const wide = matchMedia("(min-width: 1100px)");
wide.addEventListener("change", () => { if (contents) contents.open = wide.matches; });

// The contents show where one is.
const links = [...document.querySelectorAll(".contents a")];
const headings = [...document.querySelectorAll("main h2[id]")];
function place() {
  const last = headings.findLast((each) => each.getBoundingClientRect().top < innerHeight / 4);
  for (const link of links) {
    const leads = [link.hash.slice(1), decodeURIComponent(link.hash.slice(1))].includes(last?.id);
    link.ariaCurrent = leads ? "true" : null;
  }
}
addEventListener("scroll", place, { passive: true });

// Answers to a question or a choice are buttons: a click marks the answer and shows the reason of
// its letter.
const choices = ":is(.celltag_question, .celltag_exercise):has(details)";
for (const question of document.querySelectorAll(choices)) {
  const reasons = question.querySelector("details");
  for (const item of question.querySelectorAll("ul:not(details ul) > li")) {
    const button = document.createElement("button"), letter = item.textContent.trim()[0];
    button.className = "option";
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const reason = [...reasons.querySelectorAll("li")]
        .find(({ textContent }) => textContent.trim().startsWith(letter));
      const right = reason.textContent.trim().slice(1).trim()
        .startsWith(document.body.dataset.right);
      button.classList.add(right ? "right" : "wrong");
      button.ariaDescription = reason.textContent;
      for (const each of reasons.open ? [] : reasons.querySelectorAll("li")) each.hidden = true;
      reason.hidden = false;
      reasons.open = true;
    });
  }
}

// What can be scrolled sideways can be reached by keyboard.
function reachable() {
  for (const box of document.querySelectorAll("pre, .wide, .output_html")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.role = "group";
      const { code, picture, table } = document.body.dataset;
      box.ariaLabel = box.matches("pre") ? code : box.querySelector("img") ? picture : table;
    } else if (box.ariaLabel) {
      box.removeAttribute("tabindex");
    }
  }
}
for (const [when, type] of [["beforeprint", "none"], ["afterprint", "image/svg+xml"]]) {
  addEventListener(when, () => {  // paper has the wide drawings
    for (const source of document.querySelectorAll("picture source")) source.type = type;
  });
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);
addEventListener("load", reachable);

// In the index each Chinese character is a word (website.py); what was found is shown without gaps.
const apart = (term) => term.replace(/(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])/g, " ");
const GAP = /(?<=[\u3000-\uffef](<\/mark>)?) (?=(<mark>)?[\u3000-\uffef])/g;
function together(result) {
  for (const part of [result, result.meta, ...result.sub_results]) {
    for (const key of ["title", "excerpt"]) if (part[key]) part[key] = part[key].replace(GAP, "");
  }
  return result;
}

addEventListener("DOMContentLoaded", () => {
  if (!window.PagefindUI) return;
  const place = document.querySelector("#search");
  place.querySelector("p").remove();
  const ui = new PagefindUI({ element: "#search", showSubResults: true, showImages: false,
    processTerm: apart, processResult: together,
    excerptLength: document.documentElement.lang === "zh" ? 40 : 0 });
  place.querySelector("input").ariaLabel = place.dataset.label;
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) ui.triggerSearch(asked);
});
