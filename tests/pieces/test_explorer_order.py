"""The explorer of 03: what it refuses, its words, its mathematics; words moved by mouse."""
import itertools

import pytest
import torch
from javascript import compute, furthest, swap
from pieces import FEATURES, ORDER, PADDED, TOKENS, layer, order
from screen import expect, show

import d2l_ext
from attention_lessons.pieces import source

WORDS = [*TOKENS, "pad"]
NARROW = layer(ORDER)
NARROW.W_o = torch.nn.Linear(4, 3, bias=False)


def test_the_words_hold_the_numbers():
    output = layer(ORDER)(*[PADDED[None]] * 3)[0]
    for word, row in zip(WORDS, output.tolist()):
        assert f"{word} {', '.join(f'{value:.2f}' for value in row)}" in repr(order())


def test_padding_hides_what_lies_beyond_the_length():
    assert [order(valid_len=count).data["validLen"] for count in (2, 3)] == [2, 3]


@pytest.mark.parametrize("change, words", [
    ({"attention": layer(ORDER, num_heads=2)},
     "needs attention with num_heads=1, got num_heads=2"),
    ({"attention": NARROW}, "W_o gives outputs of width 3, X has width 4: a second layer needs the "
                            "same width"),
    ({"tokens": WORDS[:3]}, r"X must have shape \(tokens, features\), its 2 to 5 tokens all "
     r"different, got \(4, 4\), tokens \['dog', 'bites', 'man'\] and 4 features"),
    ({"tokens": ["dog", "dog", "man", "pad"]}, ".* all different, got .*'dog', 'dog', .*"),
    ({"features": FEATURES[:2]}, ".* and 2 features"),
    ({"valid_len": 0}, "valid_len=0 must lie in 1..4"),
    ({"valid_len": 5}, "valid_len=5 must lie in 1..4"),
    ({"X": PADDED[:, :3], "features": FEATURES[:3]},
     "W_q takes inputs of width 4, X has width 3"),
    ({"X": torch.zeros(6, 4), "tokens": list("abcdef")}, ".* its 2 to 5 tokens .*"),
    ({"X": torch.zeros(1, 4), "tokens": ["a"], "valid_len": 1}, ".* its 2 to 5 tokens .*"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        order(**change)


# ---- the mathematics in JavaScript ---------------------------------------------------------------

PLACES = torch.tensor([3, 0, 4, 1, 2])


def case(causal, padding, layers):
    """What JavaScript is given, and what the package makes of it."""
    attention, x = d2l_ext.MultiHeadAttention(6, 1).double(), torch.randn(5, 6).double()
    attention.W_o.weight.data[2] = 0  # one number of six stays the same
    mask = d2l_ext.padding(torch.tensor([3 if padding else 5]))
    if causal:
        mask = d2l_ext.causal() & mask

    def through(rows):
        for _ in range(layers):
            rows, weights = attention(*[rows] * 3, mask=mask, need_weights=True)
        return rows[0].detach(), weights[0, 0].detach()

    (output, weights), (first, _) = through(x[PLACES][None]), through(x[None])
    before = first[PLACES]
    same = torch.isclose(output, before, rtol=0, atol=1e-6).all(1).tolist()
    data = {name: getattr(attention, name).weight.tolist() for name in ORDER}
    state = {"order": PLACES.tolist(), "causal": causal, "padding": padding, "layers": layers}
    given = [data | {"X": x.tolist(), "validLen": 3}, state]
    return given, {"output": output, "weights": weights, "before": before}, same


def distance(folder, text):
    """How far outputs and weights in JavaScript are from the package's, over masks and layers;
    infinite where the verdicts differ."""
    given, wanted, same = zip(*itertools.starmap(
        case, itertools.product((False, True), (False, True), (1, 2))))
    found = compute(folder, text, "given.map((one) => piece.say(...one))", given)
    if [one["same"] for one in found] != list(same):
        return torch.inf
    return max(map(furthest, found, wanted))


def test_javascript_agrees_with_the_package(tmp_path):
    assert distance(tmp_path, source("order")) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("causal && key > query", "causal && key >= query + 2"),
    ("padding && key >= validLen", "padding && key > validLen"),
    ("padding && key >= validLen", "padding && query >= validLen"),
    ("times(Q, K)", "transpose(times(Q, K))"),
    ("Math.sqrt(W_q.length)", "W_q.length"),
    ("transpose(V)), W_o)", "transpose(V)), transpose(W_o))"),
    ("order.map((token) => first[token])", "first"),
    ("layer < layers", "layer < 1"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("order"), right, wrong)) > 1e-3


# ---- in a browser --------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, order())
    assert page.errors == []


def words(piece, wanted):
    """Wait until the words stand in this order."""
    expect(piece.locator(".chip")).to_have_text(wanted.split())


def drag(piece, word, to):
    start, end = (piece.locator(".chip", has_text=name).bounding_box() for name in (word, to))
    within = 4 if end["x"] < start["x"] else end["width"] - 4
    mouse = piece.page.mouse
    mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    mouse.down()
    mouse.move(end["x"] + within, end["y"] + end["height"] / 2, steps=25)
    mouse.up()


def test_dragging_moves_a_word(piece):
    drag(piece, "pad", "man")
    words(piece, "pad man bites dog")
    drag(piece, "pad", "bites")
    words(piece, "man bites pad dog")
    expect(piece.locator(".held")).to_have_count(0)
