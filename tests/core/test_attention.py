"""Multi-head attention keeps its promises on both paths, fused and with ``need_weights=True``.

That it equals its definition, test_properties and test_relative ask.
"""
import math

import pytest
import torch
from torch import nn
from torch.func import vmap
from torch.nn import functional as F
from slow import assert_same, lengths_mask, outcome, slow_outcome, slow_softmax

from d2l_ext import AdditiveAttention, ALiBi, MultiHeadAttention
from d2l_ext import dot_product_attention, from_torch, masked_softmax, merge_heads, split_heads
from d2l_ext import to_torch, window

# batch 2, queries 3, keys 4, heads 2, hiddens 8: no two alike where it matters
SIZES = dict(query_size=5, key_size=7, value_size=9, head_size=3)
LENGTHS, LENGTHS_PER_QUERY = torch.tensor([2, 4]), torch.tensor([[1, 4, 2], [3, 1, 4]])
EMPTY_ROWS = torch.tensor([[0, 4, 2], [3, 0, 4]])


def fused(m, *inputs, **options):
    return m(*inputs, **options)


def explicit(m, *inputs, **options):
    return m(*inputs, need_weights=True, **options)[0]


both_paths = pytest.mark.parametrize("attend", [fused, explicit])



def cross(**options):
    """Cross-attention with all sizes different: the module and its three inputs."""
    m = MultiHeadAttention(8, **dict(num_heads=2, bias=True) | SIZES | options).eval()
    sizes = (2, 3, 5), (2, 4, 7), (2, 4, 9)
    return m, *map(torch.randn, sizes)


def selfish(**options):
    """Self-attention: the module and its one input."""
    m = MultiHeadAttention(6, 2, bias=True, **options).eval()
    return m, torch.randn(2, 4, 6)


def identity(num_hiddens, num_heads=1, **options):
    """Attention without weights to speak of: all projections leave things as they are."""
    m = MultiHeadAttention(num_hiddens, num_heads, **options)
    for linear in (m.W_q, m.W_k, m.W_v, m.W_o):
        nn.init.eye_(linear.weight)
    return m


# ---- both paths ----

@both_paths
def test_weights_are_dropped_in_training(attend):
    """With equal scores and one-hot values the output is the weights after dropout: 0 or 1/n/(1-p).
    """
    m, zeros, one_hot = identity(10, dropout=0.6), torch.zeros(8, 10, 10), torch.eye(10)
    output = attend(m, zeros, zeros, one_hot.expand(8, 10, 10))
    dropped = output == 0
    assert 0.5 < dropped.double().mean() < 0.7
    torch.testing.assert_close(output[~dropped], torch.full_like(output[~dropped], 0.1 / 0.4))
    assert len(dropped.reshape(-1, 10).unique(dim=0)) > 8, "each query and sequence has its own"


@both_paths
@pytest.mark.parametrize("biased", [False, True])
def test_low_scores_are_masked(attend, biased):
    """Scores of -1e8, far below the constants that masks are often made of."""
    position = Biased((1, 3, 3)) if biased else None
    m, keys = identity(4, position=position), torch.full((2, 3, 4), -1e4)
    values = torch.eye(4)[:3].expand(2, 3, 4)
    output = attend(m, -keys, keys, values, valid_lens=torch.tensor([2, 3]))
    assert output[0].tolist() == [[0.5, 0.5, 0, 0]] * 3


@both_paths
def test_what_is_not_seen_or_sees_nothing_reaches_nothing(attend):
    m, *inputs = cross()
    lengths = torch.tensor([[2, 1, 0], [4, 3, 0]])
    hidden = torch.arange(4) >= lengths.amax(1, keepdim=True)
    where = lengths == 0, hidden, hidden
    clean = outcome(attend, m, *inputs, valid_lens=lengths)
    other = [X.masked_fill(each[..., None], 1e6) for X, each in zip(inputs, where)]
    results = outcome(attend, m, *other, valid_lens=lengths)
    assert_same(results, clean, 1e-6, 1e-5)
    assert not any(grad[each].any() for grad, each in zip(results[1:], where))


def test_parameters_are_the_four_projections_and_nothing_else():
    shapes = {name: tuple(p.shape) for name, p in
              cross(num_heads=4, num_kv_heads=2)[0].named_parameters()}
    assert shapes == {
        "W_q.weight": (12, 5), "W_k.weight": (6, 7), "W_v.weight": (6, 9),
        "W_q.bias": (12,), "W_k.bias": (6,), "W_v.bias": (6,),
        "W_o.weight": (8, 12), "W_o.bias": (8,)}
    plain = MultiHeadAttention(8, 2)
    assert list(plain.state_dict()) == [f"W_{name}.weight" for name in "qkvo"]
    assert list(AdditiveAttention(8).state_dict()) == [f"{W}.weight" for W in ("W_q", "W_k", "w_v")]
    assert plain.head_size == 4 and plain.num_kv_heads == 2


# ---- nothing to attend to, and what no query may see ----

def naive_kernel(q, k, v, attn_mask, dropout_p=0.0, is_causal=False, scale=1.0, enable_gqa=False):
    """As some kernels answer: NaN, values and gradients, where a query sees nothing."""
    scores = q @ k.mT * scale
    if attn_mask.dtype == torch.bool:
        return scores.masked_fill(~attn_mask, -math.inf).softmax(-1) @ v
    return (scores + attn_mask).softmax(-1) @ v


class Biased(nn.Module):
    """A position module that adds a bias of this shape, at first zeros."""

    def __init__(self, shape):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(shape))

    def transform(self, q, k):
        return q, k

    def bias(self, q, k):
        return self.table


@pytest.mark.parametrize("biased", [False, True])
def test_it_does_not_matter_what_the_kernel_makes_of_empty_rows(monkeypatch, biased):
    m, *inputs = cross(position=Biased((2, 3, 4)) if biased else None)
    expected = outcome(fused, m, *inputs, valid_lens=EMPTY_ROWS)
    monkeypatch.setattr(F, "scaled_dot_product_attention", naive_kernel)
    assert_same(outcome(fused, m, *inputs, valid_lens=EMPTY_ROWS), expected)


@both_paths
@pytest.mark.parametrize("lengths", [None, torch.tensor([0, 0])])
def test_no_keys_at_all_is_nothing_to_attend_to(attend, lengths):
    m, queries, keys, values = cross(num_kv_heads=1)
    inputs = queries, keys[:, :0], values[:, :0]
    output, *grads = outcome(attend, m, *inputs, valid_lens=lengths)
    assert (output == m.W_o.bias).all() and output.shape == (2, 3, 8)
    assert all(grad.isfinite().all() for grad in grads) and not grads[0].any()


@both_paths
def test_all_is_made_where_the_inputs_are(attend):
    """Also where new tensors would land on another device."""
    (m, X), options = selfish(position=ALiBi(2)), dict(valid_lens=LENGTHS, mask=window(1),
                                                       causal=True)
    expected = attend(m, X, X, X, **options)
    with torch.device("meta"):
        torch.testing.assert_close(attend(m, X, X, X, **options), expected)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 2, 1, 4), ()])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_any_bias_that_can_be_added_gives_both_paths_the_same(shape, lengths):
    """PyTorch picks another kernel where nothing needs a gradient."""
    m, *inputs = cross(position=Biased(shape))
    nn.init.normal_(m.position.table)
    for learning in (True, False):
        m.requires_grad_(learning)
        ways = [attend(m, *inputs, valid_lens=lengths) for attend in (fused, explicit)]
        torch.testing.assert_close(*ways)


# ---- weights that move ----

@pytest.mark.parametrize("widths, bias, batch_first", [
    (dict(), True, True), (dict(kdim=7, vdim=9), True, False), (dict(vdim=9), False, True)])
def test_weights_move_from_torch_and_back(widths, bias, batch_first):
    theirs = nn.MultiheadAttention(8, 2, 0.25, bias, batch_first=batch_first, dtype=torch.float64,
                                   **widths).eval()
    if bias:
        nn.init.normal_(theirs.in_proj_bias), nn.init.normal_(theirs.out_proj.bias)
    inputs = [torch.randn(2, steps, width, dtype=torch.float64) for steps, width in
              ((3, 8), (4, widths.get("kdim", 8)), (4, widths.get("vdim", 8)))]
    ours = from_torch(theirs)
    back = to_torch(ours)
    turn = lambda X: X if batch_first else X.transpose(0, 1)
    expected, weights = theirs(*map(turn, inputs), average_attn_weights=False)
    found = ours(*inputs, need_weights=True)
    torch.testing.assert_close(found, (turn(expected), weights))
    torch.testing.assert_close(back(*inputs, average_attn_weights=False), found)
    assert back.batch_first and back.dropout == ours.dropout.p == 0.25
    assert not back.training and not ours.training
    assert {p.dtype for p in (*ours.parameters(), *back.parameters())} == {torch.float64}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@both_paths
def test_vmap_equals_a_loop(attend):
    m, _ = selfish()
    X, lengths = torch.randn(3, 2, 4, 6), torch.tensor([[1, 4], [0, 2], [3, 3]])
    attend_one = lambda X, n: attend(m, X, X, X, valid_lens=n)
    looped = torch.stack([attend_one(*pair) for pair in zip(X, lengths)])
    torch.testing.assert_close(vmap(attend_one)(X, lengths), looped)


# ---- masked softmax ----

def ours(scores, mask):
    return masked_softmax(scores, mask=mask)


def slow_masked(scores, mask):
    """``slow_softmax`` of each row."""
    rows = zip(*(X.reshape(-1, scores.shape[-1]) for X in (scores, mask.expand(scores.shape))))
    return torch.stack([slow_softmax(*row) for row in rows]).reshape(scores.shape)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 5, 3, 4)])
def test_masked_softmax_is_its_definition_whatever_is_hidden(shape):
    scores, mask = 3 * torch.randn(shape) + 90, torch.rand(shape) < 0.6
    mask[..., 1, :] = False
    poisoned = scores.masked_fill(~mask, math.nan)
    weights, grad = outcome(lambda _, S: ours(S, mask), nn.ModuleList(), poisoned)
    expected = slow_outcome(lambda _, S: slow_masked(S, mask), nn.ModuleList(), scores)
    assert_same([weights, grad], expected)
    assert not weights[~mask].any() and not grad[~mask].any()
    assert ours(scores.half(), mask).dtype == torch.float16


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS_PER_QUERY])
def test_masked_softmax_takes_lengths_and_a_mask(lengths):
    scores, mask = torch.randn(2, 3, 4), lengths_mask(lengths, 3, 4)[:, 0]
    torch.testing.assert_close(masked_softmax(scores, lengths), ours(scores, mask))
    torch.testing.assert_close(masked_softmax(scores, lengths, mask=window(1)),
                               ours(scores, mask & window(1).tensor(3, 4)))
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(-1))


# ---- two ways to score, and the bookkeeping ----

@pytest.mark.parametrize("before", [(), (2,), (2, 5)], ids=["2d", "3d", "4d"])
def test_dot_product_attention_is_its_definition_whatever_is_hidden(before):
    q, k, v = (torch.randn(*before, *size) for size in ((3, 6), (4, 6), (4, 7)))
    mask = torch.rand(*before[:1], *(1,) * len(before[1:]), 3, 4) < 0.7
    mask[..., 1, :], mask[..., 2] = False, False
    q[..., 1, :], k[..., 2, :], v[..., 2, :] = 1e6, -1e6, 1e6
    attend = lambda _, *X: dot_product_attention(*X, mask=mask)
    output, weights, *slopes = outcome(attend, nn.ModuleList(), q, k, v)
    scores = q @ k.mT / math.sqrt(6)
    torch.testing.assert_close(weights, ours(scores, mask))
    torch.testing.assert_close(output, weights @ v)
    assert all(slope.isfinite().all() for slope in slopes)


def slow_additive(m, queries, keys, values, keep):
    Q, K = m.W_q(queries), m.W_k(keys)
    scores = [[[m.w_v(torch.tanh(q + k))[0] for k in K[b]] for q in Q[b]] for b in range(len(Q))]
    rows = [[slow_softmax(row, kept) @ values[b] for row, kept in zip(scores[b], keep[b, 0])]
            for b in range(len(Q))]
    return torch.stack([torch.stack(row) for row in rows])


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS_PER_QUERY, torch.tensor([0, 3])])
def test_additive_attention_equals_its_definition(lengths):
    m, (_, *inputs) = AdditiveAttention(8, query_size=5, key_size=7), cross()
    keep = lengths_mask(lengths, 3, 4)
    other = inputs[0], *(X.masked_fill(~keep.any(2)[:, 0, :, None], 1e6) for X in inputs[1:])
    torch.testing.assert_close(m(*other, valid_lens=lengths), m(*inputs, valid_lens=lengths))
    assert_same(outcome(AdditiveAttention.__call__, m, *inputs, valid_lens=lengths),
                slow_outcome(slow_additive, m, *inputs, keep=keep))
    output, weights = m(*inputs, valid_lens=lengths, need_weights=True)
    torch.testing.assert_close(weights @ inputs[2], output)


def test_a_head_is_a_block_of_columns_and_merging_undoes_splitting():
    X = torch.randn(2, 3, 8)
    heads = split_heads(X, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert all(torch.equal(heads[:, i], X[..., 2 * i:2 * i + 2]) for i in range(4))
    assert torch.equal(merge_heads(heads), X)
