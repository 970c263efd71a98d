"""The explorer of lesson 04: sinusoidal positions as clock hands."""
from __future__ import annotations

import math

from d2l_ext.checks import check_integer
from d2l_ext.positional import sinusoids
from .base import Explorer, choices, figures

WIDTHS, POSITIONS, OFFSETS = (4, 8, 16, 32, 64), 63, 16


def clock_explorer(num_hiddens: int = 32) -> Explorer:
    """Sinusoidal positions: clock hands at a position and an offset later.

    It shows their waves and rotation, P Pᵀ, and how many positions a round takes.
    Settings: ``position`` in 0..63; ``offset`` in 0..16; ``hand``, the one whose two columns are
    shown closely; ``width``, at the start ``num_hiddens``.
    Raises ValueError for a width that is not among 4, 8, 16, 32, 64.
    """
    check_integer(num_hiddens=num_hiddens)
    if num_hiddens not in WIDTHS:
        possible = ", ".join(map(str, WIDTHS))
        raise ValueError(f"{num_hiddens=} is not possible: choose from {possible}")
    position, offset, hand = 6, 2, min(3, num_hiddens // 2 - 1)
    first, second = sinusoids(position + offset + 1, num_hiddens)[[position, position + offset]]
    sine, cosine = 2 * hand, 2 * hand + 1  # the hand's columns
    before, after = (", ".join(figures(row[sine:cosine + 1])) for row in (first, second))
    step = 10_000 ** (-2 * hand / num_hiddens)
    return Explorer(
        "clock",
        title="Positions as clock hands: what an offset turns, and how similar two positions are.",
        numbers=f"Width {num_hiddens}, position {position}, {offset} further on: columns {sine} "
                f"and {cosine} go from {before} to {after}, turned by "
                f"{math.degrees(offset * step):.1f} degrees; a round takes "
                f"{2 * math.pi / step:.3g} positions. Similarity of the two rows: "
                f"{float(first @ second) / (num_hiddens / 2):.2f}.",
        data={"widths": list(WIDTHS), "positions": POSITIONS, "offsets": OFFSETS},
        state={"position": position, "offset": offset, "hand": hand, "width": num_hiddens},
        rules={"position": choices(range(POSITIONS + 1)), "offset": choices(range(OFFSETS + 1)),
               "hand": choices(range(max(WIDTHS) // 2)), "width": choices(WIDTHS)},
        still="04_explorer")
