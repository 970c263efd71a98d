"""The piece of 06 and 10: its costs and what an output knows are the package's, and so is all that
is shown of them."""
import math

import pytest
import torch
from pieces import sees
from tools.draw._stills import described, in_node, memories
from torch import nn

from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach, state_size
from attention_lessons.pieces import compare_explorer, source
from d2l_ext.sequence import STATES

SOURCE = source("compare")
SIZES = [{"n": n, "d": d, "k": k, "c": c, "num_heads": heads}
         for n in (16, 64, 65536) for d in (16, 256, 4096)
         for k, c, heads in ((3, 64, 1), (9, 16, 4), (5, 256, 16))]
MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2),
          "self-attention": lambda k: SelfAttention(2)}


def test_another_chunk_is_refused():
    with pytest.raises(ValueError, match="c=32 is not possible: choose from 16, 64, 256"):
        compare_explorer(c=32)


def costs(text):
    found = in_node(text, SIZES,
                    "given.map((size) => KINDS.map((kind) => Object.values(cost(kind, size))))")
    assert in_node(text, [], "KINDS") == [*STATES]
    assert found == [[[*cost(kind, **size)[:3], state_size(
        kind, *(size[name] for name in ("n", "d", "k", "num_heads")))] for kind in STATES]
        for size in SIZES]


def cones(text):
    """Which inputs an output knows, and lines that lead down to just these."""
    cases = [(kind, 9, k, layers, out) for kind in MAKERS for k in (3, 5) for layers in (1, 2, 4)
             for out in (0, 5, 8)]
    for (kind, _, k, layers, out), found in zip(
            cases, in_node(text, cases, "given.map((one) => cone(...one))")):
        known = reach(nn.Sequential(*(MAKERS[kind](k) for _ in range(layers))), 9)[out]
        assert found["rows"][0] == known.nonzero().flatten().tolist()
        heads = {tuple(to) for _, to in found["lines"]} | {(layers, out)}
        assert {tuple(start) for start, _ in found["lines"] if start[0]} <= heads
        assert {start[1] for start, _ in found["lines"] if not start[0]} == set(found["rows"][0])
        assert {layer - below for (below, _), (layer, _) in found["lines"]} <= {0, 1}


def shown(text):
    """Prices below the networks; lines, dots and crossings of the plot."""
    piece = compare_explorer(n=256, d=64, k=5)
    look = described(piece, ("output of recurrence", "onKeyDown", {"key": "ArrowLeft"}),
                     source=text, layers=2)
    for kind, known in (("convolution", 6), ("recurrence", 8), ("attention layer", 9)):
        work, steps, path = cost(kind, 256, 64, 5)[:3]
        assert f"the output knows {known} of 9 inputs" in look.words
        assert f"path {path}, waits {steps}, work {work / 1e6:.3g} million" in look.words
    assert [len(look.of("token", fill=f"var(--{colour})")) for colour in ("value", "key", "query")
            ] == [6 + 4 + 1, 3 * 8, 9 + 9 + 1]
    assert sum(ray["stroke"] == "var(--value)" for ray in look.of("ray")) == 4 + 17
    lines = [[tuple(map(float, point.split(","))) for point in line["points"].split()]
             for line in look.of("polyline")]
    dots = sorted(look.of("now"), key=lambda dot: dot["cy"])
    work = sorted((math.log(cost(kind, 256, 64, 5).operations) for kind in (
        "convolution", "recurrence", "GRU", "LSTM", "attention layer")), reverse=True)
    places = torch.tensor([[dot["cy"], 1.0] for dot in dots])
    fit = torch.linalg.lstsq(places, torch.tensor(work)[:, None]).solution
    assert torch.allclose((places @ fit)[:, 0], torch.tensor(work), atol=0.02)
    assert all(any((dot["cx"], dot["cy"]) in line for line in lines) for dot in dots)
    crossed = [circle["cx"] for circle in look.of("crossing")]
    at = {16 * 2**i: point[0] for i, point in enumerate(lines[0])}
    assert crossed == [at[64], at[128]]
    assert "takes the fewest operations" in look.sentence


def check(text):
    costs(text)
    cones(text)
    shown(text)


def test_what_is_shown_is_the_packages():
    check(SOURCE)


@pytest.mark.parametrize("right, wrong", [
    ("12 * square", "8 * square"), ("Math.min(n, c)", "c"), ("<= (k - 1) / 2", "<= k / 2 + 1"),
    ("lines.push([[layer - 1, j], [layer, i]])", "lines.push([[layer - 1, i], [layer, i]])"),
    ("rows[0].length, TOKENS", "rows[layers].length, TOKENS"),
    ("y(worth(kind, size.n))]", "y(worth(kind, values[0]))]"),
])
def test_a_mistake_is_seen(right, wrong):
    sees(check, SOURCE, right, wrong)


def test_the_sentence():
    assert described(memories()).sentence == (
        "n = 4096, 8 heads: linear attention takes 0.225 times the operations and keeps 32,768 "
        "numbers, self-attention 4.19 million; they keep the same at n = 32.")
    at_16 = {"n": 16, "d": 512, "k": 3}  # a part is never called the least
    assert in_node(SOURCE, at_16, """["operations", "sequential", "path"].map((what) =>
        least(KINDS.slice(0, 6), given, what))""") == [
            ["recurrence"], ["convolution"], ["attention layer"]]
