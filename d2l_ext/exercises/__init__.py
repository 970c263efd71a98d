"""Exercises that check themselves: ``check("split-heads", my_function)`` says what is wrong and why, ``hint("split-heads")`` helps in steps.

Each lesson's exercises stand in a module of their own (``lesson_02``). An exercise knows the right answer and the misconceptions:
a wrong answer that agrees with a known misconception on everything it is tried on is told which one
it is.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Real
from pkgutil import iter_modules

import torch

seen: dict[str, int] = {}  # the last hint shown, by exercise
RAISES = object()  # stands for a result where there is none
MARKS = {"not attempted": "○", "wrong": "✗", "right": "✓"}


@dataclass(frozen=True)
class Result:
    """What ``check`` found: ``state`` is "not attempted", "wrong" or "right"."""

    state: str
    message: str

    def __repr__(self) -> str:
        return f"{MARKS[self.state]} {self.message}"


@dataclass(frozen=True)
class Hint:
    """Help, shown as plain text."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass
class Exercise:
    """What the exercises share: a name, staged hints, and words for a right answer."""

    name: str
    hints: Sequence[str]
    praise: str

    def judge(self, answer) -> Result:
        """Judge an answer that was attempted; may raise, ``check`` turns that into a message."""
        raise NotImplementedError

    def given(self, error: BaseException) -> str:
        """What the answer was tried on when it raised this error, in words."""
        return ""


@dataclass
class Choice(Exercise):
    """Predict and Explain: one letter, or a set of letters. ``reasons`` says for each wrong letter what it overlooks."""

    right: str | frozenset[str] = ""
    options: str = "abcd"
    reasons: dict[str, str] = field(default_factory=dict)

    def judge(self, answer) -> Result:
        letters = answer if isinstance(answer, (set, frozenset, list, tuple)) else [answer]
        given = frozenset(str(letter).strip().lower() for letter in letters)
        right = frozenset([self.right]) if isinstance(self.right, str) else self.right
        if not given or not given <= set(self.options):
            form = "" if isinstance(self.right, str) else ', in a set such as {"a", "b"}'
            return Result("wrong", f"Answer with letters from {', '.join(self.options)}{form}; got {answer!r}.")
        if given == right:
            return Result("right", self.praise)
        surplus, missing = sorted(given - right), sorted(right - given)
        return Result("wrong", self.reasons[surplus[0]] if surplus else f"True so far, but {len(missing)} more of the statements {'hold' if len(missing) > 1 else 'holds'}.")


@dataclass
class Build(Exercise):
    """Build and Break: a function, compared with ``reference`` on ``inputs``.

    ``inputs()`` gives argument tuples, small, random and with all sizes different.
    ``misconceptions`` pairs wrong functions with what to say to whoever wrote one. It is said only
    if the answer agrees with that function on every input; where both raise, they agree.
    ``larger()`` gives inputs that a right answer must stand too, but where wrong ones overflow or
    lose their digits, so misconceptions are not asked there.
    """

    reference: Callable | None = None
    inputs: Callable[[], list[tuple]] | None = None
    misconceptions: Sequence[tuple[Callable, str]] = ()
    digits: int = 4
    larger: Callable[[], list[tuple]] = list

    def judge(self, answer) -> Result:
        if not callable(answer):
            return Result("wrong", f"Give the function itself, got {type(answer).__name__}: check({self.name!r}, your_function).")
        for arguments in [*self.inputs(), *self.larger()]:
            try:
                given = answer(*copies(arguments))
            except (Exception, SystemExit) as error:
                error.tried_on = arguments
                raise
            wanted = self.reference(*copies(arguments))
            if given is None or given is ...:
                return Result("not attempted", "Not attempted yet: the function returns nothing.")
            if not same(given, wanted):
                difference = first_difference(given, wanted, self.digits)
                context = called_with(arguments) if "xpected" in difference else ""
                return Result("wrong", self.diagnosis(answer) or difference + context)
        return Result("right", self.praise)

    def diagnosis(self, answer) -> str | None:
        """The words for the misconception that agrees with the answer on every input, if any."""
        tried = [(arguments, attempt(answer, arguments)) for arguments in self.inputs()]
        for wrong, words in self.misconceptions:
            if all(agrees(given, attempt(wrong, arguments)) for arguments, given in tried):
                return words
        return None

    def given(self, error: BaseException) -> str:
        arguments = getattr(error, "tried_on", self.inputs()[0])
        shapes = [str(tuple(tried.shape)) if isinstance(tried, torch.Tensor) else repr(tried)
                  for tried in arguments]
        return f"\n  It was called with {', '.join(shapes)} (shapes for tensors)."


@dataclass
class Lines(Exercise):
    """A calculation on paper: numbered lines of numbers, judged in order, to ``tolerance``.

    ``lines`` gives for each line the right numbers and the known wrong ones with their reasons.
    """

    lines: dict[int, tuple[Sequence[float], dict[tuple, str]]] = field(default_factory=dict)
    tolerance: float = 0.02

    def judge(self, answer) -> Result:
        if not isinstance(answer, dict):
            return Result("wrong", f"Give a dictionary of lines, got {type(answer).__name__}.")
        for line in answer:
            if line not in self.lines:
                numbers = f"The lines are numbered 1 to {len(self.lines)}, with whole numbers"
                return Result("wrong", f"{numbers}; there is no line {line!r}.")
        done = 0
        for number, (right, known) in self.lines.items():
            given = answer.get(number, [])
            if not isinstance(given, (list, tuple)):
                return Result("wrong", f"Line {number}: give a list of numbers, got {type(given).__name__}.")
            if not given:
                break
            if not self.near(given, right):
                return Result("wrong", f"Line {number}: " + next((words for wrong, words in known.items() if self.near(given, wrong)), self.first(given, right)))
            done += 1
        if done == len(self.lines):
            return Result("right", self.praise)
        return Result("not attempted", f"Right up to line {done}; go on with line {done + 1}." if done else f'Not attempted yet. hint("{self.name}") helps.')

    def near(self, given, wanted) -> bool:
        return len(given) == len(wanted) and all(abs(float(a) - b) <= self.tolerance for a, b in zip(given, wanted))

    def first(self, given, right) -> str:
        if len(given) != len(right):
            return f"there should be {len(right)} numbers, got {len(given)}."
        place = next(i for i, (a, b) in enumerate(zip(given, right)) if not abs(float(a) - b) <= self.tolerance)
        number = f"the number in place {place + 1}, {float(given[place]):g},"
        return f"{number} is not right. Work it out once more."


def check(name: str, answer=None) -> Result:
    """Try an answer to the exercise ``name``. Never raises for the answer's sake, and never changes it.

    >>> check("split-heads", None)
    ○ Not attempted yet. hint("split-heads") helps.
    """
    exercise = find(name)
    if answer is None or answer is ... or isinstance(answer, (str, set, frozenset, list, tuple, dict)) and not answer:
        return Result("not attempted", f'Not attempted yet. hint("{name}") helps.')
    try:
        with torch.random.fork_rng(devices=[]):
            return exercise.judge(answer)
    except NotImplementedError:
        return Result("not attempted", f'Not attempted yet. hint("{name}") helps.')
    except (Exception, SystemExit) as error:  # the learner's code may raise anything; a lesson goes on
        raised = f"{type(error).__name__}: {error}{exercise.given(error)}"
        return Result("wrong", f"Your code raises {raised}")


def hint(name: str, step: int | None = None) -> Hint:
    """The next hint each time it is called, or a certain one: ``hint("split-heads", 2)``."""
    hints = find(name).hints
    step = min(seen.get(name, 0) + 1, len(hints)) if step is None else step
    if not 1 <= step <= len(hints):
        return Hint(f"There are {len(hints)} hints: ask for step 1 to {len(hints)}.")
    seen[name] = step
    more = "\nCall it again for the next." if step < len(hints) else "\nThat was the last hint; the solution is folded below."
    return Hint(f"Hint {step} of {len(hints)}. {hints[step - 1]}{more}")


def find(name: str) -> Exercise:
    """The exercise of this name; raises KeyError that lists the names there are."""
    exercises = all_exercises()
    if name not in exercises:
        raise KeyError(f"no exercise {name!r}; there are {', '.join(sorted(exercises))}")
    return exercises[name]


def all_exercises() -> dict[str, Exercise]:
    """Every exercise of every lesson, by name."""
    lessons = [import_module(f".{module.name}", __name__) for module in iter_modules(__path__)]
    return {exercise.name: exercise for lesson in lessons for exercise in lesson.EXERCISES}


def copies(arguments: tuple) -> tuple:
    return tuple(argument.clone() if isinstance(argument, torch.Tensor) else deepcopy(argument) for argument in arguments)


def same(given, wanted, atol: float = 1e-5) -> bool:
    """Whether the answer has the reference's structure, shape and numbers (to rounding)."""
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


def one_number(given):
    """The number in a tensor or array of one entry, whatever its axes; anything else as it is."""
    shape = getattr(given, "shape", None)
    single = isinstance(shape, tuple) and hasattr(given, "item") and math.prod(shape) == 1
    return given.item() if single else given


def is_index(numbers: torch.Tensor) -> bool:
    """Whether these are integers, which may be used to look up rows."""
    return not numbers.is_floating_point() and numbers.dtype != torch.bool


def attempt(function: Callable, arguments: tuple):
    """What the function returns, or ``RAISES``: none needs to run on every input."""
    try:
        return function(*copies(arguments))
    except (Exception, SystemExit):
        return RAISES


def agrees(given, wrong) -> bool:
    """Whether an answer's result is a misconception's; both may be ``RAISES``."""
    try:
        return given is wrong is RAISES or same(given, wrong, atol=1e-3)
    except Exception:  # a result may be anything
        return False


def called_with(arguments: tuple) -> str:
    """The arguments in words where they are numbers and rows of whole numbers, else nothing."""
    def short(argument):
        row = isinstance(argument, torch.Tensor) and argument.dim() == 1 and is_index(argument)
        return row or isinstance(argument, (int, float, list))

    if not all(map(short, arguments)):
        return ""
    return f" It was called with {', '.join(map(repr, arguments))}."


def first_difference(given, wanted, digits: int) -> str:
    """What differs first: the kind, the shape, or the first number."""
    if isinstance(wanted, list) and not isinstance(given, (list, tuple)):
        return f"Return a list, got {type(given).__name__}."
    if isinstance(wanted, list):
        return f"Expected {wanted}, got {given!r:.200}."
    if isinstance(wanted, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(wanted):
            return f"Return {len(wanted)} things, got {type(given).__name__}{f' of {len(given)}' if isinstance(given, (tuple, list)) else ''}."
        place = next(i for i, pair in enumerate(zip(given, wanted)) if not same(*pair))
        return f"Result {place + 1} of {len(wanted)}: " + first_difference(given[place], wanted[place], digits)
    if not isinstance(wanted, torch.Tensor):
        return f"Expected {wanted!r}, got {one_number(given)!r:.200}."
    if not isinstance(given, torch.Tensor):
        return f"Return one tensor, got {type(given).__name__}{f' of {len(given)}' if isinstance(given, (tuple, list)) else ''}."
    if given.shape != wanted.shape:
        return f"The shape should be {tuple(wanted.shape)}, yours is {tuple(given.shape)}."
    if given.is_floating_point() and is_index(wanted) and torch.equal(given.double(), wanted.double()):
        return "The numbers are right, but they are not integers: rows of a table are looked up by integers alone."
    off = ~torch.isclose(given.double(), wanted.double(), atol=1e-5, rtol=1e-4)
    place = tuple(off.nonzero()[0].tolist())
    return f"The shape is right, {int(off.sum())} of {off.numel()} numbers are not. The first at {list(place)}: expected {wanted[place]:.{digits}f}, yours is {given[place]:.{digits}f}."
