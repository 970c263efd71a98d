"""D2L 1.0's names for sections 11.5 and 11.6:
``from attention_lessons.compat import d2l_1_0 as d2l``.

The same seed gives D2L's numbers, in training too, and D2L's ``state_dict`` can be loaded. Where
D2L errs, this behaves as ``d2l_ext`` does: scores are not overwritten, a query with nothing to
attend to gets zeros, boolean or fractional lengths and lengths beyond the keys raise errors.
``attention_weights`` is kept detached, so that a trained model can be copied.
"""
from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable

import torch
from torch import Tensor, arange, cat as concat, eye, matmul, nn, normal, ones, rand, randn
from torch import stack, tensor, zeros
from torch.nn.parameter import is_lazy

from d2l_ext import attention as core
from d2l_ext.checks import check_inputs, check_width
from d2l_ext.hidden import hide
from d2l_ext.masks import combine
from d2l_ext.positional import PositionalEncoding

__all__ = ["AdditiveAttention", "DotProductAttention", "Module", "MultiHeadAttention",
           "PositionalEncoding", "add_to_class", "arange", "check_shape", "concat", "eye",
           "masked_softmax", "matmul", "nn", "normal", "numpy", "ones", "plot", "rand", "randn",
           "reshape", "set_figsize", "show_heatmaps", "stack", "tensor", "torch", "try_gpu",
           "use_svg_display", "zeros"]


reshape = Tensor.reshape


def numpy(x: Tensor, *args, **kwargs):
    return x.detach().cpu().numpy(*args, **kwargs)


class Module(nn.Module):
    """D2L's base class without training. The two arguments are kept and not used."""

    def __init__(self, plot_train_per_epoch: float = 2, plot_valid_per_epoch: float = 1):
        super().__init__()
        self.save_hyperparameters()

    def save_hyperparameters(self, ignore: list[str] = []) -> None:
        """Keep the arguments of the calling function as attributes, and all as ``hparams``."""
        local = inspect.currentframe().f_back.f_locals
        names = [name for name in local if name not in {"self", *ignore} and name[0] != "_"]
        self.hparams = {name: local[name] for name in names}
        for name, value in self.hparams.items():
            setattr(self, name, value)


def add_to_class(Class: type) -> Callable:
    """Decorator: the function becomes a method of ``Class``; its name is then None, as in D2L.

    >>> class Token: pass
    >>> @add_to_class(Token)
    ... def name(self): return "dog"
    >>> Token().name()
    'dog'
    """
    def wrapper(obj):
        setattr(Class, obj.__name__, obj)
    return wrapper


def check_shape(a: Tensor, shape: tuple[int, ...]) -> None:
    """Raise AssertionError unless ``a`` has this shape."""
    if a.shape != shape:
        raise AssertionError(f"tensor's shape {tuple(a.shape)} != expected shape {tuple(shape)}")


def try_gpu(i: int = 0) -> torch.device:
    """The i-th GPU if there is one, else the CPU."""
    return torch.device(f"cuda:{i}" if torch.cuda.device_count() > i else "cpu")


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """``d2l_ext.masked_softmax`` under D2L's argument names; ``X`` is not modified.

    X: scores (batch, queries, keys). valid_lens: (batch,) or (batch, queries).
    """
    return core.masked_softmax(X, valid_lens)


class DotProductAttention(nn.Module):
    """Scaled dot-product attention that keeps ``attention_weights``, before dropout and detached.

    queries (batch, queries, d), keys (batch, keys, d), values (batch, keys, v); valid_lens
    (batch,) or (batch, queries). Returns (batch, queries, v). Raises as ``d2l_ext`` does.
    """

    def __init__(self, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None,
    ) -> Tensor:
        width = queries.shape[-1]
        check_inputs(queries, keys, values, (width, width))
        weights = core.masked_softmax(queries / math.sqrt(width) @ keys.mT, valid_lens)
        self.attention_weights = weights.detach()
        return self.dropout(weights) @ values


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """(batch, steps, num_hiddens) -> (batch * num_heads, steps, num_hiddens / num_heads).

    First come all heads of the first sequence, then those of the next.

    >>> transpose_qkv(torch.arange(4.).reshape(1, 1, 4), 2).tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    return core.split_heads(X, num_heads).flatten(0, 1)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo ``transpose_qkv``."""
    return core.merge_heads(X.reshape(X.shape[0] // num_heads, num_heads, *X.shape[1:]))


class MultiHeadAttention(Module):
    """Multi-head attention whose input widths are those of its first inputs (``nn.LazyLinear``).

    ``attention.attention_weights`` is (batch * num_heads, queries, keys). As in D2L, other
    keywords, such as 0.17's ``key_size``, are accepted and not used.

    >>> attention = MultiHeadAttention(num_hiddens=8, num_heads=2, dropout=0.5)
    >>> queries, keys, values = torch.rand(1, 3, 4), torch.rand(1, 5, 6), torch.rand(1, 5, 7)
    >>> attention(queries, keys, values, torch.tensor([2])).shape
    torch.Size([1, 3, 8])
    >>> attention.W_k.weight.shape
    torch.Size([8, 6])
    """

    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False, **kwargs,
    ):
        super().__init__()
        if num_heads < 1 or num_hiddens < 1 or num_hiddens % num_heads:
            raise ValueError(f"{num_heads=} does not divide {num_hiddens=}")
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None,
    ) -> Tensor:
        check_inputs(queries, keys, values)
        if valid_lens is not None:
            sizes = len(queries), 1, queries.shape[1], keys.shape[1]
            keep = combine(*sizes, valid_lens, device=queries.device)
            queries, keys, values = hide(keep.any(1), queries, keys, values)
            valid_lens = valid_lens.repeat_interleave(self.num_heads, dim=0)
        # Only now: a call that is refused settles none.
        settle_widths(self, queries=queries, keys=keys, values=values)
        q, k, v = map(self.transpose_qkv, (self.W_q(queries), self.W_k(keys), self.W_v(values)))
        return self.W_o(self.transpose_output(self.attention(q, k, v, valid_lens)))

    def transpose_qkv(self, X: Tensor) -> Tensor:
        return transpose_qkv(X, self.num_heads)

    def transpose_output(self, X: Tensor) -> Tensor:
        return transpose_output(X, self.num_heads)


class AdditiveAttention(core.AdditiveAttention):
    """Additive attention whose input widths are those of its first inputs (``nn.LazyLinear``).

    queries (batch, queries, q), keys (batch, keys, k), values (batch, keys, v)
    -> (batch, queries, v); keeps ``attention_weights``, detached.
    """

    def __init__(self, num_hiddens: int, dropout: float, **kwargs):
        nn.Module.__init__(self, **kwargs)  # not the parent's: D2L orders its layers otherwise
        self.dropout = nn.Dropout(dropout)
        self.W_k = nn.LazyLinear(num_hiddens, bias=False)
        self.W_q = nn.LazyLinear(num_hiddens, bias=False)
        self.w_v = nn.LazyLinear(1, bias=False)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None,
    ) -> Tensor:
        check_inputs(queries, keys, values)
        settle_widths(self, queries=queries, keys=keys)
        output, weights = super().forward(queries, keys, values, valid_lens, need_weights=True)
        self.attention_weights = weights.detach()
        return output


def settle_widths(attention: nn.Module, **inputs: Tensor) -> None:
    """``W_q`` takes the queries' width, and so on, if it has none; else it must be the same."""
    for name, X in inputs.items():
        linear = getattr(attention, f"W_{name[0]}")
        if not is_lazy(linear.weight):
            check_width(name, X, linear.weight.shape[1])
        if isinstance(linear, nn.LazyLinear):
            linear(X)


def load_pyplot():
    from matplotlib import pyplot
    return pyplot


def __getattr__(name: str):
    """``d2l.plt`` loads matplotlib when it is asked for."""
    if name == "plt":
        return load_pyplot()
    raise AttributeError(f"no {name!r} here: "
                         "attention_lessons.compat has the names of D2L's sections 11.5 and 11.6")


def use_svg_display() -> None:
    """Let notebooks show figures as SVG from now on, the same text for the same figure."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from matplotlib_inline.backend_inline import set_matplotlib_formats
        load_pyplot().rcParams["svg.hashsalt"] = "d2l"
        set_matplotlib_formats("svg", metadata={"Date": None, "Creator": None})


def set_figsize(figsize: tuple[float, float] = (3.5, 2.5)) -> None:
    """Give figures this size, in inches, from now on, and let them be shown as SVG."""
    use_svg_display()
    load_pyplot().rcParams["figure.figsize"] = figsize


def plot(
    X, Y=None, xlabel=None, ylabel=None, legend=[], xlim=None, ylim=None, xscale="linear",
    yscale="linear", fmts=("-", "m--", "g-.", "r:"), figsize=(3.5, 2.5), axes=None,
) -> None:
    """Draw curves: ``Y`` over ``X``, or ``X`` over 0, 1, ... where ``Y`` is left out.

    X, Y: one curve, or a sequence of curves; one X serves all. fmts: repeated for more curves.
    """
    set_figsize(figsize)
    axes = load_pyplot().gca() if axes is None else axes
    axes.cla()
    curves = as_curves(X if Y is None else Y)
    places = [range(len(curve)) for curve in curves] if Y is None else as_curves(X)
    for x, y, fmt in zip(itertools.cycle(places), curves, itertools.cycle(fmts)):
        axes.plot(x, y, fmt)
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale, xlim=xlim, ylim=ylim)
    if legend:
        axes.legend(legend)
    axes.grid()


def as_curves(values) -> list:
    """One curve, or a sequence of them, as a list of curves that matplotlib can draw."""
    curves = [numpy(value) if isinstance(value, Tensor) else value for value in values]
    one = getattr(curves[0], "ndim", None) == 0 or not hasattr(curves[0], "__len__")
    return [curves] if one else curves


def show_heatmaps(
    matrices, xlabel: str, ylabel: str, titles=None, figsize=(2.5, 2.5), cmap="Reds",
) -> None:
    """Draw a grid of heat maps with one colour bar, which holds for all of them, unlike D2L's.

    matrices: (rows, columns, queries, keys); raises ValueError for other shapes. titles: one per
    column.
    """
    use_svg_display()
    matrices = numpy(torch.as_tensor(matrices))
    if matrices.ndim != 4:
        raise ValueError("matrices must have shape (rows, columns, queries, keys), "
                         f"got {matrices.shape}")
    rows, columns = matrices.shape[:2]
    figure, grid = load_pyplot().subplots(
        rows, columns, figsize=figsize, sharex=True, sharey=True, squeeze=False)
    for i, j in itertools.product(range(rows), range(columns)):
        image = grid[i, j].imshow(matrices[i, j], cmap, vmin=matrices.min(), vmax=matrices.max())
        grid[i, j].set(title=titles[j] if titles else "", ylabel="" if j else ylabel,
                       xlabel=xlabel if i == rows - 1 else "")
    figure.colorbar(image, ax=grid, shrink=0.6)
