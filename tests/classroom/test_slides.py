"""Decks of slides: the cut, the notes, and in a real browser that everything fits and can be read.

Explorers are measured elsewhere: on a slide they are as they are in a page.
"""
import importlib.util
import tomllib

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from readme import ROOT

for package in ("ziamath", "sphinx_revealjs"):
    if not importlib.util.find_spec(package):
        pytest.skip(f"a deck needs {package}", allow_module_level=True)
import slides  # noqa: E402

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem[:2])
# What lies outside the slide that is shown, and letters smaller than 1/36 of its height.
FAULTS = """() => {
  const slide = Reveal.getCurrentSlide(), box = slide.getBoundingClientRect(), found = [];
  const folded = (el) => el.closest("details:not([open])") && !el.closest("summary");
  for (const el of slide.querySelectorAll("*")) {
    const { right, bottom, width, height } = el.getBoundingClientRect();
    const { fontSize, visibility } = getComputedStyle(el);
    if (!width || !height || visibility === "hidden") continue;
    if (el.closest("aside, .d2l-explorer") || folded(el)) continue;
    if (right > box.right + 1 || bottom > box.bottom + 1) found.push(`outside: ${el.outerHTML}`);
    const written = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const size = parseFloat(fontSize) * el.currentCSSZoom * Reveal.getScale();
    if (written && size < box.height / 36 - 0.01) found.push(`small: ${el.outerHTML}`);
  }
  return found.map((what) => what.slice(0, 120));
}"""


def read(lesson):
    return nbformat.read(lesson, as_version=4)


def cell(kind, text, slide, **more):
    make = new_markdown_cell if kind == "md" else new_code_cell
    return make(text, metadata={"slideshow": {"slide_type": slide}, **more})


def test_a_slides_notes_say_what_to_ask_and_how_late_it_is():
    cells = [cell("md", "word " * 130, "slide"), cell("md", "word " * 260, "skip"),
             cell("code", "1", "fragment", tags=["predict"]), cell("md", "word " * 130, "slide")]
    cells[2].id = "guess"
    made = slides.with_notes(cells, {"guess": ["Which?", "The first."]})
    notes = [each.source for each in made if slides.kind(each) == "notes"]
    assert notes == ["**Ask:** Which?\n\n**Usually answered:** The first.\n\n"
                     "Minute 2 of 3 when this slide is done.",
                     "Minute 3 of 3 when this slide is done."]


@each_lesson
def test_the_cut_shows_the_core_and_answers_come_a_step_later(lesson):
    for each in read(lesson).cells:
        tags, kind = set(each.metadata.get("tags", [])), slides.kind(each)
        if tags & {"deeper", "setup", "imports", "solution", "references"}:
            assert kind == "skip", each.id
        elif "predict" in tags:
            assert kind == "fragment", each.id


def test_what_is_asked_belongs_to_a_cell_that_is_shown():
    for path in (ROOT / "teaching").glob("??.toml"):
        lesson, = (ROOT / "notebooks").glob(f"{path.stem}_*.ipynb")
        shown = {each.id for each in read(lesson).cells if slides.kind(each) != "skip"}
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
        assert {*plan["ask"], *(each["cure"] for each in plan["expect"])} <= shown, path.name


@each_lesson
def test_every_slide_fits_and_can_be_read(browser, tmp_path, lesson):
    from screen import watch
    deck = tmp_path / "deck.html"
    deck.write_text(slides.page(read(lesson), lesson.stem[:2]), encoding="utf-8")
    page, faults = watch(browser.new_page(viewport={"width": 1280, "height": 720})), {}
    page.goto(deck.as_uri())
    page.wait_for_function("Reveal.isReady()")
    while True:
        if found := page.evaluate(FAULTS):
            faults[page.evaluate("Reveal.getIndices().h + 1")] = found
        if page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
            break
        page.keyboard.press("ArrowRight")
    assert faults == {} and page.errors == page.requests == []
    page.close()
