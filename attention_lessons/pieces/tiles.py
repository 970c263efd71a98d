"""The explorer of lesson 09: exact attention, a tile of scores at a time."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from d2l_ext.checks import check_integer
from d2l_ext.tiles import Running, Traffic, nothing_yet, tiled_traffic, update_tile
from .base import Explorer, check_numbers, choices, figures


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

    >>> tiles_explorer([1, -2, 3], [0.5, 2, -1, 1, 3], [10, 20, 30, 40, 50])
    [explorer] Attention of 3 queries over 5 keys, a tile of scores at a time.
    In tiles of 2 queries and 4 keys, after 2 of 4 steps: largest 2.00, 2.00, 6.00; \
sum 1.64, 1.07, 1.06; output 23.43, 29.22, 20.83. Moved: 38 of 61 numbers; with a table 76.
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

    step = -(-n // query_tile)  # each query has met a tile of keys
    state, moved = after(step, q[:, None], k[:, None], v[:, None], query_tile, key_tile)
    whole = tiled_traffic(n, m, 1, 1, key_tile)
    told = [f"{name} {', '.join(figures(part[:, 0]))}"
            for name, part in zip(("largest", "sum", "output"), state)]
    return Explorer(
        "tiles",
        title=f"Attention of {n} queries over {m} keys, a tile of scores at a time.",
        numbers=f"In tiles of {query_tile} queries and {key_tile} keys, after {step} of "
                f"{step * -(-m // key_tile)} steps: {'; '.join(told)}. Moved: "
                f"{moved.reads + moved.writes} of {whole.reads + whole.writes} numbers; with a "
                f"table {2 * (n + m) + 4 * n * m}.",
        data={"queries": q.tolist(), "keys": k.tolist(), "values": v.tolist(), "sizes": sizes},
        state={"query_tile": query_tile, "key_tile": key_tile, "step": step},
        rules={name: choices(possible) for name, possible in sizes.items()}
        | {"step": choices(range(n * m + 1))},
        still="09_explorer")


def sizes_for(count: int) -> list[int]:
    """How many a tile may hold."""
    return sorted({size for size in (1, 2, 4) if size < count} | {count})


def after(steps: int, q: Tensor, k: Tensor, v: Tensor, query_tile: int,
          key_tile: int) -> tuple[Running, Traffic]:
    """What all queries keep after so many tiles of scores, and what was moved by then."""
    traffic = Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in q.split(query_tile)]
    pairs = [(K, V, i, Q) for K, V in zip(k.split(key_tile), v.split(key_tile))
             for i, Q in enumerate(q.split(query_tile))]
    for K, V, i, Q in pairs[:steps]:
        if i == 0:
            traffic.load(K, V)
        traffic.load(Q, *states[i])
        states[i] = traffic.store(update_tile(states[i], Q, K, V, None))
    return Running(*(torch.cat(parts) for parts in zip(*states))), traffic
