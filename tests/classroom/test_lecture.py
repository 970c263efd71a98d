"""A copy cut for a lecture: what it hides and asks first, and what a rehearsal keeps."""
import pytest
from tools.classroom import lecture
from tools.notebooks.nbtext import (KERNEL, cells_of, has, inner, make_cell, notebooks, place, read,
                                    write)
from tools.notebooks.readme import sitting


def lesson(*cells):
    return {"cells": [make_cell(*cell, {}) for cell in cells], "metadata": KERNEL,
            "nbformat": 4, "nbformat_minor": 5}


def code_of(cells):
    return {cell["id"]: cell["source"] for cell in cells if cell["cell_type"] == "code"}


def collapsed(cell):
    return cell["metadata"].get("jp-MarkdownHeadingCollapsed", False)


# ---- the copy ----

def test_a_prediction_comes_first_and_running_its_cell_shows_the_result():
    notebook = lesson(("md", "ask", [], "## Which?\n\n**Predict:** a or b?"),
                      ("code", "guess", ["predict"], "2 + 2"),
                      ("code", "proof", [], "assert True"),
                      ("md", "reading", [], "It is b, as four is even."),
                      ("md", "more", [], "Go on."))
    notebook["cells"][1].update(outputs=[{"output_type": "stream"}], execution_count=3)
    made = lecture.cut(notebook)["cells"]
    guess, reading = made[1], made[3]
    assert guess["outputs"] == [] and guess["execution_count"] is None
    assert not {"jupyter", "collapsed"} & {*guess["metadata"]}  # else the result stays folded
    assert "even" not in reading["source"].splitlines()[0]  # the bar shows the first line
    assert [cell["id"] for cell in made if "jupyter" in cell["metadata"]] == ["reading"]
    assert notebook["cells"][1]["outputs"], "the lesson itself was changed"


def test_what_comes_after_the_sitting_collapses():
    made = lecture.cut(lesson(("md", "title", [], "# One"), ("md", "next", [], "**Next:** two."),
                              ("md", "at-home", [], "# At home\n\nWords."), ("code", "x", [], "1")))
    assert [(cell["id"], cell["source"], collapsed(cell)) for cell in made["cells"]] == [
        ("title", "# One", False), ("next", "**Next:** two.", False),
        ("at-home", "# At home", True), ("at-home-words", "Words.", False), ("x", "1", False)]


@pytest.mark.parametrize("path", notebooks(), ids=place)
def test_a_copy_shows_the_sitting_and_has_the_lessons_code(path, tmp_path):
    before, folder = path.read_bytes(), tmp_path / "copy"
    copy = lecture.copied(path, folder)
    assert copy == folder / inner(path)
    assert all((folder / inner(other)).exists() for other in notebooks())
    old, made = cells_of(read(path)), cells_of(read(copy))
    shown = sitting(made)
    assert {cell["id"] for cell in sitting(old)} <= {cell["id"] for cell in shown}
    assert not any(map(collapsed, shown))
    assert code_of(made) == {name: source.replace("lecture = False\n", "lecture = True\n")
                             for name, source in code_of(old).items()}
    for cell in made:
        assert not collapsed(cell) or "\n" not in cell["source"]  # its words would stay in view
        assert "colab" not in cell["source"] or cell["cell_type"] == "code"
        assert not (has(cell, "predict") and cell["outputs"]), cell["id"]
    write(lesson(("md", "title", [], "# All gone")), copy)
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError):  # an earlier copy, with what was typed into it, stays
        lecture.copied(path, folder)


@pytest.mark.parametrize("words", ["", "77", "02 05"])
def test_no_lesson_an_unknown_one_or_two_get_a_sentence(words):
    with pytest.raises(SystemExit, match=f"00, .*as in make lecture NB=02; got '{words}'."):
        lecture.asked_for(words.split())
    assert lecture.asked_for(["02", "--no-browser"]).name.startswith("02")
    assert lecture.asked_for(["zh/02"]).parent.name == "zh"


# ---- trainings that are not repeated ----

TRAINING = """from attention_lessons.laboratory import find_marked, reader, train
train(reader("GRU", 16, 8), find_marked(), 9, lengths=(5, 5), batch=4)"""


@pytest.mark.slow
def test_a_rehearsal_keeps_weights_names_errors_and_is_not_repeated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lecture, "TARGET", tmp_path)
    monkeypatch.setenv("D2L_EXT_WEIGHTS", str(tmp_path / "weights"))
    path = tmp_path / "02_made_up.ipynb"
    said = []
    for last in ("1 / 0", "1 / 0", "1 / 1", "1 / 1"):
        write(lesson(("code", "learn", [], TRAINING), ("code", "last", [], last)), path)
        before = path.read_bytes()
        lecture.rehearse(path)
        said.append(capsys.readouterr().out)
        assert path.read_bytes() == before
        assert len([*(tmp_path / "weights").glob("*.pt")]) == 1
    assert ["ZeroDivisionError: " in words for words in said] == [True, True, False, False]
    assert "is rehearsed" in said[2] and said[3] == ""
