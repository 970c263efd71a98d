"""A copy cut for a lecture: what it hides and asks first, and what a rehearsal keeps."""
import json

from tools.classroom import lecture
import pytest
from tools.notebooks.nbtext import KERNEL, make_cell, write

LESSONS = sorted(lecture.NOTEBOOKS.glob("*.ipynb"))


def lesson(*cells):
    return {"cells": [make_cell(*cell, {}) for cell in cells], "metadata": KERNEL,
            "nbformat": 4, "nbformat_minor": 5}


def cell_of(notebook, name):
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


def collapsed(cell):
    return cell["metadata"].get("jp-MarkdownHeadingCollapsed", False)


def hidden(cell):
    return cell["metadata"].get("jupyter", {}).get("source_hidden", False)


# ---- the copy ----

def test_a_prediction_comes_first_and_running_its_cell_shows_the_result():
    notebook = lesson(("md", "ask", ["core"], "## Which?\n\n**Predict:** a or b?"),
                      ("code", "guess", ["core", "predict"], "2 + 2"),
                      ("code", "proof", ["core"], "assert True"),
                      ("md", "reading", ["core"], "It is b, as four is even."),
                      ("md", "more", ["core"], "Go on."))
    cell_of(notebook, "guess").update(outputs=[{"output_type": "stream"}], execution_count=3)
    made = lecture.cut(notebook)
    guess = cell_of(made, "guess")
    assert guess["outputs"] == [] and guess["execution_count"] is None
    assert not {"jupyter", "collapsed"} & {*guess["metadata"]}  # else the result stays folded
    reading = cell_of(made, "reading")
    assert hidden(reading) and "even" not in reading["source"][0]  # the bar shows the first line
    assert not hidden(cell_of(made, "more")) and not hidden(cell_of(made, "ask"))
    assert cell_of(notebook, "guess")["outputs"], "the lesson itself was changed"


def test_deeper_sections_collapse_as_long_as_no_core_goes_with_them():
    made = lecture.cut(lesson(
        ("md", "further", ["deeper"], "## Further · deeper\n\nWords."),
        ("code", "far", ["deeper"], "1"), ("md", "farther", ["deeper"], "### Farther"),
        ("md", "mixed", ["deeper"], "## Mixed"), ("code", "kept", ["core"], "2"),
        ("md", "home", ["core"], "# Home"), ("code", "aside", ["deeper"], "3")))
    assert [cell["id"] for cell in made["cells"] if collapsed(cell)] == ["further"]
    assert cell_of(made, "further")["source"] == ["## Further · deeper"]
    assert [cell["id"] for cell in made["cells"] if hidden(cell)] == ["mixed", "aside"]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem[:2])
def test_a_copy_shows_the_core_and_has_the_lessons_code(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = lecture.cut(notebook)["cells"]
    names = [cell["id"] for cell in cells]
    assert len({*names}) == len(names)
    covered = {part["id"] for i, cell in enumerate(cells) if collapsed(cell)
               for part in lecture.section(cells, i)[1:]}
    core = {cell["id"] for cell in notebook["cells"] if lecture.tagged(cell, "core")}
    assert core <= {*names} - covered
    old = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("# @title In a lecture"):
            assert source == old.pop(cell["id"]).replace("lecture = False\n", "lecture = True\n")
        if cell["id"] in covered or hidden(cell):
            continue
        assert "colab" not in source or cell["cell_type"] == "code"
        assert lecture.tagged(cell, "core") or collapsed(cell) or "<details>" in source, cell["id"]
        assert not (lecture.tagged(cell, "predict") and cell["outputs"]), cell["id"]
        if lecture.tagged(cell, "solution"):
            assert source.startswith("<details><summary>"), cell["id"]
    left = {cell["id"] for cell in notebook["cells"] if cell["cell_type"] == "code"} & {*old}
    assert left == set()


def test_the_switches_are_there():
    texts = {path.stem[:2]: path.read_text(encoding="utf-8") for path in LESSONS}
    assert '"lecture = False\\n"' in texts["07"]
    for name, steps in lecture.OWN_LOOPS.items():
        found = [cell_of(json.loads(text), name) for text in texts.values()
                 if f'"id": "{name}"' in text]
        defined = [line for each in found for line in each["source"] if "def train(" in line]
        assert len(defined) == 1 and f"{steps}=" in defined[0]


def test_the_lessons_stay_as_they_are_even_when_a_copy_is_saved(tmp_path):
    before = {path: path.read_bytes() for path in LESSONS}
    made = lecture.copied(LESSONS[2], tmp_path / "copy")
    assert {path.name for path in made.parent.glob("*.*")} == {path.name for path in LESSONS}
    write(lesson(("md", "title", ["core"], "# All gone")), made)
    assert {path: path.read_bytes() for path in LESSONS} == before
    with pytest.raises(FileExistsError):  # an earlier copy, with what was typed into it, stays
        lecture.copied(LESSONS[2], tmp_path / "copy")


@pytest.mark.parametrize("words, message", [
    ([], "as in make lecture NB=02."), (["77"], "got '77'."), (["0"], "got '0'."),
    (["02", "05"], "One lesson at a time: make lecture NB=02; got '02 05'.")])
def test_no_lesson_an_unknown_one_or_two_get_a_sentence(words, message):
    with pytest.raises(SystemExit, match=message):
        lecture.asked_for(words)
    assert lecture.asked_for(["02", "--no-browser"]).name.startswith("02")


# ---- trainings that are not repeated ----

TRAINING = """from attention_lessons.laboratory import find_marked, reader, train
train(reader("GRU", 16, 8), find_marked(), 9, lengths=(5, 5), batch=4)"""


@pytest.mark.slow
def test_a_rehearsal_keeps_weights_names_errors_and_is_not_repeated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lecture, "TARGET", tmp_path)
    monkeypatch.setenv("D2L_EXT_WEIGHTS", str(tmp_path / "weights"))
    for oops, failed in (("1 / 0", True), ("1 / 1", False)):
        write(lesson(("code", "learn", ["core"], TRAINING), ("code", "oops", ["core"], oops)),
              path := tmp_path / "02_made_up.ipynb")
        before = path.read_bytes()
        lecture.rehearse(path)
        assert ("oops: ZeroDivisionError: " in capsys.readouterr().out) == failed
        assert lecture.mark_of(path).exists() != failed and path.read_bytes() == before
        assert len([*(tmp_path / "weights").glob("*.pt")]) == 1
    lecture.rehearse(path)
    assert capsys.readouterr().out == ""
    write(lesson(("code", "learn", ["core"], "changed")), path)
    assert not lecture.mark_of(path).exists()
