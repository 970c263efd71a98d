"""The kinds of exercises: letters to choose, functions to build, lines to work out on paper."""
from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import torch

from ..translation import translated
from .compare import agrees, attempt, copies, first_difference, is_index, same

MARKS = {"not attempted": "○", "wrong": "✗", "right": "✓"}


@dataclass(frozen=True)
class Result:
    """What ``check`` found: ``state`` is "not attempted", "wrong" or "right"."""

    state: str
    message: str

    def __repr__(self) -> str:
        return f"{MARKS[self.state]} {translated(self.message)}"


@dataclass
class Exercise:
    """What all exercises have: a name, hints in steps, and the words for a right answer."""

    name: str
    hints: Sequence[str]
    praise: str

    def judge(self, answer) -> Result:
        """Judge an answer that was attempted. ``check`` turns errors into messages."""
        raise NotImplementedError

    def untouched(self) -> Result:
        """The result where nothing was attempted."""
        return Result("not attempted", f'Not attempted yet. hint("{self.name}") helps.')

    def variant(self, seed) -> Exercise:
        """The exercise with other numbers, or options in another order: one for each seed.

        An exercise without either has one variant: a function is a function.
        """
        return self

    def question(self, text: str, seed) -> str:
        """The words of a lesson's question, with what ``variant(seed)`` has in place."""
        return text


@dataclass
class Choice(Exercise):
    """Predict and Explain: one letter, or a set of letters where ``right`` has several.

    reasons: for each wrong letter, what it overlooks. Where ``right`` has several, a reason goes
    on from "Statement b": "is false: ...". No letter stands in any words, since a variant has
    other letters.
    """

    right: str = ""
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> str:
        """All letters, right and wrong."""
        return "".join(sorted([*self.right, *self.reasons]))

    def judge(self, answer) -> Result:
        letters = answer if isinstance(answer, (set, frozenset, list, tuple)) else [answer]
        given = {str(letter).strip().lower() for letter in letters}
        if not given <= set(self.options):
            words = f"Answer with letters from {', '.join(self.options)}; got {answer!r}."
            if len(self.right) > 1:
                words += ' Give a set such as {"a", "b"}.'
            return Result("wrong", words)
        if surplus := sorted(given - set(self.right)):
            return Result("wrong", self.reason(surplus[0]))
        if missing := len(self.right) - len(given):
            more = f"{missing} more of the statements {'hold' if missing > 1 else 'holds'}"
            return Result("wrong", f"True so far, but {more}.")
        return Result("right", self.praise)

    def reason(self, letter: str) -> str:
        """What a wrong letter overlooks, as a sentence."""
        several = len(self.right) > 1
        return f"Statement {letter} {self.reasons[letter]}" if several else self.reasons[letter]

    def order(self, seed) -> str:
        """The lesson's letters in the order in which the variant shows these options."""
        return "".join(sorted(self.options, key=lambda one: stable_hash(seed, self.name, one)))

    def variant(self, seed) -> Choice:
        shown = dict(zip(self.order(seed), self.options))
        return replace(self, right="".join(sorted(shown[letter] for letter in self.right)),
                       reasons={shown[letter]: why for letter, why in self.reasons.items()})

    def question(self, text: str, seed) -> str:
        option = rf"^- \*\*([{self.options}])\*\* (.*)$"
        words = dict(re.findall(option, text, re.M))
        if "".join(words) != self.options:
            raise ValueError(f"{self.name}: the question lists the options {''.join(words)!r}, "
                             f"the exercise has {self.options!r}")
        shown = dict(zip(self.options, self.order(seed)))
        return re.sub(option, lambda line: f"- **{line[1]}** {words[shown[line[1]]]}", text,
                      flags=re.M)


class Slip:
    """A mistake as a change of right code's text: ``Slip(old, new, words)``, or more pairs first.

    The check's diagnosis, teachers' pages and tests are made from it. Raises ValueError if
    something to replace isn't in the text.
    """

    def __init__(self, *changes: str):
        *self.changes, self.words = changes
        if len(self.changes) % 2 or not self.changes:
            raise ValueError(f"a Slip is old, new, ..., words; got {len(changes)} texts")

    def text(self, right: str) -> str:
        """The right code's text with the mistake in it."""
        for old, new in zip(self.changes[::2], self.changes[1::2]):
            if old not in right:
                raise ValueError(f"there is no {old!r} in {right}")
            right = right.replace(old, new)
        return right

    def of(self, right: Callable) -> Callable:
        """The function with the mistake in it; its text is read when it is first called."""
        made = []

        def wrong(*arguments):
            if not made:
                names = dict(vars(sys.modules[right.__module__]))
                exec(self.text(inspect.getsource(right)), names)
                made.append(names[right.__name__])
            return made[0](*arguments)
        return wrong


@dataclass
class Build(Exercise):
    """Build and Break: a function, compared with ``reference`` on ``inputs``.

    inputs: returns tuples of arguments, small, random and with all sizes different.
    misconceptions: wrong functions, and last the words for whoever wrote one of them. They are said
    only if the answer agrees with that function on every input; where both raise, they agree.
    slips: more of them, as changes of the text of ``reference``; they are tried first.
    larger: returns inputs that a right answer must handle as well. Misconceptions are not tried on
    them, since they would overflow or lose digits there.
    """

    reference: Callable | None = None
    inputs: Callable[[], list[tuple]] | None = None
    misconceptions: Sequence[tuple] = ()
    larger: Callable[[], list[tuple]] = list
    slips: Sequence[Slip] = ()

    def __post_init__(self):
        made = [(slip.of(self.reference), slip.words) for slip in self.slips]
        self.misconceptions = [*made, *self.misconceptions]

    def judge(self, answer) -> Result:
        if not callable(answer):
            example = f"check({self.name!r}, your_function)"
            got = type(answer).__name__
            return Result("wrong", f"Give the function itself, got {got}: {example}.")
        for arguments in [*self.inputs(), *self.larger()]:
            try:
                result = self.mistake(answer, arguments)
            except NotImplementedError:
                return self.untouched()
            except (Exception, SystemExit) as error:  # the learner's code may raise anything
                return self.raised(answer, arguments, error)
            if result:
                return result
        return Result("right", self.praise)

    def mistake(self, answer: Callable, arguments: tuple) -> Result | None:
        """What is wrong with the answer for these arguments, if anything is."""
        given, wanted = answer(*copies(arguments)), self.reference(*copies(arguments))
        if given is None or given is ...:
            code = getattr(answer, "__code__", None)  # a stand-in of the grader's has none
            if code is None or code.co_code in EMPTY:
                words = "Not attempted yet: the function returns nothing."
                return Result("not attempted", words)
            return Result("wrong", "Your function returns None: is `return` missing?")
        if same(given, wanted):
            return None
        return Result("wrong", self.diagnosis(answer)
                      or first_difference(given, wanted) + called_with(arguments))

    def diagnosis(self, answer: Callable) -> str | None:
        """The words for the misconception that agrees with the answer on every input, if any."""
        tried = [(arguments, attempt(answer, arguments)) for arguments in self.inputs()]
        for *wrongs, words in self.misconceptions:
            for wrong in wrongs:
                if all(agrees(given, attempt(wrong, arguments)) for arguments, given in tried):
                    return words
        return None

    def raised(self, answer: Callable, arguments: tuple, error: BaseException) -> Result:
        """The result where a call of the answer raises an error."""
        shapes = [str(tuple(argument.shape)) if isinstance(argument, torch.Tensor)
                  else repr(argument) for argument in arguments]
        given = ", ".join(shapes)
        words = f"It was called with {given}."
        if any(isinstance(argument, torch.Tensor) for argument in arguments):
            words = f"It was called with {given} (shapes for tensors)."
        return Result("wrong", f"{raises(error)}\n  {words}")


@dataclass
class Lines(Exercise):
    """A calculation on paper: numbered lines of numbers, judged in order.

    lines: for each line its right numbers, and known wrong ones with the words for them.
    """

    lines: dict[int, tuple[Sequence[float], dict[tuple, str]]] = field(default_factory=dict)

    def judge(self, answer) -> Result:
        if not isinstance(answer, dict):
            return Result("wrong", f"Give a dictionary of lines, got {type(answer).__name__}.")
        for line in answer:
            if line not in self.lines:
                numbers = f"The lines are numbered 1 to {len(self.lines)}, with whole numbers"
                return Result("wrong", f"{numbers}; there is no line {line!r}.")
        for number, (right, known) in self.lines.items():
            given = answer.get(number, [])
            if not isinstance(given, (list, tuple)):
                got = type(given).__name__
                return Result("wrong", f"Line {number}: give a list of numbers, got {got}.")
            if not given and number == 1:
                return self.untouched()
            if not given:
                words = f"Right up to line {number - 1}; go on with line {number}."
                return Result("not attempted", words)
            if not near(given, right):
                words = [words for wrong, words in known.items() if near(given, wrong)]
                return Result("wrong", f"Line {number}: {[*words, first_wrong(given, right)][0]}")
        return Result("right", self.praise)


def bare(*arguments):
    ...


def documented(*arguments):
    """Nothing but a promise."""


EMPTY = {function.__code__.co_code for function in (bare, documented)}


def stable_hash(*words) -> int:
    """A large number that depends on the words alone, in every Python."""
    return int(sha256(repr(words).encode()).hexdigest(), 16)


def near(given: Sequence, wanted: Sequence[float]) -> bool:
    """Whether numbers worked out on paper are right to two digits."""
    return len(given) == len(wanted) and all(abs(float(number) - right) <= 0.02
                                             for number, right in zip(given, wanted))


def first_wrong(given: Sequence, right: Sequence[float]) -> str:
    if len(given) != len(right):
        return f"there should be {len(right)} numbers, got {len(given)}."
    place = next(i for i in range(len(right)) if not near(given[i:i + 1], right[i:i + 1]))
    number = f"the number in place {place + 1}, {float(given[place]):g},"
    return f"{number} is not right. Work it out once more."


def raises(error: BaseException) -> str:
    return f"Your code raises {type(error).__name__}: {error}"


def called_with(arguments: tuple) -> str:
    """The arguments in words where they are numbers and rows of whole numbers, else nothing."""
    def short(argument):
        row = isinstance(argument, torch.Tensor) and argument.dim() == 1 and is_index(argument)
        return row or isinstance(argument, (int, float, list))

    if not all(map(short, arguments)):
        return ""
    return f"\n  It was called with {', '.join(map(repr, arguments))}."
