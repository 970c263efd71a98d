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
      box.ariaLabel = box.matches("pre") ? "code" : box.querySelector("img") ? "picture" : "table";
    } else if (box.ariaLabel) {
      box.removeAttribute("tabindex");
    }
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);
addEventListener("load", reachable);

addEventListener("DOMContentLoaded", () => {
  if (!window.PagefindUI) return;
  document.querySelector("#search > p").remove();
  const ui = new PagefindUI({ element: "#search", showSubResults: true, showImages: false });
  document.querySelector("#search input").ariaLabel = "Search the lessons";
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) ui.triggerSearch(asked);
});
