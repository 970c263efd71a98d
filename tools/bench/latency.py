"""Milliseconds from a key to the frame that shows what it changed, in the pages of `make html`.

Up to 17 of them are spent waiting for the next frame of a 60 Hz screen; the goal is a median of
16. A busy machine is slow: look twice before believing a miss.
"""
import statistics
import sys

from tools import ROOT
from tools.browser import PROGRAM, ROOT_NEEDS

PAGES = ROOT / "dist/html"
PRESSES = 20
PIECES = ".d2l-explorer, .d2l-piece"
CONTROL = "input:enabled:visible, select:enabled:visible, button:enabled:visible"
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


def presses(page, control):
    """The milliseconds of each press: forth and back, or again."""
    kind = control.get_attribute("type") or control.evaluate("(one) => one.localName")
    keys = ("ArrowRight", "ArrowLeft") if kind in ("range", "number", "radio") else ("Space",) * 2
    control.focus()
    for i in range(PRESSES):
        page.evaluate("() => { delete window.took; }")
        page.keyboard.press(keys[i % 2])
        yield page.wait_for_function("() => window.took").json_value()


def table():
    """Rows of each lesson's page: its median, its worst control, and that control's median."""
    pages = sorted(PAGES.glob("[0-9]*.html"))
    if not pages or not PROGRAM:
        sys.exit("First `make html`, and install Chromium or Google Chrome.")
    from playwright.sync_api import sync_playwright
    rows = [["lesson", "controls", "median, ms", "slowest control", "its median, ms"]]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=ROOT_NEEDS)
        for path in pages:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            page.evaluate(WATCH)
            medians = {}
            for control in page.locator(PIECES).locator(CONTROL).all():
                name = control.evaluate("(one) => one.ariaLabel || "
                                        "(one.closest('label') ?? one).textContent.trim()")
                medians[name or "?"] = statistics.median(presses(page, control))
            if medians:
                worst = max(medians, key=medians.get)
                rows.append([path.stem[:2], str(len(medians)),
                             f"{statistics.median(medians.values()):.0f}", worst,
                             f"{medians[worst]:.0f}"])
            page.close()
        browser.close()
    return rows
