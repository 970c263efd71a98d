"""Layers equal slow definitions, formulas what is counted and walked, measures what they name."""
import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from slow import slow_attention

from d2l_ext import GRU, LSTM, Convolution, DeltaRule, LinearAttention, Recurrence, SelfAttention
from d2l_ext import cost, flops, influence, reach
from d2l_ext.costs import FORMULAS, LINEAR_FORMULAS
from d2l_ext.measurements import fastest, longest_chain, slope


def sequence(n, d=4, batch=2):
    return torch.randn(batch, n, d, dtype=torch.float64)


# ---- slow and right ----

def slow_convolution(weight, X, dilation, causal):
    """Place by place; weight (out, in, kernel), X (n, d)."""
    kernel, Y = weight.shape[2], torch.zeros_like(X)
    before = kernel - 1 if causal else kernel // 2
    for i in range(len(X)):
        for j in range(kernel):
            place = i + (j - before) * dilation
            if 0 <= place < len(X):
                Y[i] = Y[i] + weight[:, :, j] @ X[place]
    return Y


def slow_reach(model, n, d):
    """Change one input, see which outputs change."""
    X, columns = sequence(n, d, batch=1), []
    for j in range(n):
        moved = X.clone()
        moved[0, j] += torch.randn(d, dtype=torch.float64)
        columns.append((model(moved) != model(X)).any(-1)[0])
    return torch.stack(columns, dim=1)


def walk(n, neighbours, done):
    """Layers until ``done(seen)``; each adds what the neighbours have seen."""
    seen, layers = [{i} for i in range(n)], 0
    while not done(seen):
        seen = [set().union(*(seen[j] for j in neighbours(i) if 0 <= j < n)) for i in range(n)]
        layers += 1
    return layers


# ---- layers ----

@pytest.mark.parametrize("kernel, dilation, causal", [
    (3, 1, False), (3, 2, False), (2, 1, True), (3, 4, True), (1, 1, False)])
def test_a_convolution_is_its_definition(kernel, dilation, causal):
    model, X = Convolution(4, kernel, dilation=dilation, causal=causal).double(), sequence(7)
    (weight,) = model.parameters()
    slow = torch.stack([slow_convolution(weight, x, dilation, causal) for x in X])
    torch.testing.assert_close(model(X), slow)
    assert Convolution(4).conv.weight.shape == (4, 4, 3)


@pytest.mark.parametrize("layer, theirs", [(Recurrence, nn.RNN), (GRU, nn.GRU), (LSTM, nn.LSTM)])
def test_recurrences_are_pytorchs_without_biases(layer, theirs):
    """Lesson 07 writes them out."""
    model, X = layer(4), torch.randn(2, 6, 4)
    same = theirs(4, 4, batch_first=True, bias=False)
    same.load_state_dict(model.rnn.state_dict())
    assert torch.equal(model(X), same(X)[0])


@pytest.mark.parametrize("options", [dict(), dict(num_heads=2), dict(num_heads=2, causal=True)])
def test_self_attention_is_its_definition(options):
    model, X = SelfAttention(4, **options).double(), sequence(5)
    keep = torch.ones(5, 5).tril() > 0 if options.get("causal") else None
    assert model.attention.num_heads == options.get("num_heads", 1)
    torch.testing.assert_close(model(X), slow_attention(model.attention, X, X, X, keep)[0])


# ---- formulas ----

@pytest.mark.parametrize("n, d, k, c, h", [(5, 8, 3, 64, 2), (12, 4, 5, 3, 1), (12, 10, 7, 4, 5)])
def test_costs_are_what_pytorch_counts(n, d, k, c, h):
    linear = partial(LinearAttention, d, h, feature_map=None, normalise=False)
    layers = {"convolution": Convolution(d, k), "recurrence": Recurrence(d), "GRU": GRU(d),
              "LSTM": LSTM(d), "attention layer": SelfAttention(d, h),
              "attention products": lambda X: F.scaled_dot_product_attention(X, X, X),
              "linear attention, at once": linear(),
              "linear attention, in chunks": linear(chunk_size=c),
              "linear attention, by token": linear(chunk_size=1),
              "delta rule, by token": DeltaRule(d, h, chunk_size=1)}
    assert layers.keys() == FORMULAS.keys() | LINEAR_FORMULAS.keys()
    for kind, layer in layers.items():
        found = cost(kind, n, d, k, c, h)
        assert found.operations == flops(layer, n, d) > 0, kind
        assert found.sequential == longest_chain(layer, n, d), kind
        assert cost(kind, 99, 4) == cost(kind, 99, 4, 3, 64, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 17])
def test_paths_are_the_walked_ones(n):
    def check(neighbours, visible, *call):
        """visible: what position i can ever see."""
        complete = lambda seen: all(s == set(visible(i)) for i, s in enumerate(seen))
        full = lambda seen: any(s == set(range(n)) for s in seen)
        assert cost(*call)[2:] == (walk(n, neighbours, complete), walk(n, neighbours, full))

    every = lambda i: range(n)
    for k in (3, 5, 9):
        near = lambda i: range(i - k // 2, i + k // 2 + 1)
        check(near, every, "convolution", n, 4, k)
    for kind in ("recurrence", "GRU", "LSTM"):
        check(lambda i: (i - 1, i), lambda i: range(i + 1), kind, n, 4)
    for kind in ("attention products", "attention layer"):
        check(every, every, kind, n, 4)


# ---- measurements ----

def test_reach_is_what_moves():
    for model in [Convolution(4, 3, dilation=2, causal=True), LSTM(4), SelfAttention(4, 2),
                  nn.Sequential(nn.LayerNorm(4), Convolution(4, 3), Convolution(4, 3, dilation=3),
                                nn.Dropout(0.5))]:
        found = reach(model, 7, *[4] * (len(list(model.children())) == 4))
        assert model.training and next(model.parameters()).dtype == torch.float32
        assert torch.equal(found, slow_reach(model.double().eval(), 7, 4))
    assert reach(LSTM(16), 256)[-1, 0], "float32 can't hold what is left"


class Mix(nn.Module):
    """y_i = Σ_j A_ij x_j"""

    def __init__(self):
        super().__init__()
        self.A = nn.Parameter(torch.randn(5, 5))

    def forward(self, X):
        return self.A @ X


def test_influence_is_the_absolute_derivative():
    """Of a linear map it is known, up to one number, the direction in the one channel."""
    model = Mix()
    found, wanted = influence(model, 5, num_hiddens=1), model.A.detach().abs().double()
    torch.testing.assert_close(found / found[0, 0], wanted / wanted[0, 0])


def test_fastest_is_the_least_of_the_repeats(monkeypatch):
    """By a clock that the layers move. The warm-up is faster than any repeat, and not counted."""
    now, pauses, shapes = [0.0], iter([0, 30, 2, 30]), []
    monkeypatch.setattr("d2l_ext.measurements.CLOCK", lambda: now[0])

    def layer(X):
        assert torch.get_num_threads() == 1 and not torch.is_grad_enabled()
        shapes.append(tuple(X.shape))
        now[0] += next(pauses) if X.shape[1] == 3 else 1

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert fastest([(layer, 3, 2), (layer, 4, 2)], repeats=3) == [2, 1]
        assert torch.get_num_threads() == 2 and shapes == [(1, 3, 2), (1, 4, 2)] * 4
    finally:
        torch.set_num_threads(threads)


def test_slope_is_the_power_and_tells_how_sure_it_is():
    x, noise = [1, 2, 4, 8, 16], [0.1, -0.2, 0.15, 0.0, -0.05]
    y = [n * math.exp(e) for n, e in zip(x, noise)]
    (power, _), variances = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    assert slope(x, y) == pytest.approx((power, variances[0, 0] ** 0.5))
