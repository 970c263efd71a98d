"""Exercises judge fairly.

Shown solutions are right, untouched stubs are not attempts, every mistake that a check knows hears
its own words, and nothing breaks ``check``.
"""
import ast
import copy
import math
import re
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
import torch
from answers import RIGHT, WRONG
from rules.notebook import all_notebooks, fences, trios
from torch import nn
from torch.nn import functional as F

import d2l_ext
from attention_lessons.exercises import all_exercises, check, hint
from attention_lessons.exercises.classes import FromScratch
from attention_lessons.exercises.kinds import Build, Choice, Drawing, Lines, Order, Result
from d2l_ext.transformer import DecoderBlock

CELLS = {name: trio for notebook in all_notebooks() for name, trio in trios(notebook.cells).items()}
EXERCISES = all_exercises()
BUILT = [name for name, exercise in EXERCISES.items() if isinstance(exercise, Build)]
CLASSES = [name for name, exercise in EXERCISES.items() if isinstance(exercise, FromScratch)]
NAMES = {"torch": torch, "math": math, "nn": nn, "F": F, "np": np, "d2l_ext": d2l_ext,
         "check": check, "hint": hint}


def misconceptions(exercise):
    """What goes wrong in ways that the check knows: answers, and the words for each."""
    for letter, why in getattr(exercise, "reasons", {}).items():
        several = len(getattr(exercise, "right", "")) > 1
        yield letter, f"Statement {letter} {why}" if several else why
    so_far = {}
    for line, (right, *wrong) in enumerate(getattr(exercise, "lines", ()), 1):
        for numbers, why in wrong:
            yield so_far | {line: list(numbers)}, f"Line {line}: {why}"
        so_far = so_far | {line: list(right)}
    for slip in getattr(exercise, "slips", ()):
        wrong = slip.of(exercise.reference)
        yield drawn(wrong()) if isinstance(exercise, Drawing) else wrong, slip.words


def drawn(table):
    """A table as a learner draws it."""
    return "\n".join(" ".join(".x"[here] for here in row) for row in table.int().tolist())


def run(code):
    """The value of the last line of some code, an expression."""
    names = dict(NAMES)
    *body, last = ast.parse(code).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(ast.unparse(last), names)


@pytest.mark.parametrize("name", CELLS)
def test_shown_solution_is_right(name):
    _, answer, solution = CELLS[name]
    result = run("\n".join([*fences(solution), ast.unparse(answer.statements[-1])]))
    assert repr(result).startswith("✓ Right"), result


@pytest.mark.parametrize("name", CELLS)
def test_untouched_stub_is_no_attempt(name):
    result = run(CELLS[name][1].text)
    assert result.state == "not attempted", result
    assert f'hint("{name}")' in result.message or "returns nothing" in result.message


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow if name in CLASSES else ())
    for name, exercise in EXERCISES.items()
    if type(exercise) is Choice or isinstance(exercise, (Build, Lines, Order))])
def test_every_mistake_hears_its_own_words(name):
    for answer, words in misconceptions(EXERCISES[name]):
        result = check(name, answer)
        assert (result.state, result.message) == ("wrong", words)


KEYS = dict(line.split(": ", 1)
            for line in Path(__file__).with_name("words.txt").read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", EXERCISES)
def test_messages_stand_where_they_belong(name):
    """words.txt has, for each message in order, what it must contain, in this order: another's
    doesn't, nor does one that says the opposite."""
    exercise = EXERCISES[name]
    slips = dict.fromkeys(slip.words for slip in getattr(exercise, "slips", ()))
    lines = [why for _, *wrong in getattr(exercise, "lines", ()) for _, why in wrong]
    messages = [exercise.praise, *exercise.hints,
                *(why for _, why in sorted(getattr(exercise, "reasons", {}).items())),
                *slips, *lines]
    keys = KEYS.get(name, "").split(" | ")
    for message, key in zip_longest(filter(None, messages), keys, fillvalue=""):
        assert key and message, f"words.txt, {name}: {key!r} for {message!r}"
        parts = ".*".join(map(re.escape, key.split(" & ")))
        assert re.search(parts, message, re.S), f"{key!r} isn't in {message!r}"


@pytest.mark.parametrize("name, answer, words", [
    pytest.param(name, *case, id=f"{name}-{i}")
    for name in WRONG for i, case in enumerate(WRONG[name])])
def test_wrong_answer_hears_why(name, answer, words):
    result = check(name, answer)
    assert result.state == "wrong" and re.search(words, result.message), result


@pytest.mark.parametrize("name, answer", [
    pytest.param(name, answer, id=f"{name}-{i}")
    for name in RIGHT for i, answer in enumerate(RIGHT[name])])
def test_unusual_right_answer_is_right(name, answer):
    assert check(name, answer).state == "right"


# ---- from an empty cell: classes -----------------------------------------------------------------

class Begun(nn.Module):
    def __init__(self, a, b=1): ...

    def forward(self, X):
        """Later."""


class ToDo(nn.Module):
    def __init__(self, *sizes, **options):
        raise NotImplementedError

    forward = __init__


@pytest.mark.parametrize("stub", [Begun, ToDo])
@pytest.mark.parametrize("name", CLASSES)
def test_untouched_class_is_no_attempt(name, stub):
    result = check(name, stub)
    assert result.state == "not attempted" and f'hint("{name}")' in result.message, result


# ---- whatever one hands in -----------------------------------------------------------------------

class Nasty:
    """Raises wherever it is touched."""

    def refuse(self, *arguments, **names):
        raise RuntimeError("don't touch")

    __eq__ = __bool__ = __len__ = __iter__ = __call__ = __float__ = __repr__ = __str__ = refuse
    __hash__ = object.__hash__


def raises(error):
    def answer(*arguments):
        raise error
    return answer


def returns(thing):
    return lambda *arguments: thing


def endless(*arguments):
    return endless(*arguments)


def scribble(*arguments):
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            argument.zero_()
        elif isinstance(argument, list):
            argument.clear()
    return arguments[0]


THINGS = [
    "?", "abc", b"a", 3, -1.5, float("nan"), True, 1j, torch, int, Nasty(), [Nasty()], range(3),
    {1: 2}, {1: [Nasty()] * 4}, {1: [float("nan")] * 4}, {1: [1, [2], "3", None]}, {"a", 1},
    [[]], [None], torch.zeros(2), torch.ones(()), np.ones(3), Result("right", "Right"),
]
RESULTS = [*THINGS, torch.full((2, 3, 5, 4), float("nan")), torch.zeros(0), NotImplemented,
           torch.zeros(2, 3, 5, 4, dtype=torch.cfloat)]
ERRORS = ValueError("no"), KeyError(), StopIteration(), AssertionError(), SystemExit(1)
CALLS = [
    *map(raises, ERRORS), *map(returns, RESULTS), endless, scribble, lambda: None,
    lambda *a: torch.rand(3), lambda *a: torch.manual_seed(1), lambda *a: iter(a),
    type("Model", (nn.Module,), {})(),
]


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_check_never_raises_nor_praises_and_leaves_everything_as_it_was(name):
    before = torch.get_rng_state()
    for answer in [*(answer for answer, _ in WRONG.get(name, ())), *THINGS, *CALLS]:
        was = copy.deepcopy(answer) if isinstance(answer, torch.Tensor) else None
        result = check(name, answer)
        assert isinstance(result, Result) and result.state in ("wrong", "not attempted"), result
        assert result.message.strip() and (was is None or torch.equal(answer, was))
    hint(name)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_are_steps_of_which_the_first_goes_on_from_nothing(name):
    hints = EXERCISES[name].hints
    assert len(set(hints)) == len(hints) >= 2
    assert not re.match("(Now|Then|At the end|Next)\\b", hints[0])


# ---- what hints show as code stands in the lesson's solution, which is right ---------------------

IN = r"(?:[^()\[\]]|[(\[](?:[^()\[\]]|[(\[][^()\[\]]*[)\]])*[)\]])*"  # what brackets hold
GROUP = rf"(?:\({IN}\)|\[{IN}\])"
PART = rf"~?(?:[\w.]*\w|\.?\w*{GROUP})(?:\.\w+|{GROUP})*"
CODE = rf"{PART}(?: (?:[-+*/@&|<>]|\*\*|[<>]=) {PART})*"
TOLD = {  # of the lesson's code, or of mathematics, and nothing to write
    "shift": ["sin(a + b)"],
    "decoder-block-class": ["X + dropout(sublayer(norm(X)))"],
    "tiles-class": ["exp(score - largest)"],
    "linear-class": ["S / (q·z)"],
    "share-chunk": ["a.cumprod(0)", "since[-1] * S"],  # the solution goes another way
}


def bare(code):
    """Code without what a lesson's solution adds."""
    return re.sub(r"self\.|, device=[\w.]+|\s", "", code)


def code_in(text):
    """Calls, indices, and what operators make of them; a place such as since[i] is no code."""
    for code in re.findall(CODE, text):
        try:
            found = ast.parse(code.lstrip("."), mode="eval").body
        except SyntaxError:
            continue
        if re.search(r"[(\[]", code) and not (isinstance(found, ast.Tuple)
                                              or re.search(r"^\w+\[\w\]$|\[[ij]\]|^\(", code)):
            yield code


@pytest.mark.parametrize("name", BUILT)
def test_code_in_hints_stands_in_code_that_is_right(name):
    right = bare(fences(CELLS[name][2])[0])
    for code in code_in(" ".join(EXERCISES[name].hints)):
        pattern = re.escape(bare(code)).replace(r"\.\.\.", ".+")
        assert code in TOLD.get(name, ()) or re.search(pattern, right), code


# ---- lines to order ------------------------------------------------------------------------------

def run_in_order(name, names):
    """Run the lines of an exercise in the order of its solution, without those with a reason."""
    question, _, solution = CELLS[name]
    lines = dict(re.findall(r"^- \*\*(.)\*\* `(.*)`$", question.text, re.M))
    order = run(fences(solution)[0] + "my_order")
    assert set(lines) - set(order) == set(EXERCISES[name].reasons)
    exec("\n".join(lines[letter] for letter in order), names)


def test_lines_in_the_right_order_do_what_they_should():
    X, memory, lengths = torch.randn(2, 4, 8), torch.randn(2, 5, 8), torch.tensor([5, 3])
    run_in_order("line-up", NAMES | {"ours": d2l_ext.MultiHeadAttention(8, 2), "X": X})
    block = DecoderBlock(8, 2)
    names = {"self": block, "X": X, "memory": memory, "lengths": lengths}
    run_in_order("decoder-lines", names)
    assert torch.allclose(names["X"], block(X, memory, lengths), atol=1e-6)
