"""A copy cut for a lecture: what it hides and asks first, and what a rehearsal keeps."""
import re

import pytest
from tools.classroom import lecture
from tools.notebooks.nbtext import (KERNEL, cells_of, has, inner, lessons, make_cell, notebooks,
                                    place, read, write)
from tools.notebooks.readme import sitting

LESSONS = lessons()


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
    notebook = lesson(("md", "ask", [], "## Which?\n\n**Predict:** a or b?"),
                      ("code", "guess", ["predict"], "2 + 2"),
                      ("code", "proof", [], "assert True"),
                      ("md", "reading", [], "It is b, as four is even."),
                      ("md", "more", [], "Go on."))
    notebook["cells"][1].update(outputs=[{"output_type": "stream"}], execution_count=3)
    made = by_name(lecture.cut(notebook))
    guess = made["guess"]
    assert guess["outputs"] == [] and guess["execution_count"] is None
    assert not {"jupyter", "collapsed"} & {*guess["metadata"]}  # else the result stays folded
    first = made["reading"]["source"].splitlines()[0]
    assert hidden(made["reading"]) and "even" not in first  # the bar shows the first line
    assert not hidden(made["more"]) and not hidden(made["ask"])
    assert notebook["cells"][1]["outputs"], "the lesson itself was changed"


def test_what_comes_after_the_sitting_collapses():
    made = lecture.cut(lesson(("md", "title", [], "# One"), ("md", "next", [], "**Next:** two."),
                              ("md", "at-home", [], "# At home\n\nWords."), ("code", "x", [], "1")))
    assert [(cell["id"], cell["source"], collapsed(cell)) for cell in made["cells"]] == [
        ("title", "# One", False), ("next", "**Next:** two.", False),
        ("at-home", "# At home", True), ("at-home-words", "Words.", False), ("x", "1", False)]


@pytest.mark.parametrize("path", notebooks(), ids=place)
def test_a_copy_shows_the_sitting_and_has_the_lessons_code(path, tmp_path):
    before = path.read_bytes()
    copy = lecture.copied(path, tmp_path / "copy")
    assert copy == tmp_path / "copy" / inner(path)
    assert {*map(inner, notebooks())} <= {each.relative_to(tmp_path / "copy")
                                          for each in (tmp_path / "copy").rglob("*.ipynb")}
    old, made = by_name(read(path)), cells_of(read(copy))
    shown = sitting(made)
    assert {cell["id"] for cell in sitting(cells_of(read(path)))} <= {cell["id"] for cell in shown}
    assert not any(map(collapsed, shown))
    code = {name: cell["source"].replace("lecture = False\n", "lecture = True\n")
            for name, cell in old.items() if cell["cell_type"] == "code"}
    assert code == {cell["id"]: cell["source"] for cell in made if cell["cell_type"] == "code"
                    and not cell["id"].startswith("lecture-")}
    for cell in made:
        assert not collapsed(cell) or "\n" not in cell["source"]  # its words would stay in view
        assert "colab" not in cell["source"] or cell["cell_type"] == "code"
        assert not (has(cell, "predict") and cell["outputs"]), cell["id"]
    write(lesson(("md", "title", [], "# All gone")), copy)
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError):  # an earlier copy, with what was typed into it, stays
        lecture.copied(path, copy.parent)


def test_the_switches_are_there():
    code = {cell["id"]: cell["source"] for path in LESSONS for cell in cells_of(read(path))}
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
        write(lesson(("code", "learn", [], TRAINING), ("code", "oops", [], oops)),
              path := tmp_path / "02_made_up.ipynb")
        before = path.read_bytes()
        lecture.rehearse(path)
        assert ("ZeroDivisionError: " in capsys.readouterr().out) == failed
        assert lecture.mark_of(path).exists() != failed and path.read_bytes() == before
        assert len([*(tmp_path / "weights").glob("*.pt")]) == 1
    lecture.rehearse(path)
    assert capsys.readouterr().out == ""
