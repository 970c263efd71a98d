"""Convolution, recurrence and self-attention, costs and measures.

All layers take and return (batch, steps, num_hiddens).
"""
import copy
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from timeit import timeit
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from .attention import MultiHeadAttention
from .checks import check_choice, check_divides, check_sequence, check_size

Layer = Callable[[Tensor], Tensor]
CLOCK = time.thread_time  # on a busy machine it is steadier than wall time


class Convolution(nn.Module):
    """Each output is a learned mixture of ``kernel_size`` inputs, ``dilation`` apart.

    y_i = Σ_j W_j x_{i + j·dilation} (Zhang et al. 2023, section 16.3.1). The middle of the kernel
    is at i, so ``kernel_size`` is odd; with ``causal=True`` its last place is. Outside are zeros.
    """

    def __init__(
        self, num_hiddens: int, kernel_size: int = 3, *, dilation: int = 1, causal: bool = False,
    ):
        super().__init__()
        check_size(num_hiddens=num_hiddens, kernel_size=kernel_size, dilation=dilation)
        if not causal and kernel_size % 2 == 0:
            raise ValueError(f"{kernel_size=} has no middle: a centred kernel is odd")
        outside = (kernel_size - 1) * dilation
        self.padding = (outside, 0) if causal else (outside // 2, outside // 2)
        self.conv = nn.Conv1d(num_hiddens, num_hiddens, kernel_size, dilation=dilation, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        check_sequence(X, self.conv.in_channels)
        return self.conv(F.pad(X.mT, self.padding)).mT


class Recurrence(nn.Module):
    """Each output is made of its input and the output before it.

    y_i = tanh(W x_i + U y_{i-1}), y_0 = 0 (Zhang et al. 2023, section 9.4.2).
    """

    cell: Callable[..., nn.RNNBase] = nn.RNN

    def __init__(self, num_hiddens: int):
        super().__init__()
        self.rnn = self.cell(num_hiddens, num_hiddens, batch_first=True, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        check_sequence(X, self.rnn.input_size)
        return self.rnn(X)[0]


class GRU(Recurrence):
    """A ``Recurrence`` with two gates.

    From Cho et al. 2014, section 2.3 (Zhang et al. 2023, section 10.2).
    r = σ(W_r x_i + U_r y_{i-1}), z = σ(W_z x_i + U_z y_{i-1}),
    y_i = z ⊙ y_{i-1} + (1 - z) ⊙ tanh(W x_i + r ⊙ U y_{i-1}), y_0 = 0.
    The reset gate r acts after its product, as in PyTorch, not before it, as in the two sources.
    """

    cell = nn.GRU


class LSTM(Recurrence):
    """A ``Recurrence`` with a cell c beside the state, changed by addition, and three gates.

    From Hochreiter & Schmidhuber 1997 and Gers et al. 2000 (Zhang et al. 2023, section 10.1).
    i, f, o = σ(W x_i + U y_{i-1}), a pair of matrices each, and g = tanh(W_g x_i + U_g y_{i-1}):
    c_i = f ⊙ c_{i-1} + i ⊙ g, y_i = o ⊙ tanh(c_i), y_0 = c_0 = 0.
    """

    cell = nn.LSTM


class SelfAttention(nn.Module):
    """Each output is made of weighted means over all positions; causal: up to its own.

    From Vaswani et al. 2017, section 3.2.3.
    """

    def __init__(self, num_hiddens: int, num_heads: int = 1, *, causal: bool = False):
        super().__init__()
        self.attention, self.causal = MultiHeadAttention(num_hiddens, num_heads), causal

    def forward(self, X: Tensor) -> Tensor:
        return self.attention(X, X, X, causal=self.causal)


# ---- formulas ----

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


def worth(formula: str, **sizes: int) -> int:
    """The number of a formula as it is written here, rounded up.

    >>> worth("⌈2(n - 1)/(k - 1)⌉ + n²d", n=4, k=3, d=2)
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
    check_divides(num_heads, d)
    c = min(c, n)
    operations, sequential, *moves = (
        worth(formulas[kind][field], n=n, d=d, k=k, c=c, h=num_heads) for field in Cost._fields)
    return Cost(operations, sequential, *(min(n - 1, way) for way in moves))


def state_size(kind: str, n: int, d: int, k: int = 3, num_heads: int = 1) -> int:
    """How many numbers a causal layer of width d must keep of n tokens, to go on with the next.

    ``STATES`` has them in writing; arguments are those of ``cost``. A normaliser keeps d more.
    """
    cost(kind, n, d, k, num_heads=num_heads)  # checks them
    return worth(STATES[kind], n=n, d=d, k=k, h=num_heads)


# ---- measurements ----

def influence(model: nn.Module, n: int, num_hiddens: int | None = None) -> Tensor:
    """How strongly input j moves output i: Σ_c |∂(r · y_i) / ∂x_jc|, c over the input's width.

    x and r are random, but the same at each call, so that entries can be compared with each other.
    Returns (n, n), rows outputs, columns inputs, in float64, since float32 loses what a long
    recurrence passes on. num_hiddens: the input's width, by default that of the first matrix.
    """
    check_size(n=n)
    model = copy.deepcopy(model).cpu().double().eval()
    if num_hiddens is None:
        num_hiddens = next(W.shape[1] for W in model.parameters() if W.dim() > 1)
    options: Any = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}
    X = torch.randn(1, n, num_hiddens, **options)
    # Copy i is asked about output i, so that one pass backwards answers all.
    copies = X.repeat(n, 1, 1).requires_grad_()
    Y = model(copies)
    asked = Y[range(n), range(n)] @ torch.randn(Y.shape[-1], **options)
    return torch.autograd.grad(asked.sum(), copies)[0].abs().sum(-1)


def reach(model: nn.Module, n: int, num_hiddens: int | None = None) -> Tensor:
    """Whether output i depends on input j, (n, n): where ``influence`` is above 0."""
    return influence(model, n, num_hiddens) > 0


@contextmanager
def visible_products() -> Iterator[None]:
    """While open, PyTorch avoids fused attention and oneDNN's LSTM, which hide their products."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about TF32, which isn't used
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            yield


def flops(layer: Layer, n: int, d: int) -> int:
    """Operations that PyTorch counts for (1, n, d): matrix products and convolutions."""
    with visible_products(), FlopCounterMode(display=False) as counter:
        layer(torch.zeros(1, n, d))
    return counter.get_total_flops()


def longest_chain(layer: Layer, n: int, d: int) -> int:
    """The most matrix products that wait for each other, in PyTorch's graph for (1, n, d)."""
    with visible_products():
        end = layer(torch.zeros(1, n, d, requires_grad=True)).grad_fn
    length: dict[Any, int] = {}
    todo: list[Any] = [end]
    while todo:  # a node's length is known once those of the nodes before it are
        node = todo[-1]
        before = [earlier for earlier, _ in node.next_functions if earlier]
        waiting = [earlier for earlier in before if earlier not in length]
        if waiting:
            todo += waiting
        else:
            product = any(word in node.name().lower() for word in ("mm", "convolution"))
            length[todo.pop()] = product + max((length[earlier] for earlier in before), default=0)
    return length[end]


@torch.no_grad()
def fastest(runs: Sequence[tuple[Layer, int, int]], repeats: int = 5) -> list[float]:
    """Seconds of a forward pass for each (layer, n, d) in ``runs``, on the CPU, with one thread.

    The least of ``repeats`` rounds through all runs, after one that isn't counted: whatever
    disturbs a measurement makes it longer, and disturbs the runs of a round alike.
    """
    threads, passes = torch.get_num_threads(), [
        partial(layer, torch.ones(1, n, d)) for layer, n, d in runs]
    torch.set_num_threads(1)
    try:
        rounds = [[timeit(run, timer=CLOCK, number=1) for run in passes]
                  for _ in range(repeats + 1)]
    finally:
        torch.set_num_threads(threads)
    return [min(times) for times in zip(*rounds[1:])]


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The power in y ~ x^power and its standard error, from three positive pairs or more.

    A straight line is fitted to the logarithms by least squares.
    """
    a, b = (torch.tensor(values, dtype=torch.float64).log2() for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    power = (a @ b) / (a @ a)
    error = ((b - power * a).square().sum() / (len(x) - 2) / (a @ a)).sqrt()
    return float(power), float(error)
