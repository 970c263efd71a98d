"""The explorer of 06 and 10: what it refuses, its words; costs and reach are the package's."""
import pytest
import torch
from javascript import compute, swap
from torch import nn

from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach, state_size
from d2l_ext.explorers import compare_explorer, source
from d2l_ext.explorers.compare import BESIDE
from d2l_ext.sequence import FORMULAS, STATES

SIZES = [{"n": n, "d": d, "k": k, "c": c, "num_heads": heads}
         for n in (16, 64, 65536) for d in (16, 256, 4096)
         for k, c, heads in ((3, 64, 1), (9, 16, 4), (5, 256, 16))]
MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2),
          "self-attention": lambda k: SelfAttention(2)}


def test_the_words_hold_the_costs():
    words = repr(compare_explorer(n=128, d=64, k=5, num_heads=4))
    for kind in FORMULAS:
        c = cost(kind, 128, 64, 5)
        steps = f"{c.sequential} step{'s' * (c.sequential > 1)}"
        assert f"{kind} {c.operations:,} operations, {steps}, longest path {c.path}" in words
    words = repr(compare_explorer(n=128, d=64, k=5, num_heads=4, c=16))
    for kind in BESIDE:
        costs = [*cost(kind, 128, 64, 5, 16, 4)[:3], state_size(kind, 128, 64, 5, 4)]
        assert f"{kind} {', '.join(f'{number:,}' for number in costs)}" in words
    told = [compare_explorer(num_heads=heads).numbers.split(":")[0] for heads in (1, 2)]
    assert told == ["n = 64, d = 512, k = 3, 1 head", "n = 64, d = 512, k = 3, 2 heads"]


def test_another_chunk_is_refused():
    with pytest.raises(ValueError, match="c=32 is not possible: choose from 16, 64, 256"):
        compare_explorer(c=32)


# ---- the mathematics in JavaScript ---------------------------------------------------------------

def costs_agree(folder, text):
    found = compute(folder, text, """given.map((size) =>
        piece.KINDS.map((kind) => Object.values(piece.cost(kind, size))))""", SIZES)
    assert compute(folder, text, "piece.KINDS") == [*STATES]
    return found == [[[*cost(kind, **size)[:3], kept(kind, **size)] for kind in STATES]
                     for size in SIZES]


def kept(kind, n, d, k, c, num_heads):
    return state_size(kind, n, d, k, num_heads)


def reach_agrees(folder, text):
    cases = [(kind, k, layers) for kind in MAKERS for k in (3, 5) for layers in (1, 2, 4)]
    found = compute(folder, text, "given.map(([kind, ...size]) => piece.seen(kind, 9, ...size))",
                    [(kind, k, layers) for kind, k, layers in cases])
    stacks = (nn.Sequential(*(MAKERS[kind](k) for _ in range(layers))) for kind, k, layers in cases)
    return all(torch.equal(torch.tensor(ours, dtype=torch.bool), reach(stack, 9))
               for ours, stack in zip(found, stacks))


@pytest.mark.parametrize("agree", [costs_agree, reach_agrees])
def test_javascript_agrees_with_the_package(tmp_path, agree):
    assert agree(tmp_path, source("compare"))


@pytest.mark.parametrize("right, wrong, agree", [
    ("""8 * square + products, sequential: 4, path: direct, keeps: 2""",
     """6 * square + products, sequential: 4, path: direct, keeps: 2""", costs_agree),
    ("2 * k * square", "k * square", costs_agree),
    ("(2 * (n - 1)) / (k - 1)", "(n - 1) / (k - 1)", costs_agree),
    ("4 * square, sequential: n", "4 * square, sequential: 1", costs_agree),
    ("12 * square", "8 * square", costs_agree),
    ("16 * square", "12 * square", costs_agree),
    ("(d * d) / num_heads]", "d * d]", costs_agree),
    ("Math.min(n, c)", "c", costs_agree),
    ("(4 * n - 2 * chunk)", "4 * n", costs_agree),
    ("Math.max(4, n / chunk + 2)", "n / chunk + 2", costs_agree),
    ("sequential: n + 3", "sequential: 4", costs_agree),
    ("2 * n * d * num_heads", "2 * n * d", costs_agree),
    ("sequential: 2 * n + 2, path: n - 1", "sequential: 2 * n + 2, path: direct", costs_agree),
    ("keeps: (k - 1) * d", "keeps: k * d", costs_agree),
    ("path: n - 1, keeps: 2 * d", "path: n - 1, keeps: d", costs_agree),
    ("sequential: 2, path: direct, keeps: 2 * n * d", "sequential: 2, path: direct, keeps: n * d",
     costs_agree),
    ("places(i + 1)", "places(i)", reach_agrees),
    ("<= (k - 1) / 2", "<= k / 2 + 1", reach_agrees),
    ("(i, m, k).flatMap", "(m - 1 - i, m, k).flatMap", reach_agrees),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong, agree):
    assert not agree(tmp_path, swap(source("compare"), right, wrong))


def test_a_part_is_never_called_the_least(tmp_path):
    """At n = 16 the products take far fewer operations than any layer, and don't count."""
    found = compute(tmp_path, source("compare"), """["operations", "sequential", "path"].map(
        (what) => piece.least(given, { n: 16, d: 512, k: 3 }, what))""", [*FORMULAS])
    assert found == [["recurrence"], ["convolution"], ["attention layer"]]
