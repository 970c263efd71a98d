"""The kinds of exercises: letters to choose, functions to build, lines to work out on paper."""
from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import torch

from ..languages import t
from .compare import agrees, attempt, copies, first_difference, is_index, same

MARKS = {"not attempted": "○", "wrong": "✗", "right": "✓"}


@dataclass(frozen=True)
class Result:
    """What ``check`` found: ``state`` is "not attempted", "wrong" or "right"."""

    state: str
    message: str

    def __repr__(self) -> str:
        return f"{MARKS[self.state]} {t(self.message)}"


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
        return Result("not attempted", t('Not attempted yet. Try hint("{0}").', self.name))

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
            words = t("Answer with letters from {0}; got {1}.", ", ".join(self.options),
                      repr(answer))
            if len(self.right) > 1:
                words += t(' Give a set such as {"a", "b"}.')
            return Result("wrong", words)
        if surplus := sorted(given - set(self.right)):
            why = t(self.reasons[surplus[0]])
            several = len(self.right) > 1
            return Result("wrong", t("Statement {0} {1}", surplus[0], why) if several else why)
        missing = len(self.right) - len(given)
        if missing == 1:
            return Result("wrong", t("True so far, but 1 more of the statements holds."))
        if missing:
            return Result("wrong", t("True so far, but {0} more of the statements hold.", missing))
        return Result("right", self.praise)

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
    """A mistake as a change of right code, with the words for whoever made it.

    ``Slip(old, new, words)`` replaces a part of its text, and takes more pairs before the words;
    ``Slip(new, words)`` replaces what a function returns. Diagnosis, teachers' pages and tests are
    made from it. Raises ValueError where the text has no such part.
    """

    def __init__(self, *changes: str):
        *self.changes, self.words = changes
        self.made = {}

    def text(self, right: Callable) -> str:
        """The right code's text with the mistake in it; of a class, with its bases' beside it."""
        text = "\n\n".join(map(inspect.getsource, beside(right)))
        if len(self.changes) == 1:
            return text[:text.rindex("return ")] + f"return {self.changes[0]}\n"
        for old, new in zip(self.changes[::2], self.changes[1::2], strict=True):
            if old not in text:
                raise ValueError(f"{right.__name__} has no {old!r}")
            text = text.replace(old, new)
        return text

    def of(self, right: Callable) -> Callable:
        """The function or class with the mistake in it."""
        if right not in self.made:
            names = {name: thing for each in beside(right)
                     for name, thing in vars(sys.modules[each.__module__]).items()}
            exec(self.text(right), names)
            self.made[right] = names[right.__name__]
        return self.made[right]


def beside(right: Callable) -> list[Callable]:
    """A function, or a class behind its bases in lessons."""
    return [base for base in reversed(getattr(right, "__mro__", [right]))
            if not base.__module__.startswith(("builtins", "torch", "d2l_ext"))]


@dataclass
class Build(Exercise):
    """Build and Break: a function, compared with ``reference`` on ``inputs``.

    inputs: returns tuples of arguments, small, random and with all sizes different. What it draws
    is the same each time.
    slips: mistakes in ``reference``. Their words are said only if the answer agrees with the
    function with that mistake on every input; where both raise, they agree.
    larger: returns inputs that a right answer must handle as well. Slips are not tried on them,
    since they would overflow or lose digits there.
    """

    reference: Callable | None = None
    inputs: Callable[[], list[tuple]] | None = None
    slips: Sequence[Slip] = ()
    larger: Callable[[], list[tuple]] = list

    def __post_init__(self):
        self.inputs, self.larger = seeded(self.inputs), seeded(self.larger)

    def judge(self, answer) -> Result:
        if not callable(answer):
            return Result("wrong", t("Give the function itself, got {0}: check({1}, "
                                     "your_function).", type(answer).__name__, repr(self.name)))
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

    def run(self, code: Callable, arguments: tuple):
        """What is looked at: what the code returns, given arguments of its own."""
        return code(*copies(arguments))

    def mistake(self, answer: Callable, arguments: tuple) -> Result | None:
        """What is wrong with the answer for these arguments, if anything is."""
        given, wanted = (self.run(code, arguments) for code in (answer, self.reference))
        if given is None or given is ...:
            if getattr(getattr(answer, "__code__", None), "co_code", None) in EMPTY:
                return Result("not attempted", t("Not attempted yet: the function returns "
                                                 "nothing."))
            return Result("wrong", t("Your function returns None: is `return` missing?"))
        if same(given, wanted):
            return None
        return Result("wrong", self.diagnosis(answer)
                      or first_difference(given, wanted) + called_with(arguments))

    def diagnosis(self, answer: Callable) -> str | None:
        """The words for the slip that agrees with the answer on every input, if any does."""
        tried = [attempt(self.run, answer, arguments) for arguments in self.inputs()]
        return next((slip.words for slip in self.slips if self.does(slip, tried)), None)

    def does(self, slip: Slip, tried: list) -> bool:
        """Whether what was seen of an answer, an input each, is what code with this slip does."""
        wrong = slip.of(self.reference)
        return all(agrees(given, attempt(self.run, wrong, arguments))
                   for arguments, given in zip(self.inputs(), tried))

    def raised(self, answer: Callable, arguments: tuple, error: BaseException) -> Result:
        """The result where a call of the answer raises an error."""
        tensors = [isinstance(argument, torch.Tensor) for argument in arguments]
        shown = ", ".join(str(tuple(argument.shape)) if is_tensor else repr(argument)
                          for argument, is_tensor in zip(arguments, tensors))
        words = t("It was called with {0}.", shown)
        if any(tensors):
            words = t("It was called with {0} (shapes for tensors).", shown)
        return Result("wrong", raises(error) + "\n  " + words)


@dataclass
class Repair(Build):
    """Code to repair: what it returns is looked at, and what became of its arguments.

    given: what is wrong with the code in the lesson; handing that in is no attempt.
    """

    given: Slip = Slip("", "")

    def run(self, code, arguments):
        arguments = copies(arguments)
        return code(*arguments), *arguments

    def judge(self, answer) -> Result:
        tried = [attempt(self.run, answer, arguments) for arguments in self.inputs()]
        return self.untouched() if self.does(self.given, tried) else super().judge(answer)


@dataclass
class Drawing(Build):
    """A table to draw, a row a line: x for True, . for False, ? for what is still to do.

    reference: returns it, without arguments.
    """

    inputs: Callable[[], list[tuple]] = lambda: [()]

    def judge(self, answer) -> Result:
        rows, wanted = str(answer).split("\n"), self.reference()
        rows = [row.split() for row in rows if row.strip()]
        signs = {sign for row in rows for sign in row}
        if signs == {"?"}:
            return self.untouched()
        if not signs <= {"x", "."} or {len(row) for row in rows} != {wanted.shape[1]} or (
                len(rows) != len(wanted)):
            return Result("wrong", t("Draw {0} rows of {1} signs, x or . each, with blanks between "
                                     "them.", *wanted.shape))
        drawn = torch.tensor([[sign == "x" for sign in row] for row in rows])
        return super().judge(lambda: drawn)


@dataclass
class Order(Exercise):
    """Lines of code to bring in order: a text of their letters.

    needs: for each line the lines that must stand before it. reasons: for each line that doesn't
    belong there, why.
    """

    needs: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def judge(self, answer) -> Result:
        letters = [str(letter).strip().lower() for letter in answer if str(letter).strip(" ,")]
        for letter in letters:
            if letter in self.reasons:
                return Result("wrong", self.reasons[letter])
            if letter not in self.needs or letters.count(letter) > 1:
                return Result("wrong", t("Give each line once, by its letter, as in {0}; got {1}.",
                                         "".join(sorted(self.needs)), repr(answer)))
        for place, letter in enumerate(letters):
            if missing := [line for line in self.needs[letter] if line not in letters[:place]]:
                return Result("wrong", t("Line {0} comes too early: it needs line {1} before it.",
                                         letter, missing[0]))
        if left := [line for line in self.needs if line not in letters]:
            return Result("wrong", t("Right so far, but a line is missing: {0}.", left[0]))
        return Result("right", self.praise)


@dataclass
class Lines(Exercise):
    """A calculation on paper: numbered lines of numbers, judged in order.

    lines: for each line its right numbers, and known wrong ones with the words for them.
    """

    lines: dict[int, tuple[Sequence[float], dict[tuple, str]]] = field(default_factory=dict)

    def judge(self, answer) -> Result:
        if not isinstance(answer, dict):
            return Result("wrong", t("Give a dictionary of lines, got {0}.",
                                     type(answer).__name__))
        for line in answer:
            if line not in self.lines:
                return Result("wrong", t("The lines are numbered 1 to {0}, with whole numbers; "
                                         "there is no line {1}.", len(self.lines), repr(line)))
        for number, (right, known) in self.lines.items():
            given = answer.get(number, [])
            if not isinstance(given, (list, tuple)):
                return Result("wrong", t("Line {0}: give a list of numbers, got {1}.", number,
                                         type(given).__name__))
            if not given and number == 1:
                return self.untouched()
            if not given:
                return Result("not attempted", t("Right up to line {0}; go on with line {1}.",
                                                 number - 1, number))
            if not near(given, right):
                words = [t(words) for wrong, words in known.items() if near(given, wrong)]
                return Result("wrong", t("Line {0}: {1}", number,
                                         [*words, first_wrong(given, right)][0]))
        return Result("right", self.praise)


def seeded(draw: Callable) -> Callable:
    """A function that draws the same list each time, and leaves the random generator as it was."""
    def again():
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(1)
            return [*draw()]
    return again


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
        return t("there should be {0} numbers, got {1}.", len(right), len(given))
    place = next(i for i in range(len(right)) if not near(given[i:i + 1], right[i:i + 1]))
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
