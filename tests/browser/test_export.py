"""Exported pages, opened from disk without a network: whole, readable, and explorers play."""
import json
import re

import pytest
from pieces import LESSONS, STEPS
from screen import axe, expect, play, said

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


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem[:2] in LESSONS],
                         ids=lambda path: path.stem)
def test_its_explorer_plays(page, path):
    piece = page.locator(".d2l-piece").first
    said(piece).not_to_be_empty()
    expect(page.locator(".d2l-still:visible")).to_have_count(0)
    before = piece.locator("xpath=ancestor::*[contains(@class, 'output_subarea')]")
    enter = "(output) => { output.tabIndex = -1; output.focus(); }"
    play(piece, STEPS[LESSONS[path.stem[:2]]], lambda: before.evaluate(enter))


# ---- what must be noticed ---------------------------------------------------------------------

def test_no_line_of_chinese_begins_with_a_sign_after_a_formula():
    for given, whole in (("比$n^2$。", True), ("（$n$），", True), ("$n^2$. So", False),
                         ("$$n^2$$\n。", False), ("比$n^2$多。", False)):
        assert ('<span class="whole"><math' in export.html(given, "zh")) == whole, given
