"""Grading judges what was handed in, whatever was handed in, and costs no other student a line."""
import csv
import json
import os
import re
import sys
import unicodedata

import nbformat
import pytest
from attention_lessons.exercises import all_exercises, check, exhibits
from tools.classroom import grade, grade_student, grade_table, student, students, walls
from tools.notebooks.readme import ROOT

if not hasattr(os, "setsid"):
    pytest.skip("grading needs Linux or macOS", allow_module_level=True)
sys.path.append(str(ROOT / "tests/classroom"))
import submissions


@pytest.fixture(scope="module")
def around():
    """Walls, where they can be had."""
    return walls.Walls(not walls.Walls().why_not())


def put(folder, **notebooks):
    for name, content in notebooks.items():
        (folder / f"{name}.ipynb").write_bytes(content)


def graded(around, folder, known=None):
    """All lines of a folder, by student."""
    settings = grade.Settings((3, 60, 4), grade.task_set("02"), around)
    everybody = students.handed_in(folder, known)
    return {everybody[i].name: rows for i, rows in grade.grade_all(everybody, settings)}


# ---- one table of submissions, one of answers ----

@pytest.fixture(scope="module")
def everyone(around, tmp_path_factory):
    """The lines of every bad kind."""
    folder = tmp_path_factory.mktemp("submissions")
    put(folder, **{kind: content for kind, (content, _) in submissions.BAD.items()})
    return graded(around, folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", submissions.BAD)
def test_a_bad_submission_gets_its_lines(everyone, kind):
    found = {row.exercise: row for row in everyone[kind]}
    for exercise, state, words in submissions.BAD[kind][1]:
        assert found[exercise].state == state, found[exercise]
        assert re.search(words, found[exercise].message), found[exercise]
    assert not any(grade.CONTROL.search(row.message) for row in everyone[kind])


def test_what_goes_wrong_with_a_student_costs_nobody_else_a_line(tmp_path):
    put(tmp_path, anna=b"", ben=b"")
    both = students.handed_in(tmp_path)
    both[0].files.append(None)
    rows = dict(grade.grade_all(both, grade.Settings((9, 99, 4), [], None)))
    assert "could not be graded" in rows[0][0].message and "empty" in rows[1][0].message


def test_a_test_that_counts_its_calls_gains_nothing(monkeypatch):
    """In the order of the code versions it would pass two of right code and fail the others."""
    calls = []

    def count(read):
        calls.append(read)
        assert len(calls) < 3

    monkeypatch.setattr(exhibits.SystemRandom, "sample", lambda self, all, k: [*all][::-1])
    assert check("polarity", {"symptom": "b", "line": 5, "test": count}).state == "wrong"


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
    made, task = grade.Run(), grade.Task("99", ["a", "b", "c", "d"], set())
    for line in (["judged", "a", "right", "Right.", ""],
                 ["judged", "a", "not attempted", "", ""],
                 ["judged", "c", "right"], ["ends", 0, None], ["ends", 1, None],
                 ["ends", 2, "NameError: y"], 7):
        made.hear(json.dumps(line).encode())
    made.hear(b"[" * 10**6)
    assert made.cell == -1 and not made.done
    assert grade.lines(sources, task, made, {}) == [
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
    names = ["=1", "+1", "-1", "@a", "eve\n2/2 ben: right\x1b[2J", "\udcff\ud800"]
    rows = [row(name, message="<script>alert(1)</script>\ud800") for name in names]
    grade_table.write(rows, tmp_path)
    page = (tmp_path / "grades.html").read_text(encoding="utf-8")
    assert "<script>" not in page and "&lt;script&gt;" in page
    with open(tmp_path / "grades.csv", encoding="utf-8-sig", newline="") as file:
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
    (tmp_path / "nobody").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")  # to read it would take forever
    (tmp_path / "roster.txt").write_text("Name,seed\nANNA,a1\n")
    known = students.roster(tmp_path / "roster.txt")
    (tmp_path / "roster.txt").unlink()
    found = {each.name: each for each in students.handed_in(tmp_path, known)}
    assert {name: len(each.files) for name, each in found.items()} == {
        "ANNA": 1, "ben": 3, ".eve": 1, "\udcff": 1, "kim": 1, "link": 0,
        "nobody": 0, "pipe": 0}
    assert found["ANNA"].seed == "a1" and found["ANNA"].notes == []
    assert found["link"].notes[0].endswith("which isn't followed")
    assert found["nobody"].notes[0] == found["pipe"].notes[0] == "no file was handed in"
    assert "roster" in found["ben"].notes[-1]
    for text in ("anna\nben", "name,seed\nanna,"):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(SystemExit, match="Each line of a roster is a name and a seed"):
            students.roster(tmp_path / "bad.csv")


@pytest.mark.slow
def test_everybody_can_have_numbers_of_their_own(around, tmp_path):
    """ben hands in what anna did: by his seed it is wrong, and a whole folder is one student."""
    four = all_exercises()["four-heads"]
    right = {name: four.variant(name).right for name in ("anna", "ben")}
    assert right["anna"] != right["ben"]
    (tmp_path / "ben").mkdir()
    for path in sorted((ROOT / "notebooks").glob("0[1-4]*.ipynb")):
        (tmp_path / "ben" / path.name).write_bytes(path.read_bytes())
    made = student.for_student(json.loads(submissions.PATH.read_text(encoding="utf-8")), "anna")
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"]).replace(
            'my_guess = ""  # "a", "b"', f'my_guess = "{right["anna"]}"  # "a", "b"')
    mine = json.dumps(made).encode()
    put(tmp_path / "ben", **{submissions.PATH.stem: mine})
    put(tmp_path, anna=mine)
    for known, state in (({"ben": ("ben", "ben")}, "wrong"), ({}, "right")):
        rows = graded(around, tmp_path, known)
        found = {(row.student, row.state) for each in rows.values() for row in each
                 if row.exercise == "four-heads"}
        assert found == {("anna", "right"), ("ben", state)}
        said = [row.message for row in rows["ben"] if not row.exercise]
        assert said[0].startswith("left out: 01_attention.ipynb: lesson 01, which was")
        assert said[1:] == ["ben's notebook says seed anna"]


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
def test_exercises_of_a_teachers_own(around, tmp_path, capsys):
    own, folder = tmp_path / "mine.py", tmp_path / "submissions"
    own.write_text(OWN)
    folder.mkdir()
    for path, letter in ((tmp_path / "lamps.ipynb", ""), (folder / "anna.ipynb", "a")):
        cell = nbformat.v4.new_code_cell(
            f"from attention_lessons.exercises import check\ncheck('two-lamps', {letter!r})")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    grade.main([str(folder), "--lesson", str(tmp_path / "lamps.ipynb"), "--exercises", str(own),
                *["--without-walls"] * (not around.there)], tmp_path)
    said = capsys.readouterr().out
    assert "1 of 1: two-lamps: That is one lamp." in said
    assert "1/1 anna: 1 wrong\n" in said
