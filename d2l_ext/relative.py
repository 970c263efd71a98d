"""Relative positions: heads learn how far a key stands from its query, not where the two stand.

Each class is given as ``MultiHeadAttention(position=...)``. All count offsets as ``offsets`` does.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .checks import check_choice, check_number, check_size, check_width
from .positional import periods, sines_and_cosines


def offsets(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Key position minus query position: integers (queries, keys), negative left of the query.

    The last query stands at the last key, as when decoding with a cache: give queries from the
    middle of a sequence only the keys up to the last of them.

    >>> offsets(2, 3).tolist()
    [[-1, 0, 1], [-2, -1, 0]]
    """
    query = torch.arange(queries, device=device) + keys - queries
    return torch.arange(keys, device=device) - query[:, None]


class RelativePosition(nn.Module):
    """The methods that ``MultiHeadAttention(position=...)`` calls. Here they change nothing.

    q (batch, heads, queries, head_size) and k (batch, kv heads, keys, head_size) are the projected
    queries and keys; values never come here.
    """

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys to use instead, of the same shapes."""
        return q, k

    def bias(self, q: Tensor, k: Tensor) -> Tensor | None:
        """What to add to the scores: broadcasts to (batch, heads, queries, keys), or None."""
        return None


class ShawRelativeKeys(RelativePosition):
    """A learned vector per offset, added to the key: qᵢ · (kⱼ + a[clip(j − i, −c, c)]) / √d.

    From Shaw et al. 2018, section 3.2, for keys only: the paper's second table, for values, is left
    out. Heads share ``table``, (2c + 1, head_size) with c = ``max_distance``; row c is offset 0,
    and offsets beyond ±c use the outermost rows. No (queries, keys, head_size) tensor is made:
    each query meets the 2c + 1 rows once and then picks per key.

    >>> from d2l_ext import MultiHeadAttention
    >>> position = ShawRelativeKeys(head_size=4, max_distance=2)
    >>> MultiHeadAttention(8, 2, position=position)(*[torch.rand(1, 3, 8)] * 3).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, head_size: int, max_distance: int):
        super().__init__()
        check_size(head_size=head_size, max_distance=max_distance)
        self.max_distance = max_distance
        table = torch.randn(2 * max_distance + 1, head_size) / math.sqrt(head_size)
        self.table = nn.Parameter(table)

    def bias(self, q: Tensor, k: Tensor) -> Tensor:
        check_width("heads", q, self.table.shape[1])
        scores = q / math.sqrt(q.shape[-1]) @ self.table.mT.to(q.dtype)
        c = self.max_distance
        rows = offsets(q.shape[2], k.shape[2], q.device).clamp(-c, c) + c
        return scores.gather(-1, rows.expand(*q.shape[:2], -1, -1))


class T5RelativeBias(RelativePosition):
    """A learned number per head and bucket of offsets: qᵢ · kⱼ + b[head, bucket(j − i)].

    From Raffel et al. 2020, section 2.1; the scores are not divided by √d. Near offsets have a
    bucket each, farther ones share buckets that grow wider in proportion to the distance, and those
    from ``max_distance`` on share the last. bidirectional: one half of the buckets for keys up to
    the query, the other for keys to its right; otherwise all keys to the right fall in bucket 0, as
    suits a causal mask. T5's layers share one ``table`` (num_buckets, heads): give all of them the
    same module. Raises ValueError for sizes that leave no room for buckets.

    >>> T5RelativeBias(num_heads=2).bucket(torch.tensor([-1000, -9, -1, 0, 1, 9, 1000])).tolist()
    [15, 8, 1, 0, 17, 24, 31]
    """

    def __init__(
        self, num_heads: int, num_buckets: int = 32, max_distance: int = 128,
        bidirectional: bool = True,
    ):
        super().__init__()
        check_size(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        side = num_buckets // 2 if bidirectional else num_buckets
        exact = side // 2
        if side < 2 or bidirectional and num_buckets % 2:
            enough = "even and at least 4" if bidirectional else "at least 2"
            raise ValueError(f"{num_buckets=} must be {enough} when {bidirectional=}")
        if max_distance <= exact:
            raise ValueError(f"{max_distance=} must exceed {exact}, "
                             f"the offsets of {num_buckets=} that have a bucket each")
        self.table = nn.Parameter(torch.randn(num_buckets, num_heads) / math.sqrt(num_buckets))
        growth = (max_distance / exact) ** (1 / (side - exact))
        # Rounded, as 31.999999 is 32.
        wide = [math.ceil(round(exact * growth ** b, 6)) for b in range(1, side - exact)]
        self.distances = [*range(1, exact + 1), *wide]  # where the buckets after the first begin
        self.right = side if bidirectional else 0  # the first bucket for keys to the right

    @property
    def edges(self) -> Tensor:
        """The distances at which the buckets after the first begin."""
        return torch.tensor(self.distances, device=self.table.device)

    def bucket(self, offset: Tensor) -> Tensor:
        """The bucket of each offset, key minus query: how many edges its distance has reached."""
        distance = offset.abs() if self.right else (-offset).clamp(min=0)
        return torch.bucketize(distance, self.edges, right=True) + self.right * (offset > 0)

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return q * math.sqrt(q.shape[-1]), k  # undoes the division by √d

    def bias(self, q: Tensor, k: Tensor) -> Tensor:
        check_heads(q, self.table.shape[1])
        buckets = self.bucket(offsets(q.shape[2], k.shape[2], q.device))
        return self.table[buckets].permute(2, 0, 1)[None].to(q.dtype)


class ALiBi(RelativePosition):
    """A penalty that grows with distance: qᵢ · kⱼ / √d − m |j − i|, one fixed slope m per head.

    From Press et al. 2022, section 3. With ``causal=True`` this is the paper's m (j − i). Without a
    mask it is symmetric and can't tell left from right. ``slopes``: 2^(−8/n), 2^(−16/n), ... for n
    heads; if n isn't a power of two, as in the paper's code, those of the largest power below n,
    then every other one of twice that power. Nothing is learned or saved.

    >>> position = ALiBi(num_heads=3)
    >>> position.slopes
    [0.0625, 0.00390625, 0.25]
    >>> query, keys = torch.zeros(1, 3, 1, 4), torch.zeros(1, 3, 3, 4)  # a query at the last key
    >>> position.bias(query, keys)[0, 0].tolist()
    [[-0.125, -0.0625, 0.0]]
    """

    def __init__(self, num_heads: int):
        super().__init__()
        check_size(num_heads=num_heads)
        power = 2 ** int(math.log2(num_heads))  # the largest that is not above num_heads
        extra = [2 ** (-4 * odd / power) for odd in range(1, 2 * (num_heads - power), 2)]
        # Numbers, not a tensor, which ``.half()`` would round.
        self.slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)] + extra

    def bias(self, q: Tensor, k: Tensor) -> Tensor:
        check_heads(q, len(self.slopes))
        dtype = torch.promote_types(q.dtype, torch.float32)
        slopes = torch.tensor(self.slopes, dtype=dtype, device=q.device)
        distances = offsets(q.shape[2], k.shape[2], q.device).abs()
        return (slopes[:, None, None] * -distances)[None].to(q.dtype)


@dataclass(frozen=True)
class Stretch:
    """Slower rotations, for sequences that are ``factor`` times as long as in training.

    A pair that turned by the angle θ per step now turns by θ', with s = ``factor``:

    - by="positions": θ' = θ / s, as if positions were divided by s (Chen et al. 2023, section 2.3);
    - by="base": θ' = θ / s^(p/(P − 1)) for pair p of P: 10000 s^(d/(d−2)) in place of 10000. The
      fastest pair turns as before, the slowest s times slower (Peng et al. 2023, section 3.1,
      there called NTK-aware);
    - by="parts": θ' = γ θ + (1 − γ) θ / s, where γ rises from 0 to 1 as the turns that a pair makes
      within ``trained`` steps rise from ``turns[0]`` to ``turns[1]`` (section 3.2).

    tempered: queries and keys are multiplied by 0.1 ln s + 1, which sharpens the softmax (section
    3.4; with "parts" this is YaRN).

    >>> Stretch(4, by="base").periods(6) / Stretch(1).periods(6)
    tensor([1., 2., 4.], dtype=torch.float64)
    """

    factor: float
    by: str = "positions"
    trained: int | None = None
    turns: tuple[float, float] = (1, 32)
    tempered: bool = False

    def __post_init__(self) -> None:
        low, high = self.turns
        check_number(factor=self.factor, low=low, high=high)
        check_choice("way to stretch by", self.by, ("positions", "base", "parts"))
        if self.factor < 1:
            raise ValueError(f"factor={self.factor} must be at least 1")
        if not 0 < low < high:
            raise ValueError(f"turns={self.turns} must be two numbers above 0, the first smaller")
        if self.by == "parts":
            if self.trained is None:
                raise ValueError('by="parts" needs trained=, the number of steps in training')
            check_size(trained=self.trained)

    def periods(self, head_size: int) -> Tensor:
        """1 / θ' for each pair, in float64: how many steps it takes to turn by one radian."""
        old = periods(head_size)
        if self.by == "positions":
            return old * self.factor
        if self.by == "base":
            share = torch.linspace(0, 1, len(old), dtype=torch.float64)
            return old * self.factor ** share
        low, high = self.turns
        turned = (self.trained or 0) / (2 * math.pi * old)
        kept = ((turned - low) / (high - low)).clamp(0, 1)
        return old / (kept + (1 - kept) / self.factor)

    @property
    def temper(self) -> float:
        """What queries and keys are multiplied by."""
        return 0.1 * math.log(self.factor) + 1 if self.tempered else 1.0


class RotaryEmbedding(RelativePosition):
    """Turns queries and keys by their positions: (Rᵢ q)ᵀ (Rⱼ k) = qᵀ Rⱼ₋ᵢ k.

    From Su et al. 2021, sections 3.2.2 and 3.4.2. R turns pair number p of a head's features by the
    angle position / 10000^(2p/d): the angles of ``sinusoids``, which here rotate instead of being
    added. interleaved: pairs are (0, 1), (2, 3), ..., as in the paper; otherwise (0, d/2),
    (1, d/2 + 1), ..., as in GPT-NeoX and Llama. The two layouts hold the same features in another
    order: weights trained with one are wrong with the other. stretch: a ``Stretch``, other angles
    for sequences longer than in training. There is no longest length, and nothing is learned or
    saved: each call makes its table, in float64, since half precision has no odd numbers beyond
    2048 (bfloat16: 256).

    >>> q = torch.tensor([[[[1, 0], [1, 0]]]], dtype=torch.float64)
    >>> RotaryEmbedding(head_size=2).transform(q, q)[0][0, 0, 1].round(decimals=4).tolist()
    [0.5403, 0.8415]
    """

    def __init__(
        self, head_size: int, interleaved: bool = True, *, stretch: Stretch | None = None,
    ):
        super().__init__()
        check_size(head_size=head_size)
        if head_size % 2:
            raise ValueError(f"{head_size=} must be even: features turn in pairs")
        if not isinstance(stretch, Stretch | None):
            raise TypeError(f"stretch must be a Stretch, got {stretch!r:.60}")
        self.head_size, self.interleaved = head_size, interleaved
        self.stretch = Stretch(1) if stretch is None else stretch

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        queries, keys = q.shape[2], k.shape[2]
        periods = self.stretch.periods(self.head_size)
        table = sines_and_cosines(max(queries, keys), periods) * self.stretch.temper
        steps = table.shape[0]
        return self.rotate(q, table[steps - queries:]), self.rotate(k, table[steps - keys:])

    def rotate(self, X: Tensor, table: Tensor) -> Tensor:
        """X (..., steps, head_size), each step turned by the angles of its row of ``table``.

        table: (steps, head_size), sines and cosines in turn.
        """
        check_width("heads", X, self.head_size)
        table = table.to(X.device, torch.promote_types(X.dtype, torch.float32))
        sine, cosine = table[:, ::2], table[:, 1::2]
        a, b = (X[..., ::2], X[..., 1::2]) if self.interleaved else X.chunk(2, -1)
        pairs = a * cosine - b * sine, a * sine + b * cosine
        turned = torch.stack(pairs, -1).flatten(-2) if self.interleaved else torch.cat(pairs, -1)
        return turned.to(X.dtype)


def check_heads(q: Tensor, num_heads: int) -> None:
    """``q`` has this many heads."""
    if q.shape[1] != num_heads:
        raise ValueError(f"there are {q.shape[1]} heads, "
                         f"but the position module was built for {num_heads=}")
