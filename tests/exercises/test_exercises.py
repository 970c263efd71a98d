"""Exercises judge fairly.

Shown solutions are right, untouched stubs are not attempts, wrong answers hear why, and nothing
breaks ``check``. A lesson's wrong answers stand in wrong_answers_NN.py:
WRONG = {exercise: [(answer, a pattern of what it should hear), ...]}, and unusual right answers in
RIGHT = {exercise: [answer, ...]}; more of these are in right_answers.py.
"""
import ast
import copy
import importlib
import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tools.notebooks.readme import ROOT
from rules.notebook import all_notebooks, fences, trios
from torch import nn
from torch.nn import functional as F

import d2l_ext
from attention_lessons import exercises
from attention_lessons.exercises import all_exercises, check, compare, hint
from attention_lessons.lesson_02 import exercises as lesson_02
from attention_lessons.exercises.classes import FromScratch
from attention_lessons.exercises.kinds import Build, Choice, Result, near

CELLS = {name: trio for notebook in all_notebooks() for name, trio in trios(notebook).items()}
MODULES = [importlib.import_module(path.stem)
           for path in sorted((ROOT / "tests/exercises").glob("*_answers*.py"))]
WRONG = {name: answers for module in MODULES
         for name, answers in getattr(module, "WRONG", {}).items()}
UNUSUAL = [name for module in MODULES
           for name, answers in getattr(module, "RIGHT", {}).items() for _ in answers]
RIGHT = [pytest.param(name, answer, id=f"{name}-{i}", marks=pytest.mark.slow) for module in MODULES
         for name, answers in getattr(module, "RIGHT", {}).items()
         for i, answer in enumerate(answers)]
EXERCISES = all_exercises()
CHOICES = [name for name, exercise in EXERCISES.items() if isinstance(exercise, Choice)]
FUNCTIONS = [name for name, exercise in EXERCISES.items() if isinstance(exercise, Build)]
CLASSES = [name for name, exercise in EXERCISES.items() if isinstance(exercise, FromScratch)]
MALFORMED = [("z", "letters"), ("ab", "letters"), (1, "letters"), (["a", "b", "z"], "letters")]
NAMES_A_LETTER = re.compile(  # as in "about d", "for b look", "b, c and e", "option a"
    r"\b(statement|option|answer|for|about|see|show|on) [b-e]\b(?! =)|\b[a-e], [a-e] and [a-e]\b|"
    r"\b(statement|option|answer) a\b", re.I)
NAMES = {"torch": torch, "math": math, "nn": nn, "F": F, "np": np, "d2l_ext": d2l_ext,
         "check": check, "hint": hint}


def answers(name):
    return WRONG.get(name, []) + MALFORMED * (name in CHOICES)


def run(code):
    """The value of the last line of some code, an expression."""
    names = dict(NAMES)
    *body, last = ast.parse(code).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(ast.unparse(last), names)


@pytest.mark.parametrize("name", CHOICES)
def test_a_variant_asks_the_same_in_another_order(name):
    question, exercise = CELLS[name][0].text, EXERCISES[name]
    said = dict(re.findall(r"^- \*\*(.)\*\* (.*)$", question, re.M))
    shown = dict(re.findall(r"^- \*\*(.)\*\* (.*)$", exercise.question(question, "anna"), re.M))
    for letter, words in shown.items():
        alone = [key for key, each in said.items() if each == words]
        result, wanted = check(name, letter, seed="anna"), check(name, alone)
        wanted = wanted.message.replace(f"Statement {alone[0]} ", f"Statement {letter} ")
        assert result.message == wanted
    right = {letter for letter, words in shown.items()
             if words in [said[letter] for letter in exercise.right]}
    assert check(name, right, seed="anna").state == "right"
    assert len({exercise.order(seed) for seed in range(20)}) > 4
    with pytest.raises(ValueError, match=f"{name}: the question lists the options 'ab'"):
        exercise.question("- **a** one\n- **b** two", "anna")


@pytest.mark.parametrize("name", CHOICES)
def test_no_words_name_an_options_letter(name):
    exercise = EXERCISES[name]
    for words in [*exercise.hints, exercise.praise, *exercise.reasons.values()]:
        assert not NAMES_A_LETTER.search(words), words
    assert NAMES_A_LETTER.search("For d, look at rung three.")


def test_a_page_for_pencil_has_other_numbers_for_each():
    page, pencil = CELLS["pencil"][0].text, EXERCISES["pencil"]
    assert all(words.format(*sum(lesson_02.GIVEN, ())) in page for words in lesson_02.PAGE)
    assert len({pencil.question(page, seed) for seed in range(99)}) > 50
    for seed in range(99):
        variant = pencil.variant(seed)
        question, (dog, man) = pencil.given(seed)
        assert f"man (0, 1, 0, {man})" in pencil.question(page, seed)
        one, two = [[round(weight, 2) for weight in variant.lines[line][0]] for line in (4, 5)]
        on_paper = {line: list(right) for line, (right, _) in variant.lines.items()} | {
            4: one, 5: two,
            6: [one[0] * dog + one[2] * man, one[0], two[0] * dog + two[2] * man, two[2]]}
        assert check("pencil", on_paper, seed=seed).state == "right"
        assert all(not near(wrong, right) for right, known in variant.lines.values()
                   for wrong in known)


def test_a_page_begun_is_told_how_far_it_is_right():
    right = {line: list(numbers) for line, (numbers, _) in EXERCISES["pencil"].lines.items()}
    begun = {line: right[line] for line in (1, 2)}
    assert check("pencil", begun).message == "Right up to line 2; go on with line 3."
    assert check("pencil", begun | {3: [0.0]}).message.startswith("Line 3: ")


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


@pytest.mark.parametrize("name, answer, words", [
    pytest.param(name, *case, id=f"{name}-{i}")
    for name in EXERCISES for i, case in enumerate(answers(name))])
def test_wrong_answer_hears_why(name, answer, words):
    result = check(name, answer)
    assert result.state == "wrong", result
    assert re.search(words, result.message), result


@pytest.mark.parametrize("name, answer", RIGHT)
def test_unusual_right_answer_is_right(name, answer):
    result = check(name, answer)
    assert result.state == "right", result


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in CLASSES])
def test_there_are_wrong_answers(name):
    assert len(answers(name)) >= 5, "wrong_answers_NN.py needs 5 plausible ones"
    if name in CHOICES and len(EXERCISES[name].right) == 1:
        assert set(EXERCISES[name].reasons) <= {str(answer) for answer, _ in WRONG[name]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_there_are_three_unusual_right_answers(name):
    assert UNUSUAL.count(name) >= 3


def test_wrong_answers_belong_to_exercises():
    assert set(WRONG) <= set(EXERCISES)


def messages(exercise):
    """What ``check`` may say to those who go wrong in a way that it knows."""
    pairs = [pair for _, known in getattr(exercise, "lines", {}).values() for pair in known.items()]
    pairs += [*getattr(exercise, "reasons", {}).items(), *getattr(exercise, "misconceptions", ())]
    return {words for *_, words in pairs}


@pytest.mark.slow
def test_each_message_is_heard_by_a_mistake_whose_pattern_fits_no_other():
    """So two messages that change places are noticed. Classes share some, as do their mistakes."""
    patterns = {}
    for name in EXERCISES:
        for answer, pattern in answers(name):
            heard = check(name, answer).message
            for words in messages(EXERCISES[name]):
                if words in heard:
                    patterns.setdefault(words, []).append(pattern)
    for name in set(EXERCISES) - set(CLASSES):
        said = messages(EXERCISES[name])
        assert {words for words in said if words not in patterns} == set(), name
        for words in said:
            assert [other for other in said - {words}
                    if all(re.search(pattern, other) for pattern in patterns[words])] == [], words


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_misconceptions_are_told_apart(name):
    for *wrongs, words in EXERCISES[name].misconceptions:
        assert [check(name, wrong).message for wrong in wrongs] == [words] * len(wrongs)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agreement_on_one_input_alone_names_nothing(name):
    exercise = EXERCISES[name]
    first, *others = exercise.inputs()

    def plain(arguments):
        return [argument for argument in arguments if not callable(argument)]

    def right_elsewhere(wrong):
        def answer(*arguments):
            tried_first = compare.same(plain(arguments), plain(first))
            return (wrong if tried_first else exercise.reference)(*arguments)
        return answer

    def differs(wrong, arguments):
        wanted = exercise.reference(*compare.copies(arguments))
        return not compare.agrees(compare.attempt(wrong, arguments), wanted)

    for *wrongs, words in exercise.misconceptions:
        for wrong in wrongs:
            if differs(wrong, first) and any(differs(wrong, other) for other in others):
                result = check(name, right_elsewhere(wrong))
                assert result.state == "wrong" and result.message != words


# ---- from an empty cell: classes -----------------------------------------------------------------

STUBS = [
    "class Stub(nn.Module):\n    'A promise.'",
    "class Stub(nn.Module):\n    ...",
    "class Stub(nn.Module):\n"
    "    def __init__(self, a, b=1): ...\n"
    "    def forward(self, X): 'Later.'",
    "class Stub(nn.Module):\n"
    "    def __init__(self, *sizes, **options): raise NotImplementedError\n"
    "    def forward(self, X): raise NotImplementedError",
]


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("name", CLASSES)
def test_untouched_class_is_no_attempt(name, stub):
    result = run(f"{stub}\ncheck('{name}', Stub)")
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


def test_what_judging_raises_is_told(monkeypatch):
    judge = raises(ValueError("no such head"))
    monkeypatch.setattr(exercises, "find", lambda name: SimpleNamespace(judge=judge))
    told = check("heads", 3)
    assert told.state == "wrong" and "ValueError: no such head" in told.message


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_check_never_raises_nor_praises(name):
    for answer in [*THINGS, *CALLS]:
        result = check(name, answer)
        assert isinstance(result, Result) and result.state in ("wrong", "not attempted"), result
        assert result.message.strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_check_leaves_everything_as_it_was(name):
    before = torch.get_rng_state()
    for answer in [*(answer for answer, _ in answers(name)), *CALLS]:
        data = isinstance(answer, (list, dict, set, torch.Tensor))
        same = copy.deepcopy(answer) if data else answer
        check(name, answer)
        equal = torch.equal if isinstance(answer, torch.Tensor) else lambda a, b: a == b
        assert equal(answer, same)
    hint(name)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in CELLS])
def test_answers_that_write_into_their_inputs_spoil_nothing(name):
    _, answer, solution = CELLS[name]
    scope = dict(NAMES)
    exec(fences(solution)[0], scope)
    right = scope[answer.statements[-1].value.args[1].id]

    def untidy(*arguments):
        result = copy.deepcopy(right(*arguments))
        scribble(*arguments)
        return result

    assert check(name, untidy).state == check(name, untidy).state == "right"


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_come_in_steps(name):
    exercises.seen.clear()
    count = len(EXERCISES[name].hints)
    texts = [hint(name).text for _ in range(count)]
    assert len(set(texts)) == count >= 2
    assert not re.match("(Now|Then|At the end|Next)\\b", EXERCISES[name].hints[0]), "goes on"
    assert texts == [hint(name, step).text for step in range(1, count + 1)]
    assert all("for the next" in text for text in texts[:-1]) and "last hint" in texts[-1]
    assert hint(name).text == texts[-1]
    assert hint(name, 1).text == texts[0]
    for step in (0, -1, 99):
        assert f"1 to {count}" in hint(name, step).text
    assert hint(name).text == texts[1]


def strangers(hints):
    """Pairs of a lesson's exercises whose hints would fit as well if they changed places.

    They fit an exercise as far as its words are in them, rare ones most.
    """
    def words(texts):
        return set(re.findall(r"[a-z_]{3,}|\d+", " ".join(texts).lower()))

    page = {name: words([*(cell.text for cell in trio), EXERCISES[name].praise,
                         *messages(EXERCISES[name])]) for name, trio in CELLS.items()}
    among = [word for name in page for word in page[name]]
    rare = {word: math.log(len(page) / among.count(word)) for word in set(among)}

    def fit(one, other):
        return sum(rare[word] for word in words(hints[one]) & page[other])

    lessons = [list(trios(notebook)) for notebook in all_notebooks()]
    return [{a, b} for names in lessons for a, b in itertools.combinations(names, 2)
            if fit(a, a) + fit(b, b) <= fit(a, b) + fit(b, a)]


def test_hints_belong_to_their_exercise():
    hints = {name: exercise.hints for name, exercise in EXERCISES.items()}
    about_columns = {"heads", "folded"}  # both are
    assert strangers(hints) in ([], [about_columns])
    copied = hints | {"which-head": hints["window-layers"]}
    assert {"which-head", "window-layers"} in strangers(copied)
    changed = hints | {"windowed": hints["receptive-field"], "receptive-field": hints["windowed"]}
    assert {"windowed", "receptive-field"} in strangers(changed)


@pytest.mark.parametrize("ask", [check, hint])
def test_unknown_names_are_answered_with_the_known_ones(ask):
    with pytest.raises(KeyError, match="split-heads"):
        ask("split-head")
