"""Comparing what a learner's function returns with what it should return."""
from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from numbers import Real

import torch

RAISES = object()  # stands for the result of a call that raises an error


def copies(arguments: tuple) -> tuple:
    """Arguments of their own for each call: an answer may write into them."""
    return tuple(argument.clone() if isinstance(argument, torch.Tensor) else deepcopy(argument)
                 for argument in arguments)


def attempt(function: Callable, arguments: tuple):
    """What the function returns, or ``RAISES``."""
    try:
        return function(*copies(arguments))
    except (Exception, SystemExit):
        return RAISES


def same(given, wanted, atol: float = 1e-5) -> bool:
    """Whether a result has the structure, the shapes and, up to rounding, the numbers wanted."""
    if isinstance(wanted, (tuple, list)):
        return (isinstance(given, (tuple, list)) and len(given) == len(wanted)
                and all(same(*pair, atol) for pair in zip(given, wanted)))
    if isinstance(wanted, torch.Tensor):
        if not isinstance(given, torch.Tensor) or given.is_floating_point() and is_index(wanted):
            return False
        near = {"atol": atol, "rtol": 1e-4, "equal_nan": True}
        numbers = given.detach().double(), wanted.detach().double()
        return given.shape == wanted.shape and torch.allclose(*numbers, **near)
    given = one_number(given)
    if isinstance(wanted, float):
        return isinstance(given, Real) and abs(float(given) - wanted) < 1e-4 * max(1, abs(wanted))
    return getattr(given, "shape", ()) == () and bool(given == wanted)


def agrees(given, wrong) -> bool:
    """Whether a result is that of a known mistake; both may be ``RAISES``."""
    try:
        return given is wrong is RAISES or same(given, wrong, atol=1e-3)
    except Exception:  # a result may be anything
        return False


def one_number(given):
    """The number in a tensor or array of one entry, whatever its axes; anything else as it is."""
    shape = getattr(given, "shape", None)
    single = isinstance(shape, tuple) and hasattr(given, "item") and math.prod(shape) == 1
    return given.item() if single else given


def is_index(numbers: torch.Tensor) -> bool:
    """Whether these are integers, which can look up the rows of a table."""
    return not numbers.is_floating_point() and numbers.dtype != torch.bool


def first_difference(given, wanted) -> str:
    """What differs first: the kind, the shape, or a number."""
    if isinstance(wanted, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(wanted):
            return f"Return {len(wanted)} things, got {kind(given)}."
        place = next(i for i, pair in enumerate(zip(given, wanted)) if not same(*pair))
        difference = first_difference(given[place], wanted[place])
        return f"Result {place + 1} of {len(wanted)}: {difference}"
    if isinstance(wanted, torch.Tensor):
        return first_difference_of_tensors(given, wanted)
    if isinstance(wanted, list) and not isinstance(given, (list, tuple)):
        return f"Return a list, got {kind(given)}."
    return f"Expected {wanted!r}, got {one_number(given)!r:.200}."


def first_difference_of_tensors(given, wanted: torch.Tensor) -> str:
    if not isinstance(given, torch.Tensor):
        return f"Return one tensor, got {kind(given)}."
    if given.shape != wanted.shape:
        return f"The shape should be {tuple(wanted.shape)}, yours is {tuple(given.shape)}."
    off = ~torch.isclose(given.double(), wanted.double(), atol=1e-5, rtol=1e-4)
    if not off.any():
        return ("The numbers are right, but they are not integers: "
                "rows of a table are looked up by integers alone.")
    place = tuple(off.nonzero()[0].tolist())
    numbers = float(wanted[place]), float(given[place])
    shown = [f"{number:.{4 if wanted.is_floating_point() else 0}f}" for number in numbers]
    if shown[0] == shown[1]:
        shown = [f"{number:.8f}" for number in numbers]
    return (f"The shape is right, {int(off.sum())} of {off.numel()} numbers are not. The first at "
            f"{list(place)}: expected {shown[0]}, yours is {shown[1]}.")


def kind(thing) -> str:
    """The name of its type, and how many things a tuple or list holds."""
    many = f" of {len(thing)}" if isinstance(thing, (tuple, list)) else ""
    return type(thing).__name__ + many
