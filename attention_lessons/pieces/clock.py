"""The piece of lesson 04: sinusoidal positions as clock hands."""
from __future__ import annotations

from ..languages import t
from .base import Explorer, choices, one_of

WIDTHS, POSITIONS, OFFSETS = (4, 8, 16, 32, 64), 63, 16


def clock_explorer(num_hiddens: int = 32) -> Explorer:
    """Sinusoidal positions: clock hands at a position and an offset later.

    It shows their waves and rotation, P Pᵀ, and how many positions a round takes.
    Settings: ``position`` in 0..63; ``offset`` in 0..16; ``hand``, the one whose two columns are
    shown closely; ``width``, at the start ``num_hiddens``.
    Raises ValueError for a width that is not among 4, 8, 16, 32, 64.
    """
    width = one_of(choices(WIDTHS), num_hiddens=num_hiddens)
    return Explorer(
        "clock",
        title=t("Positions as clock hands: what an offset turns, and how similar two positions "
                "are."),
        data={"widths": list(WIDTHS), "positions": POSITIONS, "offsets": OFFSETS},
        state={"position": 6, "offset": 2, "hand": min(3, width // 2 - 1), "width": width},
        rules={"position": choices(range(POSITIONS + 1)), "offset": choices(range(OFFSETS + 1)),
               "hand": choices(range(max(WIDTHS) // 2)), "width": choices(WIDTHS)},
        still="04_explorer")
