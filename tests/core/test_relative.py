"""Each relative position is its paper's formula and goes through both paths of attention.

A position is made by ``make(num_heads, head_size)``; every claim holds for all of them.
"""
import copy
import functools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from slow import assert_same, lengths_mask, name_of, outcome, slow_attention, slow_outcome

from d2l_ext import ALiBi, MultiHeadAttention, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from d2l_ext import causal, window
from d2l_ext.relative import RelativePosition, Stretch

HEADS, SIZE = 3, 4  # three heads are no power of two
WIDTH = HEADS * SIZE

# Pair 0 of two turns 0.64 times in 4 steps, which lies between; pair 1 hardly at all.
PARTS = Stretch(4, by="parts", trained=4, turns=(0.25, 1))
MAKE = {
    "none": lambda heads, size: RelativePosition(),
    "shaw": lambda heads, size: ShawRelativeKeys(size, 2),
    "t5": lambda heads, size: T5RelativeBias(heads, 8, 5),
    "t5-one-way": lambda heads, size: T5RelativeBias(heads, 8, 5, bidirectional=False),
    "alibi": lambda heads, size: ALiBi(heads),
    "rotary": lambda heads, size: RotaryEmbedding(size),
    "rotary-halves": lambda heads, size: RotaryEmbedding(size, interleaved=False),
    "rotary-positions": lambda heads, size: RotaryEmbedding(size, stretch=Stretch(4)),
    "rotary-base": lambda heads, size: RotaryEmbedding(size, stretch=Stretch(4, by="base")),
    "rotary-parts": lambda heads, size: RotaryEmbedding(size, stretch=PARTS),
    "rotary-yarn": lambda heads, size: RotaryEmbedding(size, stretch=replace(PARTS, tempered=True)),
}
every_position = pytest.mark.parametrize("name", MAKE)
def attention(make, **options):
    return MultiHeadAttention(WIDTH, HEADS, position=make(HEADS, SIZE), **options)


def inputs(queries, keys, dtype=torch.float32):
    return [torch.randn(2, steps, WIDTH, dtype=dtype) for steps in (queries, keys, keys)]


# ---- slow and right: the score of one query and the key ``offset`` places to its right -----------

def slow_bucket(offset, num_buckets, max_distance, bidirectional):
    """In whole numbers: beyond E, the distances with a bucket each, there are L buckets.

    Number b of them starts where (n / E)^L reaches (max_distance / E)^b.
    """
    side = num_buckets // 2 if bidirectional else num_buckets
    first = side if bidirectional and offset > 0 else 0
    n, E = abs(offset) if bidirectional else max(-offset, 0), side // 2
    L = side - E
    reached = [b for b in range(L) if n ** L >= E ** (L - b) * max_distance ** b]
    return first + (n if n < E else E + max(reached))


def slow_slopes(n):
    """As the paper's text says it for powers of two, and its code for the rest."""
    power = max(2 ** p for p in range(8) if 2 ** p <= n)
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    return slopes if n == power else slopes + slow_slopes(2 * power)[::2][:n - power]


def score_none(position, h, offset, q, k):
    return q @ k / math.sqrt(len(q))


def score_shaw(position, h, offset, q, k):
    row = [-2, -1, 0, 1, 2].index(min(max(offset, -2), 2))
    return q @ (k + position.table[row]) / math.sqrt(len(q))


def score_t5(position, h, offset, q, k):
    return q @ k + position.table[slow_bucket(offset, 8, 5, position.right > 0), h]


def score_alibi(position, h, offset, q, k):
    return q @ k / math.sqrt(len(q)) - slow_slopes(HEADS)[h] * abs(offset)


def as_trained(p, size):
    return 10_000 ** (-2 * p / size)


def slow_positions(p, size, s=4):
    return as_trained(p, size) / s


def slow_base(p, size, s=4):
    return (10_000 * s ** (size / (size - 2))) ** (-2 * p / size)


def slow_parts(p, size, s=4, trained=4, low=0.25, high=1):
    """With the paper's words: the wavelength, its ratio to the training length, the ramp."""
    theta = as_trained(p, size)
    ratio = trained / (2 * math.pi / theta)
    ramp = 0 if ratio < low else 1 if ratio > high else (ratio - low) / (high - low)
    return (1 - ramp) * theta / s + ramp * theta


def score_yarn(*at):
    """The scores of "parts", divided by t, where √(1/t) = 0.1 ln s + 1."""
    return score_rotary(*at, theta=slow_parts) * (0.1 * math.log(4) + 1) ** 2


@functools.cache
def rotation(offset, pairs, theta):
    """R of the score q R k, with the angle of each pair written out."""
    R = torch.zeros(SIZE, SIZE, dtype=torch.float64)
    for p, (a, b) in enumerate(pairs):
        angle = offset * theta(p, SIZE)
        R[a, a] = R[b, b] = math.cos(angle)
        R[a, b], R[b, a] = -math.sin(angle), math.sin(angle)
    return R


def score_rotary(position, h, offset, q, k, pairs=((0, 1), (2, 3)), theta=as_trained):
    return q @ rotation(offset, pairs, theta).to(q) @ k / math.sqrt(SIZE)


SCORES = {"none": score_none, "shaw": score_shaw, "t5": score_t5, "t5-one-way": score_t5,
          "alibi": score_alibi, "rotary": score_rotary,
          "rotary-halves": functools.partial(score_rotary, pairs=((0, 2), (1, 3))),
          "rotary-positions": functools.partial(score_rotary, theta=slow_positions),
          "rotary-base": functools.partial(score_rotary, theta=slow_base),
          "rotary-parts": functools.partial(score_rotary, theta=slow_parts),
          "rotary-yarn": score_yarn}


# ---- claims --------------------------------------------------------------------------------------

def is_its_formula(name, make):
    """Outputs, weights and all gradients, on both paths; the last query stands at the last key."""
    for queries, keys, lengths in [(4, 4, None), (2, 5, None), (5, 3, None), (1, 7, None),
                                   (2, 5, torch.tensor([0, 4])), (3, 3, "causal")]:
        def score(position, at, q, k):
            _, h, i, j = at
            return SCORES[name](position, h, j - (i + keys - queries), q, k)

        options, keep = dict(valid_lens=lengths), None
        if lengths == "causal":
            options, keep = dict(causal=True), causal().tensor(3, 3)
        elif lengths is not None:
            keep = lengths_mask(lengths, queries, keys)
        m, X = attention(make), inputs(queries, keys)
        output, weights, *grads = slow_outcome(slow_attention, m, *X, keep=keep, score=score)
        attend = MultiHeadAttention.__call__
        ours = outcome(attend, m, *X, need_weights=True, **options)
        assert_same(ours, [output, weights, *grads])
        fused = outcome(attend, m, *X, **options)
        assert_same(fused, slow_outcome(lambda m, *X: slow_attention(m, *X, keep, score)[0], m, *X))


def is_right_far_out(name, make):
    """Two tokens 100,000 positions out score each other as at the start, but for rounding."""
    size, far = 16, 100_000
    position, x = make(1, size), torch.randn(2, size).half()
    for dtype, atol in [(torch.float64, 1e-9), (torch.float32, 2e-5), (torch.float16, 0.05),
                        (torch.bfloat16, 0.4)]:
        near, out = (F.pad(x, (0, 0, before, 0)).to(dtype)[None, None] for before in (0, far))
        pairs = (position.transform(X, X) for X in (near, out))
        scores = [q[0, 0, -2:].double() @ k[0, 0, -2:].double().T for q, k in pairs]
        torch.testing.assert_close(*scores, atol=atol, rtol=0)


def holds_in_half_precision(name, make):
    """Module and inputs in half precision: within its rounding of the exact answer."""
    for dtype in (torch.bfloat16, torch.float16):
        m, X = attention(make).to(dtype), torch.randn(1, 300, WIDTH).to(dtype)
        exact = copy.deepcopy(m).double()(*[X.double()] * 3, need_weights=True)[1]
        output, weights = m(X, X, X, need_weights=True)
        assert output.dtype == weights.dtype == m(X, X, X).dtype == dtype
        rtol = 12 * torch.finfo(dtype).eps
        torch.testing.assert_close(weights.double(), exact, atol=2e-4, rtol=rtol)


@pytest.mark.parametrize("claim", [is_its_formula, is_right_far_out, holds_in_half_precision],
                         ids=name_of)
@every_position
def test_every_position_holds_every_claim(claim, name):
    claim(name, MAKE[name])


# ---- offsets, buckets, slopes, tables ------------------------------------------------------------

@pytest.mark.parametrize("sizes", [(32, 128), (8, 5), (4, 3), (6, 20), (10, 1000), (64, 40)])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_those_of_the_definition_in_whole_numbers(sizes, bidirectional):
    buckets = T5RelativeBias(1, *sizes, bidirectional).bucket
    far = range(-3 * sizes[1], 3 * sizes[1] + 1)
    expected = [slow_bucket(offset, *sizes, bidirectional) for offset in far]
    assert buckets(torch.tensor(far)).tolist() == expected
    assert min(expected) == 0 and max(expected) < sizes[0]


@pytest.mark.parametrize("size", [2, 4, 16, 128])
@pytest.mark.parametrize("stretch, theta", [
    (Stretch(4), slow_positions), (Stretch(4, by="base"), slow_base),
    (Stretch(4, by="parts", trained=4, turns=(0.25, 1)), slow_parts),
    (Stretch(4, by="parts", trained=4096), functools.partial(
        slow_parts, trained=4096, low=1, high=32))],
    ids=["positions", "base", "parts", "parts-far"])
def test_stretched_angles_are_those_of_the_papers(stretch, theta, size):
    if size == 2 and stretch.by == "base":  # 4^(2/0): its only pair is the fastest, which stays
        theta = as_trained
    expected = torch.tensor([theta(p, size) for p in range(size // 2)], dtype=torch.float64)
    torch.testing.assert_close(1 / stretch.periods(size), expected, rtol=1e-12, atol=0)


def test_alibis_slopes():
    for heads in range(1, 34):
        assert ALiBi(heads).slopes == pytest.approx(slow_slopes(heads), rel=1e-12)
    assert ALiBi(np.int64(6)).slopes == ALiBi(6).slopes
    assert ALiBi(8).slopes == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    q = torch.zeros(1, 16, 3, SIZE, dtype=torch.float64)
    row, slope = ALiBi(16).bias(q, q)[0, 0, 2].tolist(), 2 ** -0.5
    assert row == pytest.approx([-2 * slope, -slope, 0], rel=1e-12), "double to the last digit"


class Watched(TorchDispatchMode):
    """Notes the names of all kernels that run, and the size of the largest tensor they return."""

    def __init__(self):
        super().__init__()
        self.names, self.largest = [], 0

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        self.names.append(call.overloadpacket.__name__)
        result = call(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            storage = result.untyped_storage().size() // result.element_size()
            self.largest = max(self.largest, storage)
        return result


def test_shaw_makes_no_tensor_of_a_vector_per_pair():
    n, size = 64, 32
    position, q = ShawRelativeKeys(size, 8), torch.randn(1, 2, n, size)
    with Watched() as watched:
        position.bias(q, q).sum().backward()
    assert watched.largest <= 2 * n * n


# ---- one graph, any number of steps, any copy, any device ----------------------------------------

class Layer(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.attention = attention(MAKE[name])

    def forward(self, queries, keys):
        return self.attention(queries, keys, keys)


@pytest.mark.slow
@every_position
def test_it_exports_with_any_number_of_steps(name):
    layer = Layer(name).eval()
    queries, keys = (torch.export.Dim(side, min=2, max=512) for side in ("queries", "keys"))
    example, *others = (tuple(inputs(*pair)[:2]) for pair in [(3, 7), (2, 40), (11, 4)])
    shapes = {"queries": {1: queries}, "keys": {1: keys}}
    program = torch.export.export(layer, example, dynamic_shapes=shapes).module()
    for pair in others:
        torch.testing.assert_close(program(*pair), layer(*pair))


@every_position
def test_it_follows_device_and_dtype(name):
    m, X = attention(MAKE[name]).to("meta"), torch.zeros(2, 5, WIDTH, device="meta")
    assert m(X[:, :2], X, X).device.type == "meta"
    assert m(X, X, X, need_weights=True)[1].shape == (2, HEADS, 5, 5)
    position = MAKE[name](HEADS, SIZE)  # itself in single precision
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        q = torch.randn(2, HEADS, 5, SIZE, dtype=dtype)
        turned = position.transform(q, q)
        bias = position.bias(*turned)
        assert bias is None or bias.dtype == dtype
        assert all(X.dtype == dtype and X.shape == q.shape for X in turned)


@pytest.mark.parametrize("name", ["shaw", "t5", "alibi"])
def test_biases_are_made_where_the_queries_are(name):
    """Also where new tensors would land on another device."""
    position, q = MAKE[name](HEADS, SIZE), torch.randn(1, HEADS, 2, SIZE)
    with torch.device("meta"):
        bias = position.bias(q, q)
    torch.testing.assert_close(bias, position.bias(q, q))


# ---- the fused kernel ----------------------------------------------------------------------------

KERNEL = "_scaled_dot_product_flash_attention_for_cpu"


def kernels_of(m, **options):
    """Those of a step: forward, and backward where it learns."""
    X = torch.randn(2, 8, WIDTH, requires_grad=torch.is_grad_enabled())
    with Watched() as watched:
        loss = m(X, X, X, **options).sum()
        if loss.requires_grad:
            loss.backward()
    return watched.names


@pytest.mark.parametrize("options", [dict(), dict(causal=True), dict(mask=window(2), causal=True),
                                     dict(valid_lens=torch.tensor([3, 8]))],
                         ids=lambda options: "-".join(options))
@pytest.mark.parametrize("name", ["none", "alibi", "rotary", "rotary-halves", "rotary-yarn"])
def test_what_is_not_learned_stays_on_the_fused_kernel(name, options):
    names = kernels_of(attention(MAKE[name]), **options)
    assert names.count(KERNEL) == names.count(f"{KERNEL}_backward") == 1
