"""nbgrader's source: what students get keeps the promise of each answer, and holds no answer."""
import re

from tools.classroom import nbgrader_cells
from tools.classroom.lesson import has
from tools.notebooks.nbtext import read
from tools.notebooks.readme import ROOT

from attention_lessons.exercises import all_exercises

MADE = {path.stem[:2]: nbgrader_cells.converted(read(path))["cells"]
        for path in (ROOT / "notebooks").glob("*.ipynb")}


def kind(cell, name):
    return cell["metadata"].get("nbgrader", {}).get(name)


def test_each_answer_becomes_two_cells_and_no_answer_is_left():
    cells = [cell for made in MADE.values() for cell in made]
    tests = [cell["id"].removeprefix("test-") for cell in cells if kind(cell, "grade")]
    assert sorted(tests) == sorted(all_exercises())
    for cell in cells:
        assert not has(cell, "solution") and "<summary>Answer" not in cell["source"]
        if kind(cell, "solution"):
            assert "check(" not in cell["source"]
            assert cell["source"].count("### BEGIN SOLUTION") == 1


def test_what_students_get_keeps_the_promise():
    """A class has its docstring, a function its line, a letter its cell."""
    cells = {cell["id"]: cell for cell in MADE["02"]}
    cut = {name: re.sub("(?s) *### BEGIN.*### END SOLUTION", "", cell["source"])
           for name, cell in cells.items()}
    assert "Heads that don't divide num_hiddens: ValueError." in cut["answer-multi-head-class"]
    assert cut["answer-split-heads"].strip() == "def my_split(X, num_heads):"
    assert cut["answer-four-heads"].startswith('my_guess = ""')
    assert not kind(cells["answer-four-heads"], "solution")
    assert kind(cells["answer-multi-head-class"], "solution")
    for cell in MADE["02"]:
        if kind(cell, "solution"):
            compile(cell["source"], cell["id"], "exec")


def test_only_code_that_exercises_need_is_there():
    """nbgrader waits 30 seconds for a cell; a lesson's trainings take longer."""
    others = {cell["id"] for cell in MADE["06"] if cell["cell_type"] == "code"
              and not has(cell, "exercise")}
    assert others == {"setup"}
