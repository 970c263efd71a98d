"""Layers equal slow definitions, formulas what is counted and walked, and each measure measures that."""
import contextlib
import importlib.util
import math
import re

import pytest
import torch
from readme import ROOT
from torch import nn
from torch.nn import functional as F
from wrong import slow_attention

from d2l_ext import (GRU, LSTM, Convolution, Recurrence, SelfAttention, cost, flops, influence,
                     reach)
from d2l_ext.sequence import FORMULAS, Cost, fastest, longest_chain, slope


def sequence(n, d=4, batch=2):
    return torch.randn(batch, n, d, dtype=torch.float64)


# ---- slow and right ----------------------------------------------------------------------------------------------------------------

def slow_convolution(weight, X, dilation, causal):
    """Place by place; weight (out, in, kernel), X (n, d)."""
    kernel, rows = weight.shape[2], []
    before = kernel - 1 if causal else kernel // 2
    for i in range(len(X)):
        places = [(j, i + (j - before) * dilation) for j in range(kernel)]
        rows.append(sum((weight[:, :, j] @ X[place] for j, place in places if 0 <= place < len(X)), torch.zeros(len(weight)).double()))
    return torch.stack(rows)


def slow_recurrence(W, U, X):
    state, rows = torch.zeros(len(U)).double(), []
    for x in X:
        state = torch.tanh(W @ x + U @ state)
        rows.append(state)
    return torch.stack(rows)


def slow_gru(W, U, X):
    """W and U hold three matrices, one below the other: reset, update, candidate."""
    (W_r, W_z, W_c), (U_r, U_z, U_c) = W.chunk(3), U.chunk(3)
    state, rows = torch.zeros(U.shape[1]).double(), []
    for x in X:
        reset, stay = torch.sigmoid(W_r @ x + U_r @ state), torch.sigmoid(W_z @ x + U_z @ state)
        state = stay * state + (1 - stay) * torch.tanh(W_c @ x + reset * (U_c @ state))
        rows.append(state)
    return torch.stack(rows)


def slow_lstm(W, U, X):
    """W and U hold four matrices, one below the other: input, forget, candidate, output."""
    state = cell = torch.zeros(U.shape[1]).double()
    rows = []
    for x in X:
        take, keep, new, show = (W @ x + U @ state).chunk(4)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(take) * torch.tanh(new)
        state = torch.sigmoid(show) * torch.tanh(cell)
        rows.append(state)
    return torch.stack(rows)


def slow_reach(model, n, d):
    """Change one input, see which outputs change."""
    X = sequence(n, d, batch=1)
    rows = []
    for j in range(n):
        moved = X.clone()
        moved[0, j] += torch.randn(d, dtype=torch.float64)
        rows.append((model(moved) != model(X)).any(-1)[0])
    return torch.stack(rows, dim=1)


def walk(n, neighbours, layers_until):
    """Layers until ``layers_until(seen)``, where each adds what the neighbours have seen; no derivative, no formula."""
    seen, layers = [{i} for i in range(n)], 0
    while not layers_until(seen):
        seen, layers = [set().union(*(seen[j] for j in neighbours(i) if 0 <= j < n)) for i in range(n)], layers + 1
    return layers


# ---- claims: asked of ours, and of wrong ones --------------------------------------------------------------------------------------

def is_convolution(layer):
    for kernel, dilation, causal in [(3, 1, False), (5, 1, False), (3, 2, False), (2, 1, True), (3, 4, True), (1, 1, False)]:
        model, X = layer(4, kernel, dilation=dilation, causal=causal).double(), sequence(7)
        (weight,) = model.parameters()
        for x, y in zip(X, model(X)):
            torch.testing.assert_close(y, slow_convolution(weight, x, dilation, causal))


def is_recurrence(layer):
    model, X = layer(4).double(), sequence(6)
    W, U = model.parameters()
    for x, y in zip(X, model(X)):
        torch.testing.assert_close(y, slow_recurrence(W, U, x))


def is_gru(layer, slow=slow_gru):
    model, X = layer(4).double(), sequence(6)
    W, U = model.parameters()
    for x, y in zip(X, model(X)):
        torch.testing.assert_close(y, slow(W, U, x))


def is_lstm(layer):
    is_gru(layer, slow_lstm)


def is_self_attention(layer):
    for heads, causal in [(1, False), (2, False), (2, True)]:
        model, X = layer(4, heads, causal=causal).double(), sequence(5)
        keep = torch.tensor([[[[j <= i or not causal for j in range(5)] for i in range(5)]]])
        torch.testing.assert_close(model(X), slow_attention(model.attention, X, X, X, keep)[0])


def costs_what_pytorch_counts(formula):
    products = lambda X: F.scaled_dot_product_attention(X, X, X)
    for n, d, k in [(5, 8, 3), (12, 4, 5), (7, 6, 7)]:
        layers = {"convolution": Convolution(d, k), "recurrence": Recurrence(d), "GRU": GRU(d),
                  "LSTM": LSTM(d), "attention products": products,
                  "attention layer": SelfAttention(d, 2)}
        assert layers.keys() == FORMULAS.keys()
        for kind, layer in layers.items():
            assert formula(kind, n, d, k).operations == flops(layer, n, d) > 0, kind
            assert formula(kind, n, d, k).sequential == longest_chain(layer, n, d), kind


def paths_are_the_walked_ones(formula):
    for n in (1, 2, 3, 8, 17):
        all_see_all, one_sees_all = (lambda seen: all(len(s) == n for s in seen)), (lambda seen: any(len(s) == n for s in seen))
        past = lambda seen: all(seen[i] >= set(range(i + 1)) for i in range(n))
        for k in (3, 5, 9):
            near = lambda i: range(i - k // 2, i + k // 2 + 1)
            found = formula("convolution", n, 4, k)
            assert (found.path, found.meet) == (walk(n, near, all_see_all), walk(n, near, one_sees_all))
        step, everyone = (lambda i: (i - 1, i)), (lambda i: range(n))
        for kind in ("recurrence", "GRU", "LSTM"):
            found = formula(kind, n, 4)
            assert (found.path, found.meet) == (walk(n, step, past), walk(n, step, one_sees_all))
        for kind in ("attention products", "attention layer"):
            assert formula(kind, n, 4)[2:] == (walk(n, everyone, all_see_all), walk(n, everyone, one_sees_all))


def reaches_what_moves(measure):
    models = [Convolution(4, 3), Convolution(4, 3, dilation=2, causal=True), Recurrence(4), GRU(4),
              LSTM(4), SelfAttention(4, 2), SelfAttention(4, causal=True),
              nn.Sequential(Convolution(4, 3), Convolution(4, 3, dilation=3))]
    for model in models:
        assert torch.equal(measure(model, 7), slow_reach(model.double(), 7, 4))


def reaches_far_back(measure):
    """A recurrence passes on less than float32 can hold, and yet not nothing."""
    assert all(measure(layer(16), 256)[-1, 0] for layer in (Recurrence, GRU, LSTM))


# ---- ours holds every claim, each mistake fails one --------------------------------------------------------------------------------

RIGHT = {is_convolution: Convolution, is_recurrence: Recurrence, is_gru: GRU,
         is_lstm: LSTM, is_self_attention: SelfAttention, costs_what_pytorch_counts: cost,
         paths_are_the_walked_ones: cost, reaches_what_moves: reach, reaches_far_back: reach}


class ShiftedConvolution(Convolution):
    """Pads on the wrong side."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.padding = self.padding[::-1]


class UndilatedConvolution(Convolution):
    def __init__(self, num_hiddens, kernel_size=3, *, dilation=1, causal=False):
        super().__init__(num_hiddens, kernel_size, causal=causal)


class AcrossTheBatch(Recurrence):
    def forward(self, X):
        return self.rnn(X.transpose(0, 1))[0].transpose(0, 1)


class StateOnly(Recurrence):
    def forward(self, X):
        return self.rnn(X)[0][:, -1:].expand_as(X)


class OneStep(Recurrence):
    """One step of PyTorch's layer by hand: ``step(sums of W x, sums of U y, the state before)``."""

    def forward(self, X):
        W, U = self.rnn.weight_ih_l0, self.rnn.weight_hh_l0
        state, rows = X.new_zeros(X.shape[0], X.shape[2]), []
        for x in X.unbind(1):
            state = self.step(x @ W.mT, U, state)
            rows.append(state)
        return torch.stack(rows, 1)


class ResetBefore(OneStep):
    """As Cho et al. and D2L have it: right, but another layer, and two products a step."""
    cell = nn.GRU

    def step(self, sums, U, state):
        (x_r, x_z, x_c), (U_r, U_z, U_c) = sums.chunk(3, -1), U.chunk(3)
        reset = torch.sigmoid(x_r + state @ U_r.mT)
        stay = torch.sigmoid(x_z + state @ U_z.mT)
        return stay * state + (1 - stay) * torch.tanh(x_c + (reset * state) @ U_c.mT)


class StayForTake(OneStep):
    cell = nn.GRU

    def step(self, sums, U, state):
        (x_r, x_z, x_c), (h_r, h_z, h_c) = sums.chunk(3, -1), (state @ U.mT).chunk(3, -1)
        take = torch.sigmoid(x_z + h_z)
        return (1 - take) * state + take * torch.tanh(x_c + torch.sigmoid(x_r + h_r) * h_c)


class WithoutReset(OneStep):
    cell = nn.GRU

    def step(self, sums, U, state):
        (_, x_z, x_c), (_, h_z, h_c) = sums.chunk(3, -1), (state @ U.mT).chunk(3, -1)
        stay = torch.sigmoid(x_z + h_z)
        return stay * state + (1 - stay) * torch.tanh(x_c + h_c)


class StateForCell(OneStep):
    """Without a cell of its own: what is shown is what is kept."""
    cell = nn.LSTM

    def step(self, sums, U, state):
        take, keep, new, show = (sums + state @ U.mT).chunk(4, -1)
        state = torch.sigmoid(keep) * state + torch.sigmoid(take) * torch.tanh(new)
        return torch.sigmoid(show) * torch.tanh(state)


class CellShown(LSTM):
    """The last cell, everywhere, in place of the states."""

    def forward(self, X):
        return self.rnn(X)[1][1].transpose(0, 1).expand_as(X)


class SeesTheFuture(SelfAttention):
    def forward(self, X):
        return self.attention(X, X, X)


def changed(**functions):
    """``cost`` with fields replaced by functions of (kind, n, d, k, right value)."""
    def wrong(kind, n, d, k=3):
        right = cost(kind, n, d, k)
        return right._replace(**{name: change(kind, n, d, k, getattr(right, name)) for name, change in functions.items()})
    return wrong


def only(kind, **functions):
    """``cost`` with fields of one kind replaced by functions of n and d."""
    def change(function):
        return lambda name, n, d, k, right: function(n, d) if name == kind else right
    return changed(**{field: change(function) for field, function in functions.items()})


def in_float32(model, n):
    X = torch.randn(1, n, 16, requires_grad=True)
    model.float()(X)[0, -1].sum().backward()
    return X.grad.abs().sum(-1).expand(n, n) > 0


MISTAKES = {
    "padded on the wrong side": (is_convolution, ShiftedConvolution),
    "dilation forgotten": (is_convolution, UndilatedConvolution),
    "batch taken for time": (is_recurrence, AcrossTheBatch),
    "the last state everywhere": (is_recurrence, StateOnly),
    "no reset gate": (is_gru, WithoutReset),
    "reset before the product": (is_gru, ResetBefore),
    "the update gate turned round": (is_gru, StayForTake),
    "the state for the cell": (is_lstm, StateForCell),
    "the cell shown": (is_lstm, CellShown),
    "a gate forgotten": (costs_what_pytorch_counts,
                         only("GRU", operations=lambda n, d: 8 * n * d**2)),
    "a GRU's work for an LSTM's": (costs_what_pytorch_counts,
                                   only("LSTM", operations=lambda n, d: 12 * n * d**2)),
    "an LSTM as one fused step": (costs_what_pytorch_counts, only("LSTM", sequential=lambda n, d: 1)),
    "gates make a path short": (paths_are_the_walked_ones, only("LSTM", path=lambda n, d: 1)),
    "causal forgotten": (is_self_attention, SeesTheFuture),
    "a multiply-add counted once": (costs_what_pytorch_counts, changed(operations=lambda kind, n, d, k, right: right // 2)),
    "projections forgotten": (costs_what_pytorch_counts, changed(operations=lambda kind, n, d, k, right: 4 * n * n * d if kind == "attention layer" else right)),
    "the state's own matrix forgotten": (costs_what_pytorch_counts, changed(operations=lambda kind, n, d, k, right: 2 * n * d * d if kind == "recurrence" else right)),
    "the kernel forgotten": (costs_what_pytorch_counts, changed(operations=lambda kind, n, d, k, right: 2 * n * d * d if kind == "convolution" else right)),
    "a recurrence in parallel": (costs_what_pytorch_counts, changed(sequential=lambda kind, n, d, k, right: 1 if kind == "recurrence" else right)),
    "n/k for every pair": (paths_are_the_walked_ones, changed(path=lambda kind, n, d, k, right: math.ceil(n / k) if kind == "convolution" else right)),
    "meeting taken for path": (paths_are_the_walked_ones, lambda *a: cost(*a)._replace(path=cost(*a).meet)),
    "rounded down": (paths_are_the_walked_ones, changed(meet=lambda kind, n, d, k, right: (n - 1) // (k - 1) if kind == "convolution" else right)),
    "n for n - 1": (paths_are_the_walked_ones, changed(path=lambda kind, n, d, k, right: n if kind == "recurrence" else right)),
    "rows and columns swapped": (reaches_what_moves, lambda model, n: reach(model, n).T),
    "one layer only": (reaches_what_moves, lambda model, n: reach(model[0] if isinstance(model, nn.Sequential) else model, n)),
    "single precision": (reaches_far_back, in_float32),
}


@pytest.mark.parametrize("claim", RIGHT, ids=lambda claim: claim.__name__)
def test_ours_holds_every_claim(claim):
    claim(RIGHT[claim])


@pytest.mark.parametrize("claim, mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_caught(claim, mistake):
    with pytest.raises(AssertionError):
        claim(mistake)


# ---- what else is promised ---------------------------------------------------------------------------------------------------------

LAYERS = [Convolution(6), Convolution(6, 4, causal=True), Recurrence(6), GRU(6), LSTM(6),
          SelfAttention(6, 3)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_shape_stays_for_any_length(layer):
    for n in (1, 2, 9):
        assert layer(torch.randn(3, n, 6)).shape == (3, n, 6)


def test_self_attention_has_one_head_that_sees_all_unless_told():
    layer = SelfAttention(4)
    assert layer.attention.num_heads == 1 and reach(layer, 3).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 10, 17, 33, 65])
def test_dilation_by_powers_of_two_connects_in_log_n_layers(n):
    layers = math.floor(math.log2(n - 1)) + 1
    stack = [Convolution(2, 3, dilation=2**l) for l in range(layers)]
    assert reach(nn.Sequential(*stack), n).all()
    assert not reach(nn.Sequential(*stack[:-1], nn.Identity()), n, num_hiddens=2).all()


@pytest.mark.parametrize("n", range(3, 30))
def test_dilation_by_powers_of_three_always_leaves_a_pair_unconnected(n):
    stack = nn.Sequential(*(Convolution(2, 3, dilation=3**l) for l in range(5)))
    seen = reach(stack, n)
    assert not seen.all()
    if n == 10:
        assert not seen[8, 0] and seen[0, 8] and seen[0, 9] and seen[9, 0]  # 8 = 9 - 1, and -1 is outside


def test_influence_is_the_absolute_derivative():
    """Of a linear map it is known: here y_i = Σ_j A_ij x_j in one channel, up to the direction's one number."""
    class Mix(nn.Module):
        def __init__(self):
            super().__init__()
            self.A = nn.Parameter(torch.randn(5, 5))

        def forward(self, X):
            return self.A @ X

    model = Mix()
    found, wanted = influence(model, 5, num_hiddens=1), model.A.detach().abs().double()
    torch.testing.assert_close(found / found[0, 0], wanted / wanted[0, 0])
    assert found.dtype == torch.float64 and model.A.dtype == torch.float32


def test_influence_leaves_the_model_alone():
    model = nn.Sequential(SelfAttention(4), nn.Dropout(0.5)).train()
    torch.testing.assert_close(influence(model, 4), influence(model, 4), atol=0, rtol=0)
    assert model.training and all(W.dtype == torch.float32 and W.grad is None for W in model.parameters())


def test_influence_finds_the_width_behind_a_norm():
    model = nn.Sequential(nn.LayerNorm(6), Recurrence(6))
    assert torch.equal(influence(model, 4), influence(model, 4, num_hiddens=6))


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 2.0])
def test_slope_is_the_power(power):
    x = [64, 100, 300, 1000]
    found, error = slope(x, [5 * value**power for value in x])
    assert math.isclose(found, power, abs_tol=1e-9) and error < 1e-7
    assert math.isclose(slope([2, 2, 8], [2**power, 2**power, 8**power])[0], power, abs_tol=1e-9), "two that differ are enough"


def test_slope_tells_how_sure_it_is():
    """Against the textbook's formulas, written out, and against scatter that grows."""
    x, noise = [1.0, 2.0, 4.0, 8.0, 16.0], [0.1, -0.2, 0.15, 0.0, -0.05]
    y = [v * math.exp(e) for v, e in zip(x, noise)]
    u, w = [math.log(v) for v in x], [math.log(v) for v in y]
    mean_u, mean_w = sum(u) / 5, sum(w) / 5
    s_uu = sum((a - mean_u) ** 2 for a in u)
    b = sum((a - mean_u) * (c - mean_w) for a, c in zip(u, w)) / s_uu
    left = sum((c - mean_w - b * (a - mean_u)) ** 2 for a, c in zip(u, w))
    found, error = slope(x, y)
    assert math.isclose(found, b) and math.isclose(error, math.sqrt(left / 3 / s_uu))
    with pytest.raises(ValueError, match="three pairs"):
        slope([1, 2], [1, 2])


def test_fastest_is_the_least_of_the_repeats(monkeypatch):
    """By a clock that the layers move on themselves. The warm-up is faster than any repeat, and doesn't count."""
    now, pauses, shapes = [0.0], iter([0, 30, 2, 30]), []
    monkeypatch.setattr("d2l_ext.sequence.CLOCK", lambda: now[0])

    def layer(X):
        assert torch.get_num_threads() == 1 and not torch.is_grad_enabled()
        shapes.append(tuple(X.shape))
        now[0] += next(pauses) if X.shape[1] == 3 else 1

    threads, random = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(2)
    try:
        assert fastest([(layer, 3, 2), (layer, 4, 2)], repeats=3) == [2, 1]
        with pytest.raises(ZeroDivisionError):
            fastest([(lambda X: 1 / 0, 3, 2)])
        assert torch.get_num_threads() == 2 and torch.equal(torch.get_rng_state(), random)
    finally:
        torch.set_num_threads(threads)
    assert shapes == [(1, 3, 2), (1, 4, 2)] * 4
    fastest([(layer, 5, 2)])
    assert len(shapes) == 8 + 1 + 5, "once to warm up, and five times unless told"


def test_longest_chain_adds_up_over_a_stack():
    stack = nn.Sequential(Convolution(4), SelfAttention(4), Recurrence(4))
    assert longest_chain(stack, 6, 4) == 1 + 4 + 6


def test_what_a_kernel_hides_is_counted_nonetheless(monkeypatch):
    """oneDNN's LSTM counts as nothing, and its graph as one product at most."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch was built without oneDNN: its LSTM hides nothing")
    was = torch.backends.mkldnn.enabled
    assert flops(LSTM(8), 5, 8) == 16 * 5 * 8**2 and longest_chain(LSTM(8), 5, 8) == 5
    assert torch.backends.mkldnn.enabled == was, "put back as it was"
    monkeypatch.setattr("d2l_ext.sequence.visible_products", contextlib.nullcontext)
    assert flops(LSTM(8), 5, 8) == 0 and longest_chain(LSTM(8), 5, 8) < 5


def test_measuring_warns_of_nothing(recwarn):
    flops(LSTM(4), 3, 4), longest_chain(LSTM(4), 3, 4)
    assert not recwarn.list


def test_a_reset_before_the_product_makes_two_products_a_step():
    assert longest_chain(GRU(4), 6, 4) == 6 and longest_chain(ResetBefore(4), 6, 4) == 12


@pytest.mark.parametrize("d", [16, 64, 256])
def test_the_attention_layer_undercuts_gates_while_the_sequence_is_short(d):
    ours = lambda n: cost("attention layer", n, d).operations
    for kind, limit in (("GRU", d), ("LSTM", 2 * d)):
        theirs = lambda n, kind=kind: cost(kind, n, d).operations
        assert ours(limit - 1) < theirs(limit - 1) and ours(limit) == theirs(limit)
        assert ours(limit + 1) > theirs(limit + 1)
    assert all(ours(n) > cost("recurrence", n, d).operations for n in range(1, 4 * d))


def test_the_formulas_are_written_out_for_every_kind_and_field():
    assert all({*Cost._fields, "holds for"} == set(words) for words in FORMULAS.values())
    for kind, words in FORMULAS.items():
        said = re.sub(r"(?<=[\dkn])(?=[knd])", "*", words["operations"].replace("²", "**2"))
        assert eval(said, {"n": 7, "d": 5, "k": 3}) == cost(kind, 7, 5, 3).operations
        assert eval(words["sequential"], {"n": 7}) == cost(kind, 7, 5).sequential
        for field in ("path", "meet"):
            formula = words[field].replace("⌈", "ceil(").replace("⌉", ")").replace("2(n", "2*(n")
            for n in (2, 6, 9):
                assert eval(formula, {"n": n, "k": 5, "ceil": math.ceil}) == getattr(cost(kind, n, 5, 5), field)


@pytest.mark.parametrize("call, words", [
    (lambda: Convolution(4, 2), "kernel_size=2 has no middle"), (lambda: Convolution(4, 0, causal=True), "kernel_size=0 must be at least 1"),
    (lambda: Convolution(4, dilation=0), "dilation=0"), (lambda: Convolution(0), "num_hiddens=0"), (lambda: cost("recurrence", 0, 2), "n=0"),
    (lambda: cost("lstm", 2, 2),
     f"^there is no kind 'lstm': choose from {str([*FORMULAS])[1:-1]}$"),
    (lambda: influence(nn.Identity(), 3), "^model has no parameters to tell the width of its input: give num_hiddens$"),
    (lambda: cost("recurrence", 2, 0), "^d=0"), (lambda: flops(Recurrence(2), 0, 2), "^n=0"), (lambda: flops(Recurrence(2), 2, 0), "^d=0"),
    (lambda: longest_chain(Recurrence(2), 0, 2), "^n=0"), (lambda: longest_chain(Recurrence(2), 2, 0), "^d=0"),
    (lambda: longest_chain(torch.detach, 3, 2), r"^PyTorch recorded no graph from the layer's input to its output: is it detached, or under torch.no_grad\?$"),
    (lambda: slope([0, 1, 2], [1, 1, 1]), r"^a power needs positive numbers, and x that differ; got x=\[0, 1, 2\], y=\[1, 1, 1\]$"),
    (lambda: slope([1, 2, 4], [0, 1, 2]), r"y=\[0, 1, 2\]$"), (lambda: slope([2, 2, 2], [1, 2, 3]), r"x=\[2, 2, 2\]"),
    (lambda: cost("convolution", 2, 2, 1), "k=1 must be odd"), (lambda: cost("convolution", 2, 2, 4), "k=4"), (lambda: SelfAttention(6, 4), "num_heads=4"),
])
def test_bad_sizes_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_kernel_is_counted_in_whole_numbers():
    with pytest.raises(TypeError, match=r"^k must be an integer, got 3\.0"):
        cost("convolution", 2, 2, 3.0)


def test_the_bench_notices_a_wrong_power():
    specification = importlib.util.spec_from_file_location("bench_script", ROOT / "tools/bench/slopes.py")
    bench = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bench)
    times = {kind: [n**power for n in bench.LENGTHS] for kind, power in bench.EXPECTED.items()}
    assert bench.wrong(times) == []
    assert bench.wrong(times | {"recurrence": [n**1.2 for n in bench.LENGTHS]}) == ["recurrence"]
    assert bench.wrong(times | {"attention products": times["convolution"]}) == ["attention products"]
