"""Write PDFs to print or project into dist/handout, each on A4 and on US letter: `make handout`.

    cheat-sheet        the cells one-screen and one-screen-code, four lessons a page
    worksheet          the cells *pencil-page, with boxes to write into
    worksheet-answers  the same with the boxes filled
    questions          the cells question-*, one a page, to project or hold up for a vote
    cards              A, B, C and D to cut out and vote with

All is text and lines, in black. Letters are as large as everything fits.
"""
import pathlib
import re
import sys
from typing import NamedTuple

import nbformat
from bs4 import BeautifulSoup
from markupsafe import Markup
from nbconvert.filters.markdown_mistune import MarkdownWithMath

from tools import setup
from tools.browser import PROGRAM, ROOT_NEEDS
from tools.publish.pages import Renderer, font, frame, letters_of, text_of, title_of
from tools.notebooks.nbtext import chosen
from tools.notebooks.nbtext import lessons as english

PAPERS = {"a4": (210, 297), "letter": (215.9, 279.4)}  # millimetres
MARGIN = 11
SCREEN = re.compile(r"\b[A-Z][^.\n]*\bcells?\b[^.\n]*\. ?")  # a sentence about cells
# Gives letters the largest size, in points, at which nothing sticks out of its box, and returns it;
# 0 if there is none.
FIT = """([least, most]) => {
  const wide = [...document.querySelectorAll(".box, .box :is(p, li, td, pre, table)")];
  const high = [...document.querySelectorAll(".box")];
  for (let size = most; size >= least; size = Math.round(10 * size - 1) / 10) {
    document.documentElement.style.fontSize = `${size}pt`;
    if (wide.every((el) => el.scrollWidth <= el.clientWidth) &&
        high.every((el) => el.scrollHeight <= el.clientHeight)) return size;
  }
  return 0;
}"""


class Lesson(NamedTuple):
    title: str
    cells: dict[str, str]  # by id

    @classmethod
    def read(cls, path: pathlib.Path) -> "Lesson":
        notebook = nbformat.read(path, as_version=4)
        return cls(title_of(notebook), {cell.id: cell.source for cell in notebook.cells})

    def part(self, name: str) -> BeautifulSoup:
        """A cell of text as HTML, without its fold and sentences about cells."""
        made = html(SCREEN.sub("", self.cells[name]))
        if fold := made.details:
            fold.summary.decompose()
            fold.unwrap()
        return made

    def code(self) -> BeautifulSoup:
        """The code of one screen, without its title and imports."""
        lines = re.sub(r"(?m)^(# @title|import|from) .*\n\s*", "", self.cells["one-screen-code"])
        return html(f"```python\n{lines}\n```")


class Handout(NamedTuple):
    """HTML to print. What lies in a ``.box`` must fit into it, in letters of ``least`` to ``most``
    points."""

    title: str
    body: str
    landscape: bool
    least: float
    most: float


def html(text: str) -> BeautifulSoup:
    """Markdown as HTML, without links: paper leads nowhere."""
    renderer = Renderer(escape=False, exclude_anchor_links=True)
    made = BeautifulSoup(MarkdownWithMath(renderer=renderer).render(text), "html.parser")
    for link in made("a"):
        link.unwrap()
    return made


# ---- what is handed out --------------------------------------------------------------------------

def sheets(lessons: list[Lesson], filled: bool):
    """Title, page and solution of each page to print, with boxes in place of the last column, which
    says how many numbers are wanted."""
    for lesson in lessons:
        for name in [name for name in lesson.cells if name.endswith("pencil-page")]:
            page = lesson.part(name)
            page.h2.string = page.h2.text.removesuffix(" · deeper")
            solution = lesson.part(f"solution-{name.removesuffix('-page')}")
            answers = dict(re.findall(r"(\w+): \[(.*)\]", solution.pre.extract().text))
            page("th")[-1].string = "numbers"
            for row in page.tbody("tr"):
                first, last = row("td")[0], row("td")[-1]
                numbers = answers[first.text].split(",") if filled else [""] * int(last.text)
                boxes = "".join(f"<i>{number}</i>" for number in numbers)
                last.replace_with(BeautifulSoup(f"<td>{boxes}</td>", "html.parser"))
            yield lesson.title, page, solution


def asked(lessons: list[Lesson]):
    """Title and text of each question, without its reasons."""
    for lesson in lessons:
        for name in lesson.cells:
            if re.fullmatch(r"question-\d+", name):
                text = html(lesson.cells[name])
                heading = text.h2.extract().text
                text.details.decompose()
                yield f"{lesson.title} · {heading}", text


PAGES = frame("en").get_template("handout.html.j2").module
HANDOUTS = {
    "cheat-sheet": lambda lessons: Handout("Cheat sheet", PAGES.cheat_sheet(
        [lesson for lesson in lessons if "one-screen" in lesson.cells]), True, 6, 11),
    "worksheet": lambda lessons: Handout(
        "Worksheet", PAGES.worksheet(sheets(lessons, False), False), False, 9, 12),
    "worksheet-answers": lambda lessons: Handout(
        "Worksheet, answers", PAGES.worksheet(sheets(lessons, True), True), False, 9, 12),
    "questions": lambda lessons: Handout(
        "Questions", PAGES.questions(asked(lessons)), True, 22, 34),
    "cards": lambda lessons: Handout("Cards", PAGES.cards(), False, 10, 10),
}


# ---- on paper ------------------------------------------------------------------------------------

def document(handout: Handout, paper: str) -> str:
    """One page of HTML that holds all it needs."""
    width, height = sorted(PAPERS[paper], reverse=handout.landscape)
    css = text_of("handout.css").replace("formulas.woff", font(letters_of(handout.body)))
    return PAGES.document(handout._replace(body=Markup(handout.body)), width, height, MARGIN,
                          Markup(css), setup.address()[8:])


def write(page, handout: Handout, paper: str, path: pathlib.Path) -> float:
    """Print a handout in letters as large as all fits, and return their size in points. Raises
    ValueError if it doesn't fit."""
    page.emulate_media(media="print")
    page.set_content(document(handout, paper))
    page.evaluate("document.fonts.ready")
    size = page.evaluate(FIT, [handout.least, handout.most])
    if not size:
        raise ValueError(f"{handout.title}: at {handout.least} points it does not fit")
    page.pdf(path=path, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    return size


def write_all(words: list[str], target: pathlib.Path) -> None:
    lessons = [Lesson.read(path) for path in chosen(words) if path in english()]
    if not PROGRAM:
        sys.exit("There is no browser to print with: install Debian's chromium or Google Chrome.")
    from playwright.sync_api import sync_playwright
    target.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=ROOT_NEEDS)
        page = browser.new_page()
        try:
            for name, make in HANDOUTS.items():
                handout = make(lessons)
                for paper in PAPERS if handout.body.strip() else ():
                    path = target / f"{name}-{paper}.pdf"
                    size = write(page, handout, paper, path)
                    print(f"{path.name}: letters of {size:g} points", flush=True)
        except ValueError as error:
            sys.exit(f"{error}.")
