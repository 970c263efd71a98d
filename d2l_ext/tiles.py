"""Exact attention without a table of all weights: a running softmax, one tile of keys at a time."""
import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .checks import check_inputs, check_size
from .host_values import surely_all
from .masks import MaskLike, as_4d, mask_tensor


class Running(NamedTuple):
    """Attention of some queries over the keys so far, and what is needed to go on."""

    largest: Tensor  # (..., queries, 1): the highest score; before the first the lowest number
    total: Tensor    # (..., queries, 1): Σ exp(score − largest)
    output: Tensor   # (..., queries, v): the attention, zeros as long as there is no key


def nothing_yet(queries: Tensor, values: Tensor) -> Running:
    """The state before the first key, in single precision at least."""
    dtype = torch.promote_types(values.dtype, torch.float32)
    none = queries.new_zeros(*queries.shape[:-1], 1, dtype=dtype)
    lowest = torch.full_like(none, torch.finfo(dtype).min)
    return Running(lowest, none, none.expand(*none.shape[:-1], values.shape[-1]))


def update(state: Running, scores: Tensor, values: Tensor) -> Running:
    """The state after more keys, with their scores (..., queries, more) and values (..., more, v).

    From Milakov & Gimelshein 2018, algorithm 3, with the weighted sum of Dao et al. 2022, section
    3.1. A score of −inf hides a key.
    """
    # What is subtracted cancels: no gradient needs to go through it.
    largest = torch.maximum(state.largest, scores.detach().amax(-1, keepdim=True))
    before = (state.largest - largest).exp() * state.total
    powers = (scores - largest).exp()
    total = before + powers.sum(-1, keepdim=True)
    summed = before * state.output + powers @ values
    return Running(largest, total, summed / torch.where(total == 0, 1.0, total))


@dataclass
class Traffic:
    """How many numbers were moved from slow to fast memory, and back."""

    reads: int = 0
    writes: int = 0

    def load(self, *tiles: Tensor) -> None:
        self.reads += sum(tile.numel() for tile in tiles)

    def store(self, state: Running) -> Running:
        self.writes += sum(part.numel() for part in state)
        return state


def tiled_traffic(queries: int, keys: int, width: int, value_width: int, key_tile: int) -> Traffic:
    """What ``tiled_attention`` moves for one sequence and head, without a mask.

    Keys and values are read once, queries and their state for each tile of keys; the state is
    written as often, and once before (Dao et al. 2022, algorithm 1).
    """
    tiles, state = math.ceil(keys / key_tile), queries * (value_width + 2)
    reads = keys * (width + value_width) + tiles * (queries * width + state)
    return Traffic(reads, (tiles + 1) * state)


def tiled_attention(
    queries: Tensor, keys: Tensor, values: Tensor, *, mask: MaskLike | None = None,
    query_tile: int = 64, key_tile: int = 64,
) -> tuple[Tensor, Traffic]:
    """``dot_product_attention`` without its weights (Dao et al. 2022, algorithm 1).

    Takes the same and treats what is hidden alike. Returns the output (..., queries, v) and what
    was moved between the memories, the mask left out. No tensor is larger than the inputs or
    (queries, key_tile); half precision is computed in single. Tiles that no query may see are left
    out where this is known.
    """
    check_inputs(queries, keys, values, None)
    check_size(query_tile=query_tile, key_tile=key_tile)
    q, k, v = as_4d(queries), as_4d(keys), as_4d(values)
    Qs, traffic = q.split(query_tile, dim=2), Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in Qs]
    for start in range(0, k.shape[2], key_tile):
        K, V = k[:, :, start:start + key_tile], v[:, :, start:start + key_tile]
        keep = tile_of_mask(mask, q, k, start, K.shape[2])
        keeps = [None] * len(Qs) if keep is None else keep.split(query_tile, dim=2)
        seen = [i for i, part in enumerate(keeps) if part is None or not surely_all(~part)]
        if seen:
            traffic.load(K, V)
        for i in seen:
            traffic.load(Qs[i], *states[i])
            states[i] = traffic.store(update(states[i], *scored(Qs[i], K, V, keeps[i])))
    output = torch.cat([state.output for state in states], dim=2).to(values.dtype)
    return output.reshape(*queries.shape[:-1], values.shape[-1]), traffic


def scored(Q: Tensor, K: Tensor, V: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
    """The scores and values of a tile of keys, of which ``keep`` allows some."""
    Q, K, V = (X.to(torch.promote_types(X.dtype, torch.float32)) for X in (Q, K, V))
    scores = Q / math.sqrt(Q.shape[-1]) @ K.mT
    return scores if keep is None else scores.masked_fill(~keep, -math.inf), V


def tile_of_mask(
    mask: MaskLike | None, q: Tensor, k: Tensor, start: int, count: int,
) -> Tensor | None:
    """``mask`` for all queries and ``count`` keys from ``start`` on, None without any."""
    if mask is None:
        return None
    batch, heads, queries, _ = q.shape
    if isinstance(mask, Tensor):
        whole = mask_tensor(mask, batch, heads, queries, k.shape[2], q.device)
        return whole[..., start:start + count]
    shifted = lambda query, key: mask(query, key + start)
    return mask_tensor(shifted, batch, heads, queries, count, q.device)
