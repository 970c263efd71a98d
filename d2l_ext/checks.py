"""Checks of arguments: each raises unless its sentence holds.

Errors name the argument, what it should be and what it is.
"""
from collections.abc import Iterable
from numbers import Integral

import torch
from torch import Tensor, nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from .host_values import min_and_max


def check_size(least: int = 1, **sizes: int) -> None:
    """Every argument is an integer of at least ``least``."""
    for name, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise TypeError(f"{name} must be an integer, got {size!r:.60}")
        if size < least:
            raise ValueError(f"{name}={size} must be at least {least}")


def check_divides(num_heads: int, num_hiddens: int, hint: str = "") -> None:
    """Heads of equal width fill the hiddens."""
    check_size(num_heads=num_heads)
    if num_hiddens % num_heads:
        raise ValueError(f"{num_heads=} does not divide {num_hiddens=}{hint}")


def check_linear(**modules: nn.Module) -> None:
    """Each is a plain ``nn.Linear``: not quantized, pruned, parametrized or adapted (LoRA)."""
    for name, module in modules.items():
        plain = type(module) in (nn.Linear, NonDynamicallyQuantizableLinear)
        if not plain or "weight" not in module._parameters:
            raise ValueError(f"{name} must be a plain nn.Linear, whose weight is all there is to "
                             f"it: got {type(module).__name__}, with the parameters "
                             + (", ".join(name for name, _ in module.named_parameters()) or "none"))


def check_biases(**modules: nn.Module) -> bool:
    """All have a bias, or none has: whether they have."""
    having = [name for name, module in modules.items() if module.bias is not None]
    if having and len(having) < len(modules):
        raise ValueError(f"{', '.join(having)} {'has' if len(having) == 1 else 'have'} a bias, "
                         f"and others of {', '.join(modules)} have none")
    return bool(having)


def check_choice(what: str, chosen: str, choices: Iterable[str]) -> None:
    """``chosen`` is one of the choices."""
    if chosen not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"there is no {what} {chosen!r}: choose from {listed}")


def kind(X: object) -> object:
    """What ``X`` is, for a message: a tensor's dtype, or the name of another type."""
    return X.dtype if isinstance(X, Tensor) else type(X).__name__


def check_float(**tensors: Tensor) -> None:
    """Every argument is a floating-point tensor."""
    for name, X in tensors.items():
        if not isinstance(X, Tensor) or not X.is_floating_point():
            raise TypeError(f"{name} must be a floating-point tensor, got {kind(X)}")


def check_shape(name: str, X: Tensor, *wanted: str) -> None:
    """``X`` has as many axes as one of these, such as "(batch, steps)"."""
    if X.dim() not in (len(axes.strip("(),").split(",")) for axes in wanted):
        raise ValueError(f"{name} must have shape {' or '.join(wanted)}, got {tuple(X.shape)}")


def check_width(name: str, X: Tensor, width: int) -> None:
    """The last axis of ``X`` has this width."""
    if X.shape[-1] != width:
        verb = "have" if name.endswith("s") else "has"
        raise ValueError(f"{name} {verb} width {X.shape[-1]}, expected {width}")


def check_sequence(X: Tensor, width: int) -> None:
    """``X`` is floating point and (batch, steps, width)."""
    check_float(X=X)
    check_shape("X", X, "(batch, steps, hiddens)")
    check_width("X", X, width)


def check_inputs(
    queries: Tensor, keys: Tensor, values: Tensor, widths: tuple[int, ...] | None,
) -> None:
    """All are floating point, (batch, steps, width) of one batch, and each key has one value.

    widths: those of the three, in turn. None: queries are as wide as keys, and (steps, width) and
    (batch, heads, steps, width) are shapes, too.
    """
    tensors = {"queries": queries, "keys": keys, "values": values}
    wanted = ["(batch, steps, width)"]
    if widths is None:
        wanted += ["(steps, width)", "(batch, heads, steps, width)"]
    check_float(**tensors)
    for name, X in tensors.items():
        check_shape(name, X, *wanted)
        if X.shape[:-2] != queries.shape[:-2]:
            raise ValueError(f"queries have batch {tuple(queries.shape[:-2])}, "
                             f"{name} have batch {tuple(X.shape[:-2])}")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"there are {keys.shape[-2]} keys but {values.shape[-2]} values: "
                         "each key needs one value")
    for (name, X), width in zip(tensors.items(), keys.shape[-1:] if widths is None else widths):
        check_width(name, X, width)


def check_causal(causal: bool, queries: int, keys: int) -> None:
    """``causal`` is False, or True with as many queries as keys."""
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be True or False, got {causal!r:.60}: masks go to mask=")
    if causal and queries != keys:
        raise ValueError(f"causal=True needs as many queries as keys, got {queries=} and {keys=}: "
                         "say which keys a query may see, for example "
                         f"mask=d2l_ext.causal(offset={keys - queries})")


def check_boolean(mask: Tensor) -> None:
    """A tensor of booleans."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(f"mask must be a boolean tensor, True = may attend, got {kind(mask)}; "
                        "a predicate becomes one by mask.tensor(queries, keys)")


def check_lengths(valid_lens: Tensor, sizes: tuple[int, int, int] | None = None) -> None:
    """``valid_lens`` has one or two axes and holds integers that aren't negative.

    sizes: the batch, queries and keys that it must fit. Values are checked where they can be read.
    """
    if not isinstance(valid_lens, Tensor) or (
            valid_lens.dtype == torch.bool or torch.is_floating_point(valid_lens)):
        raise TypeError(f"valid_lens must hold integers, got {kind(valid_lens)}")
    check_shape("valid_lens", valid_lens, "(batch,)", "(batch, queries)")
    low, high = min_and_max(valid_lens)
    if low < 0:
        raise ValueError(f"valid_lens contains {low}: a length must not be negative")
    if sizes is None:
        return
    (batch, queries, keys), shape = sizes, tuple(valid_lens.shape)
    if shape not in [(batch,), (batch, queries)]:
        raise ValueError(f"valid_lens has shape {shape}, expected ({batch},) or "
                         f"({batch}, {queries}) for {batch=}, {queries=}")
    if high > keys:
        raise ValueError(f"valid_lens contains {high}, but there are only {keys=}")
