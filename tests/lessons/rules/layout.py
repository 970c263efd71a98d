"""Rules of ids, tags, fixed cells, length, headings, and of the sections of deeper notebooks."""
import re

from attention_lessons.frameworks import TITLES
from tools.notebooks import nbtext, readme

from . import limits
from .notebook import ONE_SCREEN, links, rule, rule_for_all, trios, without_code

# The cells that a notebook of a kind has, in this order, among others.
FIXED = {
    "start": ("title", "setup", "afterwards", "map", "next", "symbols"),
    "lesson": ("title", "setup", "afterwards", "recall", "exercises", "question-1", "question-2",
               "question-3", "exit", "next", "one-screen", "one-screen-code", "at-home", "proofs",
               "one-screen-proof", "claims", "references"),
    "deeper": ("title", "setup", "contents")}
FIXED["museum"] = FIXED["lesson"]
SHARED = {"title", "setup", "claims", "references"}  # ids in a lesson and its deeper notebook
CHAPTERS = {"title", "exercises", "one-screen", "at-home", "proofs"}
ID_IS_TAG = {"setup", "recall", "sentence", "claims", "exit", "references", "next", "homework",
             "one-screen"}
TAGS = ID_IS_TAG | {
    "picture", "predict", "explorer", "exercise", "solution", "question", "timing", "proof",
    "nbval-ignore-output", *map("needs-{}".format, TITLES)}


@rule()
def slug_ids(notebook):
    """Give each cell an id of its own, of small letters, digits and hyphens."""
    for i, name in enumerate(notebook.ids):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            yield name, "not of this form"
        if name in notebook.ids[:i]:
            yield name, "two cells have this id"


@rule_for_all
def ids_of_both(notebooks):
    """A lesson and its deeper notebook share figures, alternative texts and a plan, so their cells
    have different ids."""
    lessons = {notebook.number: notebook for notebook in notebooks if notebook.kind != "deeper"}
    for notebook in notebooks:
        if notebook.kind == "deeper":
            for name in sorted({*notebook.ids} & {*lessons[notebook.number].ids} - SHARED):
                yield notebook.name, name, "the lesson has this id as well"


@rule(of="cells")
def known_tags(cell):
    """Tag a cell with tags of rules/layout.py."""
    if unknown := sorted(cell.tags - TAGS):
        yield f"unknown tags {unknown}"


@rule()
def fixed_cells(notebook):
    """Notebooks of a kind have the same cells in the same order; most are tagged with their id."""
    wanted = [*FIXED[notebook.kind]]
    if [name for name in notebook.ids if name in wanted] != wanted:
        yield "title", f"these cells should be there, in this order: {', '.join(wanted)}"
    if notebook.ids[:2] != wanted[:2]:
        yield "title", "begin with title and setup"
    if "references" in wanted and notebook.ids[-2:] != wanted[-2:]:
        yield "title", "end with claims and references"
    for cell in notebook.cells:
        due = ({cell.id} & ID_IS_TAG or {cell.id.split("-")[0]} & {"question"}
               or {cell.id.split("-")[-1]} & {"homework"})
        if cell.tags & (ID_IS_TAG | {"question"}) != due:
            yield cell.id, "id and tag differ"


@rule("start", "lesson", "museum")
def fits_a_sitting(notebook):
    """A lesson is read in one sitting, and its story, up to the exercises, is told in few words:
    cut, or move a section into the deeper notebook."""
    cells = readme.sitting(nbtext.cells_of(notebook.content))
    spent, exercises = readme.minutes(cells), readme.exercise_minutes(cells)
    story = [re.sub(r"(?m)^(#|\|).*", "", cell.text)  # paragraphs and lists
             for cell in notebook.between("title", "exercises") if not cell.is_code]
    for what, found, most in (
            ("cells on the page", len(notebook.cells), limits.PAGE_CELLS),
            ("cells in the sitting", len(cells), limits.SITTING_CELLS),
            ("words", sum(map(readme.count_words, story)), limits.STORY_WORDS),
            ("minutes", round(spent), limits.SITTING_MINUTES),
            ("minutes without exercises", round(spent - exercises), limits.CLASS_MINUTES)):
        if found > most:
            yield "title", f"{found} {what}, {most} is the limit"


@rule()
def light(notebook):
    """Store fewer or smaller figures: GitHub doesn't show every larger notebook."""
    size = len(nbtext.dumps(notebook.content).encode())
    if size > limits.FILE_BYTES:
        yield "title", f"{size} bytes, {limits.FILE_BYTES} is the limit"


@rule("lesson")
def exercises_of_the_sitting(notebook):
    """The sitting has two short exercises; at home are up to three more."""
    sitting = trios(notebook.between("exercises", "question-1"))
    if len(sitting) != limits.EXERCISES:
        yield "exercises", f"{len(sitting)} exercises, not {limits.EXERCISES}"
    spent = readme.exercise_minutes(readme.sitting(nbtext.cells_of(notebook.content)))
    if spent > limits.EXERCISE_MINUTES:
        yield "exercises", f"{spent} minutes, {limits.EXERCISE_MINUTES} is the limit"
    if (count := len(trios(notebook.between("at-home", "proofs")))) > limits.AT_HOME:
        yield "at-home", f"{count} exercises, {limits.AT_HOME} is the limit"


@rule("lesson", "museum")
def one_screen(notebook):
    """Those who know the subject get a lesson of one screen: words, code that does without the
    package, and the proof that it equals the package's."""
    words, code, proof = map(notebook.cell, ONE_SCREEN)
    if words and ("<details>" in words.text
                  or readme.count_words(words.text) > limits.SCREEN_WORDS):
        yield words.id, f"up to {limits.SCREEN_WORDS} words, open"
    if code and ("d2l_ext" in code.text or code.folded
                 or len(code.text.splitlines()) > limits.SCREEN_LINES):
        yield code.id, f"up to {limits.SCREEN_LINES} lines, open, that do without the package"
    if proof and ("assert" not in proof.text or "d2l_ext" not in proof.text):
        yield proof.id, "assert that the code equals the package's"


@rule("lesson", "museum")
def proofs_at_the_end(notebook):
    """Below `# Proofs` are all proofs and nothing else: a few, and that of the one screen."""
    below = notebook.between("proofs", "claims", "references")[1:]
    for cell in notebook.cells:
        if cell in below and "proof" not in cell.tags:
            yield cell.id, "no proof"
        if cell not in below and "proof" in cell.tags:
            yield cell.id, "a proof above `# Proofs`"
    if len(below) - ("one-screen-proof" in notebook.ids) > limits.PROOFS:
        yield "proofs", f"{len(below)} proofs, {limits.PROOFS} and one is the limit"


@rule(of="code")
def folded(cell):
    """Fold code that isn't to be read at first sight: `folded` in tools/notebooks/nbtext.py."""
    due = cell.tags & {"setup", "picture", "proof"} or cell.id.endswith("-recap")
    if due and not cell.folded:
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
    """Headings form an outline: the first level for the title, `# Exercises`, `# The lesson on one
    screen`, `# At home` and `# Proofs`, and no level left out."""
    before = 0
    for cell in notebook.words:
        found = re.findall(r"^(#+) +(.*)$", without_code(cell.text), re.M)
        for marks, words in found:
            if marks == "#" and cell.id not in CHAPTERS:
                yield cell.id, f"`{words}` is of the first level"
            if len(marks) > before + 1:
                yield cell.id, f"`{words}` skips a level"
            before = len(marks)
        if cell.id in CHAPTERS & {*FIXED[notebook.kind]} and "#" not in dict(found):
            yield cell.id, "no heading of the first level"


# ---- deeper notebooks ---------------------------------------------------------------------------

@rule("deeper")
def leads_back(notebook):
    """The first cell of a deeper notebook leads to its lesson."""
    name = notebook.name.removeprefix("deeper/").removesuffix("_deeper")
    if f"../{name}.ipynb" not in links(notebook.cell("title").text):
        yield "title", f"no link to ../{name}.ipynb"


@rule("deeper")
def section_form(notebook):
    """A section begins `## A question? · N minutes`, with a link to the lesson that raises it, then
    perhaps one cell -recap; `make readme` writes the minutes."""
    sections = [[notebook.cell(cell["id"]) for cell in section]
                for section in readme.sections(nbtext.cells_of(notebook.content))]
    for cell in notebook.cells:
        if cell not in sum(sections, []) and cell.id not in {*FIXED["deeper"], *readme.END}:
            yield cell.id, "in no section"
    for first, *rest in sections:
        if not re.match(r"## .+\? · \d+ minutes?\n", first.text):
            yield first.id, "its heading is not of this form"
        if not any(re.match(r"\.\./\d\d_\w+\.ipynb", link) for link in links(first.text)):
            yield first.id, "no link to a lesson"
        if not rest or len(rest) >= limits.SECTION_CELLS:
            yield first.id, f"{1 + len(rest)} cells, 2 to {limits.SECTION_CELLS} are the limits"
        for i, cell in enumerate(rest):
            titled = cell.text.startswith("# @title Recap: what this section uses\n")
            if cell.id.endswith("-recap") and (i or not titled):
                yield cell.id, "not right below the heading, or without its title"
