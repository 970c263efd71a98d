"""Lines that fit and mistakes that can be read off (ruff), the core's types (mypy).

In the pinned versions alone, since newer ones have other opinions.
"""
import importlib.metadata
import importlib.util
import subprocess
import sys

import pytest

from tools import ROOT

PINS = (ROOT / "pins.txt").read_text(encoding="utf-8")


def pinned_alone(*names):
    """Skips a test where a package is not here as pinned; 2.13.0+cpu is the pinned 2.13.0."""
    here = [f"{name}=={importlib.metadata.version(name).partition('+')[0]}"
            for name in names if importlib.util.find_spec(name)]
    pinned = [line for line in here if f"\n{line}\n" in PINS]
    return pytest.mark.skipif(len(pinned) < len(names), reason=f"{names} not as pinned")


def run(*command):
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


@pinned_alone("ruff")
def test_the_linter_finds_nothing():
    assert run("ruff", "check", "--no-cache", "--quiet", "--output-format", "concise", ".") == ""


@pytest.mark.slow
@pinned_alone("mypy", "torch", "numpy")
def test_the_cores_types_hold(pytestconfig, tmp_path_factory):
    """What mypy read of PyTorch is kept for the next time."""
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("mypy") if kept else tmp_path_factory.mktemp("mypy")
    assert run("mypy", "--cache-dir", str(cache)).startswith("Success: no issues found in")
