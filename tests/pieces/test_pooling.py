"""The piece of 01: its words, and its numbers in every element that shows them."""
import math

import torch
from pieces import corners, near
from tools.draw.pieces_in_node import KEYS, described, in_node, pooling

from d2l_ext import dot_product_attention
from attention_lessons.pieces import source


def test_every_number_shown_is_the_packages():
    for _ in range(3):
        keys = torch.randn(5, 2).sign() * (4 + 4 * torch.rand(5, 2))  # arrows of some length
        values, query = torch.randn(5, 3), 9 * torch.rand(2)
        sees, scale = torch.rand(5) > 0.3, 1 + 9 * torch.rand(1).item()
        piece = pooling(keys=keys, values=values, query=query, scale=scale)
        shown = described(piece, width=800, sees=sees.tolist())
        (output,), (weights,) = dot_product_attention(
            query[None] * math.sqrt(2) / scale, keys, values, mask=sees[None])
        bars = torch.tensor([bar["width"] for bar in shown.of("bar")])
        near(bars / bars.sum(), weights, 0.002)
        ribbons = shown.of("ribbon")
        near([ribbon["stroke-width"] for ribbon in ribbons], 26 * weights, 0.06)
        numbers = ", ".join(f"{each + 0:.2f}" for each in output.round(decimals=2).tolist())
        assert shown.sentence.endswith(f"Output: {numbers}.")
        scores = keys @ query / scale
        words = [word for word in shown.words if word.startswith(("score", "hidden"))]
        for i, (word, seen) in enumerate(zip(words, sees, strict=True)):
            assert f"{weights[i]:.2f}" in shown.words
            assert word.startswith(f"score {scores[i] + 0:.2f}, value" if seen else "hidden")
        # the output's point is the mean of the values' points, each by its weight
        made, = ((dot["cx"], dot["cy"]) for dot in shown.of("made"))
        spots = [(ribbon["x1"], ribbon["y1"]) for ribbon in ribbons]
        near(made, weights @ torch.tensor(spots), 0.3)
        assert {(ribbon["x2"], ribbon["y2"]) for ribbon in ribbons} == {made}
        # arrows of keys lie as the keys do, thicker the more weight they take
        lines = shown.of("line")[:6]
        tips = torch.tensor([[line["x2"] - line["x1"], line["y1"] - line["y2"]] for line in lines])
        near(torch.cosine_similarity(tips, torch.vstack([keys, query])), torch.ones(6), 0.01)
        near([line["stroke-width"] for line in lines[:5]], 2 + 6 * weights, 0.06)
        hull = corners(shown.of("hull")[0])
        assert 3 <= len(hull) <= 5 and {*hull} <= {*spots}


def test_a_query_dragged_among_keys_in_three_dimensions_goes_where_it_is_put():
    axes, points = pooling().data["axes"], [[-4, -3], [6, -2]]
    found = in_node(source("pooling"), [axes, points], """given[1].map((point) =>
        moved([0, 10, 9], given[0], point, 30))""")
    axes = torch.tensor(axes)
    near(axes @ axes.T, torch.eye(2), 1e-6)
    near(axes @ (KEYS[3] - KEYS[2]), [0, 0])
    near(torch.tensor(found) @ axes.T, points)


def test_a_hull_has_no_inner_point_and_a_long_query_stays_in_its_panel():
    corners = [[0, 0], [4, 1], [5, 4], [1, 3]]
    found = in_node(source("pooling"), [*corners, [1, 1], [4, 3]], "hull(given)")
    turn = found.index(corners[0])
    assert found[turn:] + found[:turn] == corners  # round, not across
    shown = described(pooling(), query=[0, 250, 250])
    panel, query = shown.of("rect")[0], shown.of("line")[len(KEYS)]
    assert 0 < query["y2"] < panel["height"] and 0 < query["x2"] < panel["width"]


def test_the_sentence():
    hidden = described(pooling(), sees=[False] * 4)
    assert hidden.sentence == (
        "Every key is hidden: there is nothing to mix, and the output is zero.")
    assert hidden.of("ribbon") == hidden.of("made") == []
    many = pooling(keys=torch.ones(7, 3), values=torch.ones(7, 1))
    assert described(many).sentence.count("gets 0.14") == 6


def test_keys_and_values_are_numbered_and_the_hint_goes_once_a_hand_has_moved():
    look, used = described(pooling()), described(pooling(), ui={"used": True})
    assert [look.words.count(str(number)) for number in range(6)] == [0, 2, 2, 2, 2, 0]
    assert "drag me" in look.words and "drag me" not in used.words
