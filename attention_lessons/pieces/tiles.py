"""The piece of lesson 09: exact attention, a tile of scores at a time."""
from __future__ import annotations

from collections.abc import Sequence

import torch

from d2l_ext.checks import check_integer
from ..languages import t
from .base import Explorer, check_numbers, choices


def tiles_explorer(queries: Sequence[float], keys: Sequence[float], values: Sequence[float],
                   query_tile: int = 2, key_tile: int = 4) -> Explorer:
    """Attention without its table: what is in fast memory, and what each query keeps, step by step.

    queries (queries,), keys (keys,) and values (keys,) are those of a head of width 1, so that a
    score is the product of two numbers on the screen. The order is that of ``tiled_attention``.
    Settings: ``query_tile`` and ``key_tile``, the sizes of tiles: 1, 2, 4 or all; ``step``, how
    many tiles of scores were used: past the last one, all. At the start each query has met the
    first tile of keys.
    Raises ValueError for shapes that don't fit, fewer than 2 or more than 8 queries or keys, tiles
    of other sizes, numbers that aren't finite or above 1e30 in size; TypeError for sizes that are
    no integers.
    """
    parts = {"queries": queries, "keys": keys, "values": values}
    q, k, v = (torch.as_tensor(part).detach().double().cpu() for part in parts.values())
    shapes = tuple(q.shape), tuple(k.shape), tuple(v.shape)
    if any(len(shape) != 1 for shape in shapes) or k.shape != v.shape:
        raise ValueError("queries must be (queries,), keys and values (keys,), got "
                         f"{shapes[0]}, {shapes[1]}, {shapes[2]}")
    n, m = len(q), len(k)
    if not (2 <= n <= 8 and 2 <= m <= 8):
        raise ValueError(f"shows 2 to 8 queries and 2 to 8 keys, got {n} and {m}")
    for name, part in zip(parts, (q, k, v)):
        check_numbers(name, part)

    sizes = {"query_tile": sizes_for(n), "key_tile": sizes_for(m)}
    check_integer(query_tile=query_tile, key_tile=key_tile)
    for name, size in (("query_tile", query_tile), ("key_tile", key_tile)):
        if size not in sizes[name]:
            possible = ", ".join(map(str, sizes[name]))
            raise ValueError(f"{name}={size} is not possible: choose from {possible}")

    return Explorer(
        "tiles", title=t("Attention of {0} queries over {1} keys, a tile of scores at a time.",
                         n, m),
        data={"queries": q.tolist(), "keys": k.tolist(), "values": v.tolist(), "sizes": sizes},
        state={"query_tile": query_tile, "key_tile": key_tile, "step": -(-n // query_tile)},
        rules={name: choices(possible) for name, possible in sizes.items()}
        | {"step": choices(range(n * m + 1))},
        still="09_explorer")


def sizes_for(count: int) -> list[int]:
    """How many a tile may hold."""
    return sorted({size for size in (1, 2, 4) if size < count} | {count})
