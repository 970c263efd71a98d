"""The notebooks that `make standalone` writes: what they carry is the whole package, it wins over any other, and nothing else in them differs.

All nine are run by `make standalone ARGS=--check`; here two tiny ones are.
"""
import json
import os
import subprocess
import sys

import nbformat
import pytest
import nbtext
from readme import ROOT

import offline
import standalone

USES = """
import sys
from pathlib import Path
exec(setup := Path("cell.py").read_text(encoding="utf-8"))
import d2l_ext
from d2l_ext import exercises, explorers, laboratory, plotting
from d2l_ext.laboratory import dates

home = Path(d2l_ext.__file__).parent.parent
assert home == Path(carried) and home.parent == Path("here").resolve(), home
assert all(Path(module.__file__).is_relative_to(home) for name, module in sys.modules.items() if name.split(".")[0] == "d2l_ext")
for svg in (home / "d2l_ext/images").iterdir():
    assert plotting.picture(svg.stem).alt
for piece in ("clock", "compare", "dates", "heads", "lengths", "order", "pooling"):
    assert explorers.source(piece)
for lesson in ("05", "06", "07"):
    assert laboratory.results(lesson)
assert dates.read(dates.load(), "5 march 2021").answer == "2021-03-05"
assert exercises.check("softmax-axis", "b").state == "right" and exercises.hint("softmax-axis").text
exec(setup)
assert sys.modules["d2l_ext"] is d2l_ext and len(list(Path("here").iterdir())) == 1  # run again, the cell changes nothing
"""


SETUP = standalone.setup_cell()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("standalone")
    assert standalone.write_all(folder) == []
    return folder


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return standalone.bare_python(tmp_path_factory.mktemp("python"))


def pairs(folder):
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        yield json.loads(path.read_text(encoding="utf-8")), json.loads((folder / path.name).read_text(encoding="utf-8"))


def test_only_the_setup_cell_differs(written):
    for old, new in pairs(written):
        nbformat.validate(new)
        changed = [after for before, after in zip(old["cells"], new["cells"], strict=True) if before != after]
        assert [cell["id"] for cell in changed] == ["setup"] and "".join(changed[0]["source"]) == SETUP
        assert {name: old[name] for name in old if name != "cells"} == {name: new[name] for name in new if name != "cells"}
        assert {**changed[0], "source": ""} == {**next(cell for cell in old["cells"] if cell["id"] == "setup"), "source": ""}  # folded as before


def test_they_are_small_and_the_same_every_time(written, tmp_path):
    standalone.write_all(tmp_path)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [path.name for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (written / path.name).read_bytes() and path.stat().st_size < standalone.LIMIT


def test_what_is_too_large_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(standalone, "LIMIT", 600_000)
    large = standalone.write_all(tmp_path)
    assert "04_positional_encoding.ipynb" in large and "00_start_here.ipynb" not in large


def test_old_ones_go(tmp_path):
    (tmp_path / "09_left_over.ipynb").touch()
    standalone.write_all(tmp_path)
    assert not (tmp_path / "09_left_over.ipynb").exists()


def test_the_whole_package_is_carried():
    """What is not carried fails in the reader's hands only: so count what lies there, by other means than the tool's."""
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "d2l_ext").rglob("*") if path.is_file() and "__pycache__" not in path.parts and path.name != "README.md"}
    drawings = {f"d2l_ext/images/{path.name}" for path in (ROOT / "images").glob("*.svg")}
    assert set(standalone.members()) == there | drawings


def run(python, folder, program, setup=SETUP):
    (folder / "here").mkdir()
    (folder / "program.py").write_text(program, encoding="utf-8")
    (folder / "cell.py").write_text(setup, encoding="utf-8")
    return subprocess.run([python, "-E", "program.py"], cwd=folder, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(folder / "here")})


def test_the_carried_copy_wins_and_goes_with_the_kernel(bare, tmp_path):
    """Over a folder beside the notebook, and over another copy that was already imported."""
    (tmp_path / "d2l_ext").mkdir()
    (tmp_path / "d2l_ext/__init__.py").write_text("from . import masks", encoding="utf-8")
    (tmp_path / "d2l_ext/masks.py").touch()
    done = run(bare, tmp_path, "import d2l_ext.masks" + USES)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "here").iterdir()) == []


def test_a_package_in_pieces_is_noticed(bare, tmp_path, monkeypatch):
    members = standalone.members()
    del members["d2l_ext/explorers/heads.js"]
    monkeypatch.setattr(standalone, "members", lambda: members)
    done = run(bare, tmp_path, USES, standalone.setup_cell())
    assert done.returncode and "heads.js" in done.stderr


def test_the_bare_python_knows_no_package(bare, tmp_path):
    program = "from importlib.util import find_spec; print([bool(find_spec(name)) for name in ('torch', 'matplotlib', 'anywidget', 'd2l_ext')])"

    def found(python):
        return subprocess.run([python, "-E", "-c", program], cwd=tmp_path, capture_output=True, text=True).stdout.strip()
    assert found(bare) == "[True, True, True, False]" and found(sys.executable) == "[True, True, True, True]"


def tiny(name, printed, folder):
    notebook = nbtext.pack(f"%% code setup core setup folded\n{SETUP}\n\n%% code two core\nimport d2l_ext\nprint(d2l_ext.__version__)\n", {})
    for count, cell in enumerate(notebook["cells"], 1):
        cell["execution_count"] = count
    notebook["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [printed + "\n"]}]
    nbtext.write(notebook, folder / f"{name}.ipynb")


def test_check_runs_and_compares_strictly(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(offline, "WARM_UP", "")
    tiny("as_stored", "0.1.0", tmp_path)
    tiny("otherwise", "0", tmp_path)
    assert standalone.check(["-q", "--tb=line"], tmp_path) == 1
    said = capfd.readouterr().out
    assert "1 failed, 3 passed" in said and "otherwise.ipynb::Cell 1" in said, said


def test_check_proves_nothing_where_the_package_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(standalone, "bare_python", lambda folder: sys.executable)
    with pytest.raises(SystemExit, match="d2l_ext can be imported here"):
        standalone.check([], tmp_path)
