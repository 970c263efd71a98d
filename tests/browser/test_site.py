"""The website in a real browser: alone, on three widths, by keyboard and touch, on paper."""
import functools
import http.server
import re
import threading

import pytest
from pieces import LESSONS
from screen import LUMINANCE, PICTURE, axe, becomes, expect, printed, until

from tools import ROOT

WIDTHS = 390, 768, 1280
UNFOLD = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"
# Pictures at less than half of their size, where letters can no longer be read.
SHRUNK = """() => [...document.images].filter(({ width, naturalWidth }) =>
  width && width < naturalWidth / 2).map(({ alt }) => alt)"""
# Whether the page has seen what was unfolded: what can be scrolled there takes the focus.
SEEN = """() => [...document.querySelectorAll("pre, .wide, .output_html")]
  .every((box) => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
PAGES = [f"{path.stem}.html" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
PAGES += ["index.html", "references.html", "search.html?q=mask", "symbols.html"]
CHINESE = ["zh/02_multi_head_attention.html", "zh/06_cnn_rnn_self_attention.html",
           "zh/index.html", "zh/search.html?q=掩码", "zh/symbols.html"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def visit(opened, address):
    """Open a page of the site."""
    def visit(name, width=1280, scheme="light", **settings):
        page = opened(width, color_scheme=scheme, **settings)
        page.goto(address + name, wait_until="load")
        return page

    return visit


def unfold(page):
    page.evaluate(UNFOLD)
    page.wait_for_function(SEEN)


def overflows(page):
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("name", PAGES + CHINESE)
def test_readable_on_three_widths(visit, name):
    page = visit(name)
    unfold(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        becomes(lambda: overflows(page), False)
    page.wait_for_function(SEEN)
    assert axe(page, "html") == []


@pytest.mark.parametrize("name", PAGES[2:3] + PAGES[-4:] + CHINESE[-3:])
def test_in_the_dark(visit, name):
    page = visit(name, 390, "dark")
    unfold(page)
    assert axe(page, "html") == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, background[4:-1].split(","))) < 150


def test_search_finds_a_section_and_leads_there(visit):
    page = visit("index.html")
    page.get_by_role("searchbox").first.fill("softmax overflows")
    page.keyboard.press("Enter")
    found = page.locator(".pagefind-ui__result-link").first
    found.wait_for()
    assert "¶" not in found.inner_text()
    found.click()
    page.wait_for_url(lambda url: "search.html" not in url)
    expect(page.locator("h1").first).to_be_visible()


@pytest.mark.parametrize("asked, lesson, sentence", [
    ("多头注意力", "zh/02_", "02 多头注意力"),  # a browser's word is 注意力, a dictionary's 注意
    ("缩放点积", "zh/01_", "01 注意力汇聚"),
    ("旋转位置编码", "zh/05_", "05 相对位置"),
])
def test_search_finds_chinese_within_sentences(visit, asked, lesson, sentence):
    page = visit("zh/index.html")
    page.get_by_role("searchbox").first.fill(asked)
    page.keyboard.press("Enter")
    found = page.locator(".pagefind-ui__result-link").first
    found.wait_for()
    assert found.inner_text() == sentence and lesson in found.get_attribute("href")
    shown = page.locator(".pagefind-ui__result").first.inner_text()
    assert not re.search("[\u4e00-\u9fff] [\u4e00-\u9fff]|undefined", shown)


def test_a_page_leads_to_its_twin_and_back(visit):
    page = visit("02_multi_head_attention.html")
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/zh/02_multi_head_attention.html")
    page.get_by_role("link", name="English").click()
    page.wait_for_url(lambda url: "zh" not in url and url.endswith("/02_multi_head_attention.html"))


def test_a_word_on_the_first_page_shows_its_arcs_by_touch_and_keyboard(visit):
    page = visit("index.html", 390, has_touch=True)
    said = page.locator(".arcs .said:visible")
    assert said.inner_text().startswith("bites looks at dog")
    page.locator(".arcs .w0 .token").tap()
    assert said.inner_text().startswith("dog asks for nothing")
    assert page.locator(".arcs path:visible").count() == 6
    page.keyboard.press("Tab")
    assert said.inner_text().startswith("bites") and page.locator(".arcs path:visible").count() == 2
    assert page.locator(".arcs .number:visible").count() == 0
    page.get_by_label("Numbers").check()
    assert page.locator(".arcs .number:visible").count() == 6


def test_an_answer_is_marked_and_opens_the_reasons(visit):
    page = visit(PAGES[2])
    question = page.locator(".celltag_question").first
    reasons = question.locator("details")
    question.get_by_role("button", name="A").first.press("Enter")
    expect(reasons).to_have_attribute("open", "")
    expect(question.locator(".wrong")).to_have_count(1)
    question.get_by_role("button", name="C stays").click()
    expect(question.locator(".right")).to_have_count(1)
    sizes = [button.bounding_box()["height"] for button in question.get_by_role("button").all()]
    assert min(sizes) >= 44


def test_the_contents_say_where_one_is(visit):
    page = visit(PAGES[2])
    page.locator("h2").nth(3).evaluate("(heading) => heading.scrollIntoView()")
    here = page.locator(".contents [aria-current]")
    expect(here).to_have_text(page.locator("h2").nth(3).inner_text().removesuffix("¶"))


@pytest.mark.parametrize("number", LESSONS)
def test_a_lessons_piece_answers_a_finger(visit, number):
    page = visit(next(name for name in PAGES if name.startswith(number)), 390, has_touch=True)
    piece = page.locator(".d2l-piece").first
    piece.scroll_into_view_if_needed()
    drawn = piece.evaluate(PICTURE)
    choice = piece.locator("svg [role=checkbox], label:has(input:enabled:not(:checked)), "
                           "button:enabled")
    if choice.count():
        choice.first.tap()
    else:
        piece.locator("input[type=range]").first.tap(position={"x": 3, "y": 20})
    until(lambda: piece.evaluate(PICTURE) != drawn, 10)


def test_a_phone_shows_cards_one_by_one_and_pictures_as_large_as_can_be_read(visit):
    for width, columns in ((390, 1), (1280, 3)):
        cards = visit("index.html", width).locator(".cards li")
        assert len({card.bounding_box()["x"] for card in cards.all()}) == columns
    page = visit(PAGES[2], 390)
    unfold(page)
    assert page.evaluate(SHRUNK) == []
    page.add_style_tag(content="main img { max-width: 100% !important; }")
    assert page.evaluate(SHRUNK)


def test_paper_has_the_text_alone(visit):
    page = visit(PAGES[2], scheme="dark")
    piece = page.locator(".d2l-piece")
    for event, light in (("beforeprint", True), ("afterprint", False)):
        page.evaluate("(name) => dispatchEvent(new Event(name))", event)
        until(lambda: (piece.evaluate(LUMINANCE) > 0.5) == light)
        until(lambda: page.locator("details.answer:not([open])").count() == 0 or not light)
    assert page.locator("details[open].answer").count() == 0
    page.emulate_media(media="print")
    printed(page)
    for screen_only in ("header", ".contents"):
        expect(page.locator(screen_only)).to_be_hidden()
    brightness = page.locator(".input pre code, .input pre").first.evaluate(
        "(code) => getComputedStyle(code).color.match(/\\d+/g).slice(0, 3).map(Number)")
    assert max(brightness) < 130  # dark letters on white paper, whatever the screen's are
    assert not overflows(page)
