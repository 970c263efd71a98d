"""The explorer of 06 and 10: costs and reach are the package's; table and pictures in words."""
import pytest
import torch
from javascript import compute, swap
from screen import expect, show
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


def test_a_chunk_is_a_setting_where_it_is_given():
    plain, beside = compare_explorer(), compare_explorer(c=16)
    assert plain.state.keys() - beside.state.keys() == {"layers"}
    assert beside.state.keys() - plain.state.keys() == {"c"}
    with pytest.raises(ValueError, match="c=32 is not possible: choose from 16, 64, 256"):
        compare_explorer(c=32)
    with pytest.raises(ValueError, match="no setting 'c'"):
        plain.set(c=16)


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


def test_the_lesson_in_a_sentence(tmp_path):
    sizes = [{"n": 64, "d": 512, "k": 3}, {"n": 4096, "d": 256, "k": 3},
             {"n": 512, "d": 512, "k": 3}]
    told = compute(tmp_path, source("compare"),
                   "given[0].map((size) => piece.tell(given[1], size))", [sizes, [*FORMULAS]])
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
    found = compute(tmp_path, source("compare"), """["operations", "sequential", "path"].map(
        (what) => piece.least(given, { n: 16, d: 512, k: 3 }, what))""", [*FORMULAS])
    assert found == [["recurrence"], ["convolution"], ["attention layer"]]


def test_linear_attention_in_a_sentence(tmp_path):
    sizes = [{"n": 4096, "d": 512, "k": 3, "num_heads": 8, "c": 64},
             {"n": 16, "d": 32, "k": 5, "num_heads": 1, "c": 256}]
    told = compute(tmp_path, source("compare"),
                   "given[0].map((size) => piece.tell(given[1], size))", [sizes, BESIDE])
    for words, size in zip(told, sizes):
        n, d, k, heads, c = size.values()
        softmax, memory = (cost(f"{kind}", n, d, k, c, heads)
                           for kind in ("attention layer", "linear attention, in chunks"))
        share = float(words.split("takes ")[1].split(" times the operations")[0])
        assert share == pytest.approx(memory.operations / softmax.operations, rel=0.005)
        assert f"{memory.sequential} steps against 4" in words
        cross = int(words.split("n = ")[-1].rstrip("."))
        assert 2 * cross * d == state_size("linear attention, at once", n, d, k, heads)
    assert "8 heads: in chunks of 64" in told[0] and "1 head: in chunks of 256" in told[1]
    assert "It keeps 32,768 numbers, self-attention 4.19 million; " in told[0]


def test_the_plots_in_words_and_their_lines(tmp_path):
    size = {"n": 64, "d": 512, "k": 3, "num_heads": 8, "c": 64}
    lines, words = compute(tmp_path, source("compare"), """[
        ["operations", "keeps"].map((what) => piece.lines(given[0], what)),
        [...given.slice(0, 2).map((kinds) => piece.describe(kinds, "operations", given[2])),
         piece.describe(given[0], "keeps", given[2])]]""", [BESIDE, [*FORMULAS], size])
    assert [name for _, name in lines[0]] == [
        "convolution", "recurrence", "attention layer", "linear, at once", "linear, in chunks",
        "linear, by token"]
    assert [name for _, name in lines[1]] == [
        "convolution", "recurrence", "attention layer", "linear, delta rule"]
    assert "cross the recurrence at n = 512 and the convolution at n = 768" in words[1]
    equal = [cost(f"linear attention, {form}", 64, 512, 3, 64, 8).operations
             for form in ("at once", "by token")]
    assert equal[0] == equal[1] and "below it from n = 64 on" in words[0]
    kept = [state_size(kind, 32, 512, 3, 8) for kind in ("attention layer", BESIDE[-1])]
    assert kept[0] == kept[1] and "crosses at n = 32 the level line" in words[-1]


# ---- in a browser --------------------------------------------------------------------------------

def test_the_table_and_the_pictures_in_words(page):
    piece = show(page, compare_explorer())

    rows = piece.locator(".costs tbody tr")

    def row(number, *words):
        expect(rows.nth(number).locator("th, td")).to_have_text(words)

    row(1, "recurrence", "67.1 million ◂ least", "64", "63")
    piece.get_by_label("tokens n").press("ArrowRight")
    row(1, "recurrence", "134 million ◂ least", "128", "127")
    expect(rows.nth(2)).to_contain_text("403 million")
    expect(rows.nth(3)).to_contain_text("537 million")
    expect(piece.get_by_label("tokens n")).to_have_attribute("aria-valuetext", "128")
    piece.get_by_role("radio", name="16").check()
    expect(rows.nth(5)).to_contain_text("attention layer, 16 heads")
    expect(rows.nth(4)).not_to_contain_text("◂")
    piece.get_by_label("layers, in the picture below").press("End")
    words = piece.locator(".stacks p")
    expect(words.nth(0)).to_contain_text("knows 9 of 9 inputs")
    expect(words.nth(0)).to_contain_text("Pairs: 81 of 81")
    expect(words.nth(1)).to_contain_text("Pairs: 45 of 81")
    assert page.errors == []
