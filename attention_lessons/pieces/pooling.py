"""The piece of lesson 01: one query over keys and values."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..languages import t
from .base import Explorer, exact, finite, sizes_of


def pooling_explorer(keys: Tensor, values: Tensor, query: Sequence[float],
                     scale: float = 1.0) -> Explorer:
    """One query over ``keys`` (keys, d) and ``values`` (keys, v): scores, weights and output.

    scale: what divides the scores, in 1..100. At the start the query may attend to every key.
    Raises ValueError for shapes that don't fit, more than 12 keys, widths above 6, numbers that
    aren't finite or above 1e30 in size.
    """
    query, keys, values = finite(query=query, keys=keys, values=values)
    count, width, _ = sizes_of("keys (keys, d), values (keys, v), query (d,)", keys, values, query,
                               keys=(1, 12), d=(1, 6), v=(1, 6)).values()
    if not 1 <= scale <= 100:
        raise ValueError(f"{scale=} must be a number in 1..100")

    limit = 3 * max(1.0, keys.abs().max().item(), query.abs().max().item())
    presets = {1.0: "1", math.sqrt(width): f"√{width}", float(scale): f"{scale:g}"}
    return Explorer(
        "pooling", title=t("Attention pooling over {0} keys.", count),
        data={"keys": exact(keys), "values": exact(values), "axes": exact(plane(keys)),
              "limit": limit, "presets": list(presets.items())},
        state={"query": query.tolist(), "scale": float(scale), "sees": [True] * count},
        still="01_explorer")


def plane(keys: Tensor) -> Tensor:
    """Two directions in which keys differ, at right angles and of length 1; of keys that are
    numbers, the second is zero. A query's part across them adds the same to the scores of up to
    three keys, which a softmax doesn't see."""
    units = torch.eye(keys.shape[1], dtype=keys.dtype)
    found: list[Tensor] = []
    for given in units if len(units) < 3 else (*(keys[1:] - keys[0]), *units):
        rest = given - sum(given @ one * one for one in found)
        if rest.norm() > 1e-6 * given.norm():
            found.append(rest / rest.norm())
    return torch.stack([*found, 0 * units[0]][:2])
