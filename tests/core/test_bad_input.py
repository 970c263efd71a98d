"""Bad calls are refused where the mistake is, by an error that names the argument and the numbers.

One row a call: what is called, the call, the class of the error, and what its message must contain, in this order.
"""
import copy

import pytest
import torch
from torch import nn

import d2l_ext
from d2l_ext import (AdditiveAttention, ALiBi, LearnedPositionalEncoding, Mask, MultiHeadAttention, PositionalEncoding, causal, dot_product_attention,
                     masked_softmax, merge_heads, padding, record_attention, sinusoids, split_heads, to_sdpa, to_torch_mha, window)

Q, K, V = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)  # batch 2, queries 3, keys 5, hiddens 8
S = torch.randn(2, 3, 5)
ATTENTION, ADDITIVE, ENCODING = MultiHeadAttention(8, 4), AdditiveAttention(8), PositionalEncoding(8, max_len=6)


def mha(queries=Q, keys=K, values=V, *args, **options):
    return ATTENTION(queries, keys, values, *args, **options)


def additive(queries=Q, keys=K, values=V, *args, **options):
    return ADDITIVE(queries, keys, values, *args, **options)


def dot(queries=Q, keys=K, values=V, mask=None):
    return dot_product_attention(queries, keys, values, mask)


def lengths(*numbers, dtype=torch.int64):
    return torch.tensor(numbers, dtype=dtype)


def yes(*shape):
    return torch.ones(shape, dtype=torch.bool)


class Loud(nn.Module):
    """A position module with a bias of a wrong shape."""

    def transform(self, q, k):
        return q, k

    def bias(self, q, k):
        return torch.zeros(4, 7, 9)


class Half(nn.Module):
    """Turns queries and keys, and has no bias."""

    def transform(self, q, k):
        return q, k


class Deep(Loud):
    """One axis too many."""

    def bias(self, q, k):
        return torch.zeros(1, 2, 2, 3, 5)


def record(model):
    with record_attention(model):
        pass


BAD = [
    # building multi-head attention
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 3), ValueError, "num_heads=3 .*num_hiddens=8"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 16), ValueError, "num_heads=16 .*num_hiddens=8"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 0), ValueError, "num_heads=0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, -2), ValueError, "num_heads=-2"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(0, 2), ValueError, "num_hiddens=0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(-8, 2), ValueError, "num_hiddens=-8"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2.0), TypeError, r"num_heads.*2\.0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8.0, 2), TypeError, r"num_hiddens.*8\.0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention("8", 2), TypeError, "num_hiddens.*'8'"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, None), TypeError, "num_heads.*None"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, query_size=0), ValueError, "query_size=0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, key_size=0), ValueError, "key_size=0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, value_size=-1), ValueError, "value_size=-1"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, head_size=0), ValueError, "head_size=0"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, head_size=2.5), TypeError, r"head_size.*2\.5"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, 1.0), ValueError, r"dropout=1\.0.*\[0, 1\)"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, -0.1), ValueError, r"dropout=-0\.1"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, float("nan")), ValueError, "dropout=nan"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, "0.1"), TypeError, r"dropout.*'0\.1'"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, None), TypeError, "dropout.*None"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(100, 100, 100, 100, 5, 0.5), TypeError, "positional arguments"),  # D2L 0.17's order
    ("MultiHeadAttention", lambda: MultiHeadAttention(100, 100, 100), ValueError, "dropout=100"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=PositionalEncoding(8)), TypeError, "position.*transform.*PositionalEncoding"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=ALiBi), TypeError, r"position must be a module, got the class ALiBi: write ALiBi\(...\)"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=Half()), TypeError, "position.*bias.*Half"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position="rotary"), TypeError, "position.*transform.*str"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=Loud())(Q, K, V), ValueError, r"bias.*\(4, 7, 9\).*\(2, 2, 3, 5\)"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=Loud())(Q, K, V, need_weights=True), ValueError, r"bias.*\(4, 7, 9\).*\(2, 2, 3, 5\)"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=Deep())(Q, K, V), ValueError, r"^position.bias has shape \(1, 2, 2, 3, 5\)"),
    # calling it: queries, keys, values
    ("MultiHeadAttention", lambda: mha(values=V[:, :4]), ValueError, "5 keys.*4 values"),
    ("MultiHeadAttention", lambda: mha(keys=K[:, :2]), ValueError, "2 keys.*5 values"),
    ("MultiHeadAttention", lambda: mha(queries=Q[..., :7]), ValueError, "queries have width 7, expected 8"),
    ("MultiHeadAttention", lambda: mha(keys=K[..., :6]), ValueError, "keys have width 6, expected 8"),
    ("MultiHeadAttention", lambda: mha(values=V[..., :5]), ValueError, "values have width 5, expected 8"),
    ("MultiHeadAttention", lambda: mha(queries=Q[:1]), ValueError, "queries have batch 1, keys have batch 2"),
    ("MultiHeadAttention", lambda: mha(values=V[:1]), ValueError, "queries have batch 2, values have batch 1"),
    ("MultiHeadAttention", lambda: mha(queries=Q[0]), ValueError, r"queries must have shape \(batch, steps, hiddens\), got \(3, 8\)"),
    ("MultiHeadAttention", lambda: mha(keys=K[None]), ValueError, r"keys must have shape .*\(1, 2, 5, 8\)"),
    ("MultiHeadAttention", lambda: mha(queries=Q.long()), TypeError, "queries must be a floating-point.*int64"),
    ("MultiHeadAttention", lambda: mha(keys=K.int()), TypeError, "keys must be a floating-point.*int32"),
    ("MultiHeadAttention", lambda: mha(values=V > 0), TypeError, "values must be a floating-point.*bool"),
    ("MultiHeadAttention", lambda: mha(queries=Q.to(torch.complex64)), TypeError, "queries must be a floating-point.*complex64"),
    ("MultiHeadAttention", lambda: mha(queries=Q.numpy()), TypeError, "queries must be a floating-point tensor, got .*ndarray"),
    ("MultiHeadAttention", lambda: mha(keys=None), TypeError, "keys must be a floating-point tensor, got NoneType"),
    ("MultiHeadAttention", lambda: ATTENTION(Q), TypeError, "'keys' and 'values'"),
    # ... lengths
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(3, 6)), ValueError, "valid_lens contains 6.*keys=5"),
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(-1, 3)), ValueError, "valid_lens contains -1.*negative"),
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(3, 2, 1)), ValueError, r"valid_lens has shape \(3,\), expected \(2,\) or \(2, 3\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(3)), ValueError, r"valid_lens has shape \(1,\), expected \(2,\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.ones(3, 2).long()), ValueError, r"valid_lens has shape \(3, 2\), expected \(2,\) or \(2, 3\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.ones(2, 5).long()), ValueError, r"valid_lens has shape \(2, 5\), expected \(2,\) or \(2, 3\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.ones(2, 1).long()), ValueError, r"valid_lens has shape \(2, 1\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.ones(2, 3, 1).long()), ValueError, r"valid_lens .*\(2, 3, 1\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.tensor(3)), ValueError, r"valid_lens .*\(\)"),
    ("MultiHeadAttention", lambda: mha(valid_lens=torch.tensor([2.5, 3.0])), TypeError, "valid_lens must hold integers, got torch.float32"),
    ("MultiHeadAttention", lambda: mha(valid_lens=yes(2)), TypeError, "valid_lens must hold integers, got torch.bool"),
    ("MultiHeadAttention", lambda: mha(valid_lens=[2, 3]), TypeError, "valid_lens must be an integer tensor.*list"),
    ("MultiHeadAttention", lambda: mha(valid_lens=3), TypeError, "valid_lens must be an integer tensor.*int"),
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(3, 300, dtype=torch.int16)), ValueError, "valid_lens contains 300.*keys=5"),
    ("MultiHeadAttention", lambda: mha(valid_lens=lengths(3, 9, dtype=torch.uint16)), ValueError, "valid_lens contains 9.*keys=5"),
    ("MultiHeadAttention", lambda: mha(Q, K[:, :0], V[:, :0], lengths(0, 1)), ValueError, "valid_lens contains 1.*keys=0"),
    # ... masks
    ("MultiHeadAttention", lambda: mha(mask=yes(5, 3)), ValueError,
     r"^mask has shape \(5, 3\), expected \(3, 5\), .*, that is \(queries, keys\), with batch and heads before$"),
    ("MultiHeadAttention", lambda: mha(mask=yes(2, 5)), ValueError, r"mask has shape \(2, 5\), expected \(3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=yes(4, 3, 5)), ValueError, r"mask has shape \(4, 3, 5\).*\(2, 3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=yes(8, 3, 5)), ValueError, r"mask has shape \(8, 3, 5\).*\(2, 3, 5\)"),  # nn.MultiheadAttention's folded heads
    ("MultiHeadAttention", lambda: mha(mask=yes(2, 2, 3, 5)), ValueError, r"mask has shape \(2, 2, 3, 5\).*\(2, 1 or 4, 3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=yes(1, 2, 4, 3, 5)), ValueError, r"mask has shape \(1, 2, 4, 3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=yes(5)), ValueError, r"mask has shape \(5,\)"),
    ("MultiHeadAttention", lambda: mha(mask=torch.zeros(3, 5)), TypeError, "mask must be boolean.*float32"),
    ("MultiHeadAttention", lambda: mha(mask=torch.ones(3, 5).int()), TypeError, "mask must be boolean.*int32"),
    ("MultiHeadAttention", lambda: mha(mask=[[True] * 5] * 3), TypeError, "mask must be a predicate or a boolean tensor, got list"),
    ("MultiHeadAttention", lambda: mha(mask="causal"), TypeError, "mask must be a predicate or a boolean tensor, got str"),
    ("MultiHeadAttention", lambda: mha(mask=True), TypeError, "mask must be a predicate or a boolean tensor, got bool"),
    ("MultiHeadAttention", lambda: mha(mask=lambda q, k: q - k), TypeError, "mask.*predicate.*boolean.*int64"),
    ("MultiHeadAttention", lambda: mha(mask=lambda q, k: True), TypeError, "mask.*predicate.*boolean.*bool"),
    ("MultiHeadAttention", lambda: mha(mask=lambda q, k: (q >= k).numpy()), TypeError, "mask.*predicate.*boolean tensor, got .*ndarray"),
    ("MultiHeadAttention", lambda: mha(mask=lambda q, k: yes(7)), ValueError, r"mask.*\(7,\).*\(3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=lambda q, k: yes(6, 3, 5)), ValueError, r"mask has shape \(6, 3, 5\).*\(2, 3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=padding(lengths(1, 2, 3))), ValueError, r"mask has shape \(3, 3, 5\).*\(2, 3, 5\)"),
    ("MultiHeadAttention", lambda: mha(mask=padding(torch.ones(2, 4).long())), ValueError, r"mask.*\(2, 4, 5\).*\(3, 5\)"),
    ("MultiHeadAttention", lambda: mha(causal=True), ValueError, r"queries=3.*keys=5.*causal\(offset=2\)"),
    ("MultiHeadAttention", lambda: mha(K, K[:, :3], V[:, :3], causal=True), ValueError, r"queries=5.*keys=3.*causal\(offset=-2\)"),
    ("MultiHeadAttention", lambda: mha(K, K, V, causal=causal(offset=2)), TypeError, "causal must be True or False, got <d2l_ext.masks.Mask.*mask=.*&"),
    ("MultiHeadAttention", lambda: mha(Q, K, V, None, yes(3, 5)), TypeError, "positional arguments"),
    # moving weights
    ("MultiHeadAttention", lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True)), ValueError,
     "^nn.MultiheadAttention with add_bias_kv or add_zero_attn has no counterpart here$"),
    ("MultiHeadAttention", lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_zero_attn=True)), ValueError, "add_zero_attn"),
    ("MultiHeadAttention", lambda: MultiHeadAttention.from_torch(nn.Linear(8, 8)), TypeError, "nn.MultiheadAttention.*Linear"),
    ("MultiHeadAttention", lambda: MultiHeadAttention.from_torch(ATTENTION), TypeError, "nn.MultiheadAttention.*MultiHeadAttention"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, query_size=5).to_torch(), ValueError, "query_size=5.*num_hiddens=8"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, head_size=3).to_torch(), ValueError, r"num_heads \* head_size=6.*num_hiddens=8"),
    ("MultiHeadAttention", lambda: MultiHeadAttention(8, 2, position=Loud()).to_torch(), ValueError, "position=Loud"),
    ("MultiHeadAttention", lambda: ATTENTION.load_state_dict(MultiHeadAttention(4, 4).state_dict()), RuntimeError, "W_q.weight"),
    ("record_attention", lambda: record(None), TypeError, "model.*nn.Module.*NoneType"),
    ("record_attention", lambda: record([ATTENTION]), TypeError, "model.*nn.Module.*list"),
    # masked softmax
    ("masked_softmax", lambda: masked_softmax(S.long()), TypeError, "scores must be a floating-point.*int64"),
    ("masked_softmax", lambda: masked_softmax([[1.0]]), TypeError, "scores must be a floating-point.*list"),
    ("masked_softmax", lambda: masked_softmax(torch.zeros(5)), ValueError, r"scores must have shape .*got \(5,\)"),
    ("masked_softmax", lambda: masked_softmax(torch.zeros(1, 1, 1, 3, 5)), ValueError, r"scores must have shape .*got \(1, 1, 1, 3, 5\)"),
    ("masked_softmax", lambda: masked_softmax(S, lengths(1, 2, 3)), ValueError, r"valid_lens has shape \(3,\), expected \(2,\) or \(2, 3\)"),
    ("masked_softmax", lambda: masked_softmax(S[0], lengths(1, 2, 3)), ValueError, r"valid_lens has shape \(3,\), expected \(1,\) or \(1, 3\)"),
    ("masked_softmax", lambda: masked_softmax(S, lengths(1, 6)), ValueError, "valid_lens contains 6.*keys=5"),
    ("masked_softmax", lambda: masked_softmax(S, lengths(1, -6)), ValueError, "valid_lens contains -6"),
    ("masked_softmax", lambda: masked_softmax(S, torch.tensor([0.5, 2.0])), TypeError, "valid_lens must hold integers, got torch.float32"),
    ("masked_softmax", lambda: masked_softmax(S, mask=yes(5, 3)), ValueError, r"mask has shape \(5, 3\), expected \(3, 5\)"),
    ("masked_softmax", lambda: masked_softmax(S, mask=S), TypeError, "mask must be boolean.*float32"),
    ("masked_softmax", lambda: masked_softmax(S, None, yes(3, 5)), TypeError, "positional arguments"),
    # the two ways to score
    ("dot_product_attention", lambda: dot(queries=Q[..., :7]), ValueError, "queries have width 7, keys have width 8"),
    ("dot_product_attention", lambda: dot(values=V[:, :4]), ValueError, "5 keys.*4 values"),
    ("dot_product_attention", lambda: dot(keys=K.long()), TypeError, "keys must be a floating-point.*int64"),
    ("dot_product_attention", lambda: dot(keys=torch.zeros(3, 5, 8), values=torch.zeros(3, 5, 8)), ValueError, r"keys .*\(3, 5, 8\).*queries \(2, 3, 8\)"),
    ("dot_product_attention", lambda: dot(values=torch.zeros(3, 5, 8)), ValueError, r"values .*\(3, 5, 8\).*queries \(2, 3, 8\)"),
    ("dot_product_attention", lambda: dot(Q[0, 0], K[0, 0], V[0, 0]), ValueError,
     r"^queries have shape \(8,\).* expected \(steps, width\), .* or \(batch, heads, steps, width\), with the same batch and heads$"),
    ("dot_product_attention", lambda: dot(queries=Q.long()), TypeError, "^queries must be a floating-point.*int64"),
    ("dot_product_attention", lambda: dot(values=V.long()), TypeError, "^values must be a floating-point.*int64"),
    ("dot_product_attention", lambda: dot(Q[None, None], K[None, None], V[None, None]), ValueError, r"queries .*\(1, 1, 2, 3, 8\).*expected"),
    ("dot_product_attention", lambda: dot(mask=yes(5, 3)), ValueError, r"mask has shape \(5, 3\), expected \(3, 5\)"),
    ("dot_product_attention", lambda: dot(mask=lengths(2, 3)), TypeError, "mask must be boolean.*int64"),
    ("AdditiveAttention", lambda: AdditiveAttention(8, 1.5), ValueError, r"dropout=1\.5"),
    ("AdditiveAttention", lambda: AdditiveAttention(0), ValueError, "num_hiddens=0"),
    ("AdditiveAttention", lambda: AdditiveAttention(-1), ValueError, "num_hiddens=-1"),
    ("AdditiveAttention", lambda: AdditiveAttention(8, query_size=0), ValueError, "query_size=0"),
    ("AdditiveAttention", lambda: AdditiveAttention(8, key_size=-2), ValueError, "key_size=-2"),
    ("AdditiveAttention", lambda: AdditiveAttention(8.0), TypeError, r"num_hiddens.*8\.0"),
    ("AdditiveAttention", lambda: additive(queries=Q[..., :7]), ValueError, "queries have width 7, expected 8"),
    ("AdditiveAttention", lambda: additive(keys=K[..., :7]), ValueError, "keys have width 7, expected 8"),
    ("AdditiveAttention", lambda: additive(values=V[:, :4]), ValueError, "5 keys.*4 values"),
    ("AdditiveAttention", lambda: additive(values=V[:1]), ValueError, "queries have batch 2, values have batch 1"),
    ("AdditiveAttention", lambda: additive(queries=Q.long()), TypeError, "queries must be a floating-point.*int64"),
    ("AdditiveAttention", lambda: additive(valid_lens=lengths(6, 1)), ValueError, "valid_lens contains 6.*keys=5"),
    ("AdditiveAttention", lambda: additive(mask=yes(2, 4, 3, 5)), ValueError, r"mask has shape \(2, 4, 3, 5\)"),
    ("AdditiveAttention", lambda: additive(mask=yes(2, 2, 3, 5)), ValueError, r"mask has shape \(2, 2, 3, 5\).*\(2, 1 or 1, 3, 5\)"),
    # bookkeeping
    ("split_heads", lambda: split_heads(Q, 3), ValueError, "num_heads=3.*8"),
    ("split_heads", lambda: split_heads(Q, 0), ValueError, "num_heads=0"),
    ("split_heads", lambda: split_heads(Q[0], 2), ValueError, r"\(batch, steps, .*got \(3, 8\)"),
    ("merge_heads", lambda: merge_heads(Q), ValueError, r"\(batch, heads, steps, .*got \(2, 3, 8\)"),
    # masks
    ("Mask", lambda: Mask(yes(3, 5)), TypeError, "predicate must be a function of .*Tensor"),
    ("Mask", lambda: Mask(None), TypeError, "predicate must be a function of .*NoneType"),
    ("Mask", lambda: Mask(lambda q, k: q + k).tensor(2, 2), TypeError, "predicate must answer with a boolean.*int64"),
    ("Mask", lambda: causal() & yes(3, 5), TypeError, "predicate.*Tensor"),
    ("Mask", lambda: causal() | None, TypeError, "predicate.*NoneType"),
    ("Mask", lambda: causal() and window(1), TypeError, "&"),
    ("causal", lambda: causal("2"), TypeError, "offset.*'2'"),
    ("causal", lambda: causal(0.5), TypeError, r"offset.*0\.5"),
    ("causal", lambda: causal(Q), TypeError, "offset.*tensor"),
    ("window", lambda: window(-1), ValueError, "size=-1"),
    ("window", lambda: window("2"), TypeError, "size.*'2'"),
    ("window", lambda: window(1.5), TypeError, r"size.*1\.5"),
    ("window", lambda: window(None), TypeError, "size.*None"),
    ("padding", lambda: padding([2, 3]), TypeError, "valid_lens must be an integer tensor.*list"),
    ("padding", lambda: padding(torch.tensor([2.5])), TypeError, "valid_lens must hold integers, got torch.float32"),
    ("padding", lambda: padding(yes(3, 5)), TypeError, "valid_lens must hold integers, got torch.bool"),
    ("padding", lambda: padding(torch.tensor(3)), ValueError, r"valid_lens must have shape .*got \(\)"),
    ("padding", lambda: padding(torch.ones(1, 2, 3).long()), ValueError, r"valid_lens must have shape .*got \(1, 2, 3\)"),
    ("padding", lambda: padding(lengths(2, -1)), ValueError, "valid_lens contains -1"),
    ("to_sdpa", lambda: to_sdpa(torch.ones(3, 5)), TypeError, "mask must be boolean.*float32"),
    ("to_sdpa", lambda: to_sdpa(causal()), TypeError, "mask must be .*Mask"),
    ("to_sdpa", lambda: to_sdpa([[True]]), TypeError, "mask must be .*list"),
    ("to_torch_mha", lambda: to_torch_mha(torch.ones(3, 5)), TypeError, "mask must be boolean.*float32"),
    ("to_torch_mha", lambda: to_torch_mha(causal()), TypeError, "mask must be .*Mask"),
    ("to_torch_mha", lambda: to_torch_mha(yes(2, 3, 3, 5), 4), ValueError, r"mask has shape \(2, 3, 3, 5\).*1 or 4"),
    ("to_torch_mha", lambda: to_torch_mha(yes(5), 4), ValueError, r"mask has shape \(5,\)"),
    ("to_torch_mha", lambda: to_torch_mha(yes(2, 3, 5), 0), ValueError, "num_heads=0"),
    # positions
    ("sinusoids", lambda: sinusoids(-1, 4), ValueError, "steps=-1"),
    ("sinusoids", lambda: sinusoids(3, 0), ValueError, "num_hiddens=0"),
    ("sinusoids", lambda: sinusoids(3, -2), ValueError, "num_hiddens=-2"),
    ("sinusoids", lambda: sinusoids(2.5, 4), TypeError, r"steps.*2\.5"),
    ("sinusoids", lambda: sinusoids(3, 4.0), TypeError, r"num_hiddens.*4\.0"),
    ("PositionalEncoding", lambda: PositionalEncoding(0), ValueError, "num_hiddens=0"),
    ("PositionalEncoding", lambda: PositionalEncoding(4.0), TypeError, r"num_hiddens.*4\.0"),
    ("PositionalEncoding", lambda: PositionalEncoding(4, max_len=0), ValueError, "max_len=0"),
    ("PositionalEncoding", lambda: PositionalEncoding(4, max_len=2.5), TypeError, r"max_len.*2\.5"),
    ("PositionalEncoding", lambda: PositionalEncoding(4, 1000), ValueError, "dropout=1000"),
    ("PositionalEncoding", lambda: PositionalEncoding(4, 1.0), ValueError, r"dropout=1\.0"),
    ("PositionalEncoding", lambda: PositionalEncoding(4, "0.1"), TypeError, r"dropout.*'0\.1'"),
    ("PositionalEncoding", lambda: ENCODING(torch.zeros(2, 7, 8)), ValueError, "7 steps.*max_len=6"),
    ("PositionalEncoding", lambda: ENCODING(Q[..., :6]), ValueError, "X have width 6, expected 8|X has width 6, expected 8"),
    ("PositionalEncoding", lambda: ENCODING(Q[0]), ValueError, r"^X must have shape \(batch, steps, hiddens\), got \(3, 8\)"),
    ("PositionalEncoding", lambda: ENCODING(Q.long()), TypeError, "X must be a floating-point.*int64"),
    ("PositionalEncoding", lambda: ENCODING(Q.numpy()), TypeError, "X must be a floating-point tensor, got .*ndarray"),
    ("LearnedPositionalEncoding", lambda: LearnedPositionalEncoding(0), ValueError, "num_hiddens=0"),
    ("LearnedPositionalEncoding", lambda: LearnedPositionalEncoding(8, max_len=-1), ValueError, "max_len=-1"),
    ("LearnedPositionalEncoding", lambda: LearnedPositionalEncoding(8, max_len=2)(Q), ValueError, "3 steps.*max_len=2.*LearnedPositionalEncoding"),
    ("LearnedPositionalEncoding", lambda: LearnedPositionalEncoding(6)(Q), ValueError, "width 8, expected 6"),
]


def assert_refused(call, error, message):
    with pytest.raises(error, match=f"(?s){message}") as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__} is not quite {error.__name__}"


@pytest.mark.parametrize("name, call, error, message", BAD, ids=[f"{i}-{name}" for i, (name, *_) in enumerate(BAD)])
def test_a_bad_call_is_refused_by_name_and_number(name, call, error, message):
    assert_refused(call, error, message)


def test_the_table_is_long_and_covers_every_public_name_of_the_core():
    core = {name for name in d2l_ext.__all__ if getattr(d2l_ext, name).__module__ in {"d2l_ext.attention", "d2l_ext.masks", "d2l_ext.positional"}}
    assert len(BAD) >= 80 and core <= {name for name, *_ in BAD} <= set(d2l_ext.__all__)


@pytest.mark.parametrize("call", [mha, lambda: MultiHeadAttention(8, 2), lambda: masked_softmax(S, lengths(1, 5)), lambda: ENCODING(Q)])
def test_a_good_call_is_no_bad_call(call):
    with pytest.raises(pytest.fail.Exception):
        assert_refused(call, ValueError, "")


def test_an_unclear_message_does_not_pass():
    with pytest.raises(AssertionError):
        assert_refused(lambda: torch.zeros(2, 3) @ torch.zeros(2, 3), RuntimeError, "queries have width")


def test_refused_calls_change_nothing():
    before = copy.deepcopy((Q, K, V, S))
    for _, call, *_ in BAD:
        try:
            call()
        except Exception:
            pass
    assert all(map(torch.equal, before, (Q, K, V, S))) and not ATTENTION._forward_hooks


@pytest.mark.parametrize("numbers", [(3, 6), (-1, 3)])
def test_values_of_lengths_are_not_looked_at_where_they_cannot_be(numbers):
    """Under compile lengths have no values yet: beyond the keys counts as all of them, negative as none."""
    compiled = torch.compile(ATTENTION, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(Q, K, V, lengths(*numbers)), mha(valid_lens=lengths(*numbers).clamp(0, 5)))
