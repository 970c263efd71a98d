"""Exported pages, opened from disk without network: nothing is asked for, formulas are set, pictures have words, explorers play; what is broken is noticed."""
import json
import re

import nbformat
import pytest
from nbconvert import HTMLExporter
from readme import ROOT
from pieces import LESSONS, STILL
from screen import axe, play, result, watch

pytestmark = pytest.mark.browser
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Formulas that take room; dollars that are left in text; whether the formulas' own font is used.
FORMULAS = """() => ({
  set: [...document.querySelectorAll("math")].filter((math) => math.closest("details") || math.getBoundingClientRect().width > 2).length,
  raw: [...document.querySelectorAll(".jp-MarkdownOutput :is(p, li, td, th, h1, h2, h3, summary)")].map((part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("code, pre, math").forEach((code) => code.remove());
    return copy.textContent; }).filter((text) => /\\$|\\\\[a-z]+/.test(text)),
  font: document.querySelector("math") === null || [...document.fonts].some(({ family, status }) => family === "formulas" && status === "loaded") })"""
PICTURES = """() => [...document.images].filter((image) => !image.closest("[hidden]") && !(image.naturalWidth && image.alt && !image.alt.startsWith("No description")))
  .map((image) => image.outerHTML.slice(0, 90))"""
DEAD = """() => [...document.querySelectorAll("a[href^='#']")].map((link) => link.getAttribute("href").slice(1))
  .filter((id) => !document.getElementById(id) && !document.getElementById(decodeURIComponent(id)))"""


@pytest.fixture(scope="module")
def export():
    import export  # needs what pyproject.toml lists under html
    return export


@pytest.fixture(scope="module")
def folder(export, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for path in NOTEBOOKS:
        export.export(path, folder)
    return folder


@pytest.fixture
def visit(browser):
    pages = []

    def visit(path):
        page = watch(browser.new_page(viewport={"width": 1280, "height": 900}))
        pages.append(page)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url) if not request.url.startswith("data:") else None)
        page.goto(path.as_uri())
        page.evaluate("() => document.fonts.ready")
        return page

    yield visit
    for page in pages:
        page.close()


def formulas(path) -> int:
    """How many formulas the notebook's text has."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = (re.sub(r"(`+).+?\1", "", "".join(cell["source"]), flags=re.S) for cell in cells if cell["cell_type"] == "markdown")
    return sum(len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", text, re.S)) for text in texts)


def tiny(*texts):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text) for text in ("# 02 Tiny", *texts)])


# ---- every page -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_needs_nothing_else(folder, visit, path):
    page = visit(folder / f"{path.stem}.html")
    assert page.errors == [] and page.requests == [] and len(page.asked) == 1
    assert page.evaluate(FORMULAS) == {"set": formulas(path), "raw": [], "font": True}
    assert page.evaluate(PICTURES) == [] and page.evaluate(DEAD) == []
    for link in page.locator("a[href$='.html'], a[href$='.ipynb']").all():
        href = link.get_attribute("href")
        assert href.startswith("http") or (folder / href).exists(), href
    assert page.title() == json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"][0].strip("# \n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_prediction_is_opened_by_hand(folder, visit, path):
    page, cells = visit(folder / f"{path.stem}.html"), json.loads(path.read_text(encoding="utf-8"))["cells"]
    answers = page.locator("details.folded:has(.jp-OutputArea-output)")
    assert answers.count() == sum("predict" in cell["metadata"]["tags"] for cell in cells if cell["cell_type"] == "code")
    for answer in answers.all():
        assert answer.locator(".jp-OutputArea-output").first.is_hidden()
        answer.locator("summary").first.press("Enter")
        assert answer.locator(".jp-OutputArea-output").first.is_visible()
    shown = page.locator("details.folded:not(:has(.jp-OutputArea-output))")
    assert shown.count() == sum("source_hidden" in cell["metadata"].get("jupyter", {}) for cell in cells)
    page.set_viewport_size({"width": 853, "height": 480})  # a projector of 1280 x 720 at 150 %
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_outputs_are_for_all(folder, visit, path):
    page = visit(folder / f"{path.stem}.html")
    assert axe(page, ".jp-OutputArea-output", "math") == []


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem[:2] in LESSONS], ids=lambda path: path.stem)
def test_its_explorer_plays(folder, visit, path):
    page = visit(folder / f"{path.stem}.html")
    piece = page.locator(".d2l-piece")
    assert result(piece) and page.locator(".d2l-still").is_hidden()
    before = piece.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')]")
    play(piece, STILL[LESSONS[path.stem[:2]]], before.focus)
    assert page.errors == [] and page.requests == []


# ---- what must be noticed ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("formula", [r"\foo x", r"\frac{1}", "x^{2", r"\left( x", r"\begin{bmatrix} 1", "x^", r"\sqrt"])
def test_a_broken_formula_is_refused(export, formula):
    with pytest.raises(ValueError, match="can't be set"):
        export.page(tiny(f"Here ${formula}$ stands."))


@pytest.mark.parametrize("formula, shown", [(r"\mathbf x", "𝐱"), (r"\mathbb R^d", "ℝd"), (r"\boldsymbol\Pi", "𝜫"), (r"\mathbb{E}", "𝔼"), ("x_i", "xi")])
def test_letters_keep_their_style(export, formula, shown):
    assert export.BeautifulSoup(export.mathml(formula), "html.parser").text == shown


def test_formulas_that_are_not_set_are_noticed(tmp_path, visit):
    (tmp_path / "plain.html").write_text(HTMLExporter().from_notebook_node(tiny("Here $x$ stands."))[0], encoding="utf-8")
    page = visit(tmp_path / "plain.html")
    found = page.evaluate(FORMULAS)
    assert found["set"] == 0 and found["raw"] == ["Here $x$ stands."]
    assert page.requests  # MathJax, from the network


def test_a_page_that_asks_for_something_is_noticed(export, tmp_path, visit):
    made = export.page(tiny('Here <img src="https://example.org/x.png"> stands.'))
    (tmp_path / "asks.html").write_text(made, encoding="utf-8")
    assert visit(tmp_path / "asks.html").errors  # the page's own policy forbids it
    (tmp_path / "asks.html").write_text(re.sub("<meta[^>]*Content-Security-Policy[^>]*>", "", made), encoding="utf-8")
    assert visit(tmp_path / "asks.html").requests == ["https://example.org/x.png"]


def test_names_that_are_none_get_a_sentence(export):
    with pytest.raises(SystemExit, match="No notebook is called 99"):
        export.main(["99"])
