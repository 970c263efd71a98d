"""What holds for each explorer: its page, still picture, source, and what keys do; hostile text."""
import html
import json
import re

import pytest
import torch
from bs4 import BeautifulSoup
from pieces import HOSTILE, PIECES
from tools.draw.pieces_in_node import heads, in_node, scene, tiles

from attention_lessons.languages import languages
from attention_lessons.pieces import heads_explorer, source
from attention_lessons.pieces.base import HERE
from d2l_ext import MultiHeadAttention

# ---- what is shown ----

def test_a_page_is_given_data_state_and_words_and_varies_with_nothing_else(monkeypatch):
    monkeypatch.setattr("attention_lessons.languages.chosen", "zh")
    explorer, again = heads(), heads()
    page = BeautifulSoup(explorer._repr_html_(), "html.parser").div
    values, script = (each.string for each in page("script"))
    assert json.loads(values) == {name: json.loads(json.dumps(getattr(explorer, name)))
                                  for name in ("data", "state", "words")}
    assert script.startswith(f"\n{source('heads')}")
    assert explorer.words and not [key for key, word in explorer.words.items() if key == word]
    assert page.attrs == {"class": ["d2l-explorer"], "data-piece": "heads"}
    assert (again.html(), repr(again)) == (explorer.html(), repr(explorer))


def test_a_page_with_the_three_heaviest_stays_below_a_megabyte():
    sizes = sorted(len(make().html().encode()) for make in PIECES.values())
    assert sum(sizes[-3:]) < 1_000_000


@pytest.mark.parametrize("code", languages())
def test_the_still_picture_shows_the_default_state_only(code, monkeypatch):
    monkeypatch.setattr("attention_lessons.languages.chosen", code)
    assert '<img class="d2l-still" alt="' in tiles().html()
    other = tiles(queries=[1, 2])
    page = other.html()
    assert '<p class="d2l-still">' in page and "<img" not in page
    assert html.escape(other.title) in page


# ---- keys ----


LEFT, RIGHT, UP, DOWN = "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"
MOVED = {  # keys on a control, and the state or what the page keeps to itself
    "pooling": [("query", [LEFT], {"query": [0.35, 9.65, 9]}), ("query", ["-"], {"scale": 10}),
                ("query", ["+"], {"scale": 6.4}),
                *(("key 3", [key], {"sees": [True, True, False, True]}) for key in (" ", "Enter"))],
    "heads": [("cut", [LEFT], {"num_heads": 4}), ("cut", [RIGHT], {"num_heads": 1}),
              ("head 1", [UP], {"asks": 0}), ("head 2", [DOWN, RIGHT], {"asks": 2, "key": 0})],
    "order": [("dog", ["Home"], {"order": "0213"}), ("pad", [LEFT, LEFT], {"order": "2310"}),
              ("bites", ["End"], {"order": "2031"}), ("dog", [DOWN], {"order": "2013"})],
    "clock": [("offset δ", ["End"], {"offset": 16}), ("offset δ", [DOWN], {"offset": 1}),
              ("position i", [RIGHT, UP], {"position": 8}),
              ("hand of columns 0, 1", [UP], {"hand": 0, "offset": 3})],
    "compare": [("layers of convolution", [DOWN, DOWN, UP], {"layers": 2}),
                ("layers of recurrence", [UP], {"layers": 1}),
                ("output of recurrence", [LEFT], {"out": 7}), ("tokens n", [RIGHT], {"n": 128})],
    "dates": [("cross 2", ["Enter"], {"cross_2": False}),
              ("digit of the answer", [RIGHT, DOWN, "End", LEFT], {"digit": 8})],
    "tiles": [("tile", [RIGHT], {"step": 6}), ("tile", [DOWN, DOWN], {"step": 5}),
              ("tile", ["End"], {"step": 6}), ("tile", ["Home"], {"step": 0}),
              ("size of a tile", [DOWN], {"query_tile": 4, "step": 1}),
              ("size of a tile", [LEFT], {"key_tile": 2, "step": 1})],
    "attention": [("layer and head", [DOWN, RIGHT], {"layer": 1, "head": 1}),
                  ("weights", [UP, RIGHT], {"asks": 2, "key": 0})],
}


@pytest.mark.parametrize("piece", MOVED)
def test_what_keys_do(piece):
    """But with Ctrl, which is the browser's, nothing."""
    explorer = PIECES[piece]()
    scenes = [scene(explorer, *((control, "onKeyDown", {"key": key, "ctrlKey": ctrl})
                                for key in keys))
              for control, keys, _ in MOVED[piece] for ctrl in (False, True)]
    looks = in_node(source(piece), scenes)
    for (control, keys, wanted), now, held in zip(MOVED[piece], looks[::2], looks[1::2]):
        found = now["ui"] | now["state"]
        assert {name: found[name] for name in wanted} == wanted, (control, keys)
        assert held["state"] == scenes[0]["state"] and held["ui"] == {}


@pytest.mark.parametrize("piece", MOVED)
def test_a_screen_reader_hears_places_as_people_count(piece):
    """The last place is "4 of 4", wherever the code begins to count."""
    shown, = in_node(source(piece), [scene(PIECES[piece]())])
    for control in shown["elements"]:
        if heard := re.search(r"(\d+) of (\d+)", control.get("aria-valuetext", "")):
            place, last = map(int, heard.groups())
            assert last - place == control["aria-valuemax"] - control["aria-valuenow"], heard[0]


@pytest.mark.parametrize("piece", MOVED)
def test_the_sentence_names_what_the_picture_names_and_what_is_pressed(piece):
    """A head's number in the sentence stands in the picture, too; what has a title is chosen by a
    press, and the sentence begins with it."""
    explorer = PIECES[piece]()
    shown, = in_node(source(piece), [scene(explorer)])
    names = [each["name"] for each in shown["elements"]]
    for head in re.findall(r"\bhead \d+", shown["sentence"]):
        assert any(re.search(rf"\b{head}\b", name) for name in names), head
    titles = [each["name"] for each in shown["elements"] if each["type"] == "title"]
    looks = in_node(source(piece), [scene(explorer, (title, "onClick", {})) for title in titles])
    for title, look in zip(titles, looks):
        assert look["sentence"].startswith(title)


def test_a_pointer_is_where_it_is_on_a_slide_that_is_twice_as_large():
    made = """place({ clientX: 50, clientY: 60, currentTarget: {
        closest: () => ({ dataset: { x: 3, y: 4 } }), ownerSVGElement: {
        viewBox: { baseVal: { width: 100 } },
        getBoundingClientRect: () => ({ left: 10, top: 20, width: 200 }) } } })"""
    assert in_node(source("pooling"), [], made) == [17, 16]


# ---- the source ----

def test_javascript_has_lines_of_at_most_100():
    lines = [line for path in (*HERE.glob("*.js"), *(HERE.parents[1] / "tools").rglob("*.js"))
             for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 1000 and [line for line in lines if len(line) > 100] == []


# ---- what can't be shown ----

def any_heads(tokens, hiddens=6, heads=3):
    attention = MultiHeadAttention(hiddens, heads)
    X = torch.randn(len(tokens), hiddens)
    return heads_explorer(attention, X, tokens, tokens[:1] * hiddens)



def test_hostile_tokens_stay_text():
    explorer = any_heads(HOSTILE)
    page = BeautifulSoup(explorer.html(), "html.parser")
    tags = page.find_all(True)
    assert [tag.name for tag in tags] == ["div", "p", "script", "script"]
    assert not [name for tag in tags for name in tag.attrs if name.startswith("on")]
    tokens = json.loads(page.script.string)["data"]["tokens"]
    assert tokens[:6] == HOSTILE[:6]
    assert tokens[6] == "$a$ `b`  [31m "  # what can't be stored or printed became blanks
    repr(explorer).encode()
    assert "\x1b" not in repr(explorer)


LONG = ["abcdefghijklmnopqrstuvwxyz", *"bcdefghi"]


def test_words_name_eight_tokens_cut_short_and_pages_all():
    for many, rest in ((8, ": the same"), (9, " and 1 more: the same")):
        explorer = any_heads(LONG[:many])
        assert f"over {LONG[0][:20]}, b, c, d, e, f, g, h{rest}" in explorer.title
        assert explorer.data["tokens"] == LONG[:many]
