"""Attention by tiles equals attention with the whole table, and moves the numbers it says."""
import math

import pytest
import torch
from test_relative import Watched
from torch import nn
from slow import assert_same, outcome, slow_outcome

from d2l_ext import causal, dot_product_attention, padding, window
from d2l_ext.tiles import Traffic, nothing_yet, tiled_attention, tiled_traffic, update

QUERIES, KEYS, WIDTH, VALUE = 5, 7, 4, 3
PER_QUERY = torch.tensor([[0, 7, 2, 1, 5], [0, 0, 3, 3, 3]])
SIZES = [(1, 1), (2, 3), (5, 7), (3, 2), (64, 64), (1, 7), (5, 1)]
# A row is empty, the last keys are hidden from all, a tile in the middle is.
MASKS = {
    "none": None, "causal": causal(), "window": window(1) & causal(1),
    "lengths": padding(torch.tensor([3, 0])), "per query": padding(PER_QUERY),
    "table": torch.rand(2, 2, QUERIES, KEYS, generator=torch.Generator().manual_seed(0)) < 0.4,
    "a hole": lambda query, key: ((key < 2) | (key > 4)) & (query != 1),
    "one table": PER_QUERY[0][:, None] > torch.arange(KEYS),
    "per head": lambda query, key: key <= query + torch.tensor([0, 2]).view(1, 2, 1, 1),
}


def inputs(*before):
    sizes = (QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUE)
    return [2 * torch.randn(*before, *size) for size in sizes]


class Tiled(nn.Module):
    def forward(self, *inputs, **options):
        return tiled_attention(*inputs, **options)[0]


tiled = Tiled()


def whole(_, *inputs, mask):
    return dot_product_attention(*inputs, mask=mask)[0]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_it_is_attention(mask):
    """Outputs and gradients are those of the whole table, for every mask and tile."""
    X = inputs(2, 2)
    X[0] = 1e3 * X[0] if mask is None else X[0]  # whose powers overflow
    expected = slow_outcome(whole, tiled, *X, mask=mask)
    for rows, columns in SIZES:
        options = dict(mask=mask, query_tile=rows, key_tile=columns)
        assert_same(outcome(Tiled.__call__, tiled, *X, **options), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_little_is_lost_in_half_precision(dtype):
    """The state stays in single: an error of one rounding, however many tiles."""
    half = [torch.randn(512, 8).to(dtype) for _ in range(3)]
    exact = dot_product_attention(*[X.double() for X in half])[0]
    output = tiled(*half, query_tile=64, key_tile=1)
    assert output.dtype == dtype
    assert (output.double() - exact).abs().max() < torch.finfo(dtype).eps


@pytest.mark.parametrize("mask", [MASKS["lengths"], MASKS["per query"], MASKS["a hole"]])
def test_what_no_query_may_see_reaches_nothing(mask):
    q, k, v = inputs(2, 2)
    keep = mask(torch.arange(QUERIES)[:, None], torch.arange(KEYS))
    keep = keep if keep.dim() == 2 else keep[:, None]
    hidden = ~keep.any(-2)[..., None].expand(2, 2, -1, -1)
    idle = ~keep.any(-1)[..., None].expand(2, 2, -1, -1)
    other = [X.masked_fill(where, 1e6) for X, where in ((q, idle), (k, hidden), (v, hidden))]
    options = dict(mask=mask, query_tile=2, key_tile=3)
    assert_same(*(outcome(Tiled.__call__, tiled, *X, **options) for X in ((q, k, v), other)))


def test_no_tensor_has_a_number_for_each_pair():
    n, columns = 256, 16
    q, k, v = (torch.randn(n, 8) for _ in range(3))
    with Watched() as watched:
        tiled(q, k, v, mask=causal() & window(40), query_tile=16, key_tile=columns)
    assert watched.largest <= n * columns < n * n


def test_a_state_takes_scores_as_low_as_there_are():
    lowest = torch.finfo(torch.float32).min
    scores, values = torch.tensor([[lowest, -math.inf]]), torch.tensor([[3.0], [math.pi]])
    state = update(nothing_yet(torch.zeros(1, 1), values), scores, values)
    assert state.output.tolist() == [[3.0]] and state.total.tolist() == [[1.0]]


@pytest.mark.parametrize("rows, columns", SIZES)
def test_counter_and_formula_agree(rows, columns):
    counted = tiled_attention(*inputs(), query_tile=rows, key_tile=columns)[1]
    assert tiled_traffic(QUERIES, KEYS, WIDTH, VALUE, columns) == counted


@pytest.mark.parametrize("mask, pairs", [
    (causal(), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]),
    (padding(torch.tensor([3])), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
])
def test_tiles_that_nobody_sees_are_not_moved(mask, pairs):
    """Three tiles of two on either side, as (queries, keys)."""
    q, k, v = (torch.randn(1, 6, width) for width in (WIDTH, WIDTH, VALUE))
    _, traffic = tiled_attention(q, k, v, mask=mask, query_tile=2, key_tile=2)
    columns = len({j for _, j in pairs})
    reads = columns * 2 * (WIDTH + VALUE) + len(pairs) * 2 * (WIDTH + VALUE + 2)
    assert traffic == Traffic(reads, (3 + len(pairs)) * 2 * (VALUE + 2))
