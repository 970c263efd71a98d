"""Grading judges what was handed in, whatever was handed in, and costs no other student a line."""
import csv
import json
import os
import pathlib
import re
import sys
from types import SimpleNamespace

import nbformat
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/classroom"), str(ROOT / "tests/classroom")]
import grade  # noqa: E402
import grade_table  # noqa: E402
import nbgrader_cells  # noqa: E402
import submissions  # noqa: E402

from attention_lessons import exercises  # noqa: E402

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not hasattr(grade.os, "setsid"), reason="needs Linux or macOS")]
# The others are graded by `python tests/classroom/submissions.py FOLDER`, make grade, in minutes.
FAST = ["overwrites-check", "fetches-reference", "fetches-elsewhere", "reads-source", "guesses",
        "peeks", "claims-result", "kills-kernel", "kills-from-answer", "forks", "asks-network",
        "imports-what-isnt", "allocates", "empty", "pdf", "invalid", "a-list", "old-format",
        "another-lesson", "unknown-name", "missing-cells", "another-order", "syntax-error",
        "hangs-before-check", "markup"]
if "OFFLINE_LOG" in os.environ:  # `make test-offline` reports whatever asks for the network
    FAST.remove("asks-network")


def settings(folder, **changes):
    words = [str(folder), "--lesson", "02", "--cell-seconds", "2", "--jobs", "2"]
    for name, value in changes.items():
        words += [f"--{name}", str(value)]
    return grade.settings_for(grade.options(words))


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The lines of every fast kind, by student, and what was said meanwhile."""
    folder, said = tmp_path_factory.mktemp("submissions"), []
    for kind in FAST:
        (folder / f"{kind}.ipynb").write_bytes(submissions.BAD[kind][0])
    (folder / "pdf (1).ipynb").write_bytes(b"")
    grade.warm()
    rows = grade.grade_all(folder, settings(folder), 2, lambda line, flush: said.append(line))
    return rows, said


@pytest.mark.parametrize("kind", FAST)
def test_a_bad_submission_gets_its_line(graded, kind):
    found = {row.exercise: row for row in graded[0] if row.student == kind}
    for exercise, state, words in submissions.BAD[kind][1]:
        assert found[exercise].state == state, found[exercise]
        assert re.search(words, found[exercise].message), found[exercise]


def test_nobody_is_suspected_for_nothing(graded):
    notes = [row for row in graded[0] if row.state == "note" and row.student != "pdf"]
    suspected = {row.student for row in notes if "reaches" in row.message}
    assert suspected == {"fetches-reference", "fetches-elsewhere", "reads-source"}
    assert not [row for row in notes if "file" in row.message]


def test_progress_names_each_file_once(graded):
    assert len(graded[1]) == len(FAST) + 1
    assert all(f"/{len(FAST) + 1} " in line for line in graded[1])


@pytest.mark.parametrize("source, made, needs", [
    ("def f(x):\n    weights = g(x)\n    return weights", {"f"}, {"g"}),
    ("net.train()\nrows[0] = 1", {"net", "rows"}, {"net", "rows"}),
    ("X = X + 1", {"X"}, {"X"}),
    ("import torch\ntorch.manual_seed(0)", {"torch"}, set()),
    ("from torch import nn\nclass A(nn.Module):\n    size = width", {"nn", "A"}, {"width"}),
    ("%matplotlib inline", set(), {"get_ipython"}), ("print x", set(), set()),
])
def test_names_that_a_cell_makes_and_needs(source, made, needs):
    assert grade.names_in(source) == (made, needs)


def test_only_cells_that_answers_need_are_run():
    sources = ["import torch", "x = 1", "y = x + 1", "z = train()", 'check("a", y)', "mine = z"]
    task = grade.Task("99", ["a"], set(sources) - {"mine = z"})
    assert grade.needed(sources, task) == {1, 2, 3, 4, 5}
    assert grade.needed(sources[:-1], task) == {1, 2, 4}


def test_only_what_was_judged_is_right():
    """Exercises judged, without a check, with one that nothing called, and behind an error."""
    sources = ['check("a", x)', 'if x:\n    check("c", x)', 'check("d", y)']
    talk = SimpleNamespace(judged={"a": ("right", "Right.")}, refused={},
                           errors={0: None, 1: None, 2: "NameError: y"})
    task = grade.Task("99", ["a", "b", "c", "d"], set())
    assert grade.lines(sources, task, talk, {}) == [
        ("a", "right", "Right."), ("b", "not attempted", 'there is no check("b", ...)'),
        ("c", "not attempted", 'check("c", ...) was not run'), ("d", "error", "NameError: y")]


def row(student, exercise="split-heads", state="wrong", message="Swap axes."):
    return grade.Row(student, f"{student}.ipynb", "02", exercise, state, message)


def test_misconceptions_count_students_once_and_come_by_frequency():
    rows = [row("anna"), row("anna"), row("ben"), row("eve", message="Scale."),
            row("kim", "", "note")]
    assert grade_table.misconceptions(rows) == [
        (2, 4, "02", "split-heads", "Swap axes."), (1, 4, "02", "split-heads", "Scale.")]


def test_a_students_answers_are_counted_by_state():
    rows = [row("anna", state="right"), row("anna", "pencil", "right"), row("anna", "four-heads"),
            row("anna", "", "error"), row("ben", "pencil", "not attempted")]
    table = re.findall("(?s)<table.*?</table>", grade_table.page(rows))[1]
    counted = [re.findall("<td[^>]*>(.*?)</td>", line) for line in table.split("<tr>")[2:]]
    assert [*grade_table.MARKS][:4] == ["right", "wrong", "not attempted", "error"]
    assert [line[:6] for line in counted] == [["anna", "02", "2", "1", "0", "0"],
                                              ["ben", "02", "0", "0", "1", "0"]]


def test_what_students_write_does_nothing_in_the_tables(tmp_path):
    grade_table.write([row("=1+1", message="<script>alert(1)</script>")], tmp_path)
    page = (tmp_path / "grades.html").read_text(encoding="utf-8")
    assert "<script>" not in page and "&lt;script&gt;" in page
    with open(tmp_path / "grades.csv", encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file))[0]["student"] == "'=1+1"


def test_students_are_folders_or_files(tmp_path):
    for name in ("anna/02.ipynb", "ben.ipynb", "ben (1).ipynb", "kim-Copy1.ipynb", ".DS_Store",
                 "__MACOSX/x", "anna/.ipynb_checkpoints/02.ipynb", "eve/week 1/02.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    students = [student for student, _ in grade.handed_in(tmp_path)]
    assert sorted(students) == ["anna", "ben", "ben", "eve", "kim"]
    two = [row("ben"), grade.Row("ben", "ben (1).ipynb", "02", "four-heads", "right")]
    assert [line.message for line in grade.twice(two)] == [
        "2 files of one lesson, all graded: ben (1).ipynb, ben.ipynb"]


@pytest.mark.parametrize("words, message", [
    (["no-such-folder"], "FOLDER is no folder"),
    (["."], "--lesson is one of 00"), (["."], "greater than 0")])
def test_bad_words_get_a_sentence(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("a.ipynb").write_text("")
    more = {"--lesson": ["--lesson", "77"], "greater": ["--memory", "0"]}
    words = words + next((add for key, add in more.items() if key in message), [])
    with pytest.raises(SystemExit, match=message):
        grade.main(words)


OWN = """from attention_lessons.exercises import Choice, register
register(Choice("two-lamps", right="b", praise="Right.", hints=["Count.", "Count again."],
                reasons={"a": "That is one lamp.", "c": "That is three."}))
"""


def test_exercises_of_a_teachers_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exercises, "own", {})
    own, folder = tmp_path / "mine.py", tmp_path / "submissions"
    own.write_text(OWN)
    folder.mkdir()
    for path, letter in ((tmp_path / "lamps.ipynb", ""), (folder / "anna.ipynb", "a")):
        cell = f"from attention_lessons.exercises import check\ncheck('two-lamps', {letter!r})"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), path)
    grade.main([str(folder), "--lesson", str(tmp_path / "lamps.ipynb"), "--exercises", str(own),
                "--out", str(tmp_path)])
    assert "1 of 1: two-lamps: That is one lamp." in capsys.readouterr().out


def test_everybody_can_have_numbers_of_their_own(tmp_path):
    folder, words = tmp_path / "submissions", {}
    folder.mkdir()
    four = exercises.find("four-heads")
    right = {student: four.variant(student).right for student in ("anna", "ben")}
    assert right["anna"] != right["ben"]
    for name in right:  # ben hands in what anna did, and says so in no cell
        (folder / f"{name}.ipynb").write_bytes(submissions.notebook({
            "answer-four-heads": submissions.choice("four-heads", right["anna"])}))
    for seeded in (["--seeded"], []):
        made = grade.settings_for(grade.options([str(folder), "--lesson", "02", *seeded]))
        rows = grade.grade_all(folder, made, 2, lambda *words, **more: None)
        words[bool(seeded)] = [row.state for row in rows if row.exercise == "four-heads"]
    assert words == {True: ["right", "wrong"], False: ["right", "right"]}


WEAK = """def test(read):
    X = torch.randn(2, 5, 6)
    assert read(X, X, X, torch.tensor([2, 4])).shape == X.shape"""
STRICT = """def test(read):
    X, lens = torch.randn(2, 5, 6), torch.tensor([2, 4])
    Y = torch.where((torch.arange(5) < lens[:, None])[..., None], X, 9.0)
    assert torch.allclose(read(X, Y, Y, lens), read(X, X, X, lens), atol=1e-5)"""


def test_tests_that_students_wrote_are_judged(tmp_path):
    lesson = next((ROOT / "notebooks").glob("12_*.ipynb")).read_text(encoding="utf-8")
    folder = tmp_path / "submissions"
    folder.mkdir()
    for name, test in (("anna", STRICT), ("ben", WEAK), ("cleo", "")):
        made = json.loads(lesson)
        cell, = (cell for cell in made["cells"] if cell["id"] == "polarity")
        mine = 'mine = {"symptom": "b", "line": 5, "test": test}\ncheck("polarity", mine)'
        cell["source"] = f"{test}\n\n{mine}" if test else cell["source"]
        (folder / f"{name}.ipynb").write_text(json.dumps(made), encoding="utf-8")
    made = grade.settings_for(grade.options([str(folder), "--lesson", "12"]))
    rows = grade.grade_all(folder, made, 1, lambda *words, **more: None)
    found = {row.student: row for row in rows if row.exercise == "polarity"}
    assert {name: row.state for name, row in found.items()} == {
        "anna": "right", "ben": "wrong", "cleo": "not attempted"}
    assert "random numbers of the right shape" in found["ben"].message


# ---- nbgrader ------------------------------------------------------------------------------------

def test_each_answer_becomes_two_cells():
    lesson = json.loads(submissions.PATH.read_text(encoding="utf-8"))
    made = nbgrader_cells.converted(lesson)["cells"]
    names = grade.task_of(submissions.PATH).exercises
    tests = [cell for cell in made if cell["metadata"].get("nbgrader", {}).get("grade")]
    assert [cell["id"] for cell in tests] == [f"test-{name}" for name in names]
    assert not [cell for cell in made if "solution" in cell["metadata"].get("tags", [])]
    for cell in made:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            assert "check(" not in "".join(cell["source"])


@pytest.mark.slow
def test_nbgrader_gives_points_and_our_words(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin", prepend=":")  # it calls alembic
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    api = pytest.importorskip("nbgrader.apps.api", reason="nbgrader is not installed")
    from nbgrader.api import Gradebook
    from traitlets.config import Config
    answers = {"answer-four-heads": 'my_guess = "a"', "answer-split-heads": submissions.MIXED}
    made = nbgrader_cells.converted(json.loads(submissions.PATH.read_text(encoding="utf-8")))
    kept = ("setup", "answer-four-heads", "test-four-heads", "answer-split-heads",
            "test-split-heads")
    made["cells"] = [cell for cell in made["cells"] if cell["id"] in kept]
    config = Config(CourseDirectory={"root": str(tmp_path), "course_id": "c"},
                    Exchange={"root": str(tmp_path / "exchange")})

    def put(*place):
        path = tmp_path.joinpath(*place, "lesson.ipynb")
        path.parent.mkdir(parents=True)
        nbgrader_cells.write(made, path)

    put("source", "02")
    grader = api.NbGraderAPI(config=config)
    assert grader.generate_assignment("02")["success"]
    for cell in made["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"]).replace(
            'check("split-heads", my_split)', "") if cell["id"] in answers else cell["source"]
    put("submitted", "anna", "02")
    assert grader.autograde("02", "anna")["success"]
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        scores = {g.name: g.auto_score for g in book.find_submission_notebook(
            "lesson", "02", "anna").grades}
    assert scores == {"test-four-heads": 1, "test-split-heads": 0}
    report = next((tmp_path / "autograded").rglob("*.ipynb")).read_text(encoding="utf-8")
    assert "swap axes 1 and 2" in report
