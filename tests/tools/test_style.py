"""Lines that fit and mistakes that can be read off (ruff), the core's types (mypy).

Ruff's and mypy's settings are in pyproject.toml. Both are run in the pinned versions alone, since
newer ones have other opinions.
"""
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINS = (ROOT / "pins.txt").read_text(encoding="utf-8")


def here(name):
    """The version that is here, "" for none; 2.13.0+cpu is the pinned 2.13.0."""
    try:
        return importlib.metadata.version(name).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""


def pinned_alone(*names):
    """Skips a test where a package is here in another version than pinned, or not at all."""
    others = [name for name in names if f"\n{name}=={here(name)}\n" not in PINS]
    return pytest.mark.skipif(bool(others), reason=f"{others} are not here as pinned")


def run(*command):
    command = [sys.executable, "-m", *command]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def ruff(*files):
    settings = str(ROOT / "pyproject.toml")
    done = run("ruff", "check", "--no-cache", "--quiet", "--output-format", "concise",
               "--config", settings, *files)
    return done.stdout + done.stderr


@pinned_alone("ruff")
def test_the_linter_finds_nothing():
    assert ruff(".") == ""


@pytest.fixture(scope="module")
def mypy(pytestconfig, tmp_path_factory):
    """What mypy says of files; what it read of PyTorch is kept for the next time."""
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("mypy") if kept else tmp_path_factory.mktemp("mypy")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    return lambda *files: run("mypy", *settings, *files).stdout


@pinned_alone("mypy", "torch", "numpy")
def test_the_cores_types_hold(mypy):
    assert mypy().startswith("Success: no issues found in")
