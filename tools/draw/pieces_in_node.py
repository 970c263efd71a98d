"""Pieces described in node: what each shows in a state, and the pictures that stand in for it.

draw.py writes them to images/NN_explorer.svg, in every language, from the description that the
browser draws, too.
"""
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import torch

from attention_lessons import pieces
from attention_lessons.languages import t
from attention_lessons.laboratory import TRIALS, results
from attention_lessons.laboratory.dates import load
from attention_lessons.plotting import TEXT
from d2l_ext import MultiHeadAttention

HERE = Path(__file__).parent


def node() -> str:
    """Where node is. Raises RuntimeError if it is nowhere."""
    if found := shutil.which("node"):
        return found
    raise RuntimeError("node is missing, which runs the interactive pieces outside of a page: "
                       "apt install nodejs, or https://nodejs.org")


def in_node(source: str, scenes, expression: str = ""):
    """What describe.mjs says of scenes, or the value of an expression over ``given`` scenes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "piece.mjs")
        path.write_text(source, encoding="utf-8")
        given = json.dumps({"scenes": scenes, "expression": expression})
        done = subprocess.run([node(), HERE / "describe.mjs", path],
                              input=given, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


class Scene:
    """What a piece shows: ``sentence``, ``label``, ``elements``, ``svg``, and its ``state``."""

    def __init__(self, found: dict):
        vars(self).update(found)

    def of(self, kind: str, **given) -> list[dict]:
        """The elements of a class or type, for example ``of("bar")`` or ``of("text", x=3)``."""
        return [each for each in self.elements
                if kind in (each["type"], *each.get("class", "").split())
                and given.items() <= each.items()]

    @property
    def words(self) -> list[str]:
        """What is written in the picture."""
        return [each["name"] for each in self.of("text")]


def scene(explorer, *moves, width: int = 720, ui=None, **state) -> dict:
    """A state and moves such as ("query", "onKeyDown", {"key": "Home"}), for describe.mjs."""
    return {"data": explorer.data, "state": explorer.state | state, "words": explorer.words,
            "width": width, "moves": moves, "ui": ui or {}}


def described(explorer, *moves, **given) -> Scene:
    """What a piece shows in a state, after moves."""
    found, = in_node(pieces.source(explorer.piece), [scene(explorer, *moves, **given)])
    return Scene(found)


def still(explorer) -> str:
    """The picture of a piece in its default state, in light colours, with its words, and a line
    that says that it is a picture."""
    found = described(explorer, ui={"used": True})
    style = re.sub(r"(?s)@media[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", found.style)
    words = escape(f"{found.label} {found.sentence}".replace("。 ", "。"))  # as Chinese has it
    margin, strip = 14, 30
    wide, high = (int(size) + 2 * margin for size in re.findall(r'\d+', found.svg)[:2])
    hint = escape(str(t("▶ A picture of the figure. Run this cell to move it.")))
    high += strip
    return (f'<svg xmlns="http://www.w3.org/2000/svg" data-of="{explorer.stamp}" role="img" '
            f'width="{wide}" height="{high}" viewBox="{-margin} {-margin} {wide} {high}">'
            f"<title>{escape(explorer.title)}</title><desc>{words}</desc><style>{escape(style)}</style>"
            f'<rect x="{-margin}" y="{-margin}" width="{wide}" height="{high}" rx="14" '
            f'fill="#fff"/><g class="d2l-piece">{found.svg}</g>'
            f'<text x="0" y="{high - margin - 12}" fill="{TEXT}" font-size="14" '
            f'font-family="system-ui, sans-serif">{hint}</text></svg>\n')


TOKENS = ["dog", "bites", "man"]
X = torch.tensor([[1., 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 3]])
PADDED = torch.cat([X, torch.zeros(1, 4)])
KEYS = torch.tensor([[10., 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]])
VALUES = torch.tensor([[1., 0, 0], [10, 0, 0], [100, 5, 0], [1000, 6, 0]])
CHANCE = {task: 1 / trial.vocab_size for task, trial in TRIALS.items()}


def entries(**places):
    """A 4 x 4 matrix that is zero but for the places named: r0c2=20."""
    matrix = torch.zeros(4, 4)
    for place, value in places.items():
        matrix[int(place[1]), int(place[3])] = value
    return matrix


HEADS = {"W_q": entries(r0c2=20, r2c2=20), "W_k": entries(r0c0=1, r2c1=1),
         "W_v": entries(r0c3=1, r2c3=1), "W_o": torch.eye(4)}
ORDER = {"W_q": entries(r0c2=4, r1c2=2, r2c3=2), "W_k": torch.diag(torch.tensor([1., 1, 1, 0])),
         "W_v": torch.eye(4), "W_o": torch.eye(4)}


def layer(matrices, num_heads=1):
    """Attention with these weights and no bias."""
    attention = MultiHeadAttention(4, num_heads)
    attention.load_state_dict({f"{name}.weight": matrix for name, matrix in matrices.items()})
    return attention


def features():
    """As the lessons call them."""
    return [str(name) for name in (t("animal"), t("person"), t("action"), t("height"))]


# Each piece as its lesson shows it, but for what is changed.

def pooling(**change):
    given = {"keys": KEYS, "values": VALUES, "query": [0, 10, 9], "scale": 8}
    return pieces.pooling_explorer(**given | change)


def heads():
    """One head would mix the two heights, two heads keep them apart."""
    return pieces.heads_explorer(layer(HEADS, 2), X, TOKENS, features())


def arcs() -> list[list[list[float]]]:
    """That layer's weights by token that asks, head and token that is asked."""
    _, weights = layer(HEADS, 2)(X[None], X[None], X[None], need_weights=True)
    return weights[0].transpose(0, 1).tolist()


def order(**change):
    given = {"attention": layer(ORDER), "X": PADDED, "tokens": [*TOKENS, "pad"],
             "features": features(), "valid_len": 3}
    return pieces.order_explorer(**given | change)


def lengths(**change):
    given = {"rows": results("06")["rows"], "trained": 16, "chance": CHANCE}
    return pieces.lengths_explorer(**given | change)


def dates(text="24/12/1999"):
    return pieces.dates_explorer(load(), text)


def tiles(**change):
    given = {"queries": [1, -1, 0, 2, -2, 0.5], "keys": [1, -2, 0, 2, 3, -1, 2, 1],
             "values": [10, 20, 30, 40, 50, 60, 70, 80]}
    return pieces.tiles_explorer(**given | change)


def memories():
    return pieces.compare_explorer(4096, c=64)


LESSONS = {"01": pooling, "03": heads, "04": order, "05": pieces.clock_explorer, "06": lengths,
           "07": pieces.compare_explorer, "09": dates, "10": tiles, "11": memories}
PICTURES = {f"{name}_explorer": lambda make=make: still(make()) for name, make in LESSONS.items()}
