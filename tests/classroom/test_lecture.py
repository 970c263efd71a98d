"""A copy cut for a lecture: what it hides and asks first, and what a rehearsal keeps."""
import re

import pytest
from tools.classroom import lecture
from tools.notebooks.nbtext import KERNEL, cells_of, has, make_cell, read, write

LESSONS = sorted(lecture.NOTEBOOKS.glob("*.ipynb"))


def lesson(*cells):
    return {"cells": [make_cell(*cell, {}) for cell in cells], "metadata": KERNEL,
            "nbformat": 4, "nbformat_minor": 5}


def by_name(notebook):
    return {cell["id"]: cell for cell in cells_of(notebook)}


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
    notebook["cells"][1].update(outputs=[{"output_type": "stream"}], execution_count=3)
    made = by_name(lecture.cut(notebook))
    guess = made["guess"]
    assert guess["outputs"] == [] and guess["execution_count"] is None
    assert not {"jupyter", "collapsed"} & {*guess["metadata"]}  # else the result stays folded
    first = made["reading"]["source"].splitlines()[0]
    assert hidden(made["reading"]) and "even" not in first  # the bar shows the first line
    assert not hidden(made["more"]) and not hidden(made["ask"])
    assert notebook["cells"][1]["outputs"], "the lesson itself was changed"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem[:2])
def test_a_copy_shows_the_core_and_has_the_lessons_code(path, tmp_path):
    before = path.read_bytes()
    copy = lecture.copied(path, tmp_path / "copy")
    assert {each.name for each in copy.parent.glob("*.*")} == {each.name for each in LESSONS}
    old, made = by_name(read(path)), cells_of(read(copy))
    covered = {part["id"] for i, cell in enumerate(made) if collapsed(cell)
               for part in lecture.section(made, i)[1:]}
    assert {name for name, cell in old.items() if has(cell, "core")} <= (
        {cell["id"] for cell in made} - covered)
    code = {name: cell["source"].replace("lecture = False\n", "lecture = True\n")
            for name, cell in old.items() if cell["cell_type"] == "code"}
    assert code == {cell["id"]: cell["source"] for cell in made if cell["cell_type"] == "code"
                    and not cell["id"].startswith("lecture-")}
    assert any(map(collapsed, made))
    for cell in made:
        assert not collapsed(cell) or "\n" not in cell["source"]  # its words would stay in view
        if cell["id"] not in covered and not hidden(cell):
            assert "colab" not in cell["source"] or cell["cell_type"] == "code"
            assert has(cell, "core") or collapsed(cell) or "<details>" in cell["source"]
            assert not (has(cell, "predict") and cell["outputs"]), cell["id"]
    write(lesson(("md", "title", ["core"], "# All gone")), copy)
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError):  # an earlier copy, with what was typed into it, stays
        lecture.copied(path, copy.parent)


def test_the_switches_are_there():
    code = {cell["id"]: cell["source"] for path in LESSONS for cell in cells_of(read(path))
            if path.stem[:2] == "07" or cell["id"] in lecture.OWN_LOOPS}
    assert sum("lecture = False" in source.splitlines() for source in code.values()) == 1
    for name, steps in lecture.OWN_LOOPS.items():
        assert re.search(rf"def train\(.*{steps}=", code[name])


@pytest.mark.parametrize("words", ["", "77", "02 05"])
def test_no_lesson_an_unknown_one_or_two_get_a_sentence(words):
    with pytest.raises(SystemExit, match=f"00, .*as in make lecture NB=02; got '{words}'."):
        lecture.asked_for(words.split())
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
        assert ("ZeroDivisionError: " in capsys.readouterr().out) == failed
        assert lecture.mark_of(path).exists() != failed and path.read_bytes() == before
        assert len([*(tmp_path / "weights").glob("*.pt")]) == 1
    lecture.rehearse(path)
    assert capsys.readouterr().out == ""
