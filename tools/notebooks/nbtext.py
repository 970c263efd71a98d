"""Edit a notebook as one plain text file: unpack it, edit, pack it again.

    python tools/notebooks/nbtext.py unpack notebooks/02_multi_head_attention.ipynb > 02.txt
    python tools/notebooks/nbtext.py pack 02.txt notebooks/02_multi_head_attention.ipynb

Each cell starts with a line `%% md|code ID TAG TAG ... [folded]`; `folded` collapses the source of a code cell. Packing keeps the
outputs of the code cells whose source did not change; `make notebooks` makes all of them anew.
The tag `predict` folds a cell's output: readers answer first.
"""
import json
import pathlib
import re
import sys

HEADER = re.compile(r"^%% (md|code) ([a-z0-9-]+)((?: [a-z-]+)*)$")
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def unpack(notebook: dict) -> str:
    parts = []
    for cell in notebook["cells"]:
        words = ["md" if cell["cell_type"] == "markdown" else "code", cell["id"], *cell["metadata"].get("tags", [])]
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            words.append("folded")
        parts.append(f"%% {' '.join(words)}\n{''.join(cell['source'])}\n")
    return "\n".join(parts)


def pack(text: str, old: dict) -> dict:
    before = {cell["id"]: cell for cell in old.get("cells", [])}
    cells, source = [], []
    for number, line in enumerate(text.splitlines(), 1):
        header = HEADER.match(line)
        if line.startswith("%% ") and not header:
            sys.exit(f"line {number}: {line!r} is no cell header")
        if header:
            source = []
            cells.append((*header.groups(), source))
        else:
            source.append(line)
    made = [make_cell(kind, name, words.split(), "\n".join(lines).strip("\n"), before.get(name, {}))
            for kind, name, words, lines in cells]
    return {"cells": made, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def make_cell(kind: str, name: str, words: list[str], source: str, before: dict) -> dict:
    metadata = {"tags": [word for word in words if word != "folded"]}
    cell = {"cell_type": "markdown" if kind == "md" else "code", "id": name, "metadata": metadata,
            "source": source.splitlines(keepends=True)}
    if "folded" in words:
        metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    if kind == "code" and "predict" in words:
        metadata |= {"collapsed": True, "jupyter": metadata.get("jupyter", {}) | {"outputs_hidden": True}}
    if kind == "code":
        same = before.get("source") == cell["source"]
        cell |= {"execution_count": before.get("execution_count") if same else None, "outputs": before.get("outputs", []) if same else []}
    return dict(sorted(cell.items()))


def write(notebook: dict, path: pathlib.Path) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def chosen(words: list[str], folder: pathlib.Path) -> list[pathlib.Path]:
    """The notebooks in ``folder`` whose names contain one of the words; all of them where there are no words. Ends the program where none does."""
    return [path for path in sorted(folder.glob("*.ipynb")) if any(word in path.stem for word in words or [""])] or sys.exit(f"No notebook is called {' or '.join(words)}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["unpack"] and len(sys.argv) == 3:
        sys.stdout.write(unpack(json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))))
    elif sys.argv[1:2] == ["pack"] and len(sys.argv) == 4:
        target = pathlib.Path(sys.argv[3])
        write(pack(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"), json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}), target)
    else:
        sys.exit(__doc__)
