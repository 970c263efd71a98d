"""Run notebooks in fresh kernels and store what they show: `make notebooks`.

Names choose some of them: ARGS="02 05". What varies is not stored: times, live widgets, model ids.
Outputs of cells whose framework is missing stay: `make frameworks ARGS=store` makes them.
"""
import json
import pathlib
import sys
import time

import nbformat
from nbclient import NotebookClient
from tools.notebooks.nbtext import KERNEL, chosen, inner, write

from attention_lessons.frameworks import missing

WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(path: pathlib.Path) -> dict:
    """The notebook as a fresh kernel leaves it, without what varies. The file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    kept = {cell.id: cell.outputs for cell in notebook.cells
            if cell.cell_type == "code" and missing(cell.metadata.get("tags", []))}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", coalesce_streams=True,
                            resources={"metadata": {"path": path.parent}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = kept.get(cell.id, lasting(cell.outputs))
    language = notebook.metadata.get("language")
    notebook.metadata = KERNEL | ({"language": language} if language else {})
    return json.loads(nbformat.writes(notebook))


def lasting(outputs: list[dict]) -> list[dict]:
    """Outputs without live widgets, which end with their kernel; their HTML and text stay."""
    for output in outputs:
        output.get("data", {}).pop(WIDGET, None)
    return [output for output in outputs if output.get("data") != {}]


def store(path: pathlib.Path) -> None:
    write(executed(path), path)


if __name__ == "__main__":
    for path in chosen(sys.argv[1:]):
        start = time.time()
        store(path)
        print(f"{inner(path)}: {path.stat().st_size // 1024} KiB, "
              f"{time.time() - start:.0f} s", flush=True)
