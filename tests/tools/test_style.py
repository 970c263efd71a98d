"""Lines that fit and mistakes that can be read off (ruff), the core's types (mypy); waiting.

Ruff's and mypy's settings are in pyproject.toml. Both are run in the pinned versions alone, since
newer ones have other opinions.
"""
import ast
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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


@pinned_alone("ruff")
def test_the_linter_finds_mistakes(tmp_path):
    long = f"x = {'1 + ' * 30}1\n"
    (tmp_path / "new.py").write_text("import os\ny = [unknown]\ndef f(x=[]): return x \n" + long)
    assert set(re.findall(r"[BEFW]\d{3}", ruff(str(tmp_path)))) >= {"F401", "F821", "B006", "E501"}


@pytest.fixture(scope="module")
def mypy(pytestconfig, tmp_path_factory):
    """What mypy says of files; what it read of PyTorch is kept for the next time."""
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("mypy") if kept else tmp_path_factory.mktemp("mypy")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    return lambda *files: run("mypy", *settings, *files).stdout


@pinned_alone("mypy", "torch", "numpy")
def test_the_cores_types_hold(mypy):
    assert mypy().startswith("Success: no issues found in 10 source files")


WRONG = """from d2l_ext import MultiHeadAttention, causal
def f(x):
    return x
MultiHeadAttention(8, 'two')
causal() + 1
"""


@pinned_alone("mypy", "torch", "numpy")
@pytest.mark.slow
def test_wrong_types_are_found(mypy, tmp_path):
    (tmp_path / "new.py").write_text(WRONG, encoding="utf-8")
    found = re.findall(r"\[([\w-]+)\]$", mypy(str(tmp_path / "new.py")), re.M)
    assert found == ["no-untyped-def", "arg-type", "operator"]


def test_hooks_run_what_is_here_and_fetch_nothing():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [each["repo"] for each in hooks["repos"]] == ["local"]
    assert [hook["entry"] for hook in hooks["repos"][0]["hooks"]] == ["make quick", "make test"]


# ---- tests in a browser wait ---------------------------------------------------------------------

ACTS = {"click", "press", "check", "uncheck", "fill", "tap", "set_viewport_size", "emulate_media"}
READS = {"inner_text", "all_inner_texts", "is_visible", "is_hidden", "input_value", "count",
         "get_attribute", "evaluate", "bounding_box"}


def called(tree):
    calls = [each.func for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return {func.attr for func in calls if isinstance(func, ast.Attribute)}


def hasty(text):
    """The lines that assert what a page shows right after a key, a finger or a new size."""
    blocks = [part for each in ast.walk(ast.parse(text)) for _, part in ast.iter_fields(each)
              if isinstance(part, list) and part and isinstance(part[0], ast.stmt)]
    return [late.lineno for block in blocks for early, late in zip(block, block[1:])
            if isinstance(late, ast.Assert) and called(early) & ACTS and called(late) & READS]


@pytest.mark.parametrize("room", ["browser", "explorers", "tools"])
def test_what_a_key_changes_is_waited_for(room):
    files = {path.name: path.read_text("utf-8") for path in (ROOT / "tests" / room).glob("*.py")}
    assert files and {name: lines for name, text in files.items() if (lines := hasty(text))} == {}


def test_a_hasty_look_is_found():
    text = "for key in keys:\n    box.press(key)\n    assert box.input_value() == '1'\n"
    assert hasty(text) == [3]
    assert hasty(text.replace("assert box.input_value() == '1'", "has_value(box, '1')")) == []
