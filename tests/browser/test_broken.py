"""What the other tests must notice, broken on purpose: a cell, an observer in Python, a console, and explorers with one line of their JavaScript changed."""
import nbformat
import pytest
from frontends import Sheet
from pieces import STEPS
from screen import axe, play, until, watch

STATE = "[value for value in Out.values() if hasattr(value, '_rules')][{}].state"
# A line of the clocks' JavaScript, what stands there instead, and what a person would have met.
BROKEN = {
    "arrow keys go to JupyterLab": ('"data-lm-suppress-shortcuts": "true"', '"data-x": "true"', "position i"),
    "Python hears nothing": ("model.save_changes()", "0", "got {'position': 6"),
    "the sentence stays": ("write(result, words)", "result.textContent ||= words", "From position 6"),
    "the picture stays": ("handAt = drawClocks(", "if (clocks.width !== 300) return write(result, tell(state));\n    handAt = drawClocks(", "as before"),
    "no ring shows the focus": ("body.append(", "root.addEventListener('focusin', ({ target }) => { target.style.outline = 'none'; });\n  body.append(",
                                "the focus can't be seen"),
    "a control is out of reach": ('type: "range"', 'type: "range", tabindex: -1', "Tab does not reach"),
    "a control is extra": ("body.append(", 'body.append(node("button", {}, "more"), ', "no step moves {'more'}"),
}
CELLS = ["from d2l_ext.explorers import clock_explorer",
         *(f"broken = clock_explorer()\nassert {right!r} in broken.widget._esm\nbroken.widget._esm = broken.widget._esm.replace({right!r}, {wrong!r})\nbroken"
           for right, wrong, _ in BROKEN.values()),
         # sound, but watched by an observer that raises; then without its pictures' words; then noisy; then a cell that raises
         "watched = clock_explorer()\nwatched.widget.observe(lambda change: 1 / 0, 'state')\nwatched",
         "silent = clock_explorer()\nsilent.widget._esm = silent.widget._esm.replace('\"aria-label\"', '\"data-label\"')\nsilent",
         "noisy = clock_explorer()\nnoisy.widget._esm += '\\nconsole.error(\"a broken piece\");'\nnoisy",
         "1 / 0", "'never run'"]


@pytest.fixture(scope="module")
def sheet(browser, server):
    folder, address = server
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS], metadata=kernel), folder / "broken.ipynb")
    page = watch(browser.new_page(viewport={"width": 1280, "height": 1600}))
    sheet = Sheet(page, address, "broken.ipynb")
    sheet.run()
    until(lambda: page.locator(".d2l-piece").count() == len(BROKEN) + 3)
    yield sheet
    sheet.close()
    page.close()


def played(sheet, number):
    piece = sheet.page.locator(".d2l-piece").nth(number)
    piece.scroll_into_view_if_needed()
    cell = sheet.enter(piece)
    play(piece, STEPS["clock"], lambda: sheet.enter(piece), lambda: sheet.ask(STATE.format(number)), seconds=2)
    assert sheet.active_cell() == cell


@pytest.mark.parametrize("name", BROKEN)
def test_broken_explorers_are_noticed(sheet, name):
    with pytest.raises(AssertionError) as found:
        played(sheet, list(BROKEN).index(name))
    assert BROKEN[name][2] in str(found.value)


def test_an_observer_that_raises_is_noticed(sheet):
    before = len(sheet.complaints())
    played(sheet, len(BROKEN))
    until(lambda: len(sheet.complaints()) > before)
    assert any("ZeroDivisionError" in complaint for complaint in sheet.complaints()[before:])


def test_a_picture_without_words_is_noticed(sheet):
    sheet.page.locator(".d2l-piece").nth(len(BROKEN) + 1).evaluate("(piece) => piece.classList.add('silent')")
    assert any("role-img-alt" in complaint for complaint in axe(sheet.page, ".silent"))
    assert axe(sheet.page, ".d2l-piece", without=".silent canvas") == []


def test_a_noisy_console_is_noticed(sheet):
    assert any("a broken piece" in error for error in sheet.page.errors)


def test_a_cell_that_raises_is_noticed(sheet):
    assert sheet.failed() and any("ZeroDivisionError" in complaint for complaint in sheet.complaints())
    assert sheet.unrun() == ["'never run'"]
