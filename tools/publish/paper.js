// Print all text: what is folded is opened for it, but for set-up and drawings' code, which
// stays out, and folded again. Interactive pieces draw themselves anew, as they are by day.
let folded = [];
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "print";
  folded = [...document.querySelectorAll("details:not([open], .code)")];
  for (const box of folded) box.open = true;
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  for (const box of folded) box.open = false;
});
