"""`make latency`: milliseconds from a key until the frame is painted that shows what it changed.

The screen's 60 Hz are switched off, since waiting for it takes up to 17 ms of its own. The goal is
16 at the 95th percentile. A busy machine is slow: look twice before believing a miss.
"""
import statistics
import sys

import torch
from playwright.sync_api import sync_playwright

from attention_lessons.pieces import attention_explorer, heads_explorer
from d2l_ext import MultiHeadAttention
from tools.browser import PROGRAM, ROOT_NEEDS
from tools.draw._stills import LESSONS

PRESSES = 20
CONTROL = "input:enabled:visible, button:enabled:visible, svg [tabindex='0']"
# A box is ticked when its key goes up, so the last event before the frame counts.
WATCH = """() => {
  const { port1, port2 } = new MessageChannel();
  for (const kind of ["keydown", "keyup"]) {
    addEventListener(kind, ({ timeStamp }) => requestAnimationFrame(() => {
      port1.onmessage = () => { window.took = performance.now() - timeStamp; };
      port2.postMessage(0);  // arrives when this frame is painted
    }), true);
  }
}"""


def large():
    """The pieces of any attention, with 64 tokens and 16 heads."""
    attention, X = MultiHeadAttention(64, 16, bias=False), torch.randn(64, 64)
    names = [f"token {i}" for i in range(64)]
    _, weights = attention(X[None], X[None], X[None], need_weights=True)
    return {"64 tokens, 16 heads, cut": heads_explorer(attention, X, names, names),
            "64 tokens, 16 heads, seen": attention_explorer({"layer": [weights]}, names)}


def presses(page, control):
    """The milliseconds of each press: forth and back, or again."""
    kind = control.evaluate("(one) => one.role || one.type")
    keys = ("ArrowRight", "ArrowLeft") if kind in ("range", "radio", "slider") else ("Space",) * 2
    control.focus()
    for i in range(PRESSES):
        page.evaluate("() => { delete window.took; }")
        page.keyboard.press(keys[i % 2])
        yield page.wait_for_function("() => window.took").json_value()


def main():
    """A line for each piece: the median and the 95th percentile of all presses."""
    if not PROGRAM:
        sys.exit("First install Chromium or Google Chrome.")
    pieces = {f"lesson {lesson[:2]}": make() for lesson, make in LESSONS.items()} | large()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[
            *ROOT_NEEDS, "--disable-frame-rate-limit", "--disable-gpu-vsync"])
        for name, piece in pieces.items():
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_content(f"<!doctype html>{piece.html()}")
            page.evaluate(WATCH)
            took = [each for control in page.query_selector_all(CONTROL) if control.is_visible()
                    for each in presses(page, control)]  # some controls hide others
            print(f"{name}: {len(took)} presses, median {statistics.median(took):.0f} ms, "
                  f"95 % below {statistics.quantiles(took, n=20)[-1]:.0f} ms", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
