"""The explorer of 06 and 10: what layers cost at any size; who sees whom, or what is kept."""
from d2l_ext.sequence import FORMULAS, LINEAR_FORMULAS
from ..languages import t
from .base import Explorer, check_choices

SIZES = {
    "n": [2**i for i in range(4, 17)], "d": [2**i for i in range(4, 13)], "k": [3, 5, 7, 9],
    "num_heads": [1, 2, 4, 8, 16],
}
LAYERS = {"layers": list(range(1, 9))}
CHUNKS = {"c": [16, 64, 256]}
BESIDE = ["convolution", "recurrence", "attention layer",
          *(kind for kind in LINEAR_FORMULAS if kind.startswith("linear"))]


def compare_explorer(
    n: int = 64, d: int = 512, k: int = 3, num_heads: int = 8, c: int | None = None,
) -> Explorer:
    """Costs of convolution, recurrence and self-attention, and who sees whom layer by layer.

    The costs of one layer are those of ``d2l_ext.cost``. At the start there are ``n`` tokens, 16 to
    65,536, of the width ``d``, 16 to 4,096, both powers of 2; a kernel ``k`` of 3, 5, 7 or 9; 1, 2,
    4, 8 or 16 heads. Given ``c``, tokens in a chunk, 16, 64 or 256, linear attention stands beside
    the others, and what each keeps (``d2l_ext.state_size``) is a plot in place of the picture of
    who sees whom. Raises ValueError for sizes that aren't among these.
    """
    size = {"n": n, "d": d, "k": k, "num_heads": num_heads} | ({} if c is None else {"c": c})
    sizes = SIZES | (LAYERS if c is None else CHUNKS)
    kinds = [*FORMULAS] if c is None else BESIDE
    check_choices(sizes, **size)
    return Explorer(
        "compare",
        title=t("Convolution, recurrence and self-attention: work, sequential steps and longest "
                "path at any size.") if c is None else
              t("Linear attention beside convolution, recurrence and self-attention: work, "
                "sequential steps, longest path, and what a layer keeps."),
        data={"choices": sizes, "kinds": kinds}, state=size | ({"layers": 1} if c is None else {}),
        still="06_explorer" if c is None else "10_explorer")
