"""What whoever cuts a lesson needs: its cells, each with its source as one text."""
import copy
import re

BADGE = re.compile(r"\n*\[Open in Colab\].*")  # leads to the lesson as it is, solutions and all


def cells_of(notebook: dict) -> list[dict]:
    """Copies of the cells; a notebook's file may hold a source in one piece."""
    return [copy.deepcopy(cell) | {"source": "".join(cell["source"])} for cell in notebook["cells"]]


def has(cell: dict, *tags: str) -> bool:
    """Whether a cell has one of these tags."""
    return not {*tags}.isdisjoint(cell["metadata"].get("tags", []))


def words_cell(name: str, part: str, text: str) -> dict:
    return {"cell_type": "markdown", "id": name, "metadata": {"tags": [part]}, "source": text}
