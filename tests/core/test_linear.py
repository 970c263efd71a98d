"""Layers with a memory equal slow definitions in every form, and go on where they stopped.

A layer is made by ``make(chunk_size)`` (a state space: any size but 1 is the parallel scan); every
claim holds for all of them.
"""
import copy
import functools
import math

import pytest
import torch
from torch.nn import functional as F
from slow import assert_same, name_of, outcome, slow_outcome

from d2l_ext import GRU, LSTM, Convolution, Recurrence, SelfAttention, cost, flops, linear, reach
from d2l_ext.linear import DeltaRule, LinearAttention, SelectiveStateSpace
from d2l_ext.linear import decay_mask, elu_plus_one
from d2l_ext.linear import parallel_scan, scan
from d2l_ext.sequence import LINEAR_FORMULAS, STATES, longest_chain, state_size

WIDTH, HEADS = 6, 2
FORMS = None, 1, 2, 3, 5, 9


def attention(**options):
    return lambda chunk_size=None: LinearAttention(WIDTH, HEADS, chunk_size=chunk_size, **options)


def delta(chunk_size=None):
    return DeltaRule(WIDTH, HEADS, chunk_size=chunk_size)


def state_space(chunk_size=None):
    return SelectiveStateSpace(WIDTH, 3, parallel=chunk_size != 1)


MAKE = {
    "plain": attention(feature_map=None, normalise=False),
    "normalised": attention(),
    "fixed decay": attention(decay="fixed"),
    "input's decay": attention(decay="input", normalise=False),
    "input's decay, normalised": attention(decay="input"),
    "delta rule": delta,
    "delta rule, to 2": lambda chunk_size=None: DeltaRule(WIDTH, HEADS, max_rate=2,
                                                          chunk_size=chunk_size),
    "state space": state_space,
}
every_layer = pytest.mark.parametrize("name", MAKE)
every_form = pytest.mark.parametrize("chunk_size", FORMS)


def sequence(n=7, batch=2):
    return torch.randn(batch, n, WIDTH)


# ---- slow and right: one sequence, one head, one step at a time ----------------------------------

def heads_of(W, x, heads=HEADS):
    return W(x).split(WIDTH // heads)


def slow_attention(m, X):
    """Σ_j weight_ij v_j; each weight is a product of decays and a score."""
    def decay(x, h):
        if m.decay == "input":
            return torch.sigmoid(m.W_a(x)[h])
        return 1 - 2.0 ** (-5 - h) if m.decay == "fixed" else 1.0

    def output(sequence, i):
        heads = []
        for h in range(HEADS):
            total, norm = 0, 0
            for j in range(i + 1):
                q, k = heads_of(m.W_q, sequence[i])[h], heads_of(m.W_k, sequence[j])[h]
                if m.feature_map is not None:
                    q, k = (torch.where(x > 0, x + 1, x.exp()) for x in (q, k))
                kept = math.prod(decay(sequence[t], h) for t in range(j + 1, i + 1))
                total = total + kept * (q @ k) * heads_of(m.W_v, sequence[j])[h]
                norm = norm + kept * (q @ k)
            heads.append(total / norm if m.extra else total)
        return m.W_o(torch.cat(heads))
    return by_output(output, X)


def by_output(output, X):
    return torch.stack([torch.stack([output(sequence, i) for i in range(len(sequence))])
                        for sequence in X])


def slow_delta(m, X):
    """The memory moves against the gradient of its loss, which autograd finds."""
    batches = []
    for sequence in X:
        S, rows = torch.zeros(HEADS, WIDTH // HEADS, WIDTH // HEADS, dtype=X.dtype), []
        for x in sequence:
            q, k, v = (torch.stack(heads_of(W, x)) for W in (m.W_q, m.W_k, m.W_v))
            q, k = (vectors / vectors.norm(dim=1, keepdim=True) for vectors in (q, k))

            def loss(S, k=k, v=v):
                return (torch.einsum("hkv,hk->hv", S, k) - v).square().sum() / 2
            rate = m.max_rate * torch.sigmoid(m.W_b(x))[:, None, None]
            S = S - rate * torch.func.grad(loss)(S)
            rows.append(m.W_o(torch.einsum("hkv,hk->hv", S, q).flatten()))
        batches.append(torch.stack(rows))
    return torch.stack(batches)


def slow_state_space(m, X):
    """Number by number."""
    batches = []
    for sequence in X:
        h, rows = [[0.0] * m.state_size for _ in range(WIDTH)], []
        for x in sequence:
            u, B, C, step = m.W_u(x), m.W_B(x), m.W_C(x), m.W_delta(x)[0]
            y = []
            for c in range(WIDTH):
                delta = torch.log1p(torch.exp(step + m.bias[c]))
                for s in range(m.state_size):
                    kept = torch.exp(-delta * torch.exp(m.log_A[c, s]))
                    h[c][s] = kept * h[c][s] + delta * B[s] * u[c]
                y.append(sum(C[s] * h[c][s] for s in range(m.state_size)) + m.D[c] * u[c])
            rows.append(m.W_o(torch.stack(y)))
        batches.append(torch.stack(rows))
    return torch.stack(batches)


def slow(m, X):
    if isinstance(m, SelectiveStateSpace):
        return slow_state_space(m, X)
    return slow_delta(m, X) if isinstance(m, DeltaRule) else slow_attention(m, X)


def call(m, *X, **options):
    return m(*X, **options)


# ---- claims -----------------------------------------------------

def is_its_definition(make):
    """Outputs and all gradients."""
    for chunk_size in (None, 1, 3):
        m, X = make(chunk_size), sequence(5)
        assert_same(outcome(call, m, X), slow_outcome(slow, m, X))


def has_equal_forms(make):
    """Outputs, states and all gradients, to 1e-10; at once too, without asking for the state."""
    first, *others = (make(chunk_size).double() for chunk_size in FORMS)
    for n in (1, 5, 7):
        X = sequence(n).double()
        expected = outcome(call, first, X, need_state=True)
        assert_same([first(X)], expected[:1], atol=1e-10, rtol=1e-10)
        for m in others:
            m.load_state_dict(first.state_dict())
            assert_same(outcome(call, m, X, need_state=True), expected, atol=1e-10, rtol=1e-10)


def goes_on(make):
    """Pieces give what the whole gives, each with the state of the one before."""
    for chunk_size in (None, 1, 2, 3):
        m, X = make(chunk_size).double(), sequence(9).double()
        whole, last = m(X, need_state=True)
        for cuts in ([4, 5], [1] * 9, [2, 0, 7]):
            state, outputs = None, []
            for piece in X.split(cuts, 1):
                Y, state = m(piece, state=state, need_state=True)
                outputs.append(Y)
            assert_same([torch.cat(outputs, 1), state], [whole, last], atol=1e-10, rtol=1e-10)


def is_blind_to_padding(make):
    """What stands beyond a length changes no output within it, no state, and gets no gradient."""
    lengths = torch.tensor([3, 0, 6])
    for chunk_size in (None, 1, 4):
        m, clean = make(chunk_size).double(), sequence(6, batch=3).double()
        X = clean.clone()
        for x, n, poison in zip(X, lengths, (math.nan, math.inf, 0)):
            x[n:] = poison
        X.requires_grad_()
        Y, state = m(X, lengths, need_state=True)
        for y, x, s, n in zip(Y, clean, state, lengths):
            alone, wanted = m(x[None, :n], need_state=True)
            assert_same([y[:n], s], [alone[0], wanted[0]], atol=1e-10, rtol=1e-10)
        within = sum(y[:n].sum() for y, n in zip(m(X, lengths), lengths))
        for loss in (within, state.sum()):
            grads = torch.autograd.grad(loss, [X, *m.parameters()], retain_graph=True,
                                        materialize_grads=True, allow_unused=True)
            assert all(grad.isfinite().all() for grad in grads)
            assert not any(grad[n:].any() for grad, n in zip(grads[0], lengths))


def sees_the_past_and_nothing_else(make):
    for chunk_size in (None, 1, 3):
        assert torch.equal(reach(make(chunk_size), 6, WIDTH), torch.ones(6, 6).tril().bool())


def holds_in_half_precision(make):
    """Over 300 steps, within its rounding of the exact answer; the memory is single precision."""
    for dtype in (torch.bfloat16, torch.float16):
        m, X = make(16).to(dtype), sequence(300, batch=1).to(dtype)
        exact = copy.deepcopy(m).double()(X.double())
        Y, state = m(X, need_state=True)
        assert Y.dtype == dtype and state.dtype == torch.float32
        error = (Y.double() - exact).norm() / exact.norm()
        assert error < 6 * torch.finfo(dtype).eps, error


CLAIMS = [is_its_definition, has_equal_forms, goes_on, is_blind_to_padding,
          sees_the_past_and_nothing_else, holds_in_half_precision]


@pytest.mark.parametrize("claim", CLAIMS, ids=name_of)
@every_layer
def test_every_layer_holds_every_claim(claim, name):
    claim(MAKE[name])


# ---- what a memory is ----------------------------------------------------------------------------


def test_decays_are_those_of_the_papers():
    mask = decay_mask(torch.full((1, 4), math.log(0.9)))
    i = torch.arange(4)
    torch.testing.assert_close(mask[0], (0.9 ** (i[:, None] - i).float()).tril())
    assert linear.fixed_decays(3) == [31 / 32, 63 / 64, 127 / 128]
    steps = torch.nn.functional.softplus(SelectiveStateSpace(num_hiddens=5).bias).log10()
    torch.testing.assert_close(steps, torch.tensor([-3, -2.5, -2, -1.5, -1]))
    start = LinearAttention(8, 4, decay="input").W_a.bias.sigmoid()
    torch.testing.assert_close(start, torch.tensor(linear.fixed_decays(4)))


def test_the_feature_map_is_positive_and_its_papers():
    x = torch.linspace(-80, 80, 1001)
    assert (elu_plus_one(x[x > -15]) > 0).all() and elu_plus_one(torch.zeros(1)) == 1
    torch.testing.assert_close(elu_plus_one(x), F.elu(x) + 1)


@pytest.mark.parametrize("n, rounds", [(1, 0), (2, 1), (3, 2), (64, 6), (65, 7)])
def test_a_parallel_scan_takes_logarithmically_many_rounds(n, rounds):
    """Additions that wait for each other, on the longest way through the graph."""
    @functools.cache
    def additions(node):
        before = [additions(earlier) for earlier, _ in node.next_functions if earlier]
        return node.name().startswith("AddBackward") + max(before, default=0)
    for how, expected in ((parallel_scan, rounds), (scan, n)):
        h = how(torch.rand(1, n), torch.rand(1, n, requires_grad=True))
        assert additions(h.grad_fn) == expected if h.grad_fn else expected == 0


# ---- costs ---------------------------------------------------------------------------------------

def costs_what_pytorch_counts(formula):
    for n, d, c, h in [(12, 4, 3, 1), (13, 10, 4, 5), (5, 8, 64, 2), (8, 3, 8, 3)]:
        plain = functools.partial(LinearAttention, d, h, feature_map=None, normalise=False)
        layers = {"linear attention, at once": plain(),
                  "linear attention, in chunks": plain(chunk_size=c),
                  "linear attention, by token": plain(chunk_size=1),
                  "delta rule, by token": DeltaRule(d, h, chunk_size=1)}
        assert layers.keys() == LINEAR_FORMULAS.keys()
        for kind, layer in layers.items():
            found = formula(kind, n, d, 3, c, h)
            assert found.operations == flops(layer, n, d), kind
            assert found.sequential == longest_chain(layer, n, d), kind


def keeps_what_it_needs(formula):
    """What a layer hands on, or would have to, is counted in the layer itself."""
    for n, d, k, h in [(12, 4, 3, 1), (9, 6, 5, 2), (7, 12, 3, 3)]:
        X = torch.randn(1, n, d)
        softmax = SelfAttention(d, causal=True).attention
        keys, values = softmax.W_k(X), softmax.W_v(X)
        window = reach(Convolution(d, k, causal=True), n)[-1].sum().item()
        plain = functools.partial(LinearAttention, d, h, feature_map=None, normalise=False)
        kept = {
            "convolution": (window - 1) * d,  # its newest input is still to come
            "recurrence": Recurrence(d).rnn(X)[1].numel(), "GRU": GRU(d).rnn(X)[1].numel(),
            "LSTM": sum(part.numel() for part in LSTM(d).rnn(X)[1]),
            "attention products": keys.numel() + values.numel(),
            "attention layer": keys.numel() + values.numel(),
            "linear attention, at once": plain()(X, need_state=True)[1].numel(),
            "linear attention, in chunks": plain(chunk_size=4)(X, need_state=True)[1].numel(),
            "linear attention, by token": plain(chunk_size=1)(X, need_state=True)[1].numel(),
            "delta rule, by token": DeltaRule(d, h)(X, need_state=True)[1].numel()}
        assert kept.keys() == STATES.keys()
        for kind, numbers in kept.items():
            assert formula(kind, n, d, k, h) == numbers, kind


@pytest.mark.parametrize("claim, formula", [(costs_what_pytorch_counts, cost),
                                            (keeps_what_it_needs, state_size)])
def test_costs_are_what_is_counted(claim, formula):
    claim(formula)


# ---- beside the numbers --------------------------------------------------------------------------

@every_layer
@every_form
def test_empty_sequences_and_batches_pass(name, chunk_size):
    m, state = MAKE[name](chunk_size), MAKE[name]()(sequence(), need_state=True)[1]
    assert m(sequence(0)).shape == (2, 0, WIDTH) and m(sequence(4, batch=0)).shape == (0, 4, WIDTH)
    Y, same = m(sequence(0), state=state, need_state=True)
    assert Y.shape == (2, 0, WIDTH) and torch.equal(same, state)
    assert not m(sequence(0), need_state=True)[1].any()


@every_layer
def test_it_works_under_autocast(name):
    m, X = MAKE[name](3), sequence()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        Y, state = m(X, torch.tensor([7, 4]), need_state=True)
    assert Y.dtype == torch.bfloat16 and state.dtype == torch.float32
    torch.testing.assert_close(Y.float()[0], m(X)[0], atol=0.05, rtol=0.05)


@pytest.mark.slow
@every_layer
@pytest.mark.parametrize("chunk_size", [None, 1, 3])
def test_compiles_in_one_graph_with_the_same_results(name, chunk_size):
    m, X, lengths = MAKE[name](chunk_size), sequence(), torch.tensor([7, 4])
    torch.compiler.reset()
    compiled = torch.compile(m, fullgraph=True, backend="aot_eager")
    options = dict(valid_lens=lengths, need_state=True)
    assert_same(outcome(lambda _, X, **o: compiled(X, **o), m, X, **options),
                outcome(call, m, X, **options))
