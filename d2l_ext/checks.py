"""Checks of arguments. Their errors name the argument, what it should be and what it is."""
from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import torch
from torch import Tensor

from .reading import extremes


def check_integer(**numbers: int) -> None:
    """Raise TypeError unless every argument is an integer, or a size inside torch.jit.trace."""
    for name, number in numbers.items():
        if isinstance(number, Tensor) and torch.jit.is_tracing() and number.dtype == torch.int64:
            continue
        if not isinstance(number, (Integral, torch.SymInt)) or isinstance(number, bool):
            raise TypeError(f"{name} must be an integer, got {number!r:.60}")


def check_size(**sizes: int) -> None:
    """Raise unless every argument is an integer of at least 1."""
    for name, size in sizes.items():
        check_integer(**{name: size})
        if size < 1:
            raise ValueError(f"{name}={size} must be at least 1")


def check_number(**numbers: float) -> None:
    """Raise TypeError unless every argument is a number."""
    for name, number in numbers.items():
        if not isinstance(number, Real) or isinstance(number, bool):
            raise TypeError(f"{name} must be a number, got {number!r:.60}")


def check_dropout(dropout: float) -> None:
    """Raise unless 0 <= dropout < 1."""
    if not isinstance(dropout, Real):
        raise TypeError(f"dropout must be a number, got {dropout!r:.60}")
    if not 0 <= dropout < 1:
        raise ValueError(f"{dropout=} must lie in [0, 1)")


def kind(X: object) -> object:
    """What ``X`` is, for a message: a tensor's dtype, or the name of another type."""
    return X.dtype if isinstance(X, Tensor) else type(X).__name__


def is_integer(X: Tensor) -> bool:
    """Whether a tensor holds integers; booleans don't count as such."""
    return not (X.is_floating_point() or X.is_complex() or X.dtype == torch.bool)


def check_float(**tensors: Tensor) -> None:
    """Raise TypeError unless every argument is a floating-point tensor."""
    for name, X in tensors.items():
        if not isinstance(X, Tensor) or not X.is_floating_point():
            raise TypeError(f"{name} must be a floating-point tensor, got {kind(X)}")


def check_sequence(X: Tensor, width: int, name: str = "X") -> None:
    """Raise unless ``X`` is floating point and of shape (batch, steps, width)."""
    check_float(**{name: X})
    check_shape(name, X, "(batch, steps, hiddens)")
    check_width(name, X, width)


def check_symbols(name: str, X: Tensor, symbols: int) -> None:
    """Raise unless ``X`` is (batch, steps) and holds integers from 0 to ``symbols - 1``."""
    if not isinstance(X, Tensor) or not is_integer(X):
        raise TypeError(f"{name} must be an integer tensor, got {kind(X)}")
    check_shape(name, X, "(batch, steps)")
    low, high = extremes(X)
    if low < 0 or high >= symbols:
        worst = low if low < 0 else high
        raise ValueError(f"{name} contains {worst}, but symbols are 0 to {symbols - 1}")


def check_choice(what: str, chosen: str, choices: Iterable[str]) -> None:
    """Raise ValueError unless ``chosen`` is one of the choices."""
    if chosen not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"there is no {what} {chosen!r}: choose from {listed}")


def check_width(name: str, X: Tensor, width: int) -> None:
    """Raise ValueError unless the last axis of ``X`` has this width."""
    if X.shape[-1] != width:
        verb = "have" if name.endswith("s") else "has"
        raise ValueError(f"{name} {verb} width {X.shape[-1]}, expected {width}")


def check_counts(keys: Tensor, values: Tensor) -> None:
    """Raise ValueError unless each key has one value."""
    if keys.shape[-2] != values.shape[-2]:
        counts = f"there are {keys.shape[-2]} keys but {values.shape[-2]} values"
        raise ValueError(f"{counts}: each key needs one value")


def check_inputs(
    queries: Tensor, keys: Tensor, values: Tensor, widths: Iterable[int] = (),
) -> None:
    """Raise unless queries, keys and values are (batch, steps, hiddens), with these widths.

    All three are floating point and have the same batch, and each key has one value.
    """
    tensors = {"queries": queries, "keys": keys, "values": values}
    check_float(**tensors)
    for name, X in tensors.items():
        check_shape(name, X, "(batch, steps, hiddens)")
        if X.shape[0] != queries.shape[0]:  # len would fix a size that export leaves open
            raise ValueError(f"queries have batch {queries.shape[0]}, {name} have "
                             f"batch {X.shape[0]}")
    check_counts(keys, values)
    for (name, X), width in zip(tensors.items(), widths):
        check_width(name, X, width)


def check_shape(name: str, X: Tensor, wanted: str) -> None:
    """Raise ValueError unless ``X`` has as many axes as ``wanted``, such as "(batch, steps)"."""
    if X.dim() != wanted.count(",") + 1:
        raise ValueError(f"{name} must have shape {wanted}, got {tuple(X.shape)}")


def check_products(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Raise unless all three are floating point and their dot products can be taken as they are.

    They have two, three or four axes, the same batch and heads, and each key has one value.
    """
    check_float(queries=queries, keys=keys, values=values)
    for name, X in (("queries", queries), ("keys", keys), ("values", values)):
        if X.dim() not in (2, 3, 4) or X.shape[:-2] != queries.shape[:-2]:
            raise ValueError(
                f"{name} have shape {tuple(X.shape)}, queries {tuple(queries.shape)}: "
                "expected (steps, width), (batch, steps, width) or (batch, heads, steps, width), "
                "with the same batch and heads")
    check_counts(keys, values)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(f"queries have width {queries.shape[-1]}, "
                         f"keys have width {keys.shape[-1]}: a dot product needs equal widths")


def check_causal(causal: bool, queries: int, keys: int) -> None:
    """Raise unless ``causal`` is False, or True with as many queries as keys."""
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be True or False, got {causal!r:.60}: "
                        "give a mask of your own as mask=, composed with &")
    if causal and queries != keys:
        example = f"mask=d2l_ext.causal(offset={keys - queries})"
        raise ValueError(f"causal=True needs as many queries as keys, got {queries=} and {keys=}: "
                         f"say which keys a query may see, for example {example}")


def check_boolean(mask: Tensor) -> None:
    """Raise TypeError unless ``mask`` is a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise TypeError("mask must be a boolean tensor, True = may attend, "
                        f"got {type(mask).__name__}; a predicate becomes one by "
                        "mask.tensor(queries, keys)")
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, got {mask.dtype}")


def check_lengths_type(valid_lens: Tensor) -> None:
    """Raise unless ``valid_lens`` has one or two axes and holds integers that aren't negative."""
    wanted = "shape (batch,) or (batch, queries)"
    if not isinstance(valid_lens, Tensor):
        raise TypeError(f"valid_lens must be an integer tensor of {wanted}, got {kind(valid_lens)}")
    if not is_integer(valid_lens):
        raise TypeError(f"valid_lens must hold integers, got {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"valid_lens must have {wanted}, got {tuple(valid_lens.shape)}")
    low, _ = extremes(valid_lens)
    if low < 0:
        raise ValueError(f"valid_lens contains {low}: a length must not be negative")


def check_lengths(valid_lens: Tensor, batch: int, queries: int, keys: int) -> None:
    """Raise unless ``valid_lens`` has a fitting shape and no length above ``keys``.

    Values are checked where they can be read: not under compile, export and vmap.
    """
    check_lengths_type(valid_lens)
    shape = tuple(valid_lens.shape)
    if shape not in [(batch,), (batch, queries)]:
        raise ValueError(f"valid_lens has shape {shape}, expected ({batch},) or "
                         f"({batch}, {queries}) for {batch=}, {queries=}")
    _, high = extremes(valid_lens)
    if high > keys:
        raise ValueError(f"valid_lens contains {high}, but there are only {keys=}")


def check_position(position: object) -> None:
    """Raise TypeError unless ``position`` is None or a module with the methods attention calls."""
    if isinstance(position, type):
        name = position.__name__
        raise TypeError(f"position must be a module, got the class {name}: write {name}(...)")
    methods = [getattr(position, method, None) for method in ("transform", "bias")]
    if position is not None and not all(map(callable, methods)):
        raise TypeError("position must have the methods transform(q, k) and bias(q, k), "
                        f"got {type(position).__name__}")


def check_bias(bias: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """``bias`` with four axes; raises ValueError unless it can be added to scores of this shape."""
    if bias is None:
        return None
    pairs = zip(bias.shape[::-1], shape[::-1])
    if bias.dim() > 4 or any(size not in (1, wanted) for size, wanted in pairs):
        raise ValueError(f"position.bias has shape {tuple(bias.shape)}, "
                         f"which can't be added to scores of shape {tuple(shape)}")
    return bias.reshape((1,) * (4 - bias.dim()) + tuple(bias.shape))
