"""Rules of exercises, questions and homework."""
import ast
import re

from attention_lessons.exercises import all_exercises
from attention_lessons.exercises.classes import FromScratch

from .notebook import fences, rule, rule_for_all, trios

KINDS = ("Predict", "Build", "Break", "Explain", "Transfer")
HEADING = re.compile(rf"###? ({'|'.join(KINDS)}): .+ · \d+ minutes? · level [123]\n")


@rule()
def exercise_cells(notebook):
    """An exercise is exercise-NAME, answer-NAME, solution-NAME: tests/exercises runs them."""
    found = trios(notebook.cells)
    belonging = {cell.id for trio in found.values() for cell in trio}
    for cell in notebook.cells:
        looks = cell.tags & {"exercise", "solution"} or re.match("(exercise|answer)-", cell.id)
        if looks and cell.id not in belonging:
            yield cell.id, "not one of three cells that follow each other"
    for text, answer, solution in found.values():
        first = set() if text.id.endswith("-page") else {"exercise"}
        wanted = [(False, first), (True, {"exercise"}), (False, {"solution"})]
        if [(cell.is_code, cell.tags) for cell in (text, answer, solution)] != wanted:
            yield text.id, f"(is code, tags) of its cells should be {wanted}"
        if "<details>" not in solution.text or len(fences(solution)) != 1:
            yield solution.id, "fold it into <details>, with one ```python block"


def exercise_texts(notebook):
    return [text for text, _, _ in trios(notebook.cells).values()
            if text.id.startswith("exercise-")]


@rule("lesson", "deeper")  # the museum's are exhibits: tests/exercises/test_museum.py
def exercise_headings(notebook):
    """An exercise begins `## Kind: title · N minutes · level N`; in a deeper notebook `### Kind`.
    """
    for text in exercise_texts(notebook):
        below = text.text.startswith("###")
        if not HEADING.match(text.text) or below != (notebook.kind == "deeper"):
            yield text.id, f"not a heading of this form, with a kind of {KINDS}"


@rule_for_all
def exercise_kinds(notebooks):
    """A lesson has, with its deeper notebook, something to predict and something to build; the
    collection has exercises of all five kinds."""
    found = {notebook.number: set() for notebook in notebooks if notebook.kind == "lesson"}
    for notebook in notebooks:
        kinds = map(HEADING.match, (text.text for text in exercise_texts(notebook)))
        found.get(notebook.number, set()).update(kind[1] for kind in kinds if kind)
    for number, kinds in found.items():
        if missing := sorted({"Build", "Predict"} - kinds):
            yield number, "exercises", f"{missing} missing"
    if missing := sorted(set(KINDS) - set().union(*found.values())):
        yield "all lessons", "exercises", f"{missing} missing"


@rule_for_all
def every_exercise_is_used(notebooks):
    """Add its three cells to a notebook, or remove it."""
    used = {name for notebook in notebooks for name in trios(notebook.cells)}
    for name in sorted(all_exercises().keys() - used):
        yield "attention_lessons/exercises", name, "no notebook has this exercise"


@rule()
def written_from_scratch(notebook):
    """A class to write from an empty cell gives a signature and a docstring; in a lesson it is the
    first exercise at home."""
    at_home = [*trios(notebook.between("at-home", "proofs"))]
    for name, trio in trios(notebook.cells).items():
        if not isinstance(all_exercises().get(name), FromScratch):
            continue
        given = [line for node in trio[1].nodes
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                 for line in node.body if not isinstance(line, (ast.FunctionDef, ast.Pass))]
        if not given or any(ast.unparse(line)[0] not in "'\"" for line in given):
            yield trio[1].id, "it gives a line of the answer"
        if notebook.kind == "lesson" and at_home[:1] != [name]:
            yield trio[1].id, "not the first exercise at home"


@rule("lesson", "museum")
def folded_answers(notebook):
    """Recall asks a question, homework begins `## Homework: title`; answers are folded."""
    for name, start in (("recall", r"[^?]*\?"), ("homework", r"## Homework: .+\n")):
        cell = notebook.cell(name)
        if cell and not re.match(rf"{start}(.|\n)*<details>", cell.text):
            yield name, "not of this form"


@rule("lesson", "museum", of="words")
def questions(cell):
    """Four options `- **A** ...`, one right; in <details> a reason for each, in this form."""
    if "question" not in cell.tags:
        return
    options, reasons = (re.findall(r"^- \*\*(\w)\*\* (.+)$", part, re.M)
                        for part in cell.text.partition("<details>")[::2])
    lengths = [len(option) for _, option in options]
    right = [length for length, (_, reason) in zip(lengths, reasons) if reason[:5] == "Right"]
    if "".join(letter for letter, _ in options + reasons) != "ABCDABCD":
        yield "not of this form"
    elif len(right) != 1:
        yield "exactly one reason begins with `Right`"
    elif right[0] > sorted(lengths)[-2]:
        yield "the right option is the longest: guessers find it"
