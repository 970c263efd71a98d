"""Exhibits: code with a silent mistake. Predict its symptom, point to the line, write the test.

The test is tried itself: on two right versions, on the exhibit, and on two siblings of its mistake.
A good one passes the first two and fails the other three.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from traceback import walk_tb

import torch
from torch import Tensor

from d2l_ext.settings import default_settings
from ..languages import t
from .kinds import Choice, NotYet, Slip, blank, slips_of, unwritten

PARTS = ("symptom", "line", "test")
LINES = 200_000  # of a test, until it counts as endless
Answers = Callable[[Tensor, Tensor], Tensor]


@dataclass(kw_only=True)
class Exhibit(Choice):
    """An answer is ``{"symptom": letter, "line": number or text, "test": function}``, of which
    parts may be blank: "", 0, and a function without a body.

    fine: a function or class that does what the docstring says. All else is a change of its text.
    use: code -> a function of X (batch, steps, hiddens), whose answers are (batch, steps, ...), and
    lengths (batch,), through which the lesson's five checks see it.
    promises: which of "padding", "order" (of steps) and "causal" correct code keeps.
    other: to code that keeps it in another way.
    slips: first the exhibit's mistake, then two siblings. A sibling's words go on from "code that".
    careful: to code that does more than is promised, with words for a test that asks for it.
    careless: to code that is worse than the exhibit, with words for a test that finds this alone.

    As under pytest, a test fails a version by raising anything, and what it returns is not looked
    at, so it must return nothing. Each version is new for each run; a test may change it.
    """

    fine: Callable
    use: Callable[[Callable], Answers]
    promises: Sequence[str] = ()
    other: Sequence[str] = ()
    slips: Sequence[Sequence] = ()
    careful: Sequence[str] = ()
    careless: Sequence[str] = ()

    def __post_init__(self):
        self.slips = slips_of(self.slips)

    def text(self, slip: int | None = None) -> str:
        """Right code, or with ``slip=0`` the exhibit, with 1 and 2 its siblings.

        >>> from attention_lessons import CASES
        >>> print(CASES["positions"].text(0).splitlines()[3].strip())
        rows = table[:X.shape[0], None]
        """
        return self.version(slip).text(self.fine)

    def code(self, slip: int | None = None) -> Callable:
        """The same as objects of their own: what a test does to them changes no others."""
        return self.version(slip).build(self.fine)

    def version(self, slip: int | None) -> Slip:
        return Slip([""]) if slip is None else self.slips[slip]

    def second(self) -> Callable:
        """The other right version."""
        return Slip([*self.other, ""]).build(self.fine)

    # ---- what is said ----

    def fault(self, answer):
        if not isinstance(answer, dict) or not set(PARTS).issuperset(answer):
            return t("Give a dictionary such as {0}.", '{"symptom": "a", "line": 3, "test": test}')
        given = {part: value for part in PARTS
                 if not blank(value := answer.get(part)) and not unwritten(value)}
        faults = {"symptom": super().fault, "line": self.fault_of_line, "test": self.fault_of_test}
        for part, value in given.items():
            if words := faults[part](value):
                return t("The {0}: {1}", part, words)
        if not given:
            raise NotImplementedError
        if missing := [part for part in PARTS if part not in given]:
            raise NotYet(t("Right so far: {0}. Still to do: {1}.", ", ".join(given),
                           ", ".join(missing)))

    def fault_of_line(self, given):
        lines, fine = (self.text(slip).splitlines() for slip in (0, None))
        place = given
        if isinstance(given, str):
            places = [i for i, line in enumerate(lines, 1) if given.strip() in line]
            if len(places) != 1:
                return t("{0} stands in {1} of the exhibit's lines; give a number, or a part that "
                         "stands in one.", f"{given!r:.60}", len(places) or t("none"))
            place = places[0]
        if not isinstance(place, int) or not 1 <= place <= len(lines):
            return t("Give a number from 1 to {0}, got {1}.", len(lines), f"{given!r:.60}")
        if lines[place - 1] in fine:
            return t("nothing is wrong with line {0}, `{1}`. Compare what the docstring promises, "
                     "line by line.", int(place), lines[place - 1].strip())

    def fault_of_test(self, test):
        if not callable(test):
            return t('hand in the function itself, "test": test; got {0}.', type(test).__name__)
        rights = [run_test(test, code) for code in (self.code(), self.second())]
        wrongs = [run_test(test, self.code(slip)) for slip in range(3)]
        if isinstance(rights[0].error, NotImplementedError):
            raise NotImplementedError
        if words := returns(rights + wrongs):
            return words
        if self.careful and not rights[0].passed and self.passes(test, self.careful):
            return self.careful[-1]
        return refuses(rights, wrongs) or self.misses(test, [run.passed for run in wrongs])

    def passes(self, test, slip: tuple) -> bool:
        """Whether the test passes correct code with such a change."""
        return run_test(test, Slip(slip).build(self.fine)).passed

    def misses(self, test, passed: list[bool]) -> str | None:
        """Why the test lets the exhibit pass, or which siblings it does."""
        if passed[0]:
            if self.careless and not self.passes(test, self.careless):
                return self.careless[-1]
            for through, words in PROBES:
                if run_test(test, wrap_answers(self.code(), through)).passed:
                    return words
            return t("it passes correct code, and the exhibit as well. Look for inputs on which "
                     "the two differ: sizes, lengths and numbers that are all different.")
        missed = [t(slip.words) for slip, each in zip(self.slips[1:], passed[1:]) if each]
        if len(missed) == 1:
            return t("the exhibit is caught, but not code that {0}.", *missed)
        if missed:
            return t("the exhibit is caught, but two other mistakes pass: code that {0}, and code "
                     "that {1}.", *missed)


# ---- one run of a test ---------------------------------------------------------------------------

@dataclass(frozen=True)
class Run:
    """How a test ended: with the error that it raised in a line, or with what it returned."""

    error: BaseException | None = None
    returned: object = None
    line: int | None = None

    @property
    def passed(self) -> bool:
        return self.error is None

    def in_words(self) -> str:
        """What happened, as a sentence without its full stop."""
        says = f"{' '.join(str(self.error).split()):.160}"
        place = t("its line {0}", self.line) if self.line else t("it")
        if not isinstance(self.error, AssertionError):
            return t("there {0} raises {1}: {2}", place, type(self.error).__name__, says)
        if says:
            return t("there {0} fails and says: {1}", place, says)
        return t("there {0} fails", place)


class Endless(Exception):
    """A test ran more than ``LINES`` lines."""


def run_test(test: Callable, code: Callable) -> Run:
    """The test's run on some code, with the same seed each time and settings of its own."""
    try:
        with default_settings():
            torch.default_generator.manual_seed(0)
            return Run(returned=in_limits(test, code))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest's own aren't of Exception
        return Run(error, line=line_of(error, test))


def line_of(error: BaseException, test: Callable) -> int | None:
    """The line of the test, counted from its ``def``, in which the error was raised."""
    code = getattr(test, "__code__", None)
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code is code]
    return lines[-1] - code.co_firstlineno + 1 if lines else None


def in_limits(test: Callable, code: Callable):
    """Call the test; a loop in it without an end raises ``Endless``."""
    file = getattr(getattr(test, "__code__", None), "co_filename", None)
    lines = LINES

    def trace(frame, event, argument):
        nonlocal lines
        lines -= 1
        if lines < 0:
            raise Endless(t("it went on for more than {0} lines", f"{LINES:,}"))
        return trace

    if sys.gettrace() is not None:  # a debugger's
        return test(code)
    sys.settrace(lambda frame, *event: trace if frame.f_code.co_filename == file else None)
    try:
        return test(code)
    finally:
        sys.settrace(None)


def returns(runs: list[Run]) -> str | None:
    """What to say where a test returns something."""
    given = [run.returned for run in runs if run.returned is not None]
    if not given:
        return None
    kind = type(given[0]).__name__
    a = "an" if kind[0].lower() in "aeiou" else "a"
    what = given[0] if isinstance(given[0], bool) else f"{a} {kind}"
    return t("it returns {0}, which nobody looks at. Write `assert ...` instead of `return ...`.",
             what)


def refuses(rights: list[Run], wrongs: list[Run]) -> str | None:
    """What to say where a test fails correct code."""
    failed = [run.in_words() for run in rights if not run.passed]
    if not failed:
        return None
    if len(failed) == 2 and not any(run.passed for run in wrongs):
        return t("it fails whatever it is given, correct code too; {0}.", failed[0])
    if wrongs[0].passed:
        return t("it passes the exhibit and refuses correct code: what it expects has the same "
                 "mistake. On correct code, {0}.", failed[0])
    if rights[0].passed:
        return t("it refuses correct code that is written in another way. Test what the docstring "
                 "says, to about five digits, not how it is done; {0}.", failed[0])
    return t("it refuses correct code; {0}.", failed[0])


# ---- code that a weak test lets pass -------------------------------------------------------------

def wrap_answers(code: Callable, through: Callable) -> Callable:
    """Code whose answers go through a function."""
    if isinstance(code, type):
        return type(code.__name__, (code,), {
            "forward": lambda self, *inputs: through(code.forward(self, *inputs))})
    return lambda *inputs, **options: through(code(*inputs, **options))


def noise(size: float, X: Tensor) -> Tensor:
    """Numbers off by about ``size``, whole ones by chance, anew at each call."""
    return X + size * torch.randn_like(X) if X.is_floating_point() else torch.randint_like(X, 9)


def distorted(X: Tensor) -> Tensor:
    """Numbers that are all wrong, in the same way at each call."""
    return 1.5 * X + 0.5 if X.is_floating_point() else X + 1


def numbers(change: Callable[[Tensor], Tensor], answer):
    """An answer with other numbers: in tensors, and in an optimizer's rates of decay."""
    if isinstance(answer, tuple):
        return tuple(numbers(change, part) for part in answer)
    if isinstance(answer, torch.optim.Optimizer):
        for group in answer.param_groups:
            group["weight_decay"] = float(change(torch.tensor(group["weight_decay"])).abs())
    return change(answer) if isinstance(answer, Tensor) else answer


PROBES = [  # what becomes of answers. The first with which a test passes tells what it lacks
    (lambda answer: None,
     t("it can't fail: it passes even code that returns nothing at all.")),
    (partial(numbers, partial(noise, 3.0)), t(
        "it passes code that returns random numbers of the right shape, so no number matters to "
        "it. In what do correct code and the exhibit differ?")),
    (partial(numbers, partial(noise, 0.1)), t(
        "it passes code whose numbers are all off by about a tenth. Its tolerance is wider than "
        "the mistake.")),
    (partial(numbers, distorted), t(
        "it compares two calls of the code, in which the mistake is the same. Choose calls in "
        "which it isn't, or compare with numbers from elsewhere, such as a loop over tokens.")),
]
