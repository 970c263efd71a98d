"""Properties over random shapes, masks and dtypes: what tests with chosen numbers could miss."""
import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from slow import assert_same, lengths_mask, outcome, slow_attention, slow_outcome

from d2l_ext import MultiHeadAttention

size = st.integers(1, 4)
HALF = torch.float16, torch.bfloat16


def filled(draw, shape, numbers):
    """A tensor of drawn numbers."""
    count = math.prod(shape)
    return torch.tensor(draw(st.lists(numbers, min_size=count, max_size=count))).reshape(shape)


@st.composite
def masks(draw, batch, heads, queries, keys):
    """Booleans of any shape that a mask may have; rows may be empty."""
    before = [(), (batch,), (1,)] + [(b, h) for b in (1, batch) for h in (1, heads)]
    return filled(draw, (*draw(st.sampled_from(before)), queries, keys), st.booleans())


@st.composite
def lengths(draw, batch, queries, keys):
    shape = draw(st.sampled_from([(batch,), (batch, queries)]))
    return filled(draw, shape, st.integers(0, keys))


@st.composite
def calls(draw, dtypes=(torch.float32, torch.float64), square=False):
    """A module, its inputs and its constraints."""
    batch, heads, queries = draw(size), draw(size), draw(size)
    num_kv_heads = draw(st.sampled_from([kv for kv in range(1, heads + 1) if heads % kv == 0]))
    keys = queries if square else draw(size)
    widths = {name: draw(size) for name in ("query_size", "key_size", "value_size")}
    torch.manual_seed(draw(st.integers(0, 99)))
    m = MultiHeadAttention(draw(size), heads, bias=draw(st.booleans()), head_size=draw(size),
                           num_kv_heads=num_kv_heads, **widths)
    dtype = draw(st.sampled_from(dtypes))
    inputs = [torch.randn(batch, steps, width, dtype=dtype)
              for steps, width in zip((queries, keys, keys), widths.values())]
    constraints = {"valid_lens": draw(st.none() | lengths(batch, queries, keys)),
                   "mask": draw(st.none() | masks(batch, heads, queries, keys)),
                   "causal": square and draw(st.booleans())}
    return m.to(dtype), inputs, constraints


def allowed(m, inputs, valid_lens, mask, causal):
    """All constraints of a call as one (batch, heads, queries, keys) mask."""
    queries, keys = inputs[0].shape[1], inputs[1].shape[1]
    keep = torch.ones(len(inputs[0]), m.num_heads, queries, keys, dtype=torch.bool)
    if valid_lens is not None:
        keep = keep & lengths_mask(valid_lens, queries, keys)
    if mask is not None:
        keep = keep & (mask[:, None] if mask.dim() == 3 else mask)
    return keep.tril() if causal else keep


def slow(m, *inputs, keep):
    return slow_attention(m, *inputs, keep)[0]


def explicit(m, *inputs, **constraints):
    return m(*inputs, need_weights=True, **constraints)[0]


@given(calls() | calls(square=True))
@pytest.mark.slow
def test_both_paths_equal_the_definition_in_values_and_gradients(call):
    m, inputs, constraints = call
    expected = slow_outcome(slow, m, *inputs, keep=allowed(m, inputs, **constraints))
    for attend in (MultiHeadAttention.__call__, explicit):
        assert_same(outcome(attend, m, *inputs, **constraints), expected, 1e-4, 1e-3)


@given(calls(HALF) | calls(HALF, square=True))
def test_half_precision_stays_near_the_definition_and_weights_sum_to_one_or_zero(call):
    m, inputs, constraints = call
    keep = allowed(m, inputs, **constraints)
    expected = slow_outcome(slow, m, *inputs, keep=keep)[:1]
    output, weights = m(*inputs, need_weights=True, **constraints)
    for found in (output, m(*inputs, **constraints)):
        assert found.dtype == inputs[0].dtype
        assert_same([found], expected, 0.05, 0.05)
    torch.testing.assert_close(weights.double().sum(-1), keep.any(-1).double(), atol=0.01, rtol=0)
    assert not weights[~keep].any() and (weights >= 0).all()


@given(calls(), st.booleans())
def test_no_input_is_modified(call, strided):
    m, inputs, constraints = call
    if strided:
        inputs = [X.mT.contiguous().mT for X in inputs]
    watched = [*inputs, *m.state_dict().values(),
               *(X for X in constraints.values() if isinstance(X, torch.Tensor))]
    before = copy.deepcopy(watched)
    for need_weights in (True, False):
        m(*inputs, need_weights=need_weights, **constraints)
    assert all(map(torch.equal, watched, before))
