"""Lines that fit and mistakes that can be read off (ruff), the core's types (mypy).

In the pinned versions alone, since newer ones have other opinions.
"""
import subprocess
import sys

import pytest
from pictures import pinned

from tools import ROOT


def run(*command):
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.mark.skipif(not pinned("ruff"), reason="ruff is not here as pinned")
def test_the_linter_finds_nothing():
    assert run("ruff", "check", "--no-cache", "--quiet", "--output-format", "concise", ".") == ""


@pytest.mark.slow
@pytest.mark.skipif(not pinned("mypy", "torch", "numpy"),
                    reason="mypy, torch or numpy is not here as pinned")
def test_types_hold_in_the_core_and_for_those_who_import_it(tmp_path):
    """As ``py.typed`` promises: of a computed ``__all__`` mypy accepts no name."""
    assert run("mypy").startswith("Success: no issues found in")
    user = tmp_path / "user.py"
    user.write_text("from d2l_ext import MultiHeadAttention, heads\nMultiHeadAttention(8, 2)\n")
    assert run("mypy", str(user)).startswith("Success")
