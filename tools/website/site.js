// Small helps; without them every page is readable.

// The contents are open beside a wide page, closed above a narrow one.
const contents = document.querySelector(".contents");
const wide = matchMedia("(min-width: 1100px)");
const fold = () => { if (contents) contents.open = wide.matches; };
wide.addEventListener("change", fold);
fold();

// What can be scrolled sideways can be reached by keyboard.
function reachable() {
  for (const box of document.querySelectorAll("pre, .wide, .output_html")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.role = "group";
      box.ariaLabel = box.matches("pre") ? "code" : "table";
    } else if (box.ariaLabel) {
      box.removeAttribute("tabindex");
    }
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);
addEventListener("load", reachable);

// A link to a cell that is folded away opens it.
function unfold() {
  const name = location.hash.slice(1);
  const target = document.getElementById(name) ?? document.getElementById(decodeURI(name));
  for (let el = target; el; el = el.parentElement) if (el.matches("details")) el.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
if (location.hash) unfold();

// Print everything: what is folded is opened for it, and folded again.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const box of folded) box.open = true;
});
addEventListener("afterprint", () => {
  for (const box of folded) box.open = false;
});

addEventListener("DOMContentLoaded", () => {
  if (!window.PagefindUI) return;
  document.querySelector("#search > p").remove();
  const ui = new PagefindUI({ element: "#search", showSubResults: true, showImages: false });
  document.querySelector("#search input").ariaLabel = "Search the lessons";
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) ui.triggerSearch(asked);
});
