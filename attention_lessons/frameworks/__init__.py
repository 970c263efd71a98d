"""Cells in other frameworks: ``%%framework jax`` runs a cell where JAX is, elsewhere says it isn't.

A notebook that imports this module has the magic. Each framework's cells share names among
themselves alone; ``everywhere`` calls the functions of one name in all of them with the same NumPy
arrays, and ``switch`` shows their code. MXNet runs in an interpreter of its own, whose environment
has this one's name and ``-mxnet``: it wants NumPy 1.
"""
from __future__ import annotations

import ast
import html
import linecache
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from .rooms import Elsewhere, Room

TITLES = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow", "mxnet": "MXNet"}
NEEDS = {"torch": ["torch"], "jax": ["jax", "flax"], "tensorflow": ["tensorflow", "keras"]}
rooms: dict[str, Room | Elsewhere] = {}
cells: dict[str, list[str]] = {name: [] for name in TITLES}  # what was run, or would have been
number = count(1)


def mxnet_python() -> Path:
    """The interpreter for MXNet, whether or not it is there."""
    return Path(f"{sys.prefix}-mxnet", *Path(sys.executable).parts[-2:])


def here(framework: str) -> bool:
    """Whether the cells of a framework, one of ``TITLES``, run here.

    Raises ValueError for another name.
    """
    if framework not in TITLES:
        raise ValueError(f"{framework=} is none of {', '.join(TITLES)}")
    if framework == "mxnet":
        return mxnet_python().exists()
    return all(map(find_spec, NEEDS[framework]))


def missing(tags) -> list[str]:
    """The frameworks that a cell's tags ask for, `needs-jax` and so on, and that aren't here.

    >>> missing(["core", "needs-torch"])
    []
    """
    needed = [tag.removeprefix("needs-") for tag in tags if tag.startswith("needs-")]
    return [TITLES[name] for name in needed if not here(name)]


def run_cell(line: str, cell: str) -> None:
    """The magic ``%%framework NAME``: run the cell in that framework's room, or say one line."""
    name = line.strip()
    ast.parse(cell)  # a cell that isn't Python is not kept
    present = here(name)
    cells[name].append(cell)
    if not present:
        print(f"{TITLES[name]} is not installed here, so this cell did nothing: "
              "`make frameworks` opens the lesson where it is.")
        return
    if name not in rooms:
        rooms[name] = Elsewhere(name, str(mxnet_python())) if name == "mxnet" else Room(name)
    filename = f"<{TITLES[name]}, cell {next(number)}>"  # a traceback shows its lines
    linecache.cache[filename] = len(cell), None, cell.splitlines(True), filename
    rooms[name].run(cell, filename)


def everywhere(function: str, *arguments) -> dict:
    """What each framework's ``function`` returns for the same NumPy arrays, numbers or text.

    Returns NumPy arrays, or sequences of them, by the framework's title; a framework that isn't
    here, or has no function of this name, is left out. Raises NameError where no cell defines it.
    """
    return {TITLES[name]: rooms[name].call(function, arguments)
            for name in definitions(function) if name in rooms}


def definitions(function: str) -> dict[str, str]:
    """The code of a function or class in each framework's cells, the latest of each."""
    found = {name: ast.get_source_segment(source, node)
             for name, sources in cells.items() for source in sources
             for node in ast.parse(source).body if getattr(node, "name", None) == function}
    if not found:
        raise NameError(f"no cell defines {function!r} yet: run the cells before")
    return found


# ---- the switch ----

class Switch:
    """The code of a function or class in all frameworks, as the notebook's cells have it.

    Lines that PyTorch's version doesn't have are marked. The cells need not have run: their text is
    enough. Raises NameError where no cell defines it.
    """

    def __init__(self, function: str):
        self.function = function
        self.codes = {TITLES[name]: code for name, code in definitions(function).items()}

    def __repr__(self) -> str:
        lines = (f"{title}: {len(code.splitlines())} lines" for title, code in self.codes.items())
        return f"[{self.function} in {', '.join(lines)}]"

    def _repr_html_(self) -> str:
        group = f"switch-{self.function}"
        css, tabs, panels = "", "", ""
        for i, (title, code) in enumerate(self.codes.items()):
            one = f"{group}-{i}"
            tabs += (f'<input type="radio" name="{group}" id="{one}" {"checked" * (i == 0)}>'
                     f'<label for="{one}">{title}</label>')
            panels += f'<pre aria-label="{title}">{marked(code, self.codes)}</pre>'
            css += f"#{one}:checked~div>pre:nth-child({i + 1}){{display:block}}"
        return (f'<div class="{group}" role="radiogroup" aria-label="Framework"><style>'
                f".{group} pre{{display:none;padding:.6em;overflow:auto;font-family:monospace}}"
                f".{group} label{{padding:.3em .8em .3em .2em}}.{group} mark{{color:inherit;"
                f"background:#8884}}{css}</style>{tabs}<div>{panels}</div></div>")


def marked(code: str, codes: dict[str, str]) -> str:
    """Code as HTML, where lines that the first framework doesn't have are marked."""
    first = next(iter(codes.values()))
    usual = {line.strip() for line in first.splitlines()}
    lines = ((line, html.escape(line)) for line in code.splitlines())
    return "\n".join(text if line.strip() in usual else f"<mark>{text}</mark>"
                     for line, text in lines)


switch = Switch  # the last line of a cell shows it


if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
    shell.register_magic_function(run_cell, "cell", "framework")
