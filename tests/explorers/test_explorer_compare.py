"""The explorer of 06: its costs are the package's, its reach is the measured one, its settings are checked, and it lives in a browser."""
import pytest
import torch
from javascript import FORBIDDEN, compute
from screen import result, show
from torch import nn

from d2l_ext import Convolution, Recurrence, SelfAttention, cost, reach
from d2l_ext.explorers import compare_explorer, source
from d2l_ext.plotting import Picture
from d2l_ext.sequence import FORMULAS

SIZES = [(n, d, k) for n in (16, 64, 65536) for d in (16, 256, 4096) for k in (3, 9)]
MAKERS = {"convolution": lambda k: Convolution(2, k), "recurrence": lambda k: Recurrence(2), "self-attention": lambda k: SelfAttention(2)}


# ---- in Python -------------------------------------------------------------------------------------------------------------------------

def test_the_words_hold_the_costs():
    words = repr(compare_explorer(n=128, d=64, k=5, num_heads=4))
    for kind in FORMULAS:
        c = cost(kind, 128, 64, 5)
        assert f"{kind} {c.operations:,} operations, {c.sequential} step{'s' * (c.sequential > 1)}, longest path {c.path}" in words


def test_the_still_picture_shows_the_default_state():
    explorer = compare_explorer()
    assert explorer.numbers in Picture("06_explorer").alt and '<img class="d2l-still"' in explorer.html()
    assert '<p class="d2l-still">' in compare_explorer(n=128).html()  # another state: words, not a wrong picture


def test_settings_are_checked():
    explorer = compare_explorer()
    assert explorer.state == {"n": 64, "d": 512, "k": 3, "num_heads": 8, "layers": 1}
    explorer.set(n=4096, layers=4)
    assert explorer.state == {"n": 4096, "d": 512, "k": 3, "num_heads": 8, "layers": 4}
    for wrong in ({"n": 63}, {"d": 8192}, {"k": 4}, {"num_heads": 3}, {"layers": 0}, {"heads": 2}, {"n": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explorer.set(**wrong)
    assert explorer.state["n"] == 4096
    for wrong in ({"n": 100}, {"k": 2}, {"num_heads": 5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            compare_explorer(**wrong)


def test_source_can_stand_in_a_page():
    for never in FORBIDDEN:
        assert never not in source("compare"), never


# ---- the mathematics in JavaScript -----------------------------------------------------------------------------------------------------

def costs_agree(folder, text):
    found = compute(folder, text, "given.map(([n, d, k]) => piece.KINDS.map((kind) => Object.values(piece.cost(kind, n, d, k))))", SIZES)
    return found == [[list(cost(kind, *size)[:3]) for kind in FORMULAS] for size in SIZES]


def reach_agrees(folder, text):
    cases = [(kind, k, layers) for kind in MAKERS for k in (3, 5) for layers in (1, 2, 4)]
    found = compute(folder, text, "given.map(([kind, k, layers]) => piece.seen(kind, 9, k, layers))", cases)
    return all(torch.equal(torch.tensor(ours, dtype=torch.bool), reach(nn.Sequential(*(MAKERS[kind](k) for _ in range(layers))), 9))
               for ours, (kind, k, layers) in zip(found, cases))


def test_javascript_agrees_with_the_package(tmp_path):
    assert costs_agree(tmp_path, source("compare")) and reach_agrees(tmp_path, source("compare"))


@pytest.mark.parametrize("right, wrong, claim", [
    ("8 * n * d * d + products", "6 * n * d * d + products", costs_agree),  # a projection forgotten
    ("2 * k * n * d * d", "k * n * d * d", costs_agree),  # a multiply and an add are two
    ("(2 * (n - 1)) / (k - 1)", "(n - 1) / (k - 1)", costs_agree),  # meeting taken for path
    ("sequential: n, path: n - 1", "sequential: 1, path: n - 1", costs_agree),  # a recurrence in parallel
    ("12 * n * d * d", "8 * n * d * d", costs_agree),  # a gate of the GRU forgotten
    ("16 * n * d * d", "12 * n * d * d", costs_agree),  # a GRU for an LSTM
    ("places(i + 1)", "places(i)", reach_agrees),  # without the place itself
    ("<= (k - 1) / 2", "<= k / 2 + 1", reach_agrees),  # a kernel too wide
    ("takesFrom[kind](i, m, k)", "takesFrom[kind](m - 1 - i, m, k)", reach_agrees),  # back to front
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong, claim):
    text = source("compare")
    assert text.count(right) >= 1
    assert not claim(tmp_path, text.replace(right, wrong))


@pytest.mark.parametrize("number, words", [(1, "1"), (999, "999"), (8388608, "8.39 million"), (67108864, "67.1 million"), (2**34, "17.2 billion"), (2**40, "1.10 trillion")])
def test_amounts_in_words(tmp_path, number, words):
    assert compute(tmp_path, source("compare"), "piece.amount(given)", number) == words


def test_the_lesson_in_a_sentence(tmp_path):
    told = compute(tmp_path, source("compare"), "given.map(piece.tell)", [{"n": 64, "d": 512, "k": 3}, {"n": 4096, "d": 256, "k": 3},
                                                                              {"n": 512, "d": 512, "k": 3}])
    assert "the recurrence takes the fewest operations, 67.1 million; self-attention 2.13 times as many, with a longest path of 1 against 63" in told[0]
    assert "less than the recurrence (they cross at n = 512) and less than the convolution (they cross at n = 768)" in told[0]
    crossings = "It takes {} the GRU (they cross at n = {}) and {} the LSTM (they cross at n = {})"
    for words, case in zip(told, [("less than", 512, "less than", 1024), ("more than", 256, "more than", 512),
                                  ("as many as", 512, "less than", 1024)]):
        assert crossings.format(*case) in words
    assert "more than the recurrence (they cross at n = 256) and more than the convolution (they cross at n = 384)" in told[1]


def test_products_and_others_cross_where_the_sentence_says():
    for d, k in [(64, 3), (256, 5)]:
        for other, limit in (("recurrence", d), ("convolution", k * d // 2)):
            ours, theirs = (lambda n, kind=kind: cost(kind, n, d, k).operations for kind in ("attention products", other))
            assert ours(limit - 1) < theirs(limit - 1) and ours(limit) == theirs(limit) and ours(limit + 1) > theirs(limit + 1)
    # (where the whole layer crosses the gated recurrences is in test_sequence.py)


def test_a_part_is_never_called_the_least(tmp_path):
    """At n = 16 the products take far fewer operations than any layer, and don't count."""
    found = compute(tmp_path, source("compare"),
                    "['operations', 'sequential', 'path'].map((what) => piece.least("
                    "piece.KINDS.map((kind) => piece.cost(kind, 16, 512, 3)), what)"
                    ".map((i) => piece.KINDS[i]))")
    assert found == [["recurrence"], ["convolution"], ["attention layer"]]


# ---- in a browser ----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, compare_explorer())
    assert page.errors == []


def row(piece, number):
    result(piece)
    return [cell.strip() for cell in piece.locator(".costs tbody tr").nth(number).inner_text().split("\t")]


def test_keys_move_everything(piece):
    press = piece.page.keyboard.press
    assert piece.page.locator(".d2l-still").is_hidden()
    assert row(piece, 1) == ["recurrence", "67.1 million ◂ least", "64", "63"]
    piece.get_by_label("tokens n").focus()
    press("ArrowRight")
    assert row(piece, 1) == ["recurrence", "134 million ◂ least", "128", "127"]
    assert piece.get_by_label("tokens n").get_attribute("aria-valuetext") == "128"
    assert "longest path of 1 against 127" in result(piece)
    piece.get_by_label("layers, in the picture below").focus()
    press("End")
    result(piece)
    words = piece.locator(".stacks p").all_inner_texts()
    assert "knows 9 of 9 inputs" in words[0] and "Pairs: 81 of 81" in words[0] and "Pairs: 45 of 81" in words[1]
    piece.get_by_role("radio", name="16").check()
    assert "attention layer, 16 heads" in row(piece, 5)[0] and "◂" not in row(piece, 4)[1]
    assert row(piece, 2)[:2] == ["GRU", "403 million"] and row(piece, 3)[:2] == ["LSTM", "537 million"]


def test_pictures_have_words(piece):
    for canvas in piece.locator("canvas").all():
        assert len(canvas.get_attribute("aria-label")) > 40
