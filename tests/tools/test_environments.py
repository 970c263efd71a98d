"""Environments: what belongs in them, where PyTorch comes from."""
import re
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
    assert environments.lowest("a-b[c]<3,>=1.2,!=1.3") == "a-b[c]==1.2"
    assert environments.name_of("A_b.c[d]>=1 ; os_name == 'nt'") == "a-b-c"


def test_the_lists_of_versions_agree():
    for path in ("pins.txt", "tests/colab/constraints.txt"):
        for pin in map(Requirement, environments.lines(path)):
            wanted = everything().get(environments.name_of(pin.name))
            fits = not wanted or wanted.specifier.contains(str(pin.specifier)[2:])
            assert fits, f"{path}: {pin} is not among {wanted}"
    pinned = {environments.name_of(line) for line in environments.lines("pins.txt")}
    theirs = {"mutmut", "transformers"}  # they have their pins there
    assert everything().keys() - pinned == theirs | {"setuptools"}


def test_what_a_leg_found_is_a_row_of_readmes_table(monkeypatch, tmp_path):
    report, page = tmp_path / "report.xml", tmp_path / "README.md"
    report.write_text('<testsuites><testsuite tests="2000" failures="1" errors="1" skipped="2"/>'
                      "</testsuites>")
    page.write_text("| all: `make test` | 3.9 |\n| a GPU: `make test-gpu` | 3.9 | old |\n")
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "installed", lambda python: {"torch": "2.13.0"})
    monkeypatch.setattr(environments, "said_by", lambda *command: "3.11.7")
    assert environments.keep("gpu", "python", environments.counts(report)) == 1
    first, row = page.read_text().splitlines()
    assert first.endswith("| 3.9 |") and re.fullmatch(
        r"\| a GPU: `make test-gpu` \| 3.11.7 \| 2.13.0 \|.* 1,996 passed, 2 failed \(20.*\|", row)


def test_readmes_results_are_those_that_a_run_wrote():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"(?s)<!-- versions: .*?-->\n(.*?)<!-- /versions", page)[1]
    form = r"(\d[\d,]* (passed|failed)(, )?)+ \(\d{4}-\d\d-\d\d\)|not yet"
    for row in table.splitlines()[2:]:
        what, *_, result = row.strip("| ").split(" |")
        assert re.fullmatch(form, result.strip()), row
        assert re.search("`make test(-(" + "|".join(environments.LEGS) + "))?`", what), row


# ---- PyTorch and the GPU ----------------------------------------------------------------------

@pytest.mark.parametrize("index, whole, tried", [
    ("", True, [(setup.CPU_INDEX, "limited"), ("ordinary", "not")]),
    ("", False, [("ordinary", "not")]),  # it trickles
    ("https://a.b/cpu", False, [("https://a.b/cpu", "not")]),
    ("default", True, [("ordinary", "not")])])
def test_a_slow_index_gives_way_to_the_ordinary_registry(monkeypatch, capsys, index, whole, tried):
    asked = []

    def pip(requirement, *words, python, limit=None):
        source = words[words.index("--index-url") + 1] if "--index-url" in words else "ordinary"
        asked.append((source, "limited" if limit else "not"))
        return not limit

    monkeypatch.setattr(setup, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(setup.sys, "platform", "linux")
    monkeypatch.setattr(setup, "pip", pip)
    monkeypatch.setattr(setup, "answers", lambda url: whole)
    setup.install_torch("torch==2.11.0", index)
    assert asked == tried
    said = "from the ordinary registry, as PyTorch's CPU index can't be reached"
    assert (said in capsys.readouterr().out) is (not index)
