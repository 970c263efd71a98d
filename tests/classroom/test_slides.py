"""Decks of slides: the cut, the notes, and in a real browser that every slide fits and can be read,
that keys reach the explorers, and what is printed and what the speaker sees."""
import re
from importlib.util import find_spec

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tools.notebooks import nbtext, readme

if not (find_spec("ziamath") and find_spec("sphinx_revealjs")):
    pytest.skip("a deck needs what `make slides` installs", allow_module_level=True)
from tools.publish import slides

LESSONS = nbtext.lessons()
CHINESE = [nbtext.lessons("zh")[number] for number in (3, 7, 14)]
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
@pytest.mark.parametrize("lesson", LESSONS, ids=nbtext.place)
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

IDLE = """() => [...document.querySelectorAll(".fragment")].filter((step) =>
  !step.textContent.trim() && !step.querySelector("img, svg")).length"""  # presses without effect


@pytest.fixture
def deck(opened, tmp_path):
    """Open the deck of a notebook."""
    def deck(notebook, plan=None, query=""):
        path = tmp_path / "deck.html"
        path.write_text(slides.page(notebook, plan or {}), encoding="utf-8")
        assert path.stat().st_size < 2 * 2**20
        page = opened(1920, 1080)
        page.goto(path.as_uri() + query)
        page.wait_for_function("window.Reveal?.isReady()")
        return page

    return deck


@pytest.mark.parametrize("lesson", [*LESSONS, *CHINESE], ids=nbtext.place)
def test_every_slide_fits_and_everybody_can_read_it(deck, lesson):
    """At each step to the deck's end; axe looks at the first slide of each kind."""
    from screen import axe
    page, faults = deck(read(lesson)), {}
    assert page.evaluate(IDLE) == 0
    while not page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(DRAWN)
        if found := page.evaluate(FAULTS):
            faults[page.evaluate("Reveal.getIndices().h + 1")] = found
    assert faults == {}
    for number in [0, *page.evaluate(KINDS)]:
        page.evaluate("(number) => Reveal.slide(number)", number)
        page.evaluate("while (Reveal.nextFragment());")
        page.wait_for_function(DRAWN)
        assert axe(page, "body") == [], number + 1


def made_up(*cells):
    return new_notebook(cells=[cell("md", "# 98 Made up", "slide", id="title"), *cells])


def test_what_does_not_fit_goes_on_to_the_next_slide(deck):
    lines = "\n".join(f"x{i} = {i}" for i in range(15))
    # there is room for an output beside such short lines, or none, or for none that is wide
    for output, count in (("out\n" * 14, 2), (("out " * 20 + "\n") * 12, 3)):
        outputs = [new_output("stream", name="stdout", text=output)]
        page = deck(made_up(
            cell("md", "## Head\n\nBefore:", "slide", id="words"),
            cell("code", lines, "fragment", id="code", outputs=outputs),
            cell("md", "It explains.", "-", id="after")), {"ask": {"code": ["Why?", "So."]}})
        slide = page.locator(".slides > section > section")
        assert slide.count() == count
        assert slide.nth(1).locator(".jp-OutputArea-child").count() == (count == 2)
    assert slide.nth(2).locator(".running").text_content() == "Head"
    assert slide.nth(2).locator(".jp-MarkdownOutput").text_content().strip() == "It explains."
    # on the slide before, the answer waits; what goes on is there at once
    assert [slide.nth(number).locator(".fragment").count() for number in (1, 2)] == [1, 0]
    for number in (1, 2):
        assert "Why?" in slide.nth(number).locator(".notes").inner_text()


def test_what_leads_to_something_stays_with_it_and_a_prediction_ends_its_slide(deck):
    page = deck(made_up(
        cell("md", "word\n\n" * 10, "slide"), cell("md", "## Late\n\nNow:", "-"),
        cell("code", "x = 1\n" * 8, "-"),
        cell("md", "Words. **Predict:** which?\n\n- a\n- b\n\nMore.", "slide")))
    written = "(i) => [...Reveal.getSlide(i).querySelectorAll('.jp-Cell')].map((c) => c.innerText)"
    slides = ["\n".join(page.evaluate(written, number)).split() for number in range(1, 5)]
    assert "Late" in slides[1] and "Now:" in slides[1] and slides[1][-3:] == ["x", "=", "1"]
    assert slides[2:] == [["Words.", "Predict:", "which?", "a", "b"], ["More."]]


def test_two_half_full_slides_come_before_a_full_one_and_a_nearly_empty_one(deck):
    page = deck(made_up(cell("md", "word\n\n" * 14, "slide")))
    count = "(i) => Reveal.getSlide(i).querySelectorAll('.jp-Cell p').length"
    assert [page.evaluate(count, number) for number in (1, 2)] == [7, 7]


def test_a_title_slide_has_its_lessons_picture_whole(deck):
    page = deck(read(LESSONS[2]))
    assert page.locator(".present h1").count() == 1
    assert page.locator(".present img").bounding_box()["height"] > 200
    assert page.evaluate(FAULTS) == []


def test_answers_wait_for_a_key(deck):
    page = deck(made_up(cell(
        "md", "Ask?\n\n<details><summary>Answer</summary>\n\nSo.\n\n</details>", "slide")))
    page.keyboard.press("ArrowRight")
    answer = page.locator(".present").get_by_text("So.").last
    assert not answer.is_visible()
    page.keyboard.press("ArrowRight")
    assert answer.is_visible() and page.evaluate("Reveal.getIndices().h") == 1


@pytest.mark.parametrize("lesson", LESSONS[3:8:4], ids=lambda path: path.stem[:2])
def test_keys_reach_an_explorer_and_leave_it(deck, lesson):
    page = deck(read(lesson))
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


def test_print_gives_a_page_for_each_slide(deck):
    page = deck(read(LESSONS[3]))
    count = page.evaluate("Reveal.getTotalSlides()")
    page = deck(read(LESSONS[3]), query="?print-pdf")
    page.wait_for_function("(n) => document.querySelectorAll('.pdf-page').length === n", arg=count)
    assert page.locator(".fragment:not(.visible)").count() == 0
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == count


def test_the_speaker_sees_slides_and_notes(deck):
    page = deck(made_up(cell("md", "word", "slide", id="word")),
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
