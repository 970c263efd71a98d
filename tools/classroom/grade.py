"""Grade notebooks that were handed in: `make grade FOLDER=submissions`.

One folder or one file per student. Each notebook runs in a process of its own (grade_student.py)
within walls (walls.py), where `check` judges its answers and a file takes down what it says; here
nothing of a student's is run. What goes wrong is one line of the table (grade_table.py), which is
written anew after each student. Who is who: students.py.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, TimeoutExpired

import nbformat

from tools import ROOT
from tools.classroom import grade_table
from tools.classroom.grade_student import PATIENCE
from tools.classroom.students import Student, handed_in, key, roster
from tools.classroom.walls import WHY_NOT, Walls

CHECK = re.compile(r"\bcheck\(\s*[\"']([\w-]+)[\"']")
SEEDED = re.compile(r", seed=([\"']).{,100}?\1\)")
# What moves a terminal's cursor, ends a line, or can't be written.
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
RESTARTS = 3  # so often is a notebook run again without the cell that ended it
LATE = {-9, -14, -24, 137, 142, 152}  # exit codes of a process whose time is used up
TOLD = 2**22  # bytes that are read of what a process tells


@dataclass
class Row:
    """A line of the table. ``exercise`` is empty where it concerns the whole file."""

    student: str
    file: str
    lesson: str
    exercise: str
    state: str
    message: str = ""

    def __post_init__(self):
        for name, text in vars(self).items():
            text = CONTROL.sub("\ufffd", text)[:2000]
            setattr(self, name, text if name == "message" else " ".join(text.split()))


@dataclass
class Task:
    """What was set: the number of a lesson or a notebook's name, and its exercises."""

    name: str
    exercises: list[str]
    sources: set[str]  # its cells of code


@dataclass
class Settings:
    """How submissions run: limits are seconds per cell, seconds per notebook, and GiB."""

    limits: tuple[float, float, float]
    tasks: list[Task]
    walls: Walls


# ---- one run of a notebook -----------------------------------------------------------------------

@dataclass
class Run:
    """What a notebook's process told: the last cell that began, by exercise what `check` said last,
    by cell its error or None; which seeds its cells name; whether it came to its end, and if not,
    why."""

    cell: int = -1
    seeds: set[str] = field(default_factory=set)
    judged: dict[str, tuple[str, str]] = field(default_factory=dict)
    errors: dict[int, str | None] = field(default_factory=dict)
    done: bool = False
    ended: str = ""

    def hear(self, line: bytes) -> None:
        """Take in a line; what is none of ours is passed over."""
        try:
            match json.loads(line):
                case ["done"]:
                    self.done = True
                case ["begins", int(cell)]:
                    self.cell = cell
                case ["ends", int(cell), str() | None as error]:
                    self.errors[cell] = error
                case ["judged", str(name), str(state), str(message), str(seed)]:
                    self.seeds |= {seed} - {""}
                    if state in grade_table.STATES[:2] or name not in self.judged:
                        self.judged[name] = state, message
        except (ValueError, RecursionError):
            pass


def run(task: dict, walls: Walls, end: float) -> Run:
    """Let a process of a student's run a notebook, and hear what it tells, until ``end``."""
    made, (cell, all_cells, _) = Run(), task["limits"]
    with tempfile.TemporaryFile() as told:
        with walls.process(walls.student, stdin=PIPE, stdout=told, stderr=DEVNULL) as process:
            try:
                process.communicate(json.dumps(task).encode(), max(0, end - time.monotonic()))
            except TimeoutExpired:
                made.ended = f"the notebook took more than {all_cells:g} seconds"
        told.seek(0)
        for line in told.read(TOLD).splitlines():
            made.hear(line)
    if not made.done and not made.ended:
        made.ended = (f"the cell took more than {cell:g} seconds and was ended"
                      if process.returncode in LATE else
                      f"the cell ended its process (exit code {process.returncode})")
    return made


# ---- one notebook --------------------------------------------------------------------------------

def cells_of(path: pathlib.Path) -> list[str]:
    """The notebook's code cells. Raises ValueError, in words, for what is no notebook."""
    if path.suffix.lower() != ".ipynb":
        raise ValueError(f"a {path.suffix or 'file without a suffix'}, no notebook")
    if path.stat().st_size > 2**26:
        raise ValueError("larger than 64 MiB")
    text = path.read_bytes()
    if not text.strip():
        raise ValueError("an empty file")
    try:
        notebook = nbformat.reads(text.decode("utf-8-sig"), as_version=4)
        return ["".join(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    except Exception as error:  # of many classes, for files with anything in them
        what = "a PDF" if text.startswith(b"%PDF") else f"{type(error).__name__}: {error}"
        what = what.splitlines()[0][:80]
        raise ValueError(f"no notebook: {what}") from None


@functools.cache
def lessons() -> list[Task]:
    return [task_of(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]


def task_of(path: pathlib.Path) -> Task:
    """What a notebook sets, in each language."""
    sources = cells_of(path)
    names = list(dict.fromkeys(CHECK.findall("\n".join(sources))))
    for twin in path.parent.glob(f"??/{path.name}"):
        sources += cells_of(twin)
    return Task(path.stem[:2] if path.stem[:2].isdigit() else path.stem, names, set(sources))


def task_for(cells: list[str], tasks: list[Task]) -> Task:
    """The task with most of this notebook's exercises. Raises ValueError if it has none."""
    names = set(CHECK.findall("\n".join(cells)))
    best = max(tasks, key=lambda task: len(names & {*task.exercises}))
    if not names & {*best.exercises}:
        other = [task.name for task in lessons() if names & {*task.exercises}]
        raise ValueError(f"lesson {', '.join(other)}, which was not set" if other else
                         "there is no check of an exercise that was set")
    return best


def as_set(source: str) -> str:
    """A cell as the lesson has it, where somebody's own seed is all that is added."""
    return SEEDED.sub(")", source)


def lines_of(student: Student, path: pathlib.Path, sources: list[str], task: Task,
             settings: Settings) -> list[Row]:
    """The lines of the table for one notebook, whatever is in it."""
    cells = [[source, source not in task.sources or bool(CHECK.search(source))]
             for source in sources]
    end = time.monotonic() + PATIENCE * settings.limits[1]
    ended = {}  # cells that ended their process, and how
    while True:
        made = run({"cells": cells, "skip": [*ended], "limits": settings.limits,
                    "seed": student.seed, "own": settings.walls.own}, settings.walls, end)
        if made.ended:
            ended[made.cell] = made.ended
        if not made.ended or len(ended) > RESTARTS or time.monotonic() > end or made.cell < 0:
            break
    found = [("", "note", f"{student.name}'s notebook says seed {seed}") for seed in
             sorted(made.seeds) if key(seed) != key(student.seed or student.name)]
    return [Row(student.name, path.name, task.name, *line)
            for line in found + lines(sources, task, made, ended)]


def lines(sources: list[str], task: Task, made: Run, ended: dict[int, str]) -> list[tuple]:
    """(exercise, state, message) of one notebook that ran, first what concerns all of it."""
    cell_of = {name: i for i, source in enumerate(sources) for name in CHECK.findall(source)}
    found = [("", "note", f"code cell {i + 1}: {why}") for i, why in sorted(ended.items())]
    for name in task.exercises:
        i = cell_of.get(name)
        if name in made.judged:
            found.append((name, *made.judged[name]))
        elif i is None:
            found.append((name, "missing", f'there is no check("{name}", ...)'))
        elif i in ended or made.errors.get(i):
            found.append((name, "error", ended.get(i) or made.errors[i]))
        elif ended and i not in made.errors:
            found.append((name, "error", f"not reached: {[*ended.values()][-1]}"))
        else:
            found.append((name, "not attempted", f'check("{name}", ...) was not run'))
    unknown = set(cell_of) - {*task.exercises}
    return found + [(name, *made.judged.get(name, ("error", "no exercise of this name was set")))
                    for name in sorted(unknown)]


def grade(student: Student, settings: Settings) -> list[Row]:
    """The lines of one student: of a whole folder as handed out, the notebook that was changed."""
    read, left_out = [], {}
    for path in student.files:
        try:
            sources = cells_of(path)
            read.append((path, sources, task_for(sources, settings.tasks)))
        except (ValueError, OSError) as error:
            left_out[path.name] = str(error)
    changed = [each for each in read if {*map(as_set, each[1])} - each[2].sources] or read[:1]
    left_out |= {each[0].name: "not changed" for each in read if each not in changed}
    notes = [("note", note) for note in student.notes]
    if left_out:
        said = "; ".join(f"{name}: {why}" for name, why in sorted(left_out.items()))
        notes.append(("note" if read else "error", f"left out: {said}"))
    return [Row(student.name, "", "", "", *note) for note in notes] + [
        row for each in changed for row in lines_of(student, *each, settings)]


# ---- all of them ---------------------------------------------------------------------------------

def grade_all(students: list[Student], settings: Settings) -> Iterator[tuple[int, list[Row]]]:
    """(place, lines) of each student as they are done, several at a time. What goes wrong with one
    costs nobody else a line."""
    def one(student):
        try:
            return grade(student, settings)
        except Exception as error:
            return [Row(student.name, "", "", "", "error",
                        f"could not be graded: {type(error).__name__}: {error}")]

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        places = {threads.submit(one, student): i for i, student in enumerate(students)}
        for done in as_completed(places):
            yield places[done], done.result()


def in_short(rows: list[Row]) -> str:
    states = [row.state for row in rows if row.exercise]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted({*states}))
    return counts or " ".join(rows[0].message.split())


def task_set(lesson: str | None) -> list[Task]:
    """What was set: a lesson, a notebook of a teacher's own, or any lesson."""
    own = pathlib.Path(lesson or "")
    if own.suffix == ".ipynb" and own.is_file():
        return [task_of(own)]
    found = [task for task in lessons() if lesson in (None, task.name)]
    if not found:
        known = ", ".join(task.name for task in lessons())
        sys.exit(f"--lesson is one of {known}, or a notebook; got {lesson!r}.")
    return found


def main(words: list[str], target: pathlib.Path = ROOT / "dist/grades") -> None:
    parser = argparse.ArgumentParser(prog="grade", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("folder", type=pathlib.Path, help="one folder or one notebook per student")
    add("--lesson", help="what was set: 02, or your own notebook; without it, any lesson")
    add("--exercises", type=pathlib.Path, help="a file that registers exercises of your own")
    add("--roster", type=pathlib.Path, help="a CSV of names and seeds: numbers of their own")
    add("--cell-seconds", type=float, default=60, help="of CPU, for one cell and its answers")
    add("--seconds", type=float, default=300, help="of CPU, for one notebook")
    add("--memory", type=float, default=4, help="for one notebook, in GiB")
    add("--without-walls", action="store_true", help="on a machine with nothing to lose")
    given = parser.parse_args(words)
    limits = given.cell_seconds, given.seconds, given.memory
    if not hasattr(os, "setsid"):
        sys.exit("Grading needs Linux or macOS; on Windows, use its Linux (WSL).")
    if not given.folder.is_dir():
        sys.exit(f"FOLDER is not a folder: {given.folder}")
    if given.exercises and not given.exercises.is_file():
        sys.exit(f"--exercises is not a file: {given.exercises}")
    if min(limits) <= 0:
        sys.exit("--cell-seconds, --seconds and --memory must be greater than 0.")
    known = roster(given.roster) if given.roster else {}
    students, tasks = handed_in(given.folder, known), task_set(given.lesson)
    if not students:
        sys.exit(f"FOLDER is empty: {given.folder}")
    walls = Walls(not given.without_walls, given.exercises)
    if why := walls.why_not():
        sys.exit(WHY_NOT.format(why))
    done, said = {}, grade_table.write([], target)
    for place, rows in grade_all(students, Settings(limits, tasks, walls)):
        done[place] = rows
        said = grade_table.write([row for place in sorted(done) for row in done[place]], target)
        print(f"{len(done)}/{len(students)} {rows[0].student}: {in_short(rows)}", flush=True)
    print(said)


if __name__ == "__main__":
    main(sys.argv[1:])
