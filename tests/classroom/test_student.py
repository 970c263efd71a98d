"""Editions for students and teachers: nothing that answers is handed out, and what is handed out
runs and is graded."""
import json
import os
import re
import subprocess
import sys

from tools.classroom import guide
import pytest
from tools.classroom import student
from attention_lessons.exercises import all_exercises
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


def secrets():
    """Texts that nothing handed out may hold: folded answers, their code, their longer lines, and
    what exercises know."""
    folded, plain = [], []
    for cell in (cell for path in LESSONS for cell in read(path)["cells"]):
        if tags(cell) & {"solution", *student.ANSWERED}:
            folded += re.findall("<details><summary>.*?</summary>(.*?)</details>", source(cell),
                                 re.S)
        if "solution" not in tags(cell):
            plain.append(student.FOLDED.sub("", source(cell)) if tags(cell) & student.ANSWERED
                         else source(cell))
    known = even("\n".join(plain))
    parts = [part for text in folded
             for part in [text, *re.findall("```python(.*?)```", text, re.S)]]
    lines = [line for text in folded for line in text.splitlines()
             if len(even(line)) >= 25 and even(line) not in known]
    words = [re.sub("^[a-z]: ", "", text) for exercise in all_exercises().values()
             for text in [exercise.praise, *exercise.hints, *student.known(exercise)]]
    return {even(text) for text in [*parts, *lines, *words]}


def given_away(folder):
    """(the words, in which file) for everything that a folder gives away."""
    texts = {path.relative_to(folder).as_posix(): text_of(path)
             for path in folder.rglob("*") if path.is_file()}
    return {(words, file) for words in secrets() for file, text in texts.items() if words in text}


@pytest.fixture(scope="module")
def editions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("editions")
    student.main([], folder)
    return folder


# ---- nothing is given away ----

def test_nothing_handed_out_answers_an_exercise_or_a_question(editions):
    assert given_away(editions / "student") == set(TAUGHT.items())
    names = r"\b(?:right|reference|reasons|misconceptions|slips|praise)\b *(?:: [\w[\], ]+)?="
    for path in (editions / "student/attention_lessons/exercises").iterdir():
        assert not re.search(names, path.read_text(encoding="utf-8")), path.name
    seen = {file for _, file in given_away(editions / "instructor")}  # the search finds them
    assert {path.name for path in LESSONS} <= seen and len(secrets()) > 800


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
    for path in [*(folder / "d2l_ext").rglob("*.py"), *folder.glob("attention_lessons/*.py")]:
        assert path.read_bytes() == (ROOT / path.relative_to(folder)).read_bytes(), path


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


# ---- it runs ----

def test_a_students_lesson_runs_elsewhere_without_a_network(editions, tmp_path):
    student.shutil.copytree(editions / "student", tmp_path / "copy")
    path = next((tmp_path / "copy").glob("03*.ipynb"))
    environment = surroundings(tmp_path)
    environment["PYTHONPATH"] = environment["PYTHONPATH"].split(os.pathsep)[0]
    program = ("import pathlib, sys; sys.path.append(sys.argv[1]); "
               "from tools.notebooks import execute; execute.store(pathlib.Path(sys.argv[2]))")
    done = subprocess.run([*namespace(), sys.executable, "-c", program, ROOT, path],
                          env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (tmp_path / "tmp/asked").exists()
