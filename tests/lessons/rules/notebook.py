"""A notebook as the rules see it, and the register that they are in."""
import ast
import json
import re
import tomllib
from functools import cache, cached_property

from tools import ROOT

ONE_SCREEN = ("one-screen", "one-screen-code", "one-screen-proof")
RULES = {}  # name -> function from notebooks to complaints
OF_ALL = set()  # the names of those that compare notebooks with each other


def rule(first=0, last=99, of=""):
    """Register a rule for lessons first to last: it yields what is wrong with a cell of these,
    "code", "words" or "cells"; or, of a whole notebook, pairs (cell id, what is wrong)."""
    def register(find):
        def found(notebook):
            if not of:
                return find(notebook)
            return ((cell.id, wrong) for cell in getattr(notebook, of) for wrong in find(cell))

        RULES[find.__name__] = lambda notebooks: [
            f"{notebook.name}.ipynb, cell {cell}: {wrong}. {find.__doc__}"
            for notebook in notebooks if first <= notebook.number <= last
            for cell, wrong in found(notebook)]
        return find
    return register


def rule_for_all(find):
    """Register a rule about all notebooks together: it yields (file, cell, what is wrong)."""
    OF_ALL.add(find.__name__)
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

    def calls(self, *names):
        """The calls of functions of these names, with or without a module's name before it."""
        return [node for node in self.nodes if isinstance(node, ast.Call)
                and ast.unparse(node.func).split(".")[-1] in names]


class Notebook:
    def __init__(self, name, content):
        self.name, self.content = name, content
        self.number = int(name[:2]) if name[:2].isdigit() else 0
        self.cells = [Cell(cell) for cell in content["cells"]]
        self.ids = [cell.id for cell in self.cells]
        self.code = [cell for cell in self.cells if cell.is_code]
        self.words = [cell for cell in self.cells if not cell.is_code]

    @cached_property
    def alt(self):
        """The entries of its alt.toml, the words of its figures: a text, or a table of `text` and
        `varies`."""
        path = ROOT / f"attention_lessons/lesson_{self.name[:2]}/alt.toml"
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def cell(self, name):
        return next((cell for cell in self.cells if cell.id == name), None)

    def tagged(self, tag):
        return [cell for cell in self.cells if tag in cell.tags]


@cache
def all_notebooks():
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    return [Notebook(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


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


def trios(notebook):
    """Exercises as name -> their three cells, where these follow each other.

    They are exercise-NAME, answer-NAME, solution-NAME; or, for a page to print, which has no kind
    and level, NAME-page, NAME, solution-NAME.
    """
    found = {}
    for three in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        name = three[2].id.removeprefix("solution-")
        ids = [cell.id.removesuffix("-page") for cell in three[:2]]
        if ids in ([f"exercise-{name}", f"answer-{name}"], [name, name]):
            found[name] = three
    return found
