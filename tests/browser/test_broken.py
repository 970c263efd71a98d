"""What the other tests must notice, broken on purpose: cells, observers, a console, JavaScript."""
import nbformat
import pytest
from frontends import Sheet
from pieces import STEPS
from screen import axe, play, until, watch

# What stands in the clocks' JavaScript, what replaces it, and what a person would have met.
BROKEN = {
    "arrow keys go to JupyterLab": (
        '"data-lm-suppress-shortcuts": "true"', '"data-x": "true"', "position i"),
    "Python hears nothing": ("model.save_changes()", "0", "got {'position': 6"),
    "the sentence stays": (
        "write(result, words)", "result.textContent ||= words", "From position 6"),
    "the picture stays": (
        "handAt = drawClocks(",
        "if (clocks.width !== 300) return write(result, tell(state));\n    handAt = drawClocks(",
        "as before"),
    "no ring shows the focus": (
        "body.append(clocks",
        "root.addEventListener('focusin', ({ target }) => { target.style.outline = 'none'; });\n"
        "  body.append(clocks", "the focus can't be seen"),
    "a control is out of reach": (
        'type: "range"', 'type: "range", tabindex: -1', "Tab does not reach"),
    "a control is extra": (
        "body.append(clocks", 'body.append(node("button", {}, "more"), clocks',
        "no step moves {'more'}"),
}
REPLACE = """broken = clock_explorer()
assert broken.widget._esm.count({right!r}) == 1
broken.widget._esm = broken.widget._esm.replace({right!r}, {wrong!r})
broken"""
CELLS = [
    "from d2l_ext.explorers import clock_explorer",
    *(REPLACE.format(right=right, wrong=wrong) for right, wrong, _ in BROKEN.values()),
    "watched = clock_explorer()\nwatched.widget.observe(lambda change: 1 / 0, 'state')\nwatched",
    REPLACE.replace("== 1", "> 1").format(right='"aria-label"', wrong='"data-label"'),
    "noisy = clock_explorer()\nnoisy.widget._esm += 'console.error(\"a broken piece\");'\nnoisy",
    "1 / 0", "'never run'",
]
WATCHED, SILENT = len(BROKEN), len(BROKEN) + 1  # the sound piece that is watched; the one unnamed


@pytest.fixture(scope="module")
def sheet(browser, server):
    folder, address = server
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "broken.ipynb")
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
    state = f"[value for value in Out.values() if hasattr(value, '_rules')][{number}].state"
    play(piece, STEPS["clock"], lambda: sheet.enter(piece), lambda: sheet.ask(state), seconds=2)
    assert sheet.active_cell() == cell


@pytest.mark.parametrize("name", BROKEN)
def test_broken_explorers_are_noticed(sheet, name):
    with pytest.raises(AssertionError) as found:
        played(sheet, list(BROKEN).index(name))
    assert BROKEN[name][2] in str(found.value)


def test_an_observer_that_raises_is_noticed(sheet):
    before = len(sheet.complaints())
    played(sheet, WATCHED)
    until(lambda: len(sheet.complaints()) > before)
    assert any("ZeroDivisionError" in complaint for complaint in sheet.complaints()[before:])


def test_a_picture_without_words_is_noticed(sheet):
    piece = sheet.page.locator(".d2l-piece").nth(SILENT)
    piece.evaluate("(piece) => piece.classList.add('silent')")
    assert any("role-img-alt" in complaint for complaint in axe(sheet.page, ".silent"))
    assert axe(sheet.page, ".d2l-piece", without=".silent canvas") == []


def test_a_noisy_console_is_noticed(sheet):
    until(lambda: any("a broken piece" in error for error in sheet.page.errors))


def test_a_cell_that_raises_is_noticed(sheet):
    until(sheet.failed)
    until(lambda: any("ZeroDivisionError" in complaint for complaint in sheet.complaints()))
    assert sheet.unrun() == ["'never run'"]
