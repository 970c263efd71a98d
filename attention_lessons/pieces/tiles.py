"""The piece of lesson 09: exact attention, a tile of scores at a time."""
from __future__ import annotations

from collections.abc import Sequence

import torch

from ..languages import t
from .base import Explorer, check_choice, check_numbers


def tiles_explorer(queries: Sequence[float], keys: Sequence[float], values: Sequence[float],
                   query_tile: int = 2, key_tile: int = 4) -> Explorer:
    """Attention without its table: what is in fast memory, and what each query keeps, step by step.

    queries (queries,), keys (keys,) and values (keys,) are those of a head of width 1, so that a
    score is the product of two numbers on the screen. The order is that of ``tiled_attention``.
    ``query_tile`` and ``key_tile`` are the sizes of tiles: 1, 2, 4 or all. At the start each query
    has met the first tile of keys.
    Raises ValueError for shapes that don't fit, fewer than 2 or more than 8 queries or keys, tiles
    of other sizes, numbers that aren't finite or above 1e30 in size.
    """
    parts = {name: torch.as_tensor(part).detach().double().cpu() for name, part in
             (("queries", queries), ("keys", keys), ("values", values))}
    shapes = [tuple(part.shape) for part in parts.values()]
    if any(len(shape) != 1 for shape in shapes) or shapes[1] != shapes[2]:
        raise ValueError("queries must be (queries,), keys and values (keys,), got "
                         f"{', '.join(map(str, shapes))}")
    (n,), (m,), _ = shapes
    if not (2 <= n <= 8 and 2 <= m <= 8):
        raise ValueError(f"shows 2 to 8 queries and 2 to 8 keys, got {n} and {m}")
    for name, part in parts.items():
        check_numbers(name, part)

    sizes = {"query_tile": sizes_for(n), "key_tile": sizes_for(m)}
    check_choice(sizes["query_tile"], query_tile=query_tile)
    check_choice(sizes["key_tile"], key_tile=key_tile)
    return Explorer(
        "tiles", title=t("Attention of {0} queries over {1} keys, a tile of scores at a time.",
                         n, m),
        data={name: part.tolist() for name, part in parts.items()} | {"sizes": sizes},
        state={"query_tile": query_tile, "key_tile": key_tile, "step": -(-n // query_tile)},
        still="09_explorer")


def sizes_for(count: int) -> list[int]:
    """How many a tile may hold."""
    return sorted({size for size in (1, 2, 4) if size < count} | {count})
