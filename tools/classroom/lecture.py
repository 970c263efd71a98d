"""Open JupyterLab on a copy of a lesson that is cut for a lecture: `make lecture NB=02`.

    python -m tools.classroom.lecture 02 [OPTION OF JUPYTERLAB ...]

"deeper/02" opens a deeper notebook, "zh/02" a Chinese one. In the copy, what comes after the
sitting is collapsed, and what a prediction is about has yet to be run; the words about it are
folded until Shift+Enter gets there. The first time, the lesson is rehearsed: it runs once, and
what the laboratory's trainings ended with is kept, so that in the lecture they take a moment.
Each copy has a folder of its own in dist/lecture; the lessons stay as they are.
"""
import os
import pathlib
import re
import shutil
import sys
import time
from hashlib import sha256
from importlib.metadata import version

from nbclient.exceptions import CellExecutionError

from tools import ROOT
from tools.lab import serve
from tools.notebooks.execute import executed
from tools.notebooks.nbtext import (BADGE, NOTEBOOKS, cells_of, has, in_language, inner, notebooks,
                                    place, read, words_cell, write)
from tools.notebooks.readme import sitting

from attention_lessons.languages import languages

TARGET = ROOT / "dist/lecture"
AFTER = "<!-- After the prediction: what it shows -->\n"  # all that is seen of a folded cell


# ---- the copy -----------------------------------------------------------------------------------

def is_heading(cell: dict) -> bool:
    return cell["cell_type"] == "markdown" and cell["source"].startswith("#")


def collapsed(cells: list[dict]) -> list[dict]:
    """The cells with their headings collapsed, each in a cell of its own, so that the words below
    it collapse as well."""
    made = []
    for cell in cells:
        head, _, rest = cell["source"].partition("\n")
        made.append(cell)
        if is_heading(cell):
            cell["source"] = head
            cell["metadata"]["jp-MarkdownHeadingCollapsed"] = True
            if rest.strip():
                made.append(words_cell(f"{cell['id']}-words", rest.strip()))
    return made


def ask_first(cells: list[dict]) -> None:
    """Clear what a prediction is about, so that running the cell shows it, and fold the words
    about it, up to the next heading."""
    open_question = False
    for cell in cells:
        if has(cell, "predict"):
            cell |= {"outputs": [], "execution_count": None}
            cell["metadata"].pop("jupyter", None)
            cell["metadata"].pop("collapsed", None)
            open_question = True
        elif open_question and cell["cell_type"] == "markdown":
            if not is_heading(cell):
                cell["metadata"]["jupyter"] = {"source_hidden": True}
                cell["source"] = AFTER + cell["source"]
            open_question = False


def cut(notebook: dict) -> dict:
    """The lesson as a lecture needs it; ``notebook`` stays as it is."""
    cells = cells_of(notebook)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = BADGE.sub("", cell["source"])
        else:  # 08 has a switch of its own
            cell["source"] = re.sub("(?m)^lecture = False$", "lecture = True", cell["source"])
    ask_first(cells)
    shown = sitting(cells)
    return notebook | {"cells": shown + collapsed(cells[len(shown):])}


def copied(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A lesson cut for a lecture, in a new folder beside the others as they are: links lead on."""
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".*"))
    write(cut(read(path)), folder / inner(path))
    return folder / inner(path)


# ---- the rehearsal ------------------------------------------------------------------------------

def rehearse(path: pathlib.Path) -> None:
    """Run the copy once with this version of PyTorch, so that its trainings are kept. The file
    stays as it is."""
    known = sha256(path.read_bytes() + version("torch").encode()).hexdigest()[:16]
    mark = TARGET / "weights" / f"{path.stem[:2]}-{known}.rehearsed"
    if mark.exists():
        return
    print(f"{path.stem} is rehearsed once, so that its trainings are kept.", flush=True)
    try:
        executed(path)
    except CellExecutionError as error:
        print(f"  {error.ename}: {error.evalue}", flush=True)
    else:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def asked_for(words: list[str]) -> pathlib.Path:
    """The notebook that the first word names, by its place; options may follow."""
    lessons = {place(path): path for path in notebooks()}
    lessons |= {f"{language}/{name}": in_language(path, language)
                for name, path in [*lessons.items()] for language in languages()[1:]}
    names = [word for word in words[:2] if not word.startswith("-")]
    if len(names) != 1 or names[0] not in lessons:
        sys.exit(f"Name one of the lessons {', '.join(lessons)}, as in make lecture NB=02; "
                 f"got {' '.join(names)!r}.")
    return lessons[names[0]]


def main(words: list[str]) -> None:
    lesson = asked_for(words)
    os.environ["D2L_EXT_WEIGHTS"] = str(TARGET / "weights")
    folder = TARGET / f"{lesson.stem[:2]}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = copied(lesson, folder)
    rehearse(path)
    print(f"The copy to lecture from: {path.relative_to(ROOT)}", flush=True)
    serve(inner(path).as_posix(), [f"--ServerApp.root_dir={folder}", *words[1:]])


if __name__ == "__main__":
    main(sys.argv[1:])
