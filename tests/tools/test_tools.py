"""Tools for notebooks: as text, run and stored, what stands in two places, what nbval overlooks."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns

from tools.notebooks import execute
from tools import address, lab
from tools.notebooks import nbtext
from tools.notebooks import readme

ROOT = Path(__file__).parents[2]
TINY = """%% md title core
# 02 Tiny

**Afterwards you can** see | hear.

**Minutes:** 30 core, 60 with everything. **You need:** nothing.

[Open in Colab](https://colab.research.google.com/github/a/b/blob/main/notebooks/x)

%% code setup core setup folded
x = 1

%% code two core predict
print("two")

%% code three deeper
3
"""
PRINTED = {"output_type": "stream", "name": "stdout", "text": ["two\n"]}


def tiny(path, *changes):
    """Write the tiny notebook with some text replaced."""
    text = TINY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    nbtext.write(nbtext.pack(text, {}), path)
    return text


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cell(notebook, name):
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


# ---- notebooks as text ------------------------------------------------------------------------

def test_text_survives_packing_and_makes_a_valid_notebook():
    packed = nbtext.pack(TINY, {})
    assert nbtext.unpack(packed) == TINY
    nbformat.validate(packed)
    folded = {"tags": ["core", "setup"], "jupyter": {"source_hidden": True}, "cellView": "form"}
    assert cell(packed, "setup")["metadata"] == folded
    answer = {"tags": ["core", "predict"], "jupyter": {"outputs_hidden": True}, "collapsed": True}
    assert cell(packed, "two")["metadata"] == answer


def test_packing_keeps_outputs_of_unchanged_cells_alone():
    old = nbtext.pack(TINY, {})
    for name in ("two", "three"):
        cell(old, name).update(outputs=[PRINTED], execution_count=2)
    assert nbtext.pack(nbtext.unpack(old), old) == old
    new = TINY.replace('print("two")', 'print("2")').replace("three deeper", "three core")
    packed = nbtext.pack(new, old)
    assert cell(packed, "two")["outputs"] == [] and cell(packed, "two")["execution_count"] is None
    assert cell(packed, "three")["outputs"] == [PRINTED]
    assert cell(packed, "three")["metadata"] == {"tags": ["core"]}


# ---- running and storing ----------------------------------------------------------------------

@pytest.mark.slow
def test_runs_are_stored_without_what_varies_and_compared(tmp_path):
    bar = "from attention_lessons.progress import progress_bar\n"
    bar += "progress_bar('training', 3).value = 3\n"
    path = tmp_path / "02_tiny.ipynb"
    text = tiny(path, ("x = 1", bar + "import ipywidgets, random, time\nx = 1"),
                ("\n3\n", "\nipywidgets.FloatProgress(3)\n\n%% code four core\nrandom.random()\n"
                 "\n%% code five core timing\ntime.time()\n"))
    runs = [execute.shown(execute.executed(path)) for _ in range(2)]
    assert execute.differing(runs) == ["four"] and "five" not in runs[0]
    assert nbtext.unpack(load(path)) == text and cell(load(path), "two")["outputs"] == []
    execute.store(path)
    stored = load(path)
    assert nbtext.unpack(stored) == text and nbtext.pack(text, stored) == stored
    counts = [each["execution_count"] for each in stored["cells"] if "outputs" in each]
    assert counts == [1, 2, 3, 4, 5] and stored["metadata"] == nbtext.KERNEL
    assert cell(stored, "setup")["outputs"] == [] and cell(stored, "two")["outputs"] == [PRINTED]
    assert cell(stored, "three")["outputs"][0]["data"].keys() == {"text/plain"}


# ---- minutes ----------------------------------------------------------------------------------

EXERCISE = "## Build: a thing · 7 minutes · level 1" + " word" * 300
KINDS_OF_CELLS = [
    # Markdown, tags, text, minutes
    (True, {"core"}, "word " * 260, 2),
    (True, {"core"}, "`word` $x$ <b></b>" * 260, 0),
    (False, {"core"}, "x = 1", 0.5),
    (False, {"core", "predict"}, "x", 1),
    (False, {"core", "explorer"}, "x", 2),
    (True, {"core", "exercise"}, EXERCISE, 7),
    (False, {"core", "exercise"}, "x", 0),
    (True, {"deeper"}, "## A page · 15 minutes · deeper\n", 15),
    (True, {"core", "references"}, "word " * 260, 0),
    (True, {"core", "solution"}, "word " * 260, 0),
    (True, {"core", "homework"}, "word " * 260, 0),
    (False, {"core", "setup"}, "x", 0),
]


def test_minutes_are_counted_and_add_up_by_part():
    for *given, wanted in KINDS_OF_CELLS:
        assert readme.cell_minutes(*given) == wanted, given
    cells = [kind[:3] for kind in KINDS_OF_CELLS]
    found = [readme.minutes(cells, part) for part in (None, "core", "deeper")]
    assert found == [round(27.5), round(12.5), 15]


# ---- what stands in two places ----------------------------------------------------------------

RESULT = {"date": "2026-01-02", "python": "3.13.1", "torch": "1.2", "numpy": "1.2",
          "matplotlib": "1.2", "ipython": "1.2", "ipywidgets": "1.2", "anywidget": "1.2",
          "jupyterlab": None, "tests": 0, "cells": 1352, "failed": 2, "skipped": 0}
README = """  git clone https://github.com/a/b.git
See https://github.com/x/y
<!-- notebooks: make readme writes this table -->
<!-- /notebooks -->
<!-- versions: make readme writes this table -->
<!-- /versions -->
The end.
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository of which Colab's leg was run."""
    for folder in ("notebooks", "tests", "d2l_ext", ".venv-colab"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools/notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "tools/notebooks/setup_cell.txt", tmp_path / "tools/notebooks")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    older = RESULT | {"date": "2025-12-31"}
    (tmp_path / readme.KEPT).write_text(json.dumps({"colab": older}), encoding="utf-8")
    (tmp_path / ".venv-colab/result-colab.json").write_text(json.dumps(RESULT), encoding="utf-8")
    tiny(tmp_path / "notebooks/02_tiny.ipynb")
    tiny(tmp_path / "notebooks/00_start_here.ipynb", ("02 Tiny", "00 Start"),
         ("%% code two", "%% md map core\nold\n\n%% code two"))
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    return tmp_path


def test_the_check_names_what_is_out_of_date_and_changes_nothing(repository, capsys):
    before = {path: path.read_bytes() for path in repository.rglob("*.*") if path.is_file()}
    assert readme.main(["--check"]) == 1
    said = capsys.readouterr().out
    for name in ("notebooks/02_tiny.ipynb", "README.md"):
        assert f"{name} is out of date" in said
    assert before == {path: path.read_bytes() for path in before}
    assert readme.main([]) == 0 and readme.main(["--check"]) == 0


def test_set_up_minutes_and_tables_are_written(repository):
    readme.main([])
    notebook = load(repository / "notebooks/02_tiny.ipynb")
    title = "".join(cell(notebook, "title")["source"])
    assert "**Minutes:** 1 core, 2 with everything." in title
    assert "".join(cell(notebook, "setup")["source"]) == readme.setup_source()
    start = load(repository / "notebooks/00_start_here.ipynb")
    map_ = "".join(cell(start, "map")["source"])
    assert r"| [02 Tiny](02_tiny.ipynb) | see \| hear. | 1 / 2 |" in map_ and "Start" not in map_
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert "See https://github.com/x/y" in text and text.endswith("The end.\n")
    assert r"| [02 Tiny](notebooks/02_tiny.ipynb) | see \| hear. | 1 / 2 | [Open" in text


def test_the_last_result_of_a_leg_is_written_and_kept(repository):
    readme.main([])
    row = "| 3.13.1 |" + " 1.2 |" * 6 + "  | 2 failed, 1,352 cells the same (2026-01-02) |"
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert row in text and "Not run: an NVIDIA GPU (`make test-gpu`); " in text
    (repository / ".venv-colab/result-colab.json").unlink()
    assert readme.main([]) == readme.main(["--check"]) == 0
    assert text == (repository / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file, old, new, words", [
    ("notebooks/02_tiny.ipynb", "30 core", "thirty", "02_tiny.ipynb: its title lacks a line"),
    ("README.md", "<!-- /versions -->", "", "place is not marked by one"),
])
def test_what_cannot_be_read_is_named(repository, file, old, new, words):
    text = (repository / file).read_text(encoding="utf-8")
    assert old in text
    (repository / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SystemExit, match=words):
        readme.main([])


# ---- the address --------------------------------------------------------------------------------

@pytest.mark.parametrize("url, holds", [
    ("https://github.com/you/yours.too", ["github/you/yours.too/blob/main", "you.github.io/yours",
                                          "v2/gh/you/yours.too/main"]),
    ("https://gitlab.com/a/b/yours", ["v2/gl/a%2Fb%2Fyours/main"]),
    ("https://gitee.com/you/yours", ["v2/git/https%3A%2F%2Fgitee.com%2Fyou%2Fyours/main"])])
def test_the_address_is_set_everywhere_and_can_be_set_again(tmp_path, monkeypatch, url, holds):
    texts = "\n".join(f"see {form}x" for form in address.forms(address.NOBODYS))
    (tmp_path / "README.md").write_text(texts, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    monkeypatch.setattr(address.setup, "ROOT", tmp_path)
    for old, new in [(address.NOBODYS, url), (url, address.NOBODYS)]:
        monkeypatch.setattr(address.setup, "address", lambda old=old: old)
        address.main(new + "/")
        made = (tmp_path / "README.md").read_text(encoding="utf-8")
        assert (made == texts) is (new == address.NOBODYS)
        assert all(words in made for words in holds) is (new == url)
    with pytest.raises(SystemExit, match="example.org/a/b is not of the form"):
        address.main("https://example.org/a/b")


# ---- what nbval overlooks ---------------------------------------------------------------------

def overlooked(text):
    settings = (ROOT / "tests/nbval_sanitize.cfg").read_text(encoding="utf-8")
    for pattern, replacement in get_sanitize_patterns(settings):
        text = re.sub(pattern, replacement, text)
    return text


def test_nbval_overlooks_times_devices_addresses_and_versions_alone():
    one = "took 3.2 s or 8ms on cuda:0, <f at 0x7f12ab34>, torch 2.13.0+cpu"
    other = "took 10.75 s or 12ms on cpu, <f at 0x55aa0011>, torch 2.11.0"
    assert overlooked(one) == overlooked(other)
    for text in ("weights [0.5, 0.25, 0.25]", "after the softmax 32", "3 sentences", "0x10 levels",
                 "12,288 operations", "1.5 2.5 3.5", "1 second-hand", "h1 h2s 3x"):
        assert overlooked(text) == text


# ---- opening JupyterLab ------------------------------------------------------------------------

@pytest.mark.parametrize("uid, environ, wanted, unwanted", [
    (0, {}, {"--allow-root", "--no-browser"}, set()),
    (1000, {"DISPLAY": ":0"}, set(), {"--allow-root", "--no-browser"})])
def test_root_may_and_no_browser_is_opened_where_there_is_none(
        monkeypatch, uid, environ, wanted, unwanted):
    monkeypatch.setattr(lab.os, "geteuid", lambda: uid)
    monkeypatch.setattr(lab.sys, "platform", "linux")
    monkeypatch.setattr(lab, "has_browser", partial(lab.has_browser, environ))
    made = set(lab.options("a.ipynb", ["--port", "1"]))
    assert wanted <= made and not unwanted & made and "1" in made


@pytest.mark.parametrize("words, environ, wanted", [
    ([], {"LANG": "C.UTF-8"}, ("notebooks/00_start_here.ipynb", [])),
    ([], {"LANG": "zh_CN.UTF-8"}, ("notebooks/zh/00_start_here.ipynb", [])),
    (["en"], {"LANG": "zh_CN.UTF-8"}, ("notebooks/00_start_here.ipynb", [])),
    (["zh", "--ip", "x"], {}, ("notebooks/zh/00_start_here.ipynb", ["--ip", "x"]))])
def test_lab_opens_the_lessons_in_the_language_asked_for(words, environ, wanted):
    assert lab.first(words, environ) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("home", [None, "/proc"])  # none, and one that can't be written
def test_make_lab_serves_the_first_lesson_to_whoever_asks(home, tmp_path):
    environ = {key: value for key, value in os.environ.items() if key != "HOME"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "tools.lab", "--no-browser", "--port", port]
    with subprocess.Popen(command, env=environ | ({"HOME": home} if home else {}), cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            said = next((line for line in server.stdout if f":{port}/lab/tree/" in line), "")
        finally:
            server.terminate()
    assert said.split("?")[0].endswith("notebooks/00_start_here.ipynb")
