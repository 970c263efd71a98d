"""The ways in beside `make lab`: containers, forms, the paper. What can be checked without them."""
import json
import re

import pytest
import yaml

from tools import ROOT, address, setup

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_container_is_set_up_by_what_sets_up_everything():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert container["postCreateCommand"] == "python tools/setup.py"
    custom = container["customizations"]
    assert all((ROOT / name).is_file() for name in custom["codespaces"]["openFiles"])
    assert custom["vscode"]["settings"]["python.defaultInterpreterPath"].endswith(
        "/.venv/bin/python")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_commands_that_exist(path):
    targets = re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    steps = [step for job in loaded(path)["jobs"].values() for step in job["steps"]]
    for step in steps:
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
            assert target in targets or re.sub("-.*", "-%", target) in targets
    assert all(job["timeout-minutes"] <= 60 for job in loaded(path)["jobs"].values())


def test_the_guides_links_lead_to_this_repository():
    guide = (ROOT / "teaching/README.md").read_text(encoding="utf-8")
    *_, binder, _, tree, repository = address.forms(setup.address())
    assert f"git-pull?repo={repository}&branch=main&urlpath={tree}notebooks/00_start" in guide
    assert f"{binder}?urlpath=lab/tree/notebooks/00_start_here.ipynb" in guide


def test_binder_adds_d2l_alone_as_set_up_does():
    *_, command = (ROOT / ".binder/postBuild").read_text(encoding="utf-8").splitlines()
    assert command.endswith(f" --no-deps {setup.D2L}")
