"""A notebook as the rules see it, and the register that they are in."""
import ast
import itertools
import re
import tomllib
from functools import cache, cached_property

from tools import ROOT
from tools.notebooks import nbtext

ONE_SCREEN = ("one-screen", "one-screen-code", "one-screen-proof")
RULES = {}  # name -> function from notebooks to complaints


def rule(*kinds, of=""):
    """Register a rule for notebooks of these kinds, or for all: it yields what is wrong with a cell
    of these, "code", "words" or "cells"; or, of a whole notebook, pairs (cell id, what is wrong).
    """
    def register(find):
        def found(notebook):
            if not of:
                return find(notebook)
            return ((cell.id, wrong) for cell in getattr(notebook, of) for wrong in find(cell))

        RULES[find.__name__] = lambda notebooks: [
            f"{notebook.name}.ipynb, cell {cell}: {wrong}. {find.__doc__}"
            for notebook in notebooks if not kinds or notebook.kind in kinds
            for cell, wrong in found(notebook)]
        return find
    return register


def rule_for_all(find):
    """Register a rule about all notebooks together: it yields (file, cell, what is wrong)."""
    RULES[find.__name__] = lambda notebooks: [
        f"{file}, {cell}: {wrong}. {find.__doc__}" for file, cell, wrong in find(notebooks)]
    return find


class Cell:
    """A cell. `statements` and `nodes` are its syntax, empty where it isn't Python."""

    def __init__(self, stored):
        self.id, self.text = stored["id"], "".join(stored["source"])
        self.tags = set(stored["metadata"].get("tags", []))
        self.folded = stored["metadata"].get("jupyter", {}).get("source_hidden", False)
        self.is_code = stored["cell_type"] == "code"
        self.count, self.outputs = stored.get("execution_count"), stored.get("outputs", [])
        self.data = [output.get("data", {}) for output in self.outputs]
        # a cell of another framework: its first line is no Python, the rest is
        found = re.match(r"%%framework (\w+)\n", self.text)
        self.framework = found[1] if found else ""
        self.python = self.text[found.end() if found else 0:] if self.is_code else ""

    @cached_property
    def statements(self):
        try:
            return ast.parse(self.python).body
        except SyntaxError:
            return []

    @cached_property
    def nodes(self):
        return list(ast.walk(ast.Module(self.statements, [])))

    @property
    def output_texts(self):
        """All text in the outputs, without the bytes of pictures."""
        texts = [text for data in self.data for text in data.values()]
        for output in self.outputs:
            texts += [output.get("text", ""), output.get("traceback", "")]
        return [re.sub(r"base64,[\w+/=]*", "", "".join(text)) for text in texts]


class Notebook:
    """A notebook by its name, "05_..." or "deeper/05_..._deeper". Its kind is "lesson", or "start"
    (00), "museum" (whose exercises are exhibits), or "deeper"."""

    def __init__(self, name, content):
        self.name, self.content = name, content
        self.number = name.removeprefix("deeper/")[:2]
        self.place = "deeper/" * name.startswith("deeper/") + self.number
        self.kind = ("deeper" if name.startswith("deeper/") else "start" if self.number == "00"
                     else "museum" if name.endswith("_museum") else "lesson")
        self.cells = [Cell(cell) for cell in content["cells"]]
        self.ids = [cell.id for cell in self.cells]
        self.code = [cell for cell in self.cells if cell.is_code]
        self.words = [cell for cell in self.cells if not cell.is_code]

    @cached_property
    def alt(self):
        """The entries of the lesson's alt.toml that this notebook draws, the words of its figures:
        a text, or a table of `text`, `varies` and `draw`."""
        drawn = {name[3:] for cell in self.code for name in figure_names(cell)}
        return {name: entry for name, entry in alt_of(self.number).items() if name in drawn}

    def cell(self, name):
        return next((cell for cell in self.cells if cell.id == name), None)

    def between(self, first, *ends):
        """The cells from the one called ``first`` to before the next that is called one of
        ``ends``; none where there is no such cell."""
        start = self.ids.index(first) if first in self.ids else len(self.ids)
        return [*itertools.takewhile(lambda cell: cell.id not in ends, self.cells[start:])]


@cache
def all_notebooks():
    return [Notebook(nbtext.inner(path).with_suffix("").as_posix(), nbtext.read(path))
            for path in nbtext.notebooks()]


@cache
def alt_of(number):
    """The entries of a lesson's alt.toml."""
    path = ROOT / f"attention_lessons/lesson_{number}/alt.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


# ---- what several rules need -----------------------------------------------------------------

def rows(text):
    """The rows of a Markdown table, as lists of columns, without its head."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    return [[column.strip() for column in re.split(r"(?<!\\)\|", line.strip("|"))]
            for line in lines[2:]]


def without_code(text):
    return re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.S)


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


def fences(cell):
    """The blocks of Python in a Markdown cell."""
    return re.findall(r"^```python\n(.*?)^```", cell.text, re.S | re.M)


def figure_calls(cell):
    """The named arguments of each figure that a cell draws."""
    for node in cell.nodes:
        if isinstance(node, ast.Call) and re.search(
                r"\b(heatmaps|curves|bars)$", ast.unparse(node.func)):
            yield {word.arg: word.value for word in node.keywords}


def figure_names(cell):
    """The names of the figures that a cell draws."""
    for given in figure_calls(cell):
        yield ast.literal_eval(given["name"]) if "name" in given else ""


def trios(cells):
    """Exercises as name -> their three cells, where these follow each other.

    They are exercise-NAME, answer-NAME, solution-NAME; or, for a page to print, which has no kind
    and level, NAME-page, NAME, solution-NAME.
    """
    found = {}
    for three in zip(cells, cells[1:], cells[2:]):
        name = three[2].id.removeprefix("solution-")
        ids = [cell.id.removesuffix("-page") for cell in three[:2]]
        if ids in ([f"exercise-{name}", f"answer-{name}"], [name, name]):
            found[name] = three
    return found
