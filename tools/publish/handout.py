"""Write PDFs to print or project into dist/handout, each on A4 and on US letter: `make handout`.

    cheat-sheet        the cells one-screen and one-screen-code, four lessons a page
    worksheet          the cells *pencil-page, with boxes to write into
    worksheet-answers  the same with the boxes filled
    questions          the cells question-*, one a page, to project or hold up for a vote
    questions-answers  all of them with their reasons, as a list
    cards              A, B, C and D to cut out and vote with

All is text and lines, in black. Letters are as large as everything fits.
"""
import pathlib
import re
import sys
from typing import NamedTuple

import nbformat
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import MarkdownWithMath

from tools import ROOT, setup
from tools.browser import PROGRAM, ROOT_NEEDS
from tools.publish.pages import Renderer, font, letters_of, title_of
from tools.notebooks.nbtext import chosen

HERE = pathlib.Path(__file__).resolve().parent
PAPERS = {"a4": (210, 297), "letter": (215.9, 279.4)}  # millimetres
MARGIN = 11
SCREEN = re.compile(r"\b[A-Z][^.\n]*\bcells?\b[^.\n]*\. ?")  # a sentence about cells
OPTIONS = "ul > li:has(> strong:first-child)"
# Sets the size of letters in points; whether nothing sticks out of its box then.
FITS = """(size) => {
  document.documentElement.style.fontSize = `${size}pt`;
  const wide = [...document.querySelectorAll(".box, .box :is(p, li, td, pre, table)")];
  const high = [...document.querySelectorAll(".box")];
  return wide.every((el) => el.scrollWidth <= el.clientWidth) &&
    high.every((el) => el.scrollHeight <= el.clientHeight);
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


class Handout(NamedTuple):
    """HTML to print. What lies in a ``.box`` must fit into it, at ``least`` to ``most`` points."""

    title: str
    body: str
    landscape: bool = False
    least: float = 10  # points
    most: float = 10


def html(text: str) -> BeautifulSoup:
    """Markdown as HTML, without links: paper leads nowhere."""
    renderer = Renderer(escape=False, exclude_anchor_links=True)
    made = BeautifulSoup(MarkdownWithMath(renderer=renderer).render(text), "html.parser")
    for link in made("a"):
        link.unwrap()
    return made


# ---- what is handed out --------------------------------------------------------------------------

def cheat_sheet(lessons: list[Lesson]) -> Handout:
    known = [lesson for lesson in lessons if "one-screen" in lesson.cells]
    columns = [f'<div class="box">{"".join(map(one_screen, known[i:i + 2]))}</div>'
               for i in range(0, len(known), 2)]
    pages = [f'<section class="page columns">{"".join(columns[i:i + 2])}</section>'
             for i in range(0, len(columns), 2)]
    return Handout("Cheat sheet", "".join(pages), landscape=True, least=6, most=11)


def one_screen(lesson: Lesson) -> str:
    code = re.sub(r"(?m)^(# @title|import|from) .*\n\s*", "", lesson.cells["one-screen-code"])
    code = html(f"```python\n{code}\n```")
    return f"<h1>{lesson.title}</h1>{lesson.part('one-screen')}{code}"


def worksheet(lessons: list[Lesson], filled: bool = False) -> Handout:
    pages = [sheet(lesson, name.removesuffix("-page"), filled)
             for lesson in lessons for name in lesson.cells if name.endswith("pencil-page")]
    return Handout("Worksheet" + ", answers" * filled, "".join(pages), least=9, most=12)


def sheet(lesson: Lesson, name: str, filled: bool) -> str:
    """A page with boxes in place of the last column, which says how many numbers are wanted."""
    made = lesson.part(f"{name}-page")
    made.h2.string = made.h2.text.removesuffix(" · deeper")
    solution = lesson.part(f"solution-{name}")
    answers = dict(re.findall(r"(\w+): \[(.*)\]", solution.pre.extract().text))
    made("th")[-1].string = "numbers"
    for row in made.tbody("tr"):
        first, last = row("td")[0], row("td")[-1]
        numbers = answers[first.text].split(",") if filled else [""] * int(last.text)
        boxes = "".join(f"<i>{number}</i>" for number in numbers)
        last.replace_with(BeautifulSoup(f"<td>{boxes}</td>", "html.parser"))
    rest = solution if filled else squares()
    head = "Answers" if filled else "Name:"
    return (f'<section class="page box sheet"><p class="running">{lesson.title}<b>{head}</b></p>'
            f"{made}{rest}</section>")


def squares(step: int = 5, size: int = 300) -> str:
    """Squared paper, in millimetres; the end of the page cuts it off."""
    lines = "".join(f"M{i} 0V{size}M0 {i}H{size}" for i in range(0, size, step))
    return (f'<div class="squares"><svg width="{size}mm" height="{size}mm" '
            f'viewBox="0 0 {size} {size}"><path d="{lines}"/></svg></div>')


def questions(lessons: list[Lesson]) -> Handout:
    pages = []
    for lesson, heading, made, _ in asked(lessons):
        for option in made.select(OPTIONS):
            option.strong.name = "b"
        pages.append(f'<section class="page box vote"><h1>{lesson.title} · {heading}</h1>'
                     f"{made}</section>")
    return Handout("Questions", "".join(pages), landscape=True, least=22, most=34)


def answers(lessons: list[Lesson]) -> Handout:
    parts, before = [], None
    for lesson, heading, made, reasons in asked(lessons):
        if lesson is not before:
            parts.append(f"<h1>{lesson.title}</h1>")
        right = [letter for letter in reasons if re.match(r"\s*Right\b", reasons[letter].text)]
        if len(right) != 1:
            raise ValueError(f"{lesson.title}, {heading}: {len(right)} reasons begin with Right")
        for option in made.select(OPTIONS):
            reason = reasons[option.strong.text]
            option["class"] = "right" if option.strong.text in right else "wrong"
            option.extend([made.new_tag("br"), reason])
        parts.append(f"<article><h2>{heading}: {right[0]}</h2>{made}</article>")
        before = lesson
    body = f'<main class="list">{"".join(parts)}</main>' if parts else ""
    return Handout("Questions, answers", body)


def asked(lessons: list[Lesson]):
    """Lesson, heading, question with its options, and the reasons by letter, of each question."""
    for lesson in lessons:
        for name in lesson.cells:
            if re.fullmatch(r"question-\d+", name):
                made = html(lesson.cells[name])
                heading, fold = made.h2.extract().text, made.details.extract()
                reasons = {item.strong.extract().text: item for item in fold.select(OPTIONS)}
                for item in reasons.values():
                    item.name = "span"
                yield lesson, heading, made, reasons


def cards(lessons: list[Lesson]) -> Handout:
    letters = "".join(f"<b>{letter}</b>" for letter in "ABCD")
    return Handout("Cards", f'<section class="page box cards">{letters}</section>')


HANDOUTS = {
    "cheat-sheet": cheat_sheet, "worksheet": worksheet, "questions": questions, "cards": cards,
    "worksheet-answers": lambda lessons: worksheet(lessons, filled=True),
    "questions-answers": answers,
}


# ---- on paper ------------------------------------------------------------------------------------

def document(handout: Handout, paper: str) -> str:
    """One page of HTML that holds all it needs."""
    width, height = sorted(PAPERS[paper], reverse=handout.landscape)
    css = (HERE / "handout.css").read_text(encoding="utf-8")
    css = css.replace("formulas.woff", font(letters_of(handout.body)))
    own = f"Attention, head by head · {setup.address()[8:]} · CC BY 4.0, code MIT"
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<title>{handout.title}</title>
<style>
@page {{ size: {width}mm {height}mm; margin: {MARGIN}mm; @bottom-left {{ content: "{own}"; }} }}
:root {{ --width: {width - 2 * MARGIN}mm; --height: {height - 2 * MARGIN - 0.5}mm; }}
{css}</style></head><body>{handout.body}</body></html>"""


def fit(page, handout: Handout) -> float:
    """Give letters the largest size at which all fits. Raises ValueError if none does."""
    low, high = round(handout.least * 10), round(handout.most * 10)
    if not page.evaluate(FITS, low / 10):
        raise ValueError(f"{handout.title}: at {handout.least} points it does not fit")
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if page.evaluate(FITS, middle / 10) else (low, middle - 1)
    page.evaluate(FITS, low / 10)
    return low / 10


def write(page, handout: Handout, paper: str, path: pathlib.Path) -> float:
    """Print a handout; returns the size of its letters in points."""
    page.emulate_media(media="print")
    page.set_content(document(handout, paper))
    page.evaluate("document.fonts.ready")
    size = fit(page, handout)
    page.pdf(path=path, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    return size


def write_all(words: list[str], target: pathlib.Path) -> None:
    lessons = [Lesson.read(path) for path in chosen(words, ROOT / "notebooks", "en")]
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
                for paper in PAPERS if handout.body else ():
                    path = target / f"{name}-{paper}.pdf"
                    size = write(page, handout, paper, path)
                    print(f"{path.name}: letters of {size:g} points", flush=True)
        except ValueError as error:
            sys.exit(f"{error}.")
