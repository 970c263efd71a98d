"""The museum of lesson 12: what is shown is what is checked; exhibits are silently wrong."""
import re
import sys

import pytest
import torch
from rules.notebook import all_notebooks, fences, trios
from torch import nn

from attention_lessons import CASES, check, language
from attention_lessons.exercises import exhibits
from attention_lessons.exercises.exhibits import PROBES, distorted, numbers, run_test
from attention_lessons.lesson_12 import exercises as lesson

MUSEUM, = (notebook.number for notebook in all_notebooks() if notebook.kind == "museum")
CELLS = [cell for notebook in all_notebooks() if notebook.number == MUSEUM
         for cell in notebook.cells]
each = pytest.mark.parametrize("name", CASES)
untraced = pytest.mark.skipif(sys.gettrace() is not None, reason="lines are traced already")


def good_test(name):
    """The test in the lesson's solution."""
    scope = dict(vars(lesson))
    exec(fences(trios(CELLS)[name][2])[0], scope)
    return scope["test"]


def answers(name, code):
    torch.manual_seed(1)
    return CASES[name].use(code)(torch.randn(3, 5, 8), torch.tensor([2, 5, 4]))


def differ(pair):
    return not torch.allclose(*pair, atol=1e-5)


# ---- the exhibits --------------------------------------------------------------------------------

@each
def test_the_exhibit_shown_is_the_exhibit_checked_and_one_line_is_wrong(name):
    case, shown = CASES[name], next(
        cell for cell in CELLS if cell.id == f"{name}-exhibit").text.strip()
    assert shown == case.text(0).strip()
    lines, fine = (case.text(slip).splitlines() for slip in (0, None))
    assert len(lines) == len(fine) <= 15 and sum(a != b for a, b in zip(lines, fine)) == 1
    page, answer, _ = trios(CELLS)[name]
    assert answer.statements[0].args.args[0].arg == case.fine.__name__
    assert "".join(re.findall(r"^- \*\*(.)\*\*", page.text, re.M)) == case.options == "abcd"
    assert len(case.slips) == len(case.hints) == len(set(case.reasons.values())) == 3


@each
def test_mistakes_are_real_and_silent(name):
    """Right versions agree; the good test fails on others, which run, with finite numbers."""
    case, test = CASES[name], good_test(name)
    right = answers(name, case.code())
    assert not differ((answers(name, case.second()), right))
    assert run_test(test, case.second()).passed
    for slip in range(3):
        wrong = answers(name, case.code(slip))
        assert wrong.shape == right.shape and wrong.isfinite().all()
        assert isinstance(run_test(test, case.code(slip)).error, AssertionError)


# ---- what is said of tests -----------------------------------------------------------------------

def far_padding(read, number=9.0, start=0):
    """Answers before and after padding is changed, from `start` keys behind the lengths on."""
    q, k, lens = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.tensor([2, 4])
    far = torch.where((torch.arange(5) < lens[:, None] + start)[..., None], k, number)
    return read(q, k, k, lens), read(q, far, far, lens)


def hand_in(test, name="polarity"):
    return check(name, {"test": test})


def by_assert_close(read):
    torch.testing.assert_close(*far_padding(read))


def shape_alone(read):
    assert far_padding(read)[0].shape == (2, 3, 6)


def loose(read):
    assert (read(*GIVEN) - CASES["polarity"].code(None)(*GIVEN)).abs().mean() < 1.5


def equal_lengths_twice(read):
    assert read(*GIVEN).equal(read(*GIVEN))


def one_token(read):
    X = torch.randn(2, 1, 6)
    assert not differ((read(X, X, X, torch.tensor([1, 1])), X))


def padding_of_nan(read):
    torch.testing.assert_close(*far_padding(read, torch.nan))


def one_key_later(read):
    torch.testing.assert_close(*far_padding(read, start=1))


def like(slip):
    def test(read):
        assert read(*GIVEN).equal(CASES["polarity"].code(slip)(*GIVEN)), "no"
    return test


def unlike(slip):
    def test(read):
        assert not read(*GIVEN).equal(CASES["polarity"].code(slip)(*GIVEN))
    return test


def double_alone(Waves):
    assert Waves(9, 8).double()(torch.randn(2, 5, 8).double()).dtype == torch.float64


def needs_much(read, more):
    assert read is more


def on_right_code(read):
    X, lens = torch.randn(2, 5, 6), [2, 4]
    read(X, X, X, lens)


NUMBERS = torch.randn(16, 6, generator=torch.Generator().manual_seed(0))
GIVEN = NUMBERS[:6].view(2, 3, 6), *[NUMBERS[6:].view(2, 5, 6)] * 2, torch.tensor([2, 4])


@pytest.mark.parametrize("test, words", [
    (lambda read: print(end=""), PROBES[0][1]), (shape_alone, PROBES[1][1]), (loose, PROBES[2][1]),
    (equal_lengths_twice, PROBES[3][1]), (one_token, "it passes correct code, and the exhibit"),
    (padding_of_nan, CASES["polarity"].careful[-1]),
    (double_alone, CASES["table"].careless[-1]),
    (one_key_later, "the exhibit is caught, but not code that lets one key too many through."),
    (unlike(0), "the exhibit is caught, but two other mistakes pass: code that gives hidden keys "
                "a score of 0, which still has a weight, and code that lets one key too many "
                "through."),
    (like(0), "it passes the exhibit and refuses correct code: what it expects has the same "
              "mistake. On correct code, there its line 2 fails and says: no"),
    (like(None), "it refuses correct code that is written in another way."),
    (needs_much, "it fails whatever it is given, correct code too; there it raises TypeError: "),
    (on_right_code, "it fails whatever it is given, correct code too; there its line 3 raises "
                    "TypeError: list indices"),
    (lambda read: False, "it returns False, which nobody looks at."),
    (lambda read: [3], "it returns a list, which"), (3, "hand in the function itself, ")])
def test_what_is_said_of_a_test(test, words):
    result = hand_in(test, "table" if test is double_alone else "polarity")
    assert result.state == "wrong" and result.message.startswith(f"The test: {words}"), result


def by_pytest(read):
    if differ(far_padding(read)):
        pytest.fail("padding was read")


def in_double(read):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    by_assert_close(read)


def spoils(Reader):
    good_test("dropout")(Reader)
    Reader.forward = Reader.__init__ = None


@pytest.mark.parametrize("test", [by_assert_close, by_pytest, in_double, spoils, spoils])
def test_all_styles_of_tests_are_judged_alike_and_leave_nothing_behind(test):
    name = "dropout" if test is spoils else "polarity"
    assert hand_in(test, name).message == "Right so far: test. Still to do: symptom, line."
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def endless_on_bugs(read):
    while differ(far_padding(read)):
        pass


@untraced
def test_a_loop_without_end_is_left(monkeypatch):
    def endless(read):
        while True:
            pass

    monkeypatch.setattr(exhibits, "LINES", 500)
    assert "raises Endless: it went on for more than 500 lines" in hand_in(endless).message
    assert hand_in(endless_on_bugs).message.startswith("Right so far")  # it ends on correct code


def test_a_debugger_keeps_its_trace():
    before, trace = sys.gettrace(), lambda *event: None
    sys.settrace(trace)
    try:
        hand_in(by_assert_close)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_seeds_are_the_same_for_all_versions():
    drawn = []
    hand_in(lambda read: drawn.append(torch.rand(1).item()))
    assert len(drawn) > 5 and len({*drawn}) == 1


def test_rates_of_decay_are_distorted_too():
    groups = numbers(lambda X: X + 1, CASES["decay"].code()(nn.Linear(6, 4))).param_groups
    assert [group["weight_decay"] for group in groups] == [1.5, 1]
    tokens = torch.tensor([[4, 7]])
    assert distorted(tokens).tolist() == [[5, 8]]


# ---- parts ---------------------------------------------------------------------------------------

def test_parts_come_one_by_one():
    given = {"symptom": "", "line": 0, "test": lambda read: None}
    assert check("polarity", given | {"test": None}).state == "not attempted"
    given = {"symptom": "b"}
    assert repr(check("polarity", given)) == "○ Right so far: symptom. Still to do: line, test."
    assert check("polarity", {"symptom": "a"}).message == (
        f"The symptom: {CASES['polarity'].reasons['a']}")
    given |= {"line": "scores.masked_fill(keep, -1e9)", "test": by_assert_close}
    assert check("polarity", given).state == "right"
    assert check("polarity", given | {"line": 5}).state == "right"
    assert "Give a dictionary" in check("polarity", {"lines": 1}).message


def test_parts_are_named_in_chinese_as_they_are_written():
    language("zh")
    try:
        said = repr(check("polarity", {"symptom": "b"})), repr(check("polarity", {"line": "zebra"}))
    finally:
        language("en")
    assert "symptom" in said[0] and "line, test" in said[0]
    assert said[1].startswith("✗ line：") and "行号" not in said[1]


@pytest.mark.parametrize("line, words", [
    ("scores", "stands in 3 of the exhibit's lines"), ("zebra", "in none of the exhibit's lines"),
    (True, "nothing is wrong with line 1, `def read"), (2.5, "from 1 to 6"), (-1, "from 1 to 6"),
    (99, "from 1 to 6"), ("def read", "nothing is wrong with line 1")])
def test_a_line_is_a_number_or_a_part_of_it(line, words):
    assert words in check("polarity", {"line": line}).message
