"""The website: its pages, links, symbols and references, without a browser."""
import functools
import re
from urllib.parse import unquote, urldefrag

import pytest

bs4 = pytest.importorskip("bs4")
website = pytest.importorskip("tools.publish.site", reason="make test-browser has what it needs")
pytestmark = pytest.mark.browser  # with the tests whose environment has what it needs

HEAD = "| symbol | in code | shape | first in |\n|---|---|---|---|\n"


# ---- its parts ----------------------------------------------------------------------------------

def lesson(name, *cells):
    cells = [{"cell_type": "markdown", "id": f"cell-{i}", "source": text}
             for i, text in enumerate(cells)]
    return {"name": name, "title": name, "cells": cells}


def test_a_symbol_is_found_in_formulas_only_and_as_a_whole():
    cells = ("## Words\n\na beta, $\\beta$, $ab$", "## Here\n\nwords", "still $2 b$",
             "## Code\n\n`b`")
    lessons = [lesson("00"), lesson("01", *cells)]
    assert [found["under"].keys() for found in website.used("$b$", lessons)] == [{"cell-1"}]
    assert [found["under"].keys() for found in website.used(r"$\beta$", lessons)] == [{"cell-0"}]


@pytest.mark.parametrize("page, words", [
    ("<p>用RoPE的头</p>", "<p> 用 RoPE 的 头 </p>"),
    ("<p id='头'>heads, <em>头</em></p>", "<p id='头'>heads, <em> 头 </em></p>"),
])
def test_characters_are_words_for_the_search(page, words):
    assert website.apart(page) == words


def said_outright(template):
    """English that a template says without looking it up: text, and what attributes say."""
    template = re.sub("<(pre|style|script)>.*?</\\1>", "", template, flags=re.S)
    template = re.sub(r"\{(\{.*?\}|%.*?%|#.*?#)\}", "", template, flags=re.S)
    said = r'(?:aria-label|placeholder|title|alt|name="description" content)="([^"]*)"'
    found = re.findall(said, template) + re.findall("(?:^|>)([^<]*)", template)
    return [text.strip() for text in found if re.search("[A-Za-z]", text)]


def test_a_template_says_nothing_without_looking_it_up():
    for path in (website.ROOT / "tools/publish").glob("*.j2"):
        assert said_outright(path.read_text("utf-8")) == [], path.name


def test_a_text_without_a_translation_stays_and_places_are_filled():
    said = website.frame("zh").globals["_"]
    assert said("No such {0}", "<b>") == "No such &lt;b&gt;"
    assert said("{0} or {1} minutes", 45, 105) == "45或105分钟"


# ---- all of it ----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    patch = pytest.MonkeyPatch()
    patch.setattr(website, "decks", lambda target: (target / "slides").mkdir())  # tested elsewhere
    website.build(folder)
    patch.undo()
    return folder


@functools.cache
def pages(folder):
    return {path.relative_to(folder): bs4.BeautifulSoup(path.read_text("utf-8"), "html.parser")
            for path in sorted(folder.rglob("*.html"))}


def broken(folder):
    """Links and pictures that lead nowhere, as (page, address). Decks are made elsewhere."""
    found, made = [], pages(folder)
    for name, page in made.items():
        for tag in page.select("[href], [src], [action]"):
            address = tag.get("href") or tag.get("src") or tag.get("action")
            if re.match(r"https?:|data:", address) or "slides/" in address:
                continue
            path, anchor = urldefrag(address)
            target = (folder / name.parent / path).resolve() if path else folder / name
            inside = made.get(target.relative_to(folder)) if target.is_file() else None
            if not target.is_file() or anchor and not (inside.find(id=anchor)
                                                       or inside.find(id=unquote(anchor))):
                found.append((str(name), address))
    return found


def test_every_link_leads_somewhere(site):
    assert broken(site) == []


def english_left(page):
    """The frame's texts that are not Chinese; names, code and references are not looked at."""
    named = "[lang=en], .cell, .d2l-piece, .references, pre, code, math, table, em, script, style"
    for part in page.select(named):
        part.decompose()
    said = [*page.stripped_strings, *(tag["aria-label"] for tag in page.select("[aria-label]"))]
    return [text for text in said if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", text)
            or re.fullmatch("[A-Za-z ,.]{3,}", text)]


def test_each_language_has_all_pages_and_each_page_leads_to_its_twin(site):
    made = pages(site)
    english = {str(name) for name in made if name.parts[0] != "zh"}
    assert {str(name) for name in made} == english | {f"zh/{name}" for name in english}
    for name, page in made.items():
        code, other = ("zh", "en") if name.parts[0] == "zh" else ("en", "zh")
        twin = page.select_one(f"header a[hreflang={other}]")
        target = (site / name.parent / twin["href"]).resolve().relative_to(site)
        assert page.html["lang"] == code and made[target].html["lang"] == other
        assert target.parts[-1] == name.parts[-1]


def test_chinese_pages_are_chinese_through_and_through(site):
    names = ["index", "search", "references", "symbols/index", "symbols/num_heads",
             "02_multi_head_attention"]
    for name in names:
        page = (site / f"zh/{name}.html").read_text("utf-8")
        assert english_left(bs4.BeautifulSoup(page, "html.parser")) == [], name
    lesson, twin = (pages(site)[website.pathlib.Path(folder, "02_multi_head_attention.html")]
                    for folder in ("zh", ""))
    assert "/blob/main/notebooks/zh/02_" in lesson.select_one(".buttons .first")["href"]
    folded = [len(page.select(".contents details a")) for page in (lesson, twin)]
    assert folded[0] == folded[1] > 15


def test_lessons_are_whole_and_light(site):
    """Every cell's words stand in its page, pictures have words, and a page is below 1.5 MB."""
    made = pages(site)
    for path in website.chosen([], website.ROOT / "notebooks"):
        place = path.relative_to(website.ROOT / "notebooks")
        page = made[place.with_suffix(".html")]
        content = website.nbformat.read(path, as_version=4)
        for cell in content.cells:
            assert page.find(id=f"cell-id={cell['id']}"), (path.name, cell["id"])
        assert all(image.get("alt") for image in page.find_all("img")), path.name
        assert (site / place.with_suffix(".html")).stat().st_size < 1.5e6
        assert not re.search(r"\$[^$\s][^$]*\$", page.find("main").find("p").text)
        assert (site / "notebooks" / place).read_bytes() == path.read_bytes()


def test_lessons_follow_each_other_and_the_first_page_leads_to_those_it_names(site):
    names = [path.stem for path in sorted((website.ROOT / "notebooks").glob("*.ipynb"))]
    made = pages(site)
    for folder in ("", "zh/"):
        for before, name, after in zip([None, *names], names, [*names[1:], None], strict=False):
            page = made[website.pathlib.Path(f"{folder}{name}.html")]
            found = {link["rel"][0]: link["href"] for link in page.select(".neighbours a")}
            wanted = {"prev": f"{before}.html", "next": f"{after}.html"}
            assert found == {way: href for way, href in wanted.items() if href != "None.html"}
        first = made[website.pathlib.Path(f"{folder}index.html")]
        buttons = [link["href"] for link in first.select(".buttons a")]
        assert buttons == [f"{names[1]}.html", f"{names[2]}.html"]
        listed = [link["href"] for link in first.select(".cards a")]
        assert sorted(listed) == [f"{name}.html" for name in names]


def test_arcs_are_as_thick_as_the_weights_of_the_package(site):
    """Each word with two heads and three keys; bites gives dog and man all it has."""
    page = pages(site)[website.pathlib.Path("index.html")]
    words = page.select(".arcs .word")
    numbers = [[number.text for number in word.select(".number")] for word in words]
    assert numbers == [["0.33"] * 6, ["1.00", "0.00", "0.00", "0.00", "0.00", "1.00"], ["0.33"] * 6]
    thick = [[path["stroke-width"] for path in word.select("path")] for word in words]
    assert thick == [["8.0"] * 6, ["24.0"] * 2, ["8.0"] * 6]


def test_a_prediction_is_one_card_with_its_question(site):
    page = pages(site)[website.pathlib.Path("02_multi_head_attention.html")]
    cards = page.select(".prediction")
    assert len(cards) == len(page.select(".celltag_predict"))
    for card in cards:
        assert card.p.strong.text.startswith("Predict") and card.select_one("details.answer")


def test_sentences_are_set_with_their_spaces(site):
    made = pages(site)
    cited = made[website.pathlib.Path("references.html")].find(id="ainslie2023").text
    assert re.search(r"\(2023\)\.\s\S.+\.\sEMNLP\.\sIn 09\.$", cited)
    symbol = made[website.pathlib.Path("symbols/num_heads.html")].h1.text
    assert symbol.split() == ["h,", "in", "code", "num_heads"]
    signs = made[website.pathlib.Path("symbols/index.html")]
    assert signs.text.count("One sign, several meanings") == 1 and len(signs("table")) == 2


def test_folds_say_what_they_hold(site):
    page = pages(site)[website.pathlib.Path("02_multi_head_attention.html")]
    folds = [fold.summary.text for fold in page.select("details.folded:not(.answer)")]
    assert folds[:3] == ["Set-up", "This picture's code", "Proof: they read 1 and 3"]
    assert "In one screen: the code" in folds
    page = pages(site)[website.pathlib.Path("zh/02_multi_head_attention.html")]
    said = " ".join(fold.summary.text for fold in page.select("details.folded:not(.answer)"))
    assert "准备 这张图的代码 证明：" in said and not re.search("[A-Za-z]{2,} [A-Za-z]{2,}", said)
