"""Relative positions: heads learn how far a key stands from its query, not where the two stand.

Each class is given as ``MultiHeadAttention(position=...)``. All count offsets as ``offsets`` does.
"""
import math

import torch
from torch import Tensor, nn

from . import positional
from .checks import check_size, check_width


def offsets(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Key position minus query position: integers (queries, keys), negative left of the query.

    The last query stands at the last key, as when decoding with a cache.
    """
    query = torch.arange(queries, device=device) + keys - queries
    return torch.arange(keys, device=device) - query[:, None]


class RelativePosition(nn.Module):
    """The methods that ``MultiHeadAttention(position=...)`` calls. Here they change nothing.

    q (batch, heads, queries, head_size) and k (batch, kv heads, keys, head_size) are projected.
    """

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys to use instead, of the same shapes."""
        return q, k

    def bias(self, q: Tensor, k: Tensor) -> Tensor | None:
        """What to add to the scores: broadcasts to (batch, heads, queries, keys), or None."""
        return None


class ShawRelativeKeys(RelativePosition):
    """A learned vector per offset, added to the key: qᵢ · (kⱼ + a[clip(j − i, −c, c)]) / √d.

    From Shaw et al. 2018, section 3.2, for keys only. Heads share ``table``, (2c + 1, head_size)
    with c = ``max_distance``; row c is offset 0. No (queries, keys, head_size) tensor is made.
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
    bucket each, farther ones share buckets that grow with the distance, and those from
    ``max_distance`` on share the last. bidirectional: half of the buckets for keys to the right of
    the query; otherwise these fall in bucket 0, as suits a causal mask. ``table`` is (num_buckets,
    heads).
    """

    def __init__(
        self, num_heads: int, num_buckets: int = 32, max_distance: int = 128,
        bidirectional: bool = True,
    ):
        super().__init__()
        check_size(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        side = num_buckets // 2 if bidirectional else num_buckets
        exact = side // 2  # how many offsets to a side have a bucket each
        if side < 2 or bidirectional and num_buckets % 2 or max_distance <= exact:
            raise ValueError(f"{num_buckets=} must be even and at least 4 when {bidirectional=}, "
                             f"else at least 2, and {max_distance=} must exceed {exact}")
        self.table = nn.Parameter(torch.randn(num_buckets, num_heads) / math.sqrt(num_buckets))
        growth = (max_distance / exact) ** (1 / (side - exact))
        # Rounded, as 31.999999 is 32.
        wide = [math.ceil(round(exact * growth ** b, 6)) for b in range(1, side - exact)]
        self.starts = [*range(1, exact + 1), *wide]  # of all buckets but the first
        self.right = side if bidirectional else 0  # the first bucket for keys to the right

    @property
    def edges(self) -> Tensor:
        """Where all buckets but the first begin."""
        return torch.tensor(self.starts, device=self.table.device)

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

    From Press et al. 2022, section 3. ``slopes``: 2^(−8/n), 2^(−16/n), ... for n heads; if n isn't
    a power of two, as in the paper's code, those of the largest power below n, then every other one
    of twice that power.

    >>> ALiBi(num_heads=3).slopes
    [0.0625, 0.00390625, 0.25]
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


class RotaryEmbedding(RelativePosition):
    """Turns queries and keys by their positions: (Rᵢ q)ᵀ (Rⱼ k) = qᵀ Rⱼ₋ᵢ k.

    From Su et al. 2021, sections 3.2.2 and 3.4.2. R turns pair number p of a head's features by
    position / 10000^(2p/d), the angles of ``sinusoids``. interleaved: pairs are (0, 1), (2, 3),
    ..., as in the paper; otherwise (0, d/2), (1, d/2 + 1), ..., as in GPT-NeoX and Llama: weights
    trained with one layout are wrong with the other. periods: other steps per radian for each pair,
    (head_size / 2,), in place of 10000^(2p/d).
    """

    def __init__(self, head_size: int, interleaved: bool = True, *, periods: Tensor | None = None):
        super().__init__()
        check_size(head_size=head_size)
        if head_size % 2:
            raise ValueError(f"{head_size=} must be even: features turn in pairs")
        self.head_size, self.interleaved = head_size, interleaved
        self.periods = positional.periods(head_size) if periods is None else periods
        if self.periods.shape != (head_size // 2,):
            raise ValueError(f"periods have shape {tuple(self.periods.shape)}, "
                             f"expected ({head_size // 2},) for {head_size=}")

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        queries, keys = q.shape[2], k.shape[2]  # in float64: half precision lacks 2049
        table = positional.sines_and_cosines(max(queries, keys), self.periods)
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
