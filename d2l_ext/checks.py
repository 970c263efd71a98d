"""Bad input is refused where the mistake is made, by an error that names the argument and the numbers."""
from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import torch
from torch import Tensor


def check_integer(**numbers: int) -> None:
    """Raise TypeError unless every argument is an integer, or a size as torch.jit.trace has it."""
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


def check_dropout(dropout: float) -> None:
    """Raise unless 0 <= dropout < 1."""
    if not isinstance(dropout, Real):
        raise TypeError(f"dropout must be a number, got {dropout!r:.60}")
    if not 0 <= dropout < 1:
        raise ValueError(f"{dropout=} must lie in [0, 1)")


def check_float(**tensors: Tensor) -> None:
    """Raise TypeError unless every argument is a floating-point tensor."""
    for name, X in tensors.items():
        if not isinstance(X, Tensor) or not X.is_floating_point():
            raise TypeError(f"{name} must be a floating-point tensor, got {X.dtype if isinstance(X, Tensor) else type(X).__name__}")


def check_sequence(X: Tensor, width: int, name: str = "X") -> None:
    """Raise unless ``X`` is floating point, (batch, steps, width)."""
    check_float(**{name: X})
    if X.dim() != 3:
        raise ValueError(f"{name} must have shape (batch, steps, hiddens), got {tuple(X.shape)}")
    check_width(name, X, width)


def check_symbols(name: str, X: Tensor, symbols: int) -> None:
    """Raise unless ``X`` is (batch, steps), whole numbers from 0 up to ``symbols``; values are looked at as those of lengths are."""
    if not isinstance(X, Tensor) or X.is_floating_point() or X.is_complex() or X.dtype == torch.bool:
        raise TypeError(f"{name} must be an integer tensor, got {X.dtype if isinstance(X, Tensor) else type(X).__name__}")
    if X.dim() != 2:
        raise ValueError(f"{name} must have shape (batch, steps), got {tuple(X.shape)}")
    low, high = extremes(X)
    if low < 0 or high >= symbols:
        raise ValueError(f"{name} contains {low if low < 0 else high}, but symbols are 0 to {symbols - 1}")


def check_choice(what: str, chosen: str, choices: Iterable[str]) -> None:
    """Raise ValueError unless ``chosen`` is one of the choices."""
    if chosen not in choices:
        raise ValueError(f"there is no {what} {chosen!r}: choose from {', '.join(map(repr, choices))}")


def check_width(name: str, X: Tensor, width: int) -> None:
    """Raise ValueError unless the last axis of ``X`` has this width."""
    if X.shape[-1] != width:
        raise ValueError(f"{name} have width {X.shape[-1]}, expected {width}")


def check_counts(keys: Tensor, values: Tensor) -> None:
    """Raise ValueError unless each key has one value."""
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"there are {keys.shape[-2]} keys but {values.shape[-2]} values: each key needs one value")


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Raise unless queries, keys and values are floating point, (batch, steps, hiddens), with one batch and one value per key."""
    check_float(queries=queries, keys=keys, values=values)
    for name, X in (("queries", queries), ("keys", keys), ("values", values)):
        if X.dim() != 3:
            raise ValueError(f"{name} must have shape (batch, steps, hiddens), got {tuple(X.shape)}")
        if X.shape[0] != queries.shape[0]:
            raise ValueError(f"queries have batch {queries.shape[0]}, {name} have batch {X.shape[0]}")
    check_counts(keys, values)


def check_causal(causal: bool, queries: int, keys: int) -> None:
    """Raise unless ``causal`` is False, or True with as many queries as keys."""
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be True or False, got {causal!r:.60}: give a mask of your own as mask=, composed with &")
    if causal and queries != keys:
        raise ValueError(f"causal=True needs as many queries as keys, got {queries=} and {keys=}: "
                         f"say which keys a query may see, for example mask=d2l_ext.causal(offset={keys - queries})")


def check_boolean(mask: Tensor) -> None:
    """Raise TypeError unless ``mask`` is a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a boolean tensor, True = may attend, got {type(mask).__name__}; a predicate becomes one by mask.tensor(queries, keys)")
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, got {mask.dtype}")


def check_lengths_type(valid_lens: Tensor) -> None:
    """Raise unless ``valid_lens`` is an integer tensor of one or two axes, not negative."""
    if not isinstance(valid_lens, Tensor):
        raise TypeError(f"valid_lens must be an integer tensor of shape (batch,) or (batch, queries), got {type(valid_lens).__name__}")
    if valid_lens.is_floating_point() or valid_lens.is_complex() or valid_lens.dtype == torch.bool:
        raise TypeError(f"valid_lens must hold integers, got {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"valid_lens must have shape (batch,) or (batch, queries), got {tuple(valid_lens.shape)}")
    low, _ = extremes(valid_lens)
    if low < 0:
        raise ValueError(f"valid_lens contains {low}: a length must not be negative")


def check_lengths(valid_lens: Tensor, batch: int, queries: int, keys: int) -> None:
    """Raise unless ``valid_lens`` fits. Its values are looked at in eager mode only: under compile, export and vmap they can't be."""
    check_lengths_type(valid_lens)
    if tuple(valid_lens.shape) not in [(batch,), (batch, queries)]:
        raise ValueError(f"valid_lens has shape {tuple(valid_lens.shape)}, expected ({batch},) or ({batch}, {queries}) for {batch=}, {queries=}")
    _, high = extremes(valid_lens)
    if high > keys:
        raise ValueError(f"valid_lens contains {high}, but there are only {keys=}")


def extremes(lengths: Tensor) -> tuple[int, int]:
    """Smallest and largest value; 0 and 0 where there are none to look at, as under compile, export and vmap."""
    if torch.compiler.is_compiling() or not lengths.numel():
        return 0, 0
    try:
        lengths = lengths.long()
        return int(lengths.min().item()), int(lengths.max().item())
    except RuntimeError:  # under vmap no single value is to be had
        return 0, 0
