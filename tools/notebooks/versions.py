"""Write README's table of the environments in which everything was run: `make versions`.

    python tools/notebooks/versions.py           take up what the legs of tools/environments.py found last, and rewrite the table
    python tools/notebooks/versions.py --check   change nothing, end with 1 if the table is out of date
"""
import json
import sys

from address import ROOT, update

START, END = "<!-- versions: make versions writes this table -->", "<!-- /versions -->"
KEPT = ROOT / "tests/versions.json"
LEGS = {"pinned": "`pins.txt`, which made the stored outputs: `make test`", "colab": "Colab's list, package absent: `make test-colab`",
        "oldest": "oldest admitted: `make test-oldest`", "newest": "newest: `make test-newest`", "gpu": "NVIDIA GPU: `make test-gpu`"}
COLUMNS = {"python": "Python", "torch": "PyTorch", "numpy": "NumPy", "matplotlib": "matplotlib", "ipython": "IPython", "ipywidgets": "ipywidgets",
           "anywidget": "anywidget", "jupyterlab": "JupyterLab"}
NOT_RUN = {"gpu": "an NVIDIA GPU (`make test-gpu`)", "newer": "Python 3.12 and 3.14", "macos": "macOS", "windows": "Windows", "google": "Colab itself"}  # a leg that was run takes its line out


def kept():
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def latest():
    """What was found last: the legs' own files where they are here, else what was kept."""
    found = {leg: path for leg in LEGS for path in ROOT.glob(f".venv*/result-{leg}.json")}
    return kept() | {leg: json.loads(path.read_text(encoding="utf-8")) for leg, path in found.items()}


def outcome(result):
    parts = [f"{result[key]:,} {words}" for key, words in (("failed", "failed"), ("tests", "tests passed"), ("cells", "cells the same")) if result[key]]
    return f"{', '.join(parts)} ({result['date']})"


def table(found):
    head = ["| what was run | " + " | ".join(COLUMNS.values()) + " | result |", "|---" * (len(COLUMNS) + 2) + "|"]
    rows = [[words, *(found[leg][name] or "" for name in COLUMNS), outcome(found[leg])] for leg, words in LEGS.items() if leg in found]
    rest = "; ".join(words for name, words in NOT_RUN.items() if name not in found)
    return "\n".join([START, *head, *(f"| {' | '.join(row)} |" for row in rows), "", f"Not run: {rest}.", END])


def main(arguments):
    check, path = "--check" in arguments, ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        sys.exit(f"README.md: the table's place is not marked by one {START} and one {END}")
    found = kept() if check else latest()
    if not check:
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    new = text[:text.index(START)] + table(found) + text[text.index(END) + len(END):]
    return 1 if update([(path, new)], check) and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
