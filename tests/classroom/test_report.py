"""The class report counts what `check` said, and whatever was handed in costs a line at most."""
import csv
import json
import os

import pytest
from tools.classroom import report

from attention_lessons import check, language
from attention_lessons.exercises.kinds import MARKS

SPLIT = "def my_split(X, num_heads):\n    ...\n\ncheck('split-heads', my_split)"


def notebook(*cells):
    """A notebook of cells, each of its source and what stands below."""
    def output(words):
        if isinstance(words, ZeroDivisionError):
            return {"output_type": "error", "ename": "ZeroDivisionError", "evalue": str(words)}
        return {"output_type": "execute_result", "data": {"text/plain": words.splitlines(True)}}
    return json.dumps({"cells": [
        {"cell_type": "code", "source": source.splitlines(True), "outputs": [*map(output, words)]}
        for source, *words in cells]}, ensure_ascii=False)


def reported(folder, capsys):
    """The table, by student, and what was printed."""
    report.main([str(folder)], folder.with_suffix(".report"))
    with open(folder.with_suffix(".report") / "report.csv", encoding="utf-8-sig") as file:
        return {line.pop("student"): line for line in csv.DictReader(file)}, capsys.readouterr().out


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "all").mkdir()
    return tmp_path / "all"


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_every_answer_of_check_is_read_in_each_language(folder, capsys, spoken):
    language(spoken)
    said = {name: repr(check("four-heads", letter))
            for name, letter in (("anna", "a"), ("ben", "b"), ("eve", ""))}
    language("en")
    for name, words in said.items():
        (folder / f"{name}.ipynb").write_text(notebook(("check('four-heads', x)", words)), "utf-8")
    table, out = reported(folder, capsys)
    assert {name: line["four-heads"] for name, line in table.items()} == said
    assert {words[0] for words in said.values()} == {*MARKS.values()} < {*report.MARKS}
    assert out.startswith(f"1 of 3: four-heads: {said['ben']}\n3 students: ")


def test_what_to_repeat_comes_by_frequency_whatever_the_numbers(folder, capsys):
    """A student counts once, with the best of several answers, among those who had the exercise;
    an error before the answer counts as well."""
    shape = "✗ The shape should be (2, {0}), yours is (2, 3, {0}).\n  It was called with {0}."
    for name, *said in (("anna", shape.format(4), shape.format(5)), ("ben", shape.format(61)),
                        ("kim",), ("abe", ZeroDivisionError("no")),
                        ("mia", "✗ Not at all.", "✓ Right.")):
        cells = [(SPLIT, words) for words in said] or [(SPLIT,)]
        (folder / f"{name}.ipynb").write_text(notebook(*cells), "utf-8")
    both = f"print(check('pooling', x))\n{SPLIT}"
    (folder / "noa.ipynb").write_text(notebook((both, "✗ Softmax.", "✗ No."), ("x",)), "utf-8")
    table, out = reported(folder, capsys)
    assert out.splitlines()[:4] == [
        "2 of 6: split-heads: ✗ The shape should be (2, 4), yours is (2, 3, 4).",
        "1 of 6: split-heads: ! ZeroDivisionError: no", "1 of 6: split-heads: ✗ No.",
        "1 of 1: pooling: ✗ Softmax."]
    assert [line["split-heads"][0] for line in table.values()] == [*"!✗✗–✓✗"]
    assert [line["pooling"] for line in table.values()] == [""] * 5 + ["✗ Softmax."]


GOOD = notebook((SPLIT, "✓ Right."))
WINDOWS = json.dumps(json.loads(GOOD), indent=1).replace("\n", "\r\n").replace("\\n", "\\r\\n")
FILES = [  # a file's name, its bytes or text, the student, what is read of it, and what isn't
    ("windows.ipynb", WINDOWS, "windows", "✓", ""),
    ("bom.ipynb", GOOD.encode("utf-8-sig"), "bom", "✓", ""),
    ("wide.ipynb", GOOD.encode("utf-16"), "wide", "✓", ""),
    ("upper.IPYNB", GOOD, "upper", "✓", ""),
    ("Zoë_12_file_/a/b.ipynb", GOOD, "Zoë_12_file_", "✓", ""),
    ("many.ipynb", notebook(*[(SPLIT, "✗ No.")] * 10_000, (SPLIT, "✓ Yes.")), "many", "✓", ""),
    ("names.ipynb", notebook(*[(f"check('x{i}', 1)", "✓ Yes.") for i in range(999)]), "names", "",
     "no notebook"),
    ("new.ipynb", notebook((SPLIT,)), "new", "–", ""),
    ("latin.ipynb", '{"cells": "é"}'.encode("latin-1"), "latin", "", "UnicodeDecodeError"),
    ("broken.ipynb", GOOD[:-9], "broken", "", "JSONDecodeError"),
    ("old.ipynb", '{"worksheets": []}', "old", "", "KeyError"),
    ("deep.ipynb", "[" * 10**6, "deep", "", "RecursionError"),
    ("large.ipynb", " " * (2**22 + 1), "large", "", "larger than 4 MiB"),
    ("page.pdf", "%PDF", "page", "", "no notebook"),
    ("=HYPERLINK(1).ipynb", GOOD, "'=HYPERLINK(1)", "✓", ""),
    ("<b>\"O'Brien\"&.ipynb", GOOD, "<b>\"O'Brien\"&", "✓", ""),
    ("two\nlines\x1b[2J.ipynb", GOOD, "two lines [2J", "✓", ""),
    ("words.ipynb", notebook((SPLIT, "✗ <script>alert(1)</script>\ud800")), "words", "✗", ""),
]
HIDDEN = "._bom.ipynb", "__MACOSX/a.ipynb", "bom/.ipynb_checkpoints/a.ipynb", ".git/a"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names, links and pipes")
def test_whatever_was_handed_in_costs_a_line(folder, capsys, monkeypatch):
    monkeypatch.setattr(report, "LARGEST", 2**22)
    for name, content, *_ in [*FILES, *((name, GOOD) for name in HIDDEN)]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(
            content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    (folder / "linked.ipynb").symlink_to(folder / "bom.ipynb")
    (folder / "up").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.ipynb")  # to read it would take forever
    table, out = reported(folder, capsys)
    wanted = {student: parts for _, _, student, *parts in FILES} | dict.fromkeys(
        ("linked", "pipe"), ("", "only ordinary files"))
    assert table.keys() == wanted.keys() and f"{len(wanted)} students" in out
    for name, (mark, unread) in wanted.items():
        assert [*table[name]] == ["split-heads", "not read"]
        assert table[name]["split-heads"][:1] == mark and unread in table[name]["not read"], name
        assert bool(unread) == bool(table[name]["not read"])
    page = (folder.with_suffix(".report") / "report.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page and "<b>" not in page
    assert 'title="✗ &lt;script&gt;alert(1)&lt;/script&gt;"' in page


def test_a_folder_that_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match="FOLDER is not a folder: .*none"):
        report.main([str(tmp_path / "none")])
