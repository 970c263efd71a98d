"""Masks answer each pair of positions as their sentence says, compose, and convert."""
import pickle

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import nn
from torch.nn import functional as F
from wrong import WRONG_MASKS, lengths_mask

from d2l_ext import Mask, MultiHeadAttention, causal, padding, to_sdpa, to_torch_mha, window
from d2l_ext.masks import combine

LENGTHS = torch.tensor([0, 2, 5])
LENGTHS_PER_QUERY = torch.tensor([[0, 2, 5, 1], [4, 3, 0, 5], [5, 1, 2, 0]])


def answers(mask, queries, keys):
    """What a mask says, as nested lists; a plain predicate is asked through ``Mask``."""
    return (mask if isinstance(mask, Mask) else Mask(mask)).tensor(queries, keys).tolist()


def pairs(queries, keys, rule):
    return [[rule(q, k) for k in range(keys)] for q in range(queries)]


# Claims about a mask factory. Each is asked of ours and of wrong ones.

def is_causal(factory):
    for offset in (-2, 0, 1, 3):
        assert answers(factory(offset), 4, 6) == pairs(4, 6, lambda q, k: k <= q + offset)
    assert answers(factory(), 3, 3) == pairs(3, 3, lambda q, k: k <= q)


def is_window(factory):
    for size in (0, 1, 3):
        assert answers(factory(size), 5, 4) == pairs(5, 4, lambda q, k: abs(q - k) <= size)


def is_padding(factory):
    for lengths in (LENGTHS, LENGTHS_PER_QUERY):
        mask = torch.as_tensor(answers(factory(lengths), 4, 5))
        assert torch.equal(mask, lengths_mask(lengths, 4, 5)[:, 0])


RIGHT = {is_causal: causal, is_window: window, is_padding: padding}


@pytest.mark.parametrize("claim", RIGHT, ids=lambda claim: claim.__name__)
def test_each_mask_says_what_its_name_says(claim):
    claim(RIGHT[claim])


@pytest.mark.parametrize("claim, mistake", WRONG_MASKS, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_mask_is_caught(claim, mistake):
    with pytest.raises(AssertionError):
        globals()[claim](mistake)


# ---- predicates ------------------------------------------------------------------------------------------------------------------------

def even_key(query, key):
    return (key % 2 == 0) & (query >= 0)


def test_and_or_not_mean_what_they_say():
    near, past = window(1), causal(-1)
    both = {"and": (near & past, lambda a, b: a & b), "or": (near | past, lambda a, b: a | b), "not": (~near, lambda a, b: ~a)}
    for mask, rule in both.values():
        assert torch.equal(mask.tensor(4, 5), rule(near.tensor(4, 5), past.tensor(4, 5)))


def test_a_plain_function_composes_with_a_mask():
    assert torch.equal((causal() & even_key).tensor(3, 4), causal().tensor(3, 4) & Mask(even_key).tensor(3, 4))
    assert torch.equal((causal() | even_key).tensor(3, 4), causal().tensor(3, 4) | Mask(even_key).tensor(3, 4))


def test_composition_leaves_its_parts_as_they_were():
    left, right = window(1), causal()
    before = left.tensor(3, 3), right.tensor(3, 3)
    _ = left & right, left | right, ~left
    assert torch.equal(left.tensor(3, 3), before[0]) and torch.equal(right.tensor(3, 3), before[1])


def test_padding_and_window_give_one_map_per_sequence():
    mask = (padding(LENGTHS) & window(1)).tensor(4, 5)
    assert mask.shape == (3, 4, 5)
    assert torch.equal(mask, lengths_mask(LENGTHS, 4, 5)[:, 0] & window(1).tensor(4, 5))


@pytest.mark.parametrize("mask", [causal(), window(2), Mask(lambda q, k: k > 0), Mask(lambda q, k: q > 0), Mask(lambda q, k: torch.tensor(True))])
def test_the_tensor_has_all_queries_and_keys_and_is_boolean(mask):
    for queries, keys in [(3, 5), (1, 1), (0, 4), (4, 0)]:
        tensor = mask.tensor(queries, keys)
        assert tensor.shape == (queries, keys) and tensor.dtype == torch.bool


def test_padding_leaves_the_lengths_alone():
    lengths = LENGTHS.clone()
    padding(lengths).tensor(4, 5)
    assert torch.equal(lengths, LENGTHS)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16])
def test_lengths_may_be_integers_of_any_kind(dtype):
    assert torch.equal(padding(LENGTHS.to(dtype)).tensor(4, 5), padding(LENGTHS).tensor(4, 5))


def test_short_integers_count_beyond_their_range():
    assert padding(torch.tensor([100], dtype=torch.int8)).tensor(1, 300).sum() == 100


# ---- all constraints together ------------------------------------------------------------------------------------------------------------

def test_combine_is_none_without_constraints():
    assert combine(2, 3, 4, 4) is None


SHAPES = [(4, 4), (3, 4, 4), (1, 4, 4), (3, 1, 4, 4), (3, 2, 4, 4), (1, 2, 4, 4), (1, 1, 4, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_combine_ands_all_constraints(shape):
    mask = torch.rand(shape) < 0.7
    lengths = torch.tensor([0, 3, 4])
    four = {2: mask[None, None], 3: mask.reshape(-1, 1, 4, 4)}.get(mask.dim(), mask)
    expected = four & lengths_mask(lengths, 4, 4) & causal().tensor(4, 4)
    assert torch.equal(combine(3, 2, 4, 4, lengths, mask, True).expand(3, 2, 4, 4), expected.expand(3, 2, 4, 4))


# ---- PyTorch's two conventions -------------------------------------------------------------------------------------------------------------

def visible(*shape):
    """A random mask in which every query sees something, since PyTorch's answers to empty rows differ."""
    mask = torch.rand(shape) < 0.5
    return mask | (torch.arange(shape[-1]) == 0)


def test_to_sdpa_keeps_true_as_may_attend():
    m, X, mask = MultiHeadAttention(6, 2), torch.randn(3, 4, 6), visible(3, 1, 4, 4)
    q, k, v = (linear(X).unflatten(-1, (2, 3)).transpose(1, 2) for linear in (m.W_q, m.W_k, m.W_v))
    theirs = m.W_o(F.scaled_dot_product_attention(q, k, v, attn_mask=to_sdpa(mask)).transpose(1, 2).flatten(2))
    torch.testing.assert_close(m(X, X, X, mask=mask), theirs)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (3, 1, 4, 5), (3, 2, 4, 5)])
def test_to_torch_mha_turns_the_mask_around(shape):
    theirs, mask = nn.MultiheadAttention(6, 2, batch_first=True), visible(*shape)
    queries, keys = torch.randn(3, 4, 6), torch.randn(3, 5, 6)
    output, weights = MultiHeadAttention.from_torch(theirs)(queries, keys, keys, mask=mask, need_weights=True)
    expected = theirs(queries, keys, keys, attn_mask=to_torch_mha(mask, num_heads=2), average_attn_weights=False)
    torch.testing.assert_close((output, weights), expected)


def test_to_torch_mha_counts_one_head_unless_told():
    assert to_torch_mha(visible(3, 4, 5)).shape == (3, 4, 5)


def test_converters_leave_the_mask_alone():
    mask = visible(3, 4, 5)
    before = mask.clone()
    to_sdpa(mask), to_torch_mha(mask, 2)
    assert torch.equal(mask, before)


def test_a_mask_has_no_truth_value():
    """``causal() and window(1)`` would quietly be window(1)."""
    with pytest.raises(TypeError, match=r"^masks compose with &, \| and ~, not with `and`, `or`, `not`$"):
        causal() and window(1)


def test_a_mask_of_a_named_predicate_survives_pickling():
    assert torch.equal(pickle.loads(pickle.dumps(Mask(even_key))).tensor(2, 3), Mask(even_key).tensor(2, 3))


def test_no_property_goes_by_the_clock():
    """Drawn examples are asked about masks elsewhere: a busy machine must not fail them."""
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
