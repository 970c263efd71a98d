"""Tools for notebooks: as text, run and stored, what stands in two places, what nbval overlooks."""
import asyncio
import os
import platform
import re
import shutil
import socket
import subprocess
import sys

import nbformat
import pytest
import tiny

from tools import ROOT, address, environments, lab, setup
from tools.notebooks import execute, nbtext, readme

TINY = """%% md title
# 02 Tiny

%% code setup setup folded
x = 1

%% code two predict
print("two")

%% code three
3
"""
PRINTED = {"output_type": "stream", "name": "stdout", "text": ["two\n"]}


def cell(notebook, name):
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


# ---- notebooks as text ------------------------------------------------------------------------

def test_packing_keeps_outputs_of_unchanged_cells_alone():
    old = nbtext.pack(TINY, {})
    assert nbtext.unpack(old) == TINY
    for name in ("two", "three"):
        cell(old, name).update(outputs=[PRINTED], execution_count=2)
    assert nbtext.pack(nbtext.unpack(old), old) == old
    new = TINY.replace('print("two")', 'print("2")').replace("three", "three timing")
    packed = nbtext.pack(new, old)
    assert cell(packed, "two")["outputs"] == [] and cell(packed, "two")["execution_count"] is None
    assert cell(packed, "three")["outputs"] == [PRINTED]
    assert cell(packed, "three")["metadata"] == {"tags": ["timing"]}


# ---- running and storing ----------------------------------------------------------------------

@pytest.mark.slow
def test_what_varies_is_not_stored(tmp_path):
    path, bar = tmp_path / "02_tiny.ipynb", """from attention_lessons.progress import progress_bar
progress_bar('training', 3).value = 3
import ipywidgets"""
    text = TINY.replace("x = 1", bar).replace("\n3\n", "\nipywidgets.FloatProgress(3)\n")
    nbtext.write(nbtext.pack(text, {}), path)
    execute.store(path)
    stored = nbtext.read(path)
    assert nbtext.unpack(stored) == text and nbtext.pack(text, stored) == stored
    counts = [each["execution_count"] for each in stored["cells"] if "outputs" in each]
    assert counts == [1, 2, 3] and stored["metadata"] == nbtext.KERNEL
    assert cell(stored, "setup")["outputs"] == [] and cell(stored, "two")["outputs"] == [PRINTED]
    assert cell(stored, "three")["outputs"][0]["data"].keys() == {"text/plain"}


# ---- what stands in two places ----------------------------------------------------------------

@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The tiny notebooks, with what `make readme` writes."""
    for each in tiny.NOTEBOOKS:
        path = tmp_path / f"notebooks/{each.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbtext.write(each.content, path)
    (tmp_path / "README.md").write_text("".join(
        f"<!-- {name}: make readme writes this table -->\n<!-- /{name} -->\n"
        for name in ("notebooks", "deeper")), encoding="utf-8")
    (tmp_path / "tools/notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "tools/notebooks/setup_cell.txt", tmp_path / "tools/notebooks")
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(nbtext, "NOTEBOOKS", tmp_path / "notebooks")
    readme.main([])
    return tmp_path


def spoil(path, old, new):
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(old, new, text, count=1), encoding="utf-8")


def text_in(path, name):
    return "".join(cell(nbtext.read(path), name)["source"])


def test_minutes_of_the_sitting_and_of_sections_are_counted_and_lead_to_each_other(repository):
    """17 minutes are 2 and 5 for exercises, 1 for a prediction, 0.5 for a code cell, and words."""
    lesson, deeper = (repository / f"notebooks/{name}.ipynb"
                      for name in ("02_tiny", "deeper/02_tiny_deeper"))
    colab = f"[Open in Colab](https://address.invalid/colab/blob/{setup.tag()}/notebooks/"
    own, minutes, below, badge = text_in(lesson, "afterwards").split("\n\n")
    assert own == "**Afterwards you can** do it."
    assert minutes == "**Minutes:** 10, of which 7 for the exercises."
    assert below.endswith("](deeper/02_tiny_deeper.ipynb)") and badge == f"{colab}02_tiny.ipynb)"
    assert text_in(deeper, "so").startswith("## Is it so? · 5 minutes\n\n[Lesson 02]")
    assert text_in(deeper, "contents") == (
        "- [Is it so?](#cell-id=so) · 5 minutes\n- [And why?](#cell-id=why) · 4 minutes\n\n"
        f"{colab}deeper/02_tiny_deeper.ipynb)")
    page = readme.read(repository / "README.md")
    assert f"| [02 Tiny](notebooks/02_tiny.ipynb) | do it. | 10 | {colab}02_tiny.ipynb) |" in page
    row = "| [02 Tiny, deeper]({}deeper/02_tiny_deeper.ipynb) | Is it so? And why? | 9 |"
    assert row.format("notebooks/") in page
    assert row.format("") in text_in(repository / "notebooks/00_start.ipynb", "map")
    deeper.unlink()
    readme.main([])
    assert "Deeper" not in text_in(lesson, "afterwards")


LESSON = "notebooks/02_tiny.ipynb"
STALE = {LESSON: (r"\d+, of which", "1, of which"), "README.md": (r"\| \d+ \|", "| 99 |"),
         "notebooks/deeper/02_tiny_deeper.ipynb": (r"so\? · 5", "so? · 99"),
         "notebooks/00_start.ipynb": ("Colab, Kaggle", "elsewhere")}


def test_what_is_out_of_date_is_named_and_rewritten(repository, capsys):
    before = {name: (repository / name).read_bytes() for name in STALE}
    capsys.readouterr()
    for name, change in STALE.items():
        spoil(repository / name, *change)
    for arguments, code, said in ((["--check"], 1, "is out of date"), ([], 0, "rewritten")):
        assert readme.main(arguments) == code
        out = capsys.readouterr().out
        assert all(f"{name} {said}" in out for name in STALE)
    assert all((repository / name).read_bytes() == before[name] for name in STALE)


@pytest.mark.parametrize("file, old, words", [
    (LESSON, r"# 02 Tiny", "02_tiny.ipynb: the cell `title` doesn't begin with"),
    (LESSON, r"\*\*Afterwards", "02_tiny.ipynb: the cell `afterwards` doesn't begin with"),
    ("README.md", "<!-- /deeper -->", "place is not marked by one")])
def test_what_cannot_be_read_is_named(repository, file, old, words):
    spoil(repository / file, old, "thirty")
    with pytest.raises(SystemExit, match=words):
        readme.main([])


def test_notebooks_are_chosen_by_names_of_all_languages(repository):
    chinese = repository / "notebooks/zh/deeper"
    chinese.mkdir(parents=True)
    shutil.copy(repository / "notebooks/deeper/02_tiny_deeper.ipynb", chinese)
    found = {"02": ["02", "deeper/02", "deeper/02"], "deeper/02": ["deeper/02", "deeper/02"],
             "zh/deeper/02": ["deeper/02"], "02_tiny.i": ["02"]}
    for word, places in found.items():
        assert [*map(nbtext.place, nbtext.chosen([word]))] == places
    with pytest.raises(SystemExit, match="No notebook is called 77 or zh/02."):
        nbtext.chosen(["77", "zh/02"])
    english, = nbtext.deeper()
    path = nbtext.in_language(english, "zh")
    assert path == chinese / "02_tiny_deeper.ipynb" and nbtext.in_language(path) == english
    assert nbtext.lesson_of(path) == repository / "notebooks/zh/02_tiny.ipynb"


def test_a_section_becomes_a_notebook_of_its_own(repository):
    made = dict(environments.alone(nbtext.deeper()[0]))
    assert [each["id"] for each in made["why"]["cells"]] == [
        "setup", "why", "why-code", "exercise-lengths", "answer-lengths", "solution-lengths"]
    assert [*made] == ["so", "why"]


# ---- the address --------------------------------------------------------------------------------

@pytest.mark.parametrize("url, holds", [
    ("https://github.com/you/yours.too", [f"github/you/yours.too/blob/{setup.tag()}",
                                          "you.github.io/yours", "v2/gh/you/yours.too/main"]),
    ("https://gitlab.com/a/b/yours", ["v2/gl/a%2Fb%2Fyours/main"]),
    ("https://gitee.com/you/yours", ["v2/git/https%3A%2F%2Fgitee.com%2Fyou%2Fyours/main"])])
def test_the_address_is_set_everywhere_and_can_be_set_again(tmp_path, monkeypatch, url, holds):
    tag = setup.tag()
    monkeypatch.setattr(address.setup, "tag", lambda: tag)
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
    with pytest.raises(SystemExit, match="is the address already"):
        address.main(url)


@pytest.mark.parametrize("outer", [False, True], ids=["unpacked", "in another repository"])
def test_the_address_is_set_in_an_unpacked_archive(tmp_path, monkeypatch, capsys, outer):
    if outer:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    folder = tmp_path / "lessons"
    for name in (".github/a.yml", "b.md", ".venv/c.md", "dist/d.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"see {address.NOBODYS}", encoding="utf-8")
    monkeypatch.setattr(address.setup, "ROOT", folder)
    monkeypatch.setattr(address.setup, "address", lambda: address.NOBODYS)
    monkeypatch.setattr(address.setup, "tag", lambda: "v7")
    address.main("https://github.com/you/yours")
    assert [name for name in (".github/a.yml", "b.md", ".venv/c.md", "dist/d.md")
            if "you/yours" in (folder / name).read_text()] == [".github/a.yml", "b.md"]
    assert "git tag v7 && git push origin v7" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="No file in .* holds the address"):
        address.main("https://github.com/you/others")


# ---- what nbval overlooks ---------------------------------------------------------------------

def overlooked(text):
    from nbval.plugin import get_sanitize_patterns
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

@pytest.mark.parametrize("uid, made", [(0, ["--allow-root"]), (1000, [])])
def test_root_may_open_jupyterlab(monkeypatch, uid, made):
    monkeypatch.setattr(lab.os, "geteuid", lambda: uid)
    first, _, *others = lab.options("a.ipynb", ["--port", "1"])
    assert first.endswith("/a.ipynb") and others == [*made, "--port", "1"]


@pytest.mark.parametrize("words, environ, wanted", [
    ([], {"LANG": "C.UTF-8"}, ("notebooks/00_start_here.ipynb", [])),
    ([], {"LANG": "zh_CN.UTF-8"}, ("notebooks/zh/00_start_here.ipynb", [])),
    (["en"], {"LANG": "zh_CN.UTF-8"}, ("notebooks/00_start_here.ipynb", [])),
    (["zh", "--ip", "x"], {}, ("notebooks/zh/00_start_here.ipynb", ["--ip", "x"]))])
def test_lab_opens_the_lessons_in_the_language_asked_for(words, environ, wanted):
    assert lab.first(words, environ) == wanted


def test_a_lesson_is_read_as_jupyterlab_makes_it_so_that_it_does_not_count_as_changed(
        tmp_path, monkeypatch):
    from tools.jupyter_contents import Notebooks  # Jupyter's server takes half a second
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))  # Jupyter notes there that it was here
    stored = nbformat.writes(nbformat.v4.new_notebook(metadata={"language_info": {"name": "x"}}))
    (tmp_path / "a.ipynb").write_text(stored)
    read = asyncio.run(Notebooks(root_dir=str(tmp_path)).get("a.ipynb"))["content"]["metadata"]
    assert read["language_info"]["version"] == platform.python_version()
    assert read["kernelspec"]["display_name"] == "Python 3 (ipykernel)"
    assert (tmp_path / "a.ipynb").read_text() == stored


def test_lessons_are_trusted_as_they_came_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))  # it notes there that it ran
    for name in "ab":
        nbformat.write(nbformat.v4.new_notebook(), tmp_path / f"{name}.ipynb")
    for command in "init -q", "add .", "-c user.name=me -c user.email=me@here commit -qm one":
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    cells = [nbformat.v4.new_code_cell("mine")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "b.ipynb")
    lab.sign(tmp_path)
    trusted = [nbformat.sign.NotebookNotary().check_signature(
        nbformat.read(tmp_path / f"{name}.ipynb", as_version=4)) for name in "ab"]
    assert trusted == [True, False]


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
