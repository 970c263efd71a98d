"""Write the lessons for students and for teachers: `make student`.

    python -m tools.classroom.student [NAME ...] [--roster FILE]

dist/student has no answers: no solutions, no outputs of exercises, and a package whose exercises
nobody reads by accident. With names, everybody gets a folder in it, with numbers and an order of
options of their own: `check(..., seed=NAME)`. dist/instructor has all answers in view, what the
checks know, what teaching/NN.toml says, and for each name a key and its line of a roster.
"""
import argparse
import base64
import copy
import csv
import json
import pathlib
import re
import shutil
import sys
import tomllib
import unicodedata
import zlib

from tools.classroom.guide import bullets, known, plain, teaching
from tools.classroom.lecture import BADGE
from tools.classroom.students import roster
from tools.notebooks.nbtext import make_cell, read, write
from tools.notebooks.standalone import members, translated

from attention_lessons.exercises import all_exercises, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = re.compile(r"\bcheck\(\"([\w-]+)\", \w+")
ANSWERED = {"recall", "question", "exit", "homework"}  # tags of texts whose folded part is answers
FOLDED = re.compile(r"<details>.*?</details>\n*", re.S)
LEFT_OUT = [  # what the lessons say of what students don't get
    (" Solutions are folded below each exercise.", ""), (" Solutions are folded below.", ""),
    (", `hint` helps in steps, and each solution is folded below its exercise.",
     ", and `hint` helps in steps."), (" What a good answer contains is folded below.", "")]
LAST_HINT = "That was the last hint; the solution is folded below.", "That was the last hint."
SEALED = '''"""What `check` and `hint` know, sealed so that nobody reads an answer by accident."""
# Asks: {asks}
import base64
import linecache
import zlib

text = zlib.decompress(base64.b85decode("{packed}")).decode()
linecache.cache[__file__] = len(text), None, text.splitlines(True), __file__
exec(compile(text, __file__, "exec"))
'''
README = """# {title}

With Python 3.11 or later, in this folder: `python -m pip install -r requirements.txt`, once.
Then `python -m jupyterlab 00_start_here.ipynb`. Keep d2l_ext and attention_lessons beside them.
{use}
"""
STUDENTS = """`check` says what is wrong and why, `hint("name")` helps in steps. Save your work, \
and hand in the notebook."""
TEACHERS = """All answers are in view; what stands behind a line at the left is for you. Keep this \
folder to yourself."""


# ---- for students -------------------------------------------------------------------------------

def asked(cell: dict) -> str:
    """The name of the exercise that this cell of code answers, if it does."""
    found = CHECK.search("".join(cell["source"])) if cell["cell_type"] == "code" else None
    return found[1] if found and "exercise" in cell["metadata"]["tags"] else ""


def without_answers(cell: dict) -> dict:
    """The cell without answers, outputs of exercises, and words about these."""
    text = "".join(cell["source"])
    if ANSWERED & set(cell["metadata"]["tags"]):
        text = FOLDED.sub("", text).rstrip()
    if cell["cell_type"] == "markdown":
        for old, new in LEFT_OUT:
            text = text.replace(old, new)
        text = BADGE.sub("", text)
    elif "exercise" in cell["metadata"]["tags"]:
        cell = cell | {"outputs": [], "execution_count": None}
    return cell | {"source": text.splitlines(keepends=True)}


def seeded(cells: list[dict], seed: str) -> None:
    """Give exercises that have variants the one of this seed: question and check."""
    for question, answer in zip(cells, cells[1:]):
        if name := asked(answer):
            exercise, text = find(name), "".join(question["source"])
            if exercise.variant(seed) is not exercise:
                question["source"] = exercise.question(text, seed).splitlines(keepends=True)
                with_seed = rf"\g<0>, seed={json.dumps(seed, ensure_ascii=False)}"
                answer["source"] = [CHECK.sub(with_seed, line) for line in answer["source"]]


def marked(cells: list[dict]) -> list[dict]:
    """The cells with a line before and after each run of deeper ones."""
    made, was_deeper = [], False
    for cell in cells:
        deeper = "deeper" in cell["metadata"]["tags"]
        if deeper != was_deeper:
            words = ("---\n\n*Deeper from here: leave it out on a first reading.*" if deeper else
                     "*Back to the core.*\n\n---")
            part = "deeper" if deeper else "core"
            made.append(make_cell("md", f"{part}-from-{cell['id']}", [part], words, {}))
        made.append(cell)
        was_deeper = deeper
    return made


def for_student(notebook: dict, number: str, seed: str = "") -> dict:
    """The lesson without answers; ``notebook`` stays as it is."""
    cells = [without_answers(cell) for cell in copy.deepcopy(notebook)["cells"]
             if "solution" not in cell["metadata"]["tags"]]
    if seed:
        seeded(cells, seed)
    return notebook | {"cells": marked(cells)}


def sealed(place: str, content: bytes) -> bytes:
    """A file of the package as students get it."""
    if not re.fullmatch(r"attention_lessons/(exercises|lesson_\d\d)/\w+\.py", place):
        return content
    if place.endswith("/__init__.py"):
        return content.replace(*map(str.encode, LAST_HINT))
    packed = base64.b85encode(zlib.compress(content, 9)).decode()
    asks = re.findall(r'^ +"[\w-]+",', content.decode(), re.M)
    return SEALED.format(packed=packed, asks=" ".join(map(str.strip, asks))).encode()


# ---- for teachers -------------------------------------------------------------------------------

def note(name: str, part: str, text: str) -> dict:
    """A cell for teachers: its words stand behind a line."""
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return make_cell("md", name, [part], quoted, {})


def opened(cell: dict) -> dict:
    """The cell with its answers in view."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        text = text.replace("folded below", "below")
    if {"solution", *ANSWERED} & set(cell["metadata"]["tags"]):
        text = text.replace("<details>", "<details open>")
    return cell | {"source": text.splitlines(keepends=True)}


def about_lesson(plan: dict) -> str:
    """What teaching/NN.toml says of the whole lesson."""
    expect = bullets(f"{each['thinks']} Cure: [{each['cure']}](#cell-id={each['cure']})"
                     for each in plan.get("expect", []))
    parts = {"To expect": f"\n\n{expect}" if expect else "",
             "On the board": plan.get("board"), "To leave out": plan.get("leave_out")}
    return "\n\n".join(f"**{name}:** {text}" for name, text in parts.items() if text)


def about_exercise(name: str) -> str:
    """What the check of an exercise knows, and its hints."""
    exercise = find(name)
    said, hints = known(exercise), exercise.hints
    parts = {f"What `check` says to mistakes, `{name}`": said, "Hints": hints,
             "When it is right": [exercise.praise]}
    return "\n\n".join(f"**{head}**\n\n{bullets(map(plain, words))}"
                       for head, words in parts.items() if words)


def for_teacher(notebook: dict, number: str) -> dict:
    """The lesson with its answers in view, and with notes; ``notebook`` stays as it is."""
    plan, made, name = teaching(number), [], ""
    for cell in copy.deepcopy(notebook)["cells"]:
        tags = set(cell["metadata"]["tags"])
        part = "core" if "core" in tags else "deeper"
        if cell["id"] in plan.get("ask", {}):  # before anything is seen
            question, answer = plan["ask"][cell["id"]]
            made.append(note(f"ask-{cell['id']}", part, f"**Ask:** {question}\n\n"
                                                        f"**Usually answered:** {answer}"))
        made.append(opened(cell))
        name = asked(cell) or name
        if cell["id"] == "title" and (text := about_lesson(plan)):
            made.append(note("notes", part, text))
        if "solution" in tags:
            made.append(note(f"known-{name}", part, about_exercise(name)))
    return notebook | {"cells": made}


# ---- the folders --------------------------------------------------------------------------------

def requirements() -> str:
    """What the lessons need beside the package, one a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join([*project["dependencies"], *project["optional-dependencies"]["lab"], ""])


def hand_out(folder: pathlib.Path, title: str, use: str, lesson, file) -> None:
    """Write an edition into an empty folder: each ``lesson(notebook, number)``, and the package,
    each ``file(place, content)`` of it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        write(lesson(read(path), path.stem[:2]), folder / path.name)
    for place, path in members().items():
        if translated(place):
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(file(place, path.read_bytes()))
    for name in ("LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, folder)
    (folder / "requirements.txt").write_text(requirements(), encoding="utf-8")
    readme = README.format(title=title, use=use)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB", flush=True)


def key_for(seed: str) -> str:
    """What is right on everybody's own pages."""
    lines = []
    for name, exercise in all_exercises().items():
        own = exercise.variant(seed)
        if own is exercise:
            continue
        right = ", ".join(getattr(own, "symptom", own).right) if not hasattr(own, "lines") else (
            "; ".join(f"{number}: {', '.join(f'{x:g}' for x in numbers)}"
                      for number, (numbers, _) in own.lines.items()))
        lines.append(f"`{name}`: {right}")
    return f"# {seed}\n\n{bullets(lines)}\n"


def main(words: list[str], target: pathlib.Path = ROOT / "dist") -> None:
    parser = argparse.ArgumentParser(prog="student", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="who gets numbers of their own")
    parser.add_argument("--roster", type=pathlib.Path, help="a CSV of names and such seeds")
    given = parser.parse_args(words)
    known = [*roster(given.roster).values()] if given.roster else []
    known += [(name, name) for name in given.names]
    names = [unicodedata.normalize("NFC", seed) for _, seed in known]
    for name in names:
        if not re.fullmatch(r"[\w@][\w@.,' -]*", name):
            sys.exit(f"A student's name becomes that of a folder; got {name!r}.")
    shutil.rmtree(target / "student", ignore_errors=True)
    for name in names or [""]:
        hand_out(target / "student" / name, "Attention", STUDENTS,
                 lambda *lesson: for_student(*lesson, name), sealed)
    hand_out(target / "instructor", "Attention, for teachers", TEACHERS, for_teacher,
             lambda place, content: content)
    for name in names:
        (target / "instructor/keys").mkdir(exist_ok=True)
        (target / f"instructor/keys/{name}.md").write_text(key_for(name), encoding="utf-8")
    if names:
        with open(target / "instructor/roster.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("name", "seed"), *known])


if __name__ == "__main__":
    main(sys.argv[1:])
