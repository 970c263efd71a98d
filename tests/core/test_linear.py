"""Layers with a memory equal slow definitions in every form, and go on where they stopped."""
import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from slow import assert_same, outcome, slow_outcome

from d2l_ext import GRU, LSTM, Convolution, Recurrence, SelfAttention, reach, state_size
from d2l_ext.costs import STATES
from d2l_ext.linear import DeltaRule, LinearAttention, decay_mask, elu_plus_one

WIDTH, HEADS = 6, 2


def attention(**options):
    return lambda chunk_size: LinearAttention(WIDTH, HEADS, chunk_size=chunk_size, **options)


MAKE = {  # of a chunk size
    "plain": attention(feature_map=None, normalise=False),
    "normalised": attention(),
    "decay": attention(decay="input", normalise=False),
    "decay, normalised": attention(decay="input"),
    "delta rule": lambda chunk_size: DeltaRule(WIDTH, HEADS, chunk_size=chunk_size),
    "delta rule, to 2": lambda chunk_size: DeltaRule(WIDTH, HEADS, max_rate=2,
                                                     chunk_size=chunk_size),
}
every_layer = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def sequence(n=7, batch=2):
    return torch.randn(batch, n, WIDTH)


# ---- slow and right: one sequence, one head, one step at a time ----

def heads_of(W, x):
    return W(x).split(WIDTH // HEADS)


def slow_attention(m, sequence, i):
    """Σ_j weight_ij v_j; each weight is a product of decays and a score."""
    heads = []
    for h in range(HEADS):
        total, norm = 0, 0
        for j in range(i + 1):
            q, k = heads_of(m.W_q, sequence[i])[h], heads_of(m.W_k, sequence[j])[h]
            if m.feature_map is not None:
                q, k = F.elu(q) + 1, F.elu(k) + 1
            kept = math.prod(torch.sigmoid(m.W_a(sequence[t])[h]) for t in range(j + 1, i + 1)
                             if m.decay)
            total = total + kept * (q @ k) * heads_of(m.W_v, sequence[j])[h]
            norm = norm + kept * (q @ k)
        heads.append(total / norm if m.extra else total)
    return torch.cat(heads)


def slow_delta(m, sequence, i):
    """The memory moves against the gradient of its loss, which autograd finds."""
    S = torch.zeros(HEADS, WIDTH // HEADS, WIDTH // HEADS, dtype=sequence.dtype)
    for x in sequence[:i + 1]:
        q, k, v = (torch.stack(heads_of(W, x)) for W in (m.W_q, m.W_k, m.W_v))
        q, k = (vectors / vectors.norm(dim=1, keepdim=True) for vectors in (q, k))

        def loss(S):
            return (torch.einsum("hkv,hk->hv", S, k) - v).square().sum() / 2
        rate = m.max_rate * torch.sigmoid(m.W_b(x))[:, None, None]
        S = S - rate * torch.func.grad(loss)(S)
    return torch.einsum("hkv,hk->hv", S, q).flatten()


def slow(m, X):
    output = {DeltaRule: slow_delta, LinearAttention: slow_attention}[type(m)]
    return torch.stack([torch.stack([m.W_o(output(m, sequence, i)) for i in range(len(sequence))])
                        for sequence in X])


# ---- what every layer promises ----

@every_layer
def test_it_is_its_definition(make):
    """Outputs and all gradients."""
    for chunk_size in (None, 1, 3):
        m, X = make(chunk_size), sequence(5)
        assert_same(outcome(nn.Module.__call__, m, X), slow_outcome(slow, m, X))


@every_layer
def test_it_goes_on(make):
    """Pieces give what the whole gives, each with the state of the one before."""
    for chunk_size in (None, 1, 2):
        m, X = make(chunk_size).double(), sequence(9).double()
        whole, last = m(X, need_state=True)
        for cuts in ([4, 5], [1] * 9):
            state, outputs = None, []
            for piece in X.split(cuts, 1):
                Y, state = m(piece, state=state, need_state=True)
                outputs.append(Y)
            assert_same([torch.cat(outputs, 1), state], [whole, last], atol=1e-10, rtol=1e-10)


@every_layer
def test_half_precision_stays_near_the_exact_answer(make):
    """Over 300 steps, within its rounding; the memory is single precision."""
    for dtype in (torch.bfloat16, torch.float16):
        m, X = make(16).to(dtype), sequence(300, batch=1).to(dtype)
        exact = copy.deepcopy(m).double()(X.double())
        Y, state = m(X, need_state=True)
        assert Y.dtype == dtype and state.dtype == torch.float32
        error = (Y.double() - exact).norm() / exact.norm()
        assert error < 6 * torch.finfo(dtype).eps, error


# ---- parts ----

def test_starts_and_decays_are_those_of_the_papers():
    mask = decay_mask(torch.full((1, 4), math.log(0.9)))
    i = torch.arange(4)
    torch.testing.assert_close(mask[0], (0.9 ** (i[:, None] - i).float()).tril())
    assert DeltaRule(4).max_rate == LinearAttention(4).num_heads == DeltaRule(4).num_heads == 1
    start = LinearAttention(8, 4, decay="input").W_a.bias.sigmoid()
    torch.testing.assert_close(start, torch.tensor([31 / 32, 63 / 64, 127 / 128, 255 / 256]))
    many = LinearAttention(64, 32, decay="input").W_a.bias  # 1 - 1 / 2^36 is 1 in single precision
    torch.testing.assert_close(many, math.log(2) * torch.arange(5.0, 37), rtol=0, atol=0.04)
    assert elu_plus_one(torch.tensor([-80.0])) > 0


def test_states_are_as_large_as_what_is_handed_on():
    for n, d, k, h in [(12, 4, 3, 1), (9, 6, 5, 2), (7, 12, 3, 3)]:
        X = torch.randn(1, n, d)
        window = reach(Convolution(d, k, causal=True), n)[-1].sum().item()
        pairs = 2 * SelfAttention(d, causal=True).attention.W_k(X).numel()
        memories = [layer(X, need_state=True)[1].numel() for layer in (
            LinearAttention(d, h, normalise=False), LinearAttention(d, h, normalise=False),
            LinearAttention(d, h, normalise=False, chunk_size=1), DeltaRule(d, h))]
        kept = [(window - 1) * d,  # its newest input is still to come
                Recurrence(d).rnn(X)[1].numel(), GRU(d).rnn(X)[1].numel(),
                sum(part.numel() for part in LSTM(d).rnn(X)[1]), pairs, pairs, *memories]
        assert [state_size(kind, n, d, k, h) for kind in STATES] == kept
