"""Lessons of the website on paper, printed by a browser whose reader has chosen dark pages."""
import re

import pypdfium2
import pytest
from PIL import ImageChops
from screen import BEYOND, LUMINANCE

from tools.notebooks import nbtext

NOTEBOOKS = [*nbtext.lessons(), nbtext.deeper()[2]]  # which has a page for pencil
PAPERS = {"a4": 210, "letter": 215.9}  # widths in millimetres
MARGIN = 16
SCREEN_ONLY = """header, nav, form, .buttons, .contents, .d2l-piece, .code > summary,
  .answer > summary, main details:not([open], .folded) > summary"""
# What is folded, in parts without formulas.
FOLDED = """() => [...document.querySelectorAll("main details:not([open]) :is(p, li, pre, table)")]
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


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=nbtext.place)
def test_a_print_is_what_the_page_shows_light_and_within_its_paper(visit, path, paper):
    """The first prediction has been answered; what is for class begins pages of its own."""
    width = round((PAPERS[paper] - 2 * MARGIN) / 25.4 * 96)
    page = visit(nbtext.inner(path).with_suffix(".html").as_posix(), width, scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('.answer')?.setAttribute('open', '')")
    assert page.evaluate(BEYOND) == [] and page.locator("body").evaluate(LUMINANCE) > 0.9
    assert page.locator(SCREEN_ONLY).filter(visible=True).count() == 0
    for whole, shown in ((".d2l-explorer", ".d2l-still"), (".answer[open]", ".answer .output")):
        assert page.locator(shown).filter(visible=True).count() == page.locator(whole).count()

    starts, folded = map(page.evaluate, (STARTS, FOLDED))
    assert bool(starts) == (path != NOTEBOOKS[0])
    printed = pypdfium2.PdfDocument(page.pdf(format=paper, print_background=True))
    text = "".join(texts(printed))
    assert [part for part in folded if len(squeezed(part)) > 20 and squeezed(part) in text] == []
    pictures = [sheet.render(scale=0.5).to_pil().convert("RGB") for sheet in printed]
    assert all(picture.getextrema() != ((255, 255),) * 3 for picture in pictures)  # none is empty
    assert min(map(darkest, pictures)) > 80
    tiny = texts(pypdfium2.PdfDocument(page.pdf(format=paper, scale=0.1)))  # few are full
    assert [start for start in starts
            if not any(sheet.startswith(squeezed(start)[:12]) for sheet in tiny)] == []
