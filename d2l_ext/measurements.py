"""What layers cost and see, measured: influence, operations, chains, seconds."""
import copy
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from timeit import timeit
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from .checks import check_size
from .settings import default_settings

Layer = Callable[[Tensor], Tensor]
CLOCK = time.thread_time  # on a busy machine it is steadier than wall time


@default_settings()
def influence(model: nn.Module, n: int, num_hiddens: int | None = None) -> Tensor:
    """How strongly input j moves output i: Σ_c |∂(r · y_i) / ∂x_jc|, c over the input's width.

    x and r are random, but the same at each call, so that entries can be compared with each other.
    Returns (n, n), rows outputs, columns inputs, in float64, since float32 loses what a long
    recurrence passes on. num_hiddens: the input's width, by default that of the first matrix.
    """
    check_size(n=n)
    model = copy.deepcopy(model).cpu().double().eval()
    if num_hiddens is None:
        widths = [W.shape[1] for W in model.parameters() if W.dim() > 1]
        if not widths:
            raise ValueError("the model has no matrix that shows its input's width: "
                             "give num_hiddens")
        num_hiddens = widths[0]
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


@default_settings()
def flops(layer: Layer, n: int, d: int) -> int:
    """Operations that PyTorch counts for (1, n, d): matrix products and convolutions."""
    with visible_products(), FlopCounterMode(display=False) as counter:
        layer(torch.zeros(1, n, d))
    return counter.get_total_flops()


@default_settings()
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


@default_settings()
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
