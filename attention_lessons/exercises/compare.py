"""Comparing what a learner's function returns with what it should return."""
from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from numbers import Real

import torch

from ..languages import Message, t

RAISES = object()  # stands for the result of a call that raises an error


def copies(arguments: tuple) -> tuple:
    """Arguments of their own for each call: an answer may write into them."""
    return tuple(argument.clone() if isinstance(argument, torch.Tensor) else deepcopy(argument)
                 for argument in arguments)


def attempt(function: Callable, *arguments):
    """What the function returns, or ``RAISES``."""
    try:
        return function(*arguments)
    except (Exception, SystemExit):
        return RAISES


def same(given, wanted, atol: float = 1e-5) -> bool:
    """Whether a result has the structure, the shapes and, up to rounding, the numbers wanted."""
    if isinstance(wanted, dict):
        return all(same(given[name], wanted[name], atol) for name in wanted)
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


def first_difference(given, wanted) -> Message:
    """What differs first: the kind, the shape, or a number."""
    if isinstance(wanted, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(wanted):
            return t("Return {0} things, got {1}.", len(wanted), kind(given))
        place = next(i for i, pair in enumerate(zip(given, wanted)) if not same(*pair))
        return t("Result {0} of {1}: {2}", place + 1, len(wanted),
                 first_difference(given[place], wanted[place]))
    if isinstance(wanted, torch.Tensor):
        return first_difference_of_tensors(given, wanted)
    if isinstance(wanted, list) and not isinstance(given, (list, tuple)):
        return t("Return a list, got {0}.", kind(given))
    return t("Expected {0}, got {1}.", repr(wanted), f"{one_number(given)!r:.200}")


def first_difference_of_tensors(given, wanted: torch.Tensor) -> Message:
    if not isinstance(given, torch.Tensor):
        return t("Return one tensor, got {0}.", kind(given))
    if given.shape != wanted.shape:
        return t("The shape should be {0}, yours is {1}.", tuple(wanted.shape), tuple(given.shape))
    off = ~torch.isclose(given.double(), wanted.double(), atol=1e-5, rtol=1e-4)
    if not off.any():
        return t("The numbers are right, but they are not integers: rows of a table are looked up "
                 "by integers alone.")
    place = tuple(off.nonzero()[0].tolist())
    numbers = float(wanted[place]), float(given[place])
    shown = [f"{number:.{4 if wanted.is_floating_point() else 0}f}" for number in numbers]
    if shown[0] == shown[1]:
        shown = [f"{number:.8f}" for number in numbers]
    return t("The shape is right, {0} of {1} numbers are not. The first at {2}: expected {3}, "
             "yours is {4}.", int(off.sum()), off.numel(), list(place), *shown)


def kind(thing) -> str:
    """The name of its type, and how many things a tuple or list holds."""
    if isinstance(thing, tuple):
        return t("tuple of {0}", len(thing))
    return t("list of {0}", len(thing)) if isinstance(thing, list) else type(thing).__name__
