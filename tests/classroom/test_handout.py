"""Handouts, printed by a real browser: pages and sizes, all of it there, nothing cut, no answer
where none belongs."""
import importlib.util
import re
from typing import NamedTuple

import pytest
from tools.notebooks.readme import ROOT

if not importlib.util.find_spec("ziamath"):
    pytest.skip("a handout needs ziamath", allow_module_level=True)
from tools.publish import handout
from tools.publish.handout import HANDOUTS, PAPERS, Handout, Lesson

LESSONS = [Lesson.read(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
CELLS = [(lesson, name) for lesson in LESSONS for name in lesson.cells]
QUESTIONS = [(lesson, name) for lesson, name in CELLS if re.fullmatch(r"question-\d", name)]
SUMMED_UP = [lesson for lesson in LESSONS if "one-screen" in lesson.cells]
each_paper = pytest.mark.parametrize("paper", PAPERS)
# Letters outside of their box, and in colour; the smallest, as a part of the page's height.
LOOK = """() => {
  const faults = [], sizes = [];
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 &&
    a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    if (!node.data.trim()) continue;
    range.selectNodeContents(node);
    const { color, fontSize } = getComputedStyle(node.parentElement);
    const page = node.parentElement.closest(".page");
    const box = (node.parentElement.closest(".box") ?? document.body).getBoundingClientRect();
    for (const rect of range.getClientRects())
      if (!inside(rect, box)) faults.push(`cut: ${node.data}`);
    const [red, green, blue] = color.match(/[0-9]+/g);
    if (red !== green || green !== blue || red > 80) faults.push(`${color}: ${node.data}`);
    if (page) sizes.push(parseFloat(fontSize) / page.getBoundingClientRect().height);
  }
  return [faults, Math.min(...sizes)];
}"""


class Printed(NamedTuple):
    pdf: bytes
    html: str
    points: float
    faults: list
    smallest: float


@pytest.fixture(scope="module")
def printed(browser, tmp_path_factory):
    """A handout as it comes out of the browser; those of the collection are printed once."""
    folder, known = tmp_path_factory.mktemp("handout"), {}
    page = browser.new_page()

    def printed(made, paper="a4"):
        key = made if isinstance(made, Handout) else (made, paper)
        if key not in known:
            made = made if isinstance(made, Handout) else HANDOUTS[made](LESSONS)
            points = handout.write(page, made, paper, folder / "made.pdf")
            known[key] = Printed((folder / "made.pdf").read_bytes(), page.content(), points,
                                 *page.evaluate(LOOK))
        return known[key]

    yield printed
    page.close()


def sizes(pdf):
    """Width and height of each page, in points."""
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    return [(float(width), float(height)) for width, height in boxes]


def headings(pdf):
    """The titles of the PDF's outline."""
    found = re.findall(rb"<</Title (?:\((.*?)\)|<FEFF(\w+)>)", pdf)[1:]  # first the document's own
    return [text.decode() or bytes.fromhex(code.decode()).decode("utf-16-be")
            for text, code in found]


def words(source):
    """The source's words outside of code and formulas, in runs of four or more."""
    bare = re.sub(r"`.*?`|\$.*?\$|\[|\]\(.*?\)|\*+", "\n", source)
    return [run for run in re.split(r"[\n\"'&]", bare) if len(run.split()) > 3]


# ---- every handout -------------------------------------------------------------------------------

@each_paper
@pytest.mark.parametrize("name", HANDOUTS)
def test_a_handout_has_its_pages_and_nothing_is_cut(printed, name, paper):
    pages = {"cheat-sheet": -(-len(SUMMED_UP) // 4), "questions": len(QUESTIONS), "cards": 1}
    pencil = sum(name.endswith("pencil-page") for _, name in CELLS)
    made = printed(name, paper)
    wanted = sorted(side / 25.4 * 72 for side in PAPERS[paper])
    if name in ("cheat-sheet", "questions"):
        wanted.reverse()
    assert all(size == pytest.approx(wanted, abs=1) for size in sizes(made.pdf))
    assert len(sizes(made.pdf)) == pages.get(name, pencil)
    assert made.faults == [] and b"/Subtype /Image" not in made.pdf


@each_paper
def test_the_cheat_sheet_holds_every_lesson(printed, paper):
    made = printed("cheat-sheet", paper)
    assert headings(made.pdf) == [lesson.title for lesson in SUMMED_UP]
    text = handout.BeautifulSoup(made.html, "html.parser").text
    for lesson in SUMMED_UP:
        assert lesson.cells["one-screen-code"].rstrip().splitlines()[-1] in text, lesson.title
    assert text.count("Traps.") == len(SUMMED_UP) > 7 and "next two cells" not in text
    assert made.points >= 6


@each_paper
def test_a_question_is_large_and_without_its_answer(printed, paper):
    made = printed("questions", paper)
    assert headings(made.pdf) == [f"{lesson.title} · Question {name[-1]}"
                                  for lesson, name in QUESTIONS]
    assert made.smallest >= 1 / 36 and made.points / sizes(made.pdf)[0][1] >= 1 / 20
    for lesson, name in QUESTIONS:
        asked, reasons = lesson.cells[name].split("<details>")
        assert all(run in made.html for run in words(asked.partition("\n")[2])), name
        told = words(reasons)
        assert len(told) > 1 and not [run for run in told if run in made.html], name
    assert not re.search(r"\bRight\b|Reasons", made.html)


def test_the_worksheet_has_an_empty_box_for_each_number(printed):
    blank, filled = (handout.BeautifulSoup(printed(name).html, "html.parser")
                     for name in ("worksheet", "worksheet-answers"))
    lesson, = (lesson for lesson in LESSONS if "pencil" in lesson.cells)
    numbers = re.findall(r"[\d.]+(?=[,\]])", lesson.cells["solution-pencil"].split("= {")[1])
    assert [box.text.strip() for box in filled("i")] == numbers and len(numbers) == 20
    assert [box.text for box in blank("i")] == [""] * 20
    assert not re.search(r"0\.50|unrounded|\bcell\b", blank.text)
    assert len(blank("mtr")) == 16  # all four matrices


# ---- what must be noticed ------------------------------------------------------------------------

def test_letters_are_as_large_as_fits(printed):
    body = f'<section class="page box">{"<p>line</p>" * 60}</section>'
    size = printed(Handout("Tiny", body, False, 5, 30)).points
    assert 5 < size < 30 and printed(Handout("Tiny", body, False, size, size)).faults == []
    with pytest.raises(ValueError, match="does not fit"):
        printed(Handout("Tiny", body, False, size + 0.1, 30))
