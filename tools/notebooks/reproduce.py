"""Run notebooks several times in fresh kernels and compare all outputs, pictures too, byte for byte: `make reproduce`.

ARGS="02 05" takes some of them, ARGS="--runs 10 --busy" runs each ten times while a second process keeps a core busy. Cells tagged `timing` may differ.
"""
import argparse
import subprocess
import sys
import time

from execute import ROOT, executed
from nbtext import chosen

BUSY = "import time\nwhile True: sum(range(10**6))"


def shown(notebook: dict) -> dict[str, str]:
    """What each cell shows, but for those that show times."""
    return {cell.id: repr([{**output, "execution_count": None} for output in cell.outputs])
            for cell in notebook.cells if cell.cell_type == "code" and "timing" not in cell.metadata.get("tags", [])}


def differing(runs: list[dict[str, str]]) -> list[str]:
    """The cells that showed something else in a later run than in the first."""
    return [name for name in runs[0] if any(run.get(name) != runs[0][name] for run in runs[1:])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    load = subprocess.Popen([sys.executable, "-c", BUSY]) if arguments.busy else None
    wrong = 0
    try:
        for path in chosen(arguments.words, ROOT / "notebooks"):
            start = time.time()
            cells = differing([shown(executed(path)) for _ in range(arguments.runs)])
            wrong += bool(cells)
            result = f"differ in {', '.join(cells)}" if cells else "are equal"
            print(f"{path.name}: {arguments.runs} runs {result} ({(time.time() - start) / arguments.runs:.0f} s each)", flush=True)
    finally:
        if load:
            load.kill()
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
