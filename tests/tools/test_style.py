"""Lines that fit and mistakes that can be read off (ruff), the core's types (mypy): settings in
pyproject.toml. Both are run in the pinned versions alone, since newer ones have other opinions.
"""
import importlib.metadata
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from readme import ROOT
from packaging.requirements import Requirement

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CORE = SETTINGS["mypy"]["files"]
PINS = dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (ROOT / "pins.txt").read_text(encoding="utf-8")))


def pinned_alone(*names):
    """Skips a test where a package is missing or here in another version than pinned."""
    pins = [Requirement(f"{name}=={PINS[name]}") for name in names]
    here = {found.name.lower(): found.version for found in importlib.metadata.distributions()}
    others = [str(pin) for pin in pins if not pin.specifier.contains(here.get(pin.name, "0"))]
    return pytest.mark.skipif(bool(others), reason=f"this is not {', '.join(others)}")


lint = pinned_alone("ruff")
types = pinned_alone("mypy", "torch", "numpy")


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)


# ---- lines ------------------------------------------------------------------------------------

@lint
def test_the_linter_finds_nothing():
    done = run("ruff", "check", "--no-cache", "--quiet", "--output-format", "concise", ".")
    assert done.returncode == 0, done.stdout + done.stderr


@lint
@pytest.mark.parametrize("code, rule", [
    ("import os\n", "F401"), ("x = [1,\n     y]\n", "F821"), (f"x = {'1 + ' * 30}1\n", "E501"),
    ("def f(x=[]):\n    return x\n", "B006"), ("x = 1 \n", "W291")])
def test_the_linter_finds_mistakes(tmp_path, code, rule):
    (tmp_path / "new.py").write_text(code, encoding="utf-8")
    settings = str(ROOT / "pyproject.toml")
    done = run("ruff", "check", "--no-cache", "--config", settings, str(tmp_path))
    assert done.returncode == 1 and rule in done.stdout


def test_hooks_run_what_is_here_and_fetch_nothing():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [each["repo"] for each in hooks["repos"]] == ["local"]
    entries = {hook["id"]: hook["entry"].split() for hook in hooks["repos"][0]["hooks"]}
    assert entries.keys() >= {"ruff", "mypy", "notebooks"}
    for words in entries.values():
        assert words[0] in (".venv/bin/python", "make")
        assert all((ROOT / word).is_file() for word in words[1:] if word.endswith(".py"))


# ---- types ------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def mypy(pytestconfig, tmp_path_factory):
    """What mypy says of files; what it read of PyTorch is kept for the next time, if anything is."""
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("mypy") if kept else tmp_path_factory.mktemp("mypy")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    return lambda *files: run("mypy", *settings, *files)


@types
def test_the_cores_types_hold(mypy):
    done = mypy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"no issues found in {len(CORE)} source files" in done.stdout


@types
@pytest.mark.parametrize("code, rule", [
    ("def f(x):\n    return x\n", "no-untyped-def"),
    ("from d2l_ext import MultiHeadAttention\nMultiHeadAttention(8, 'two')\n", "arg-type"),
    ("from d2l_ext import causal\ncausal() + 1\n", "operator")])
def test_a_wrong_type_is_found(mypy, tmp_path, code, rule):
    (tmp_path / "new.py").write_text(code, encoding="utf-8")
    done = mypy(str(tmp_path / "new.py"))
    assert done.returncode == 1 and f"[{rule}]" in done.stdout
