"""Masks answer each pair of positions as their sentence says, compose, and convert."""
import pickle

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import nn
from torch.nn import functional as F
from slow import lengths_mask, name_of

from d2l_ext import Mask, MultiHeadAttention, causal, padding, to_sdpa, to_torch_mha, window
from d2l_ext.masks import combine

LENGTHS = torch.tensor([0, 2, 5])
LENGTHS_PER_QUERY = torch.tensor([[0, 2, 5, 1], [4, 3, 0, 5], [5, 1, 2, 0]])


# ---- claims about what makes a mask -----------------------------

def answers(predicate, queries, keys):
    return Mask(predicate).tensor(queries, keys).tolist()


def pairs(queries, keys, rule):
    return [[rule(q, k) for k in range(keys)] for q in range(queries)]


def is_causal(make):
    for offset in (-2, 0, 1, 3):
        assert answers(make(offset), 4, 6) == pairs(4, 6, lambda q, k: k <= q + offset)
    assert answers(make(), 3, 3) == pairs(3, 3, lambda q, k: k <= q)


def is_window(make):
    for size in (0, 1, 3):
        assert answers(make(size), 5, 4) == pairs(5, 4, lambda q, k: abs(q - k) <= size)


def is_padding(make):
    for lengths in (LENGTHS, LENGTHS_PER_QUERY):
        assert answers(make(lengths), 4, 5) == lengths_mask(lengths, 4, 5)[:, 0].tolist()


RIGHT = {is_causal: causal, is_window: window, is_padding: padding}


@pytest.mark.parametrize("claim", RIGHT, ids=name_of)
def test_each_mask_says_what_its_name_says(claim):
    claim(RIGHT[claim])


# ---- predicates ----------------------------------------------------------------------------------

def even_key(query, key):
    return (key % 2 == 0) & (query >= 0)


def test_and_or_not_leave_their_parts_as_they_were():
    near, past, even = window(1), causal(-1), Mask(even_key).tensor(4, 5)
    a, b = near.tensor(4, 5), past.tensor(4, 5)
    for mask, wanted in [(near & past, a & b), (near | past, a | b), (~near, ~a),
                         (near & even_key, a & even), (past | even_key, b | even),
                         (even_key & near, a & even), (even_key | past, b | even)]:
        assert torch.equal(mask.tensor(4, 5), wanted)
    assert torch.equal(near.tensor(4, 5), a) and torch.equal(past.tensor(4, 5), b)


@pytest.mark.parametrize("mask", [causal(), Mask(lambda q, k: k > 0), Mask(lambda q, k: q > 0),
                                  Mask(lambda q, k: torch.tensor(True))])
def test_the_tensor_has_all_queries_and_keys_and_is_boolean(mask):
    for queries, keys in [(3, 5), (1, 1), (0, 4), (4, 0)]:
        tensor = mask.tensor(queries, keys)
        assert tensor.shape == (queries, keys) and tensor.dtype == torch.bool


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.uint16])
def test_lengths_may_be_integers_of_any_kind(dtype):
    assert torch.equal(padding(LENGTHS.to(dtype)).tensor(4, 5), padding(LENGTHS).tensor(4, 5))


def test_a_mask_of_a_named_predicate_survives_pickling():
    mask = pickle.loads(pickle.dumps(Mask(even_key)))
    assert torch.equal(mask.tensor(2, 3), Mask(even_key).tensor(2, 3))


# ---- all constraints together --------------------------------------------------------------------

def test_combine_is_none_without_constraints():
    assert combine(2, 3, 4, 4) is None


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (1, 4, 4), (3, 1, 4, 4), (3, 2, 4, 4),
                                   (1, 2, 4, 4), (1, 1, 4, 4)])
def test_combine_ands_all_constraints(shape):
    mask, lengths = torch.rand(shape) < 0.7, torch.tensor([0, 3, 4])
    four = mask[:, None] if mask.dim() == 3 else mask
    expected = four & lengths_mask(lengths, 4, 4) & causal().tensor(4, 4)
    found = combine(3, 2, 4, 4, lengths, mask, True)
    assert torch.equal(found.expand(3, 2, 4, 4), expected.expand(3, 2, 4, 4))


# ---- PyTorch's two conventions -------------------------------------------------------------------

def visible(*shape):
    """A random mask in which every query sees something; PyTorch answers NaN where none is seen."""
    return (torch.rand(shape) < 0.5) | (torch.arange(shape[-1]) == 0)


def test_to_sdpa_keeps_true_as_may_attend():
    q, k, v = torch.randn(3, 3, 2, 4, 6)
    for mask in (visible(4, 4), visible(3, 4, 4), visible(3, 1, 4, 4)):
        before = mask.clone()
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=to_sdpa(mask))
        keep = (mask[:, None] if mask.dim() == 3 else mask).expand(3, 2, 4, 4)
        scores = (q @ k.mT / 6 ** 0.5).masked_fill(~keep, -torch.inf)
        torch.testing.assert_close(found, scores.softmax(-1) @ v)
        assert torch.equal(mask, before)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (3, 1, 4, 5), (3, 2, 4, 5)])
def test_to_torch_mha_turns_the_mask_around(shape):
    theirs, mask = nn.MultiheadAttention(6, 2, batch_first=True), visible(*shape)
    inputs, before = [torch.randn(3, steps, 6) for steps in (4, 5, 5)], mask.clone()
    found = MultiHeadAttention.from_torch(theirs)(*inputs, mask=mask, need_weights=True)
    hidden = to_torch_mha(mask, num_heads=2)
    expected = theirs(*inputs, attn_mask=hidden, average_attn_weights=False)
    torch.testing.assert_close(found, expected)
    assert torch.equal(mask, before)


def test_to_torch_mha_counts_one_head_unless_told():
    assert to_torch_mha(visible(3, 4, 5)).shape == (3, 4, 5)


def test_no_property_goes_by_the_clock():
    """A busy machine must not fail drawn examples."""
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
