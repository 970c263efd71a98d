"""The piece of lesson 10: exact attention, a tile of scores at a time."""
from collections.abc import Sequence

from ..languages import t
from .base import Explorer, check_choices, finite, sizes_of


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
    q, k, v = finite(queries=queries, keys=keys, values=values)
    n, m = sizes_of("queries (queries,), keys (keys,), values (keys,)", q, k, v,
                    queries=(2, 8), keys=(2, 8)).values()
    sizes = {name: sorted({size for size in (1, 2, 4) if size < count} | {count})
             for name, count in (("query_tile", n), ("key_tile", m))}
    check_choices(sizes, query_tile=query_tile, key_tile=key_tile)
    return Explorer(
        "tiles", title=t("Attention of {0} queries over {1} keys, a tile of scores at a time.",
                         n, m),
        data={"queries": q.tolist(), "keys": k.tolist(), "values": v.tolist(), "sizes": sizes},
        state={"query_tile": query_tile, "key_tile": key_tile, "step": -(-n // query_tile)},
        still="10_explorer")
