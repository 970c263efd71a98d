"""One screen: a piece's controls with its sentence, on a projector, a slide, a phone; and what is
wider than a phone scrolls in its place and shows that it does."""
import io

import nbformat
import numpy
import pytest
from PIL import Image
from pieces import PIECES, STEPS
from screen import CUT, FAULTS, becomes, play_still, result, said, show, until

EVERY = pytest.mark.parametrize("name", PIECES)
PROJECTOR = {"width": 853, "height": 359}  # what JupyterLab leaves of 1280 x 720 at 150 %
SLIDE = {"width": 828, "height": 445}  # what a slide of 1280 x 720 leaves, at 143 %
PHONE = {"width": 352, "height": 844}  # 390 less the margins of a page
# What is looked at while the controls move, where a piece is taller than a slide.
MAIN = dict.fromkeys(("compare", "memories", "dates", "tiles", "heads"), ".picture")
LEAST = 44

# The height that the controls take together with the sentence that they change.
TOGETHER = """(piece) => {
  const boxes = [...piece.querySelectorAll("input, select, button, .result")]
    .map((el) => (el.closest("label") ?? el).getBoundingClientRect());
  return Math.max(...boxes.map((b) => b.bottom)) - Math.min(...boxes.map((b) => b.top));
}"""
# Everything that can be pressed, with the smaller side of what takes the press.
TARGETS = """(piece) => [...piece.querySelectorAll("input, select, button")].map((el) => {
  const { width, height } = (el.type.match(/radio|check/) ? el.closest("label") : el)
    .getBoundingClientRect();
  return [Math.min(width, height), el.outerHTML.slice(0, 60)];
})"""
# Words that are shortened.
SHORTENED = """(piece) => [...piece.querySelectorAll("svg text")].map((el) => el.textContent)
  .filter((words) => words.includes("…"))"""


@pytest.fixture
def piece_in(opened):
    """Open a piece in a window of its own."""
    head = '<meta name="viewport" content="width=device-width"><style>body{margin:0}</style>'
    return lambda name, viewport, **settings: show(opened(**viewport, **settings), PIECES[name](),
                                                   head)


# ---- a projector, a slide ------------------------------------------------------------------------

@EVERY
def test_controls_and_sentence_stand_together(piece_in, name):
    piece = piece_in(name, PROJECTOR | {"width": 673})  # JupyterLab's margins take the rest
    play_still(piece, STEPS[name])  # the sentence keeps the room that its longest took
    until(lambda: piece.evaluate(TOGETHER) <= PROJECTOR["height"])
    piece.page.set_viewport_size(PROJECTOR)
    until(lambda: piece.evaluate(TOGETHER) <= PROJECTOR["height"])


@EVERY
def test_its_main_picture_fits_a_slide(piece_in, name):
    piece = piece_in(name, SLIDE)
    main = piece.locator(MAIN[name]) if name in MAIN else piece
    box = main.bounding_box()
    assert box["y"] + box["height"] <= SLIDE["height"]


def test_what_is_below_a_shorter_sentence_stays(piece_in):
    piece = piece_in("clock", PROJECTOR)
    below, first = piece.locator("form"), result(piece)
    top = below.bounding_box()["y"]
    piece.get_by_role("slider", name="offset δ").press("Home")
    said(piece).to_contain_text("nothing turns")
    assert len(result(piece)) < len(first) and below.bounding_box()["y"] == top


# ---- a phone -------------------------------------------------------------------------------------

@EVERY
def test_a_phone_shows_all(piece_in, name):
    piece = piece_in(name, PHONE, has_touch=True, is_mobile=True)
    def faults():
        return (piece.evaluate(SHORTENED) + piece.page.evaluate(FAULTS)
                + piece.page.evaluate(CUT))

    assert faults() == []
    play_still(piece, STEPS[name])
    becomes(faults, [])


def says_where_more_is(scroller, edge: int = 12) -> bool:
    """Whether a shade lies at each edge of a box beyond which there is more, and at no other."""
    most = scroller.evaluate("(box) => box.scrollWidth - box.clientWidth")
    scroller.scroll_into_view_if_needed()
    for place in sorted({0, most}):
        scroller.evaluate("(box, place) => { box.scrollLeft = place; }", place)
        shaded = pixels(scroller)
        scroller.evaluate("(box) => { box.style.background = 'none'; }")
        apart = abs(pixels(scroller) - shaded).max(0)
        scroller.evaluate("(box) => { box.style.background = ''; }")
        seen = [int(apart[:edge].max()) > 50, int(apart[-edge:].max()) > 50]
        if seen != [place > 0, place < most]:
            return False
    return True


def pixels(locator):
    image = Image.open(io.BytesIO(locator.screenshot())).convert("L")
    return numpy.asarray(image).astype(int)


@pytest.mark.parametrize("window", [
    PHONE, {"width": 1024, "height": 700, "has_touch": True, "is_mobile": True},
], ids=["narrow", "touched"])
@EVERY
def test_fingers_meet_each_control(piece_in, name, window):
    piece = piece_in(name, window)
    assert [found for found in piece.evaluate(TARGETS) if found[0] < LEAST] == []


# ---- exported pages ------------------------------------------------------------------------------

TABLE = "\n".join("|" + word * 13 for word in ("a|", "-|", "unbreakable|"))
FORMULA = "$$" + " + ".join(["x_1 y_1 z_1"] * 12) + "$$"


def narrow(page, tmp_path):
    """Open a page with what is too wide."""
    output = nbformat.v4.new_output("display_data", {
        "text/html": f"<table><tr>{'<td>unbreakable</td>' * 13}</tr></table>"})
    cells = [nbformat.v4.new_markdown_cell(text) for text in ("# 02 Tiny", TABLE, FORMULA)]
    cells.append(nbformat.v4.new_code_cell("1", outputs=[output]))
    from tools.publish import pages  # needs what pyproject.toml lists under html
    made = pages.page(nbformat.v4.new_notebook(cells=cells))
    (tmp_path / "wide.html").write_text(made, encoding="utf-8")
    page.goto((tmp_path / "wide.html").as_uri())


def test_wide_tables_and_formulas_scroll_in_their_place(opened, tmp_path):
    page = opened(**PHONE, has_touch=True, is_mobile=True)
    narrow(page, tmp_path)
    boxes = page.locator(".wide, .output_html")
    assert boxes.count() == 3 and all(says_where_more_is(box) for box in boxes.all())
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    table, place = page.locator("div.wide"), "(box) => box.scrollLeft"
    end = table.evaluate(place)
    table.press("ArrowLeft")
    until(lambda: table.evaluate(place) < end)
