"""Each relative position is its paper's formula, depends on offsets alone, and goes through both ways of multi-head attention.

A position is made by ``make(num_heads, head_size)``. A claim holds for all of them, or is named in ``WRONG`` beside a mistake that it catches.
"""
import copy
import math
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from wrong import assert_same, lengths_mask, outcome, slow_linear, slow_softmax

from d2l_ext import ALiBi, MultiHeadAttention, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias, causal, sinusoids, window
from d2l_ext.relative import RelativePosition, offsets

HEADS, SIZE = 3, 4  # and three heads are no power of two

MAKE = {
    "none": lambda heads, size: RelativePosition(),
    "shaw": lambda heads, size: ShawRelativeKeys(size, 2),
    "t5": lambda heads, size: T5RelativeBias(heads, 8, 5),
    "t5-one-way": lambda heads, size: T5RelativeBias(heads, 8, 5, bidirectional=False),
    "alibi": lambda heads, size: ALiBi(heads),
    "rotary": lambda heads, size: RotaryEmbedding(size),
    "rotary-halves": lambda heads, size: RotaryEmbedding(size, interleaved=False),
}
every_position = pytest.mark.parametrize("name", MAKE)
LEARNED = {"shaw": (5, SIZE), "t5": (8, HEADS), "t5-one-way": (8, HEADS)}  # the shape of the table


def attention(make, heads=HEADS, size=SIZE, **options):
    return MultiHeadAttention(heads * size, heads, position=make(heads, size), **options)


def inputs(queries, keys):
    return [torch.randn(2, steps, HEADS * SIZE) for steps in (queries, keys, keys)]


# ---- slow and right: the score of one query, at position i, and one key, at position j --------------------------------------------------------------

def slow_bucket(offset, num_buckets, max_distance, bidirectional):
    """In whole numbers: from E on, bucket E + b starts where (n / E)^L reaches (max_distance / E)^b, with L buckets beyond E."""
    side = num_buckets // 2 if bidirectional else num_buckets
    first = side if bidirectional and offset > 0 else 0
    n = abs(offset) if bidirectional else max(-offset, 0)
    exact = side // 2
    L = side - exact
    return first + (n if n < exact else exact + max(b for b in range(L) if n ** L >= exact ** (L - b) * max_distance ** b))


def slow_slopes(n):
    """As the paper's text says it for powers of two, and its code for the rest."""
    power = 1
    while 2 * power <= n:
        power *= 2
    slopes = [(2 ** (-8 / power)) ** (h + 1) for h in range(power)]
    return slopes + [slope for h, slope in enumerate(slow_slopes(2 * power)) if h % 2 == 0][:n - power] if n > power else slopes


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def score_none(position, h, q, k, i, j):
    return dot(q, k) / math.sqrt(len(q))


def score_shaw(position, h, q, k, i, j):
    c = position.max_distance
    a = position.table[{offset: row for row, offset in enumerate(range(-c, c + 1))}[min(max(j - i, -c), c)]]
    return dot(q, k + a) / math.sqrt(len(q))


def score_t5(position, h, q, k, i, j):
    return dot(q, k) + position.table[slow_bucket(j - i, 8, 5, position.right > 0), h]


def score_alibi(position, h, q, k, i, j):
    return dot(q, k) / math.sqrt(len(q)) - slow_slopes(HEADS)[h] * abs(i - j)


def score_rotary(position, h, q, k, i, j, pairs=((0, 1), (2, 3))):
    """q R(j - i) k, pair by pair, with the rotation written out as a matrix."""
    total = 0
    for p, (a, b) in enumerate(pairs):
        angle = (j - i) * 10_000 ** (-2 * p / SIZE)
        turned = (math.cos(angle) * k[a] - math.sin(angle) * k[b], math.sin(angle) * k[a] + math.cos(angle) * k[b])
        total = total + dot((q[a], q[b]), turned)
    return total / math.sqrt(SIZE)


def score_rotary_halves(*arguments):
    return score_rotary(*arguments, pairs=((0, 2), (1, 3)))


SCORES = {"none": score_none, "shaw": score_shaw, "t5": score_t5, "t5-one-way": score_t5, "alibi": score_alibi, "rotary": score_rotary,
          "rotary-halves": score_rotary_halves}


def slow_attend(m, score, queries, keys, values, keep=None):
    """One query, one head, one key at a time; the last query stands at the last key."""
    output, weights = [], torch.zeros(len(queries), HEADS, queries.shape[1], keys.shape[1]).double()
    for b in range(len(queries)):
        k_all, v_all = ([slow_linear(linear, x) for x in X[b]] for linear, X in ((m.W_k, keys), (m.W_v, values)))
        for row, x in enumerate(queries[b]):
            i, q_all, heads = row + keys.shape[1] - queries.shape[1], slow_linear(m.W_q, x), []
            for h in range(HEADS):
                block = slice(h * SIZE, (h + 1) * SIZE)
                seen = [j for j in range(keys.shape[1]) if keep is None or keep.expand(weights.shape)[b, h, row, j]]
                shares = slow_softmax([score(m.position, h, q_all[block], k_all[j][block], i, j) for j in seen])
                heads.append(sum((w * v_all[j][block] for w, j in zip(shares, seen)), torch.zeros(SIZE).double()))
                for w, j in zip(shares, seen):
                    weights = weights.index_put(tuple(map(torch.tensor, (b, h, row, j))), w)
            output.append(slow_linear(m.W_o, torch.cat(heads)))
    return torch.stack(output).reshape(len(queries), queries.shape[1], -1), weights


# ---- claims that mistakes break ---------------------------------------------------------------------------------------------------------------------

def is_its_formula(name, make, kind=MultiHeadAttention):
    """Outputs, weights, and all gradients, on both paths: as many queries as keys, fewer, more, and one; free, with lengths, causal."""
    for queries, keys, lengths in [(6, 6, None), (2, 5, None), (5, 3, None), (1, 1, None), (1, 7, None), (2, 5, torch.tensor([0, 4])), (4, 4, "causal")]:
        m = kind(HEADS * SIZE, HEADS, position=make(HEADS, SIZE))
        options = dict(causal=True) if lengths == "causal" else dict(valid_lens=lengths)
        keep = causal().tensor(4, 4) if lengths == "causal" else None if lengths is None else lengths_mask(lengths, queries, keys)
        X, exact = inputs(queries, keys), copy.deepcopy(m).double()
        X64 = [x.double() for x in X]
        slow = lambda m, *X: slow_attend(m, SCORES[name], *X, keep)
        assert_same(outcome(lambda m, *X: m(*X, **options, need_weights=True), m, *X), outcome(slow, exact, *X64))
        assert_same(outcome(lambda m, *X: m(*X, **options), m, *X), outcome(lambda m, *X: slow(m, *X)[0], exact, *X64))


def depends_on_offsets_alone(name, make):
    """The same tokens further right, in a longer sequence whose other tokens are hidden, attend to each other as before."""
    m, n, X = attention(make).double(), 5, torch.randn(1, 5, HEADS * SIZE).double()
    _, here = m(X, X, X, need_weights=True)
    for shift in (1, 2, 7, 300):
        longer = torch.randn(1, shift + n + 3, HEADS * SIZE).double()
        longer[:, shift:shift + n] = X
        for options in (dict(need_weights=True), {}):
            there = m(longer, longer, longer, mask=lambda query, key: (key >= shift) & (key < shift + n) & (query >= 0), **options)
            if options:
                torch.testing.assert_close(there[1][:, :, shift:shift + n, shift:shift + n], here, atol=1e-10, rtol=1e-8)
                there = there[0]
            torch.testing.assert_close(there[:, shift:shift + n], m(X, X, X), atol=1e-10, rtol=1e-8)


def serves_a_cache(name, make):
    """Chunk after chunk of queries, each with all keys up to its last, gives what the whole sequence gives at once."""
    m, X = attention(make).double(), torch.randn(2, 7, HEADS * SIZE).double()
    whole = m(X, X, X, causal=True)
    for start, end in [(6, 7), (0, 1), (2, 5), (5, 7)]:
        seen = X[:, :end]
        torch.testing.assert_close(m(X[:, start:end], seen, seen, mask=causal(offset=start)), whole[:, start:end])


def is_right_far_out(name, make):
    """Two tokens 100,000 positions out, in every precision, score each other as they do at the start, but for rounding."""
    size, far = 64, 100_000
    position, x = make(1, size), torch.randn(2, size).half()
    for dtype, atol in ((torch.float64, 1e-9), (torch.float32, 2e-5), (torch.float16, 0.05), (torch.bfloat16, 0.4)):
        near, out = x.to(dtype).expand(1, 1, 2, size), torch.zeros(1, 1, far + 2, size, dtype=dtype)
        out[..., -2:, :] = x
        scores = [q[..., -2:, :].double() @ k[..., -2:, :].mT.double() for q, k in (position.transform(X, X) for X in (near, out))]
        torch.testing.assert_close(*scores, atol=atol, rtol=0)


def holds_in_half_precision(name, make):
    """Module and inputs in half precision: within its rounding of the exact answer, and in its dtype."""
    for dtype in (torch.bfloat16, torch.float16):
        m = attention(make).to(dtype)
        X = torch.randn(1, 300, HEADS * SIZE).to(dtype)
        exact = copy.deepcopy(m).double()(X.double(), X.double(), X.double(), need_weights=True)[1]
        output, weights = m(X, X, X, need_weights=True)
        assert output.dtype == weights.dtype == m(X, X, X).dtype == dtype
        torch.testing.assert_close(weights.double(), exact, atol=2e-4, rtol=12 * torch.finfo(dtype).eps)


CLAIMS = [is_its_formula, depends_on_offsets_alone, serves_a_cache, is_right_far_out, holds_in_half_precision]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
@every_position
def test_every_position_holds_every_claim(claim, name):
    claim(name, MAKE[name])


class ClippedOneEarly(ShawRelativeKeys):
    def bias(self, q, k):
        rows = offsets(q.shape[2], k.shape[2]).clamp(-self.max_distance, self.max_distance - 1) + self.max_distance
        return (q / math.sqrt(q.shape[-1]) @ self.table.mT).gather(-1, rows.expand(*q.shape[:2], -1, -1))


class RowsOffByOne(ShawRelativeKeys):
    def bias(self, q, k):
        rows = (offsets(q.shape[2], k.shape[2]) + 1).clamp(-self.max_distance, self.max_distance) + self.max_distance
        return (q / math.sqrt(q.shape[-1]) @ self.table.mT).gather(-1, rows.expand(*q.shape[:2], -1, -1))


class LookedUpBackwards(ShawRelativeKeys):
    def bias(self, q, k):
        rows = (-offsets(q.shape[2], k.shape[2])).clamp(-self.max_distance, self.max_distance) + self.max_distance
        return (q / math.sqrt(q.shape[-1]) @ self.table.mT).gather(-1, rows.expand(*q.shape[:2], -1, -1))


class BiasNotScaled(ShawRelativeKeys):
    def bias(self, q, k):
        return super().bias(q, k) * math.sqrt(q.shape[-1])


class NumbersOfPositions(ShawRelativeKeys):
    """A row per key position, not per offset."""

    def bias(self, q, k):
        rows = torch.arange(k.shape[2]).clamp(max=2 * self.max_distance).expand(*q.shape[:3], -1)
        return (q / math.sqrt(q.shape[-1]) @ self.table.mT).gather(-1, rows)


class StillScaled(T5RelativeBias):
    def transform(self, q, k):
        return q, k


class SidesSwapped(T5RelativeBias):
    def bucket(self, offset):
        return super().bucket(-offset)


class EdgesOneLate(T5RelativeBias):
    def bucket(self, offset):
        return torch.bucketize(offset.abs(), self.edges, right=False) + self.right * (offset > 0)


class BothSidesOneHalf(T5RelativeBias):
    def bucket(self, offset):
        return super().bucket(-offset.abs())


class FromTheTopLeft(ALiBi):
    """The first query stands at the first key."""

    def bias(self, q, k):
        return super().bias(k, k)[:, :, :q.shape[2]]


class FartherIsBetter(ALiBi):
    def bias(self, q, k):
        return -super().bias(q, k)


class SlopesFromOne(ALiBi):
    def bias(self, q, k):
        return super().bias(q, k) * 2 ** (8 / 2)  # HEADS=3: its power of two is 2


class OneSlopeForAll(ALiBi):
    def bias(self, q, k):
        return super().bias(q, k)[:, :1]


class DistancesInHalf(ALiBi):
    """(int -> bfloat16: 257 is 256)"""

    def bias(self, q, k):
        n = k.shape[2]
        i = torch.arange(n).to(q.dtype)
        return (-torch.tensor(self.slopes, dtype=q.dtype)[:, None, None] * (i - i[:, None]).abs())[None, :, n - q.shape[2]:]


class OnlyQueriesTurn(RotaryEmbedding):
    def transform(self, q, k):
        return super().transform(q, k)[0], k


class TurnsBackwards(RotaryEmbedding):
    def rotate(self, X, table):
        return super().rotate(X, table * torch.tensor([-1.0, 1.0]).repeat(table.shape[-1] // 2))


class KeysTurnBackwards(RotaryEmbedding):
    def transform(self, q, k):
        table = sinusoids(k.shape[2], self.head_size)
        return super().transform(q, k)[0], self.rotate(k, table * torch.tensor([-1.0, 1.0]).repeat(self.head_size // 2))


class AddsInstead(RotaryEmbedding):
    def rotate(self, X, table):
        return X + table.to(X)


class AnglesIn(RotaryEmbedding):
    def __init__(self, head_size, dtype):
        super().__init__(head_size)
        self.dtype = dtype

    def rotate(self, X, table):
        frequencies = (10_000 ** (-torch.arange(0, self.head_size, 2) / self.head_size)).to(self.dtype)
        angles = torch.arange(len(table)).to(self.dtype)[:, None] * frequencies
        return super().rotate(X, torch.stack([angles.sin(), angles.cos()], -1).flatten(1))


class StartsAtZero(RotaryEmbedding):
    """A single query is always turned as if it stood first."""

    def transform(self, q, k):
        return self.rotate(q, sinusoids(q.shape[2], self.head_size)), self.rotate(k, sinusoids(k.shape[2], self.head_size))


class TurnsValues(MultiHeadAttention):
    def _explicit(self, q, k, v, *rest):
        return super()._explicit(q, k, self.position.transform(v, v)[0], *rest)

    def _fused(self, q, k, v, *rest):
        return super()._fused(q, k, self.position.transform(v, v)[0], *rest)


class Absolute(RelativePosition):
    """Sinusoids added to the projected queries and keys."""

    def transform(self, q, k):
        return tuple(X + sinusoids(k.shape[2], X.shape[-1])[k.shape[2] - X.shape[2]:].to(X) for X in (q, k))


WRONG = [
    (is_its_formula, "shaw", lambda heads, size: ClippedOneEarly(size, 2)),
    (is_its_formula, "shaw", lambda heads, size: RowsOffByOne(size, 2)),
    (is_its_formula, "shaw", lambda heads, size: LookedUpBackwards(size, 2)),
    (is_its_formula, "shaw", lambda heads, size: BiasNotScaled(size, 2)),
    (is_its_formula, "shaw", lambda heads, size: NumbersOfPositions(size, 2)),
    (depends_on_offsets_alone, "shaw", lambda heads, size: NumbersOfPositions(size, 2)),
    (is_its_formula, "t5", lambda heads, size: StillScaled(heads, 8, 5)),
    (is_its_formula, "t5", lambda heads, size: SidesSwapped(heads, 8, 5)),
    (is_its_formula, "t5", lambda heads, size: EdgesOneLate(heads, 8, 5)),
    (is_its_formula, "t5", lambda heads, size: BothSidesOneHalf(heads, 8, 5)),
    (is_its_formula, "alibi", lambda heads, size: FromTheTopLeft(heads)),
    (serves_a_cache, "alibi", lambda heads, size: FromTheTopLeft(heads)),
    (is_its_formula, "alibi", lambda heads, size: FartherIsBetter(heads)),
    (is_its_formula, "alibi", lambda heads, size: SlopesFromOne(heads)),
    (is_its_formula, "alibi", lambda heads, size: OneSlopeForAll(heads)),
    (holds_in_half_precision, "alibi", lambda heads, size: DistancesInHalf(heads)),
    (is_its_formula, "rotary", lambda heads, size: OnlyQueriesTurn(size)),
    (depends_on_offsets_alone, "rotary", lambda heads, size: OnlyQueriesTurn(size)),
    (depends_on_offsets_alone, "rotary", lambda heads, size: KeysTurnBackwards(size)),
    (is_its_formula, "rotary", lambda heads, size: TurnsBackwards(size)),
    (is_its_formula, "rotary", lambda heads, size: RotaryEmbedding(size, interleaved=False)),
    (is_its_formula, "rotary-halves", lambda heads, size: RotaryEmbedding(size)),
    (is_its_formula, "rotary", lambda heads, size: AddsInstead(size)),
    (depends_on_offsets_alone, "rotary", lambda heads, size: AddsInstead(size)),
    (is_its_formula, "rotary", lambda heads, size: StartsAtZero(size)),
    (serves_a_cache, "rotary", lambda heads, size: StartsAtZero(size)),
    (is_right_far_out, "rotary", lambda heads, size: AnglesIn(size, torch.float32)),
    (is_right_far_out, "rotary", lambda heads, size: AnglesIn(size, torch.float16)),
    (is_right_far_out, "rotary", lambda heads, size: AnglesIn(size, torch.bfloat16)),
    (depends_on_offsets_alone, "none", lambda heads, size: Absolute()),
]


@pytest.mark.parametrize("claim, name, make", WRONG, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_position_is_caught(claim, name, make):
    with pytest.raises(AssertionError):
        claim(name, make)


def test_turned_values_are_caught():
    with pytest.raises(AssertionError):
        is_its_formula("rotary", MAKE["rotary"], TurnsValues)


# ---- offsets, buckets, slopes, pairs ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("queries, keys", [(0, 3), (3, 0), (1, 1), (2, 5), (5, 2), (4, 4)])
def test_an_offset_is_key_minus_query_with_the_last_of_each_in_one_place(queries, keys):
    assert offsets(queries, keys).tolist() == [[j - (i + keys - queries) for j in range(keys)] for i in range(queries)]
    assert queries * keys == 0 or offsets(queries, keys)[-1, -1] == 0


@pytest.mark.parametrize("sizes", [(32, 128), (8, 5), (32, 256), (16, 64), (4, 3), (6, 20), (10, 1000), (64, 40)], ids=str)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_those_of_the_definition_in_whole_numbers(sizes, bidirectional):
    position = T5RelativeBias(1, *sizes, bidirectional=bidirectional)
    far = torch.arange(-3 * sizes[1], 3 * sizes[1] + 1)
    buckets = position.bucket(far)
    assert buckets.tolist() == [slow_bucket(offset, *sizes, bidirectional) for offset in far.tolist()]
    assert buckets.min() == 0 and buckets.max() < sizes[0]


def test_t5s_own_sizes():
    """32 buckets, 16 a side: distances 0 to 7 one by one, then 8-11, 12-15, 16-22, 23-31, 32-45, 46-63, 64-90, and all from 91 on."""
    position = T5RelativeBias(1)
    starts = [next(n for n in range(200) if position.bucket(torch.tensor(-n)) == b) for b in range(16)]
    assert starts == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    assert position.bucket(torch.tensor([-91, -128, -10_000])).tolist() == [15, 15, 15]
    assert position.bucket(torch.tensor([1, 91, 10_000])).tolist() == [17, 31, 31]
    assert T5RelativeBias(1, bidirectional=False).bucket(torch.tensor([5, 1, 0, -1, -15, -16, -128])).tolist() == [0, 0, 0, 1, 15, 16, 31]


@pytest.mark.parametrize("heads", range(1, 34))
def test_alibis_slopes(heads):
    slopes = ALiBi(heads).slopes
    assert slopes == pytest.approx(slow_slopes(heads), rel=1e-12) and len(set(slopes)) == heads


def test_the_papers_slopes():
    assert ALiBi(np.int64(6)).slopes == ALiBi(6).slopes
    assert ALiBi(8).slopes == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert ALiBi(16).slopes == pytest.approx([2 ** (-h / 2) for h in range(1, 17)], rel=1e-12)
    q = torch.zeros(1, 16, 3, SIZE, dtype=torch.float64)
    assert ALiBi(16).bias(q, q)[0, 0, 2].tolist() == pytest.approx([-2 * 2 ** -0.5, -2 ** -0.5, 0], rel=1e-12), "in double precision to the last digit"


def test_with_a_causal_mask_alibi_is_the_papers():
    """There the bias is m (j - i), for keys up to the query."""
    m, X = attention(MAKE["alibi"]), torch.randn(1, 6, HEADS * SIZE)
    _, weights = m(X, X, X, causal=True, need_weights=True)
    m.position.bias = lambda q, k: (torch.tensor(slow_slopes(HEADS))[:, None, None] * offsets(6, 6))[None]
    torch.testing.assert_close(m(X, X, X, causal=True, need_weights=True)[1], weights)


def test_the_two_layouts_differ_by_an_order_of_the_features():
    q, k = torch.randn(2, 2, 3, 5, 8)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    pairs, halves = (RotaryEmbedding(8, interleaved=interleaved) for interleaved in (True, False))
    for ours, theirs in zip(pairs.transform(q, k), halves.transform(q[..., order], k[..., order])):
        torch.testing.assert_close(ours[..., order], theirs)


def test_rotations_keep_lengths_and_leave_the_first_step_alone():
    X = torch.randn(2, 3, 9, 8)
    for interleaved in (True, False):
        turned, _ = RotaryEmbedding(8, interleaved).transform(X, X)
        torch.testing.assert_close(turned.norm(dim=-1), X.norm(dim=-1))
        assert torch.equal(turned[:, :, 0], X[:, :, 0]) and not torch.equal(turned[:, :, 1], X[:, :, 1])


@pytest.mark.parametrize("make, size", [(lambda: ShawRelativeKeys(64, 100), 64), (lambda: T5RelativeBias(400, 32), 32)], ids=["shaw", "t5"])
def test_a_table_starts_as_noise_of_its_size(make, size):
    position = make()
    assert position.table.std().item() == pytest.approx(size ** -0.5, rel=0.05) and abs(position.table.mean().item()) < 0.01


# ---- what each can tell -----------------------------------------------------------------------------------------------------------------------------

def mirrored(m, X, **options):
    """Whether the sequence backwards gives the output backwards."""
    return torch.allclose(m(X.flip(1), X.flip(1), X.flip(1), **options).flip(1), m(X, X, X, **options), atol=1e-6)


@pytest.mark.parametrize("name, blind", [("none", True), ("alibi", True), ("shaw", False), ("t5", False), ("t5-one-way", False), ("rotary", False)])
def test_only_a_symmetric_bias_cannot_tell_left_from_right(name, blind):
    m, X = attention(MAKE[name]), torch.randn(1, 6, HEADS * SIZE)
    assert mirrored(m, X) == blind
    assert mirrored(m, X, mask=window(2)) == blind, "nor does a symmetric window help"
    assert not mirrored(m, X, causal=True), "a causal mask can tell"


@every_position
def test_order_is_visible(name):
    m, X, order = attention(MAKE[name]), torch.randn(1, 6, HEADS * SIZE), [3, 0, 5, 1, 4, 2]
    equivariant = torch.allclose(m(*[X[:, order]] * 3), m(X, X, X)[:, order], atol=1e-6)
    assert equivariant == (name == "none")


def test_beyond_the_clip_shaw_sees_no_distance():
    m, X = attention(MAKE["shaw"]), torch.randn(1, 1, HEADS * SIZE).expand(1, 9, -1)  # nine times the same token, clip at 2
    _, weights = m(X, X, X, need_weights=True)
    row = weights[0, 0, 4]
    assert torch.allclose(row[:3], row[0]) and torch.allclose(row[6:], row[8]) and len(row.round(decimals=6).unique()) == 5


# ---- learning ---------------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, steps, reached", [("shaw", 3, 5), ("shaw", 2, 3), ("shaw", 9, 5), ("t5-one-way", 3, 3), ("t5", 2, 3)])
def test_gradients_reach_the_rows_that_occur_and_no_others(name, steps, reached):
    m = attention(MAKE[name])
    X = torch.randn(2, steps, HEADS * SIZE)
    for need_weights in (True, False):
        output = m(X, X, X, need_weights=need_weights)
        (grad,) = torch.autograd.grad((output[0] if need_weights else output).square().sum(), m.position.table)
        assert grad.isfinite().all() and (grad.abs().amax(1) > 0).sum() == reached


@pytest.mark.parametrize("name", LEARNED)
def test_the_tables_gradient_is_its_derivative(name):
    m = attention(MAKE[name]).double()
    queries, X, V = (torch.randn(2, steps, HEADS * SIZE, dtype=torch.float64) for steps in (3, 5, 5))

    def attend(table, queries, X):
        return torch.func.functional_call(m, {"position.table": table}, (queries, X, V))
    assert torch.autograd.gradcheck(attend, (m.position.table.detach().requires_grad_(), queries.requires_grad_(), X.requires_grad_()))


@every_position
def test_what_is_saved_is_what_is_learned(name):
    m, other = attention(MAKE[name]), attention(MAKE[name])
    expected = {"table": LEARNED[name]} if name in LEARNED else {}
    assert {key: tuple(value.shape) for key, value in m.position.state_dict().items()} == expected
    assert {key for key, _ in m.position.named_parameters()} == set(expected)
    other.load_state_dict(m.state_dict())
    X = torch.randn(1, 4, HEADS * SIZE)
    assert torch.equal(m(X, X, X), other(X, X, X))


def test_layers_share_a_t5_table():
    position = T5RelativeBias(HEADS)
    layers = nn.ModuleList(MultiHeadAttention(HEADS * SIZE, HEADS, position=position) for _ in range(2))
    assert sum(p.numel() for p in layers.parameters()) == 32 * HEADS + 2 * 4 * (HEADS * SIZE) ** 2
    X = torch.randn(1, 4, HEADS * SIZE)
    for layer in layers:
        X = layer(X, X, X)
    X.sum().backward()
    assert layers[0].position.table.grad is layers[1].position.table.grad is not None


def test_shaw_makes_no_tensor_of_a_vector_per_pair():
    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, call, types, args=(), kwargs=None):
            result = call(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                self.size = max(self.size, result.untyped_storage().size() // result.element_size())
            return result

    n, size = 64, 32
    position, q = ShawRelativeKeys(size, 8), torch.randn(1, 2, n, size)
    with Largest() as largest:
        position.bias(q, q).sum().backward()
    assert largest.size <= 2 * n * n


# ---- one graph, any number of steps, any copy, any device -------------------------------------------------------------------------------------------

class Layer(nn.Module):
    def __init__(self, make, **options):
        super().__init__()
        self.attention, self.options = attention(make), options

    def forward(self, queries, keys):
        return self.attention(queries, keys, keys, **self.options)


@every_position
def test_it_compiles_in_one_graph(name):
    layer = Layer(MAKE[name])
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for steps in (5, 8, 9):
        X = torch.randn(2, steps, HEADS * SIZE)
        torch.testing.assert_close(outcome(lambda m, X: compiled(X, X), layer, X), outcome(lambda m, X: layer(X, X), layer, X))
    torch._dynamo.reset()


@pytest.mark.parametrize("options", [{}, dict(need_weights=True), dict(causal=True)], ids=["fused", "explicit", "causal"])
@every_position
def test_it_exports_with_any_number_of_steps(name, options):
    layer = Layer(MAKE[name], **options).eval()

    class Self(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, X):
            return self.layer(X, X)
    program = torch.export.export(Self(), (torch.randn(2, 5, HEADS * SIZE),), dynamic_shapes={"X": {1: torch.export.Dim("steps", min=2, max=512)}}).module()
    for steps in (2, 40):
        X = torch.randn(2, steps, HEADS * SIZE)
        torch.testing.assert_close(program(X), layer(X, X))


@every_position
def test_it_exports_with_any_number_of_queries_and_keys(name):
    layer = Layer(MAKE[name]).eval()
    queries, keys = (torch.export.Dim(name, min=2, max=512) for name in ("queries", "keys"))
    example = torch.randn(2, 3, HEADS * SIZE), torch.randn(2, 7, HEADS * SIZE)
    program = torch.export.export(layer, example, dynamic_shapes={"queries": {1: queries}, "keys": {1: keys}}).module()
    for n, m in ((2, 40), (9, 9), (11, 4)):
        X, Y = torch.randn(2, n, HEADS * SIZE), torch.randn(2, m, HEADS * SIZE)
        torch.testing.assert_close(program(X, Y), layer(X, Y))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
@every_position
def test_copies_attend_alike_also_after_training(copied, name):
    m, X = attention(MAKE[name]), torch.randn(2, 5, HEADS * SIZE)
    m(X, X, X).sum().backward()
    assert torch.equal(copied(m)(X, X, X), m(X, X, X))


@every_position
def test_it_follows_device_and_dtype(name):
    meta = attention(MAKE[name]).to("meta")
    X = torch.zeros(2, 5, HEADS * SIZE, device="meta")
    assert meta(X[:, :2], X, X).device.type == "meta" and meta(X, X, X, need_weights=True)[1].shape == (2, HEADS, 5, 5)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        q = torch.randn(2, HEADS, 5, SIZE, dtype=dtype)
        position = MAKE[name](HEADS, SIZE)  # itself in single precision
        bias = position.bias(*position.transform(q, q))
        assert bias is None or bias.dtype == dtype
        assert all(X.dtype == dtype and X.shape == q.shape for X in position.transform(q, q))


@pytest.mark.parametrize("name", ["shaw", "t5", "alibi"])
def test_biases_are_made_where_the_queries_are(name):
    """Also where new tensors would land on another device."""
    position, q, k = MAKE[name](HEADS, SIZE), torch.randn(1, HEADS, 2, SIZE), torch.randn(1, HEADS, 5, SIZE)
    with torch.device("meta"):
        bias = position.bias(q, k)
    torch.testing.assert_close(bias, position.bias(q, k))


@pytest.mark.parametrize("name", ["t5", "t5-one-way"])
def test_t5s_edges_survive_the_meta_device(name):
    expected = MAKE[name](HEADS, SIZE)
    with torch.device("meta"):
        position = MAKE[name](HEADS, SIZE)
    position.to_empty(device="cpu").load_state_dict(expected.state_dict())
    assert torch.equal(position.edges, expected.edges)
    assert torch.equal(expected.to_empty(device="cpu").edges, position.edges)
    nn.Module._apply(position, torch.zeros_like)  # as modules move buffers: a slip is seen
    assert not torch.equal(position.edges, MAKE[name](HEADS, SIZE).edges)


@pytest.mark.parametrize("name", ["rotary", "rotary-halves"])
def test_rotations_compile_in_one_graph_also_with_a_default_device(name):
    rotary, X = MAKE[name](HEADS, SIZE), torch.randn(2, HEADS, 5, SIZE)
    torch.set_default_device("cpu")  # methods that Tensor defines in Python can't be compiled then
    try:
        turned = torch.compile(rotary.transform, fullgraph=True, backend="aot_eager")(X, X)
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(turned, rotary.transform(X, X))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
@every_position
def test_it_can_be_traced(name):
    layer, X = Layer(MAKE[name]).eval(), torch.randn(2, 5, HEADS * SIZE)
    traced = torch.jit.trace(layer, (X, X))
    torch.testing.assert_close(traced(X, X), layer(X, X))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["rotary", "rotary-halves"])
def test_traced_rotations_hold_for_any_number_of_steps(name):
    rotary, X = MAKE[name](HEADS, SIZE), torch.randn(2, HEADS, 5, SIZE)
    traced = torch.jit.trace(lambda q, k: rotary.transform(q, k), (X, X))
    Y = torch.randn(2, HEADS, 40, SIZE)
    torch.testing.assert_close(traced(Y, Y), rotary.transform(Y, Y))


@every_position
def test_it_works_under_autocast(name):
    m, X = attention(MAKE[name]), torch.randn(2, 5, HEADS * SIZE)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low, (also, _) = m(X, X, X), m(X, X, X, need_weights=True)
    assert low.dtype == torch.bfloat16
    for output in (low, also):
        torch.testing.assert_close(output.float(), m(X, X, X), atol=0.03, rtol=0.03)


@every_position
def test_its_inputs_are_left_alone_and_nothing_is_remembered(name):
    position, q, k = MAKE[name](HEADS, SIZE), torch.randn(1, HEADS, 3, SIZE), torch.randn(1, HEADS, 6, SIZE)
    before = q.clone(), k.clone(), dict(vars(position))
    position.bias(*position.transform(q, k))
    assert torch.equal(q, before[0]) and torch.equal(k, before[1]) and vars(position) == before[2]


@every_position
def test_empty_sequences_pass(name):
    m = attention(MAKE[name])
    for batch, steps in ((0, 3), (2, 0)):
        X = torch.zeros(batch, steps, HEADS * SIZE)
        assert m(X, X, X).shape == m(X, X, X, need_weights=True)[0].shape == X.shape
    Y = torch.zeros(2, 4, HEADS * SIZE)
    assert m(X, Y, Y).shape == (2, 0, HEADS * SIZE), "no queries"
    assert not m(Y, X, X).any(), "no keys"


# ---- the fused kernel -------------------------------------------------------------------------------------------------------------------------------

class Kernels(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        self.names.append(call.overloadpacket.__name__)
        return call(*args, **(kwargs or {}))


def is_fused(m, monkeypatch, **options):
    """Whether a training step runs PyTorch's fused CPU kernel, called once through F.scaled_dot_product_attention, and its backward."""
    calls, real = [], F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *args, **kwargs: (calls.append(1), real(*args, **kwargs))[1])
    X = torch.randn(2, 8, HEADS * SIZE, requires_grad=True)
    with Kernels() as kernels:
        m(X, X, X, **options).sum().backward()
    monkeypatch.undo()
    assert len(calls) == 1
    return {"_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"} <= set(kernels.names)


@pytest.mark.parametrize("options", [{}, dict(causal=True), dict(valid_lens=torch.tensor([3, 8])), dict(mask=window(2), causal=True)],
                         ids=["free", "causal", "lengths", "mask"])
@pytest.mark.parametrize("name", ["none", "alibi", "rotary", "rotary-halves"])
def test_what_is_not_learned_stays_on_the_fused_kernel(name, options, monkeypatch):
    assert is_fused(attention(MAKE[name]), monkeypatch, **options)


@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_bias_leaves_the_fused_kernel_while_it_learns(name, monkeypatch):
    m, X = attention(MAKE[name]), torch.randn(2, 8, HEADS * SIZE)
    assert not is_fused(m, monkeypatch), "PyTorch's kernel has no gradient for a bias"
    with torch.no_grad(), Kernels() as kernels:
        m(X, X, X)
    assert "_scaled_dot_product_flash_attention_for_cpu" in kernels.names, "in evaluation it is back"


def test_rotary_keeps_the_causal_kernel_without_a_mask(monkeypatch):
    seen, real = {}, F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *args, **kwargs: (seen.update(kwargs), real(*args, **kwargs))[1])
    X = torch.randn(2, 8, HEADS * SIZE)
    attention(MAKE["rotary"])(X, X, X, causal=True)
    assert seen["is_causal"] and seen.get("attn_mask") is None


def test_alibis_bias_is_made_once_for_the_whole_batch():
    q = torch.randn(7, HEADS, 2, SIZE)
    assert ALiBi(HEADS).bias(q, torch.randn(7, HEADS, 5, SIZE)).shape == (1, HEADS, 2, 5)
    assert T5RelativeBias(HEADS).bias(q, q).shape == (1, HEADS, 2, 2)


# ---- refused ----------------------------------------------------------------------------------------------------------------------------------------

def attend(position, heads=HEADS, width=HEADS * SIZE):
    X = torch.randn(1, 5, width)
    return MultiHeadAttention(width, heads, position=position)(X, X, X)


BAD = [
    (lambda: ShawRelativeKeys(0, 2), "head_size=0"),
    (lambda: ShawRelativeKeys(4, 0), "max_distance=0"),
    (lambda: ShawRelativeKeys(4, -1), "max_distance=-1"),
    (lambda: attend(ShawRelativeKeys(6, 2)), "^heads have width 4, expected 6$"),
    (lambda: T5RelativeBias(0), "num_heads=0"),
    (lambda: T5RelativeBias(2, 0), "num_buckets=0"),
    (lambda: T5RelativeBias(2, 7), "^num_buckets=7 must be even and at least 4 when bidirectional=True$"),
    (lambda: T5RelativeBias(2, 2), "num_buckets=2 .*at least 4"),
    (lambda: T5RelativeBias(2, 1, bidirectional=False), "^num_buckets=1 must be at least 2 when bidirectional=False$"),
    (lambda: T5RelativeBias(2, 32, 8), "max_distance=8 must exceed 8.*num_buckets=32"),
    (lambda: T5RelativeBias(2, 32, 16, bidirectional=False), "max_distance=16 must exceed 16"),
    (lambda: T5RelativeBias(2, 32, 0), "max_distance=0 must be at least 1"),
    (lambda: attend(T5RelativeBias(1)), "3 heads.*num_heads=1"),
    (lambda: ALiBi(0), "num_heads=0"),
    (lambda: ALiBi(-4), "num_heads=-4"),
    (lambda: attend(ALiBi(1)), "3 heads.*num_heads=1"),
    (lambda: attend(ALiBi(8)), "3 heads.*num_heads=8"),
    (lambda: RotaryEmbedding(5), "head_size=5 must be even"),
    (lambda: RotaryEmbedding(0), "head_size=0 must be even and at least 2"),
    (lambda: RotaryEmbedding(-2), "head_size=-2"),
    (lambda: attend(RotaryEmbedding(8)), "^heads have width 4, expected 8$"),
    (lambda: attend(RotaryEmbedding(2)), "^heads have width 4, expected 2$"),
]


@pytest.mark.parametrize("call, message", BAD, ids=lambda x: x if isinstance(x, str) else None)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("call", [lambda: ShawRelativeKeys(4, 2.0), lambda: T5RelativeBias(2, 32.0), lambda: ALiBi(4.0), lambda: RotaryEmbedding(8 / 2)])
def test_a_size_is_an_integer(call):
    with pytest.raises(TypeError, match="must be an integer, got"):
        call()
