"""What holds for each explorer: settings, bundle, still picture, source, hostile text."""
import html
import html.parser
import json
import math
import subprocess
import sys

import pytest
import torch
from pieces import HOSTILE, PIECES, STEPS
from tools.draw._stills import X, heads, order, tiles

from attention_lessons.languages import languages
from attention_lessons.pieces import attention_explorer, clock_explorer, heads_explorer, source
from attention_lessons.pieces.base import HERE, VIEW
from d2l_ext import MultiHeadAttention

ROOT = HERE.parents[1]
FORBIDDEN = ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacent", "eval(", "Function(",
             "http:", "https:", "import ")
EVERY = pytest.mark.parametrize("piece", PIECES)


def without_anywidget(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    return make()


# ---- settings ------------------------------------------------------------------------------------

NAMED = {  # what is given, and what the state then holds
    "heads": ({"num_heads": 4.0, "asks": "man"}, {"asks": 2}),
    "order": ({"order": "pad dog bites man"}, {"order": "3012"}),
    "lengths": ({"scored": "only beyond training"}, {"scored": "beyond"}),
    "dates": ({"text": "5 march\n2021", "cross_2": 0}, {"text": "5 march 2021", "cross_2": False}),
    "attention": ({"layer": "encoder.1.attention", "asks": "man"}, {"layer": 1, "asks": 2}),
}
WRONG = {
    "pooling": [{"q4": 1}, {"q1": 31}, {"q1": math.nan}, {"scale": 0.5}, {"key1": "no"}],
    "heads": [{"asks": [1]}, {"asks": -1}, {"inverse_temperature": "1"}],
    "order": [{"order": "dog dog man pad"}, {"causal": "yes"}],
    "clock": [{"position": 64}, {"position": 1.5}, {"offset": 17}, {"hand": 32}, {"width": 6}],
    "lengths": [{"task": "sort"}, {"length": 40}, {"scored": "some"}],
    "compare": [{"n": 63}, {"d": 8192}, {"k": 4}, {"layers": 0}, {"c": 16}],
    "dates": [{"cross_4": False}, {"text": 5}], "memories": [{"c": 32}, {"layers": 1}],
    "tiles": [{"query_tile": 3}, {"key_tile": 6}, {"step": 49}],
    "attention": [{"layer": "encoder"}, {"head": 3}, {"asks": "cat"}],
}


@EVERY
def test_all_that_a_control_sets_can_be_set_and_what_is_impossible_changes_nothing(
        monkeypatch, piece):
    for explorer in (PIECES[piece](), without_anywidget(monkeypatch, PIECES[piece])):
        start = wanted = explorer.state
        for given, stored in [*((step.state, {}) for step in STEPS[piece]),
                              NAMED.get(piece, ({}, {}))]:
            explorer.set(**given)
            wanted = wanted | given | stored
            assert explorer.state == wanted == json.loads(json.dumps(explorer.state))
            for settings in WRONG[piece]:
                with pytest.raises(ValueError, match=next(iter(settings))):
                    explorer.set(**start | settings)
            assert explorer.state == wanted
        explorer.state = start
        assert explorer.state == start


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


# ---- what is shown -------------------------------------------------------------------------------

def test_a_widget_and_its_page_are_given_the_same(monkeypatch):
    monkeypatch.setattr("attention_lessons.languages.chosen", "zh")
    explorer = heads()
    given = explorer.widget.get_state()
    page = Page(explorer.html())
    assert json.loads(page.scripts[0]) == {name: given[name] for name in ("data", "state", "words")}
    assert page.scripts[1].startswith(f"\n{given['_esm']}") and given["_esm"] == source("heads")
    assert given["words"] and not [key for key, word in given["words"].items() if key == word]
    assert page.tags[0] == ("div", {"class": "d2l-explorer", "data-piece": "heads"})


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
    second.set(**STEPS[piece][0].state)
    assert (second.html(), repr(second)) == stored  # the default state
    assert first.widget.model_id not in first.html() and " id=" not in first.html()


def test_a_page_with_the_three_heaviest_stays_below_a_megabyte():
    sizes = sorted(len(make().html().encode()) for make in PIECES.values())
    assert sum(sizes[-3:]) < 1_000_000


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


def test_javascript_has_lines_of_at_most_100():
    listed = subprocess.run(["git", "ls-files", "*.js"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.split()
             if "/vendor/" not in name] or [*HERE.glob("*.js")]
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(files) >= 8 and [line for line in lines if len(line) > 100] == []


# ---- what can't be shown -------------------------------------------------------------------------

def any_heads(tokens, hiddens=6, heads=3):
    attention = MultiHeadAttention(hiddens, heads)
    X = torch.randn(len(tokens), hiddens)
    return heads_explorer(attention, X, tokens, tokens[:1] * hiddens)


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
