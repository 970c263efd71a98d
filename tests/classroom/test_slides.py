"""Decks of slides: the cut, the notes, and in a real browser that every slide fits and can be read,
that keys reach the explorers, and what is printed and what the speaker sees."""
import importlib.util
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tools import ROOT
from tools.notebooks import nbtext, readme

for package in ("ziamath", "sphinx_revealjs"):
    if not importlib.util.find_spec(package):
        pytest.skip(f"a deck needs {package}", allow_module_level=True)
from tools.publish import slides  # noqa: E402

LESSONS = nbtext.lessons()
CHINESE = [ROOT / "notebooks/zh" / LESSONS[number].name for number in (3, 7, 14)]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem[:2])


def named(path):
    return path.relative_to(ROOT / "notebooks").as_posix()[:5]


READY = "window.Reveal?.isReady()"
# What lies outside the slide that is shown or scrolls, and letters below 1/36 of its height.
FAULTS = """() => {
  const slide = Reveal.getCurrentSlide(), box = slide.getBoundingClientRect(), found = [];
  const bar = document.querySelector(".slide-number");
  for (const el of [...slide.querySelectorAll("*"), bar]) {
    const { right, bottom, width, height } = el.getBoundingClientRect();
    const { fontSize, visibility, overflowX, overflowY } = getComputedStyle(el);
    if (width < 2 || height < 2 || visibility === "hidden" || el.closest("aside")) continue;
    const tell = (what) => found.push(`${what}: ${el.outerHTML.slice(0, 100)}`);
    if (right > box.right + 1 || bottom > box.bottom + 1) tell("outside");
    const wide = /auto|scroll/.test(overflowX) && el.scrollWidth > el.clientWidth + 1;
    const high = /auto|scroll/.test(overflowY) && el.scrollHeight > el.clientHeight + 1;
    if (wide || high) tell("scrolls");
    const written = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const size = parseFloat(fontSize) * el.currentCSSZoom * (el === bar ? 1 : Reveal.getScale());
    if (written && size < box.height / 36 - 0.1) tell("small");
  }
  return found;
}"""
# A piece draws in a frame after its slide has come.
DRAWN = """() => [...Reveal.getCurrentSlide().querySelectorAll(".d2l-piece .result")]
  .every((sentence) => sentence.innerText.trim())"""
# The numbers of slides with code, a table, an explorer and a question: the first of each.
KINDS = """() => {
  const all = Reveal.getSlides();
  return [".highlight", "tbody", ".d2l-explorer", ".celltag_question"]
    .map((kind) => all.findIndex((slide) => slide.querySelector(kind))).filter((i) => i >= 0);
}"""


def read(lesson):
    return nbformat.read(lesson, as_version=4)


def cell(kind, text, slide, **more):
    make = new_markdown_cell if kind == "md" else new_code_cell
    tags = {"tags": more.pop("tags", [])}
    return make(text, metadata={"slideshow": {"slide_type": slide}} | tags, **more)


# ---- without a browser ---------------------------------------------------------------------------

def test_notes_say_what_to_ask_what_some_think_and_how_late_it_is():
    cells = [cell("md", "word " * 130, "slide", id="title"), cell("md", "word " * 260, "skip"),
             cell("code", "1", "-", tags=["predict"], id="guess"),
             cell("md", "*word* " * 130, "notes"), cell("md", "word " * 130, "slide", id="end")]
    plan = {"board": "A line.", "ask": {"guess": ["Which?", "The `first`."]},
            "expect": [{"thinks": "All.", "cure": "end"}, {"thinks": "No.", "cure": "none"}]}
    made = slides.notes(cells, plan)
    assert list(made) == ["title", "guess", "end"]
    assert "<strong>On the board:</strong> A line." in made["title"]["words"]
    asked = made["guess"]["words"]
    assert asked.index("Which?") < asked.index("The <code>first</code>.") < asked.index("<em>word")
    assert "<strong>Some think:</strong> All." in made["end"]["words"]
    assert "No." not in str(made)
    assert [re.findall("Minute (.*) when", each["minute"]) for each in made.values()] == [
        ["1 of 4"], ["3 of 4"], ["4 of 4"]]


@pytest.mark.slow
@each_lesson
def test_the_cut_shows_every_cell_of_the_sitting_that_is_not_skipped(lesson):
    """A fragment that stands where no slide has begun would vanish unseen."""
    made = slides.page(read(lesson), {})
    shown = {cell.id for cell in readme.sitting(read(lesson).cells)}
    for each in read(lesson).cells:
        tags, kind = {*each.metadata.tags}, slides.kind(each)
        assert kind in {"-", "slide", "fragment", "skip"} or (
            kind == "notes" and each.cell_type == "markdown"), each.id
        if each.id not in shown or tags & {"setup", "solution"}:
            assert kind == "skip", each.id
        elif "predict" in tags:
            assert kind == "fragment", each.id
        assert kind in ("skip", "notes") or f'cell-id={each.id}"' in made, each.id


# ---- in a browser --------------------------------------------------------------------------------

@pytest.fixture
def opened(browser, tmp_path):
    """Open the deck of a notebook. At the end, no page may have complained or asked for a file."""
    from screen import watch
    pages = []

    def open_deck(notebook, plan=None, query=""):
        path = tmp_path / "deck.html"
        path.write_text(slides.page(notebook, plan or {}), encoding="utf-8")
        assert path.stat().st_size < 2 * 2**20
        pages.append(watch(browser.new_page(viewport={"width": 1920, "height": 1080})))
        pages[-1].goto(path.as_uri() + query)
        pages[-1].wait_for_function(READY)
        return pages[-1]

    yield open_deck
    for page in pages:
        assert page.errors == page.requests == []
        page.close()


def steps(page):
    """Press an arrow key until the deck ends; the number of the slide at each step."""
    page.evaluate("Reveal.slide(0)")
    while True:
        page.wait_for_function(DRAWN)
        yield page.evaluate("Reveal.getIndices().h + 1")
        if page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
            return
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("lesson", [*LESSONS, *CHINESE], ids=named)
def test_every_slide_fits_and_can_be_read(opened, lesson):
    page = opened(read(lesson))
    faults = {number: found for number in steps(page) if (found := page.evaluate(FAULTS))}
    assert faults == {}


@each_lesson
def test_everybody_can_use_the_slides(opened, lesson):
    from screen import axe
    page = opened(read(lesson))
    for number in [0, *page.evaluate(KINDS)]:
        page.evaluate("(number) => Reveal.slide(number)", number)
        page.evaluate("while (Reveal.nextFragment());")
        page.wait_for_function(DRAWN)
        assert axe(page, "body") == [], number + 1


def made_up(*cells):
    return new_notebook(cells=[cell("md", "# 98 Made up", "slide", id="title"), *cells])


def text_of(page, number):
    return page.evaluate("(i) => Reveal.getSlide(i).querySelector('.jp-Cell').innerText", number)


def test_what_does_not_fit_goes_on_to_the_next_slide(opened):
    lines = "\n".join(f"x{i} = {i}" for i in range(15))

    def open_with(output):
        outputs = [new_output("stream", name="stdout", text=output)]
        return opened(made_up(
            cell("md", "## Head\n\nBefore:", "slide", id="words"),
            cell("code", lines, "fragment", id="code", outputs=outputs),
            cell("md", "It explains.", "-", id="after")), {"ask": {"code": ["Why?", "So."]}})

    outputs = "Reveal.getSlide(1).querySelectorAll('.jp-OutputArea-child').length"
    page = open_with("out\n" * 14)  # there is room for it beside such short lines
    assert page.evaluate("Reveal.getTotalSlides()") == 2
    assert page.evaluate(outputs) == 1
    page = open_with(("out " * 20 + "\n") * 12)
    assert page.evaluate("Reveal.getTotalSlides()") == 3
    assert page.evaluate(outputs) == 0
    running, rest = page.evaluate("""() => [".running", ".jp-MarkdownOutput"].map((name) =>
      Reveal.getSlide(2).querySelector(name).innerText.trim())""")
    assert (running, rest) == ("Head", "It explains.")
    # on the slide before, the answer waits; what goes on is there at once
    page.evaluate("Reveal.slide(1)")
    assert page.locator(".present .fragment:not(.visible)").count() == 1
    page.evaluate("Reveal.slide(2)")
    assert page.locator("section.present section.present .fragment").count() == 0
    for number in (1, 2):
        assert "Why?" in page.evaluate("(i) => Reveal.getSlideNotes(Reveal.getSlide(i))", number)


def test_what_leads_to_something_stays_with_it(opened):
    page = opened(made_up(
        cell("md", "word\n\n" * 10, "slide"), cell("md", "## Late\n\nNow:", "-"),
        cell("code", "x = 1\n" * 8, "-")))
    assert page.evaluate("Reveal.getSlide(1).querySelector('h2')") is None
    assert text_of(page, 2).split() == ["Late", "Now:"]


def test_a_prediction_stands_alone_with_its_options(opened):
    page = opened(made_up(
        cell("md", "Words. **Predict:** which?\n\n- a\n- b\n\nMore.", "slide")))
    said = [text_of(page, number).split() for number in range(1, 4)]
    assert said == [["Words."], ["Predict:", "which?", "a", "b"], ["More."]]


def test_answers_wait_for_a_key(opened):
    page = opened(made_up(cell(
        "md", "Ask?\n\n<details><summary>Answer</summary>\n\nSo.\n\n</details>", "slide")))
    page.keyboard.press("ArrowRight")
    answer = page.locator(".present").get_by_text("So.").last
    assert not answer.is_visible()
    page.keyboard.press("ArrowRight")
    assert answer.is_visible() and page.evaluate("Reveal.getIndices().h") == 1


@pytest.mark.parametrize("lesson", LESSONS[3:8:4], ids=lambda path: path.stem[:2])
def test_keys_reach_an_explorer_and_leave_it(opened, lesson):
    page = opened(read(lesson))
    slide = page.evaluate(
        "Reveal.getSlides().findIndex((each) => each.querySelector('.d2l-explorer'))")
    page.evaluate("(number) => Reveal.slide(number)", slide)
    page.wait_for_function(DRAWN)
    assert page.locator(".present .d2l-piece .result").inner_text()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.d2l-piece :enabled')"):
            break
    assert page.evaluate("Reveal.getCurrentSlide().contains(document.activeElement)")
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "n"):
        page.keyboard.press(key)
    assert page.evaluate("Reveal.getIndices().h") == slide
    page.keyboard.press("Escape")
    assert not page.evaluate("Reveal.isOverview()")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getIndices().h") == slide + 1


def test_print_gives_a_page_for_each_slide(opened):
    page = opened(read(LESSONS[3]))
    count = page.evaluate("Reveal.getTotalSlides()")
    page = opened(read(LESSONS[3]), query="?print-pdf")
    page.wait_for_function("(n) => document.querySelectorAll('.pdf-page').length === n", arg=count)
    assert page.locator(".fragment:not(.visible)").count() == 0
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == count


def test_the_speaker_sees_slides_and_notes(opened):
    page = opened(made_up(cell("md", "word", "slide", id="word")),
                  {"board": "A line.", "ask": {"word": ["Which?", "The first."]}})
    with page.expect_popup() as opening:
        page.keyboard.press("s")
    view = opening.value
    notes = view.locator(".speaker-controls-notes")
    notes.get_by_text("A line.").wait_for()
    page.keyboard.press("ArrowRight")
    notes.get_by_text("Which?").wait_for()
    assert "Usually answered: The first." in notes.inner_text()
    view.frame_locator("#current-slide iframe").get_by_text("word", exact=True).wait_for()
    view.close()
