"""The interactive pieces: their bundle, their state, hostile input; and the mathematics of 02's, in JavaScript, against the package's."""
import html.parser
import json
import sys

import pytest
import torch
from javascript import FORBIDDEN, compute
from javascript import furthest as apart
from pieces import FEATURES, HOSTILE, TOKENS
from pieces import heads as lesson

from d2l_ext import MultiHeadAttention, RotaryEmbedding
from d2l_ext.explorers import heads_explorer, source
from d2l_ext.explorers.base import VIEW


def any_explorer(tokens, hiddens=6, heads=3):
    return heads_explorer(MultiHeadAttention(hiddens, heads), torch.randn(len(tokens), hiddens), tokens, tokens[:1] * hiddens)


def without_anywidget(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    return lesson()


# ------------------------------------------------------------------ what is shown

def test_one_bundle_for_widget_page_and_text():
    data, _ = lesson()._repr_mimebundle_()
    assert set(data) == {VIEW, "text/html", "text/plain"} and data[VIEW]["model_id"]
    assert data["text/plain"] == repr(lesson())
    assert not hasattr(lesson(), "_ipython_display_")  # it would show the piece a second way


def test_without_anywidget_the_page_is_left(monkeypatch):
    with_it, explorer = lesson(), without_anywidget(monkeypatch)
    assert set(explorer._repr_mimebundle_()[0]) == {"text/html", "text/plain"} and explorer.html() == with_it.html()
    explorer.set(num_heads=4)
    assert explorer.state["num_heads"] == 4


def test_nothing_stored_varies():
    first, second = lesson(), lesson()
    assert first.html() == second.html() and repr(first) == repr(second)
    second.set(num_heads=1, asks="dog")
    assert first.html() == second.html() and repr(first) == repr(second)  # the default state is what is stored
    assert first.widget.model_id not in first.html() and " id=" not in first.html()


def test_words_and_numbers_in_the_repr():
    assert repr(lesson()) == ("[explorer] Multi-head attention over dog, bites, man: the same matrices, cut into 1, 2, 4 heads.\n"
                              "2 heads, bites asks: head 1 takes dog 1.00, bites 0.00, man 0.00; head 2 takes dog 0.00, bites 0.00, man 1.00. "
                              "Output: 1.00, 0.00, 3.00, 0.00.")


def test_still_picture_only_where_its_numbers_are_true():
    assert '<img class="d2l-still" alt="' in lesson().html()
    assert "<img" not in any_explorer(TOKENS).html()


# ------------------------------------------------------------------ state

@pytest.mark.parametrize("widget", [True, False])
@pytest.mark.parametrize("settings, stored", [({"num_heads": 1}, 1), ({"num_heads": 4.0}, 4), ({"asks": 2}, 2), ({"asks": "man"}, 2), ({"inverse_temperature": 0}, 0.0)])
def test_settings_come_back(monkeypatch, widget, settings, stored):
    explorer = lesson() if widget else without_anywidget(monkeypatch)
    explorer.set(**settings)
    (name, _), = settings.items()
    assert explorer.state == {"num_heads": 2, "asks": 1, "inverse_temperature": 1.0} | {name: stored}
    assert json.loads(json.dumps(explorer.state)) == explorer.state
    explorer.state = {"num_heads": 2}
    assert explorer.state["num_heads"] == 2


def test_python_sees_what_the_browser_sets_and_copies_stay_copies():
    explorer = lesson()
    explorer.widget.set_state({"state": {"num_heads": 4, "asks": 0, "inverse_temperature": 0.5}})
    assert explorer.state == {"num_heads": 4, "asks": 0, "inverse_temperature": 0.5}
    explorer.state["num_heads"] = 99
    assert explorer.state["num_heads"] == 4


@pytest.mark.parametrize("settings, message", [
    ({"heads": 1}, "no setting 'heads'"),
    ({"num_heads": 3}, "num_heads=3 is not possible: choose from 1, 2, 4"),
    ({"asks": "cat"}, "choose from 'dog', 'bites', 'man', 0, 1, 2"),
    ({"asks": [1]}, "asks=.* is not possible"),
    ({"inverse_temperature": 2.1}, r"inverse_temperature=2.1 must be a number in 0..2"),
    ({"inverse_temperature": float("nan")}, "must be a number"),
    ({"inverse_temperature": "1"}, "must be a number"),
    ({"num_heads": 1, "asks": -1}, "asks=-1"),
])
def test_impossible_settings_change_nothing(settings, message):
    explorer = lesson()
    with pytest.raises(ValueError, match=message):
        explorer.set(**settings)
    assert explorer.state == {"num_heads": 2, "asks": 1, "inverse_temperature": 1.0}


@pytest.mark.parametrize("attention, shape, message", [
    (MultiHeadAttention(4, 2, bias=True), (3, 4), "bias=True"),
    (MultiHeadAttention(4, 2, position=RotaryEmbedding(2)), (3, 4), "position=Rotary"),
    (MultiHeadAttention(4, 2), (2, 4), r"got \(2, 4\) with 3 tokens and 4 features"),
    (MultiHeadAttention(4, 2), (1, 3, 4), r"got \(1, 3, 4\)"),
    (MultiHeadAttention(8, 2), (3, 4), "W_q takes inputs of width 8, X has width 4"),
])
def test_attention_or_input_that_does_not_fit(attention, shape, message):
    with pytest.raises(ValueError, match=message):
        heads_explorer(attention, torch.zeros(shape), TOKENS, FEATURES)


def test_numbers_that_are_not_finite():
    with pytest.raises(ValueError, match="X must be finite"):
        heads_explorer(MultiHeadAttention(4, 2), torch.full((3, 4), torch.nan), TOKENS, FEATURES)


def test_numbers_so_large_that_their_products_overflow():
    attention = MultiHeadAttention(4, 2).double()
    with pytest.raises(ValueError, match=r"X must hold numbers of size up to 1e\+30, .* 1e\+160"):
        heads_explorer(attention, torch.ones(3, 4).double() * -1e160, TOKENS, FEATURES)
    explorer = heads_explorer(attention, torch.full((3, 4), 1e29).double(), TOKENS, FEATURES)
    assert "nan" not in explorer.numbers and "inf" not in explorer.numbers


def test_what_is_no_tensor():
    with pytest.raises(TypeError, match="X must be a tensor, got ndarray: torch.as_tensor"):
        heads_explorer(MultiHeadAttention(4, 2), torch.zeros(3, 4).numpy(), TOKENS, FEATURES)


def test_more_tokens_than_a_map_can_show():
    assert len(any_explorer(["word"] * 64).data["tokens"]) == 64
    with pytest.raises(ValueError, match="shows up to 64 tokens, got 65"):
        any_explorer(["word"] * 65)


# ------------------------------------------------------------------ hostile text

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
    explorer = any_explorer(HOSTILE)
    page = Page(explorer.html())
    assert [tag for tag, _ in page.tags] == ["div", "p", "script", "script"]
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    tokens = json.loads(page.scripts[0])["data"]["tokens"]
    assert tokens[:6] == HOSTILE[:6] and tokens[6] == "$a$ `b`  [31m "  # what can't be stored or printed became blanks
    repr(explorer).encode()
    assert "\x1b" not in repr(explorer) and repr(explorer).count("\n") == 1


def test_equal_tokens_are_chosen_by_position():
    explorer = any_explorer(["the", "dog", "the"])
    explorer.set(asks=2)
    with pytest.raises(ValueError, match="asks='the'"):
        explorer.set(asks="the")


@pytest.mark.parametrize("piece", ["heads"])
def test_source_can_stand_in_a_page(piece):
    for never in FORBIDDEN:
        assert never not in source(piece), never


# ------------------------------------------------------------------ the mathematics in JavaScript

def furthest(folder, text, num_heads, sharpness):
    """The largest difference between weights and output in JavaScript and in the package, on random numbers."""
    attention = MultiHeadAttention(num_hiddens=12, num_heads=num_heads).double()
    X = torch.randn(5, 12).double()
    with torch.no_grad():
        for weight in attention.parameters():
            weight.copy_(torch.randn_like(weight) / 2)
            weight.copy_(weight.float())  # what the explorer passes on is exact in single precision
        X = X.float().double()
        data = heads_explorer(attention, X, list("abcde"), list("abcdefghijkl")).data
        attention.W_q.weight *= sharpness
        output, weights = attention(X[None], X[None], X[None], need_weights=True)
    ours = compute(folder, text, f"""(() => {{
        const all = piece.project(given), weights = piece.weigh(all, {num_heads}, {sharpness});
        const output = given.X.map((_, i) => piece.combine(weights, all, given.W_o, i).output);
        return {{ weights, output }}; }})()""", data)
    return apart(ours, {"weights": weights[0], "output": output[0]})


@pytest.mark.parametrize("num_heads, sharpness", [(1, 1.0), (2, 1.0), (3, 1.7), (4, 0.0), (12, 2.0)])
def test_javascript_agrees_with_the_package(tmp_path, num_heads, sharpness):
    assert furthest(tmp_path, source("heads"), num_heads, sharpness) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("times(block(Q, head), block(K, head))", "transpose(times(block(Q, head), block(K, head)))"),  # a transposed map
    ("/ Math.sqrt(size)", "/ Math.sqrt(Q[0].length)"),  # scaled by the model's width
    ("row.slice(head * size, (head + 1) * size)", "row.filter((_, i) => i % heads === head)"),  # every other channel, not a block
    ("times([mixed], W_o)", "times([mixed], transpose(W_o))"),  # rows are outputs
    ("times(block(Q, head), block(K, head))", "times(block(Q, head), block(Q, head))"),  # W_q for the keys
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    text = source("heads")
    assert text.count(right) == 1
    assert furthest(tmp_path, text.replace(right, wrong), 3, 1.0) > 1e-3


@pytest.mark.parametrize("num_heads, words", [
    (1, "bites, 1 head: it takes dog 0.50 and man 0.50, and this one mixture fills every channel. Output: 2.00, 0.00, 2.00, 0.00."),
    (2, "bites, 2 heads: head 1 takes dog 1.00; head 2 takes man 1.00. Output: 1.00, 0.00, 3.00, 0.00."),
])
def test_the_lesson_in_a_sentence(tmp_path, num_heads, words):
    expression = f"""(() => {{
        const all = piece.project(given), weights = piece.weigh(all, {num_heads}, 1);
        const {{ output }} = piece.combine(weights, all, given.W_o, 1);
        return piece.sentence(weights, output, given.tokens, 1); }})()"""
    assert compute(tmp_path, source("heads"), expression, lesson().data) == words


def test_text_is_cut_between_characters(tmp_path):
    cut = compute(tmp_path, source("heads"), "given.map((text) => piece.clip(text, 7))", ["short", "much too long", "", " a \n b ", "🐕🐕🐕🐕🐕🐕🐕🐕", "אבג"])
    assert cut == ["short", "much t…", "(empty)", "a b", "\u2068🐕🐕🐕🐕🐕🐕…\u2069", "\u2068אבג\u2069"]


def test_numbers_in_figures(tmp_path):
    assert compute(tmp_path, source("heads"), "given.map(piece.digits)", [0.125, -0.001, 3, 1000, -1234.5, 12345.678, -2.5]) == ["0.13", "0.00", "3.00", "1000", "-1234", "1.23e+4", "-2.50"]
