"""Lessons of the website on paper, printed by a browser whose reader has chosen dark pages."""
import re

import nbformat
import pypdfium2
import pytest
from PIL import ImageChops
from screen import LUMINANCE

from tools import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAPERS = {"a4": 210, "letter": 215.9}  # widths in millimetres
MARGIN = 16
SCREEN_ONLY = """header, nav, form, .buttons, .contents, .d2l-piece, .code > summary,
  .answer > summary, main details:not([open], .folded, .celltag_one-screen *) > summary"""
# What reaches beyond the printable width, or is cut off within it.
BEYOND = """() => [...document.querySelectorAll("body *")].filter((part) => {
  const { width, left, right } = part.getBoundingClientRect();
  const cut = getComputedStyle(part).overflowX !== "visible"
    && part.scrollWidth > part.clientWidth + 1;
  return width && (right > innerWidth + 1 || left < -1 || cut);
}).map((part) => part.outerHTML.slice(0, 90))"""
# What is folded, and the one screen, in parts without formulas.
FOLDED = """() => [...document.querySelectorAll("main details:not([open]) :is(p, li, pre, table)")]
  .filter((part) => !part.closest(".celltag_one-screen, [id$='one-screen-code']"))
  .filter((part) => !part.querySelector("math, p, ul, ol")).map((part) => part.textContent)"""
ONE_SCREEN = """() => [...document.querySelectorAll(
    ".celltag_one-screen :is(p, li), [id$='one-screen-code'] pre")]
  .filter((part) => !part.querySelector("math, p, ul, ol")).map((part) => part.textContent)"""
# The first line of the questions, the one screen and a page for pencil, and of what follows each.
STARTS = """() => {
  const kind = ({ id }) => id.match(/=question-|=one-screen|pencil/)?.[0];
  const cells = [...document.querySelectorAll("div.cell")].filter((cell) => cell.innerText.trim());
  return cells.filter((cell, i) => i && kind(cell) !== kind(cells[i - 1]))
    .map((cell) => cell.innerText.trim().split("\\n")[0]);
}"""


def squeezed(text):
    """Text without its spaces and ends of lines, which a PDF has elsewhere."""
    return re.sub(r"\s", "", text)


def texts(pdf):
    return [squeezed(sheet.get_textpage().get_text_bounded()) for sheet in pdf]


def darkest(picture):
    """The brightest colour of the darkest square of 8 pixels, 0 to 255."""
    red, green, blue = picture.reduce(8).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue).getextrema()[0]


@pytest.fixture(params=PAPERS)
def on_paper(visit, request):
    """Open a lesson as wide as it is printed; its first prediction has been answered."""
    def on_paper(path):
        width = round((PAPERS[request.param] - 2 * MARGIN) / 25.4 * 96)
        page = visit(f"{path.stem}.html", width, scheme="dark")
        page.emulate_media(media="print")
        page.evaluate("document.querySelector('.answer')?.setAttribute('open', '')")
        page.paper = request.param
        return page
    return on_paper


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_a_page_fits_its_paper_and_leaves_out_what_is_for_screens(on_paper, path):
    page = on_paper(path)
    assert page.evaluate(BEYOND) == [] and page.locator("body").evaluate(LUMINANCE) > 0.9
    assert page.locator(SCREEN_ONLY).filter(visible=True).count() == 0
    for whole, shown in ((".d2l-explorer", ".d2l-still"), (".answer[open]", ".answer .output")):
        assert page.locator(shown).filter(visible=True).count() == page.locator(whole).count()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_a_print_is_light_and_without_solutions_and_parts_for_class_are_apart(on_paper, path):
    page = on_paper(path)
    starts, folded, shown = map(page.evaluate, (STARTS, FOLDED, ONE_SCREEN))
    cells = {cell.id for cell in nbformat.read(path, as_version=4).cells}
    assert bool(starts) == bool(shown) == bool({"question-1", "one-screen"} & cells)
    printed = pypdfium2.PdfDocument(page.pdf(format=page.paper, print_background=True))
    text = "".join(texts(printed))
    assert [part for part in folded if len(squeezed(part)) > 20 and squeezed(part) in text] == []
    assert [part for part in shown if squeezed(part) not in text] == []
    pictures = [sheet.render(scale=0.5).to_pil().convert("RGB") for sheet in printed]
    assert all(picture.getextrema() != ((255, 255),) * 3 for picture in pictures)  # none is empty
    assert min(map(darkest, pictures)) > 80
    tiny = texts(pypdfium2.PdfDocument(page.pdf(format=page.paper, scale=0.1)))  # few are full
    assert [start for start in starts
            if not any(sheet.startswith(squeezed(start)[:12]) for sheet in tiny)] == []
