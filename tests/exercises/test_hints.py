"""What hints show as code is run: it stands in the lesson's solution, which is right.

So a sign that changed in a hint is seen, and a hint whose code leads nowhere.
"""
import ast
import inspect
import re

import pytest
import torch
from test_exercises import CELLS, CLASSES, FUNCTIONS
from rules.notebook import fences

from attention_lessons.exercises import all_exercises, check

IN = r"(?:[^()\[\]]|[(\[](?:[^()\[\]]|[(\[][^()\[\]]*[)\]])*[)\]])*"  # what brackets hold
GROUP = rf"(?:\({IN}\)|\[{IN}\])"
PART = rf"~?(?:[\w.]*\w|\.?\w*{GROUP})(?:\.\w+|{GROUP})*"
CODE = rf"{PART}(?: (?:[-+*/@&|<>]|\*\*|[<>]=) {PART})*"
TOLD = {  # of the lesson's code, or of mathematics, and nothing to write
    "batch-axis": ["X.shape[0]", "P[:batch]"], "shift": ["sin(a + b)"],
    "decoder-block-class": ["X + dropout(part(norm(X)))"], "tiles-class": ["exp(score - largest)"],
    "linear-class": ["S / (q·z)"],
}
OTHER = {  # where the solution goes another way, an answer made of the hints
    "share-chunk": """
def answer(S, q, k, v, a):
    since = a.cumprod(0)  # since[i] / since[j], for all i and j:
    M = (since[:, None] / since).tril()
    return (q @ k.T * M) @ v + since[:, None] * (q @ S), since[-1] * S + (
        k * (since[-1] / since)[:, None]).T @ v
""",
}


def bare(code):
    """Code without what a lesson's solution adds."""
    return re.sub(r"self\.|, device=[\w.]+|\s", "", code)


def code_in(text):
    """Calls, indices, and what operators make of them; a place such as since[i] is no code."""
    for code in re.findall(CODE, text):
        try:
            found = ast.parse(code.lstrip("."), mode="eval").body
        except SyntaxError:
            continue
        if re.search(r"[(\[]", code) and not (isinstance(found, ast.Tuple)
                                              or re.search(r"^\w+\[\w\]$|\[[ij]\]|^\(", code)):
            yield code


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_code_in_hints_stands_in_code_that_is_right(name):
    right = bare(OTHER.get(name) or fences(CELLS[name][2])[0])
    for code in code_in(" ".join(all_exercises()[name].hints)):
        pattern = re.escape(bare(code)).replace(r"\.\.\.", ".+")
        assert code in TOLD.get(name, ()) or re.search(pattern, right), code


@pytest.mark.parametrize("name", OTHER)
def test_an_answer_made_of_hints_is_right(name):
    names = {"torch": torch}
    exec(OTHER[name], names)
    assert check(name, names["answer"]).state == "right"


@pytest.mark.parametrize("hint, code", [
    ("Weigh with scores.masked_fill(~keep, low).softmax(-1) * keep.",
     ["scores.masked_fill(~keep, low).softmax(-1) * keep"]),
    ("keep is places < lens[:, None], (batch, heads), of a[t] and f(x)[..., 0::2]",
     ["places < lens[:, None]", "f(x)[..., 0::2]"])])
def test_code_is_found_in_a_hint(hint, code):
    assert [*code_in(hint)] == code


def scale(weigh_heads):
    (q, k), w = torch.randn(2, 2, 3, 8), 4
    wanted = torch.softmax(q[..., :w] @ k[..., :w].mT / w ** 0.5, -1)
    assert torch.allclose(weigh_heads(q, k, 2)[:, 0], wanted, atol=1e-5)


def positions(with_positions):
    (b, n, d), (i, t) = (2, 3, 4), (1, 0)
    X, table = torch.randn(b, n, d), torch.randn(5, d)
    assert with_positions(torch.zeros(b, n, d), table)[i, t].equal(table[t])
    assert with_positions(X, table)[i, t].equal(X[i, t] + table[t])


def forcing(training_pair):
    tokens = torch.tensor([[4, 7, 2, 5, 9]])
    reads, start = training_pair(tokens, 1)[0], 1
    assert (reads[:, 0] == start).all() and reads[:, 1:].equal(tokens[:, :-1])


@pytest.mark.parametrize("test", [scale, positions, forcing], ids=lambda test: test.__name__)
def test_a_test_made_of_the_code_in_the_museums_hints_is_a_good_one(test):
    name, text = test.__name__, bare(inspect.getsource(test))
    told = [*code_in(" ".join(all_exercises()[name].hints))]
    assert [code for code in told if "[:, t]" not in code and bare(code) not in text] == []
    assert check(name, {"test": test}).message.startswith("Right so far: test.")
