"""The explorer of 06 and 10: what layers cost at any size; who sees whom, or what is kept."""
from ..languages import t
from .base import Explorer, check_choices

SIZES = {
    "n": [2**i for i in range(4, 17)], "d": [2**i for i in range(4, 13)], "k": [3, 5, 7, 9],
    "num_heads": [1, 2, 4, 8, 16], "layers": list(range(1, 9)), "c": [16, 64, 256],
}
# As a legend lists them, from the most work on at large n; the others meet the first.
KINDS = ["attention layer", "attention products", "LSTM", "GRU", "convolution", "recurrence"]
BESIDE = ["attention layer", "linear attention, in chunks", "linear attention, by token",
          "convolution", "recurrence"]


def compare_explorer(
    n: int = 64, d: int = 512, k: int = 3, num_heads: int = 8, c: int | None = None,
) -> Explorer:
    """Costs of convolution, recurrence and self-attention, and who sees whom layer by layer.

    The costs of a layer are those of ``d2l_ext.cost``. At the start: ``n`` tokens, 16 to 65,536, of
    width ``d``, 16 to 4,096, both powers of 2; a kernel ``k`` of 3, 5, 7 or 9; 1, 2, 4, 8 or 16
    heads. Given ``c``, tokens in a chunk, 16, 64 or 256, linear attention stands beside the others,
    and what each keeps (``d2l_ext.state_size``) in place of who sees whom. Raises ValueError for
    other sizes.
    """
    own, kinds, still = {"layers": 1}, KINDS, "07_explorer"
    if c is not None:
        own, kinds, still = {"c": c}, BESIDE, "11_explorer"
    state = {"n": n, "d": d, "k": k, "num_heads": num_heads} | own
    check_choices(SIZES, **state)
    return Explorer(
        "compare",
        title=t("Convolution, recurrence and attention at any size: work, and who sees whom, or "
                "what a layer keeps."),
        data={"choices": SIZES, "kinds": kinds}, state=state, still=still)
