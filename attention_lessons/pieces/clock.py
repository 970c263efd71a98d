"""The piece of lesson 05: sinusoidal positions as clock hands."""
from ..languages import t
from .base import Explorer, check_choices

WIDTHS, POSITIONS, OFFSETS = [4, 8, 16, 32, 64], 63, 16


def clock_explorer(num_hiddens: int = 32) -> Explorer:
    """Sinusoidal positions 0 to 63: clock hands at a position and up to 16 positions later, their
    waves, how similar two clocks are, and how many positions a full turn takes.

    Raises ValueError for a width that is not among 4, 8, 16, 32, 64.
    """
    check_choices({"num_hiddens": WIDTHS}, num_hiddens=num_hiddens)
    return Explorer(
        "clock",
        title=t("Positions as clock hands: what an offset turns, and how similar two positions "
                "are."),
        data={"widths": WIDTHS, "positions": POSITIONS, "offsets": OFFSETS},
        state={"position": 6, "offset": 2, "hand": min(3, num_hiddens // 2 - 1),
               "width": num_hiddens},
        still="05_explorer")
