"""Run notebooks in fresh kernels and store what they show: `make notebooks`.

Names choose some of them: ARGS="02 05". What varies is not stored: times, live widgets, model ids.
With ARGS="--runs 2" nothing is stored: all runs are compared byte for byte, pictures too, and
cells that differ are named, but for those tagged `timing`.
Outputs of cells whose framework is missing stay: `make frameworks ARGS=store` makes them.
"""
import argparse
import json
import pathlib
import sys
import time

import nbformat
from nbclient import NotebookClient
from tools.notebooks.nbtext import KERNEL, chosen, write

from attention_lessons.frameworks import missing

NOTEBOOKS = pathlib.Path(__file__).parents[2] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(path: pathlib.Path) -> dict:
    """The notebook as a fresh kernel leaves it, without what varies. The file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    kept = {cell.id: cell.outputs for cell in notebook.cells if needs_more(cell)}
    client = NotebookClient(notebook, timeout=180, kernel_name="python3", coalesce_streams=True,
                            resources={"metadata": {"path": path.parent}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = kept.get(cell.id, lasting(cell.outputs))
    kept = {"language": language} if (language := notebook.metadata.get("language")) else {}
    notebook.metadata = KERNEL | kept
    return notebook


def needs_more(cell: dict) -> bool:
    """Whether a cell's framework is missing here, so that only its stored outputs say something."""
    return cell.cell_type == "code" and bool(missing(cell.metadata.get("tags", [])))


def lasting(outputs: list[dict]) -> list[dict]:
    """Outputs without live widgets, which end with their kernel; their HTML and text stay."""
    for output in outputs:
        output.get("data", {}).pop(WIDGET, None)
    return [output for output in outputs if output.get("data") != {}]


def store(path: pathlib.Path) -> str:
    write(json.loads(nbformat.writes(executed(path))), path)
    return f"{path.stat().st_size // 1024} KiB"


def shown(notebook: dict) -> dict[str, str]:
    """What each cell shows, but for those that show times."""
    return {cell.id: repr([{**output, "execution_count": None} for output in cell.outputs])
            for cell in notebook.cells
            if cell.cell_type == "code" and "timing" not in cell.metadata.get("tags", [])}


def differing(runs: list[dict[str, str]]) -> list[str]:
    """The cells that showed something else in a later run than in the first."""
    return [name for name in runs[0] if any(run[name] != runs[0][name] for run in runs[1:])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=0)
    arguments = parser.parse_args()
    wrong = False
    for path in chosen(arguments.words, NOTEBOOKS):
        start = time.time()
        if arguments.runs:
            cells = differing([shown(executed(path)) for _ in range(arguments.runs)])
            wrong |= bool(cells)
            outcome = f"differ in {', '.join(cells)}" if cells else "are equal"
            outcome = f"{arguments.runs} runs {outcome}"
        else:
            outcome = store(path)
        print(f"{path.relative_to(NOTEBOOKS)}: {outcome}, {time.time() - start:.0f} s", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
