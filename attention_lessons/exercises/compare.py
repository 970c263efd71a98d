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


def agrees(given, wrong) -> bool:
    """Whether a result is that of a known mistake; both may be ``RAISES``."""
    try:
        return not differs(given, wrong, atol=1e-3)
    except Exception:  # a result may be anything
        return False


def differs(given, wanted, atol: float = 1e-5) -> Message | None:
    """What differs first, in words: the structure, the shape, or a number; None where only rounding
    does."""
    if isinstance(wanted, dict):
        return next((words for name in wanted
                     if (words := differs(given[name], wanted[name], atol))), None)
    if isinstance(wanted, torch.Tensor):
        return tensors_differ(given, wanted, atol)
    if isinstance(wanted, (tuple, list)):
        if isinstance(given, (tuple, list)) and len(given) == len(wanted):
            found = [differs(*pair, atol) for pair in zip(given, wanted)]
            if not any(found):
                return None
            if isinstance(wanted, tuple):
                place = next(i for i, words in enumerate(found) if words)
                return t("Result {0} of {1}: {2}", place + 1, len(wanted), found[place])
        elif isinstance(wanted, tuple):
            return t("Return {0} values, got {1}.", len(wanted), kind(given))
        elif not isinstance(given, (tuple, list)):
            return t("Return a list, got {0}.", kind(given))
    elif equal(one_number(given), wanted):
        return None
    return t("Expected {0}, got {1}.", repr(wanted), f"{one_number(given)!r:.200}")


def equal(given, wanted) -> bool:
    """Whether two things are equal, a fractional number up to rounding."""
    if isinstance(wanted, float):
        return isinstance(given, Real) and (
            math.isclose(given, wanted, rel_tol=1e-4, abs_tol=1e-4)
            or math.isnan(given) and math.isnan(wanted))
    return getattr(given, "shape", ()) == () and bool(given == wanted)


def one_number(given):
    """The number in a tensor or array of one entry, whatever its axes; anything else as it is."""
    shape = getattr(given, "shape", None)
    single = isinstance(shape, tuple) and hasattr(given, "item") and math.prod(shape) == 1
    return given.item() if single else given


def is_index(numbers: torch.Tensor) -> bool:
    """Whether these are integers, which can look up the rows of a table."""
    return not numbers.is_floating_point() and numbers.dtype != torch.bool


def tensors_differ(given, wanted: torch.Tensor, atol: float) -> Message | None:
    if not isinstance(given, torch.Tensor):
        return t("Return one tensor, got {0}.", kind(given))
    if given.shape != wanted.shape:
        return t("The shape should be {0}, yours is {1}.", tuple(wanted.shape), tuple(given.shape))
    given, wanted = given.detach(), wanted.detach()
    off = ~torch.isclose(given.double(), wanted.double(), rtol=1e-4, atol=atol, equal_nan=True)
    if not off.any():
        return t("The numbers are right, but they are not integers: rows of a table are looked up "
                 "by integers alone.") if given.is_floating_point() and is_index(wanted) else None
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
