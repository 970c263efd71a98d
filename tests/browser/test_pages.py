"""Each explorer alone in a page: zoomed, on a projector, in the dark, in high contrast, without motion, without scripts, and with tokens that nobody expects."""
import pytest
import torch
from pieces import HOSTILE, PIECES, STILL, lengths, order
from screen import axe, play, result, show, watch

from d2l_ext import MultiHeadAttention
from d2l_ext.laboratory.dates import load
from d2l_ext.explorers import dates_explorer, heads_explorer

# What reaches beyond the page's right edge and can't be scrolled to within the piece, or is cut off by its own box.
CUT = """() => [...document.querySelectorAll(".d2l-piece, .d2l-piece *")].filter((el) => {
  const { width, right, left } = el.getBoundingClientRect();
  if (!width) return false;
  const scroller = el.parentElement.closest(".scroll");
  const { overflowX, textOverflow } = getComputedStyle(el);
  const clipped = overflowX === "hidden" && textOverflow !== "ellipsis" && el.scrollWidth > el.clientWidth + 1;
  return clipped || (!scroller && (right > innerWidth + 0.5 || left < -0.5));
}).map((el) => el.outerHTML.slice(0, 90)).concat(document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [])"""
MOVING = """() => [...document.querySelectorAll(".d2l-piece, .d2l-piece *")].filter((el) => {
  const { transitionDuration, animationName } = getComputedStyle(el);
  return transitionDuration.split(", ").some((time) => parseFloat(time) > 0) || animationName !== "none";
}).map((el) => el.outerHTML.slice(0, 90)).concat(document.getAnimations().map(String))"""
LUMINANCE = "(piece) => getComputedStyle(piece).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765"
ODD = [HOSTILE[i] for i in (0, 2, 3, 4, 5)]


@pytest.fixture(scope="module")
def explorers():
    return {name: make() for name, make in PIECES.items()}


def blur(page):
    return lambda: page.evaluate("() => document.activeElement.blur()")


@pytest.fixture
def opened(browser):
    """Open pages with settings of their own; they are closed at the end, and none may have complained."""
    pages = []

    def open_page(**settings):
        pages.append(watch(browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | settings)))
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.errors == [] and page.requests == []
        page.close()


# ---- sizes ------------------------------------------------------------------------------------------------------------------------------

ZOOMED = {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2}


@pytest.mark.parametrize("settings", [ZOOMED, {}], ids=["zoomed to 200 %", "projector"])
@pytest.mark.parametrize("name", PIECES)
def test_nothing_is_cut(opened, explorers, name, settings):
    page = opened(**settings)
    piece = show(page, explorers[name])
    assert page.evaluate(CUT) == []
    play(piece, STILL[name], blur(page))
    assert page.evaluate(CUT) == []


def test_what_is_too_wide_is_noticed(opened, explorers):
    page = opened(**ZOOMED)
    piece = show(page, explorers["clock"])
    piece.locator(".result").evaluate("(el) => { el.style.minWidth = '700px'; }")
    assert page.evaluate(CUT)


# ---- settings of those who need them ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", PIECES)
def test_nothing_moves_by_itself(opened, explorers, name):
    page = opened(reduced_motion="reduce")
    piece = show(page, explorers[name])
    play(piece, STILL[name], blur(page))
    assert page.evaluate(MOVING) == []


def test_what_moves_is_noticed(opened, explorers):
    page = opened(reduced_motion="reduce")
    show(page, explorers["pooling"]).locator(".bar").first.evaluate("(bar) => { bar.style.transition = 'width .3s'; }")
    assert page.evaluate(MOVING)


@pytest.mark.parametrize("settings", [{"color_scheme": "dark"}, {"forced_colors": "active", "color_scheme": "dark"}], ids=["dark", "high contrast"])
@pytest.mark.parametrize("name", PIECES)
def test_in_the_dark(opened, explorers, name, settings):
    page = opened(**settings)
    piece = show(page, explorers[name], head='<meta name="color-scheme" content="light dark">')
    assert piece.evaluate(LUMINANCE) < 0.2
    assert axe(page, ".d2l-piece") == []
    play(piece, STILL[name], blur(page))
    assert axe(page, ".d2l-piece") == []


@pytest.mark.parametrize("name", PIECES)
def test_without_scripts_the_picture_stays(browser, explorers, name):
    page = browser.new_page(java_script_enabled=False)
    page.set_content(f"<!doctype html>{explorers[name].html()}")
    still = page.locator("img.d2l-still")
    assert still.is_visible() and still.bounding_box()["width"] > 200 and explorers[name].numbers in still.get_attribute("alt")
    assert page.locator(".d2l-piece").count() == 0
    page.close()


@pytest.mark.parametrize("name", ["lengths", "clock", "heads"])
def test_a_theme_changed_out_of_sight_leaves_the_picture_whole(opened, explorers, name):
    """JupyterLab hides everything for a moment while it changes themes."""
    page = opened()
    piece = show(page, explorers[name])
    size = piece.locator("canvas").first.evaluate("(canvas) => canvas.width")
    page.evaluate("""async () => {
        const [main] = document.getElementsByTagName("main");
        main.hidden = true;
        document.body.dataset.theme = "other";
        await new Promise((done) => setTimeout(done));
        main.hidden = false; }""")
    assert result(piece) and piece.locator("canvas").first.evaluate("(canvas) => canvas.width") == size


# ---- tokens that nobody expects ---------------------------------------------------------------------------------------------------------

def odd_heads():
    return heads_explorer(MultiHeadAttention(6, 3), torch.randn(8, 6), HOSTILE, HOSTILE[:6])


def odd_order():
    return order(attention=MultiHeadAttention(5, 1), X=torch.randn(5, 5), tokens=ODD, features=ODD, valid_len=2)


def odd_lengths():
    rows = [{"task": task, "encoding": encoding, "seed": 0, "accuracy": {"4": [1.0], "8": [1.0, 0.5]}} for task in ODD for encoding in ODD]
    return lengths(rows, 4, dict.fromkeys(ODD, 0.1))


@pytest.mark.parametrize("make", [odd_heads, odd_order, odd_lengths])
@pytest.mark.parametrize("width", [640, 1280])
def test_odd_tokens_are_shown_as_text(opened, make, width):
    page = opened(viewport={"width": width, "height": 900})
    piece = show(page, make())
    words = piece.inner_text()
    for shown in ("<script>", "🐕", "כלב", "xxxxx", "(empty)"):
        assert shown in words, shown
    assert piece.locator("script, img, b:has(script)").count() == 0
    assert page.evaluate(CUT) == [] and axe(page, ".d2l-piece") == []
    for control in piece.locator("input").all()[:8]:
        control.press("End") if control.get_attribute("type") == "range" else control.check()
        assert result(piece)
    assert page.evaluate(CUT) == []


def test_odd_text_is_no_date(opened):
    for text in HOSTILE:
        page = opened()
        piece = show(page, dates_explorer(load(), text))
        assert result(piece) and piece.locator("script, img").count() == 0


@pytest.mark.parametrize("make, words", [
    (lambda: heads_explorer(MultiHeadAttention(4, 2), torch.zeros(0, 4), [], list("abcd")), "at least one token"),
    (lambda: order(X=torch.zeros(0, 4), tokens=[]), "2 to 5 tokens"),
    (lambda: lengths(rows=[]), "needs rows"),
])
def test_no_tokens_at_all_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
