"""The piece of 06 and 10: costs and what an output knows are the package's, wherever shown."""
import torch
from pieces import corners, near
from tools.draw.pieces_in_node import described, in_node
from torch import nn

from attention_lessons.pieces import compare_explorer, source
from attention_lessons.pieces.compare import BESIDE, KINDS
from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach, state_size

MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2),
          "attention layer": lambda k: SelfAttention(2)}


def found(function, cases):
    values = in_node(source("compare"), cases, f"given.map((one) => {function}(...one))")
    return zip(cases, values, strict=True)


def test_costs_are_the_packages():
    cases = [(kind, {"n": n, "d": d, "k": k, "c": c, "num_heads": heads})
             for kind in {*KINDS, *BESIDE} for n in (16, 64, 65536) for d in (16, 4096)
             for k, c, heads in ((3, 64, 1), (9, 16, 4), (5, 256, 16))]
    for (kind, size), costs in found("cost", cases):
        assert costs["operations"] == cost(kind, **size).operations
        del size["c"]
        assert costs["keeps"] == state_size(kind, **size)


def test_an_output_knows_its_inputs_and_lines_lead_down_to_just_these():
    cases = [(kind, k, layers, out) for kind in MAKERS for k in (3, 5) for layers in (1, 2, 4)
             for out in (0, 5, 8)]
    for (kind, k, layers, out), shown in found("cone", cases):
        known = reach(nn.Sequential(*(MAKERS[kind](k) for _ in range(layers))), 9)[out]
        assert sorted(shown["rows"][0]) == known.nonzero().flatten().tolist()
        starts, ends = ({tuple(line[side]) for line in shown["lines"]} for side in (0, 1))
        taken = {(layer, i) for layer, row in enumerate(shown["rows"]) for i in row}
        assert starts | {(layers, out)} == taken == ends | {(0, i) for i in shown["rows"][0]}
        assert {layer - below for (below, _), (layer, _) in shown["lines"]} <= {0, 1}


def test_prices_below_the_networks_and_lines_dots_and_crossings_of_the_plot():
    look = described(compare_explorer(n=256, d=64, k=5), ui={"out": 7}, layers=2)
    for kind, known in zip(MAKERS, (6, 8, 9)):
        work, steps, path = cost(kind, 256, 64, 5)[:3]
        assert {f"2 layers: it knows {known} of 9 inputs",
                f"work a layer: {work / 1e6:.3g} million",
                f"from token 1 to 256: {path} step{'s' * (path > 1)}",
                f"one after another: {steps} step{'s' * (steps > 1)}"} <= {*look.words}
    lit = [len(look.of("token", fill=f"var(--{role})")) for role in ("value", "key", "query")]
    assert lit == [6 + 4 + 1, 3 * 8, 9 + 9 + 1]
    assert len(look.of("ray", stroke="var(--value)")) == 4 + 17
    lines = [*map(corners, look.of("polyline"))]
    dots = [(dot["cx"], dot["cy"]) for dot in look.of("now")]
    assert dots == [line[4] for line in lines]
    scale, tick = (look.of("text", name=name)[0] for name in ("256", "1 million"))
    assert scale["x"] == dots[0][0] and "n = 256" in look.words
    work = torch.tensor([*(cost(kind, 256, 64, 5).operations for kind in KINDS), 1e6]).log()
    heights = torch.tensor([*(y for _, y in dots), tick["y"] - 5])
    near((heights - heights[0]) / (heights[5] - heights[0]), (work - work[0]) / (work[5] - work[0]))
    assert {circle["cx"] for circle in look.of("crossing")} == {lines[0][i][0] for i in (2, 3)}
    assert look.sentence == (
        "256 tokens of width 64, kernel 5: the recurrence takes the fewest operations, 4.19 "
        "million; self-attention 6 times as many, with a longest path of 1 against 255.")


def test_the_sentence_of_a_memory():
    assert described(compare_explorer(4096, c=64)).sentence == (
        "Of 4,096 tokens linear attention keeps one 512 × 64 memory, self-attention all keys and "
        "values, 4.19 million. In chunks it does 22.5 % of self-attention's work.")
