"""Masks answer each pair of positions as their sentence says, compose, and convert."""
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from slow import lengths_mask

from d2l_ext import Mask, causal, from_torch, padding, to_sdpa
from d2l_ext import to_torch_mha, window

LENGTHS = torch.tensor([0, 2, 5])
LENGTHS_PER_QUERY = torch.tensor([[0, 2, 5, 1], [4, 3, 0, 5], [5, 1, 2, 0]])


# ---- predicates ----

RULES = {causal(): lambda q, k: k <= q, causal(-2): lambda q, k: k <= q - 2,
         causal(3): lambda q, k: k <= q + 3, window(0): lambda q, k: k == q,
         window(2): lambda q, k: -2 <= q - k <= 2}


@pytest.mark.parametrize("mask", RULES, ids=range(len(RULES)))
def test_each_mask_says_what_its_name_says(mask):
    rule = RULES[mask]
    assert mask.tensor(4, 6).tolist() == [[rule(q, k) for k in range(6)] for q in range(4)]


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS_PER_QUERY])
def test_padding_hides_what_lies_beyond_a_length(lengths):
    expected = lengths_mask(lengths, 4, 5)[:, 0].expand(3, 4, 5)
    for dtype in (torch.int64, torch.uint8, torch.uint16):
        assert torch.equal(padding(lengths.to(dtype)).tensor(4, 5), expected)
    assert padding(lengths).tensor(4, 5, "meta").is_meta


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
    for shapeless in (lambda q, k: k > 0, lambda q, k: q > 0, lambda q, k: torch.tensor(True)):
        assert Mask(shapeless).tensor(3, 5).shape == (3, 5)


# ---- PyTorch's two conventions ----

def visible(*shape):
    """Every query sees something; PyTorch answers NaN where none is seen."""
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
    found = from_torch(theirs)(*inputs, mask=mask, need_weights=True)
    hidden = to_torch_mha(mask, num_heads=2)
    expected = theirs(*inputs, attn_mask=hidden, average_attn_weights=False)
    torch.testing.assert_close(found, expected)
    assert torch.equal(mask, before)
