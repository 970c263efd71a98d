"""Edit a notebook as one plain text file: unpack it, edit, pack it again.

    python -m tools.notebooks.nbtext unpack notebooks/03_multi_head_attention.ipynb > 02.txt
    python -m tools.notebooks.nbtext pack 02.txt notebooks/03_multi_head_attention.ipynb

Each cell starts with a line `%% md|code ID TAG TAG ... [folded] [=SLIDE]`. `folded` folds the
source of a code cell, the tag `predict` its output. `=slide`, `=fragment`, `=notes` or `=skip` says
what the cell is in a lecture; `=notes` are the speaker's words; without it, it follows on the same
slide. Packing keeps the outputs of code cells whose source did not change; `make notebooks` makes
all of them again.
"""
import copy
import itertools
import json
import pathlib
import re
import sys

from tools import ROOT

NOTEBOOKS = ROOT / "notebooks"
HEADER = re.compile(r"^%% (md|code) ([a-z0-9-]+)((?: =?[a-z-]+)*)$")
BADGE = re.compile(r"\n*\[(!\[)?Open in Colab\].*")  # leads to the lesson, solutions and all
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def unpack(notebook: dict) -> str:
    parts = []
    for cell in notebook["cells"]:
        kind = "md" if cell["cell_type"] == "markdown" else "code"
        words = [kind, cell["id"], *cell["metadata"].get("tags", [])]
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            words.append("folded")
        if slide := cell["metadata"].get("slideshow"):
            words.append(f"={slide['slide_type']}")
        parts.append(f"%% {' '.join(words)}\n{''.join(cell['source'])}\n")
    return "\n".join(parts)


def pack(text: str, old: dict) -> dict:
    before = {cell["id"]: cell for cell in old.get("cells", [])}
    cells = []
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            cells.append((*header.groups(), []))
        elif line.startswith("%% ") or not cells:
            sys.exit(f"line {number}: {line!r} isn't a cell header")
        else:
            cells[-1][-1].append(line)
    made = [make_cell(kind, name, words.split(), "\n".join(lines).strip("\n"), before.get(name, {}))
            for kind, name, words, lines in cells]
    return {"cells": made, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def make_cell(kind: str, name: str, words: list[str], source: str, before: dict) -> dict:
    metadata = {"tags": [word for word in words if word != "folded" and word[0] != "="]}
    for word in words:
        if word[0] == "=":
            metadata["slideshow"] = {"slide_type": word[1:]}
    lines = source.splitlines(keepends=True)
    if kind == "md":
        return {"cell_type": "markdown", "id": name, "metadata": metadata, "source": lines}
    jupyter = {}
    if "folded" in words:
        jupyter["source_hidden"] = True
        metadata["cellView"] = "form"  # the same for Colab
    if "predict" in words:
        jupyter["outputs_hidden"] = True
        metadata["collapsed"] = True
    if jupyter:
        metadata["jupyter"] = jupyter
    kept = before if before.get("source") == lines else {}
    return {"cell_type": "code", "execution_count": kept.get("execution_count"), "id": name,
            "metadata": metadata, "outputs": kept.get("outputs", []), "source": lines}


def dumps(notebook: dict) -> str:
    """A notebook's file; the source of a cell may be one text."""
    cells = [cell | {"source": "".join(cell["source"]).splitlines(keepends=True)}
             for cell in notebook["cells"]]
    return json.dumps(notebook | {"cells": cells}, indent=1, ensure_ascii=False,
                      sort_keys=True) + "\n"


def read(path: pathlib.Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def write(notebook: dict, path: pathlib.Path) -> None:
    path.write_text(dumps(notebook), encoding="utf-8")


def cells_of(notebook: dict) -> list[dict]:
    """Copies of the cells, each with its source as one text."""
    return [copy.deepcopy(cell) | {"source": "".join(cell["source"])} for cell in notebook["cells"]]


def has(cell: dict, *tags: str) -> bool:
    """Whether a cell has one of these tags."""
    return not {*tags}.isdisjoint(cell["metadata"].get("tags", []))


def words_cell(name: str, text: str) -> dict:
    return {"cell_type": "markdown", "id": name, "metadata": {"tags": []}, "source": text}


# ---- where they lie ---------------------------------------------------------------------------

def lessons(language: str = "") -> list[pathlib.Path]:
    """The lessons in a language; English without one."""
    return sorted((NOTEBOOKS / language).glob("*.ipynb"))


def deeper(language: str = "") -> list[pathlib.Path]:
    """The deeper notebooks in a language: up to one for each lesson."""
    return sorted((NOTEBOOKS / language / "deeper").glob("*.ipynb"))


def notebooks(language: str = "") -> list[pathlib.Path]:
    return lessons(language) + deeper(language)


def is_deeper(path: pathlib.Path) -> bool:
    return path.parent.name == "deeper"


def place(path: pathlib.Path) -> str:
    """What a notebook is called in all languages: "05" or "deeper/05"."""
    return "deeper/" * is_deeper(path) + path.name[:2]


def inner(path: pathlib.Path) -> pathlib.Path:
    """Where a notebook lies among those of all languages: zh/deeper/05_....ipynb."""
    folders = itertools.takewhile(lambda name: name == "deeper" or re.fullmatch("[a-z]{2}", name),
                                  (folder.name for folder in path.parents))
    return pathlib.Path(*reversed([*folders]), path.name)


def in_language(path: pathlib.Path, language: str = "") -> pathlib.Path:
    """A notebook's path in a language; English without one."""
    top = path.parents[len(inner(path).parts) - 1]
    return top / language / ("deeper" * is_deeper(path)) / path.name


def deeper_of(path: pathlib.Path) -> pathlib.Path:
    """The path of a lesson's deeper notebook, whether there is one or not."""
    return path.parent / "deeper" / f"{path.stem}_deeper.ipynb"


def lesson_of(path: pathlib.Path) -> pathlib.Path:
    """The path of the lesson that a deeper notebook belongs to."""
    return path.parent.parent / f"{path.stem.removesuffix('_deeper')}.ipynb"


def chosen(words: list[str]) -> list[pathlib.Path]:
    """The notebooks of all languages whose names contain one of the words, all without words:
    "05" is a lesson and its deeper notebook, "deeper/05" that alone, "zh/05" a Chinese lesson.
    Exits if none is found."""
    others = sorted(path.name for path in NOTEBOOKS.glob("??"))
    paths = [path for language in ("", *others) for path in notebooks(language)]
    found = [path for path in paths
             if any(word in inner(path).as_posix() for word in words or [""])]
    return found or sys.exit(f"No notebook is called {' or '.join(words)}.")


if __name__ == "__main__":
    command, *names = sys.argv[1:] or [""]
    paths = [pathlib.Path(name) for name in names]
    if command == "unpack" and len(paths) == 1:
        sys.stdout.write(unpack(read(paths[0])))
    elif command == "pack" and len(paths) == 2:
        text, target = paths
        old = read(target) if target.exists() else {}
        write(pack(text.read_text(encoding="utf-8"), old), target)
    else:
        sys.exit(__doc__)
