"""A shared server: what Binder reads, and the links that a guide gives. (That lessons write nothing
into their folder is what `make test-offline` looks at.)"""
import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import readme
import setup

ROOT = Path(__file__).parents[2]
BINDER = ROOT / ".binder"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GUIDE = (ROOT / "teaching/README.md").read_text(encoding="utf-8")


def read(name):
    return (BINDER / name).read_text(encoding="utf-8")


def faults(requirements):
    """What is wrong with a list of requirements for Binder, which runs pip in the repository."""
    found, lines = [], [line for line in requirements.splitlines() if line[:1] not in ("", "#")]
    for line in lines:
        option, value = shlex.split(line) if line.startswith("-") else ("", line)
        if option in ("-c", "-r") and not (BINDER / value).is_file():
            found.append(f"{value} is not there, seen from .binder")
        elif option == "-e":
            wanted = Requirement(f"d2l-ext{value.removeprefix('.')}").extras
            found += [f"there is no extra {name}"
                      for name in sorted(wanted - PROJECT["optional-dependencies"].keys())]
        elif option == "--extra-index-url" and value != setup.CPU_INDEX:
            found.append(f"{value} is not set-up's index")
        elif not option:
            found.append(f"{value} belongs in pyproject.toml")
    return found


def test_binder_installs_what_pyproject_lists_as_pinned():
    assert faults(read("requirements.txt")) == []
    lines = set(read("requirements.txt").splitlines())
    assert {"-c ../pins.txt", "-e .[lab,d2l]", f"--extra-index-url {setup.CPU_INDEX}"} <= lines


def test_mistakes_in_binders_list_are_noticed():
    assert faults("-c pins.txt\n-e .[lap]\nnumpy\n--extra-index-url https://example.org") == [
        "pins.txt is not there, seen from .binder", "there is no extra lap",
        "numpy belongs in pyproject.toml", "https://example.org is not set-up's index"]


def test_binders_python_is_the_one_that_made_the_pins():
    version = re.fullmatch(r"python-(3\.\d+)\n", read("runtime.txt"))[1]
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    pinned = json.loads((ROOT / "tests/versions.json").read_text(encoding="utf-8"))["pinned"]
    assert pinned["python"].startswith(f"{version}.")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_binder_adds_d2l_alone_as_set_up_does():
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK) and read("postBuild").startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", script]).returncode == 0
    *_, command = read("postBuild").splitlines()
    assert command.endswith(f" --no-deps {setup.D2L}")


def test_the_guides_links_lead_to_this_repositorys_first_lesson():
    links = [urlsplit(link) for link in re.findall(r"https://[^\s)>`]+", GUIDE)]
    puller, = (link for link in links if link.path.endswith("/git-pull"))
    binder, = (link for link in links if link.netloc == "mybinder.org")
    asked = {key: value for key, [value] in parse_qs(puller.query, strict_parsing=True).items()}
    address, name = PROJECT["urls"]["Repository"], readme.slug().split("/")[1]
    assert asked == {"repo": address, "branch": "main",
                     "urlpath": f"lab/tree/{name}/notebooks/00_start_here.ipynb"}
    assert binder.path == f"/v2/gh/{readme.slug()}/main"
    assert binder.query == "urlpath=lab/tree/notebooks/00_start_here.ipynb"
    assert (ROOT / "notebooks/00_start_here.ipynb").is_file()
