"""Editions for students and teachers: nothing that answers is handed out, and what is handed out
runs and is graded."""
import configparser
import json
import os
import re
import subprocess
import sys
import zlib

from tools.classroom import guide
import pytest
from tools.classroom import student
from attention_lessons.exercises import all_exercises
from tools.notebooks.nbtext import write
from tools.offline import namespace, surroundings

pytestmark = pytest.mark.slow  # all lessons are written anew
ROOT = student.ROOT
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Lines of solutions that stand in the package's own classes, which a class from an empty cell has
# to equal: they are what the lessons teach, for everybody to read.
TAUGHT = {
    "columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64)": "d2l_ext/positional.py",
    "X = X + self.dropout(self.attention(Y, Y, Y, causal=True))": "d2l_ext/transformer.py",
    "return X + self.dropout(self.network(self.norms[2](X)))": "d2l_ext/transformer.py",
}


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def even(text):
    """The text with one blank wherever there is white space."""
    return " ".join(text.split())


def source(cell):
    return "".join(cell["source"])


def tags(cell):
    return set(cell["metadata"]["tags"])


def cell_of(notebook, name):
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


def text_of(path):
    """What stands in a file; of a notebook sources and outputs."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".ipynb":
        text = "\n".join(f"{source(cell)}\n{json.dumps(cell.get('outputs'), ensure_ascii=False)}"
                         for cell in json.loads(text)["cells"])
    return even(text)


def answers():
    """Every folded answer of the lessons: where it stands, and its text."""
    for path in LESSONS:
        for cell in read(path)["cells"]:
            if tags(cell) & {"solution", *student.ANSWERED}:
                folded = re.findall("<details><summary>.*?</summary>(.*?)</details>", source(cell),
                                    re.S)
                yield from ((f"{path.stem[:2]} {cell['id']}", text) for text in folded)


def lesson_words():
    """What all lessons say outside of answers."""
    cells = [cell for path in LESSONS for cell in read(path)["cells"]]
    return even("\n".join(
        student.FOLDED.sub("", source(cell)) if tags(cell) & student.ANSWERED else source(cell)
        for cell in cells if "solution" not in tags(cell)))


def secrets():
    """Texts that nothing handed out may hold -> what they answer."""
    found, known = {}, lesson_words()
    for where, text in answers():
        found[even(text)] = where
        found |= {even(code): where for code in re.findall("```python(.*?)```", text, re.S)}
        found |= {even(line): where for line in text.splitlines()
                  if len(even(line)) >= 25 and even(line) not in known}
    for name, exercise in all_exercises().items():
        words = [exercise.praise, *exercise.hints, *student.known(exercise)]
        found |= {re.sub("^[a-z]: ", "", even(text)): name for text in words}
    return found


def given_away(folder):
    """(answer to what, in which file, the words) for everything that a folder gives away."""
    texts = {path.relative_to(folder).as_posix(): text_of(path)
             for path in folder.rglob("*") if path.is_file()}
    return [(where, file, words) for words, where in secrets().items()
            for file, text in texts.items() if words in text]


@pytest.fixture(scope="module")
def editions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("editions")
    student.main([], folder)
    return folder


# ---- nothing is given away ----

def test_nothing_handed_out_answers_an_exercise_or_a_question(editions):
    found = {(words, file) for _, file, words in given_away(editions / "student")}
    assert found == set(TAUGHT.items())
    names = r"\b(?:right|reference|reasons|misconceptions|slips|praise)\b *(?:: [\w[\], ]+)?="
    for path in (editions / "student/attention_lessons/exercises").iterdir():
        assert not re.search(names, path.read_text(encoding="utf-8")), path.name


def test_the_search_finds_what_is_there(editions, tmp_path):
    assert len(secrets()) > 800 and len({where for where, _ in answers()}) > 100
    found = {file for _, file, _ in given_away(editions / "instructor")}
    assert {path.name for path in LESSONS} <= found
    places = {place for place in student.members()
              if place.startswith(("attention_lessons/exercises/", "attention_lessons/lesson_"))}
    assert {f"attention_lessons/lesson_0{number}/exercises.py" for number in range(9)} <= (
        found & places)
    for text in ("my_guess = 'a'", 'x\nmy_guess  = "a"\n', "Praise: Right: every head gets its "
                 "block of columns,\nof every token."):
        (tmp_path / "note.txt").write_text(text)
        assert bool(given_away(tmp_path)) == ("'" not in text)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem[:2])
def test_a_students_lesson_has_all_but_the_answers(path):
    lesson = read(path)
    before = json.dumps(lesson)
    made = student.for_student(lesson, path.stem[:2])
    assert json.dumps(lesson) == before
    own = [cell for cell in lesson["cells"] if "solution" not in tags(cell)]
    added = [cell for cell in made["cells"] if re.match("(deeper|core)-from-", cell["id"])]
    assert [cell["id"] for cell in made["cells"] if cell not in added] == [
        cell["id"] for cell in own]
    for cell, old in zip((cell for cell in made["cells"] if cell not in added), own):
        if cell["cell_type"] == "code":
            assert source(cell) == source(old)
            assert cell["outputs"] == ([] if "exercise" in tags(cell) else old["outputs"])
        else:
            assert "solution" not in source(cell).lower() or cell["id"] == "parity-reading"
            folds = re.findall(r"<summary>(?:<b>)?(\w+)", source(cell))
            assert not {"Answer", "Answers", "Reasons", "What"} & set(folds), cell["id"]
            assert "colab" not in source(cell)
    # between the lines that mark it, everything is deeper, and nothing else is
    inside = False
    for cell in made["cells"]:
        inside = cell["id"].startswith("deeper-from-") or inside and cell not in added
        assert inside == ("deeper" in tags(cell)), cell["id"]
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


def test_what_the_lessons_say_of_solutions_is_still_said_so():
    lessons = "\n".join(source(cell) for path in LESSONS for cell in read(path)["cells"])
    for old, _ in student.LEFT_OUT:
        assert old in lessons
    package = (ROOT / "attention_lessons/exercises/__init__.py").read_text(encoding="utf-8")
    assert package.count(student.LAST_HINT[0]) == 1


# ---- the package ----

USES = """
import d2l_ext, pathlib
from attention_lessons.exercises import all_exercises, check, find, hint
assert pathlib.Path(d2l_ext.__file__).parent.parent == pathlib.Path.cwd(), d2l_ext.__file__
print(len(all_exercises()), check("four-heads", "a").state, check("four-heads", "b").message)
print(check("multi-head-class", d2l_ext.MultiHeadAttention).state)
print(hint("four-heads", len(find("four-heads").hints)))
"""


def test_a_sealed_package_checks_and_helps(editions):
    folder = editions / "student"
    done = subprocess.run([sys.executable, "-c", USES], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    exercises = all_exercises()
    wrong = exercises["four-heads"].reasons["b"]
    assert done.stdout.splitlines()[:2] == [f"{len(exercises)} right {wrong}", "right"]
    assert done.stdout.splitlines()[-1] == "That was the last hint."
    for path in (folder / "d2l_ext").rglob("*.py"):
        original = ROOT / path.relative_to(folder)
        same = path.read_bytes() == original.read_bytes()
        assert same == (path.parent.name != "exercises"), path
    assert (editions / "instructor/attention_lessons/lesson_02/exercises.py").read_bytes() == (
        ROOT / "attention_lessons/lesson_02/exercises.py").read_bytes()


def test_a_seal_hides_the_text_and_keeps_it():
    text = "reason = 'the heads have to come before the steps'\n" * 3
    made = student.sealed("attention_lessons/lesson_99/exercises.py", text.encode()).decode()
    assert "heads" not in made and "reason" not in made.replace("{packed}", "")
    names = {"__file__": "lesson_99.py"}
    exec(made, names)
    assert names["reason"].startswith("the heads") and names["text"] == text
    assert student.sealed("d2l_ext/masks.py", b"x = 1") == b"x = 1"
    with pytest.raises(zlib.error):
        zlib.decompress(text.encode())


# ---- everybody's own ----

def test_names_give_everybody_numbers_and_orders_of_their_own(tmp_path, monkeypatch):
    lesson = read(LESSONS[2])
    anna, ben = (student.for_student(lesson, "02", name) for name in ("anna", "ben"))
    four = all_exercises()["four-heads"]
    text = source(cell_of(lesson, "exercise-four-heads"))
    for name, made in (("anna", anna), ("ben", ben)):
        assert source(cell_of(made, "exercise-four-heads")) == four.question(text, name)
        assert f'check("four-heads", my_guess, seed="{name}")' in source(
            cell_of(made, "answer-four-heads"))
        assert f'check("pencil", my_lines, seed="{name}")' in source(cell_of(made, "pencil"))
        assert 'check("split-heads", my_split)' in source(cell_of(made, "answer-split-heads"))
    assert source(cell_of(anna, "pencil-page")) != source(cell_of(ben, "pencil-page"))
    for bad in ("", "../anna", "a/b", "."):
        with pytest.raises(SystemExit, match="A student's name becomes that of a folder; got"):
            student.main(["anna", bad], tmp_path)
    with pytest.raises(SystemExit):
        student.main(["--help"], tmp_path)
    assert not [*tmp_path.iterdir()]
    monkeypatch.setattr(student, "hand_out", lambda folder, *more: folder.mkdir(parents=True))
    student.main(["O'Brien", "Smith, Anna"], tmp_path)
    assert {path.name for path in (tmp_path / "student").iterdir()} == {"O'Brien", "Smith, Anna"}
    known = student.roster(tmp_path / "instructor/roster.csv")
    assert known["smith, anna"] == ("Smith, Anna", "Smith, Anna")
    page = (tmp_path / "instructor/keys/O'Brien.md").read_text(encoding="utf-8")
    right = four.variant("O'Brien").right
    assert f"`four-heads`: {right}\n" in page
    assert re.search(r"`pencil`: 1: [\d., -]+; 2: ", page) and "`polarity`: " in page


# ---- teachers ----

def test_teachers_see_answers_what_checks_know_and_notes(monkeypatch, tmp_path):
    lesson = read(LESSONS[2])
    made = student.for_teacher(lesson, "02")
    names = [cell["id"] for cell in made["cells"]]
    for name, exercise in all_exercises().items():
        if f"known-{name}" in names:
            text = source(cell_of(made, f"known-{name}"))
            for words in [*student.known(exercise), *exercise.hints, exercise.praise]:
                assert student.plain(words) in text
    assert not any("folded below" in source(cell) for cell in made["cells"])
    solutions = [cell for cell in made["cells"] if "solution" in tags(cell)]
    assert len(solutions) == sum(name.startswith("known-") for name in names) == 7
    for cell in solutions:
        assert source(cell).startswith("<details open>")
        assert names[names.index(cell["id"]) + 1].startswith("known-")
    plan = student.tomllib.loads((ROOT / "teaching/02.toml").read_text(encoding="utf-8"))
    assert plan["board"] in source(cell_of(made, "notes"))
    for name, (question, answer) in plan["ask"].items():
        assert names[names.index(name) - 1] == f"ask-{name}"
        assert question in source(cell_of(made, f"ask-{name}"))
        assert answer in source(cell_of(made, f"ask-{name}"))
    monkeypatch.setattr(guide, "TEACHING", tmp_path)  # where no plan was written yet
    alone = student.for_teacher(lesson, "02")["cells"]
    assert "notes" not in [cell["id"] for cell in alone] and len(alone) > len(lesson["cells"])


# ---- it runs, and is graded ----

def said(cell):
    """What a cell shows in words, without what differs between machines."""
    rules = configparser.RawConfigParser()
    rules.read(ROOT / "tests/nbval_sanitize.cfg")
    words = json.dumps([output.get("text") or output.get("data", {}).get("text/plain") or
                        output["output_type"] for output in cell["outputs"]])
    for rule in rules.values():
        if rule.get("regex"):
            words = re.sub(rule["regex"], rule["replace"], words)
    return words


@pytest.mark.parametrize("number", ["00", "03"])
def test_a_students_lesson_runs_elsewhere_without_a_network(editions, tmp_path, number):
    student.shutil.copytree(editions / "student", tmp_path / "copy")
    path = next((tmp_path / "copy").glob(f"{number}*.ipynb"))
    before = read(path)
    where = student.make_cell("code", "where", ["core"], "import d2l_ext\nd2l_ext.__file__", {})
    write(before | {"cells": [*before["cells"], where]}, path)
    environment = surroundings(tmp_path)
    environment["PYTHONPATH"] = environment["PYTHONPATH"].split(os.pathsep)[0]
    program = ("import pathlib, sys; sys.path.append(sys.argv[1]); "
               "from tools.notebooks import execute; execute.store(pathlib.Path(sys.argv[2]))")
    done = subprocess.run([*namespace(), sys.executable, "-c", program, ROOT, path],
                          env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (tmp_path / "tmp/asked").exists()
    *cells, where = read(path)["cells"]
    used = "".join(where["outputs"][0]["data"]["text/plain"])
    assert used.startswith(f"'{tmp_path}/copy/d2l_ext")
    for cell, old in zip(cells, before["cells"]):
        if cell["cell_type"] == "code" and not tags(cell) & {"exercise", "timing"}:
            assert said(cell) == said(old), cell["id"]
