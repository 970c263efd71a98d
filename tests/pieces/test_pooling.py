"""The piece of 01: its words, and its numbers in every element that shows them."""
import math

import torch
from pieces import corners, near
from tools.draw._stills import KEYS, described, in_node, pooling

from d2l_ext import dot_product_attention
from attention_lessons.pieces import source



def test_every_number_shown_is_the_packages():
    """What is shown of random vectors is what the package computes of them."""
    for _ in range(3):
        keys = torch.randn(5, 2).sign() * (4 + 4 * torch.rand(5, 2))  # arrows of some length
        values, query = torch.randn(5, 3), 9 * torch.rand(2)
        sees, scale = torch.rand(5) > 0.3, 1 + 9 * torch.rand(1).item()
        piece = pooling(keys=keys, values=values, query=query, scale=scale)
        state = {f"key{i + 1}": bool(seen) for i, seen in enumerate(sees)}
        shown = described(piece, width=800, **state)
        (output,), (weights,) = dot_product_attention(
            query[None] * math.sqrt(2) / scale, keys, values, mask=sees[None])
        bars = [bar["width"] for bar in shown.of("bar")]
        near([bar / sum(bars) for bar in bars], weights, 0.002)
        ribbons = shown.of("ribbon")
        near([ribbon["stroke-width"] for ribbon in ribbons], 26 * weights, 0.06)
        numbers = ", ".join(f"{each + 0:.2f}" for each in output.round(decimals=2).tolist())
        assert f"output {numbers}" in shown.words and shown.sentence.endswith(f": {numbers}.")
        scores = keys @ query / scale
        for i, seen in enumerate(sees):
            assert f"{weights[i]:.2f}" in shown.words
            assert not seen or any(said.startswith(f"score {scores[i] + 0:.2f}, value")
                                   for said in shown.words)
        # the output's point is the mean of the values' points, each by its weight
        dot, = shown.of("output")
        spots = torch.tensor([[ribbon["x1"], ribbon["y1"]] for ribbon in ribbons])
        near([dot["cx"], dot["cy"]], weights @ spots, 0.3)
        near([[ribbon["x2"], ribbon["y2"]] for ribbon in ribbons], [[dot["cx"], dot["cy"]]] * 5)
        # arrows of keys lie as the keys do, thicker the more weight they take
        lines = shown.of("line")[:6]
        tips = torch.tensor([[line["x2"] - line["x1"], line["y1"] - line["y2"]] for line in lines])
        near(torch.nn.functional.cosine_similarity(tips, torch.vstack([keys, query])).tolist(),
             torch.ones(6), 0.01)
        near([line["stroke-width"] for line in lines[:5]], 2 + 6 * weights, 0.06)
        hull = corners(shown.of("hull")[0])
        assert 3 <= len(hull) <= 5 and {*hull} <= {(each["x1"], each["y1"]) for each in ribbons}


def test_a_query_among_keys_in_three_dimensions():
    """A query dragged in the plane of four keys in three dimensions goes where it is put."""
    axes = pooling().data["axes"]
    points = [[-4, -3], [6, -2]]
    found = in_node(source("pooling"), [axes, points], """given[1].map((point) =>
        moved([0, 10, 9], given[0], point, 30))""")
    axes = torch.tensor(axes)
    near((axes @ axes.T).tolist(), torch.eye(2), 1e-6)
    near((axes @ (KEYS[3] - KEYS[2])).tolist(), [0, 0])
    for query, point in zip(found, points):
        near((axes @ torch.tensor(query).float()).tolist(), point)


def test_a_hull_has_no_inner_point_and_a_long_query_stays_in_its_panel():
    corners = [[0, 0], [4, 1], [5, 4], [1, 3]]
    found = in_node(source("pooling"), [*corners, [1, 1], [4, 3]], "hull(given)")
    assert sorted(found) == sorted(corners)
    shown = described(pooling(), q1=250.0, q2=250.0)
    panel, query = shown.of("rect")[0], shown.of("line")[len(KEYS)]
    assert 0 < query["y2"] < panel["height"] and 0 < query["x2"] < panel["width"]


def test_the_sentence():
    said = described(pooling(), **{f"key{i}": False for i in range(1, 5)})
    assert said.sentence == ("Every key is hidden: there is nothing to mix, and the output is "
                             "zero.")
    assert not said.of("ribbon") and not said.of("output")
    many = pooling(keys=torch.ones(7, 3), values=torch.ones(7, 1))
    assert described(many).sentence.count("gets 0.14") == 6


def test_keys_and_values_are_numbered_and_the_hint_goes_once_a_hand_has_moved():
    look, used = described(pooling()), described(pooling(), ui={"used": True})
    assert [look.words.count(str(number)) for number in range(6)] == [0, 2, 2, 2, 2, 0]
    assert "drag me" in look.words and "drag me" not in used.words
