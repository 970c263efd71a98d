"""D2L 1.0's names for sections 11.5 and 11.6:
``from attention_lessons.compat import d2l_1_0 as d2l``.

The same seed gives D2L's numbers, in training too, and D2L's ``state_dict`` can be loaded. Where
D2L errs, this behaves as ``d2l_ext`` does: scores are not overwritten, a query with nothing to
attend to gets zeros, boolean or fractional lengths and lengths beyond the keys raise errors.
``attention_weights`` is kept detached, so that a trained model can be copied.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from itertools import cycle, product

import numpy as np
import torch
from torch import Tensor, arange, concat, eye, matmul, nn, normal, ones, rand, randn  # noqa: F401
from torch import reshape, stack, tensor, zeros  # noqa: F401 -- D2L's names, as they are

from d2l_ext import masked_softmax
from d2l_ext.attention import merge_heads, split_heads
from d2l_ext.checks import check_divides, check_inputs, check_size
from d2l_ext.positional import PositionalEncoding  # noqa: F401

Module = nn.Module  # D2L's can draw while it trains


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
        weights = masked_softmax(queries / math.sqrt(width) @ keys.mT, valid_lens)
        self.attention_weights = weights.detach()
        return self.dropout(weights) @ values


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """(batch, steps, num_hiddens) -> (batch * num_heads, steps, num_hiddens / num_heads).

    First come all heads of the first sequence, then those of the next.

    >>> transpose_qkv(torch.arange(4.).reshape(1, 1, 4), 2).tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    return split_heads(X, num_heads).flatten(0, 1)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo ``transpose_qkv``."""
    return merge_heads(X.unflatten(0, (-1, num_heads)))


class MultiHeadAttention(nn.Module):
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
        check_size(num_hiddens=num_hiddens, num_heads=num_heads)
        check_divides(num_heads, num_hiddens)
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None,
    ) -> Tensor:
        given = {self.W_q: queries, self.W_k: keys, self.W_v: values}
        widths = [W.in_features or X.shape[-1] for W, X in given.items()]  # 0 before the first call
        check_inputs(queries, keys, values, widths)
        if valid_lens is not None:
            valid_lens = valid_lens.repeat_interleave(self.num_heads, dim=0)
        projected = self.W_q(queries), self.W_k(keys), self.W_v(values)
        q, k, v = (transpose_qkv(X, self.num_heads) for X in projected)
        return self.W_o(transpose_output(self.attention(q, k, v, valid_lens), self.num_heads))


def __getattr__(name: str):
    """``d2l.plt`` loads matplotlib when it is asked for."""
    if name == "plt":
        from matplotlib import pyplot
        return pyplot
    raise AttributeError(f"no {name!r} here: "
                         "attention_lessons.compat has the names of D2L's sections 11.5 and 11.6")


def plot(
    X, Y=None, xlabel=None, ylabel=None, legend=[], xlim=None, ylim=None, xscale="linear",
    yscale="linear", fmts=("-", "m--", "g-.", "r:"), figsize=(3.5, 2.5), axes=None,
) -> None:
    """Draw curves: ``Y`` over ``X``, or ``X`` over 0, 1, ... where ``Y`` is left out.

    X, Y: one curve, or a sequence of curves; one X serves all. fmts: repeated for more curves.
    """
    from matplotlib import pyplot
    pyplot.rcParams["figure.figsize"] = figsize
    axes = pyplot.gca() if axes is None else axes
    axes.cla()
    curves = as_curves(X if Y is None else Y)
    places = [range(len(curve)) for curve in curves] if Y is None else as_curves(X)
    for x, y, fmt in zip(cycle(places), curves, cycle(fmts)):
        axes.plot(x, y, fmt)
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale, xlim=xlim, ylim=ylim)
    if legend:
        axes.legend(legend)
    axes.grid()


def as_curves(values) -> list:
    """One curve, or a sequence of them, as a list of curves that matplotlib can draw."""
    curves = [value.detach() if isinstance(value, Tensor) else value for value in values]
    return [curves] if np.ndim(curves[0]) == 0 else curves


def show_heatmaps(
    matrices, xlabel: str, ylabel: str, titles=None, figsize=(2.5, 2.5), cmap="Reds",
) -> None:
    """Draw a grid of heat maps with one colour bar, which holds for all of them, unlike D2L's.

    matrices: (rows, columns, queries, keys); raises ValueError for other shapes. titles: one per
    column.
    """
    from matplotlib import pyplot
    matrices = torch.as_tensor(matrices).detach().cpu()
    if matrices.ndim != 4:
        raise ValueError("matrices must have shape (rows, columns, queries, keys), "
                         f"got {tuple(matrices.shape)}")
    rows, columns = matrices.shape[:2]
    figure, grid = pyplot.subplots(
        rows, columns, figsize=figsize, sharex=True, sharey=True, squeeze=False)
    for i, j in product(range(rows), range(columns)):
        image = grid[i, j].imshow(matrices[i, j], cmap, vmin=matrices.min(), vmax=matrices.max())
        grid[i, j].set(title=titles[j] if titles else "", ylabel="" if j else ylabel,
                       xlabel=xlabel if i == rows - 1 else "")
    figure.colorbar(image, ax=grid, shrink=0.6)
