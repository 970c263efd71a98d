"""All that ``check`` and ``hint`` say, word by word, of exercises made for it."""
import subprocess
import sys

import pytest
import torch

from attention_lessons import exercises
from attention_lessons.exercises import check, compare, find, hint, register
from attention_lessons.exercises.kinds import Build, Choice, Lines, Slip, bare


def inputs():
    return [(torch.arange(6.0).reshape(2, 3) + 0.25, 2), (torch.arange(4.0).reshape(1, 4), 3)]


def times(X, n):
    return X * n


HINTED = {"hints": ["First this.", "Then that."]}
OWN = [
    Choice("one", **HINTED, praise="Well chosen.", right="b",
           reasons={"a": "Not a.", "c": "Not c."}),
    Choice("three", **HINTED, praise="All three.", right="ace",
           reasons={"b": "is false: it leaks.", "d": "is false: it drips."}),
    Choice("two", **HINTED, praise="Both.", right="ac", reasons={"b": "is false: it leaks."}),
    Build("times", times, lambda: [*inputs(), (torch.ones(2, 5), 1000)],
          [[["X + n"], ["X + 2 * n"], "It adds."]], praise="Well built."),
    Build("count", lambda row, n: int(row.sum()) * n,
          inputs=lambda: [(torch.tensor([1, 2, 3]), 2)], praise="Well counted."),
    Lines("page", praise="Well worked out.",
          lines=[([1.0, 2.0], ([2.0, 1.0], "swapped.")), [[0.5]]]),
]
UNTOUCHED = 'Not attempted yet. Try hint("{}").'
CALLED = "\n  It was called with (2, 3), 2 (shapes for tensors)."


def raising(error):
    def answer(X, n):
        raise error
    return answer


SAID = [  # the exercise, an answer, and what is said; a mark tells the state
    ("one", "z", "✗ Answer with letters from a, b, c; got 'z'."), ("one", "a", "✗ Not a."),
    ("one", " B ", "✓ Well chosen."), ("one", ("b",), "✓ Well chosen."),
    ("one", ..., "○ " + UNTOUCHED),
    ("three", ["a", "z"], "✗ Answer with letters from a, b, c, d, e; got ['a', 'z']. "
                          'Give a set such as {"a", "b"}.'),
    ("three", set("abcde"), "✗ Statement b is false: it leaks."),
    ("three", "a", "✗ True so far, but 2 more of the statements hold."),
    ("three", frozenset("ae"), "✗ True so far, but 1 more of the statements holds."),
    ("three", list("eca"), "✓ All three."),
    ("two", "ab", "✗ Answer with letters from a, b, c; got 'ab'. "
                  'Give a set such as {"a", "b"}.'),
    ("two", {"a", "b"}, "✗ Statement b is false: it leaks."), ("two", {"c", "a"}, "✓ Both."),
    ("times", torch.mul, "✓ Well built."),
    ("times", lambda X, n: X.mul_(n), "✓ Well built."),  # arguments are its own
    ("times", lambda X, n: X + 2 * n, "✗ It adds."),  # in another way
    ("times", lambda X, n: X + n if len(X) > 1 else X * n,  # a slip on one input alone
     "✗ The shape is right, 6 of 6 numbers are not. The first at [0, 0]: expected 0.5000, yours "
     "is 2.2500."),
    ("times", lambda X, n: X * min(n, 9), "✗ The shape is right, 10 of 10 numbers are not. The "
     "first at [0, 0]: expected 1000.0000, yours is 9.0000."),  # on the larger ones
    ("times", 3, "✗ Give the function itself, got int: check('times', your_function)."),
    ("times", bare, "○ Not attempted yet: the function returns nothing."),
    ("times", lambda X, n: print(end=""), "✗ Your function returns None: is `return` missing?"),
    ("times", raising(NotImplementedError()), "○ " + UNTOUCHED),
    ("times", raising(ValueError("no")), "✗ Your code raises ValueError: no" + CALLED),
    ("times", raising(SystemExit(1)), "✗ Your code raises SystemExit: 1" + CALLED),
    ("count", lambda row, n: 13, "✗ Expected 12, got 13.\n  It was called with "
                                 "tensor([1, 2, 3]), 2."),
    ("page", 5, "✗ Give a dictionary of lines, got int."),
    ("page", {3: [1]}, "✗ The lines are numbered 1 to 2, with whole numbers; there is no line 3."),
    ("page", {1: 5}, "✗ Line 1: give a list of numbers, got int."),
    ("page", {1: [], 2: []}, "○ " + UNTOUCHED),
    ("page", {1: (1, 2)}, "○ Right up to line 1; go on with line 2."),
    ("page", {1: [2, 1]}, "✗ Line 1: swapped."),
    ("page", {1: [1, 2, 3]}, "✗ Line 1: there should be 2 numbers, got 3."),
    ("page", {1: [1, 3]}, "✗ Line 1: the number in place 2, 3, is not right. "
                          "Work it out once more."),
    ("page", {1: [1.015, 1.985], 2: [0.5]}, "✓ Well worked out."),
    ("page", {1: [1, 2], 2: [0.525]}, "✗ Line 2: the number in place 1, 0.525, is not right. "
                                      "Work it out once more."),
]


def scaled(X, n):
    if n == 0:
        return X
    Y = X * n
    return Y + 1


def test_a_slip_is_a_change_of_the_right_code():
    slips = ("* n", "/ n", "It divides."), ("X * n", "X", "+ 1", "+ n", "It adds.")
    own = Build("own", scaled, inputs, slips=[*slips, ("X.sum()", "It sums.")])
    for answer, words in [(lambda X, n: 1 + X / n, "It divides."), (lambda X, n: n + X, "It adds."),
                          (lambda X, n: X.flatten().sum(), "It sums."), (scaled, "")]:
        assert own.judge(answer).message == words
    with pytest.raises(ValueError, match="scaled has no '- 1'"):
        Slip(("- 1", "", "")).of(scaled)
    with pytest.raises(ValueError):
        Slip(("X", "Y", "n", "It adds.")).of(scaled)


@pytest.mark.slow
@pytest.mark.parametrize("name, imported", [
    ("four-heads", []), ("mixed-up", ["lesson_03", "lesson_03.exercises"])])
def test_a_check_imports_what_it_needs(name, imported):
    code = (f"import sys; from attention_lessons import check; check('{name}', 'a');"
            "print(*sorted(name for name in sys.modules if '.lesson_' in name))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"attention_lessons.{module}" for module in imported]


@pytest.fixture(autouse=True)
def own(monkeypatch):
    monkeypatch.setattr(exercises, "registry", {})
    monkeypatch.setattr(exercises, "hints_shown", {})
    for exercise in OWN:
        register(exercise)


@pytest.mark.parametrize("name, answer, words", SAID)
def test_what_is_said_of_an_answer(name, answer, words):
    assert repr(check(name, answer)) == words.replace("{}", name)


def test_what_hints_say():
    first = "Hint 1 of 2. First this.\nCall it again for the next."
    last = "Hint 2 of 2. Then that.\nThat was the last hint; the solution is folded below."
    assert [repr(hint("one")) for _ in range(3)] == [first, last, last]
    assert repr(hint("three")) == first and repr(hint("three", 2)) == last
    for step in (0, 3):
        assert repr(hint("one", step)) == "There are 2 hints: ask for step 1 to 2."
    with pytest.raises(KeyError, match="no exercise 'four'; there are .*count, .*page, .*times"):
        hint("four")


def test_inputs_are_drawn_the_same_each_time():
    assert torch.equal(*(find("pooling").inputs()[0][0] for _ in range(2)))


PAIR, NAN = torch.tensor([1.0, 2]), torch.tensor([1.0, torch.nan])
OFF = "The shape is right, 1 of 2 numbers are not. The first at [0]: expected "


@pytest.mark.parametrize("given, wanted, words", [
    (1.00009, 1.0, None), (1.0002, 1.0, "Expected 1.0, got 1.0002."), (20000.5, 20000.0, None),
    (torch.tensor([[2.0]]), 2.0, None), (PAIR, 2.0, "Expected 2.0, got tensor"),
    ([1.0], 1.0, "Expected 1.0, got [1.0]."), ("ab", "ab", None),
    (PAIR + 9e-6, PAIR, None), (NAN, NAN, None), (PAIR.long(), PAIR, None),
    (torch.tensor([1.0, 0]), torch.tensor([True, False]), None),
    (PAIR + torch.tensor([0.001, 0]), PAIR, OFF + "1.0000, yours is 1.0010."),
    (torch.tensor([3e-5, 0]), 0 * PAIR, OFF + "0.00000000, yours is 0.00003000."),
    (NAN.flip(0), NAN, "The shape is right, 2 of 2 numbers"),
    (PAIR, PAIR.long(), "The numbers are right, but they are not integers: rows"),
    (PAIR + torch.tensor([1.0, 0]), PAIR.long(), OFF + "1, yours is 2."),
    (PAIR[:1], PAIR, "The shape should be (2,), yours is (1,)."),
    ((PAIR,), PAIR, "Return one tensor, got tuple of 1."), ([1.0, [2.0]], (1.0, [2.0]), None),
    ([PAIR], (PAIR, PAIR), "Return 2 values, got list of 1."),
    ((PAIR, 3.0), (PAIR, 2.0), "Result 2 of 2: Expected 2.0, got 3.0."),
    ((1.0, 2.0), [1.0, 2.0], None), ({1, 2}, [1, 2], "Return a list, got set."),
    ([1.0], [1.0, 2.0], "Expected [1.0, 2.0], got [1.0]."), ([1, 2], 2, "Expected 2, got [1, 2].")])
def test_what_is_said_of_a_difference(given, wanted, words):
    found = compare.differs(given, wanted)
    assert found is None if words is None else found.startswith(words), found


RAISED = compare.attempt(raising(KeyError()), 1, 2)


@pytest.mark.parametrize("given, wrong, agree", [
    (RAISED, RAISED, True), (compare.attempt(max, 1, 2), RAISED, False), (PAIR, "two", False),
    (PAIR + 0.0009, PAIR, True), (PAIR + 0.01, PAIR, False)])
def test_a_mistake_agrees_with_itself_however_it_ends(given, wrong, agree):
    assert compare.agrees(given, wrong) is agree
