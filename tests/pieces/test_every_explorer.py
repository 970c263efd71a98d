"""What holds for each explorer: settings, bundle, still picture, source, hostile text."""
import html.parser
import json
import math
import subprocess
import sys

import pytest
import torch
from pieces import (CHANCE, FEATURES, HEADS, HOSTILE, KEYS, ORDER, PADDED, PIECES, TOKENS,
                    VALUES, X, attention, heads, order, tiles)

from d2l_ext import MultiHeadAttention
from attention_lessons.pieces import (attention_explorer, clock_explorer, heads_explorer,
                                   source)
from attention_lessons.pieces.base import HERE, VIEW
from attention_lessons.laboratory.dates import load
from d2l_ext.sequence import FORMULAS, LINEAR_FORMULAS
from attention_lessons.languages import languages

ROOT = HERE.parents[1]
FORBIDDEN = ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacent", "eval(", "Function(",
             "http:", "https:", "import ")
EVERY = pytest.mark.parametrize("piece", PIECES)


def without_anywidget(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    return make()


# ---- settings ------------------------------------------------------------------------------------

STARTS = {
    "pooling": {"q1": 0, "q2": 10, "q3": 9, "scale": 8,
                "key1": True, "key2": True, "key3": True, "key4": True},
    "heads": {"num_heads": 2, "asks": 1, "inverse_temperature": 1.0},
    "order": {"order": "2103", "causal": False, "padding": False, "layers": 1},
    "clock": {"position": 6, "offset": 2, "hand": 3, "width": 32},
    "lengths": {"task": "copy", "length": 32, "scored": "all"},
    "compare": {"n": 64, "d": 512, "k": 3, "num_heads": 8, "layers": 1},
    "dates": {"text": "24/12/1999"} | {f"{layer}_{head}": True for layer in
                                      ("encoder", "decoder", "cross") for head in range(4)},
    "tiles": {"query_tile": 2, "key_tile": 4, "step": 3},
    "memories": {"n": 4096, "d": 512, "k": 3, "num_heads": 8, "c": 64},
    "attention": {"layer": 0, "head": 0, "asks": 3},
}
SET = [  # what is given, and what the state then holds
    ("pooling", {"q1": -2.5, "scale": math.sqrt(3), "key2": False}, {}),
    ("heads", {"num_heads": 4.0, "asks": "man", "inverse_temperature": 0}, {"asks": 2}),
    ("order", {"order": "pad dog bites man", "causal": True, "layers": 2}, {"order": "3012"}),
    ("clock", {"position": 63, "offset": 0, "hand": 31, "width": 64}, {}),
    ("lengths", {"task": "repeat", "scored": "only beyond training"}, {"scored": "beyond"}),
    ("compare", {"n": 4096, "layers": 4}, {}), ("memories", {"d": 4096, "c": 256}, {}),
    ("dates", {"text": "5 march\n2021", "cross_2": 0}, {"text": "5 march 2021", "cross_2": False}),
    ("tiles", {"query_tile": 6, "key_tile": 1, "step": 48}, {}),
    ("attention", {"layer": "encoder.1.attention", "head": 2, "asks": "man"},
     {"layer": 1, "asks": 2}),
]
WRONG = {
    "pooling": [{"q4": 1}, {"q1": 11}, {"q1": math.nan}, {"q1": "1"}, {"scale": 0.5},
                {"key1": "no"}, {"key5": True}],
    "heads": [{"heads": 1}, {"num_heads": 3}, {"asks": "cat"}, {"asks": [1]}, {"asks": -1},
              {"inverse_temperature": 2.1}],
    "order": [{"order": "dog dog man pad"}, {"order": [2, 1, 0, 3]}, {"causal": "yes"},
              {"layers": 3}, {"mask": True}],
    "clock": [{"position": 64}, {"position": 1.5}, {"offset": -1}, {"offset": 17}, {"hand": 32},
              {"width": 6}],
    "lengths": [{"task": "sort"}, {"length": 40}, {"scored": "some"}, {"encoding": "Shaw"}],
    "compare": [{"n": 63}, {"d": 8192}, {"k": 4}, {"num_heads": 3}, {"layers": 0},
                {"n": math.nan}, {"c": 16}],
    "dates": [{"cross_4": False}, {"off": ["cross 2"]}, {"text": 5}, {"decoder_1": "no"}],
    "tiles": [{"query_tile": 3}, {"query_tile": 8}, {"key_tile": 6}, {"key_tile": 0},
              {"step": -1}, {"step": 49}, {"step": 1.5}, {"tile": 2}],
    "memories": [{"c": 32}, {"layers": 1}, {"n": 65}],
    "attention": [{"layer": 2}, {"layer": "encoder"}, {"head": 3}, {"head": -1}, {"asks": "cat"},
                  {"asks": 4}, {"layers": 0}],
}


@pytest.mark.parametrize("widget", [True, False])
@pytest.mark.parametrize("piece, given, stored", SET)
def test_settings_come_back(monkeypatch, widget, piece, given, stored):
    make = PIECES[piece]
    explorer = make() if widget else without_anywidget(monkeypatch, make)
    assert explorer.state == STARTS[piece]
    explorer.set(**given)
    assert explorer.state == STARTS[piece] | given | stored
    assert json.loads(json.dumps(explorer.state)) == explorer.state
    explorer.state = STARTS[piece]
    assert explorer.state == STARTS[piece]


@EVERY
def test_impossible_settings_change_nothing(piece):
    explorer = PIECES[piece]()
    for settings in WRONG[piece]:
        name, = settings
        with pytest.raises(ValueError, match=name):
            explorer.set(**STARTS[piece] | settings)
    assert explorer.state == STARTS[piece]


@pytest.mark.parametrize("settings, message", [
    ({"heads": 1}, "there is no setting 'heads': choose from num_heads, inverse_temperature, asks"),
    ({"num_heads": 3}, "num_heads=3 is not possible: choose from 1, 2, 4"),
    ({"asks": "cat"}, "asks='cat' is not possible: choose from 'dog', 'bites', 'man', 0, 1, 2"),
    ({"inverse_temperature": 2.1}, r"inverse_temperature=2.1 must be a number in 0\.\.2"),
])
def test_what_is_possible_is_said(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        heads().set(**settings)


def test_python_sees_what_the_browser_sets_and_copies_stay_copies():
    explorer = heads()
    chosen = {"num_heads": 4, "asks": 0, "inverse_temperature": 0.5}
    explorer.widget.set_state({"state": chosen})
    assert explorer.state == chosen
    explorer.state["num_heads"] = 99
    assert explorer.state == chosen


def test_a_widget_and_its_page_have_the_same_words(monkeypatch):
    monkeypatch.setattr("attention_lessons.languages.chosen", "zh")
    explorer = heads()
    given = explorer.widget.get_state()
    assert {"_esm", "data", "state", "words"} <= set(given) and given["_esm"] == source("heads")
    assert given["words"] == json.loads(Page(explorer.html()).scripts[0])["words"] != {}
    assert not [key for key, words in given["words"].items() if key == words]


# ---- what is shown -------------------------------------------------------------------------------

SIZES = {"n": [2**i for i in range(4, 17)], "d": [2**i for i in range(4, 13)], "k": [3, 5, 7, 9],
         "num_heads": [1, 2, 4, 8, 16]}
GIVEN = {  # the title, and the page's data but for maps
    "pooling": (
        "Attention pooling over 4 keys.",
        {"keys": KEYS.tolist(), "values": VALUES.tolist(), "limit": 10,
         "presets": [(1, "1"), (math.sqrt(3), "√3"), (8, "8")]}),
    "heads": (
        "Multi-head attention over dog, bites, man: the same matrices, cut into 1, 2, 4 heads.",
        {"tokens": TOKENS, "features": FEATURES, "divisors": [1, 2, 4], "X": X.tolist()}
        | {name: matrix.tolist() for name, matrix in HEADS.items()}),
    "order": (
        "Self-attention over dog, bites, man, pad: words to move, masks to switch on.",
        {"tokens": [*TOKENS, "pad"], "features": FEATURES, "validLen": 3, "X": PADDED.tolist()}
        | {name: matrix.tolist() for name, matrix in ORDER.items()}),
    "clock": (
        "Positions as clock hands: what an offset turns, and how similar two positions are.",
        {"widths": [4, 8, 16, 32, 64], "positions": 63, "offsets": 16}),
    "lengths": (
        "Accuracy by position for 9 encodings trained at lengths up to 16, tried at 16, 24, 32, "
        "48, 64; tasks: copy, reverse, repeat.",
        {"lengths": [16, 24, 32, 48, 64], "trained": 16, "stretch": 4, "chance": CHANCE}),
    "compare": (
        "Convolution, recurrence and self-attention: work, sequential steps and longest path at "
        "any size.",
        {"choices": SIZES | {"layers": [1, 2, 3, 4, 5, 6, 7, 8]}, "kinds": [*FORMULAS]}),
    "dates": (
        "A date to type, heads to close, what the model then writes, and where its heads look.",
        {"precision": 16, "heads": {"encoder": 4, "decoder": 4, "cross": 4}, "longest": 29,
         "letters": " ,-./0123456789abcdefghijlmnoprstuvwy", "digits": "0123456789-",
         "sizes": [[name, W.numel()] for name, W in load().state_dict().items()]}),
    "tiles": (
        "Attention of 6 queries over 8 keys, a tile of scores at a time.",
        {"queries": [1, -1, 0, 2, -2, 0.5], "keys": [1, -2, 0, 2, 3, -1, 2, 1],
         "values": [10, 20, 30, 40, 50, 60, 70, 80],
         "sizes": {"query_tile": [1, 2, 4, 6], "key_tile": [1, 2, 4, 8]}}),
    "memories": (
        "Linear attention beside convolution, recurrence and self-attention: work, sequential "
        "steps, longest path, and what a layer keeps.",
        {"choices": SIZES | {"c": [16, 64, 256]},
         "kinds": ["convolution", "recurrence", "attention layer", *LINEAR_FORMULAS]}),
    "attention": (
        "Where heads look over dog, bites, man, today: 2 layers, 3 heads. encoder.0.attention, "
        "head 0: today looks most at man, 0.72.",
        {"tokens": [*TOKENS, "today"], "keys": [*TOKENS, "today"], "image": None,
         "rows": [0, 1, 2, 3], "tops": attention().data["tops"],
         "layers": [{"name": f"encoder.{i}.attention", "number": i, "heads": [0, 1, 2]}
                    for i in range(2)]}),
}
MAPS = {"lengths": "accuracy", "dates": "weights", "attention": "maps"}


@EVERY
def test_a_page_is_given_what_its_words_say(piece):
    explorer, (title, wanted) = PIECES[piece](), GIVEN[piece]
    given = dict(explorer.data)
    assert explorer.title == title and given.pop(MAPS.get(piece), True)
    assert given == wanted
    page = Page(explorer.html())
    assert json.loads(page.scripts[0]) == json.loads(json.dumps(
        {"data": explorer.data, "state": STARTS[piece]}))
    assert page.tags[0] == ("div", {"class": "d2l-explorer", "data-piece": explorer.piece})


def test_one_bundle_for_widget_page_and_text(monkeypatch):
    explorer = heads()
    data, metadata = explorer._repr_mimebundle_()
    assert metadata == explorer.widget._repr_mimebundle_()[1]
    assert set(data) == {VIEW, "text/html", "text/plain"} and data[VIEW]["model_id"]
    assert data["text/plain"] == repr(explorer)
    assert not hasattr(explorer, "_ipython_display_")  # it would show the piece a second way
    plain = without_anywidget(monkeypatch, heads)
    assert set(plain._repr_mimebundle_()[0]) == {"text/html", "text/plain"}
    assert plain.html() == explorer.html()


@EVERY
def test_what_is_stored_never_varies(piece):
    first, second = PIECES[piece](), PIECES[piece]()
    stored = first.html(), repr(first)
    for number, given, _ in SET:
        if number == piece:
            second.set(**given)
    assert (second.html(), repr(second)) == stored  # the default state
    assert first.widget.model_id not in first.html() and " id=" not in first.html()


@pytest.mark.parametrize("piece, other", [
    ("clock", lambda: clock_explorer(8)), ("tiles", lambda: tiles(queries=[1, 2])),
])
@pytest.mark.parametrize("code", languages())
def test_the_still_picture_shows_the_default_state_only(piece, other, code, monkeypatch):
    monkeypatch.setattr("attention_lessons.languages.chosen", code)
    assert '<img class="d2l-still" alt="' in PIECES[piece]().html()
    page = other().html()
    assert '<p class="d2l-still">' in page and "<img" not in page
    assert html.escape(other().title) in page


# ---- the source ----------------------------------------------------------------------------------

@EVERY
def test_the_source_can_stand_in_a_page(piece):
    whole = source(PIECES[piece]().piece)
    own = whole.partition("export const { h,")[2] or whole  # preact names XML's namespaces
    assert [never for never in FORBIDDEN if never in own] == []
    assert "</script" not in whole and "<!--" not in whole


def too_long(text):
    return [line for line in text.splitlines() if len(line) > 100]


def test_javascript_has_lines_of_at_most_100():
    listed = subprocess.run(["git", "ls-files", "*.js"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.split()
             if "/vendor/" not in name] or [*HERE.glob("*.js")]
    assert len(files) >= 8
    assert [line for path in files for line in too_long(path.read_text(encoding="utf-8"))] == []
    assert too_long(f"{'x' * 101}\n{'x' * 100}\n") == ["x" * 101]


# ---- what can't be shown -------------------------------------------------------------------------

def any_heads(tokens, hiddens=6, heads=3):
    attention = MultiHeadAttention(hiddens, heads)
    X = torch.randn(len(tokens), hiddens)
    return heads_explorer(attention, X, tokens, tokens[:1] * hiddens)


@pytest.mark.parametrize("number, message", [
    (torch.nan, "X must be finite"), (torch.inf, "X must be finite"),
    (-1e160, r"X must hold numbers of size up to 1e\+30, but holds one of 1e\+160"),
])
def test_numbers_that_are_not_finite_or_whose_products_overflow(number, message):
    attention = MultiHeadAttention(4, 2).double()
    full = torch.ones(3, 4).double()
    with pytest.raises(ValueError, match=message):
        heads_explorer(attention, number * full, TOKENS, FEATURES)


@pytest.mark.parametrize("name", ["W_q", "W_k", "W_v", "W_o"])
def test_weights_that_are_not_finite(name):
    attention = MultiHeadAttention(4, 2)
    getattr(attention, name).weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        heads_explorer(attention, X, TOKENS, FEATURES)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.tags[-1][0] == "script":
            self.scripts.append(data)


def test_hostile_tokens_stay_text():
    explorer = any_heads(HOSTILE)
    page = Page(explorer.html())
    assert [tag for tag, _ in page.tags] == ["div", "p", "script", "script"]
    assert not [name for _, given in page.tags for name in given if name.startswith("on")]
    tokens = json.loads(page.scripts[0])["data"]["tokens"]
    assert tokens[:6] == HOSTILE[:6]
    assert tokens[6] == "$a$ `b`  [31m "  # what can't be stored or printed became blanks
    repr(explorer).encode()
    assert "\x1b" not in repr(explorer)


LONG = ["abcdefghijklmnopqrstuvwxyz", "b"]


@pytest.mark.parametrize("make", [
    lambda: any_heads(LONG), lambda: order(X=X[:2], tokens=LONG, valid_len=2),
    lambda: attention_explorer({"a": [torch.tensor([[[[0.9, 0.1], [0.8, 0.2]]]])]}, LONG)])
def test_words_cut_long_tokens_and_pages_do_not(make):
    explorer = make()
    assert LONG[0][:20] in explorer.title and LONG[0][:21] not in explorer.title
    assert explorer.data["tokens"] == LONG


@pytest.mark.parametrize("count, told", [(8, "g, h: the same"), (10, "g, h and 2 more: the same")])
def test_of_many_tokens_eight_are_named(count, told):
    assert told in any_heads(list("abcdefghij")[:count]).title


@pytest.mark.parametrize("make, words", [
    (lambda: any_heads([]), "at least one token"),
    (lambda: order(X=torch.zeros(0, 4), tokens=[]), "2 to 5 tokens"),
])
def test_no_tokens_at_all_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
