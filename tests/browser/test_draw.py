"""What readers draw before a figure is shown: by mouse, touch and keys, told, kept, and printed."""
import io

import pytest
from PIL import Image
from screen import HEAD, axe, becomes, expect

from attention_lessons.plotting import bars, curves, heatmaps

pytestmark = pytest.mark.browser
ADDRESS = "http://127.0.0.1:1/"  # on which something is kept
HOSTILE = "</script><img src=x onerror=alert(1)>{0}$&"
FIGURES = {
    "curve": lambda: curves([0, 1, 2], {"flat": [0, 0, 0], HOSTILE: [1, 0.5, 0]}, xlabel="x",
                            ylabel="y", name="11-full"),
    "bars": lambda: bars([0.9, 0.2], ["a", "b"], ylabel=HOSTILE, name="09-cut"),
    "map": lambda: heatmaps([[1.0, 0.0]], ["q"], ["a", "b"], name="06-t5-map")}


@pytest.fixture
def figure(opened, request):
    """A figure of this kind, folded, on a page of its own."""
    page = opened(has_touch=True)
    made = FIGURES[request.param]()._repr_mimebundle_()["text/html"]
    body = (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>figure</title>{HEAD}'
            f'<main><details class="answer"><summary>Show</summary>{made}</details>'
            '<div id="cell-id=next">Next</div></main>')
    page.route(ADDRESS, lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(ADDRESS)
    return page.locator(".d2l-draw")


def covered(figure) -> bool:
    """Whether the picture has no colours."""
    picture = Image.open(io.BytesIO(figure.locator(".d2l-stage").first.screenshot()))
    return all(max(ink) - min(ink) < 60 for _, ink in picture.convert("RGB").getcolors(1 << 24))


@pytest.mark.parametrize("figure, keys, told", [
    ("curve", ["Home", "", "End"], "You drew it rising; it falls."),
    ("curve", ["End", "", "Home"], "Everywhere within 0.10 of what you drew."),
    ("curve", ["", "ArrowUp", ""], "Farthest apart, at x 0: you drew 0.50; it is 1.00."),
    ("bars", ["Home", "End"], "You drew b highest; it is a."),
    ("bars", ["End", "End"], "Farthest apart, at b: you drew 0.94; it is 0.20."),
    ("map", ["ArrowUp", ""], "Farthest apart, at q → a: you drew 0.25; it is 1.00.")],
    indirect=["figure"])
def test_what_keys_draw_is_told_and_kept(figure, keys, told):
    page, told_at, strip = figure.page, figure.locator("> p"), figure.page.locator(".d2l-strip")
    assert covered(figure) and axe(page, "main") == []
    expect(figure.locator("img")).to_have_attribute("alt", "")  # nor is it said
    for key in keys:
        page.keyboard.press("Tab")
        if key:
            page.keyboard.press(key)
    page.reload()
    page.get_by_role("button", name="Show").press("Enter")
    expect(told_at).to_have_text(told)
    assert not covered(figure) and axe(page, "main") == []
    page.reload()
    expect(told_at).to_have_text(told)
    assert page.locator(strip.get_by_role("link", name=told).get_attribute("href")).count() == 1
    assert strip.evaluate("(strip) => strip.nextElementSibling.id") == "cell-id=next"
    page.get_by_role("button", name="Draw again").click()
    assert covered(figure) and strip.count() == 0 and page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("figure", ["curve"], indirect=True)
@pytest.mark.parametrize("finger", [False, True])
def test_one_stroke_draws_a_curve(figure, finger):
    page, box = figure.page, figure.locator(".hand").bounding_box()
    touch = page.context.new_cdp_session(page)
    for i in range(1, 21):
        x, y = box["x"] + box["width"] * i / 21, box["y"] + box["height"] * (1 - i / 21)
        if finger:
            touch.send("Input.dispatchTouchEvent", {
                "type": "touchMove" if i > 1 else "touchStart", "touchPoints": [{"x": x, "y": y}]})
        else:
            page.mouse.move(x, y)
            if i == 1:
                page.mouse.down()
    becomes(lambda: [float(each.input_value()) for each in figure.get_by_role("slider").all()],
            [0, 0.5, 1])


@pytest.mark.parametrize("figure", ["map"], indirect=True)
def test_what_is_tapped_grows_darker_and_no_storage_does_no_harm(figure):
    figure.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw Error(); } })")
    figure.page.reload()
    for value in ("0.25", "0.5", "0.75", "1", "0"):
        figure.locator(".hand").tap(position={"x": 9, "y": 9})
        assert figure.get_by_role("slider").first.input_value() == value


@pytest.mark.parametrize("figure", FIGURES, indirect=True)
def test_on_paper_and_before_anything_is_drawn_it_is_the_picture(figure):
    figure.page.evaluate("localStorage['d2l-drawn-11-full'] = '[\"<b>\", 1e99]'")
    figure.page.emulate_media(media="print")
    assert not covered(figure)
    expect(figure.get_by_role("button")).to_be_hidden()
    figure.page.emulate_media(media="screen")
    figure.get_by_role("button").click()
    assert not covered(figure)
    expect(figure.locator("> p")).to_be_empty()
    expect(figure.locator("circle, text, .dash")).to_have_count(0)
