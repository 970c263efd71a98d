"""The explorer of 06: its costs and reach are the package's; its table and pictures in words."""
import pytest
import torch
from javascript import compute, swap
from screen import result, show
from torch import nn

from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach
from d2l_ext.explorers import compare_explorer, source
from d2l_ext.sequence import FORMULAS

SIZES = [(n, d, k) for n in (16, 64, 65536) for d in (16, 256, 4096) for k in (3, 9)]
MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2),
          "self-attention": lambda k: SelfAttention(2)}


def test_the_words_hold_the_costs():
    words = repr(compare_explorer(n=128, d=64, k=5, num_heads=4))
    for kind in FORMULAS:
        c = cost(kind, 128, 64, 5)
        steps = f"{c.sequential} step{'s' * (c.sequential > 1)}"
        assert f"{kind} {c.operations:,} operations, {steps}, longest path {c.path}" in words


# ---- the mathematics in JavaScript ---------------------------------------------------------------

def costs_agree(folder, text):
    found = compute(folder, text, """given.map(([n, d, k]) =>
        piece.KINDS.map((kind) => Object.values(piece.cost(kind, n, d, k))))""", SIZES)
    return found == [[list(cost(kind, *size)[:3]) for kind in FORMULAS] for size in SIZES]


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
    ("8 * n * d * d + products", "6 * n * d * d + products", costs_agree),
    ("2 * k * n * d * d", "k * n * d * d", costs_agree),
    ("(2 * (n - 1)) / (k - 1)", "(n - 1) / (k - 1)", costs_agree),
    ("4 * n * d * d, sequential: n", "4 * n * d * d, sequential: 1", costs_agree),
    ("12 * n * d * d", "8 * n * d * d", costs_agree),
    ("16 * n * d * d", "12 * n * d * d", costs_agree),
    ("places(i + 1)", "places(i)", reach_agrees),
    ("<= (k - 1) / 2", "<= k / 2 + 1", reach_agrees),
    ("(i, m, k).flatMap", "(m - 1 - i, m, k).flatMap", reach_agrees),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong, agree):
    assert not agree(tmp_path, swap(source("compare"), right, wrong))


def test_the_lesson_in_a_sentence(tmp_path):
    sizes = [{"n": 64, "d": 512, "k": 3}, {"n": 4096, "d": 256, "k": 3},
             {"n": 512, "d": 512, "k": 3}]
    told = compute(tmp_path, source("compare"), "given.map(piece.tell)", sizes)
    assert ("the recurrence takes the fewest operations, 67.1 million; self-attention 2.13 times "
            "as many, with a longest path of 1 against 63" in told[0])
    crossing = "{} the {} (they cross at n = {}) and {} the {} (they cross at n = {})"
    for words, case in zip([*told, *told], [
        ("less than", "GRU", 512, "less than", "LSTM", 1024),
        ("more than", "GRU", 256, "more than", "LSTM", 512),
        ("as many as", "GRU", 512, "less than", "LSTM", 1024),
        ("less than", "recurrence", 512, "less than", "convolution", 768),
        ("more than", "recurrence", 256, "more than", "convolution", 384),
    ]):
        assert crossing.format(*case) in words


def test_a_part_is_never_called_the_least(tmp_path):
    """At n = 16 the products take far fewer operations than any layer, and don't count."""
    found = compute(tmp_path, source("compare"), """given.map((what) => piece.least(
        piece.KINDS.map((kind) => piece.cost(kind, 16, 512, 3)), what).map((i) => piece.KINDS[i]))
        """, ["operations", "sequential", "path"])
    assert found == [["recurrence"], ["convolution"], ["attention layer"]]


# ---- in a browser --------------------------------------------------------------------------------

def test_the_table_and_the_pictures_in_words(page):
    piece = show(page, compare_explorer())

    def row(number):
        result(piece)
        cells = piece.locator(".costs tbody tr").nth(number).inner_text().split("\t")
        return [cell.strip() for cell in cells]

    assert row(1) == ["recurrence", "67.1 million ◂ least", "64", "63"]
    piece.get_by_label("tokens n").press("ArrowRight")
    assert row(1) == ["recurrence", "134 million ◂ least", "128", "127"]
    assert row(2)[:2] == ["GRU", "403 million"] and row(3)[:2] == ["LSTM", "537 million"]
    assert piece.get_by_label("tokens n").get_attribute("aria-valuetext") == "128"
    piece.get_by_role("radio", name="16").check()
    assert "attention layer, 16 heads" in row(5)[0] and "◂" not in row(4)[1]
    piece.get_by_label("layers, in the picture below").press("End")
    assert result(piece)
    words = piece.locator(".stacks p").all_inner_texts()
    assert "knows 9 of 9 inputs" in words[0] and "Pairs: 81 of 81" in words[0]
    assert "Pairs: 45 of 81" in words[1] and page.errors == []
