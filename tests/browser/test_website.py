"""The website: its pages, links, symbols and references, without a browser."""
import copy
import functools
import importlib
import re
from urllib.parse import unquote, urldefrag

import bs4
import nbformat
import pytest

from tools.notebooks import nbtext
from tools.publish import __main__ as publish
from tools.publish import site as website
from tools.publish.pages import html

pytestmark = pytest.mark.browser
TITLE = "03_multi_head_attention"


# ---- its parts ----------------------------------------------------------------------------------

def test_a_symbol_is_found_in_formulas_only_and_as_a_whole():
    texts = r"a beta, $\beta$, $ab$", "words", "still $2 b$", "`b`"
    lesson = {"cells": [{"cell_type": "markdown", "id": number, "source": text}
                        for number, text in enumerate(texts)]}
    for symbol, number in (("$b$", 2), (r"$\beta$", 0)):
        assert website.used(symbol, [{}, lesson]) == [(lesson, number)]


def test_characters_are_words_for_the_search():
    assert website.apart("<p id='头'>用RoPE的<em>头</em></p>") == (
        "<p id='头'> 用 RoPE 的 <em> 头 </em></p>")


def test_no_line_of_chinese_begins_with_a_sign_after_a_formula():
    for given, whole in (("比$n^2$。", True), ("（$n$），", True), ("$n^2$. So", True),
                         ("$$n^2$$\n。", False), ("比$n^2$多。", False)):
        assert ('<span class="whole"><math' in html(given, "zh")) == whole, given


def test_a_text_without_a_translation_stays_and_places_are_filled():
    said = website.frame("zh").globals["_"]
    assert said("No such {0}", "<b>") == "No such &lt;b&gt;"
    assert said("{0} minutes", 45) == "45分钟"


# ---- all of it ----------------------------------------------------------------------------------

@functools.cache
def pages(folder):
    """Every page by its place, such as zh/index."""
    return {path.relative_to(folder).with_suffix("").as_posix():
            bs4.BeautifulSoup(path.read_text("utf-8"), "html.parser")
            for path in sorted(folder.rglob("*.html")) if "slides" not in path.parts}


def test_every_link_leads_somewhere(site):
    broken, made = [], pages(site)
    for name, page in made.items():
        for tag in page.select("[href], [src], [action]"):
            address = tag.get("href") or tag.get("src") or tag.get("action")
            if re.match(r"https?:|data:", address):
                continue
            path, anchor = urldefrag(address)
            here = site / f"{name}.html"
            target = (here.parent / path).resolve() if path else here
            inside = made.get(target.relative_to(site).as_posix().removesuffix(".html"))
            if not target.is_file() or anchor and not (inside.find(id=anchor)
                                                       or inside.find(id=unquote(anchor))):
                broken.append((name, address))
    assert broken == []


def english_left(page):
    """The frame's texts that are not Chinese; names, code and references are not looked at."""
    named = "[lang=en], .cell, .d2l-piece, .references, pre, code, math, table, em, script, style"
    for part in page.select(named):
        part.decompose()
    said = [*page.stripped_strings, *(tag["aria-label"] for tag in page.select("[aria-label]"))]
    said = [re.sub("（[A-Za-z -]+）", "", text) for text in said]  # a term at its first use
    return [text for text in said if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", text)
            or re.fullmatch("[A-Za-z ,.]{3,}", text)]


def test_each_language_has_all_pages_and_each_page_leads_to_its_twin(site):
    made = pages(site)
    english = {name for name in made if not name.startswith("zh/")}
    assert made.keys() == english | {f"zh/{name}" for name in english}
    for name in english:
        for here, other, code in ((name, f"zh/{name}", "zh"), (f"zh/{name}", name, "en")):
            twin = made[here].select_one(f"header a[hreflang={code}]")
            target = (site / here).parent.joinpath(twin["href"]).resolve()
            assert target == site / f"{other}.html" and made[other].html["lang"] == code


def test_chinese_pages_are_chinese_through_and_through(site):
    lesson = pages(site)[f"zh/{TITLE}"]
    listed = [len(page.select(".contents a")) for page in (lesson, pages(site)[TITLE])]
    assert listed[0] == listed[1] > 10
    for name in ("index", "search", "references", "symbols", TITLE):
        assert english_left(copy.copy(pages(site)[f"zh/{name}"])) == [], name


def test_lessons_are_whole_and_light(site):
    """Every cell's words stand in its page, which is below a megabyte."""
    for path in nbtext.chosen([]):
        place = nbtext.inner(path)
        page = pages(site)[place.with_suffix("").as_posix()]
        for cell in nbformat.read(path, as_version=4).cells:
            assert page.find(id=f"cell-id={cell['id']}"), (path.name, cell["id"])
        assert (site / place.with_suffix(".html")).stat().st_size < 1e6
        assert (site / "notebooks" / place).read_bytes() == path.read_bytes()


def neighbours(page):
    return {link["rel"][0]: link["href"] for link in page.select(".neighbours a")}


@pytest.mark.parametrize("folder", ["", "zh/"])
def test_lessons_follow_each_other_and_the_first_page_leads_to_those_it_names(site, folder):
    names, made = [path.stem for path in nbtext.lessons()], pages(site)
    ways = {name: neighbours(made[folder + name]) for name in names}
    files = [f"{name}.html" for name in names]
    assert [way.get("prev") for way in ways.values()] == [None, *files[:-1]]
    assert [way.get("next") for way in ways.values()] == [*files[1:], None]
    for path in nbtext.deeper():
        lesson, below = nbtext.lesson_of(path).stem, f"deeper/{path.stem}"
        assert made[folder + lesson].select(f'.buttons a[href="{below}.html"]')
        assert neighbours(made[folder + below]) == {
            way: f"../{file}" for way, file in (ways[lesson] | {"prev": f"{lesson}.html"}).items()}
    buttons, listed = ([link["href"] for link in made[f"{folder}index"].select(f"{part} a")]
                       for part in (".buttons", ".cards"))
    assert buttons == files[1:3] and sorted(listed) == files


def test_no_button_leads_to_nobody(site):
    """Before `make address` there is no Colab to open; an address in words is one to replace."""
    for page in pages(site).values():
        assert not page.select('.buttons a[href*=".invalid"]')


def test_arcs_are_as_thick_as_the_weights_of_the_package(site):
    """Each word with two heads and three keys; bites gives dog and man all it has."""
    words = pages(site)["index"].select(".arcs .word")
    numbers = [[number.text for number in word.select(".number")] for word in words]
    assert numbers == [["0.33"] * 6, ["1.00"] * 2, ["0.33"] * 6]
    thick = [[path["stroke-width"] for path in word.select("path")] for word in words]
    assert thick == [["8.0"] * 6, ["24.0"] * 2, ["8.0"] * 6]


def test_predictions_and_folds_say_what_they_hold(site):
    page = pages(site)[TITLE]
    cards = page.select(".prediction")
    assert len(cards) == len(page.select(".celltag_predict"))
    for card in cards:
        assert card.p.strong.text.startswith("Predict") and card.select_one("details.answer")
    explained = page.select(".answer > .output_wrapper + .text_cell")
    assert len(explained) == len(cards)
    folds = [fold.summary.text for fold in page.select("details.folded:not(.answer)")]
    assert folds[:2] == ["Set-up", "This picture's code"]
    assert any(fold.startswith("Proof: two heads against one") for fold in folds)


def test_sentences_are_set_with_their_spaces(site):
    made = pages(site)
    cited = made["references"].find(id="ainslie2023").text
    assert re.search(r"\(2023\)\.\s\S.+\.\sEMNLP\.\sIn 10\.$", cited)
    signs = made["symbols"]
    assert signs.text.count("One sign, several meanings") == 1 and len(signs("table")) == 2


@pytest.mark.parametrize("kind", publish.MODULES)
def test_what_cannot_be_published_is_named_and_is_an_error(kind, monkeypatch):
    def refuse(*_):
        raise ValueError("no such formula")

    module = importlib.import_module(f"tools.{publish.MODULES[kind]}")
    for name in {"write", "write_all"} & {*vars(module)}:
        monkeypatch.setattr(module, name, refuse)
    with pytest.raises((SystemExit, ValueError), match="no such formula"):
        publish.main(kind, "02")
