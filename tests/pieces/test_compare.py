"""The piece of 06 and 10: its costs and what an output knows are the package's, and so is all that
is shown of them."""
import math

import pytest
import torch
from pieces import corners
from tools.draw._stills import described, in_node
from torch import nn

from attention_lessons.pieces import compare_explorer, source
from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach, state_size
from d2l_ext.sequence import STATES

SOURCE = source("compare")
NETS = ("convolution", "recurrence", "attention layer")
KINDS = [kind for kind in STATES if not kind.startswith("delta")]  # which no lesson's piece shows
MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2),
          "self-attention": lambda k: SelfAttention(2)}


def test_costs_are_the_packages():
    """Of all nine kinds, what a layer takes and what it keeps."""
    cases = [(kind, {"n": n, "d": d, "k": k, "c": c, "num_heads": heads}) for kind in KINDS
             for n in (16, 64, 65536) for d in (16, 256, 4096)
             for k, c, heads in ((3, 64, 1), (9, 16, 4), (5, 256, 16))]
    found = in_node(SOURCE, cases, "given.map((one) => cost(...one))")
    for (kind, size), costs in zip(cases, found):
        kept = {name: size[name] for name in size if name != "c"}
        assert costs["operations"] == cost(kind, **size).operations
        assert costs["keeps"] == state_size(kind, **kept)


def test_an_output_knows_its_inputs_and_lines_lead_down_to_just_these():
    cases = [(kind, 9, k, layers, out) for kind in MAKERS for k in (3, 5) for layers in (1, 2, 4)
             for out in (0, 5, 8)]
    for (kind, _, k, layers, out), found in zip(
            cases, in_node(SOURCE, cases, "given.map((one) => cone(...one))")):
        known = reach(nn.Sequential(*(MAKERS[kind](k) for _ in range(layers))), 9)[out]
        assert sorted(found["rows"][0]) == known.nonzero().flatten().tolist()
        ends = {tuple(to) for _, to in found["lines"]} | {(layers, out)}
        assert {tuple(start) for start, _ in found["lines"] if start[0]} <= ends
        assert {start[1] for start, _ in found["lines"] if not start[0]} == set(found["rows"][0])
        assert {layer - below for (below, _), (layer, _) in found["lines"]} <= {0, 1}


def test_prices_below_the_networks_and_lines_dots_and_crossings_of_the_plot():
    look = described(compare_explorer(n=256, d=64, k=5),
                     ("output of recurrence", "onKeyDown", {"key": "ArrowLeft"}), layers=2)
    for kind, known in zip(NETS, (6, 8, 9)):
        work, steps, path = cost(kind, 256, 64, 5)[:3]
        assert f"2 layers: it knows {known} of 9 inputs" in look.words
        assert f"work a layer: {work / 1e6:.3g} million" in look.words
        for said, count in (("from token 1 to 256", path), ("one after another", steps)):
            assert f"{said}: {count} step{'s' * (count != 1)}" in look.words
    assert [len(look.of("token", fill=f"var(--{colour})")) for colour in ("value", "key", "query")
            ] == [6 + 4 + 1, 3 * 8, 9 + 9 + 1]
    assert len(look.of("ray", stroke="var(--value)")) == 4 + 17
    lines = [*map(corners, look.of("polyline"))]
    dots = sorted((dot["cy"], dot["cx"]) for dot in look.of("now"))
    work = sorted((math.log(cost(kind, 256, 64, 5).operations) for kind in (*NETS, "GRU", "LSTM")),
                  reverse=True)
    places = torch.tensor([[y, 1.0] for y, _ in dots])
    fit = torch.linalg.lstsq(places, torch.tensor(work)[:, None]).solution
    assert (places @ fit)[:, 0].tolist() == pytest.approx(work, abs=0.02)
    assert all(any((x, y) in line for line in lines) for y, x in dots)
    at = {16 * 2**i: point[0] for i, point in enumerate(lines[0])}
    assert {circle["cx"] for circle in look.of("crossing")} == {at[64], at[128]}


def test_the_sentence_of_a_layer():
    assert described(compare_explorer(16)).sentence == (  # not of its products alone
        "n = 16, d = 512, k = 3: the recurrence takes the fewest operations, 16.8 million; "
        "self-attention 2.03 times as many, with a longest path of 1 against 15.")
