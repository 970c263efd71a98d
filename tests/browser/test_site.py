"""Pages in a real browser, those of the website and those that are a file alone: whole, readable in
every width and light, by keyboard and touch."""
import re

import nbformat
import pytest
from screen import axe, becomes, expect, said

from attention_lessons.languages import language, languages
from tools.draw import draw
from tools.notebooks import nbtext
from tools.publish import pages as export

pytestmark = pytest.mark.browser
NOTEBOOKS = nbtext.notebooks()
WIDTHS = 390, 768, 853, 1280  # 853 x 480: a projector of 1280 x 720 at 150 %
HEADS = "03_multi_head_attention.html"
SITE = [HEADS, "index.html", "references.html", "search.html?q=mask", "symbols.html", f"zh/{HEADS}",
        "zh/07_cnn_rnn_self_attention.html", "zh/index.html", "zh/search.html?q=掩码",
        "zh/symbols.html"]
UNFOLD = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"
# Whether the page has seen what was unfolded: what can be scrolled there takes the focus.
SEEN = """() => [...document.querySelectorAll("pre, .wide, .output_html")]
  .every((box) => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
# What is wrong in an unfolded page: formulas that take no room or are left as dollars, and without
# their font; pictures that don't load or have no words; links within the page that lead nowhere.
FAULTS = """() => {
  const all = (name) => [...document.querySelectorAll(name)];
  const texts = ":is(p, li, td, th, h1, h2, h3, summary)";
  const raw = all(".text_cell_render " + texts).map((part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("code, pre, math").forEach((code) => code.remove());
    return copy.textContent;
  }).filter((text) => /\\$|\\\\[a-z]+/.test(text));
  const flat = all("math").filter((math) => math.getBoundingClientRect().width <= 2);
  const blind = all("img").filter((image) => !image.closest("[hidden]"))
    .filter((image) => image.complete && !image.naturalWidth || !image.hasAttribute("alt")
      || image.alt.startsWith("No description"));
  const dead = all("a[href^='#']").filter(({ hash }) =>
    ![hash, decodeURIComponent(hash)].some((each) => document.getElementById(each.slice(1))));
  const fonts = [...document.fonts].filter(({ family }) => family === "formulas");
  const set = !all("math").length || fonts.some(({ status }) => status === "loaded");
  return [...raw, ...[...flat, ...blind, ...dead].map((part) => part.outerHTML.slice(0, 90)),
    ...(set ? [] : ["formulas lack their font"])];
}"""
# Pictures at less than half of their size, where letters can no longer be read.
SHRUNK = """() => [...document.images].filter(({ width, naturalWidth }) =>
  width && width < naturalWidth / 2).map(({ alt }) => alt)"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"

# Texts of an SVG that no part has, or a part not wholly.
CUT = """() => {
  const edges = ({ x, y, width, height }) => [x, y, -x - width, -y - height];
  const parts = [...document.querySelectorAll("svg:not(:has(svg))")];
  return [...document.querySelectorAll("text:not(:empty)")].filter((text) => {
    const own = edges(text.getBoundingClientRect());
    const met = parts.map((part) => edges(part.viewBox.baseVal))
      .filter((part) => own.every((edge, i) => edge < -part[(i + 2) % 4]));
    return !met.length || met.some((part) => own.some((edge, i) => edge < part[i]));
  }).map((text) => text.textContent);
}"""


# ---- every page ----------------------------------------------------------------------------------

def overflows(page):
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def unfold(page):
    page.evaluate(UNFOLD)
    page.evaluate("document.fonts.ready")
    page.wait_for_function(SEEN)


def look(page):
    """Unfolded, the page is whole and readable in every width, and for everybody."""
    unfold(page)
    assert page.evaluate(FAULTS) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        becomes(lambda: overflows(page), False)
    page.wait_for_function(SEEN)
    assert axe(page, "html") == []


@pytest.mark.parametrize("name", SITE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_the_site_can_be_read(visit, name, scheme):
    page = visit(name, scheme=scheme)
    look(page)
    assert (sum(page.evaluate(BACKGROUND)) < 150) == (scheme == "dark")


def formulas(notebook) -> int:
    """How many formulas the notebook's text has."""
    texts = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    bare = re.sub(r"(`+).+?\1", "", texts, flags=re.S)
    return len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", bare, re.S))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=nbtext.place)
def test_a_page_alone_needs_nothing_else_and_keeps_predictions_folded(opened, tmp_path, path):
    made, notebook = export.write(path, tmp_path), nbformat.read(path, as_version=4)
    assert made.stat().st_size < 1_000_000
    page, asked = opened(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(made.as_uri())
    assert page.title() == export.title_of(notebook)
    assert page.locator("math").count() == formulas(notebook)
    for link in page.locator("a[href$='.html'], a[href$='.ipynb']").all():
        href = link.get_attribute("href")
        assert href.startswith("http") or (path.parent / href).with_suffix(".ipynb").exists(), href
    answers = page.locator("details.folded:has(.output_subarea):not(:has(.d2l-draw))")
    drawn = page.locator("details.answer[open] .d2l-draw")  # in whose place it can be drawn
    assert answers.count() + drawn.count() == sum(
        cell.cell_type == "code" and "predict" in cell.metadata.tags for cell in notebook.cells)
    for answer in answers.all():
        output = answer.locator(".output_subarea").first
        expect(output).to_be_hidden()
        answer.locator("summary").first.press("Enter")
        expect(output).to_be_visible()
    folded = page.locator("details.folded:not(:has(.output_subarea))")
    assert folded.count() == sum(cell.metadata.get("jupyter", {}).get("source_hidden", False)
                                 for cell in notebook.cells)
    if any("explorer" in cell.metadata.tags for cell in notebook.cells):
        said(page.locator(".d2l-piece").first).not_to_be_empty()
        expect(page.locator(".d2l-still:visible")).to_have_count(0)
    look(page)
    assert len([url for url in asked if not url.startswith("data:")]) == 1


# ---- what a page does ----------------------------------------------------------------------------

@pytest.mark.parametrize("home, asked, lesson, sentence", [
    ("index.html", "softmax overflows", "", ""),
    ("zh/index.html", "多头注意力", "zh/03_", "03 多头注意力"),  # a browser's word is 注意力
    ("zh/index.html", "旋转位置编码", "zh/06_", "06 相对位置"),
])
def test_search_finds_a_section_and_leads_there(visit, home, asked, lesson, sentence):
    page = visit(home)
    page.get_by_role("searchbox").first.fill(asked)
    page.keyboard.press("Enter")
    found = page.locator(".pagefind-ui__result-link").first
    found.wait_for()
    assert "¶" not in found.inner_text() and found.inner_text().startswith(sentence)
    shown = page.locator(".pagefind-ui__result").first.inner_text()
    assert not re.search("[\u4e00-\u9fff] [\u4e00-\u9fff]|undefined", shown)
    found.click()
    page.wait_for_url(lambda url: "search.html" not in url and lesson in url)
    expect(page.locator("h1").first).to_be_visible()


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
    assert page.locator(".arcs .number:visible").count() == 2


@pytest.mark.parametrize("page, words", [
    ("index.html", "Close heads"), ("zh/index.html", "请关掉")])
def test_the_riddle_of_the_day_waits_on_the_front_page(visit, page, words):
    page = visit(page)
    said = page.locator(".result")
    expect(said).to_contain_text(words)
    page.locator(".press").last.press("Enter")
    expect(said).not_to_contain_text(words)
    page.reload()
    expect(page.locator(".press").last).to_have_attribute("aria-checked", "false")


def test_an_answer_is_marked_and_opens_the_reasons(visit):
    page = visit(HEADS)
    question = page.locator(".celltag_question").first
    question.get_by_role("button", name="A").first.press("Enter")
    expect(question.locator("details")).to_have_attribute("open", "")
    expect(question.locator(".wrong")).to_have_count(1)
    question.get_by_role("button", name="C stays").click()
    expect(question.locator(".right")).to_have_count(1)
    sizes = [button.bounding_box()["height"] for button in question.get_by_role("button").all()]
    assert min(sizes) >= 44


def test_a_choice_is_a_button_with_its_own_reason(visit):
    page = visit(HEADS)
    exercise = page.locator(".celltag_exercise:has(.option)").first
    exercise.get_by_role("button", name="b").first.click()
    expect(exercise.locator(".wrong")).to_have_count(1)
    expect(exercise.locator("details li:visible")).to_have_count(1)
    exercise.get_by_role("button", name="a").first.click()
    expect(exercise.locator("details li:visible")).to_have_count(2)
    expect(exercise.locator(".right")).to_have_count(1)


def test_the_contents_say_where_one_is(visit):
    page = visit(HEADS)
    page.locator("h2").nth(3).evaluate("(heading) => heading.scrollIntoView()")
    here = page.locator(".contents [aria-current]")
    expect(here).to_have_text(page.locator("h2").nth(3).inner_text().removesuffix("¶"))


def test_a_phone_shows_cards_one_by_one_and_pictures_as_large_as_can_be_read(visit):
    for width, columns in ((320, 1), (390, 1), (1280, 3)):
        page = visit("index.html", width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        cards = page.locator(".cards li")
        assert len({card.bounding_box()["x"] for card in cards.all()}) == columns
    page = visit(HEADS, 390)
    unfold(page)
    assert page.evaluate(SHRUNK) == []


@pytest.mark.parametrize("code", languages())
def test_upright_drawings_say_the_same_and_cut_no_word(opened, code):
    page = opened()
    for name, upright in draw.UPRIGHT.items():
        language(code)
        both = draw.PICTURES[name](), upright()
        language("en")
        for each in both:
            page.set_content("<body style='margin: 0'>" + each.replace("defs>", "g>"))
            assert page.evaluate(CUT) == [], name
        wide, tall = (sorted(re.sub(r"<.*?>|\s", "", each)) for each in both)
        assert wide == tall


def test_a_state_is_an_address(visit):
    """What was set is there again where the address is opened; what no hand could set is not."""
    lesson = "03_multi_head_attention.html"
    page = visit(lesson)
    first = page.locator(".d2l-piece .result").inner_text()
    page.locator(".d2l-piece [role=slider]").first.press("Home")
    set_by_hand = page.locator(".d2l-piece .result").inner_text()
    query = page.evaluate("location.search")
    assert set_by_hand != first and query.startswith("?heads=")
    other = visit(f"{lesson}{query}#cell-id=explorer")
    assert other.locator(".d2l-piece .result").inner_text() == set_by_hand
    for wrong in ("?heads=7", "?heads=%7B", '?heads={"num_heads":"2","none":1}',
                  '?heads={"num_heads":1e9,"asks":-4}'):
        page = visit(lesson + wrong)
        assert page.locator(".d2l-piece .result").inner_text() == first
        expect(page.locator(".d2l-still:visible")).to_have_count(0)
