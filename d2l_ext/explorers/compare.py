"""The explorer of lesson 06: what three kinds of layers cost at any size, and who sees whom."""
from __future__ import annotations

from ..sequence import FORMULAS, cost
from .base import Explorer, choices

SIZES = {
    "n": [2**i for i in range(4, 17)], "d": [2**i for i in range(4, 13)], "k": [3, 5, 7, 9],
    "num_heads": [1, 2, 4, 8, 16], "layers": list(range(1, 9)),
}


def compare_explorer(n: int = 64, d: int = 512, k: int = 3, num_heads: int = 8) -> Explorer:
    """Costs of convolution, recurrence and self-attention, and who sees whom layer by layer.

    The costs of one layer are those of ``d2l_ext.cost``. Settings: ``n`` tokens, 16 to 65,536,
    and the width ``d``, 16 to 4,096, both powers of 2; ``k``, the kernel, 3, 5, 7 or 9;
    ``num_heads``, 1, 2, 4, 8 or 16; ``layers`` in the picture of who sees whom, 1 to 8, at the
    start 1. Raises ValueError for sizes that aren't among these.
    """
    told = []
    for kind in FORMULAS:
        operations, sequential, path = cost(kind, n, d, k)[:3]
        steps = "step" if sequential == 1 else "steps"
        told.append(f"{kind} {operations:,} operations, {sequential} {steps}, longest path {path}")
    size = {"n": n, "d": d, "k": k, "num_heads": num_heads}
    explorer = Explorer(
        "compare",
        title="Convolution, recurrence and self-attention: work, sequential steps and longest "
              "path at any size.",
        numbers=f"n = {n}, d = {d}, k = {k}, {num_heads} {'head' if num_heads == 1 else 'heads'}: "
                f"{'; '.join(told)}.",
        data={"choices": SIZES}, state=size | {"layers": 1},
        rules={name: choices(values) for name, values in SIZES.items()}, still="06_explorer")
    explorer.set(**size)
    return explorer
