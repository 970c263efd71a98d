"""Write the lessons for students and for teachers: `make student`.

    python -m tools.classroom.student [LANGUAGE] [NAME ...] [--roster FILE]

dist/student has no answers: no solutions, no outputs of exercises, and a package whose exercises
nobody reads by accident. With names, everybody gets a folder in it, with numbers and an order of
options of their own: `check(..., seed=NAME)`. dist/instructor has all answers in view, what the
checks know, what teaching/NN.toml says, and for each name a key and its line of a roster. "zh"
writes the Chinese lessons, into dist/student-zh and dist/instructor-zh.
"""
import argparse
import base64
import csv
import json
import pathlib
import re
import shutil
import sys
import tomllib
import unicodedata
import zlib

from tools import ROOT
from tools.classroom.guide import bullets, folder, known, plain, teaching
from tools.classroom.students import roster
from tools.notebooks.nbtext import (BADGE, cells_of, has, in_language, inner, notebooks, read,
                                    words_cell, write)
from tools.notebooks.standalone import members, translated

from attention_lessons.exercises import all_exercises, find
from attention_lessons.languages import catalogue, language, languages, t

CHECK = re.compile(r"\bcheck\(\"([\w-]+)\", \w+")
ANSWERED = ("recall", "question", "exit", "homework")  # tags of texts whose folded part is answers
FOLDED = re.compile(r"<details>.*?</details>\n*", re.S)
# What the lessons say of what students don't get, and what is said of it where it isn't folded.
LEFT_OUT = re.compile(r"[,.] [^,.]* folded below[^.]*"
                      "|[，。](每道练习下面都折叠着解答|好的回答包含什么，折叠在下面)")
UNFOLDED = {"folded below": "below", "折叠着解答": "是解答", "折叠在下面": "在下面"}
LAST_HINT = t("That was the last hint.")
SEALED = '''"""What `check` and `hint` know, sealed so that nobody reads an answer by accident."""
import base64
import linecache
import zlib

text = zlib.decompress(base64.b85decode("{packed}")).decode()
linecache.cache[__file__] = len(text), None, text.splitlines(True), __file__
exec(compile(text, __file__, "exec"))
'''
SEALED_WORDS = 'sealed = "{packed}"\n# {asks}\n'  # attention_lessons.exercises.told unpacks it
README = t("""# Attention

With Python 3.11 or later, in this folder: `python -m pip install -r requirements.txt`, once.
Then `python -m jupyterlab 00_start_here.ipynb`. Keep d2l_ext and attention_lessons beside them.
{0}
""")
STUDENTS = t("""`check` says what is wrong and why, `hint("name")` helps in steps. Save your work, \
and hand in the notebook.""")
TEACHERS = t("""All answers are in view; what stands behind a line at the left is for you. Keep \
this folder to yourself.""")


# ---- for students -------------------------------------------------------------------------------

def asked(cell: dict) -> str:
    """The name of the exercise that this cell of code answers, if it does."""
    found = CHECK.search(cell["source"]) if cell["cell_type"] == "code" else None
    return found[1] if found and has(cell, "exercise") else ""


def without_answers(cell: dict) -> dict:
    """The cell without answers, outputs of exercises, and words about these."""
    if has(cell, *ANSWERED):
        cell["source"] = FOLDED.sub("", cell["source"]).rstrip()
    if cell["cell_type"] == "markdown":
        cell["source"] = BADGE.sub("", LEFT_OUT.sub("", cell["source"]))
    elif has(cell, "exercise"):
        cell |= {"outputs": [], "execution_count": None}
    return cell


def seeded(cells: list[dict], seed: str) -> None:
    """Give exercises that have variants the one of this seed: question and check."""
    for question, answer in zip(cells, cells[1:]):
        if name := asked(answer):
            exercise = find(name)
            if exercise.variant(seed) is not exercise:
                question["source"] = exercise.question(question["source"], seed)
                with_seed = rf"\g<0>, seed={json.dumps(seed, ensure_ascii=False)}"
                answer["source"] = CHECK.sub(with_seed, answer["source"])


def for_student(notebook: dict, seed: str = "") -> dict:
    """The lesson without answers; ``notebook`` stays as it is."""
    cells = [without_answers(cell) for cell in cells_of(notebook) if not has(cell, "solution")]
    if seed:
        seeded(cells, seed)
    return notebook | {"cells": cells}


def sealed(place: str, content: bytes) -> bytes:
    """A file of the package as students get it."""
    code = language()
    if place == f"attention_lessons/languages/{code}.json":  # which stands in the next
        return b"{}\n"
    if place == "attention_lessons/languages/__init__.py" and code != "en":
        content += f"\ncatalogue = {{'en': {{}}, {code!r}: {catalogue(code)!r}}}.get\n".encode()
    elif not re.fullmatch(r"attention_lessons/(exercises|lesson_\d\d)/"
                          r"(\w+\.py|(exercises|heads)\.toml)", place):
        return content
    elif place.endswith("/__init__.py"):
        told = LAST_HINT[:-1] + "; the solution is folded below."
        return content.replace(told.encode(), LAST_HINT.encode())
    packed = base64.b85encode(zlib.compress(content, 9)).decode()
    asks = "\n# ".join(re.findall(r"^\[[\w-]+\]", content.decode(), re.M))
    form = SEALED_WORDS if place.endswith(".toml") else SEALED
    return form.format(packed=packed, asks=asks).encode()


# ---- for teachers -------------------------------------------------------------------------------

def remarks(plan: dict, name: str) -> list[tuple]:
    """(head, words) of what a plan says beside a cell: what to ask, what some think, and beside the
    title what concerns all of the lesson."""
    whole = ((t("On the board"), "board"), (t("If time is short"), "leave_out"))
    return [*((head, plan[part]) for head, part in whole if name == "title" and part in plan),
            *zip((t("Ask"), t("Usually answered")), plan.get("ask", {}).get(name, ())),
            *((t("Some think"), each["thinks"])
              for each in plan.get("expect", ()) if each["cure"] == name)]


def note(name: str, cell: dict, lines: list) -> list[dict]:
    """A cell beside this one, for teachers: its words stand behind a line. None without words."""
    text = "\n\n".join(f"**{head}:** {words}" for head, words in lines if words)
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return [words_cell(f"{name}-{cell['id']}", quoted)] if text else []


def opened(cell: dict) -> dict:
    """The cell with its answers in view."""
    if cell["cell_type"] == "markdown":
        for old, new in UNFOLDED.items():
            cell["source"] = cell["source"].replace(old, new)
    if has(cell, "solution", *ANSWERED):
        cell["source"] = cell["source"].replace("<details>", "<details open>")
    return cell


def about_exercise(name: str) -> list:
    """What the check of an exercise knows, and its hints."""
    exercise = find(name)
    parts = {t("What `check` says to mistakes, {0}", f"`{name}`"): known(exercise),
             t("Hints"): exercise.hints, t("When it is right"): [exercise.praise]}
    return [(head, words and "\n\n" + bullets(plain(str(t(each))) for each in words))
            for head, words in parts.items()]


def for_teacher(notebook: dict, number: str) -> dict:
    """The lesson with its answers in view, and with notes; ``notebook`` stays as it is."""
    plan, made, name = teaching(number), [], ""
    for cell in cells_of(notebook):
        about = note("notes", cell, remarks(plan, cell["id"]))  # before anything is seen
        made += [opened(cell), *about] if cell["id"] == "title" else [*about, opened(cell)]
        name = asked(cell) or name
        if has(cell, "solution"):
            made += note("known", cell, about_exercise(name))
    return notebook | {"cells": made}


# ---- the folders --------------------------------------------------------------------------------

def requirements() -> str:
    """What the lessons need beside the package, one a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join([*project["dependencies"], *project["optional-dependencies"]["lab"], ""])


def hand_out(target: pathlib.Path, use: str, lesson, file=lambda place, content: content) -> None:
    """Write an edition into an empty folder: ``lesson(path)`` of each notebook, and the package,
    ``file(place, content)`` of each of its files."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in notebooks(folder()):
        made = target / inner(in_language(path))
        made.parent.mkdir(exist_ok=True)
        write(lesson(path), made)
    for place, path in members().items():
        if not translated(place) or re.search(rf"/{language()}[./]", place):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            (target / place).write_bytes(file(place, path.read_bytes()))
    for name in ("LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, target)
    (target / "requirements.txt").write_text(requirements(), encoding="utf-8")
    (target / "README.md").write_text(str(t(README.text, use)), encoding="utf-8")
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size / 2**20:.1f} MiB", flush=True)


def key_for(seed: str) -> str:
    """What is right on everybody's own pages."""
    lines = []
    for name, exercise in all_exercises().items():
        own = exercise.variant(seed)
        if own is exercise:
            continue
        right = ", ".join(getattr(own, "symptom", own).right) if not hasattr(own, "lines") else (
            "; ".join(f"{number}: {', '.join(f'{x:g}' for x in numbers)}"
                      for number, (numbers, *_) in enumerate(own.lines, 1)))
        lines.append(f"`{name}`: {right}")
    return f"# {seed}\n\n{bullets(lines)}\n"


def main(words: list[str], target: pathlib.Path = ROOT / "dist") -> None:
    parser = argparse.ArgumentParser(prog="student", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="who gets numbers of their own; before them zh, for Chinese lessons")
    parser.add_argument("--roster", type=pathlib.Path, help="a CSV of names and such seeds")
    given = parser.parse_args(words)
    if given.names and given.names[0] in languages():
        language(given.names.pop(0))
    known = [*roster(given.roster).values()] if given.roster else []
    known += [(name, name) for name in given.names]
    names = [unicodedata.normalize("NFC", seed) for _, seed in known]
    for name in names:
        if not re.fullmatch(r"[\w@][\w@.,' -]*", name):
            sys.exit(f"A student's name becomes that of a folder; got {name!r}.")
    students, teachers = (target / (name + ("-" + language()) * bool(folder()))
                          for name in ("student", "instructor"))
    shutil.rmtree(students, ignore_errors=True)
    for name in names or [""]:
        hand_out(students / name, STUDENTS, lambda path: for_student(read(path), name), sealed)
    hand_out(teachers, TEACHERS, lambda path: for_teacher(read(path), path.stem[:2]))
    for name in names:
        (teachers / "keys").mkdir(exist_ok=True)
        (teachers / f"keys/{name}.md").write_text(key_for(name), encoding="utf-8")
    if names:
        with open(teachers / "roster.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("name", "seed"), *known])


if __name__ == "__main__":
    main(sys.argv[1:])
