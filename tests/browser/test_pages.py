"""Each explorer alone in a page: in every window, in the dark, in high contrast, without motion or
scripts, by mouse and finger, and with tokens that nobody expects."""
import pytest
import torch
from pieces import HOSTILE, PIECES
from screen import BEYOND, FAULTS, LUMINANCE, PICTURE, axe, becomes, said, show, walk

from d2l_ext import MultiHeadAttention
from attention_lessons.languages import languages
from attention_lessons.pieces import heads_explorer

PROJECTOR = 359  # what JupyterLab leaves of the height of 1280 x 720 at 150 %, 673 px wide
WINDOWS = {
    "zoomed to 200 %": {"width": 640, "height": 450, "device_scale_factor": 2},
    "projector": {"width": 673, "height": PROJECTOR, "reduced_motion": "reduce"},
    "phone": {"width": 352, "height": 844, "has_touch": True, "is_mobile": True},
    "tablet": {"width": 1024, "height": 700, "has_touch": True, "is_mobile": True},
    "dark": {"color_scheme": "dark"},
    "high contrast": {"color_scheme": "dark", "forced_colors": "active"},
}
MOVING = """() => [...document.querySelectorAll(".d2l-piece, .d2l-piece *")].filter((el) => {
  const { transitionDuration, animationName } = getComputedStyle(el);
  const takes = transitionDuration.split(", ").some((time) => parseFloat(time) > 0);
  return takes || animationName !== "none";
}).map((el) => el.outerHTML.slice(0, 90)).concat(document.getAnimations().map(String))"""
# The height that the controls take together with the sentence that they change.
TOGETHER = """(piece) => {
  const boxes = [...piece.querySelectorAll("input, select, button, .result")]
    .map((el) => (el.closest("label") ?? el).getBoundingClientRect());
  return Math.max(...boxes.map((b) => b.bottom)) - Math.min(...boxes.map((b) => b.top));
}"""
# What takes a press on less than a finger.
SMALL = """(piece) => [...piece.querySelectorAll("input, select, button")].filter((el) => {
  const { width, height } = (el.type.match(/radio|check/) ? el.closest("label") : el)
    .getBoundingClientRect();
  return Math.min(width, height) < 44;
}).map((el) => el.outerHTML.slice(0, 60))"""
# Words that are shortened.
SHORTENED = """(piece) => [...piece.querySelectorAll("svg text")].map((el) => el.textContent)
  .filter((words) => words.includes("…"))"""
# JupyterLab hides everything for a moment while it changes themes.
RETHEME = """async () => {
  const [main] = document.getElementsByTagName("main");
  main.hidden = true;
  document.body.dataset.theme = "other";
  await new Promise((done) => setTimeout(done));
  main.hidden = false;
  await new Promise(requestAnimationFrame);
}"""
EVERY = pytest.mark.parametrize("name", PIECES)


@pytest.fixture(scope="module")
def explorers():
    return {name: make() for name, make in PIECES.items()}


# ---- windows -------------------------------------------------------------------------------------

@pytest.mark.parametrize("window", WINDOWS)
@EVERY
def test_all_can_be_seen_and_moved(opened, explorers, name, window):
    settings = WINDOWS[window]
    page = opened(**settings)
    piece = show(page, explorers[name])

    def faults():
        return (page.evaluate(BEYOND) + page.evaluate(FAULTS) + piece.evaluate(SHORTENED)
                + (piece.evaluate(SMALL) if settings.get("has_touch") else []))

    becomes(faults, [])
    assert (piece.evaluate(LUMINANCE) < 0.2) == ("color_scheme" in settings)
    walk(piece)  # the sentence keeps the room that its longest took
    becomes(faults, [])
    assert axe(page, ".d2l-piece") == []
    if "reduced_motion" in settings:
        assert page.evaluate(MOVING) == []
    assert window != "projector" or piece.evaluate(TOGETHER) <= PROJECTOR


@EVERY
def test_without_scripts_the_picture_stays(browser, explorers, name):
    """Or the words, for a piece that has no picture since every model's maps differ."""
    page = browser.new_page(java_script_enabled=False)
    page.set_content(f"<!doctype html>{explorers[name].html()}")
    still = page.locator("p.d2l-still" if name == "attention" else "img.d2l-still")
    assert still.is_visible() and still.bounding_box()["width"] > 200
    assert page.locator(".d2l-piece").count() == 0
    page.close()


def test_a_theme_changed_out_of_sight_leaves_the_picture_whole(opened, explorers):
    piece = show(opened(), explorers["lengths"])
    picture = piece.locator("svg").first
    wide = picture.get_attribute("width")
    piece.page.evaluate(RETHEME)
    said(piece).not_to_be_empty()
    becomes(lambda: picture.get_attribute("width"), wide)


# ---- hands ---------------------------------------------------------------------------------------

# Where grips are dragged to, but for those that go 90 px to the right: a piece's first, second ...
WAYS = {"heads": [(-300, 0)], "tiles": [(120, 0), (0, 60)], "memories": [(-60, 0), (60, 0)],
        "compare": [(-90, 0), (0, 80), (-90, 0), (0, -60), (-90, 0), (0, 80)]}


def drag(page, start, way, finger):
    """From a point by (right, down), with a finger or a mouse."""
    places = [[at + part * by for at, by in zip(start, way)] for part in (0, 0.4, 0.8, 1)]
    if not finger:
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place)
        return page.mouse.up()
    touch = page.context.new_cdp_session(page)
    for kind, (x, y) in zip(("touchStart", *["touchMove"] * 3), places):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("finger", [False, True], ids=["mouse", "finger"])
@EVERY
def test_what_shows_a_hand_answers_to_it(opened, monkeypatch, name, finger, code):
    """Each part that is dragged or pressed in a picture changes it, and the page stays."""
    monkeypatch.setattr("attention_lessons.languages.chosen", code)
    page = opened(has_touch=finger, reduced_motion="reduce")
    piece = show(page, PIECES[name]())
    page.evaluate("addEventListener('pointercancel', () => console.error('scrolled'), true)")
    for kind in ("press", "grip"):  # a drag with a finger ends in a gesture that swallows a tap
        for i, part in enumerate(piece.locator(f"svg .{kind}[tabindex='0']").all()):
            part.scroll_into_view_if_needed()
            handle = part.locator(".halo").first if part.locator(".halo").count() else part
            box, before = handle.bounding_box(), piece.evaluate(PICTURE)
            start = (box["x"] + box["width"] * (0.2 if kind == "press" and i % 2 else 0.5),
                     box["y"] + box["height"] * 0.4)
            if kind == "grip":
                drag(page, start, dict(enumerate(WAYS.get(name, []))).get(i, (90, 0)), finger)
            else:
                (page.touchscreen.tap if finger else page.mouse.click)(*start)
            becomes(lambda: piece.evaluate(PICTURE) != before)


# ---- tokens that nobody expects ------------------------------------------------------------------

@pytest.mark.parametrize("width", [640, 1280])
def test_odd_tokens_are_shown_as_text(opened, width):
    page, X = opened(width), torch.randn(len(HOSTILE), 6)
    piece = show(page, heads_explorer(MultiHeadAttention(6, 3), X, HOSTILE, HOSTILE[:6]))
    words = piece.inner_text()
    assert all(shown in words for shown in ("<script>", "🐕", "כלב", "xxxxx", "(empty)"))
    assert piece.locator("script, img, b:has(script)").count() == 0
    assert page.evaluate(BEYOND) == [] and axe(page, ".d2l-piece") == []
    for control in piece.locator("input").all()[:8]:
        if control.get_attribute("type") == "range":
            control.press("End")
        else:
            control.check()
        said(piece).not_to_be_empty()
    becomes(lambda: page.evaluate(BEYOND), [])
