"""The kinds of exercises: letters to choose, functions to build, lines to work out on paper."""
from __future__ import annotations

import html
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

import torch

from ..languages import t
from ..palette import PALETTE
from .compare import agrees, attempt, copies, differs, is_index

MARKS = {"not attempted": "○", "wrong": "✗", "right": "✓"}
COLOURS = {"not attempted": PALETTE["grey"], "wrong": PALETTE["key"], "right": PALETTE["value"]}
RULE = ('<div style="border-left: 4px solid {}; padding: 2px 12px; '
        'white-space: pre-wrap; overflow-wrap: normal">{}</div>')


@dataclass(frozen=True)
class Result:
    """What ``check`` found: ``state`` is "not attempted", "wrong" or "right"."""

    state: str
    message: str

    def __repr__(self) -> str:
        return f"{MARKS[self.state]} {t(self.message)}"

    def _repr_html_(self) -> str:
        """The same, its first words bold, after a coloured rule."""
        said = html.escape(str(t(self.message)))
        if self.state == "wrong":
            said = f"{t('Not yet.')} {said}"
        first = re.match("[^.:,。：，]*[.:,。：，]?", said)[0]
        return RULE.format(COLOURS[self.state]["light"],
                           f"{MARKS[self.state]} <b>{first}</b>{said[len(first):]}")


class NotYet(Exception):
    """What is said of an answer that was not attempted, or in part."""


@dataclass
class Exercise:
    """What all exercises have: a name, hints in steps, and the words for a right answer.

    For those of a lesson the words stand in its ``exercises.toml``, under the name, and so do
    slips, reasons, and whatever else is no code.
    """

    name: str
    hints: Sequence[str] = field(default=(), kw_only=True)
    praise: str = field(default="", kw_only=True)

    def judge(self, answer) -> Result:
        """The result for an answer. Whatever the answer raises becomes part of the message."""
        try:
            if blank(answer):
                raise NotImplementedError
            wrong = self.fault(answer)
        except NotImplementedError:
            return Result("not attempted", t('Not attempted yet. Try hint("{0}").', self.name))
        except NotYet as so_far:
            return Result("not attempted", so_far.args[0])
        except (Exception, SystemExit) as error:  # the learner's code may raise anything
            wrong = raises(error)
        return Result("wrong", wrong) if wrong else Result("right", self.praise)

    def fault(self, answer) -> str | None:
        """What is wrong with an answer that was attempted, if anything is."""
        raise NotImplementedError


@dataclass
class Choice(Exercise):
    """Predict and Explain: one letter, or a set of letters where ``right`` has several.

    reasons: for each wrong letter, what it overlooks. Where ``right`` has several, a reason goes
    on from "Statement b": "is false: ...".
    """

    right: str = ""
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> str:
        """All letters, right and wrong."""
        return "".join(sorted([*self.right, *self.reasons]))

    def fault(self, answer):
        letters = answer if isinstance(answer, (set, frozenset, list, tuple)) else [answer]
        given = {str(letter).strip().lower() for letter in letters}
        several = len(self.right) > 1
        if not given <= set(self.options):
            words = t("Answer with letters from {0}; got {1}.", ", ".join(self.options),
                      repr(answer))
            return words + t(' Give a set such as {"a", "b"}.') if several else words
        for letter in sorted(given - set(self.right)):
            why = t(self.reasons[letter])
            return t("Statement {0} {1}", letter, why) if several else why
        missing = len(self.right) - len(given)
        if missing == 1:
            return t("True so far, but 1 more of the statements holds.")
        if missing:
            return t("True so far, but {0} more of the statements hold.", missing)


class Slip(tuple):
    """A mistake as a change of correct code, with the words for whoever made it.

    ``(old, new, words)`` replaces a part of its text, and takes more pairs before the words;
    ``(new, words)`` replaces what a function returns. Diagnosis, teachers' pages and tests are made
    from it. Raises ValueError where the text has no such part.
    """

    @property
    def words(self) -> str:
        return self[-1]

    def text(self, right: Callable) -> str:
        """The correct code's text with the mistake in it; of a class, with its bases' beside it."""
        text, changes = "\n\n".join(map(inspect.getsource, source_parts(right))), self[:-1]
        if len(changes) == 1:
            return text[:text.rindex("return ")] + f"return {changes[0]}\n"
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            if old not in text:
                raise ValueError(f"{right.__name__} has no {old!r}")
            text = text.replace(old, new)
        return text

    def build(self, right: Callable) -> Callable:
        """The function or class with the mistake in it, an object of its own."""
        names = {name: thing for each in source_parts(right)
                 for name, thing in vars(sys.modules[each.__module__]).items()}
        exec(self.text(right), names)
        return names[right.__name__]

    of = cache(build)  # the same, built once


def slips_of(parts: Sequence) -> list[Slip]:
    """Slips from their parts; ``[[old, new, ...], [old, new, ...], words]`` is several ways to make
    a mistake, which get the same message."""
    ways = [[slip] if isinstance(slip[0], str) else [[*way, slip[-1]] for way in slip[:-1]]
            for slip in parts]
    return [Slip(way) for way in chain(*ways)]


def source_parts(right: Callable) -> list[Callable]:
    """A function, or a class behind its bases in lessons."""
    return [base for base in reversed(getattr(right, "__mro__", [right]))
            if not base.__module__.startswith(("builtins", "torch", "d2l_ext"))]


@dataclass
class Build(Exercise):
    """Build and Break: a function, compared with ``reference`` on ``inputs``.

    inputs: returns tuples of arguments, small, random and with all sizes different. What it draws
    is the same each time.
    slips: mistakes in ``reference``, as ``slips_of`` reads them. Their words are said only if the
    answer agrees with the function with that mistake on every input; where both raise, they agree.
    """

    reference: Callable | None = None
    inputs: Callable[[], list[tuple]] = list
    slips: Sequence[Sequence] = ()

    def __post_init__(self):
        self.inputs, self.slips = seeded(self.inputs), slips_of(self.slips)

    def fault(self, answer):
        if not callable(answer):
            return t("Give the function itself, got {0}: check({1}, your_function).",
                     type(answer).__name__, repr(self.name))
        if unwritten(answer):
            raise NotYet(t("Not attempted yet: the function returns nothing."))
        for case in self.inputs():
            try:
                given = self.run(answer, case)
            except NotImplementedError:
                raise
            except (Exception, SystemExit) as error:  # the learner's code may raise anything
                return self.raised(answer, case, error)
            if given is None or given is ...:
                return t("Your function returns None: is `return` missing?")
            wanted = self.run(self.reference, case)
            if differs(given, wanted):
                slip = self.diagnose(answer, self.deciding_cases(case))
                return slip or self.explain_difference(given, wanted, case)

    def run(self, code: Callable, case: tuple):
        """What is looked at: what the code returns, given arguments of its own."""
        return code(*copies(case))

    def deciding_cases(self, case: tuple) -> list[tuple]:
        """The cases in which a mistake must do what the answer does, if it failed in this one."""
        return self.inputs()

    def diagnose(self, answer: Callable, cases: list[tuple]) -> str | None:
        """The words for the slip that does what the answer does, if any does.

        Of several it is the first of those that agree in most cases.
        """
        tried = self.tries(answer, cases)
        agreeing = [slip for slip in self.slips if all(self.alike(slip, tried))]
        if len(agreeing) > 1:
            tried = self.tries(answer, self.inputs())
            agreeing.sort(key=lambda slip: -sum(self.alike(slip, tried)))
        return agreeing[0].words if agreeing else None

    def tries(self, answer: Callable, cases: list[tuple]) -> list[tuple]:
        return [(case, attempt(self.run, answer, case)) for case in cases]

    def alike(self, slip: Slip, tried: list[tuple]) -> Iterator[bool]:
        """For each case, whether what was seen of an answer is what code with this slip does."""
        wrong = slip.of(self.reference)
        return (agrees(given, attempt(self.run, wrong, case)) for case, given in tried)

    def explain_difference(self, given, wanted, case: tuple) -> str:
        """What differs first, in words."""
        return differs(given, wanted) + called_with(case)

    def raised(self, answer: Callable, case: tuple, error: BaseException) -> str:
        """What is said where a call of the answer raises an error."""
        shapes = [tuple(each.shape) if isinstance(each, torch.Tensor) else each for each in case]
        shown = ", ".join(map(repr, shapes))
        words = t("It was called with {0}.", shown)
        if any(isinstance(each, torch.Tensor) for each in case):
            words = t("It was called with {0} (shapes for tensors).", shown)
        return raises(error) + "\n  " + words


@dataclass
class Repair(Build):
    """Code to repair: what it returns is looked at, and what became of its arguments.

    given: what is wrong with the code in the lesson; handing that in is no attempt.
    """

    given: Sequence[str] = ()

    def run(self, code, case):
        arguments = copies(case)
        return code(*arguments), *arguments

    def fault(self, answer):
        if all(self.alike(Slip([*self.given, ""]), self.tries(answer, self.inputs()))):
            raise NotImplementedError
        return super().fault(answer)


@dataclass
class Drawing(Build):
    """A table to draw, a row a line: x for True, . for False, ? for what is still to do.

    reference: returns it, without arguments.
    """

    inputs: Callable[[], list[tuple]] = lambda: [()]

    def fault(self, answer):
        wanted = self.reference()
        rows = [row.split() for row in str(answer).split("\n") if row.strip()]
        signs = {sign for row in rows for sign in row}
        if signs == {"?"}:
            raise NotImplementedError
        if not signs <= {"x", "."} or [len(row) for row in rows] != [wanted.shape[1]] * len(wanted):
            return t("Draw {0} rows of {1} signs, x or . each, with blanks between them.",
                     *wanted.shape)
        drawn = torch.tensor([[sign == "x" for sign in row] for row in rows])
        return super().fault(lambda: drawn)


@dataclass
class Order(Exercise):
    """Lines of code to bring in order: a text of their letters.

    needs: for each line the lines that must stand before it. reasons: for each line that doesn't
    belong there, why.
    """

    needs: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def fault(self, answer):
        letters = [str(letter).strip().lower() for letter in answer if str(letter).strip(" ,")]
        for letter in letters:
            if letter in self.reasons:
                return self.reasons[letter]
            if letter not in self.needs or letters.count(letter) > 1:
                return t("Give each line once, by its letter, as in {0}; got {1}.",
                         "".join(sorted(self.needs)), repr(answer))
        for place, letter in enumerate(letters):
            if missing := [line for line in self.needs[letter] if line not in letters[:place]]:
                return t("Line {0} comes too early: it needs line {1} before it.", letter,
                         missing[0])
        for line in self.needs:
            if line not in letters:
                return t("Right so far, but a line is missing: {0}.", line)


@dataclass
class Lines(Exercise):
    """A calculation on paper: numbered lines of numbers, judged in order.

    lines: for each line its right numbers, then pairs of wrong ones and the words for them.
    within: the share by which numbers that are read off a figure may differ.
    """

    lines: Sequence[Sequence] = ()
    within: float = 0

    def fault(self, answer):
        if not isinstance(answer, dict):
            return t("Give a dictionary of lines, got {0}.", type(answer).__name__)
        for line in answer:
            if line not in range(1, len(self.lines) + 1):
                return t("The lines are numbered 1 to {0}, with whole numbers; there is no line "
                         "{1}.", len(self.lines), repr(line))
        for number, (right, *known) in enumerate(self.lines, 1):
            given = answer.get(number, [])
            if not isinstance(given, (list, tuple)):
                return t("Line {0}: give a list of numbers, got {1}.", number,
                         type(given).__name__)
            if not given and number == 1:
                raise NotImplementedError
            if not given:
                raise NotYet(t("Right up to line {0}; go on with line {1}.", number - 1, number))
            if not near(given, right, self.within):
                words = [t(words) for wrong, words in known
                         if near(given, wrong, self.within)]
                words.append(first_wrong(given, right, self.within))
                return t("Line {0}: {1}", number, words[0])


def seeded(draw: Callable) -> Callable:
    """A function that draws the same list each time."""
    def again():
        torch.default_generator.manual_seed(1)  # ``check`` brings back the generator's state
        return [*draw()]
    return again


def blank(value) -> bool:
    """Whether an answer is as the lesson has it."""
    plain = isinstance(value, (str, int, set, frozenset, list, tuple, dict))
    return value is None or value is ... or plain and not value


def unwritten(value) -> bool:
    """Whether this is a function without a body."""
    code = getattr(value, "__code__", None)
    return code is not None and code.co_code in EMPTY and all(
        isinstance(constant, (str, type(None))) for constant in code.co_consts)


def bare(*arguments):
    ...


def documented(*arguments):
    """Nothing but a docstring."""


EMPTY = {function.__code__.co_code for function in (bare, documented)}


def near(given: Sequence, wanted: Sequence[float], within: float = 0) -> bool:
    """Whether numbers worked out on paper are right to two digits, or within a share."""
    return len(given) == len(wanted) and all(
        abs(float(number) - right) <= max(0.02, within * abs(right))
        for number, right in zip(given, wanted))


def first_wrong(given: Sequence, right: Sequence[float], within: float) -> str:
    if len(given) != len(right):
        return t("there should be {0} numbers, got {1}.", len(right), len(given))
    place = next(i for i in range(len(right)) if not near(given[i:i + 1], right[i:i + 1], within))
    return t("the number in place {0}, {1}, is not right. Work it out once more.", place + 1,
             f"{float(given[place]):g}")


def raises(error: BaseException) -> str:
    return t("Your code raises {0}: {1}", type(error).__name__, str(error))


def called_with(arguments: tuple) -> str:
    """The arguments in words where they are numbers and rows of whole numbers, else nothing."""
    def short(argument):
        row = isinstance(argument, torch.Tensor) and argument.dim() == 1 and is_index(argument)
        return row or isinstance(argument, (int, float, list))

    if not arguments or not all(map(short, arguments)):
        return ""
    return t("\n  It was called with {0}.", ", ".join(map(repr, arguments)))
