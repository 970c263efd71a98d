"""Properties over random shapes, masks and dtypes: equality with the definition and with PyTorch, invariances, and nothing modified."""
import copy
import math

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import nn
from wrong import Steps, assert_same, lengths_mask, outcome, slow_attention, slow_outcome

from d2l_ext import (AdditiveAttention, Mask, MultiHeadAttention, PositionalEncoding, causal, dot_product_attention, masked_softmax, merge_heads, padding,
                     sinusoids, split_heads, to_torch_mha, window)

size = st.integers(1, 4)


@st.composite
def masks(draw, batch, heads, queries, keys):
    """A boolean tensor of any allowed shape; rows may be empty."""
    shape = draw(st.sampled_from([(queries, keys), (batch, queries, keys), (batch, 1, queries, keys), (batch, heads, queries, keys)]))
    return torch.tensor(draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))).reshape(shape)


@st.composite
def lengths(draw, batch, queries, keys):
    shape = draw(st.sampled_from([(batch,), (batch, queries)]))
    return torch.tensor(draw(st.lists(st.integers(0, keys), min_size=math.prod(shape), max_size=math.prod(shape)))).reshape(shape)


@st.composite
def calls(draw, dtypes=(torch.float32, torch.float64), square=False):
    """A module, its inputs and its constraints."""
    batch, heads, head_size, queries = draw(size), draw(size), draw(size), draw(size)
    keys = queries if square else draw(size)
    widths = draw(size), draw(size), draw(size)
    torch.manual_seed(draw(st.integers(0, 99)))
    m = MultiHeadAttention(draw(size), heads, bias=draw(st.booleans()), head_size=head_size, query_size=widths[0], key_size=widths[1], value_size=widths[2])
    dtype = draw(st.sampled_from(dtypes))
    inputs = [torch.randn(batch, steps, width, dtype=dtype) for steps, width in zip((queries, keys, keys), widths)]
    constraints = {"valid_lens": draw(st.none() | lengths(batch, queries, keys)), "mask": draw(st.none() | masks(batch, heads, queries, keys)),
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


def equals_the_definition(attend, call):
    m, inputs, constraints = call
    keep = allowed(m, inputs, **constraints)
    slow = slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs)
    assert_same(outcome(lambda m, *X: attend(m, *X, **constraints), m, *inputs), slow, 1e-4, 1e-3)


@given(calls() | calls(square=True))
def test_both_paths_equal_the_definition_in_values_and_gradients(call):
    equals_the_definition(lambda m, *X, **options: m(*X, **options), call)
    equals_the_definition(lambda m, *X, **options: m(*X, need_weights=True, **options)[0], call)


class Wrong(Steps):
    """Scales by the width of the queries: right whenever that equals the head's."""

    def score(self, m, q, k):
        return q @ k.mT / math.sqrt(m.W_q.in_features)


def test_a_wrong_attention_fails_the_property():
    @settings(max_examples=50, phases=[Phase.generate], report_multiple_bugs=False)
    @given(calls())
    def search(call):
        m, inputs, constraints = call
        equals_the_definition(lambda m, *X, valid_lens, mask, causal: Wrong()(m, *X, valid_lens), (m, inputs, {**constraints, "mask": None}))
    with pytest.raises(AssertionError):
        search()


@given(st.data(), size, size, size, size, size, st.booleans())
def test_equals_torch_multihead_attention(data, batch, heads, head_size, queries, keys, bias):
    theirs = nn.MultiheadAttention(heads * head_size, heads, bias=bias, kdim=data.draw(size), vdim=data.draw(size), batch_first=True)
    m = MultiHeadAttention.from_torch(theirs)
    inputs = [torch.randn(batch, n, linear.in_features) for n, linear in ((queries, m.W_q), (keys, m.W_k), (keys, m.W_v))]
    mask = data.draw(masks(batch, heads, queries, keys)) | (torch.arange(keys) == 0)  # no empty rows: PyTorch answers NaN there
    hidden = to_torch_mha(mask, heads)
    expected = outcome(lambda _, *X: theirs(*X, attn_mask=hidden, average_attn_weights=False), nn.ModuleList(), *inputs)
    assert_same(outcome(lambda _, *X: m(*X, mask=mask, need_weights=True), nn.ModuleList(), *inputs), expected)


@given(calls(dtypes=(torch.float16, torch.bfloat16)))
def test_half_precision_stays_near_the_definition(call):
    m, inputs, constraints = call
    keep = allowed(m, inputs, **constraints)
    expected = slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs)[0]
    for output in (m(*inputs, **constraints), m(*inputs, need_weights=True, **constraints)[0]):
        assert_same([output], [expected], 0.05, 0.05)


@given(calls(), st.booleans())
def test_no_input_is_modified(call, strided):
    m, inputs, constraints = call
    if strided:
        inputs = [X.mT.contiguous().mT for X in inputs]
    watched = [*inputs, *(X for X in (constraints["valid_lens"], constraints["mask"]) if X is not None), *m.state_dict().values()]
    before = copy.deepcopy(watched)
    outcome(lambda m, *X: m(*X, **constraints), m, *inputs)
    m(*inputs, need_weights=True, **constraints)
    assert all(map(torch.equal, watched, before))


@given(calls())
def test_rows_of_weights_sum_to_one_or_are_zero(call):
    m, inputs, constraints = call
    keep = allowed(m, inputs, **constraints)
    weights = m(*inputs, need_weights=True, **constraints)[1]
    torch.testing.assert_close(weights.sum(-1), keep.any(-1).to(weights))
    assert (weights[~keep] == 0).all() and (weights >= 0).all()


@given(calls(), st.integers(1, 3), st.sampled_from([math.nan, math.inf, 1e30, 7.0]))
def test_padding_changes_nothing(call, more, garbage):
    m, (queries, keys, values), _ = call
    padded = [torch.cat([X, X.new_full((len(X), more, X.shape[2]), garbage)], 1) for X in (keys, values)]
    valid_lens = torch.full((len(queries),), keys.shape[1])
    for need_weights in (False, True):
        outputs = [m(queries, *X, valid_lens, need_weights=need_weights) for X in ((keys, values), padded)]
        assert_same(*[[output[0] if need_weights else output] for output in outputs], 1e-6, 1e-5)


@given(calls(), st.randoms(use_true_random=False))
def test_reordering_keys_with_their_values_changes_nothing(call, random):
    m, (queries, keys, values), constraints = call
    keep = allowed(m, (queries, keys, values), **constraints)
    order = random.sample(range(keys.shape[1]), keys.shape[1])
    assert_same([m(queries, keys[:, order], values[:, order], mask=keep[..., order])], [m(queries, keys, values, mask=keep)])


@given(calls(), st.randoms(use_true_random=False))
def test_reordering_queries_or_sequences_reorders_the_output(call, random):
    m, (queries, keys, values), constraints = call
    keep = allowed(m, (queries, keys, values), **constraints)
    output = m(queries, keys, values, mask=keep)
    order = random.sample(range(queries.shape[1]), queries.shape[1])
    assert_same([m(queries[:, order], keys, values, mask=keep[:, :, order])], [output[:, order]])
    order = random.sample(range(len(queries)), len(queries))
    assert_same([m(queries[order], keys[order], values[order], mask=keep[order])], [output[order]])


@given(size, size, size, size, st.booleans())
def test_splitting_then_merging_is_the_identity(batch, heads, steps, head_size, strided):
    X = torch.randn(batch, steps, heads * head_size)
    X = X.mT.contiguous().mT if strided else X
    assert split_heads(X, heads).shape == (batch, heads, steps, head_size) and torch.equal(merge_heads(split_heads(X, heads)), X)


# ---- predicates ------------------------------------------------------------------------------------------------------------------------------------

RULES = {"causal": (causal, lambda n: lambda q, k: k <= q + n), "window": (lambda n: window(abs(n)), lambda n: lambda q, k: abs(q - k) <= abs(n))}
leaf = st.builds(lambda kind, n: tuple(make(n) for make in RULES[kind]), st.sampled_from(sorted(RULES)), st.integers(-3, 3))
compositions = st.recursive(leaf, lambda inner: st.one_of(
    st.builds(lambda a, b: (a[0] & b[0], lambda q, k: a[1](q, k) and b[1](q, k)), inner, inner),
    st.builds(lambda a, b: (a[0] | b[0], lambda q, k: a[1](q, k) or b[1](q, k)), inner, inner),
    st.builds(lambda a: (~a[0], lambda q, k: not a[1](q, k)), inner)), max_leaves=5)


@given(compositions, st.integers(0, 5), st.integers(0, 5))
def test_composed_masks_answer_pair_by_pair(composition, queries, keys):
    mask, rule = composition
    assert mask.tensor(queries, keys).tolist() == [[bool(rule(q, k)) for k in range(keys)] for q in range(queries)]


@given(st.data(), size, size, size)
def test_padding_is_the_lengths(data, batch, queries, keys):
    valid_lens = data.draw(lengths(batch, queries, keys))
    mask = Mask(lambda q, k: (q >= 0) & (k >= 0)) & padding(valid_lens)
    assert torch.equal(mask.tensor(queries, keys), lengths_mask(valid_lens, queries, keys)[:, 0])


# ---- the smaller pieces --------------------------------------------------------------------------------------------------------------------------------

numbers = st.floats(-1e4, 1e4, width=32)


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=6))
def test_masked_softmax_is_that_of_pythons_floats(row):
    scores, keep = (torch.tensor(column)[None] for column in zip(*row))
    top = max((x for x, k in row if k), default=0)
    powers = [math.exp(x - top) if k else 0.0 for x, k in row]
    expected = [p / (math.fsum(powers) or 1) for p in powers]
    torch.testing.assert_close(masked_softmax(scores, mask=keep)[0].double(), torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=1e-4)


@given(calls())
def test_dot_product_attention_is_one_head_without_weights(call):
    m, (queries, keys, values), constraints = call
    q, k = m.W_q(queries), m.W_k(keys)
    keep = allowed(m, (queries, keys, values), **constraints)[:, 0]
    output, weights = dot_product_attention(q, k, values, keep)
    expected = masked_softmax(torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[2]), mask=keep)
    assert_same([weights, output], [expected, torch.einsum("bqk,bkv->bqv", expected, values)])


@given(st.data(), size, size, size, size)
def test_additive_attention_ignores_what_it_may_not_see(data, batch, queries, keys, width):
    m, valid_lens = AdditiveAttention(width), data.draw(lengths(batch, queries, keys))
    X, Y = torch.randn(batch, queries, width), torch.randn(batch, keys, width)
    _, weights = m(X, Y, Y, valid_lens, need_weights=True)
    keep = lengths_mask(valid_lens, queries, keys)[:, 0].expand(weights.shape)
    torch.testing.assert_close(weights.sum(-1), keep.any(-1).float())
    assert not weights[~keep].any()


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 39))
def test_a_shift_is_the_same_rotation_everywhere(steps, pairs, shift):
    table = sinusoids(steps + shift, 2 * pairs).unflatten(1, (pairs, 2))
    angles = shift / 10_000 ** (torch.arange(pairs, dtype=torch.float64) / pairs)
    sin, cos = table[:steps].unbind(-1)
    rotated = torch.stack([sin * angles.cos() + cos * angles.sin(), cos * angles.cos() - sin * angles.sin()], -1)
    torch.testing.assert_close(rotated, table[shift:], atol=1e-12, rtol=0)
    torch.testing.assert_close(table.square().sum(-1), torch.ones(steps + shift, pairs, dtype=torch.float64))


@given(size, st.integers(1, 6), st.integers(1, 9), st.integers(0, 3))
def test_a_longer_table_begins_with_the_shorter(batch, steps, width, more):
    X = torch.randn(batch, steps, width)
    assert torch.equal(PositionalEncoding(width, max_len=steps)(X), PositionalEncoding(width, max_len=steps + more)(X))
