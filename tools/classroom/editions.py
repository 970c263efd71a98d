"""Write the lessons for students and for teachers: `make student`.

    python -m tools.classroom.editions [LANGUAGE] [nbgrader]

dist/student has no answers: no solutions, no outputs of exercises, and a package whose exercises
nobody reads by accident. dist/instructor has all answers in view, what the checks know, and what
teaching/NN.toml says. "zh" writes the Chinese lessons, into dist/student-zh and
dist/instructor-zh. "nbgrader" writes a course for nbgrader instead, into dist/nbgrader: each lesson
is an assignment.
"""
import base64
import pathlib
import re
import shutil
import sys
import tomllib
import zlib

from tools import ROOT
from tools.classroom.teacher_pages import bullets, folder, misconceptions, plain, teaching
from tools.notebooks.check_translation import glossary
from tools.notebooks.nbtext import (BADGE, cells_of, has, in_language, inner, notebooks, read,
                                    words_cell, write)
from tools.notebooks.standalone import members

from attention_lessons.exercises import find
from attention_lessons.languages import catalogue, language, languages, t

CHECK = re.compile(r"^check\(\"([\w-]+)\", (.+)\)$", re.M)
ANSWERED = ("recall", "question", "exit", "homework")  # tags of texts whose folded part is answers
FOLDED = re.compile(r"<details>.*?</details>\n*", re.S)
# What the lessons say of what students don't get, and what is said of it where it isn't folded; for
# other languages their glossaries say it.
GLOSSARIES = [glossary(code) for code in languages()[1:]]
LEFT_OUT = re.compile("|".join([r"[,.] [^,.]* folded below[^.]*",
                                *(each["left_out"] for each in GLOSSARIES)]))
UNFOLDED = {"folded below": "below"} | {
    old: new for each in GLOSSARIES for old, new in each["unfolded"].items()}
LAST_HINT = t("That was the last hint.")
SEALED = '''"""What `check` and `hint` know, sealed so that nobody reads an answer by accident."""
import base64
import linecache
import zlib

text = zlib.decompress(base64.b85decode("{packed}")).decode()
linecache.cache[__file__] = len(text), None, text.splitlines(True), __file__
exec(compile(text, __file__, "exec"))
'''
SEALED_WORDS = 'sealed = "{packed}"\n# {asks}\n'  # exercises.read_words unpacks it
MINUTES = re.compile(r"^#+ .*?· (\d+)", re.M)  # of an exercise, in its heading
TEST = """from attention_lessons.exercises import check
result = check("{0}", {1})
assert result.state == "right", result"""
SETTINGS = """c = get_config()
c.CourseDirectory.course_id = "attention"
c.ExecutePreprocessor.timeout = 300  # seconds for a cell
"""
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

def asked(cell: dict) -> re.Match | None:
    """(name, answer) of the exercise that a cell of code answers, as its check has them."""
    return CHECK.search(cell["source"]) if has(cell, "exercise") else None


def without_answers(cell: dict) -> dict:
    """The cell without answers, outputs of exercises, and words about these."""
    if has(cell, *ANSWERED):
        cell["source"] = FOLDED.sub("", cell["source"]).rstrip()
    if cell["cell_type"] == "markdown":
        cell["source"] = BADGE.sub("", LEFT_OUT.sub("", cell["source"]))
    elif has(cell, "exercise"):
        cell |= {"outputs": [], "execution_count": None}
    return cell


def for_student(notebook: dict) -> dict:
    """The lesson without answers; ``notebook`` stays as it is."""
    cells = [without_answers(cell) for cell in cells_of(notebook) if not has(cell, "solution")]
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
    parts = {t("What `check` says to mistakes, {0}", f"`{name}`"): misconceptions(exercise),
             t("Hints"): exercise.hints, t("When it is right"): [exercise.praise]}
    return [(head, words and "\n\n" + bullets(plain(str(t(each))) for each in words))
            for head, words in parts.items()]


def for_teacher(notebook: dict, number: str) -> dict:
    """The lesson with its answers in view, and with notes; ``notebook`` stays as it is."""
    plan, made, name = teaching(number), [], ""
    for cell in cells_of(notebook):
        about = note("notes", cell, remarks(plan, cell["id"]))  # before anything is seen
        made += [opened(cell), *about] if cell["id"] == "title" else [*about, opened(cell)]
        name = found[1] if (found := asked(cell)) else name
        if has(cell, "solution"):
            made += note("known", cell, about_exercise(name))
    return notebook | {"cells": made}


# ---- the folders --------------------------------------------------------------------------------

def requirements() -> str:
    """What the lessons need beside the package, one a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join([*project["dependencies"], *project["optional-dependencies"]["lab"], ""])


def put_package(target: pathlib.Path, file) -> None:
    """Write the packages and their licenses into a folder: ``file(place, content)`` of each."""
    for place, path in members(language()).items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_bytes(file(place, path.read_bytes()))
    for name in ("LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, target)


def hand_out(target: pathlib.Path, use: str, lesson, file=lambda place, content: content) -> None:
    """Write an edition into an empty folder: ``lesson(path)`` of each notebook, and the package,
    ``file(place, content)`` of each of its files."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in notebooks(folder()):
        made = target / inner(in_language(path))
        made.parent.mkdir(exist_ok=True)
        write(lesson(path), made)
    put_package(target, file)
    (target / "requirements.txt").write_text(requirements(), encoding="utf-8")
    (target / "README.md").write_text(str(t(README.text, use)), encoding="utf-8")
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size / 2**20:.1f} MiB", flush=True)


# ---- for nbgrader -------------------------------------------------------------------------------

def with_tests(notebook: dict) -> dict:
    """The lesson for students, with a locked test of nbgrader's behind each answer. Its points are
    the minutes of the exercise's heading."""
    cells, points = [], 0
    for cell in for_student(notebook)["cells"]:
        cells.append(cell)
        if found := asked(cell):
            grading = {"schema_version": 3, "grade_id": f"test-{found[1]}", "points": points,
                       "grade": True, "locked": True, "solution": False, "task": False,
                       "cell_type": "code"}
            cells.append({"cell_type": "code", "id": grading["grade_id"],
                          "metadata": {"nbgrader": grading}, "outputs": [],
                          "execution_count": None, "source": TEST.format(*found.groups())})
        elif heading := MINUTES.search(cell["source"]):
            points = int(heading[1])
    return notebook | {"cells": cells}


def course(target: pathlib.Path) -> None:
    """Write a course for nbgrader: an assignment for each lesson, which brings the package."""
    shutil.rmtree(target, ignore_errors=True)
    for path in notebooks(folder()):
        assignment, notebook = target / "source" / path.stem, with_tests(read(path))
        assignment.mkdir(parents=True)
        write(notebook, assignment / path.name)
        put_package(assignment, sealed)
    (target / "nbgrader_config.py").write_text(SETTINGS, encoding="utf-8")
    print(f"{target}: {len(notebooks(folder()))} assignments", flush=True)


def main(words: list[str], target: pathlib.Path = ROOT / "dist") -> None:
    if unknown := {*words} - {*languages(), "nbgrader"}:
        sys.exit(f"ARGS may be {', '.join(languages())} and nbgrader; got {', '.join(unknown)}.")
    for code in {*words} & {*languages()}:
        language(code)
    students, teachers, graded = (target / (name + ("-" + language()) * bool(folder()))
                                  for name in ("student", "instructor", "nbgrader"))
    if "nbgrader" in words:
        course(graded)
    else:
        hand_out(students, STUDENTS, lambda path: for_student(read(path)), sealed)
        hand_out(teachers, TEACHERS, lambda path: for_teacher(read(path), path.stem[:2]))


if __name__ == "__main__":
    main(sys.argv[1:])
