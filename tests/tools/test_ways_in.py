"""The ways in beside `make lab`: what can be checked of workflows and containers without them."""
import re

import pytest

from tools import ROOT, address, setup

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_commands_that_exist(path):
    targets = re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for target in re.findall(r"\bmake ([a-z-]+)", path.read_text("utf-8")):
        assert target in targets or re.sub("-.*", "-%", target) in targets


def test_containers_are_set_up_by_what_sets_up_everything():
    container = (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    assert '"python tools/setup.py"' in container
    assert f" --no-deps {setup.D2L}\n" in (ROOT / ".binder/postBuild").read_text("utf-8")


def test_the_guides_links_lead_to_this_repository():
    guide = (ROOT / "teaching/README.md").read_text(encoding="utf-8")
    *_, binder, _, tree, repository = address.forms(setup.address())
    assert f"git-pull?repo={repository}&branch=main&urlpath={tree}notebooks/00_start" in guide
    assert f"{binder}?urlpath=lab/tree/notebooks/00_start_here.ipynb" in guide
