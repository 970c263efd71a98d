"""The museum of lesson 12: what is shown is what is checked; exhibits are silently wrong."""
import ast
import re
import sys

import pytest
import torch
from rules.notebook import all_notebooks, fences, trios
from torch import nn
from wrong_answers_12 import WITH_THE_BUG

from attention_lessons.exercises import check, exhibits
from attention_lessons.exercises.exhibits import Exhibit, tried
from attention_lessons.lesson_12 import exercises as lesson_12
from attention_lessons.lesson_12.museum import CASES, NAMES, Case

LESSON, = (lesson for lesson in all_notebooks() if lesson.number == 12)
EXHIBITS = {exhibit.name: exhibit for exhibit in lesson_12.EXERCISES}
VERSIONS = [(name, slip) for name in CASES for slip in range(3)]
each = pytest.mark.parametrize("name", CASES)


def good_test(name):
    """The test in the lesson's solution."""
    scope = dict(NAMES)
    exec(fences(trios(LESSON)[name][2])[0], scope)
    return scope["test"]


def answers(name, code):
    torch.manual_seed(1)
    return CASES[name].use(code)(torch.randn(3, 5, 8), torch.tensor([2, 5, 4]))


# ---- the exhibits --------------------------------------------------------------------------------

@each
def test_the_exhibit_shown_is_the_exhibit_checked(name):
    shown = LESSON.cell(f"{name}-exhibit")
    assert shown.text.strip() == CASES[name].text(0).strip()
    assert len(shown.text.splitlines()) <= 15 and CASES[name].text(0) != CASES[name].text()
    page, answer, _ = trios(LESSON)[name]
    assert answer.statements[0].args.args[0].arg == CASES[name].name
    assert "".join(re.findall(r"^- \*\*(.)\*\*", page.text, re.M)) == "abcd"


def test_six_exhibits_are_core():
    names = [cell.id.removesuffix("-exhibit") for cell in LESSON.code if "-exhibit" in cell.id]
    assert names == [*CASES] == [*EXHIBITS] and 15 <= len(names) <= 20
    assert ["core" in LESSON.cell(name).tags for name in names] == [True] * 6 + [False] * 10


@each
def test_one_line_is_wrong(name):
    lines, fine = (CASES[name].text(slip).splitlines() for slip in (0, None))
    assert len(lines) == len(fine) and sum(a != b for a, b in zip(lines, fine)) == 1


@each
def test_no_unused_name_gives_an_exhibit_away(name):
    """A linter would find it, and no test would be needed."""
    names = [(node.arg, ast.Store) if isinstance(node, ast.arg) else (node.id, type(node.ctx))
             for node in ast.walk(ast.parse(CASES[name].text(0)))
             if isinstance(node, (ast.arg, ast.Name))]
    assert {each for each, how in names if how is ast.Store} <= {"_"} | {
        each for each, how in names if how is ast.Load}


@each
def test_right_versions_agree(name):
    right, other = (answers(name, code) for code in (CASES[name].code(), CASES[name].second()))
    assert torch.allclose(right, other, atol=1e-5)
    assert tried(good_test(name), CASES[name].second()).passed


@pytest.mark.parametrize("name, slip", VERSIONS)
def test_a_mistake_is_real_and_silent(name, slip):
    """The good test fails on it; it runs, with the right shape and finite numbers."""
    right, wrong = (answers(name, CASES[name].code(each)) for each in (None, slip))
    assert wrong.shape == right.shape and wrong.isfinite().all()
    run = tried(good_test(name), CASES[name].code(slip))
    assert isinstance(run.error, AssertionError)
    assert not slip or CASES[name].text(slip) != CASES[name].text(0)


# A part of each sibling's code, and a part of the words for it.
SAID = {
    "polarity": ("scores * keep", "score of 0", "<= lens", "one key too many"),
    "heads": ("reshape(b, num_heads", "without a transpose", "permute(0, 3", "column"),
    "axis": ("masked_fill(later, 0.", "after the softmax", "triu(2)", "ahead"),
    "scale": ("k.mT / d", "without a root", "scores = q @ k.mT\n", "doesn't divide"),
    "dropout": ("nn.Dropout(self.p)(", "new nn.Dropout", "self.W_v(X), self.p", "drops answers"),
    "table": ("list(table)", "list", "nn.Parameter(table)", "parameter"),
    "folded": ("lens.max()", "longest", "permute(1, 2, 0, 3)", "unfolds"),
    "positions": ("X.shape[0] * X.shape[1]", "to the next", "X.shape[1] - 1]", "last row"),
    "maps": ("softmax(-1) * keep", "less than 1", "softmax(1)", "over queries"),
    "in-place": ("masked_fill_", "writes the mask", "sub_(", "subtracts"),
    "half": ("rates).to(X.dtype)", "angles", "X.shape[2]).to(X.dtype)", "rounds the rates"),
    "cache": ("(q, k, v, )", "no mask", "[k, cache[0]]", "before old"),
    "left": ("n) - lens", "subtracts the length", "+ 1)", "one row late"),
    "loss": ("losses.sum()", "losses of padding", "len(keep)", "number of sentences"),
    "decay": ("not in tables]", "biases and norms", "groups[True].append", "everything"),
    "forcing": ("roll(1", "begins with the last", "tokens[:, 1:]", "must predict"),
}


@each
def test_words_for_a_sibling_are_about_its_code(name):
    first, first_words, second, second_words = SAID[name]
    codes, words = [CASES[name].text(slip) for slip in (1, 2)], EXHIBITS[name].siblings
    assert [first in code for code in codes] == [True, False], "else it tells nothing"
    assert [second in code for code in codes] == [False, True]
    assert [first_words in each for each in words] == [True, False]
    assert [second_words in each for each in words] == [False, True]


def test_a_replacement_must_fit():
    case = Case(CASES["polarity"].right, CASES["polarity"].other, (("keep", "kept"),), None)
    with pytest.raises(ValueError, match="read has 'keep' 2 times, not once"):
        case.text(0)


# ---- the symptoms: each is seen in the exhibit, and not in right code --------------------------

def far_padding(read):
    """Answers before and after padding is changed."""
    q, k, lens = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.tensor([2, 4])
    far = torch.where((torch.arange(5) < lens[:, None])[..., None], k, 9.0)
    return read(q, k, k, lens), read(q, far, far, lens)


def differ(pair):
    return not torch.allclose(*pair, atol=1e-5)


def changed(code, X, place):
    """Where answers change with one token of a text: for each token."""
    Y = X.clone()
    Y[:, place] += 1
    return (code(X) - code(Y)).abs().amax((0, 2)) > 1e-5


def moves_rows(attend_heads):
    k = torch.randn(2, 5, 8)
    return changed(lambda q: attend_heads(q, k, k, 2), torch.randn(2, 3, 8), 0).sum() > 1


def flatter(weigh_heads):
    q, k = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    largest, wanted = (weigh(q, k, 2).amax(-1).mean() for weigh in (
        weigh_heads, CASES["scale"].right))
    return largest < wanted - 0.01


def differs_in_evaluation(Reader):
    layer, X = Reader(8).eval(), torch.randn(2, 5, 8)
    return differ((layer(X), layer(X)))


def padding_and_gaps(read_folded):
    q, k, lens = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.tensor([2, 5])
    padded, missed = k.clone(), k.clone()
    padded[0, 2:] += 1
    missed[1, 3:] += 1
    answers = [read_folded(q, X, X, lens, 2).unflatten(-1, (2, 4)) for X in (k, padded, missed)]
    moved = [(answers[0] - other).abs().amax((1, 3)) > 1e-5 for other in answers[1:]]
    return moved[0][0].any() and not moved[1][1].all()


def one_row(with_positions):
    added = with_positions(torch.zeros(3, 5, 8), torch.randn(20, 8))
    return (added == added[:, :1]).all()


def maps_alone(read_and_show):
    q, k, lens = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.tensor([2, 4])
    output, maps = read_and_show(q, k, k, lens)
    same = torch.allclose(output, CASES["maps"].right(q, k, k, lens)[0], atol=1e-5)
    return same and (maps[0, :, 2:] > 0).any()


def second_call(weigh):
    scores, lens = torch.randn(2, 3, 5), torch.tensor([2, 4])
    right = CASES["in-place"].right(scores.clone(), lens, 6)
    first, second = (weigh(scores, lens, 6) for _ in range(2))
    return not differ((first, right)) and differ((second, right))


def first_value(go_on):
    _, cache = go_on(*torch.randn(3, 2, 4, 6))
    answer, _ = go_on(*torch.randn(3, 2, 1, 6), cache)
    return torch.allclose(answer[:, 0], cache[1][:, 0], atol=1e-5)


def later_row(place_left):
    X, table = torch.zeros(2, 5, 8), torch.randn(20, 8)
    return place_left(X, torch.tensor([2, 5]), table)[0, -2].equal(table[3])


def lower(loss_of):
    logits, targets, lens = torch.randn(2, 5, 7), torch.randint(7, (2, 5)), torch.tensor([2, 3])
    short, long = (loss_of(logits[:, :n], targets[:, :n], lens) for n in (3, 5))
    return long < short - 1e-3


def fades(optimizer_of):
    table = nn.Embedding(9, 6)
    before = table.weight.detach().norm()
    table.weight.grad = torch.zeros(9, 6)  # no batch held any
    optimizer_of(nn.Sequential(table)).step()
    return table.weight.norm() < before - 1e-3


def copying_is_enough(training_pair):
    reads, wanted = training_pair(torch.randint(1, 9, (3, 5)), 0)
    return reads.equal(wanted)


SYMPTOMS = {
    "polarity": lambda read: differ(far_padding(read)), "heads": moves_rows,
    "axis": lambda look_back: changed(lambda X: look_back(X, X, X), torch.randn(2, 5, 6), -1)[0],
    "scale": flatter, "dropout": differs_in_evaluation,
    "table": lambda Waves: Waves(9, 8).half()(torch.zeros(2, 5, 8).half()).dtype == torch.float32,
    "folded": padding_and_gaps, "positions": one_row, "maps": maps_alone, "in-place": second_call,
    "half": lambda add_waves: add_waves(torch.zeros(1, 300, 6).bfloat16())[0, 256:258].unique(
        dim=0).shape[0] == 1,
    "cache": first_value, "left": later_row, "loss": lower, "decay": fades,
    "forcing": copying_is_enough}


@each
def test_the_symptom_is_seen_in_the_exhibit_alone(name):
    torch.manual_seed(2)
    assert SYMPTOMS[name](CASES[name].code(0))
    assert not SYMPTOMS[name](CASES[name].code())
    assert not SYMPTOMS[name](CASES[name].second())


# ---- what is said of tests -----------------------------------------------------------------------

def hand_in(test, name="polarity"):
    return check(name, {"test": test})


def by_assert_close(read):
    torch.testing.assert_close(*far_padding(read))


def by_an_error(read):
    if not torch.allclose(*far_padding(read), atol=1e-5):
        raise ValueError("padding was read")


def by_pytest(read):
    if not torch.allclose(*far_padding(read), atol=1e-5):
        pytest.fail("padding was read")


def in_double(read):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    by_assert_close(read)


class Callable:
    def __call__(self, read):
        by_assert_close(read)


@pytest.mark.parametrize("test", [by_assert_close, by_an_error, by_pytest, in_double, Callable()])
def test_all_styles_of_tests_are_judged_alike(test):
    assert hand_in(test).message == "The test is right. Still to do: the symptom and the line."
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def endless(read):
    while True:
        pass


def endless_on_bugs(read):
    while not torch.allclose(*far_padding(read), atol=1e-5):
        pass


@pytest.mark.skipif(sys.gettrace() is not None, reason="lines are traced already")
def test_a_loop_without_end_is_left(monkeypatch):
    monkeypatch.setattr(exhibits, "LINES", 500)
    assert "raises Endless: it went on for more than 500 lines" in hand_in(endless).message
    assert "is right" in hand_in(endless_on_bugs).message  # it ends on right code alone


@pytest.mark.skipif(sys.gettrace() is not None, reason="lines are traced already")
def test_a_loop_with_an_end_may_take_as_many_lines_as_are_allowed(monkeypatch):
    def patient(read):
        for _ in range(200):
            pass
        by_assert_close(read)

    monkeypatch.setattr(exhibits, "LINES", 600)
    assert "is right" in hand_in(patient).message
    monkeypatch.setattr(exhibits, "LINES", 300)
    assert "more than 300 lines" in hand_in(patient).message


def test_a_debugger_keeps_its_trace():
    before, trace = sys.gettrace(), lambda *event: None
    sys.settrace(trace)
    try:
        assert "is right" in hand_in(by_assert_close).message
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_what_a_test_does_to_code_changes_no_other_run():
    def spoils(Reader):
        good_test("dropout")(Reader)
        Reader.forward = Reader.__init__ = None

    for _ in range(2):
        assert "is right" in hand_in(spoils, "dropout").message


def test_seeds_are_the_same_for_all_versions_and_each_time():
    drawn = []

    def test(read):
        drawn.append(torch.rand(1).item())
        by_assert_close(read)

    for seed in range(2):
        torch.manual_seed(seed)
        hand_in(test)
    assert len(drawn) == 10 and len(set(drawn)) == 1


def test_code_that_a_test_needs_is_its_own_affair():
    def needs_much(read, more):
        assert read is more

    said = hand_in(needs_much).message
    assert "fails whatever" in said and "there it raises TypeError" in said


def test_the_line_that_fails_is_named():
    def on_right_code(read):
        X, lens = torch.randn(2, 5, 6), [2, 4]
        read(X, X, X, lens)

    def silent(read):
        wanted = 1

        assert read is wanted

    def loud(read):
        assert not far_padding(read), "no padding"

    assert "there its line 3 raises TypeError: list indices" in hand_in(on_right_code).message
    assert "there its line 4 fails" in hand_in(silent).message
    assert "there its line 2 fails and says: no padding" in hand_in(loud).message


def test_of_several_runs_the_first_is_told_of():
    runs = []

    def has_the_bug(read):
        runs.append(read)
        given = torch.randn(2, 3, 6), *[torch.randn(2, 5, 6)] * 2, torch.tensor([2, 4])
        assert read(*given).equal(CASES["polarity"].code(0)(*given)), f"run {len(runs)}"

    def returns(read):
        runs.append(read)
        return 3 if len(runs) == 1 else "dog"

    said = hand_in(has_the_bug).message
    assert "it passes the exhibit and refuses right code: what it expects has the same" in said
    assert "mistake. On right code, there its line 4 fails and says: run 1 " in said
    runs.clear()
    assert "it returns an int, which nobody looks at." in hand_in(returns).message


def test_answers_off_by_noise_and_distorted():
    model = nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 4))
    right, other = ([group["weight_decay"] for group in make(model).param_groups] for make in (
        CASES["decay"].code(), exhibits.distorted(CASES["decay"])))
    assert (right, other) == ([0.5, 0], [1.25, 0.5])
    given = torch.zeros(3, 5, 8), torch.randn(20, 8)
    right = CASES["positions"].code()(*given)
    near, far = (exhibits.noise(size)(CASES["positions"])(*given) for size in (0.1, 3.0))
    assert 0.05 < (near - right).std() < 0.2 and 1.5 < (far - right).std() < 6


@each
def test_a_test_with_the_bug_in_it_is_told_so(name):
    assert (name in WITH_THE_BUG) == torch.allclose(
        answers(name, CASES[name].code(0)), answers(name, CASES[name].code()), atol=1e-5)


# ---- parts ---------------------------------------------------------------------------------------

def test_parts_come_one_by_one():
    given = {"symptom": "", "line": 0, "test": lambda read: None}
    assert check("polarity", given).state == "not attempted"
    given |= {"symptom": "b"}
    assert repr(check("polarity", given)) == (
        "○ The symptom is right. Still to do: the line and the test.")
    given |= {"line": "scores.masked_fill(keep, -1e9)", "test": by_assert_close}
    assert check("polarity", given).state == "right"
    assert check("polarity", given | {"line": 5}).state == "right"


@pytest.mark.parametrize("line, words", [
    ("scores", "stands in 3 of the exhibit's lines"), (True, "nothing is wrong with line 1"),
    (2.5, "from 1 to 6"), (-1, "from 1 to 6"), ("def read", "nothing is wrong with line 1")])
def test_a_line_is_a_number_or_a_part_of_it(line, words):
    assert words in check("polarity", {"line": line}).message


@each
def test_a_variant_has_its_symptoms_in_another_order(name):
    page = trios(LESSON)[name][0].text
    exhibit = EXHIBITS[name]
    shown, said = (dict(re.findall(r"^- \*\*(.)\*\* (.*)$", text, re.M))
                   for text in (exhibit.question(page, "anna"), page))
    right, = exhibit.variant("anna").symptom.right
    assert shown[right] == said[exhibit.symptom.right]
    assert "symptom is right" in check(name, {"symptom": right}, seed="anna").message
    assert isinstance(exhibit.variant("anna"), Exhibit)


def test_right_letters_vary():
    letters = [exhibit.symptom.right for exhibit in EXHIBITS.values()]
    assert {letters.count(letter) for letter in "abcd"} == {4}


@each
def test_each_wrong_symptom_has_a_reason(name):
    exhibit = EXHIBITS[name]
    assert exhibit.symptom.options == "abcd" and len(set(exhibit.reasons.values())) == 3
    assert len(exhibit.siblings) == 2 and len(exhibit.hints) == 3
