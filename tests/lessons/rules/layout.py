"""Rules of ids, tags, fixed cells, length and headings."""
import re

from tools.notebooks import nbtext
from tools.notebooks import readme

from .notebook import ONE_SCREEN, rule, without_code

CLASS = 45  # minutes
FIRST = ("title", "setup", "afterwards", "recall")
LAST = ("homework", "question-1", "question-2", "question-3", *ONE_SCREEN)
END = ("claims", "exit", "references", "next")
ID_IS_TAG = {"setup", "recall", "sentence", "claims", "exit", "references", "next"}
TAGS = ID_IS_TAG | {
    "core", "deeper", "picture", "predict", "explorer", "exercise", "solution", "question",
    "timing", "one-screen", "proof", "homework", "raises-exception",
    "needs-jax", "needs-tensorflow", "needs-mxnet",
    "nbval-ignore-output", "nbval-skip", "nbval-raises-exception"}


@rule()
def slug_ids(notebook):
    """Give each cell an id of its own, of small letters, digits and hyphens."""
    for i, name in enumerate(notebook.ids):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            yield name, "not of this form"
        if name in notebook.ids[:i]:
            yield name, "two cells have this id"


@rule(of="cells")
def known_tags(cell):
    """Tag a cell core or deeper, and with tags of rules/layout.py."""
    if unknown := sorted(cell.tags - TAGS):
        yield f"unknown tags {unknown}"
    if len(cell.tags & {"core", "deeper"}) != 1:
        yield "core or deeper, one of them"


@rule()
def fixed_cells(notebook):
    """All lessons begin and end with the same cells; most of them are tagged with their id."""
    wanted, end = [*FIRST, "exercises", *LAST, *END], [*END]
    if notebook.number == 0:
        wanted, end = [*FIRST[:3], "symbols", *END[-1:]], [*END[-1:]]
    if [name for name in notebook.ids if name in wanted] != wanted:
        yield "title", f"these cells should be there, in this order: {', '.join(wanted)}"
    if notebook.ids[:2] != wanted[:2] or notebook.ids[-len(end):] != end:
        yield "title", f"begin with title and setup, end with {', '.join(end)}"
    for cell in notebook.cells:
        due = {cell.id} & ID_IS_TAG or {cell.id.split("-")[0]} & {"question"}
        if cell.tags & (ID_IS_TAG | {"question"}) != due:
            yield cell.id, "id and tag differ"


@rule(1)
def fits_a_class(notebook):
    """The core of a lesson is taught in a class of 45 minutes: cut, or move to deeper."""
    cells = [(not cell.is_code, cell.tags, cell.text) for cell in notebook.cells]
    core = readme.minutes(cells, "core")
    if core > CLASS:
        yield "title", f"the core takes {core} minutes"


@rule(1)
def one_screen(notebook):
    """Those who know the subject get a lesson of one screen: words, code that does without the
    package, and the proof that it equals the package's."""
    words, code, proof = map(notebook.cell, ONE_SCREEN)
    if words and ("<details>" not in words.text or readme.count_words(words.text) > 250):
        yield words.id, "fold up to 250 words"
    if code and ("d2l_ext" in code.text or len(code.text.splitlines()) > 20):
        yield code.id, "up to 20 lines that do without the package"
    if proof and ("assert" not in proof.text or "d2l_ext" not in proof.text):
        yield proof.id, "assert that the code equals the package's"


@rule(of="code")
def folded(cell):
    """Fold code that isn't to be read at first sight: `folded` in tools/notebooks/nbtext.py."""
    if (cell.tags & {"setup", "picture", "proof"} or cell.id in ONE_SCREEN) and not cell.folded:
        yield "its source is open"


@rule()
def stored_by_the_tools(notebook):
    """Store notebooks with `make notebooks`: other programs add what differs from run to run."""
    content = notebook.content
    packed = nbtext.pack(nbtext.unpack(content), content)
    for cell, wanted in zip(content["cells"], packed["cells"]):
        if cell != wanted:
            yield cell["id"], f"fields {[*cell]}, metadata {[*cell['metadata']]}"
    if content | {"cells": packed["cells"]} != packed:
        yield "title", "the notebook's own fields or metadata"


@rule()
def headings(notebook):
    """Headings form an outline: one title, `# Exercises`, `# Deeper`, and no level left out."""
    before = 0
    for cell in notebook.words:
        for marks, words in re.findall(r"^(#+) +(.*)$", without_code(cell.text), re.M):
            if marks == "#" and cell.id != "title" and words not in ("Exercises", "Deeper"):
                yield cell.id, f"`{words}` is of the first level"
            if len(marks) > before + 1:
                yield cell.id, f"`{words}` skips a level"
            before = len(marks)


@rule()
def deeper_is_marked(notebook):
    """A deeper part opens with `## ... · deeper` and ends with a heading: tags can't be seen."""
    part = None  # the level of the heading that opened the deeper part that we are in
    for cell in notebook.cells:
        deeper = "deeper" in cell.tags
        heading = None if cell.is_code else re.match(r"(#+) +(.*)", cell.text)
        if not heading:
            if part and not deeper:
                yield cell.id, "without a heading it seems to be deeper"
                part = None
            continue
        level = len(heading[1])
        marked = heading[2] == "Deeper" or heading[2].endswith(" · deeper")
        opens = deeper and (not part or level <= part)
        if marked != opens:
            yield cell.id, f"`· deeper` is {'missing' if opens else 'wrong'} in its heading"
        if opens:
            part = level
        elif not deeper:
            part = None
