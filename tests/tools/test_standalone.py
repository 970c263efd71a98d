"""Notebooks that carry the package: all of it, it wins over any other, nothing else differs."""
import json
import os
import subprocess
import sys

import nbformat
import pytest

from tools.notebooks import nbtext, standalone

NOTEBOOKS = nbtext.notebooks()
USES = """
import sys
from pathlib import Path
exec(setup := Path("cell.py").read_text(encoding="utf-8"))
import d2l_ext
from attention_lessons import exercises, pieces as explorers, laboratory, plotting
from attention_lessons.laboratory import dates

home = Path(d2l_ext.__file__).parent.parent
assert home == Path(carried) and home.parent == Path("here").resolve(), home
for name, module in sys.modules.items():
    if name.split(".")[0] in ("attention_lessons", "d2l_ext"):
        assert Path(module.__file__).is_relative_to(home), name
assert plotting.picture("03_multi_head_block").alt and explorers.source("heads")
assert laboratory.results("06")
assert dates.read(dates.load(), "5 march 2021").answer == "2021-03-05"
assert exercises.check("softmax-axis", "b").state == "right"
exec(setup)  # run again, the cell changes nothing
assert sys.modules["d2l_ext"] is d2l_ext and len(list(Path("here").iterdir())) == 1
"""


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_only_the_set_up_cell_differs_and_the_bytes_are_the_same_every_time(tmp_path):
    for path in [*NOTEBOOKS, *nbtext.chosen(["zh/01", "zh/deeper/01"])]:
        old, made = load(path), standalone.write(path, tmp_path)
        new, first = load(made), made.read_bytes()
        standalone.setup_cell.cache_clear()
        assert standalone.write(path, tmp_path).read_bytes() == first
        nbformat.validate(new)
        setups = [cell.pop("source") for book in (old, new) for cell in book["cells"]
                  if cell["id"] == "setup"]
        assert new == old and setups[0] != setups[1]
        assert ('language("zh")' in "".join(setups[1])) is (nbtext.inner(path).parts[0] == "zh")


def test_a_notebook_carries_no_other_language():
    english, chinese, all_of_it = map(standalone.members, ("en", "zh", ""))
    assert {*chinese} == {*all_of_it} > {*english} and "d2l_ext/attention.py" in english
    assert not any("/zh" in name for name in english)


@pytest.mark.slow
def test_the_carried_copy_is_whole_wins_and_goes_with_the_kernel(tmp_path):
    """Over an installed package, and over a folder beside the notebook that is already imported."""
    for folder in ("here", "d2l_ext"):
        (tmp_path / folder).mkdir()
    (tmp_path / "d2l_ext/__init__.py").write_text("from . import masks", encoding="utf-8")
    (tmp_path / "d2l_ext/masks.py").touch()
    (tmp_path / "program.py").write_text("import d2l_ext.masks" + USES, encoding="utf-8")
    (tmp_path / "cell.py").write_text(standalone.setup_cell("zh"), encoding="utf-8")
    environment = os.environ | {"TMPDIR": str(tmp_path / "here")}
    done = subprocess.run([sys.executable, "-E", "program.py"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "here").iterdir()) == []
