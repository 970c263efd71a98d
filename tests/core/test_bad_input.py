"""Bad calls are refused where the mistake is, by an error that names the argument and the numbers.

One row a check: what its error must say, and its class, unless it is ValueError. Heads have a
table in their own tests, the laboratory in its test_refusals.py.
"""
import re

import pytest
import torch
from torch import nn

import attention_lessons
from d2l_ext import AdditiveAttention, ALiBi, Convolution, LearnedPositionalEncoding, Mask
from d2l_ext import MultiHeadAttention, PositionalEncoding, Recurrence, RotaryEmbedding
from d2l_ext import ShawRelativeKeys, T5RelativeBias, causal, cost, dot_product_attention
from d2l_ext import from_torch, masked_softmax, merge_heads, padding, record_attention
from d2l_ext import influence, sinusoids, split_heads, state_size, to_sdpa, to_torch, window
from d2l_ext.costs import FORMULAS, LINEAR_FORMULAS
from d2l_ext.linear import DeltaRule, LinearAttention
from d2l_ext.tiles import tiled_attention
from d2l_ext.transformer import DecoderBlock, EncoderBlock, EncoderDecoder

# batch 2, queries 3, keys 5, hiddens 8
Q, K, V, S = torch.ones(2, 3, 8), torch.ones(2, 5, 8), torch.ones(2, 5, 8), torch.ones(2, 3, 5)
ATTENTION, CODER, ONE = MultiHeadAttention(8, 4), EncoderDecoder(9, 5, 8, 2), torch.tensor([[1, 2]])


def mha(queries=Q, keys=K, values=V, *args, **options):
    return ATTENTION(queries, keys, values, *args, **options)


def dot(queries=Q, keys=K, values=V):
    return dot_product_attention(queries, keys, values)


def at(position):
    """Attention of three heads, four wide, with this position."""
    return MultiHeadAttention(12, 3, position=position)(*[torch.ones(1, 5, 12)] * 3)


def lengths(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def yes(*shape):
    return torch.ones(shape, dtype=torch.bool)


BUILDING = [
    (lambda: MultiHeadAttention(8, 3),
     "num_heads=3 does not divide num_hiddens=8; give head_size"),
    (lambda: MultiHeadAttention(8, 0), "num_heads=0 must be at least 1"),
    (lambda: MultiHeadAttention(8, 2.0), "num_heads must be an integer, got 2.0", TypeError),
    (lambda: MultiHeadAttention(8, True), "num_heads ... True", TypeError),
    (lambda: MultiHeadAttention(8, 2, head_size=0), "head_size=0"),
    (lambda: MultiHeadAttention(8, 4, num_kv_heads=0), "num_kv_heads=0"),
    (lambda: MultiHeadAttention(8, 4, num_kv_heads=3),
     "num_kv_heads=3 does not divide num_heads=4: each must"),
    (lambda: AdditiveAttention(8, query_size=0), "query_size=0 must be at least 1"),
    (lambda: MultiHeadAttention(8, 2, 1.5), "between 0 and 1, but got 1.5"),
    # D2L 0.17's order of arguments
    (lambda: MultiHeadAttention(100, 100, 100, 100, 5, 0.5), "positional arguments", TypeError),
    (lambda: from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True)),
     "add_bias_kv or add_zero_attn has no counterpart"),
    (lambda: from_torch(nn.MultiheadAttention(8, 2, add_zero_attn=True)),
     "zero"),
    (lambda: to_torch(MultiHeadAttention(8, 2, query_size=5)),
     "no position: got query_size=5, num_heads=2, num_kv_heads=2, head_size=4, num_hiddens=8"),
    (lambda: to_torch(MultiHeadAttention(8, 2, position=ALiBi(2))), "position=ALiBi"),
    (lambda: record_attention([ATTENTION]).__enter__(),
     "model must be an nn.Module, got list", TypeError),
    (lambda: attention_lessons.language("xx"), "code='xx' has no catalogue: choose from en, zh"),
]
INPUTS = [
    (lambda: mha(values=V[:, :4]), "there are 5 keys but 4 values: each key needs one value"),
    (lambda: mha(queries=Q[..., :7]), "queries have width 7, expected 8"),
    (lambda: mha(queries=Q[:1]), "queries have batch (1,), keys have batch (2,)"),
    (lambda: mha(queries=Q[0]), "queries must have shape (batch, steps, width), got (3, 8)"),
    (lambda: mha(queries=Q.long()),
     "queries must be a floating-point tensor, got torch.int64", TypeError),
    (lambda: AdditiveAttention(8)(Q[..., :7], K, V), "queries have width 7"),
    (lambda: dot(queries=Q[..., :7]), "queries have width 7, expected 8"),
    (lambda: dot(Q[0, 0], K[0, 0], V[0, 0]),
     "queries must have shape (batch, steps, width) or (steps, width) or ... , got (8,)"),
    (lambda: masked_softmax(torch.zeros(5)),
     "scores must have shape (queries, keys) or (batch, queries, keys) or ... , got (5,)"),
    (lambda: masked_softmax(S.long()), "scores must be a floating-point", TypeError),
    (lambda: split_heads(Q, 3), "num_heads=3 does not"),
    (lambda: split_heads(Q, 0), "num_heads=0 must be at least 1"),
    (lambda: split_heads(S[0], 1), "X must have shape (batch, steps, heads * head_size), got"),
    (lambda: Recurrence(8)(Q.long()), "X must be a floating-point", TypeError),
    (lambda: merge_heads(Q), "X must have shape (batch, heads, steps, head_size), got (2, 3, 8)"),
]
LENGTHS = [
    (lambda: mha(valid_lens=lengths(3, 6)), "valid_lens contains 6, but there are only keys=5"),
    (lambda: mha(valid_lens=lengths(-1, 3)),
     "valid_lens contains -1: a length must not be negative"),
    (lambda: mha(valid_lens=lengths(3, 2, 1)),
     "valid_lens has shape (3,), expected (2,) or (2, 3) for batch=2, queries=3"),
    (lambda: mha(valid_lens=torch.tensor(3)),
     "valid_lens must have shape (batch,) or (batch, queries), got ()"),
    (lambda: mha(valid_lens=torch.tensor([2.5, 3.0])),
     "valid_lens must hold integers, got torch.float32", TypeError),
    (lambda: padding(yes(2)), "valid_lens must hold integers, got torch.bool", TypeError),
]
MASKS = [
    (lambda: mha(mask=yes(5, 3)),
     "mask has shape (5, 3), expected (3, 5), (2, 3, 5) or (2, 1 or 4, 3, 5), that is"),
    # nn.MultiheadAttention's folded heads
    (lambda: mha(mask=yes(8, 3, 5)), "mask has shape (8, 3, 5)"),
    (lambda: mha(mask=torch.zeros(3, 5)),
     "mask must be a boolean tensor, True = may attend, got torch.float32; a", TypeError),
    (lambda: to_sdpa(torch.zeros(3, 5)), "mask must be a boolean", TypeError),
    (lambda: mha(mask="causal"),
     "a mask must be a function of ... , got str", TypeError),
    (lambda: mha(mask=lambda q, k: q - k),
     "the predicate must answer with a boolean tensor, got torch.int64", TypeError),
    (lambda: mha(causal=True),
     "causal=True needs ... , got queries=3 and keys=5: ... mask=d2l_ext.causal(offset=2)"),
    (lambda: mha(K, K, V, causal=causal()),
     "causal must be True or False, got <d2l_ext.masks.Mask ... : masks go to mask=", TypeError),
    (lambda: Mask(yes(3, 5)),
     "a mask must be a function of ... , got torch.bool", TypeError),
    (lambda: causal() and window(1),
     "masks compose with &, | and ~", TypeError),
    (lambda: window(-1), "size=-1"),
]
POSITIONS = [
    (lambda: sinusoids(-1, 4), "steps=-1"),
    (lambda: sinusoids(4, 0), "num_hiddens=0"),
    (lambda: LearnedPositionalEncoding(8, max_len=2)(Q),
     "X has 3 steps, more than max_len=2: build Learned"),
    (lambda: at(ShawRelativeKeys(6, 2)), "heads have width 4, expected 6"),
    (lambda: at(RotaryEmbedding(6)), "heads have width 4"),
    (lambda: ShawRelativeKeys(0, 2), "head_size=0"),
    (lambda: T5RelativeBias(2, 7),
     "num_buckets=7 must be even ... bidirectional=True, ... max_distance=128 must exceed 1"),
    (lambda: T5RelativeBias(2, 1, bidirectional=False), "num_buckets=1"),
    (lambda: T5RelativeBias(0), "num_heads=0"),
    (lambda: ALiBi(0), "num_heads=0"),
    (lambda: T5RelativeBias(2, 32, 8), "max_distance=8 must exceed 8"),
    (lambda: at(T5RelativeBias(1)), "there are 3 heads, but ... num_heads=1"),
    (lambda: at(ALiBi(1)), "there are 3 heads"),
    (lambda: RotaryEmbedding(0), "head_size=0"),
    (lambda: RotaryEmbedding(5), "head_size=5 must be even: features turn in pairs"),
    (lambda: RotaryEmbedding(8, periods=torch.ones(8)),
     "periods have shape (8,), expected (4,) for head_size=8"),
]
SEQUENCE = [
    (lambda: Convolution(8, 0), "kernel_size=0"),
    (lambda: Convolution(8, 4), "kernel_size=4 has no middle: a centred kernel is odd"),
    (lambda: Recurrence(8)(Q[0]), "got (3, 8)"),  # PyTorch would take it for one sequence
    (lambda: cost("lstm", 5, 2),
     f"there is no kind 'lstm': choose from {str([*FORMULAS, *LINEAR_FORMULAS])[1:-1]}"),
    (lambda: state_size("convolution", 2, 2, 1), "k=1"),
    (lambda: cost("convolution", 5, 2, k=4), "k=4 has no middle"),
    (lambda: cost("recurrence", 0, 2), "n=0"),
    (lambda: influence(Recurrence(8), 0), "n=0"),
    (lambda: influence(nn.Identity(), 3), "the model has no matrix ... : give num_hiddens"),
    (lambda: cost("recurrence", 5, 6, num_heads=4), "num_heads=4 does not"),
    (lambda: tiled_attention(Q, K, V, query_tile=0), "query_tile=0"),
    (lambda: tiled_attention(Q, K, V[:, :4]), "there are 5 keys but 4 values"),
    (lambda: LinearAttention(8, 0), "num_heads=0"),
    (lambda: LinearAttention(8, 3), "num_heads=3 does not"),
    (lambda: LinearAttention(8, decay=0.9), "decay=0.9 must be None or 'input'"),
    (lambda: LinearAttention(8, feature_map=None),
     "normalise=True needs a feature_map that is positive"),
    (lambda: LinearAttention(8, 2)(Q, state=torch.zeros(2, 2, 4, 4)),
     "state has shape (2, 2, 4, 4), expected (2, 2, 4, 5)"),
    (lambda: DeltaRule(8, max_rate=2.5), "max_rate=2.5 must lie"),
]
TRANSFORMER = [
    (lambda: EncoderDecoder(9, 5, 8, 2, layers=0), "layers=0"),
    (lambda: CODER.generate(ONE, -1, 0), "length=-1"),
]
NARROW = [(lambda layer=layer: layer(Q[..., :7]), "X has width 7, expected 8") for layer in (
    PositionalEncoding(8), Convolution(8), LinearAttention(8), EncoderBlock(8, 2),
    lambda X: DecoderBlock(8, 2)(X, K))]
BAD = [*BUILDING, *INPUTS, *LENGTHS, *MASKS, *POSITIONS, *SEQUENCE, *TRANSFORMER, *NARROW]


def assert_refused(call, words, error=ValueError):
    """By exactly this class, in these words: " ... " stands for others."""
    with pytest.raises(error, match=".*".join(map(re.escape, words.split(" ... ")))) as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__} is not quite {error.__name__}"


@pytest.mark.parametrize("row", BAD)
def test_a_bad_call_is_refused_by_name_and_number(row):
    assert_refused(*row)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(3, 6), (-1, 3)])
def test_values_of_lengths_are_not_looked_at_where_they_cannot_be(numbers):
    """Under compile they can't: beyond the keys counts as all of them, negative as none."""
    compiled = torch.compile(ATTENTION, fullgraph=True, backend="aot_eager")
    expected = mha(valid_lens=lengths(*numbers).clamp(0, 5))
    torch.testing.assert_close(compiled(Q, K, V, lengths(*numbers)), expected)
