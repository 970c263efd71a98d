"""Attention by tiles equals attention with the whole table, and moves the numbers it says."""
import math

import pytest
import torch
from test_relative import Watched
from torch import nn
from slow import assert_same, name_of, outcome, slow_outcome, slow_softmax

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
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def inputs(dtype=torch.float32, before=(2, 2)):
    torch.manual_seed(4)
    sizes = (QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUE)
    return [2 * torch.randn(*before, *size, dtype=dtype) for size in sizes]


def tiled(*inputs, **options):
    return tiled_attention(*inputs, **options)[0]


def slow(q, k, v, mask):
    """One query, one head at a time, from the formula."""
    if mask is None:
        mask = torch.tensor(True)
    elif not isinstance(mask, torch.Tensor):
        mask = mask(torch.arange(QUERIES)[:, None], torch.arange(KEYS))
        mask = mask[:, None] if mask.dim() == 3 else mask
    keep = mask.expand(2, 2, QUERIES, KEYS)
    heads = [[[slow_softmax(q[b, h, i] @ k[b, h].T / math.sqrt(WIDTH), keep[b, h, i]) @ v[b, h]
               for i in range(QUERIES)] for h in range(2)] for b in range(2)]
    return torch.stack([torch.stack([torch.stack(rows) for rows in each]) for each in heads])


def function(attend):
    """A function of three tensors for ``outcome``, which expects a module first."""
    return lambda _, *X, **options: attend(*X, **options)


# ---- claims --------------------------------------------------------------------------------------

def is_attention(attend):
    """Outputs and gradients are those of the definition, for every mask and tile."""
    for mask in MASKS.values():
        expected = slow_outcome(function(slow), nn.ModuleList(), *inputs(), mask=mask)
        for rows, columns in SIZES:
            options = dict(mask=mask, query_tile=rows, key_tile=columns)
            assert_same(outcome(function(attend), nn.ModuleList(), *inputs(), **options), expected)


def survives_large_scores(attend):
    """Powers of scores of some thousand overflow, unless the maximum is taken off first."""
    q, k, v = inputs()
    for factor in (1e3, -1e3):
        output = attend(factor * q, k, v, None, query_tile=2, key_tile=2)
        torch.testing.assert_close(output, dot_product_attention(factor * q, k, v)[0])


def loses_little_in_half_precision(attend):
    """The state stays in single: an error of one rounding, however many tiles."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(512, 8) for _ in range(3))
    for dtype in (torch.bfloat16, torch.float16):
        half = [X.to(dtype) for X in (q, k, v)]
        exact = dot_product_attention(*[X.double() for X in half])[0]
        output = attend(*half, None, query_tile=64, key_tile=1)
        assert output.dtype == dtype
        assert (output.double() - exact).abs().max() < torch.finfo(dtype).eps


CLAIMS = [is_attention, survives_large_scores, loses_little_in_half_precision]


@pytest.mark.parametrize("claim", CLAIMS, ids=name_of)
def test_tiles_hold_every_claim(claim):
    claim(tiled)


# ---- shapes, hidden numbers, memory --------------------------------------------------------------

@pytest.mark.parametrize("queries, keys", [(0, 3), (3, 0), (0, 0)])
def test_empty_sequences_pass(queries, keys):
    q, k = torch.ones(queries, 2), torch.ones(keys, 2)
    for mask in (None, causal()):
        output, traffic = tiled_attention(q, k, k, mask, query_tile=2, key_tile=2)
        assert output.shape == (queries, 2) and not output.any()


@pytest.mark.parametrize("poison", [math.nan, math.inf])
@pytest.mark.parametrize("mask", [MASKS["lengths"], MASKS["per query"], MASKS["a hole"]])
def test_what_no_query_may_see_reaches_nothing(mask, poison):
    q, k, v = inputs()
    keep = mask(torch.arange(QUERIES)[:, None], torch.arange(KEYS))
    keep = keep if keep.dim() == 2 else keep[:, None]
    hidden = ~keep.any(-2)[..., None].expand(2, 2, -1, -1)
    idle = ~keep.any(-1)[..., None].expand(2, 2, -1, -1)
    poisoned = [X.masked_fill(where, poison) for X, where in ((q, idle), (k, hidden), (v, hidden))]
    options = dict(mask=mask, query_tile=2, key_tile=3)
    attend = function(tiled)
    results = [outcome(attend, nn.ModuleList(), *X, **options) for X in ((q, k, v), poisoned)]
    assert_same(*results)


def test_no_tensor_has_a_number_for_each_pair():
    n, columns = 256, 16
    q, k, v = (torch.randn(n, 8) for _ in range(3))
    with Watched() as watched:
        output = tiled(q, k, v, causal() & window(40), query_tile=16, key_tile=columns)
    assert watched.largest <= n * columns < n * n
    with Watched() as watched:
        expected = dot_product_attention(q, k, v, causal() & window(40))[0]
    assert watched.largest >= n * n
    torch.testing.assert_close(output, expected)


# ---- the state -----------------------------------------------------------------------------------


def test_a_state_takes_scores_as_low_as_there_are():
    lowest = torch.finfo(torch.float32).min
    scores, values = torch.tensor([[lowest, -math.inf]]), torch.tensor([[3.0], [math.pi]])
    state = update(nothing_yet(torch.zeros(1, 1), values), scores, values)
    assert state.output.tolist() == [[3.0]] and state.total.tolist() == [[1.0]]


# ---- what is moved -------------------------------------------------------------------------------

def counted_by_hand(n, m, d, v, rows, columns):
    """Algorithm 1, line by line."""
    reads = writes = 0
    for i in range(0, n, rows):
        writes += min(rows, n - i) * (v + 2)
    for j in range(0, m, columns):
        reads += min(columns, m - j) * (d + v)
        for i in range(0, n, rows):
            reads += min(rows, n - i) * (d + v + 2)
            writes += min(rows, n - i) * (v + 2)
    return Traffic(reads, writes)


def counts_what_is_moved(formula):
    for rows, columns in SIZES:
        expected = counted_by_hand(QUERIES, KEYS, WIDTH, VALUE, rows, columns)
        assert formula(QUERIES, KEYS, WIDTH, VALUE, columns) == expected
        q, k, v = inputs(before=())
        assert tiled_attention(q, k, v, query_tile=rows, key_tile=columns)[1] == expected


def test_counter_formula_and_algorithm_agree():
    counts_what_is_moved(tiled_traffic)


@pytest.mark.parametrize("mask, pairs", [
    (causal(), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]),
    (window(1), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]),
    (padding(torch.tensor([3])), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
])
def test_tiles_that_nobody_sees_are_not_moved(mask, pairs):
    """Three tiles of two on either side, as (queries, keys)."""
    q, k, v = (torch.randn(1, 6, width) for width in (WIDTH, WIDTH, VALUE))
    _, traffic = tiled_attention(q, k, v, mask, query_tile=2, key_tile=2)
    columns = len({j for _, j in pairs})
    reads = columns * 2 * (WIDTH + VALUE) + len(pairs) * 2 * (WIDTH + VALUE + 2)
    assert traffic == Traffic(reads, (3 + len(pairs)) * 2 * (VALUE + 2))
