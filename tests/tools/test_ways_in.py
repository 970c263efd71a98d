"""The ways in beside `make lab`: what can be checked of workflows and containers without them."""
import re

import pytest
import yaml

from tools import ROOT, address, environments, setup

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_commands_that_exist(path):
    targets = re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for target in re.findall(r"\bmake ([a-z-]+)", path.read_text("utf-8")):
        assert target in targets or target.removeprefix("test-") in environments.LEGS
    for action in re.findall(r"uses: (\S+)", path.read_text("utf-8")):  # a tag can be moved
        assert action.startswith("./") or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)


def test_nothing_is_published_untested():
    """A release needs the tests of its own run, the website those of its commit."""
    release, site = (yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text("utf-8"))
                     for name in ("release", "site"))
    assert release["jobs"]["publish"]["needs"] == "tests"
    assert release["jobs"]["tests"]["uses"] == "./.github/workflows/ci.yml"
    assert site[True] == {"workflow_run": {  # YAML takes `on` for true
        "workflows": ["test"], "types": ["completed"], "branches": ["main"]}}
    job = site["jobs"]["publish"]
    assert "conclusion == 'success'" in job["if"]
    assert job["steps"][0]["with"]["ref"] == "${{ github.event.workflow_run.head_sha }}"


def test_containers_are_set_up_by_what_sets_up_everything():
    container = (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    assert '"python tools/setup.py"' in container
    assert f" --no-deps {setup.D2L}\n" in (ROOT / ".binder/postBuild").read_text("utf-8")


def test_the_guides_links_lead_to_this_repository():
    guide = (ROOT / "teaching/README.md").read_text(encoding="utf-8")
    *_, binder, _, tree, repository = address.forms(setup.address())
    assert f"git-pull?repo={repository}&branch=main&urlpath={tree}notebooks/00_start" in guide
    assert f"{binder}?urlpath=lab/tree/notebooks/00_start_here.ipynb" in guide
