"""Exercises that check themselves.

``check("split-heads", my_function)`` says what is wrong and why; ``hint("split-heads")`` helps in
steps. An exercise knows the right answer and common misconceptions. What a lesson's exercises say
stands in its ``exercises.toml``; the code that some of them need in ``exercises.py``.
"""
from __future__ import annotations

import tomllib
import zlib
from base64 import b85decode
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path

import torch

from d2l_ext.settings import default_settings
from ..languages import t
from .kinds import (  # noqa: F401  # to write your own
    Build, Choice, Exercise, Lines, Order, Result, Slip)

LESSONS = Path(__file__).parents[1]
SHARED = Path(__file__).with_name("heads.toml")  # slips that several lessons know
hints_shown: dict[str, int] = {}  # the last hint shown, by exercise
registry: dict[str, Exercise] = {}  # by name, as far as it was asked for


@dataclass(frozen=True)
class Hint:
    """Help, shown as plain text."""

    text: str

    def __repr__(self) -> str:
        return str(t(self.text))


def check(name: str, answer=None) -> Result:
    """Judge an answer to the exercise ``name``, and leave the answer as it was.

    The verdict doesn't depend on what a notebook has set: gradients, defaults, autocast. Whatever
    the answer raises becomes part of the message. Raises KeyError for an unknown name.

    >>> check("split-heads", None)
    ○ Not attempted yet. Try hint("split-heads").
    """
    exercise = find(name)
    with torch.random.fork_rng(devices=[]), default_settings():
        return exercise.judge(answer)


def hint(name: str, step: int | None = None) -> Hint:
    """The next hint at each call, or a certain one: ``hint("split-heads", 2)``.

    Raises KeyError for an unknown name.
    """
    hints = find(name).hints
    step = min(hints_shown.get(name, 0) + 1, len(hints)) if step is None else step
    if not 1 <= step <= len(hints):
        return Hint(t("There are {0} hints: ask for step 1 to {0}.", len(hints)))
    hints_shown[name] = step
    more = t("That was the last hint; the solution is folded below.")
    if step < len(hints):
        more = t("Call it again for the next.")
    return Hint(t("Hint {0} of {1}. {2}\n{3}", step, len(hints), t(hints[step - 1]), more))


def find(name: str) -> Exercise:
    """The exercise of this name; raises KeyError that lists the names there are.

    Nothing of other lessons is imported.
    """
    if name not in registry:
        if name not in words_by_name():
            known = sorted({*words_by_name(), *registry})
            raise KeyError(f"no exercise {name!r}; there are {', '.join(known)}")
        registry[name] = made(name, *words_by_name()[name])
    return registry[name]


def register(exercise: Exercise) -> None:
    """Add an exercise of your own: ``check`` and ``hint`` know it by its name from now on."""
    registry[exercise.name] = exercise


def all_exercises() -> dict[str, Exercise]:
    """Every exercise of every lesson, and your own, by name."""
    for name in words_by_name():
        find(name)
    return registry


def made(name: str, lesson: str, words: dict) -> Exercise:
    """An exercise of words alone, or, where these say ``code``, of words and what the lesson's
    ``exercises.py`` has by this name. Slips may name those of ``heads.toml``."""
    words = {**words}
    if slips := words.get("slips"):
        words["slips"] = [each for slip in slips for each in (
            read_words(SHARED)[slip] if isinstance(slip, str) else [slip])]
    if words.pop("code", False):
        module = import_module(f"attention_lessons.{lesson}.exercises")
        return replace(next(each for each in module.EXERCISES if each.name == name), **words)
    kind = Lines if "lines" in words else Order if "needs" in words else Choice
    return kind(name, **words)


@cache
def words_by_name() -> dict[str, tuple[str, dict]]:
    """The lesson of each exercise and what it says."""
    return {name: (path.parent.name, words)
            for path in sorted(LESSONS.glob("lesson_*/exercises.toml"))
            for name, words in read_words(path).items()}


@cache
def read_words(path: Path) -> dict[str, dict]:
    """What a lesson's exercises say, by name. For students it is sealed: tools/classroom."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    if "sealed" in found:
        found = tomllib.loads(zlib.decompress(b85decode(found["sealed"])).decode())
    return found
