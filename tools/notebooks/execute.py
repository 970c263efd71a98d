"""Run notebooks in fresh kernels and store what they print: `make notebooks`, or with names for some of them.

Stored outputs are what the code printed, without what varies: no times in the metadata, no widget state, no model ids.
"""
import json
import pathlib
import sys
import time

import nbformat
from nbclient import NotebookClient
from nbtext import KERNEL, chosen, write

ROOT = pathlib.Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(path: pathlib.Path) -> dict:
    """The notebook as a fresh kernel leaves it, without what varies. The file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": path.parent}}
    NotebookClient(notebook, timeout=180, kernel_name="python3", coalesce_streams=True, resources=here).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(lasting, cell.outputs) if not empty(output)]
    notebook.metadata = KERNEL
    return notebook


def execute(path: pathlib.Path) -> None:
    write(json.loads(nbformat.writes(executed(path))), path)


def lasting(output: dict) -> dict:
    """The output without its live widget, which is gone with its kernel; its HTML and text stay."""
    output.get("data", {}).pop(WIDGET, None)
    return output


def empty(output: dict) -> bool:
    """Whether nothing is left to show, as of a progress bar without its live widget."""
    return "data" in output and not output["data"]


if __name__ == "__main__":
    for path in chosen(sys.argv[1:], ROOT / "notebooks"):
        start = time.time()
        execute(path)
        print(f"{path.name}: {time.time() - start:.0f} s, {path.stat().st_size // 1024} KiB", flush=True)
