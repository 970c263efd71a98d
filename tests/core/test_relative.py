"""Each relative position is its paper's formula and goes through both paths of attention."""
import copy
import functools
import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from slow import assert_same, lengths_mask, outcome, slow_attention, slow_outcome

from d2l_ext import ALiBi, MultiHeadAttention, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from d2l_ext import causal, window
from d2l_ext.relative import RelativePosition

HEADS, SIZE = 3, 4  # three isn't a power of two
WIDTH = HEADS * SIZE
PERIODS = 1.5, 40.0


# ---- slow and right: the score of one query and the key ``offset`` places to its right ----

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


def score_rotary(position, h, offset, q, k, pairs=((0, 1), (2, 3)), periods=(1, 100)):
    """q R k, with the angle of each pair written out."""
    R = torch.zeros(SIZE, SIZE, dtype=q.dtype)
    for (a, b), period in zip(pairs, periods):
        R[a, a] = R[b, b] = math.cos(offset / period)
        R[a, b], R[b, a] = -math.sin(offset / period), math.sin(offset / period)
    return q @ R @ k / math.sqrt(SIZE)


EVERY = {  # made for heads and their size, and its score
    "none": (lambda heads, size: RelativePosition(), score_none),
    "shaw": (lambda heads, size: ShawRelativeKeys(size, 2), score_shaw),
    "t5": (lambda heads, size: T5RelativeBias(heads, 8, 5), score_t5),
    "t5-one-way": (lambda heads, size: T5RelativeBias(heads, 8, 5, bidirectional=False), score_t5),
    "alibi": (lambda heads, size: ALiBi(heads), score_alibi),
    "rotary": (lambda heads, size: RotaryEmbedding(size), score_rotary),
    "rotary-halves": (lambda heads, size: RotaryEmbedding(size, interleaved=False),
                      functools.partial(score_rotary, pairs=((0, 2), (1, 3)))),
    "rotary-periods": (lambda heads, size: RotaryEmbedding(
        size, periods=torch.linspace(*PERIODS, size // 2, dtype=torch.float64)),
        functools.partial(score_rotary, periods=PERIODS)),
}
every_position = pytest.mark.parametrize("make, score", EVERY.values(), ids=EVERY)


def attention(make):
    return MultiHeadAttention(WIDTH, HEADS, position=make(HEADS, SIZE))


@every_position
def test_it_is_its_formula(make, score):
    """Outputs, weights and all gradients, on both paths; the last query stands at the last key."""
    for queries, keys, lengths in [(4, 4, None), (2, 5, None), (5, 3, None), (1, 7, None),
                                   (2, 5, torch.tensor([0, 4])), (3, 3, "causal")]:
        def at(position, place, q, k):
            _, h, i, j = place
            return score(position, h, j - (i + keys - queries), q, k)

        options, keep = dict(valid_lens=lengths), None
        if lengths == "causal":
            options, keep = dict(causal=True), causal().tensor(3, 3)
        elif lengths is not None:
            keep = lengths_mask(lengths, queries, keys)
        m, X = attention(make), [torch.randn(2, n, WIDTH) for n in (queries, keys, keys)]
        attend = MultiHeadAttention.__call__
        assert_same(outcome(attend, m, *X, need_weights=True, **options),
                    slow_outcome(slow_attention, m, *X, keep=keep, score=at))
        assert_same(outcome(attend, m, *X, **options),
                    slow_outcome(lambda m, *X: slow_attention(m, *X, keep, at)[0], m, *X))


@every_position
def test_it_is_right_far_out(make, score):
    """Two tokens 100,000 positions out score each other as at the start, but for rounding."""
    size, far = 16, 100_000
    position, x = make(1, size), torch.randn(2, size).half()
    for dtype, atol in [(torch.float64, 1e-9), (torch.float32, 2e-5), (torch.float16, 0.05),
                        (torch.bfloat16, 0.4)]:
        near, out = (F.pad(x, (0, 0, before, 0)).to(dtype)[None, None] for before in (0, far))
        pairs = (position.transform(X, X) for X in (near, out))
        scores = [q[0, 0, -2:].double() @ k[0, 0, -2:].double().T for q, k in pairs]
        torch.testing.assert_close(*scores, atol=atol, rtol=0)


@every_position
def test_it_follows_dtype_and_device(make, score):
    """Half precision stays within its rounding of the exact answer."""
    for dtype in (torch.bfloat16, torch.float16):
        m, X = attention(make).to(dtype), torch.randn(1, 300, WIDTH).to(dtype)
        exact = copy.deepcopy(m).double()(*[X.double()] * 3, need_weights=True)[1]
        output, weights = m(X, X, X, need_weights=True)
        assert output.dtype == weights.dtype == m(X, X, X).dtype == dtype
        rtol = 12 * torch.finfo(dtype).eps
        torch.testing.assert_close(weights.double(), exact, atol=2e-4, rtol=rtol)
        q = torch.randn(2, HEADS, 5, SIZE, dtype=dtype)
        position = make(HEADS, SIZE)  # itself in single precision
        bias = position.bias(*position.transform(q, q))
        assert bias is None or bias.dtype == dtype
    m, X = attention(make).to("meta"), torch.zeros(2, 5, WIDTH, device="meta")
    assert m(X[:, :2], X, X, need_weights=True)[1].shape == (2, HEADS, 2, 5)


@pytest.mark.parametrize("sizes", [(32, 128), (8, 5), (4, 3), (6, 20), (10, 1000), (64, 40)])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_those_of_the_definition_in_whole_numbers(sizes, bidirectional):
    buckets = T5RelativeBias(1, *sizes, bidirectional).bucket
    far = range(-3 * sizes[1], 3 * sizes[1] + 1)
    expected = [slow_bucket(offset, *sizes, bidirectional) for offset in far]
    assert buckets(torch.tensor(far)).tolist() == expected
    assert min(expected) == 0 and max(expected) < sizes[0]
    (name, table), = T5RelativeBias(3).state_dict().items()
    assert name == "table" and table.shape == (32, 3)


def test_alibis_slopes():
    for heads in range(1, 34):
        assert ALiBi(heads).slopes == pytest.approx(slow_slopes(heads), rel=1e-12)
    q = torch.zeros(1, 16, 3, SIZE, dtype=torch.float64)
    row, slope = ALiBi(16).bias(q, q)[0, 0, 2].tolist(), 2 ** -0.5
    assert row == pytest.approx([-2 * slope, -slope, 0], rel=1e-12), "double to the last digit"


# ---- what runs ----

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


KERNEL = "_scaled_dot_product_flash_attention_for_cpu"


@pytest.mark.parametrize("options", [dict(), dict(causal=True), dict(mask=window(2), causal=True)],
                         ids=lambda options: "-".join(options))
@pytest.mark.parametrize("name", ["none", "alibi", "rotary"])
def test_what_is_not_learned_stays_on_the_fused_kernel(name, options):
    """Forward and backward."""
    X = torch.randn(2, 8, WIDTH, requires_grad=True)
    with Watched() as watched:
        attention(EVERY[name][0])(X, X, X, **options).sum().backward()
    assert watched.names.count(KERNEL) == watched.names.count(f"{KERNEL}_backward") == 1
