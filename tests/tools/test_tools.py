"""The maintainers' tools: notebooks as text, running and storing, the address, README's table, and what nbval is told to overlook."""
import json
import re

import pytest
from nbval.plugin import get_sanitize_patterns
import address
import nbtext
import readme
from readme import ROOT
from rules.outputs import WIDGET
from tiny_lessons import GOOD

import execute
import reproduce

TINY = """%% md title core
# 02 Tiny

**Afterwards you can** see | hear.

**Minutes:** 30 core, 60 with everything. **You need:** nothing.

[![Open in Colab](badge.svg)](https://colab.research.google.com/github/attention-notebooks/attention-notebooks/blob/main/notebooks/02_tiny.ipynb)

%% code setup core setup folded
install("git+https://github.com/attention-notebooks/attention-notebooks")

%% code two core predict
print("two")

%% code three deeper
3
"""
PRINTED = {"output_type": "stream", "name": "stdout", "text": ["two\n"]}


def tiny(**outputs):
    notebook = nbtext.pack(TINY, {})
    for cell in notebook["cells"]:
        if cell["id"] in outputs:
            cell |= {"outputs": [outputs[cell["id"]]], "execution_count": 2}
    return notebook


def cell(notebook, name):
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


# ---- notebooks as text ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [TINY, GOOD.strip() + "\n"])
def test_text_survives_packing(text):
    assert nbtext.unpack(nbtext.pack(text, {})) == text


def test_packing_keeps_outputs_of_unchanged_cells_alone():
    old = tiny(two=PRINTED, three=PRINTED)
    assert nbtext.pack(nbtext.unpack(old), old) == old
    new = nbtext.pack(TINY.replace('print("two")', 'print("2")').replace("%% code three deeper", "%% code three core"), old)
    assert cell(new, "two")["outputs"] == [] and cell(new, "two")["execution_count"] is None
    assert cell(new, "three")["outputs"] == [PRINTED] and cell(new, "three")["metadata"] == {"tags": ["core"]}


def test_packing_makes_a_valid_notebook(tmp_path):
    import nbformat
    nbtext.write(tiny(two=PRINTED), tmp_path / "02.ipynb")
    notebook = nbformat.read(tmp_path / "02.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[1].metadata == {"tags": ["core", "setup"], "jupyter": {"source_hidden": True}, "cellView": "form"}


@pytest.mark.parametrize("line", ["%% md Title core", "%% markdown title core", "%% md"])
def test_a_bad_header_is_named(line):
    with pytest.raises(SystemExit, match=f"line 2: '{line}' is no cell header"):
        nbtext.pack(f"%% md first core\n{line}\n", {})


# ---- running and storing ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, names", [([], ["00_a", "01_b"]), (["01"], ["01_b"]), (["a", "00"], ["00_a"])])
def test_notebooks_are_chosen_by_words(tmp_path, words, names):
    for name in ("01_b.ipynb", "00_a.ipynb", "00_a.txt"):
        (tmp_path / name).touch()
    assert [path.stem for path in nbtext.chosen(words, tmp_path)] == names
    with pytest.raises(SystemExit, match="^No notebook is called 07 or c.$"):
        nbtext.chosen(["07", "c"], tmp_path)


def test_live_widgets_are_not_stored():
    bar = {"output_type": "display_data", "data": {WIDGET: {"model_id": "1f"}, "text/plain": "FloatProgress(value=1.0)"}, "metadata": {}}
    page = {"output_type": "display_data", "data": {WIDGET: {}, "text/html": "<div>", "text/plain": "explorer"}, "metadata": {}}
    assert execute.lasting(bar)["data"] == {"text/plain": "FloatProgress(value=1.0)"}  # strict nbval compares it
    assert execute.lasting(page)["data"] == {"text/html": "<div>", "text/plain": "explorer"}
    assert execute.lasting(dict(PRINTED)) == PRINTED
    alone = {"output_type": "display_data", "data": {WIDGET: {"model_id": "1f"}}, "metadata": {}}
    kept = [output for output in map(execute.lasting, (alone, bar, dict(PRINTED))) if not execute.empty(output)]
    assert kept == [bar, PRINTED]


def test_a_bar_leaves_nothing_where_it_was(tmp_path):
    bar = 'from d2l_ext.progress import progress_bar\nprogress_bar("training", 3).value = 3\nprint("two")'
    path = tmp_path / "02_tiny.ipynb"
    install = 'install("git+https://github.com/attention-notebooks/attention-notebooks")'
    nbtext.write(nbtext.pack(TINY.replace(install, "1").replace('print("two")', bar), {}), path)
    execute.execute(path)
    assert cell(json.loads(path.read_text(encoding="utf-8")), "two")["outputs"] == [PRINTED]


def test_a_notebook_is_run_and_stored_without_what_varies(tmp_path):
    path = tmp_path / "02_tiny.ipynb"
    text = TINY.replace('install("git+https://github.com/attention-notebooks/attention-notebooks")', "import ipywidgets").replace("\n3\n", "\nipywidgets.FloatProgress(3)\n")
    nbtext.write(nbtext.pack(text, {}), path)
    execute.execute(path)
    first = path.read_text(encoding="utf-8")
    stored = json.loads(first)
    assert nbtext.unpack(stored) == text and nbtext.pack(text, stored) == stored
    assert [cell["execution_count"] for cell in stored["cells"] if cell["cell_type"] == "code"] == [1, 2, 3]
    assert cell(stored, "two")["outputs"] == [PRINTED] and stored["metadata"] == nbtext.KERNEL
    assert cell(stored, "three")["outputs"][0]["data"].keys() == {"text/plain"}


def test_cells_that_show_something_else_each_time_are_named(tmp_path):
    text = TINY.replace('install("git+https://github.com/attention-notebooks/attention-notebooks")', "import random, time").replace(
        'print("two")', "random.random()") + "\n%% code four deeper timing\ntime.time()\n"
    path = tmp_path / "02_tiny.ipynb"
    nbtext.write(nbtext.pack(text, {}), path)
    before = path.read_bytes()
    runs = [reproduce.shown(execute.executed(path)) for _ in range(2)]
    assert reproduce.differing(runs) == ["two"] and runs[0]["three"] == runs[1]["three"] and "four" not in runs[0]
    assert path.read_bytes() == before


# ---- the address and the tables ---------------------------------------------------------------------------------------------------------

@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository with another address than its notebooks say."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nRepository = "https://github.com/you/yours.too"\n', encoding="utf-8")
    (tmp_path / "README.md").write_text(f"  git clone https://github.com/a/b.git\nSee https://github.com/x/y\n{readme.START}\n{readme.END}\nThe end.\n", encoding="utf-8")
    nbtext.write(tiny(two=PRINTED), tmp_path / "notebooks/02_tiny.ipynb")
    start = TINY.replace("# 02 Tiny", "# 00 Start") + "\n%% md map core\nold\n"
    nbtext.write(nbtext.pack(start, {}), tmp_path / "notebooks/00_start_here.ipynb")
    for tool in (address, readme):
        monkeypatch.setattr(tool, "ROOT", tmp_path)
    return tmp_path


def test_address_is_checked_and_written(repository, capsys):
    before = {path: path.read_bytes() for path in repository.rglob("*.*") if path.is_file()}
    assert address.main(["--check"]) == 1 and "notebooks/02_tiny.ipynb is out of date" in capsys.readouterr().out
    assert before == {path: path.read_bytes() for path in before}
    assert address.main([]) == 0 and address.main(["--check"]) == 0
    notebook = json.loads((repository / "notebooks/02_tiny.ipynb").read_text(encoding="utf-8"))
    assert "github/you/yours.too/blob/main/notebooks/02_tiny.ipynb" in "".join(cell(notebook, "title")["source"])
    assert 'git+https://github.com/you/yours.too"' in "".join(cell(notebook, "setup")["source"])
    assert cell(notebook, "two")["outputs"] == [PRINTED]
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert "git clone https://github.com/you/yours.too" in text and "See https://github.com/x/y" in text


def test_another_kind_of_address_is_refused(repository):
    (repository / "pyproject.toml").write_text('[project.urls]\nRepository = "https://example.org/x"\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="example.org/x is not of the form"):
        address.slug()


KINDS_OF_CELLS = [  # whether it is Markdown, tags, text, minutes
    (True, {"core"}, "word " * 260, 2), (True, {"core"}, "`word` $x$ <b></b>" * 260, 0), (False, {"core"}, "x = 1", 0.5),
    (False, {"core", "predict"}, "x", 1), (False, {"core", "explorer"}, "x", 2),
    (True, {"core", "exercise"}, "## Build: a thing · 7 minutes · level 1" + " word" * 300, 7), (False, {"core", "exercise"}, "x", 0),
    (True, {"deeper"}, "## A page · 15 minutes · deeper\n", 15),
    *((True, {"core", tag}, "word " * 260, 0) for tag in ("references", "solution", "homework")), (False, {"core", "setup"}, "x", 0)]


@pytest.mark.parametrize("markdown, tags, text, minutes", KINDS_OF_CELLS)
def test_minutes_are_counted(markdown, tags, text, minutes):
    assert readme.cell_minutes(markdown, tags, text) == minutes


def test_minutes_add_up_by_part():
    cells = [kind[:3] for kind in KINDS_OF_CELLS]
    assert readme.minutes(cells) == round(27.5) and readme.minutes(cells, "core") == round(12.5) and readme.minutes(cells, "deeper") == 15


def test_tables_are_checked_and_written(repository):
    assert readme.main(["--check"]) == 1
    assert readme.main([]) == 0 and readme.main(["--check"]) == 0
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert r"| [02 Tiny](notebooks/02_tiny.ipynb) | see \| hear. | 1 / 2 | [![Open in Colab]" in text and text.endswith("The end.\n")
    tiny = json.loads((repository / "notebooks/02_tiny.ipynb").read_text(encoding="utf-8"))
    assert "**Minutes:** 1 core, 2 with everything." in "".join(cell(tiny, "title")["source"])
    start = json.loads((repository / "notebooks/00_start_here.ipynb").read_text(encoding="utf-8"))
    assert r"| [02 Tiny](02_tiny.ipynb) | see \| hear. | 1 / 2 |" in "".join(cell(start, "map")["source"])


def test_a_title_of_another_form_is_named(repository):
    path = repository / "notebooks/02_tiny.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("30 core", "thirty"), encoding="utf-8")
    with pytest.raises(SystemExit, match="02_tiny.ipynb: the cell `title`"):
        readme.main([])


# ---- what nbval overlooks ---------------------------------------------------------------------------------------------------------------

def overlooked(text):
    for pattern, replacement in get_sanitize_patterns((ROOT / "tests/nbval_sanitize.cfg").read_text(encoding="utf-8")):
        text = re.sub(pattern, replacement, text)
    return text


@pytest.mark.parametrize("one, other", [("took 3.2 s", "took 10.75 s"), ("in 8ms", "in 12ms"), ("on cuda:0", "on cpu"), ("<f at 0x7f12ab34>", "<f at 0x55aa0011>"), ("torch 2.13.0+cpu", "torch 2.11.0")])
def test_nbval_overlooks(one, other):
    assert overlooked(one) == overlooked(other)


@pytest.mark.parametrize("text", ["weights [0.5, 0.25, 0.25]", "rank 4, after the softmax 32", "3 sentences", "12,288 operations", "0x10 levels", "1.5 2.5 3.5", "1 second-hand", "h1 h2s 3x"])
def test_nbval_compares_everything_else(text):
    assert overlooked(text) == text
