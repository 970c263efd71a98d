"""Cells in other frameworks: rooms, the other interpreter, what is absent; lesson 11 without them.

What needs JAX, TensorFlow or MXNet itself is skipped where that is missing, and run strictly by
`make test-frameworks`.
"""
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient

import d2l_ext
from attention_lessons import exercises, frameworks
from attention_lessons.frameworks import everywhere, here, missing, run_cell, switch
from attention_lessons.frameworks.rooms import (QUIET, Elsewhere, Room, receive, send, serve,
                                                to_numpy)

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks/11_other_frameworks.ipynb"


def needs(*names):
    absent = [name for name in names if not here(name)]
    return pytest.mark.skipif(bool(absent), reason=f"{absent} not installed here")


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


@pytest.fixture(scope="module")
def lesson():
    """All cells of the lesson, by framework, in rooms of their own."""
    made = {}
    for cell in nbformat.read(LESSON, as_version=4).cells:
        found = re.match(r"%%framework (\w+)\n", cell.source)
        if found and here(found[1]):
            name = found[1]
            if name not in made:
                python = str(frameworks.mxnet_python())
                made[name] = Elsewhere(name, python) if name == "mxnet" else Room(name)
            made[name].run(cell.source[found.end():])
    return made


# ---- rooms ------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["here", pytest.param("elsewhere", marks=pytest.mark.slow)])
def test_a_room_runs_cells_and_calls_functions(kind, request, capsys):
    room = Room("torch") if kind == "here" else request.getfixturevalue("elsewhere")
    assert room.run("import torch\ndef f(X, n, word): return X.mT * n, len(word)") is None
    X = np.random.default_rng(0).standard_normal((2, 3), "float32")
    turned, length = room.call("f", [X, 2, "dog"])
    assert np.array_equal(turned, 2 * X.T) and turned.dtype == np.float32 and length == 3
    assert repr(room.run("print('bites')\n1 + 1")) == "2" and capsys.readouterr().out == "bites\n"
    assert "f" in room and "g" not in room
    with pytest.raises((ZeroDivisionError, RuntimeError), match="division by zero"):
        room.run("1 / 0")
    assert room.call("f", [X, 1, ""])[1] == 0  # an error ends nothing


def test_arguments_are_copies():
    room, X = Room("torch"), np.arange(3.0)
    room.run("def f(X): return X.zero_()")
    room.call("f", [X])
    assert X.tolist() == [0, 1, 2]


def served(*questions):
    """What a served room answers: a stream at its start."""
    given, answers = io.BytesIO(), io.BytesIO()
    for words in questions:
        send(given, words)
    given.seek(0)
    serve("torch", given, answers)
    answers.seek(0)
    return answers


X = np.random.default_rng(0).standard_normal((2, 3), "float32")
CELL = "print('dog')\ndef f(X): return [X.mT, len(X)]\ndef g(X): return -X"


def test_a_room_that_is_served_answers_in_messages():
    answers = served(("run", CELL), ("has", "f"), ("has", "h"), ("call", "f", X),
                     ("call", "g", X), ("run", "'man'"), ("run", "print(2)\n1 / 0"))
    found = [receive(answers) for _ in range(7)]
    texts = [(str(error), str(printed)) for error, printed, *_ in found]
    assert texts[:6] == [("", "dog\n"), *[("", "")] * 5]
    assert texts[6] == ('Traceback (most recent call last):\n  File "<cell>", line 2, in <module>\n'
                        "ZeroDivisionError: division by zero\n", "2\n")
    ran, has, lacks, (several, turned, two), (one, minus), shown, failed = (
        values for _, _, *values in found)
    assert [ran, has, lacks, shown, failed] == [[""], [True], [False], ["'man'"], []]
    assert several and np.array_equal(turned, X.T) and two == 2
    assert not one and np.array_equal(minus, -X)
    with pytest.raises(EOFError, match="^the other interpreter has ended$"):
        receive(answers)


def test_a_room_elsewhere_asks_and_understands(capsys):
    room = Elsewhere.__new__(Elsewhere)
    asked = io.BytesIO()
    room.process = SimpleNamespace(stdin=asked, wait=lambda: None, stdout=served(
        ("run", CELL), ("has", "f"), ("call", "f", X), ("call", "g", X), ("run", "'man'"),
        ("run", "1 / 0")))
    assert room.run("a cell") is None and capsys.readouterr().out == "dog\n" and "f" in room
    (turned, two), minus, shown = room.call("f", [X]), room.call("g", [X]), room.run("more")
    assert np.array_equal(turned, X.T) and two == 2 and np.array_equal(minus, -X)
    assert str(shown) == repr(shown) == "'man'"
    with pytest.raises(RuntimeError, match="^in the other interpreter:\nTraceback(.|\n)*by zero"):
        room.run("1 / 0")
    asked.seek(0)
    assert [[str(word) for word in receive(asked)[:2]] for _ in range(6)] == [
        ["run", "a cell"], ["has", "f"], ["call", "f"], ["call", "g"], ["run", "more"],
        ["run", "1 / 0"]]


def test_the_other_interpreter_is_asked_to_serve(monkeypatch):
    asked = []

    class Process:
        stdin, stdout = io.BytesIO(), io.BytesIO()

        def __init__(self, words, *, env, **streams):
            asked.append((words[0], Path(words[1]).name, words[2], env["MPLBACKEND"], streams))

        def wait(self):
            asked.append("waits")

    monkeypatch.setattr(subprocess, "Popen", Process)
    Elsewhere("mxnet", "some python").__del__()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    assert asked[:2] == [("some python", "rooms.py", "mxnet", "Agg", streams), "waits"]
    assert Process.stdin.closed and Process.stdout.closed


def test_results_become_numpy_arrays():
    class OfMXNet:
        def asnumpy(self):
            return X

    given = [torch.tensor([1.0], requires_grad=True), (2, "dog"), OfMXNet()]
    one, (two, word), array = to_numpy(given)
    assert one.tolist() == [1] and two == 2 and word == "dog" and array is X
    assert all(isinstance(each, np.ndarray) for each in (one, two, word))


def test_tensorflow_alone_is_told_to_be_quiet(monkeypatch):
    monkeypatch.setattr(os, "environ", {})
    Room("torch")
    assert os.environ == {}
    Room("tensorflow")
    assert os.environ == QUIET


def test_cells_know_whose_they_are():
    assert Room("jax").run("__name__") == "jax's cells"


def test_an_interpreter_that_ends_is_named(elsewhere):
    with pytest.raises(EOFError, match="the other interpreter has ended"):
        elsewhere.run("import os\nos._exit(1)")


def test_a_cell_runs_only_where_its_framework_is(empty, monkeypatch, capsys):
    run_cell("torch", "def f(x): return x + 1")
    run_cell("jax", "def f(x): return 1 + x") if not here("jax") else None
    monkeypatch.setattr(frameworks, "here", lambda name: name == "torch")
    assert run_cell(" mxnet ", "def f(x): return x - 1\ndef g(x): return x") is None
    assert capsys.readouterr().out.endswith(
        "MXNet is not installed here, so this cell did nothing: `make frameworks` opens the lesson "
        "where it is.\n")
    assert everywhere("f", np.arange(2)).keys() == {"PyTorch"}
    assert everywhere("g", np.arange(2)) == {}
    with pytest.raises(NameError, match="no cell defines 'h' yet"):
        everywhere("h")


def test_cells_of_mxnet_run_in_an_interpreter_beside_this_one(empty, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/some/.venv")
    monkeypatch.setattr(sys, "executable", "/some/.venv/bin/python3")
    monkeypatch.setattr(frameworks, "here", lambda name: True)
    asked = []

    class Recorded(Room):
        def __init__(self, *given):
            asked.append(given)
            super().__init__("torch")

    monkeypatch.setattr(frameworks, "Elsewhere", Recorded)
    assert [run_cell("mxnet", "1 + 1"), run_cell("torch", "2 + 1")] == [2, 3]
    assert asked == [("mxnet", str(Path("/some/.venv-mxnet/bin/python3")))]


def test_a_traceback_shows_the_line_and_its_cell(empty):
    with pytest.raises(ZeroDivisionError) as caught:
        run_cell("torch", "x = 0\n1 / x  # dog\n")
    assert re.search("<PyTorch, cell \\d+>\", line 2.*\n +1 / x  # dog\n",
                     "".join(traceback.format_exception(caught.value)))


def test_what_is_no_cell_is_refused_and_not_kept(empty):
    with pytest.raises(ValueError, match="framework='caffe' is none of torch, jax"):
        run_cell("caffe", "1")
    with pytest.raises(SyntaxError):
        run_cell("torch", "def")
    run_cell("torch", "def f(): return 1")
    assert list(switch("f").codes) == ["PyTorch"]


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(frameworks, "here", lambda name: name == "jax")
    assert missing(["core", "needs-jax", "needs-mxnet"]) == ["MXNet"]


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


# ---- the lesson -------------------------------------------------------------------------------

@pytest.mark.slow
def test_lesson_11_runs_to_its_end_without_frameworks():
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


def agree(lesson, causal, change=None):
    """Whether each framework's step equals the package's, for lengths 2, 0 and 6."""
    draw = np.random.default_rng(5).standard_normal
    queries = 6 if causal else 4
    given = [draw((3, steps, width), "float32")
             for steps, width in ((queries, 5), (6, 7), (6, 9))]
    given += [draw((12, width), "float32") / width ** 0.5 for width in (5, 7, 9, 12)]
    lens, G = np.array([2, 0, 6]), draw((3, queries, 12), "float32")
    tensors = [torch.tensor(X, requires_grad=True) for X in given]
    layer = d2l_ext.MultiHeadAttention(12, 3, query_size=5, key_size=7, value_size=9)
    names = [f"W_{name}.weight" for name in "qkvo"]
    output = torch.func.functional_call(
        layer, dict(zip(names, tensors[3:])), tuple(tensors[:3]),
        {"valid_lens": torch.tensor(lens), "causal": causal})
    output.backward(torch.tensor(G))
    wanted = [output.detach(), *(X.grad for X in tensors)]
    found = {}
    for name, room in lesson.items():
        if change:
            room.run(change)
        answers = room.call("step", [3, causal, lens, G, *given])
        found[name] = [np.allclose(*pair, rtol=0, atol=1e-5) for pair in zip(answers, wanted)]
    return found


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["torch", *(
    pytest.param(name, marks=needs(name)) for name in ("jax", "tensorflow", "mxnet"))])
def test_frameworks_give_the_packages_outputs_and_gradients(lesson, name, causal):
    assert agree({name: lesson[name]}, causal) == {name: [True] * 8}


WRONG = {
    "torch": "def attend(q, k, v, keep):\n    return ((q @ k.mT / q.shape[-1] ** 0.5)"
             ".masked_fill(~keep, -1e6).softmax(-1)) @ v",  # the padding at length 0
    "mxnet": "def attend(q, k, v, keep):\n"
             "    scores = np.matmul(q, k.swapaxes(2, 3)) / q.shape[-1] ** 0.5\n"
             "    return np.matmul(npx.softmax(np.where(keep, scores, -1e9)) * keep, v)",
}


def test_a_wrong_layer_is_caught():
    room = Room("torch")
    for cell in nbformat.read(LESSON, as_version=4).cells:
        if cell.source.startswith("%%framework torch\n"):
            room.run(cell.source.partition("\n")[2])
    assert not all(agree({"torch": room}, False, WRONG["torch"])["torch"])


@needs("mxnet")
def test_a_wrong_gradient_is_caught(lesson):
    found = agree({"mxnet": lesson["mxnet"]}, False, WRONG["mxnet"])["mxnet"]
    assert found[0] and not found[1]  # the right output, no gradient for queries


@needs("jax")
def test_the_exercise_about_frameworks_has_flaxs_answer():
    import jax
    from flax import nnx
    exercise = exercises.find("translate")
    for X, W_1, W_2 in exercise.inputs():
        norm = nnx.LayerNorm(5, rngs=nnx.Rngs(0))
        W_1, W_2, given = (each.numpy() for each in (W_1, W_2, X))
        wanted = norm(given + jax.nn.gelu(given @ W_1) @ W_2)
        ours = exercise.reference(X, torch.tensor(W_1), torch.tensor(W_2))
        assert np.allclose(ours, wanted, atol=1e-5)


@needs("jax")
def test_the_exercise_about_frameworks_has_flaxs_kernels():
    from flax import nnx
    layer = nnx.MultiHeadAttention(num_heads=3, in_features=5, qkv_features=12, out_features=7,
                                   rngs=nnx.Rngs(0))
    W_q, W_o = torch.randn(12, 5), torch.randn(7, 12)
    kernels = exercises.find("to-kernel").reference(W_q, W_o, 3)
    assert [tuple(kernel.shape) for kernel in kernels] == [
        layer.query.kernel.shape, layer.out.kernel.shape] == [(5, 3, 4), (3, 4, 7)]
