"""What layers cost, as formulas: operations, sequential steps, path lengths, sizes of states."""
import re
from math import ceil
from typing import NamedTuple

from .checks import check_choice, check_divides, check_size


class Cost(NamedTuple):
    """What a layer costs. ``path`` and ``meet`` count moves from one position to another."""

    operations: int  # of one layer; a multiply and an add are two
    sequential: int  # products of matrices of which each waits for the one before
    path: int        # moves until every output has seen every input that it can ever see
    meet: int        # moves until some output has seen all inputs


FORMULAS = {kind: dict(zip(Cost._fields, written)) for kind, written in {
    # centred, in a stack without gaps; paths count layers
    "convolution": ("2knd²", "1", "⌈2(n - 1)/(k - 1)⌉", "⌈(n - 1)/(k - 1)⌉"),
    # in one direction, reset gate after its product, gates' ⊙ not counted; paths count steps
    "recurrence": ("4nd²", "n", "n - 1", "n - 1"),
    "GRU": ("12nd²", "n", "n - 1", "n - 1"),
    "LSTM": ("16nd²", "n", "n - 1", "n - 1"),
    # nothing hidden: scores and weighted sums alone, and with the four projections
    "attention products": ("4n²d", "2", "1", "1"),
    "attention layer": ("8nd² + 4n²d", "4", "1", "1"),
}.items()}
LINEAR_FORMULAS = {kind: dict(zip(Cost._fields, written)) for kind, written in {
    # of ``linear``'s layers: causal, h heads, no normaliser; c, tokens in a chunk, divides n
    "linear attention, at once": ("8nd² + 4n²d", "4", "1", "1"),
    "linear attention, in chunks": (
        "8nd² + 4ncd + (4n - 2c)d²/h", "max(4, n/c + 2)", "1", "1"),
    "linear attention, by token": ("8nd² + 4nd²/h", "n + 3", "1", "1"),  # the memory only adds up
    "delta rule, by token": ("8nd² + 2ndh + (6n - 2)d²/h", "2n + 2", "n - 1", "n - 1"),
}.items()}
STATES = {  # what a causal layer must keep of n tokens, to go on with the next
    "convolution": "(k - 1)d", "recurrence": "d", "GRU": "d", "LSTM": "2d",
    "attention products": "2nd", "attention layer": "2nd", **dict.fromkeys(LINEAR_FORMULAS, "d²/h"),
}


def evaluate(formula: str, **sizes: int) -> int:
    """The number of a formula as it is written here, rounded up.

    >>> evaluate("⌈2(n - 1)/(k - 1)⌉ + n²d", n=4, k=3, d=2)
    35
    """
    written = formula.translate({ord("²"): "**2", ord("⌈"): "ceil(", ord("⌉"): ")"})
    names = "".join(sizes)
    product = rf"(?<=[\d{names})])(?=[{names}(])"  # nothing between two factors
    return ceil(eval(re.sub(product, "*", written), {"ceil": ceil, "max": max}, sizes))


def cost(kind: str, n: int, d: int, k: int = 3, c: int = 64, num_heads: int = 1) -> Cost:
    """Operations, sequential steps and path lengths of one layer over n tokens of width d.

    As Vaswani et al. 2017, table 1, but exact, of matrix products alone; ``FORMULAS`` and
    ``LINEAR_FORMULAS`` have them in writing, by kind. k: a convolution's kernel, odd and at least
    3; c: tokens in a chunk; ``num_heads``, in writing h, changes only ``LINEAR_FORMULAS``.

    >>> cost("recurrence", n=10, d=2)
    Cost(operations=160, sequential=10, path=9, meet=9)
    """
    formulas = FORMULAS | LINEAR_FORMULAS
    check_choice("kind", kind, formulas)
    check_size(n=n, d=d, c=c, num_heads=num_heads)
    check_size(3, k=k)
    if kind == "convolution" and k % 2 == 0:
        raise ValueError(f"{k=} has no middle: a centred kernel is odd")
    check_divides(num_heads, d)
    c = min(c, n)
    operations, sequential, *moves = (
        evaluate(formulas[kind][field], n=n, d=d, k=k, c=c, h=num_heads) for field in Cost._fields)
    return Cost(operations, sequential, *(min(n - 1, way) for way in moves))


def state_size(kind: str, n: int, d: int, k: int = 3, num_heads: int = 1) -> int:
    """How many numbers a causal layer of width d must keep of n tokens, to go on with the next.

    ``STATES`` has them in writing; arguments are those of ``cost``. A normaliser keeps d more.
    """
    cost(kind, n, d, k, num_heads=num_heads)  # checks them
    return evaluate(STATES[kind], n=n, d=d, k=k, h=num_heads)
