"""Rules of exercises, questions and homework."""
import ast
import re

from attention_lessons.exercises import all_exercises
from attention_lessons.exercises.classes import FromScratch

from .notebook import fences, rule, rule_for_all, trios

KINDS = ("Predict", "Build", "Break", "Explain", "Transfer")


@rule()
def exercise_cells(notebook):
    """An exercise is exercise-NAME, answer-NAME, solution-NAME, and a check in d2l_ext."""
    found = trios(notebook)
    belonging = {cell.id for trio in found.values() for cell in trio}
    for cell in notebook.cells:
        looks = cell.tags & {"exercise", "solution"} or re.match("(exercise|answer)-", cell.id)
        if looks and cell.id not in belonging:
            yield cell.id, "not one of three cells that follow each other"
    for name, (text, answer, solution) in found.items():
        part = text.tags & {"core", "deeper"}
        first = part if text.id.endswith("-page") else part | {"exercise"}
        wanted = [(False, first), (True, part | {"exercise"}), (False, part | {"solution"})]
        if [(cell.is_code, cell.tags) for cell in (text, answer, solution)] != wanted:
            yield text.id, f"(is code, tags) of its cells should be {wanted}"
        last = ast.unparse(answer.statements[-1]) if answer.statements else ""
        if not last.startswith(f"check('{name}', "):
            yield answer.id, f'it should end with check("{name}", ...)'
        if "<details>" not in solution.text or len(fences(solution)) != 1:
            yield solution.id, "fold it into <details>, with one ```python block"
        if name not in all_exercises() or len(all_exercises()[name].hints) < 2:
            yield text.id, f"no exercise {name!r} with two hints or more"


@rule(1, 11)  # those of 12 are its exhibits: tests/exercises/test_museum.py
def exercise_kinds(notebook):
    """A lesson has three to seven exercises, `## Kind: title · N minutes · level N`, all kinds."""
    heading = (rf"#{{2,3}} ({'|'.join(KINDS)}): .+ · \d+ minutes? · level [123]"
               r"(?: · deeper)?\n")
    texts = [trio[0] for trio in trios(notebook).values() if trio[0].id.startswith("exercise-")]
    kinds, ids = set(), notebook.ids
    section = ids[ids.index("exercises"):ids.index("homework")] if "homework" in ids else ids
    for text in texts:
        found = re.match(heading, text.text)
        kinds.add(found and found[1])
        if not found:
            yield text.id, f"not a heading of this form, with a kind of {KINDS}"
        if text.id not in section:
            yield text.id, "not between `# Exercises` and the homework"
    if not kinds.issuperset(KINDS):
        yield "exercises", f"{sorted(set(KINDS) - kinds)} missing"
    if not 3 <= len(texts) <= 7 or not any("core" in text.tags for text in texts):
        yield "exercises", f"{len(texts)} exercises, or all of them deeper"


@rule_for_all
def every_exercise_is_used(notebooks):
    """Add its three cells to a notebook, or remove it."""
    used = {name for notebook in notebooks for name in trios(notebook)}
    for name in sorted(all_exercises().keys() - used):
        yield "attention_lessons/exercises", name, "no notebook has this exercise"


@rule()
def written_from_scratch(notebook):
    """A class to write from an empty cell gives a signature and a docstring, right before the
    homework."""
    for name, trio in trios(notebook).items():
        if not isinstance(all_exercises().get(name), FromScratch):
            continue
        given = [line for node in trio[1].nodes
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                 for line in node.body if not isinstance(line, (ast.FunctionDef, ast.Pass))]
        if not given or any(ast.unparse(line)[0] not in "'\"" for line in given):
            yield trio[1].id, "it gives a line of the answer"
        if notebook.ids[notebook.ids.index(trio[2].id) + 1:][:1] != ["homework"]:
            yield trio[1].id, "not the last exercise"


@rule(1)
def folded_answers(notebook):
    """Recall asks a question, homework begins `## Homework: title · deeper`; answers are folded."""
    for name, start in (("recall", r"[^?]*\?"), ("homework", r"## Homework: .+ · deeper\n")):
        cell = notebook.cell(name)
        if cell and not re.match(rf"{start}(.|\n)*<details>", cell.text):
            yield name, "not of this form"


@rule(1)
def questions(notebook):
    """Four options `- **A** ...`, one right; in <details> a reason for each, in this form."""
    form = re.compile(r"^- \*\*(\w)\*\* (.+)$", re.M)
    for cell in notebook.tagged("question"):
        options, reasons = (form.findall(part) for part in cell.text.partition("<details>")[::2])
        if "".join(letter for letter, _ in options + reasons) != "ABCDABCD":
            yield cell.id, "not of this form"
            continue
        lengths = [len(option) for _, option in options]
        right = [length for length, (_, reason) in zip(lengths, reasons) if reason[:5] == "Right"]
        if len(right) != 1:
            yield cell.id, "exactly one reason begins with `Right`"
        elif right[0] > sorted(lengths)[-2]:
            yield cell.id, "the right option is the longest: guessers find it"
