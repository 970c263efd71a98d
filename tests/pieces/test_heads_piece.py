"""The piece of 02: its words, and its numbers in every element that shows them."""
import re

import torch
from pieces import near
from tools.draw.pieces_in_node import described, heads, in_node
from torch import nn

from attention_lessons.pieces import heads_explorer, source
from d2l_ext import MultiHeadAttention, dot_product_attention, merge_heads, split_heads


def wooden(count=3, hiddens=6, outputs=3, heads=2):
    """Attention over tokens of 5 features, whose widths all differ."""
    attention, X = MultiHeadAttention(hiddens, heads), torch.randn(count, 5)
    for name in ("W_q", "W_k", "W_v"):
        setattr(attention, name, nn.Linear(5, hiddens, bias=False))
    attention.W_o = nn.Linear(hiddens, outputs, bias=False)
    return attention, X, heads_explorer(attention, X, [f"t{i}" for i in range(count)], "abcde")


@torch.no_grad()
def computed(attention, X, heads, factor):
    """Each head's weights, all channels of the values, their mixtures, the outputs."""
    Q, K, V = (W(X)[None] for W in (attention.W_q, attention.W_k, attention.W_v))
    mixed, weights = dot_product_attention(
        *(split_heads(each, heads) for each in (factor * Q, K, V)))
    mixed = merge_heads(mixed)[0]
    return weights[0], V[0], mixed, attention.W_o(mixed)


def written(numbers):
    return [f"{number + 0:.2f}" for number in numbers.round(decimals=2).flatten().tolist()]


def test_every_number_shown_is_the_packages():
    """In three cuts and in two layouts."""
    attention, X, piece = wooden()
    for cut, asks, factor in ((1, 0, 1), (2, 2, 1.7), (3, 1, 0.4)):
        weights, values, mixed, output = computed(attention, X, cut, factor)
        shown = described(piece, num_heads=cut, asks=asks, inverse_temperature=factor, width=940)
        cells = shown.of("cell")
        near([cell["fill-opacity"] for cell in cells], 0.85 * weights.flatten(), 6e-4)
        channels = torch.cat([values, mixed[asks, None]]).T.chunk(cut)  # values, what they become
        tables = sum((written(map_) + written(own) for map_, own in zip(weights, channels)), [])
        assert [word for word in shown.words if re.fullmatch(r"-?\d+\.\d+", word)] == tables
        assert [each["name"] for each in shown.of("made")] == written(output[asks])
        assert [row["y"] for row in shown.of("lit")] == [
            cell["y"] - 1 for cell in cells[3 * asks::9]]
        assert f"Output: {', '.join(written(output[asks]))}." in shown.sentence
        assert shown.of("span")[0]["name"].startswith("channel 0 ")
        near([share["x"] + share["width"] for share in shown.of("share")],
             [20 + 896 * (i + 1) / cut for i in range(cut)], 0.2)
    attention, X, piece = wooden(11, 12, heads=3)
    weights = computed(attention, X, 4, 1)[0]
    shown = described(piece, num_heads=4, asks=7, ui={"key": 0}, width=378)
    sheets = shown.of("canvas")
    near([sheet["weights"] for sheet in sheets], weights, 1e-6)
    (x, y), _, _, (right, low) = corners = [(each["x"], each["y"]) for each in sheets]
    assert corners == [(x, y), (right, y), (x, low), (right, low)]  # two by two on a phone
    assert x < right <= 378 - 11 * sheets[0]["across"] and y < low
    assert [word for word in shown.words if "t0 " in word] == [
        f"t0 {weight}" for weight in written(weights[:, 7, 0])] and "t7 → t0" in shown.words


def test_what_heads_ask_for_and_channels_carry():
    assert {"head 1 asks for animal", "head 2 asks for person", "height", "unused"} <= set(
        described(heads()).words)
    assert described(heads(), width=200).of("span")[0]["name"] == "height 1.00"
    rows = [[0, 2, 0], [1, 2, 3], [-1, 2, 0], [0, 0, 0], [2, 0.002, 0.004]]
    assert in_node(source("heads"), rows, """given.map((row) => [carries(row, ["a", "b", "c"], 4),
        wants(row, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "b", "c"])])""") == [
        ["2.00 b", " asks for b"], ["channel 4", ""], ["channel 4", ""],
        ["unused", " asks for nothing"], ["channel 4", " asks for a and c"]]


def test_the_sentence():
    """More than four outputs are not in it."""
    assert described(heads(), num_heads=1).sentence == (
        "bites, 1 head: it takes dog 0.50 and man 0.50, and this one mixture fills every channel. "
        "Output: 2.00, 0.00, 2.00, 0.00.")
    assert "; and so on. Output:" in described(wooden(3, 32, heads=16)[2]).sentence
    assert "Output" not in described(wooden(outputs=5)[2]).sentence
