"""What hints show as code is run: it stands in the lesson's solution, which is right.

So a sign that changed in a hint is seen, and a hint whose code leads nowhere.
"""
import ast
import re

import pytest
from test_exercises import BUILT, CELLS
from rules.notebook import fences

from attention_lessons.exercises import all_exercises

IN = r"(?:[^()\[\]]|[(\[](?:[^()\[\]]|[(\[][^()\[\]]*[)\]])*[)\]])*"  # what brackets hold
GROUP = rf"(?:\({IN}\)|\[{IN}\])"
PART = rf"~?(?:[\w.]*\w|\.?\w*{GROUP})(?:\.\w+|{GROUP})*"
CODE = rf"{PART}(?: (?:[-+*/@&|<>]|\*\*|[<>]=) {PART})*"
TOLD = {  # of the lesson's code, or of mathematics, and nothing to write
    "shift": ["sin(a + b)"],
    "decoder-block-class": ["X + dropout(sublayer(norm(X)))"],
    "tiles-class": ["exp(score - largest)"],
    "linear-class": ["S / (q·z)"],
    "share-chunk": ["a.cumprod(0)", "since[-1] * S"],  # the solution goes another way
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


@pytest.mark.parametrize("name", BUILT)
def test_code_in_hints_stands_in_code_that_is_right(name):
    right = bare(fences(CELLS[name][2])[0])
    for code in code_in(" ".join(all_exercises()[name].hints)):
        pattern = re.escape(bare(code)).replace(r"\.\.\.", ".+")
        assert code in TOLD.get(name, ()) or re.search(pattern, right), code
