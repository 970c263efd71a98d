"""Explorers of positions."""
from __future__ import annotations

import math

from .._validate import check_integer
from ..positional import sinusoids
from . import Explorer

WIDTHS, POSITIONS, OFFSETS = (4, 8, 16, 32, 64), 63, 16


def clock_explorer(num_hiddens: int = 32) -> Explorer:
    """Sinusoidal positions: the clock hands at a position and an offset later, their waves and rotation, P Pᵀ, and how long a round takes.

    Settings: ``position`` in 0..63; ``offset`` in 0..16; ``hand``, whose two columns are shown closely; ``width``, at the start ``num_hiddens``.
    Raises ValueError for a width that is not among 4, 8, 16, 32, 64.
    """
    check_integer(num_hiddens=num_hiddens)
    if num_hiddens not in WIDTHS:
        raise ValueError(f"{num_hiddens=} is not possible: choose from {', '.join(map(str, WIDTHS))}")
    position, offset, hand = 6, 2, min(3, num_hiddens // 2 - 1)
    P = sinusoids(position + offset + 1, num_hiddens)
    first, second = P[[position, position + offset]]
    pairs = (", ".join(f"{value + 0:.2f}" for value in row[2 * hand:2 * hand + 2].round(decimals=2).tolist()) for row in (first, second))
    step = 10_000 ** (-2 * hand / num_hiddens)
    return Explorer(
        "clock",
        title="Positions as clock hands: what an offset turns, and how similar two positions are.",
        numbers=f"Width {num_hiddens}, position {position}, {offset} further on: columns {2 * hand} and {2 * hand + 1} go from {' to '.join(pairs)}, "
                f"turned by {math.degrees(offset * step):.1f} degrees; a round takes {2 * math.pi / step:.3g} positions. "
                f"Similarity of the two rows: {float(first @ second) / (num_hiddens / 2):.2f}.",
        data={"widths": list(WIDTHS), "positions": POSITIONS, "offsets": OFFSETS},
        state={"position": position, "offset": offset, "hand": hand, "width": num_hiddens},
        rules={"position": {i: i for i in range(POSITIONS + 1)}, "offset": {i: i for i in range(OFFSETS + 1)},
               "hand": {i: i for i in range(max(WIDTHS) // 2)}, "width": {width: width for width in WIDTHS}},
        still="04_explorer")
