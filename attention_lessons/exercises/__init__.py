"""Exercises that check themselves.

``check("split-heads", my_function)`` says what is wrong and why; ``hint("split-heads")`` helps in
steps. An exercise knows the right answer and common misconceptions. Each lesson's exercises stand
in a module of their own (``lesson_02.exercises``), classes to write from an empty cell in
``lesson_02.classes``.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import torch

from ..languages import t
from .kinds import (  # noqa: F401  # to write your own
    Build, Choice, Exercise, Lines, Result, Slip)

seen: dict[str, int] = {}  # the last hint shown, by exercise
known: dict[str, Exercise] = {}  # by name, as far as it was asked for


@dataclass(frozen=True)
class Hint:
    """Help, shown as plain text."""

    text: str

    def __repr__(self) -> str:
        return str(t(self.text))


def check(name: str, answer=None, *, seed=None) -> Result:
    """Judge an answer to the exercise ``name``, and leave the answer as it was.

    seed: of a variant of the question, with other numbers or another order of its options
    (`make student ARGS="anna ben"` writes the lessons so); without it, the lesson's own.

    Whatever the answer raises becomes part of the message. Raises KeyError for an unknown name.

    >>> check("split-heads", None)
    ○ Not attempted yet. Try hint("split-heads").
    """
    exercise = find(name) if seed is None else find(name).variant(seed)
    with torch.random.fork_rng(devices=[]):
        return exercise.judge(answer)


def hint(name: str, step: int | None = None) -> Hint:
    """The next hint at each call, or a certain one: ``hint("split-heads", 2)``.

    Raises KeyError for an unknown name.
    """
    hints = find(name).hints
    step = min(seen.get(name, 0) + 1, len(hints)) if step is None else step
    if not 1 <= step <= len(hints):
        return Hint(t("There are {0} hints: ask for step 1 to {1}.", len(hints),
                      len(hints)))
    seen[name] = step
    more = t("That was the last hint; the solution is folded below.")
    if step < len(hints):
        more = t("Call it again for the next.")
    return Hint(t("Hint {0} of {1}. {2}\n{3}", step, len(hints), t(hints[step - 1]), more))


def find(name: str) -> Exercise:
    """The exercise of this name; raises KeyError that lists the names there are.

    Only modules whose text has the name are imported, so a check runs nothing of other lessons.
    """
    for place in places():
        if name not in known and f'"{name}",' in text_of(place):
            load(place)
    if name not in known and name not in all_exercises():
        raise KeyError(f"no exercise {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


def register(exercise: Exercise) -> None:
    """Add an exercise of your own: ``check`` and ``hint`` know it by its name from now on."""
    known[exercise.name] = exercise


def all_exercises() -> dict[str, Exercise]:
    """Every exercise of every lesson, and your own, by name."""
    for place in places():
        load(place)
    return known


def load(place: str) -> None:
    for exercise in import_module(f"attention_lessons.{place}").EXERCISES:
        known.setdefault(exercise.name, exercise)


@cache
def places() -> list[str]:
    """The modules that have exercises."""
    files = sorted(Path(__file__).parents[1].glob("lesson_*/*s.py"))
    return [f"{file.parent.name}.{file.stem}" for file in files
            if file.stem in ("exercises", "classes")]


@cache
def text_of(place: str) -> str:
    path = Path(__file__).parents[1] / f"{place.replace('.', '/')}.py"
    return path.read_text(encoding="utf-8") if path.exists() else ""
