"""`python -m tools.bench latency` sees slow work, and a key without effect is an error."""
import latency
import pytest
from screen import Step

STEP = Step("one word", ["ArrowRight"], {}, "")
PIECE = """<!doctype html><title>slow</title>
<div class="d2l-piece"><input type="range"><p class="result"></p></div>"""
ANSWER = """(wait) => document.querySelector("input").addEventListener("input", (event) => {
  for (const start = performance.now(); performance.now() < start + wait;);
  document.querySelector("p").textContent = event.target.value;
})"""


@pytest.fixture
def piece(page):
    page.set_content(PIECE)
    page.evaluate(latency.SCRIPT.read_text(encoding="utf-8"))
    page.locator("input").focus()
    return page.locator(".d2l-piece")


def test_slow_work_is_seen(page, piece):
    page.evaluate(ANSWER, 60)
    times = latency.press(piece, STEP)
    assert 60 <= times["script"] < times["total"]


def test_a_key_that_changes_nothing_is_an_error(piece):
    with pytest.raises(RuntimeError, match="one word: the key 'ArrowRight' changed nothing"):
        latency.press(piece, STEP)
