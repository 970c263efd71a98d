"""Exported pages, opened from disk without a network: whole, readable, and explorers alive."""
import json
import re

import nbformat
import pytest
from pieces import LESSONS
from screen import axe, becomes, expect, said

from tools import ROOT
from tools.publish import pages as export

pytestmark = pytest.mark.browser
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# Formulas that take room; dollars that are left in text; whether the formulas' own font is used.
FORMULAS = """() => {
  const shows = (math) => math.closest("details") || math.getBoundingClientRect().width > 2;
  const texts = ":is(p, li, td, th, h1, h2, h3, summary)";
  const raw = [...document.querySelectorAll(".text_cell_render " + texts)].map((part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("code, pre, math").forEach((code) => code.remove());
    return copy.textContent;
  });
  const fonts = [...document.fonts].filter(({ family }) => family === "formulas");
  return {
    set: [...document.querySelectorAll("math")].filter(shows).length,
    raw: raw.filter((text) => /\\$|\\\\[a-z]+/.test(text)),
    font: !document.querySelector("math") || fonts.some(({ status }) => status === "loaded"),
  };
}"""
# Pictures that don't load or have no words.
PICTURES = """() => [...document.images].filter((image) => !image.closest("[hidden]"))
  .filter(({ naturalWidth, alt }) => !naturalWidth || !alt || alt.startsWith("No description"))
  .map((image) => image.outerHTML.slice(0, 90))"""
# Links within the page that lead nowhere.
DEAD = """() => [...document.querySelectorAll("a[href^='#']")]
  .map((link) => link.getAttribute("href").slice(1))
  .filter((id) => ![id, decodeURIComponent(id)].some((each) => document.getElementById(each)))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for path in NOTEBOOKS:
        export.write(path, folder)
    return folder


@pytest.fixture
def page(opened, folder, path):
    """The page of a notebook, open."""
    page = opened()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto((folder / f"{path.stem}.html").as_uri())
    page.evaluate("() => document.fonts.ready")
    return page


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def formulas(path) -> int:
    """How many formulas the notebook's text has."""
    texts = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown"]
    bare = re.sub(r"(`+).+?\1", "", "\n\n".join(texts), flags=re.S)
    return len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", bare, re.S))


# ---- every page -------------------------------------------------------------------------------

@every_notebook
def test_a_page_needs_nothing_else(folder, page, path):
    asked = [url for url in page.asked if not url.startswith("data:")]
    assert len(asked) == 1
    assert (folder / f"{path.stem}.html").stat().st_size < 1_000_000
    assert page.evaluate(FORMULAS) == {"set": formulas(path), "raw": [], "font": True}
    assert page.evaluate(PICTURES) == [] and page.evaluate(DEAD) == []
    for link in page.locator("a[href$='.html'], a[href$='.ipynb']").all():
        href = link.get_attribute("href")
        assert href.startswith("http") or (folder / href).exists(), href
    assert page.title() == cells(path)[0]["source"][0].strip("# \n")
    if path.stem[:2] in LESSONS:
        said(page.locator(".d2l-piece").first).not_to_be_empty()
        expect(page.locator(".d2l-still:visible")).to_have_count(0)
    assert axe(page, ".output_subarea", "math") == []


@every_notebook
def test_a_prediction_is_opened_by_hand(page, path):
    answers = page.locator("details.folded:has(.output_subarea)")
    assert answers.count() == sum("predict" in cell["metadata"]["tags"] for cell in cells(path)
                                  if cell["cell_type"] == "code")
    for answer in answers.all():
        output = answer.locator(".output_subarea").first
        expect(output).to_be_hidden()
        answer.locator("summary").first.press("Enter")
        expect(output).to_be_visible()
    sources = page.locator("details.folded:not(:has(.output_subarea))")
    folded = [cell["metadata"].get("jupyter", {}).get("source_hidden") for cell in cells(path)]
    assert sources.count() == folded.count(True)
    page.set_viewport_size({"width": 853, "height": 480})  # a projector of 1280 x 720 at 150 %
    page.wait_for_function("innerWidth === 853 && document.documentElement.scrollWidth <= 853")


# ---- what must be noticed ---------------------------------------------------------------------

def test_no_line_of_chinese_begins_with_a_sign_after_a_formula():
    for given, whole in (("比$n^2$。", True), ("（$n$），", True), ("$n^2$. So", False),
                         ("$$n^2$$\n。", False), ("比$n^2$多。", False)):
        assert ('<span class="whole"><math' in export.html(given, "zh")) == whole, given


TABLE = "\n".join("|" + word * 13 for word in ("a|", "-|", "unbreakable|"))
FORMULA = "$$" + " + ".join(["x_1 y_1 z_1"] * 12) + "$$"


def test_what_is_wider_than_a_phone_scrolls_in_its_place_and_shows_it(opened, tmp_path):
    output = nbformat.v4.new_output("display_data", {
        "text/html": f"<table><tr>{'<td>unbreakable</td>' * 13}</tr></table>"})
    wide = [nbformat.v4.new_markdown_cell(text) for text in ("# 02 Tiny", TABLE, FORMULA)]
    made = export.page(nbformat.v4.new_notebook(
        cells=[*wide, nbformat.v4.new_code_cell("1", outputs=[output])]))
    (tmp_path / "wide.html").write_text(made, encoding="utf-8")
    page = opened(352, has_touch=True, is_mobile=True)
    page.goto((tmp_path / "wide.html").as_uri())
    boxes = page.locator(".wide, .output_html")
    assert boxes.count() == 3
    for box in boxes.all():
        assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
        shade = box.evaluate("(box) => getComputedStyle(box).backgroundAttachment")
        assert "local" in shade and "scroll" in shade  # a shade that what ends there covers
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    boxes.first.press("ArrowRight")
    becomes(lambda: boxes.first.evaluate("(box) => box.scrollLeft > 0"), True)
