"""The legs in other environments: what they install, what they count, and that Colab's leg notices what it is there for."""
import json
import subprocess
import tomllib
import zipfile
from contextlib import nullcontext

import pytest
import yaml
from notebook_rules import ROOT, nbtext  # makes tools/ importable
from packaging.requirements import Requirement

import environments
import versions

ADDRESS = "https://github.com/you/yours"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


# ---- versions that fit together -----------------------------------------------------------------------------------------------------------

def everything():
    """All that pyproject.toml lists, name -> requirement; no name stands there twice."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(line) for each in lists for line in each]
    named = {environments.name_of(one.name): one for one in found}
    assert len(named) == len(found)
    return named


def test_the_doors_lead_to_the_one_list():
    extras = ",".join(environments.setup.EXTRAS)
    assert environments.lines("requirements.txt") == [f"-e .[{extras}]"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *names, pip = conda["dependencies"]
    assert names == ["python=3.12", "pip"]
    assert pip["pip"][-2:] == ["-r requirements.txt", "-c pins.txt"]
    lists = {Requirement(line).name for line in environments.setup.requirements()}
    assert {"torch", "jupyterlab", "pandas", "pytest"} <= lists
    assert not lists & {"playwright", "ziamath", "mutmut"}


def test_an_extra_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="no extra browsers: choose from lab, d2l, test"):
        environments.setup.listed("test", "browsers")


def test_the_lists_of_versions_agree():
    for path in ("pins.txt", "tests/colab/constraints.txt"):
        for pin in map(Requirement, environments.lines(path)):
            wanted = everything().get(environments.name_of(pin.name))
            fits = not wanted or wanted.specifier.contains(str(pin.specifier)[2:])
            assert fits, f"{path}: {pin} is not among {wanted}"
    pinned = {environments.name_of(line) for line in environments.lines("pins.txt")}
    unpinned = {"setuptools", "mutmut"}  # installs the others; says its version itself
    assert everything().keys() - pinned == unpinned


@pytest.mark.parametrize("change, again", [
    ("the longest line", False), ("torch's range", True), ("a pin", True)])
def test_a_changed_list_asks_for_set_up_and_nothing_else_does(monkeypatch, tmp_path, change, again):
    setup = environments.setup
    for name in ("pyproject.toml", "requirements.txt", "pins.txt"):
        (tmp_path / name).write_text(setup.read(ROOT / name), encoding="utf-8")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    before = setup.fingerprint("pins.txt", "")
    assert setup.fingerprint("pins.txt", "") == before != setup.fingerprint("", "")
    file, old, new = {
        "torch's range": ("pyproject.toml", '"torch>=', '"torch>=1'),
        "a pin": ("pins.txt", "torch==2", "torch==3"),
    }.get(change, ("pyproject.toml", "line-length = 100", "line-length = 99"))
    text = setup.read(tmp_path / file)
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new), encoding="utf-8")
    assert (setup.fingerprint("pins.txt", "") != before) is again


def test_oldest_takes_every_lower_bound():
    oldest = {environments.name_of(line): environments.lowest(line) for line in environments.setup.requirements()}
    for name, wanted in ((name, everything()[name]) for name in oldest):
        version = oldest[name].removeprefix(f"{name}==")
        assert version in {bound.version for bound in wanted.specifier if bound.operator == ">="}, oldest[name]


@pytest.mark.parametrize("line, low", [("jupyterlab>=4.2,<5", "jupyterlab==4.2"), ("ipywidgets>=7.7,!=8.1.9", "ipywidgets==7.7"), ("torch>=2.6", "torch==2.6")])
def test_lowest(line, low):
    assert environments.lowest(line) == low


# ---- PyTorch ------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("index, reachable, arguments", [
    ("", True, ["torch==2.11.0", "--index-url", environments.setup.CPU_INDEX]), ("https://a.b/cpu", False, ["torch==2.11.0", "--index-url", "https://a.b/cpu"]),
    ("", False, ["torch==2.13.0"]), ("default", True, ["torch==2.11.0"])])
def test_where_torch_comes_from(monkeypatch, index, reachable, arguments):
    monkeypatch.setenv("TORCH_INDEX", index)
    monkeypatch.setattr(environments.setup, "answers", lambda url: reachable)
    found, words = environments.torch_from("torch==2.11.0")
    assert found == arguments and "torch==2.11.0" in words


@pytest.mark.parametrize("version, system, cuda", [("2.13.0+cpu", "linux", False), ("2.13.0", "linux", True), ("2.13.0+cu128", "linux", True), ("2.13.0", "darwin", False)])
def test_a_build_with_cuda_is_noticed(monkeypatch, version, system, cuda):
    report = json.dumps({"install": [{"metadata": {"version": version}}]})
    monkeypatch.setattr(environments.subprocess, "run", lambda *command, **options: subprocess.CompletedProcess(command, 0, report, ""))
    monkeypatch.setattr(environments.sys, "platform", system)
    assert environments.brings_cuda(["torch"]) is cuda


@pytest.mark.parametrize("index, stops", [("", True), ("https://a.b/cpu", True), ("default", False)])
def test_gigabytes_come_only_where_they_were_asked_for(monkeypatch, tmp_path, index, stops):
    monkeypatch.setenv("TORCH_INDEX", index)
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "torch_from", lambda wanted: ([wanted], ""))
    monkeypatch.setattr(environments, "brings_cuda", lambda arguments: True)
    installed = []
    monkeypatch.setattr(environments, "program", lambda folder: folder / "python")
    monkeypatch.setattr(environments.subprocess, "run", lambda command, **options: command[-1].mkdir())  # an empty one
    for name, replacement in (("VENV", None), ("PYTHON", None), ("make_venv", lambda: None), ("install", lambda *arguments: installed.append(arguments))):
        monkeypatch.setattr(environments.setup, name, replacement)
    with pytest.raises(SystemExit, match="no CPU build") if stops else nullcontext():
        environments.build("colab", ["torch==2.11.0", "numpy"], ours=False)
    assert installed == ([] if stops else [("torch==2.11.0",), ("torch==2.11.0", "numpy")])


def test_without_a_gpu_its_leg_says_so(monkeypatch):
    monkeypatch.setattr(environments.subprocess, "run", lambda *command, **options: subprocess.CompletedProcess(command, 1))
    with pytest.raises(SystemExit, match="no CUDA device"):
        environments.gpu([])


# ---- counts and the table -----------------------------------------------------------------------------------------------------------------

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/><testcase classname="tests.test_a" name="test_two"><failure message="no"/></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped/></testcase>
<testcase classname="notebooks.00.ipynb" name="Cell 0"/><testcase classname="notebooks.00.ipynb" name="Cell 12"/>
<testcase classname="notebooks.00.ipynb" name="Cell 13"><failure message="differs"/></testcase></testsuite></testsuites>"""


def test_counts(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf-8")
    assert environments.counts(tmp_path / "report.xml") == {"tests": 1, "cells": 2, "failed": 2, "skipped": 1}


def test_the_readmes_table_is_true():
    assert versions.main(["--check"]) == 0, "make versions"


@pytest.fixture
def readme(tmp_path, monkeypatch):
    """A repository with an empty table, of which Colab's leg was run."""
    result = {"date": "2026-01-02", "python": "3.13.1", **dict.fromkeys(environments.SHOWN, "1.2"), "jupyterlab": None, "tests": 0, "cells": 1352, "failed": 2, "skipped": 0}
    (tmp_path / "README.md").write_text(f"Before.\n{versions.START}\n{versions.END}\nAfter.\n", encoding="utf-8")
    (tmp_path / ".venv-colab").mkdir()
    (tmp_path / ".venv-colab/result-colab.json").write_text(json.dumps(result), encoding="utf-8")
    for name, value in (("ROOT", tmp_path), ("KEPT", tmp_path / "versions.json")):
        monkeypatch.setattr(versions, name, value)
    monkeypatch.setattr("address.ROOT", tmp_path)
    return tmp_path / "README.md"


def test_the_table_is_written_from_what_the_legs_left(readme):
    assert versions.main([]) == 0 and versions.main(["--check"]) == 0
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("Before.\n") and text.endswith("\nAfter.\n")
    assert "| 3.13.1 | 1.2 | 1.2 | 1.2 | 1.2 | 1.2 | 1.2 |  | 2 failed, 1,352 cells the same (2026-01-02) |" in text
    assert "Not run: an NVIDIA GPU (`make test-gpu`); " in text and "; macOS; " in text


def test_results_are_kept_where_no_leg_was_run_and_a_changed_table_is_noticed(readme):
    versions.main([])
    (readme.parent / ".venv-colab/result-colab.json").unlink()
    assert versions.main([]) == 0 and "1,352 cells" in readme.read_text(encoding="utf-8")
    readme.write_text(readme.read_text(encoding="utf-8").replace("2 failed, ", ""), encoding="utf-8")
    assert versions.main(["--check"]) == 1
    readme.write_text("no table", encoding="utf-8")
    with pytest.raises(SystemExit, match="place is not marked"):
        versions.main([])


# ---- Colab --------------------------------------------------------------------------------------------------------------------------------

def wheel(folder, name):
    """A package of one empty module, ready to install without a network."""
    info, path = f"{name}-1.0.dist-info", folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for member, text in ((f"{name}.py", ""), (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"), (f"{info}/WHEEL", WHEEL), (f"{info}/RECORD", "")):
            file.writestr(member, text)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository like ours with a package in it that was not committed, and where the legs look for all that."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{ADDRESS}"\n', encoding="utf-8")
    (source / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (source / "old.txt").write_text("old", encoding="utf-8")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", source, *command], check=True)
    (source / "old.txt").unlink()
    (source / "new.log").write_text("ignored", encoding="utf-8")
    wheel(source, "tiny")
    wheel(source, "extra")
    monkeypatch.setattr(environments, "ROOT", source)
    monkeypatch.setattr(environments, "PACKAGE", "tiny")
    return environments.mirror(tmp_path / "mirror")


def test_the_mirror_is_the_working_tree(repository):
    listed = subprocess.run(["git", "-C", repository, "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=True).stdout.split()
    assert listed == [".gitignore", "extra-1.0-py3-none-any.whl", "pyproject.toml", "tiny-1.0-py3-none-any.whl"]


def notebook(path, wheels, widgets, printed):
    """A notebook whose set-up fetches wheels from the public address."""
    text = f"""%% code setup core setup
import subprocess, sys, importlib
subprocess.run(["git", "clone", "-q", "{ADDRESS}", "fetched"], check=True)
subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", *{[f"fetched/{name}-1.0-py3-none-any.whl" for name in wheels]}], check=True)
importlib.invalidate_caches()
if "google.colab" in sys.modules and {widgets}:
    sys.modules["google.colab"].output.enable_custom_widget_manager()

%% code two core
import tiny
print("two")
"""
    content = nbtext.pack(text, {})
    for count, cell in enumerate(content["cells"], 1):
        cell["execution_count"] = count
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [f"{printed}\n"]}]
    nbtext.write(content, path)


def test_colabs_leg_accepts_a_good_notebook_and_names_what_is_wrong_with_a_bad_one(repository, tmp_path):
    base = environments.Path(environments.sys.executable)
    notebook(tmp_path / "good.ipynb", ["tiny"], True, "two")
    assert environments.try_in_colab(tmp_path / "good.ipynb", tmp_path / "good", base, repository) == ({"tests": 0, "cells": 2, "failed": 0, "skipped": 0}, [])
    notebook(tmp_path / "bad.ipynb", ["tiny", "extra"], False, "three")
    found, complaints = environments.try_in_colab(tmp_path / "bad.ipynb", tmp_path / "bad", base, repository)
    assert found["failed"] == 1 and len(complaints) == 3
    for complaint, words in zip(complaints, ("three", "added or changed were [('extra', '1.0'), ('tiny', '1.0')], not ['tiny']", "did not switch Colab's widgets on")):
        assert words in complaint
