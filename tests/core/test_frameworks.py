"""Cells in other frameworks: rooms, the other interpreter, what is absent; lesson 14 without them.

That outputs and gradients are the package's, lesson 14 itself asks.
"""
import re
import sys
import traceback
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient

from attention_lessons import frameworks
from attention_lessons.frameworks import everywhere, here, run_cell, switch
from attention_lessons.frameworks.rooms import Elsewhere, Room, to_numpy

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks/14_other_frameworks.ipynb"


@pytest.fixture
def empty(monkeypatch):
    """No room and no cell yet."""
    monkeypatch.setattr(frameworks, "rooms", {})
    monkeypatch.setattr(frameworks, "cells", {name: [] for name in frameworks.TITLES})


@pytest.fixture
def elsewhere():
    """Another interpreter of this Python, in PyTorch: what MXNet's does."""
    room = Elsewhere("torch", sys.executable)
    yield room
    room.__del__()


# ---- rooms ----

@pytest.mark.parametrize("kind", ["here", pytest.param("elsewhere", marks=pytest.mark.slow)])
def test_a_room_runs_cells_and_calls_functions(kind, request, capsys):
    room = Room("torch") if kind == "here" else request.getfixturevalue("elsewhere")
    room.run("import torch\ndef f(X, n, word): return X.mT * n, len(word)")
    X = np.random.default_rng(0).standard_normal((2, 3), "float32")
    turned, length = room.call("f", [X, 2, "dog"])
    assert np.array_equal(turned, 2 * X.T) and turned.dtype == np.float32 and length == 3
    room.run("def g(X): return X.zero_()")
    room.call("g", [X])
    assert X.any(), "arguments are copies"
    room.run("print('bites')\n{1: 'dog'}")
    assert capsys.readouterr().out == "bites\n{1: 'dog'}\n"
    with pytest.raises((ZeroDivisionError, RuntimeError), match="division by zero"):
        room.run("1 / 0")
    assert room.call("f", [X, 1, ""])[1] == 0  # an error ends nothing


def test_results_become_numpy_arrays():
    class OfMXNet:
        def asnumpy(self):
            return array

    array = np.arange(6.0)
    given = [torch.tensor([1.0], requires_grad=True), (2, "dog"), OfMXNet()]
    one, (two, word), found = to_numpy(given)
    assert one.tolist() == [1] and two == 2 and word == "dog" and found is array
    assert all(isinstance(each, np.ndarray) for each in (one, two, word))


def test_a_cell_runs_only_where_its_framework_is(empty, monkeypatch, capsys):
    run_cell("torch", "def f(x): return x + 1")
    run_cell("jax", "def f(x): return 1 + x") if not here("jax") else None
    monkeypatch.setattr(frameworks, "here", lambda name: name == "torch")
    run_cell(" mxnet ", "def f(x): return x - 1\ndef g(x): return x")
    assert capsys.readouterr().out.endswith(
        "MXNet is not installed here, so this cell did nothing: `make frameworks` opens the lesson "
        "where it is.\n")
    assert everywhere("f", np.arange(2)).keys() == {"PyTorch"}
    assert everywhere("g", np.arange(2)) == {}
    with pytest.raises(NameError, match="no cell defines 'h' yet"):
        everywhere("h")


def test_a_traceback_shows_the_line_and_its_cell(empty):
    with pytest.raises(ZeroDivisionError) as caught:
        run_cell("torch", "x = 0\n1 / x  # dog\n")
    assert re.search("<PyTorch, cell \\d+>\", line 2.*\n +1 / x  # dog\n",
                     "".join(traceback.format_exception(caught.value)))


def test_the_switch_has_the_latest_code_and_marks_what_differs(empty):
    run_cell("torch", "def f(): return 0")
    run_cell("torch", "def f(x):\n    y = x < 1\n    return y")
    frameworks.cells["jax"].append("def f(x):\n    y = x <= 1\n    return y")
    shown = switch("f")
    assert repr(shown) == "[f in PyTorch: 3 lines, JAX: 3 lines]"
    page = shown._repr_html_()
    assert page.count("<mark>") == 1 and "<mark>    y = x &lt;= 1</mark>" in page
    assert page.count('type="radio"') == 2 and page.count("checked>") == 1
    assert 'id="switch-f-0" checked>' in page
    tabs = re.findall(r'id="([\w-]+)"[^>]*><label for="([\w-]+)">(\w+)', page)
    panels = re.findall(r'<pre aria-label="(\w+)">', page)
    shows = {tab: panels[int(panel) - 1]
             for tab, panel in re.findall(r"#([\w-]+):checked~div>pre:nth-child\((\d)\)", page)}
    assert [(tab, shows[tab]) for tab, _, _ in tabs] == [(label, title) for _, label, title in tabs]


# ---- the lesson ----

@pytest.mark.slow
def test_lesson_14_runs_to_its_end_without_frameworks():
    """All cells, those that nbval skips included; what is absent says so in one line."""
    notebook = nbformat.read(LESSON, as_version=4)
    hide = nbformat.v4.new_code_cell(
        "from attention_lessons import frameworks\nframeworks.here = lambda name: name == 'torch'")
    notebook.cells.insert(1, hide)
    NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True,
                   resources={"metadata": {"path": LESSON.parent}}).execute()
    for cell in notebook.cells:
        found = re.match(r"%%framework (\w+)\n", cell.source)
        if found and found[1] != "torch":
            [output] = cell.outputs
            assert re.fullmatch(".* is not installed here, so .*\n", output.text), output
