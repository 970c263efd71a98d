"""Grading judges what was handed in, whatever was handed in, and costs no other student a line."""
import csv
import json
import os
import re
import sys
import unicodedata
from types import SimpleNamespace

import nbformat
import pytest
from attention_lessons import exercises
from attention_lessons.exercises import all_exercises, check
from attention_lessons.exercises.kinds import Slip
from tools.classroom import grade, grade_student, grade_table, student, students, walls
from tools.notebooks.readme import ROOT

if not hasattr(os, "setsid"):
    pytest.skip("grading needs Linux or macOS", allow_module_level=True)
sys.path.append(str(ROOT / "tests/classroom"))
import submissions


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """Walls, where they can be had."""
    walls.put_edition(edition := tmp_path_factory.mktemp("grader") / "lessons")
    walled = walls.Outside(edition)
    return walls.Outside(edition, walls=not walled.why_not())


@pytest.fixture
def graded(outside):
    """Grade a folder; the lines of all students."""
    def graded(folder, lesson="02", jobs=1, **changes):
        settings = grade.Settings((10, 100, 4), grade.task_set(lesson), outside, **changes)
        everybody = students.handed_in(folder)
        if jobs == 1:
            return [row for each in everybody for row in grade.grade(each, settings)]
        return [row for _, rows in grade.grade_all(everybody, settings, jobs) for row in rows]
    return graded


def put(folder, **notebooks):
    for name, content in notebooks.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    return folder


# ---- bad submissions ----

@pytest.fixture(scope="module")
def everyone(outside, tmp_path_factory):
    """The lines of every bad kind, by student."""
    folder = tmp_path_factory.mktemp("submissions")
    put(folder, **{kind: content for kind, (content, _) in submissions.BAD.items()})
    settings = grade.Settings((3, 60, 4), grade.task_set("02"), outside)
    everybody = students.handed_in(folder)
    rows = [row for _, rows in grade.grade_all(everybody, settings, 2) for row in rows]
    return {kind: [row for row in rows if row.student == kind] for kind in submissions.BAD}


@pytest.mark.slow
@pytest.mark.parametrize("kind", submissions.BAD)
def test_a_bad_submission_gets_its_lines(everyone, kind):
    found = {row.exercise: row for row in everyone[kind]}
    for exercise, state, words in submissions.BAD[kind][1]:
        assert found[exercise].state == state, found[exercise]
        assert re.search(words, found[exercise].message), found[exercise]
    assert not any(grade.CONTROL.search(row.message) for row in everyone[kind])


@pytest.mark.slow
def test_what_ends_a_process_of_the_graders_costs_one_students_lines(graded, tmp_path):
    """A name that can't be pickled stands in for it."""
    put(tmp_path, anna=submissions.notebook(submissions.RIGHT), ben=b"")
    both, settings = students.handed_in(tmp_path), grade.Settings((9, 99, 4), [], None)
    both[0].notes.append(lambda: None)
    rows = dict(grade.grade_all(both, settings, 1))
    assert "could not be graded" in rows[0][0].message and "empty" in rows[1][0].message


# ---- the same words as in the notebook ----

@pytest.mark.slow
def test_a_class_is_judged_over_the_line_as_it_is_at_home(graded, tmp_path):
    """Outputs, gradients, dropout, other types of numbers, the meta device, counts of work."""
    here = {}
    for name, slip in (("multi-head-class", 0), ("multi-head-class", -1), ("rotary-class", None),
                       ("positional-class", -2), ("tiles-class", -4), ("linear-class", -2)):
        exercise = all_exercises()[name]
        slip = Slip("") if slip is None else exercise.slips[slip]
        text = (f"import torch\nfrom torch import nn, Tensor\nfrom attention_lessons import check\n"
                f"from d2l_ext.attention import *\n{slip.text(exercise.right)}\n"
                f'check("{name}", {exercise.right.__name__})')
        put(tmp_path, **{f"anna{len(here)}": notebook(text)})
        result = check(name, slip.of(exercise.right))
        here[f"anna{len(here)}"] = result.state, str(result.message)
    found = {row.student: (row.state, row.message) for row in graded(tmp_path, None, jobs=2)
             if row.state != "missing"}
    assert found == here
    assert [state for state, _ in here.values()].count("right") == 1


def notebook(*sources) -> bytes:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode()


STRICT = """def test(read):
    X, lens = torch.randn(2, 5, 6), torch.tensor([2, 4])
    Y = torch.where((torch.arange(5) < lens[:, None])[..., None], X, 9.0)
    assert torch.allclose(read(X, Y, Y, lens), read(X, X, X, lens), atol=1e-5)"""
WEAK = """def test(read):
    X = torch.randn(2, 5, 6)
    assert read(X, X, X, torch.tensor([2, 4])).shape == X.shape"""
DECAY = """def test(optimizer_of):
    model = nn.Sequential(nn.Embedding(9, 6), nn.LayerNorm(6), nn.Linear(6, 4))
    before = [weight.clone() for weight in model.parameters()]
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer_of(model).step()
    changed = [not weight.equal(old) for weight, old in zip(model.parameters(), before)]
    assert changed == [False, False, False, True, False]"""


@pytest.mark.slow
def test_tests_that_students_wrote_are_judged(graded, tmp_path):
    for name, exercise, test, symptom, line in (
            ("anna", "polarity", STRICT, "b", 5), ("ben", "polarity", WEAK, "b", 5),
            ("eve", "polarity", "test = ...", "", 0), ("kim", "decay", DECAY, "a", 4)):
        mine = f'{{"symptom": "{symptom}", "line": {line}, "test": test}}'
        put(tmp_path, **{name: notebook(
            "import torch\nfrom torch import nn\nfrom attention_lessons import CASES, check", test,
            f'check("{exercise}", {mine})')})
    found = {row.student: row for row in graded(tmp_path, "12") if row.state != "missing"}
    assert {name: row.state for name, row in found.items()} == {
        "anna": "right", "ben": "wrong", "eve": "not attempted", "kim": "right"}
    assert "random numbers of the right shape" in found["ben"].message


# ---- which cells run ----

@pytest.mark.parametrize("source, made, needs", [
    ("def f(x):\n    weights = g(x)\n    return weights", {"f"}, {"g"}),
    ("net.train()\nrows[0] = 1", {"net", "rows"}, {"net", "rows"}),
    ("import torch\ntorch.manual_seed(0)", {"torch"}, set()),
    ("from torch import nn\nclass A(nn.Module):\n    size = width", {"nn", "A"}, {"width"}),
    ("%matplotlib inline", set(), {"get_ipython"}), ("print x", set(), set()),
    ("x = " + "-" * 100_000 + "1", set(), set())])
def test_names_that_a_cell_makes_and_needs(source, made, needs):
    assert grade_student.names_in(source) == (made, needs)


def test_only_cells_that_answers_need_are_run():
    sources = ["import torch", "x = 1", "y = x + 1", "z = train()", 'check("a", y)', "mine = z"]
    assert grade_student.needed(sources, [False] * 4 + [True] * 2) == {1, 2, 3, 4, 5}
    assert grade_student.needed(sources[:-1], [False] * 4 + [True]) == {1, 2, 4}


def test_only_what_was_judged_is_right():
    sources = ['check("a", x)', 'if x:\n    check("c", x)', 'check("d", y)']
    talk = SimpleNamespace(judged={"a": ("right", "Right.")},
                           errors={0: None, 1: None, 2: "NameError: y"})
    task = grade.Task("99", ["a", "b", "c", "d"])
    assert grade.lines(sources, task, talk, {}) == [
        ("a", "right", "Right."), ("b", "missing", 'there is no check("b", ...)'),
        ("c", "not attempted", 'check("c", ...) was not run'), ("d", "error", "NameError: y")]


# ---- the tables ----

def row(student, exercise="split-heads", state="wrong", message="Swap axes."):
    return grade.Row(student, f"{student}.ipynb", "02", exercise, state, message)


def test_misconceptions_count_students_once_and_come_by_frequency():
    """An empty later try replaces nothing; letters of variants don't matter; who lacked the
    exercise isn't counted."""
    rows = [row("anna"), row("anna"), row("anna", state="not attempted"), row("ben"),
            row("eve", message="Scale."), row("kim", state="missing"), row("kim", "", "note"),
            row("anna", "why", message="Statement a is false."),
            row("ben", "why", message="Statement c is false.")]
    assert grade_table.misconceptions(rows) == [
        (2, 3, "02", "split-heads", "Swap axes."), (2, 2, "02", "why", "A statement is false."),
        (1, 3, "02", "split-heads", "Scale.")]


def test_what_students_write_does_nothing_in_the_tables(tmp_path):
    (tmp_path / "grades.csv").mkdir()  # a folder in its place stays
    names = ["=1", "+1", "-1", "@a", "eve\n2/2 ben: right\x1b[2J", "\udcff\ud800"]
    rows = [row(name, message="<script>alert(1)</script>\ud800") for name in names]
    assert "grades-2.csv" in grade_table.write(rows, tmp_path)
    page = (tmp_path / "grades-2.html").read_text(encoding="utf-8")
    assert "<script>" not in page and "&lt;script&gt;" in page
    with open(tmp_path / "grades-2.csv", encoding="utf-8-sig", newline="") as file:
        said = [line["student"] for line in csv.DictReader(file)]
    assert said[:5] == ["'=1", "'+1", "'-1", "'@a", "eve 2/2 ben: right\ufffd[2J"]


# ---- who is who ----

@pytest.mark.parametrize("place, name", [
    ("Zoë Smith_1234_assignsubmission_file_", "Zoë Smith"), ("smithanna_12_34_02", "smithanna"),
    ("smithanna_LATE_12_34_02", "smithanna"), ("12-34 - Anna Smith - Jan 1, 2026", "Anna Smith"),
    ("Homework_anna_attempt_2026-01-01-10-00-00_02", "anna"), ("anna.smith", "anna.smith"),
    (unicodedata.normalize("NFD", "Zoë"), "Zoë"), ("O'Brien", "O'Brien")])
def test_course_systems_folders_are_understood(place, name):
    assert students.name_of(place) == name


def test_students_are_folders_or_files(tmp_path):
    for name in ("anna/02.ipynb", "anna/notes.txt", "ben.ipynb", "ben (1).ipynb",
                 "ben-Copy1.IPYNB", ".DS_Store", "__MACOSX/x",
                 "anna/.ipynb_checkpoints/02.ipynb", ".eve/1/02.ipynb",
                 os.fsdecode(b"\xff.ipynb"), "kim.docx"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "ben.ipynb")
    (tmp_path / "roster.txt").write_text("Name,seed\nANNA,a1\n")
    known = students.roster(tmp_path / "roster.txt")
    (tmp_path / "roster.txt").unlink()
    found = {each.name: each for each in students.handed_in(tmp_path, known)}
    assert {name: len(each.files) for name, each in found.items()} == {
        "ANNA": 1, "ben": 3, ".eve": 1, "\udcff": 1, "kim": 1, "link": 0}
    assert found["ANNA"].seed == "a1" and found["ANNA"].notes == []
    assert found["link"].notes[0].endswith("which isn't followed")
    assert "roster" in found["ben"].notes[-1]
    for text in ("anna\nben", "name,seed\nanna,"):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(SystemExit, match="Each line of a roster is a name and a seed"):
            students.roster(tmp_path / "bad.csv")


@pytest.mark.parametrize("name, own, says, seeded, seed, note", [
    ("anna", None, "anna", True, "anna", ""), ("Anna", None, "anna", True, "anna", ""),
    ("ben", None, "anna", True, "ben", "ben's notebook says seed anna"),
    ("ben", "b7", "anna", False, "b7", "ben's notebook says seed anna"),
    ("ben", None, "anna", False, "anna", "ben's notebook says seed anna"),
    ("ben", None, None, False, None, ""), ("ben", None, None, True, "ben", "")])
def test_which_seed_counts_and_what_is_said_of_it(name, own, says, seeded, seed, note):
    cell = f'check("four-heads", "a", seed="{says}")' if says else 'check("four-heads", "a")'
    found = students.seed_of(students.Student(name, seed=own), [cell], seeded)
    assert found == (seed, note)


@pytest.mark.slow
def test_everybody_can_have_numbers_of_their_own(graded, tmp_path):
    """ben hands in what anna did: by his seed it is wrong, and a whole folder is one student."""
    four = exercises.find("four-heads")
    right = {name: four.variant(name).right for name in ("anna", "ben")}
    assert right["anna"] != right["ben"]
    (tmp_path / "ben").mkdir()
    for path in sorted((ROOT / "notebooks").glob("0[1-4]*.ipynb")):
        (tmp_path / "ben" / path.name).write_bytes(path.read_bytes())
    lesson = json.loads(submissions.PATH.read_text(encoding="utf-8"))
    made = student.for_student(lesson, "02", "anna")
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"]).replace(
            'my_guess = ""  # "a", "b"', f'my_guess = "{right["anna"]}"  # "a", "b"')
    mine = json.dumps(made).encode()
    put(tmp_path / "ben", **{submissions.PATH.stem: mine})
    put(tmp_path, anna=mine)
    for seeded, states in ((True, ["right", "wrong"]), (False, ["right", "right"])):
        rows = graded(tmp_path, seeded=seeded)
        assert [row.state for row in rows if row.exercise == "four-heads"] == states
        assert [row.message[:26] for row in rows if not row.exercise] == [
            "ben's notebook says seed a", "left out, as not set or no"]


# ---- words that are wrong, exercises of one's own ----

@pytest.mark.parametrize("words, message", [
    (["no-such-folder"], "FOLDER is not a folder"), (["."], "FOLDER is empty"),
    ([".", "--lesson", "77"], "--lesson is one of 00"), ([".", "--memory", "0"], "greater than 0"),
    ([".", "--exercises", "none.py"], "--exercises is not a file"),
    ([".", "--roster", "none.csv"], "The roster can't be read")])
def test_bad_words_get_a_sentence(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        grade.main(words)


OWN = """from attention_lessons.exercises import Choice, register
register(Choice("two-lamps", right="b", praise="Right.", hints=["Count.", "Count again."],
                reasons={"a": "That is one lamp.", "c": "That is three."}))
"""


@pytest.mark.slow
def test_exercises_of_a_teachers_own(outside, tmp_path, capsys):
    own, folder = tmp_path / "mine.py", tmp_path / "submissions"
    own.write_text(OWN)
    folder.mkdir()
    for path, letter in ((tmp_path / "lamps.ipynb", ""), (folder / "anna.ipynb", "a")):
        path.write_bytes(notebook(
            f"from attention_lessons.exercises import check\ncheck('two-lamps', {letter!r})"))
    grade.main([str(folder), "--lesson", str(tmp_path / "lamps.ipynb"), "--exercises", str(own),
                "--out", str(tmp_path), *["--without-walls"] * (not outside.walls)])
    said = capsys.readouterr().out
    assert "1 of 1: two-lamps: That is one lamp." in said
    assert "1/1 anna: 1 wrong; 0 min left" in said
