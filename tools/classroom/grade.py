"""Grade notebooks that were handed in: `make grade FOLDER=submissions`.

One folder or one file per student. Each notebook runs in a process of its own (grade_student.py),
without a network and with limits on time and memory; what goes wrong there is one line of the
table. Its answers are judged here, out of its reach. Tables land in dist/grades (grade_table.py).
"""
import argparse
import ast
import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import runpy
import signal
import subprocess
import symtable
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATHS = [str(path) for path in (HERE, ROOT / "tools", ROOT)]
CHECK = re.compile(r"\bcheck\(\s*[\"']([\w-]+)[\"']")
FIND = re.compile(r"\bfind\(\s*[\"']([\w-]+)[\"']")
IGNORED = re.compile(r"(^|/)(\.|__MACOSX)")  # what programs leave in folders
COPY = re.compile(r"(-Copy\d+| ?\(\d+\))+$")  # how browsers and Jupyter name a second file
TAKEN = "the notebook reaches for the answers in the package"
WORDS = {"answers": TAKEN, "network": "it asks for the network",
         "program": "it starts or ends another program",
         "file": "it opens a file that isn't its own:"}  # for what was refused
MISSING = re.compile(r"name '(\w+)' is not defined")
MODULES = {"torch", "nn", "F", "plt", "d2l_ext", "math", "random"}  # that cells call, not change
RESTARTS = 3  # so often is a notebook run again without the cell that ended it
PATIENCE = 5  # limits are seconds of CPU; on the clock, this many times as long


@dataclass
class Row:
    """A line of the table. ``exercise`` is empty where it concerns the whole file."""

    student: str
    file: str
    lesson: str
    exercise: str
    state: str
    message: str = ""


@dataclass
class Task:
    """What was set: the number of a lesson or a notebook's name, and its exercises."""

    name: str
    exercises: list[str]
    sources: set[str]  # its cells of code


class Gone(BaseException):
    """The submission's process ended, hangs, or talks nonsense. ``check`` lets it pass."""


# ---- an answer from the other process ------------------------------------------------------------

class Thing:
    """What is no data, as far as messages speak of it: its type's name and its repr."""

    def __repr__(self) -> str:
        return self.text


def rebuilt(given, call: Callable):
    """The answer that was described; what can be called there is called through ``call``."""
    import torch
    if not isinstance(given, dict):
        return given
    kind, entries = given["kind"], given.get("entries", [])
    if kind == "ellipsis":
        return ...
    if kind == "Tensor":
        numbers = torch.tensor(entries, dtype=getattr(torch, given["dtype"]))
        return numbers.reshape(given["shape"])
    if kind == "other":
        members = {"text": str(given["text"])}
        if given["place"] is not None:
            place = given["place"]
            members["__call__"] = lambda self, *arguments: call(place, arguments)
        return type(str(given["name"]), (Thing,), members)()
    if kind == "dict":
        return {rebuilt(key, call): rebuilt(value, call) for key, value in entries}
    kinds = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
    return kinds[kind](rebuilt(entry, call) for entry in entries)


class Talk:
    """One run of a notebook's cells: what is asked of its process, and what it answers."""

    def __init__(self, process, line, limits: tuple[float, float, float], end: float, seed=None):
        self.process, self.line, self.limits, self.end = process, line, limits, end
        self.seed = seed  # of everybody's own numbers; without it, what the notebook says
        self.cell, self.judged, self.errors, self.refused = -1, {}, {}, {}
        self.there = []  # what is judged in the other process: classes, tests of code
        self.wait_anew()

    def wait_anew(self) -> None:
        self.until = min(self.end, time.monotonic() + PATIENCE * self.limits[0] + 10)

    def hear(self) -> dict:
        if not self.line.poll(max(0, self.until - time.monotonic())):
            if time.monotonic() > self.end:
                raise Gone(f"the notebook took more than {self.limits[1]:g} seconds")
            raise Gone(f"the cell took more than {self.limits[0]:g} seconds and was ended")
        try:
            return json.loads(self.line.recv_bytes(2**26))
        except (EOFError, OSError, ValueError):
            self.process.join(5)
            code = self.process.exitcode
            raise Gone(f"the cell ended its process (exit code {code})") from None

    def order(self, *what) -> None:
        try:
            self.line.send_bytes(pickle.dumps(what))
        except OSError:
            raise Gone("the cell ended its process") from None

    def call(self, place: int, arguments: tuple):
        """The result of a function in the other process; what it raises is raised."""
        self.order(place, arguments)
        heard = self.hear()
        if "raised" in heard:
            kind = NotImplementedError if heard["raised"] == "NotImplementedError" else type(
                str(heard["raised"]), (Exception,), {})
            raise kind(heard["text"])
        if "result" not in heard:
            raise TimeoutGone(f"the answer took more than {self.limits[0]:g} seconds")
        return rebuilt(heard["result"], self.call)

    def listen(self) -> None:
        """Until all cells have run and all answers are judged."""
        while "done" not in (heard := self.hear()):
            if "cell" in heard:
                self.cell = int(heard["cell"])
                self.wait_anew()
            elif "check" in heard:
                self.judge(str(heard["check"]), heard.get("answer"), heard.get("seed"))
            else:
                self.errors[self.cell] = heard.get("error")
                self.refused[self.cell] = heard.get("refused", [])
        for name, place, seed, cell in self.there:
            self.cell = cell
            self.wait_anew()
            self.order(name, place, seed)
            heard = self.hear()
            self.note(name, str(heard.get("state")), str(heard.get("text")))
        self.order()

    def judge(self, name: str, answer, seed) -> None:
        from attention_lessons.exercises import all_exercises, check
        exercise = all_exercises().get(name)
        seed = seed if self.seed is None else self.seed
        there = isinstance(answer, dict) and (
            answer.get("class") and hasattr(exercise, "stages")
            or answer.get("kind") == "dict" and hasattr(exercise, "case"))
        if exercise is None:
            self.note(name, "error", f"there is no exercise {name!r}")
        elif there:
            self.there.append((name, int(answer["place"]), seed, self.cell))
        else:
            try:
                result = check(name, rebuilt(answer, self.call), seed=seed)
                self.note(name, result.state, result.message)
            except TimeoutGone as over:
                self.note(name, "error", str(over))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                self.note(name, "error", f"the answer can't be read: {error}")
        self.order()

    def note(self, name: str, state: str, message: str) -> None:
        """The last attempt counts."""
        if state != "not attempted" or name not in self.judged:
            self.judged[name] = (state, message)


class TimeoutGone(BaseException):
    """An answer took too long; its process goes on."""


# ---- one notebook --------------------------------------------------------------------------------

def cells_of(path: pathlib.Path) -> list[str]:
    """The notebook's code cells. Raises ValueError, in words, for what is no notebook."""
    import nbformat
    if path.suffix != ".ipynb":
        raise ValueError(f"a {path.suffix or 'file without a suffix'}, no notebook")
    if path.stat().st_size > 2**26:
        raise ValueError("larger than 64 MiB")
    text = path.read_bytes()
    if not text.strip():
        raise ValueError("an empty file")
    try:
        notebook = nbformat.reads(text.decode(), as_version=4)
        return ["".join(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    except Exception as error:  # of many classes, for files with anything in them
        what = "a PDF" if text.startswith(b"%PDF") else f"{type(error).__name__}: {error}"
        what = what.splitlines()[0][:80]
        raise ValueError(f"no notebook: {what}") from None


def lessons(folder: pathlib.Path = ROOT / "notebooks") -> list[Task]:
    return [task_of(path) for path in sorted(folder.glob("*.ipynb"))]


def task_of(path: pathlib.Path) -> Task:
    sources = cells_of(path)
    names = list(dict.fromkeys(CHECK.findall("\n".join(sources))))
    return Task(path.stem[:2] if path.stem[:2].isdigit() else path.stem, names, set(sources))


def task_for(cells: list[str], tasks: list[Task]) -> Task:
    """The task with most of this notebook's exercises. Raises ValueError if it has none."""
    names = set(CHECK.findall("\n".join(cells)))
    best = max(tasks, key=lambda task: len(names & {*task.exercises}))
    if not names & {*best.exercises}:
        every = {name: task.name for task in lessons() for name in task.exercises}
        other = sorted({every[name] for name in names if name in every})
        raise ValueError(f"lesson {', '.join(other)}, which was not set" if other else
                         "there is no check of an exercise that was set")
    return best


def names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes or may change, and those that it needs from before."""
    from IPython.core.inputtransformer2 import TransformerManager
    try:
        source = TransformerManager().transform_cell(source)
        top, nodes = symtable.symtable(source, "cell", "exec"), list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return set(), set()  # it can't run
    own = {name.get_name() for name in top.get_symbols()
           if name.is_namespace() or name.is_imported()}
    used = {name.get_name() for name in top.get_symbols() if name.is_referenced()} - own
    inner = top.get_children()
    for table in inner:  # the list grows while it is gone through
        used |= {name.get_name() for name in table.get_symbols() if name.is_global()} - own
        inner += table.get_children()
    made = {name.get_name() for name in top.get_symbols() if name.is_assigned()} | own
    for node in nodes:
        called = isinstance(node, ast.Expr) and getattr(node.value, "func", None)  # net.train()
        stored = isinstance(getattr(node, "ctx", 0), ast.Store) and node  # rows[0] = 1
        target = first = called or stored
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            target = target.value
        if isinstance(target, ast.Name) and target is not first and target.id not in MODULES:
            made.add(target.id)
    return made, used


def needed(sources: list[str], task: Task) -> set[int]:
    """The cells to run: those that the student wrote, and what these need of ours.

    Ours are figures and training for the most part, and would take most of the time.
    """
    chosen, wanted = set(), set()
    for i in reversed(range(len(sources))):
        made, used = names_in(sources[i])
        if sources[i] not in task.sources or CHECK.search(sources[i]) or made & wanted:
            chosen.add(i)
            wanted |= used
    return chosen


def lacks(talk: Talk, sources: list[str], cells: set[int]) -> bool:
    """Whether a cell missed a name that one of the cells left out makes."""
    heard = [*filter(None, talk.errors.values()), *(text for _, text in talk.judged.values())]
    missed = {name for text in heard for name in MISSING.findall(text)}
    left_out = set(range(len(sources))) - cells
    return bool(missed) and any(missed & names_in(sources[i])[0] for i in left_out)


def converse(cells: dict[int, str], settings: "Settings", end: float,
             seed=None) -> tuple[Talk, str]:
    """Run the cells in a process of their own. With it, why it was ended, if it was."""
    mine, theirs = CONTEXT.Pipe()
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        import grade_student
        process = CONTEXT.Process(target=grade_student.work, daemon=True, args=(
            theirs, cells, folder, settings.closed, settings.open, settings.limits))
        process.start()
        theirs.close()
        talk = Talk(process, mine, settings.limits, end, seed)
        try:
            talk.listen()
            return talk, ""
        except Gone as gone:
            return talk, str(gone)
        finally:
            process.kill()
            process.join()
            with contextlib.suppress(OSError):  # what it may have begun
                os.killpg(process.pid, signal.SIGKILL)
            mine.close()


@dataclass
class Settings:
    """How submissions run: limits are seconds per cell, seconds per notebook, and GiB."""

    limits: tuple[float, float, float]
    closed: list[str]
    open: list[str]
    tasks: list[Task]
    seeded: bool = False


def grade(student: str, path: pathlib.Path, settings: Settings) -> list[Row]:
    """The lines of the table for one file, whatever is in it."""
    def row(exercise, state, message=""):
        return Row(student, path.name, task.name, exercise, state, message)

    task = Task("", [], set())
    try:
        sources = cells_of(path)
        task = task_for(sources, settings.tasks)
    except (ValueError, OSError) as error:
        return [row("", "error", str(error))]
    end = time.monotonic() + PATIENCE * settings.limits[1]
    chosen = needed(sources, task)
    ended = {}  # cells that ended their process, and how
    while True:
        cells = {i: sources[i] for i in sorted(chosen - {*ended})}
        talk, why = converse(cells, settings, end, student if settings.seeded else None)
        if why:
            ended[talk.cell] = why
        elif lacks(talk, sources, chosen):
            chosen = set(range(len(sources)))
        else:
            break
        if len(ended) > RESTARTS or time.monotonic() > end:
            break
    return [row(*line) for line in lines(sources, task, talk, ended)]


def lines(sources: list[str], task: Task, talk: Talk, ended: dict[int, str]) -> list[tuple]:
    """(exercise, state, message) of one notebook that ran, first what concerns all of it."""
    cell_of = {name: i for i, source in enumerate(sources) for name in CHECK.findall(source)}
    reached = {i for i, refused in talk.refused.items() if "answers" in refused}
    taken = {name for source in sources for name in FIND.findall(source)}
    taken |= {name for name, i in cell_of.items() if i in reached}
    found = [("", "note", f"code cell {i + 1}: {why}") for i, why in sorted(ended.items())]
    for i, refused in sorted(talk.refused.items()):
        for kind, _, name in (str(what).partition(" ") for what in refused):
            found.append(("", "note", f"code cell {i + 1}: {WORDS.get(kind, kind)} {name}".strip()))
    for name in task.exercises:
        i = cell_of.get(name)
        if name in taken:
            found.append((name, "taken from the package", TAKEN))
        elif name in talk.judged:
            found.append((name, *talk.judged[name]))
        elif i is None:
            found.append((name, "not attempted", f'there is no check("{name}", ...)'))
        elif i in ended or talk.errors.get(i):
            found.append((name, "error", ended.get(i) or talk.errors[i]))
        elif ended and i not in talk.errors:
            found.append((name, "error", f"not reached: {[*ended.values()][-1]}"))
        else:
            found.append((name, "not attempted", f'check("{name}", ...) was not run'))
    unknown = set(cell_of) - {*task.exercises}
    return found + [(name, *talk.judged.get(name, ("error", "this exercise was not set")))
                    for name in sorted(unknown)]


# ---- all of them ---------------------------------------------------------------------------------

def handed_in(folder: pathlib.Path) -> list[tuple[str, pathlib.Path]]:
    """Students and their files: a student is the first folder's name, or else the file's."""
    found = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file() and not IGNORED.search(place.as_posix()):
            alone = len(place.parts) == 1
            found.append((COPY.sub("", path.stem) if alone else place.parts[0], path))
    return found


def twice(rows: list[Row]) -> list[Row]:
    """A note for each student who handed in several files of one lesson."""
    files = {}
    for row in rows:
        files.setdefault((row.student, row.lesson), set()).add(row.file)
    return [Row(student, "", lesson, "", "note",
                f"{len(names)} files of one lesson, all graded: {', '.join(sorted(names))}")
            for (student, lesson), names in files.items() if lesson and len(names) > 1]


def grade_all(folder: pathlib.Path, settings: Settings, jobs: int, say=print) -> list[Row]:
    """Grade every file in the folder, several at a time, and say so as they are done."""
    submissions = handed_in(folder)
    done, width = itertools.count(1), len(str(len(submissions)))

    def one(submission):
        student, path = submission
        begun = time.monotonic()
        try:
            rows = grade(student, path, settings)
        except Exception as error:  # a mistake of ours must not cost the others their grades
            rows = [Row(student, path.name, "", "", "error",
                        f"could not be graded: {type(error).__name__}: {error}")]
        say(f"{next(done):{width}}/{len(submissions)} {path.relative_to(folder)}: "
            f"{in_short(rows)} ({time.monotonic() - begun:.0f} s)", flush=True)
        return rows

    with ThreadPoolExecutor(jobs) as pool:
        graded = list(itertools.chain.from_iterable(pool.map(one, submissions)))
    return graded + twice(graded)


def in_short(rows: list[Row]) -> str:
    states = [row.state for row in rows if row.exercise]
    if not states:
        return rows[0].message
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states)))


@functools.cache
def warm() -> None:
    """Begin what submissions are copies of, and load the exercises."""
    os.environ["PYTHONPATH"] = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg",
                   "IPYTHONDIR": tempfile.mkdtemp(prefix="grade-ipython-")}
    CONTEXT.set_forkserver_preload(["grade_student"])
    multiprocessing.forkserver.ensure_running()
    from attention_lessons.exercises import all_exercises
    all_exercises()


def settings_for(arguments: argparse.Namespace) -> Settings:
    tasks = lessons()
    if arguments.lesson:
        own = pathlib.Path(arguments.lesson)
        tasks = ([task_of(own)] if own.suffix == ".ipynb" and own.is_file() else
                 [task for task in tasks if task.name == arguments.lesson])
    if not tasks:
        known = ", ".join(task.name for task in lessons())
        sys.exit(f"--lesson is one of {known}, or a notebook; got {arguments.lesson!r}.")
    limits = arguments.cell_seconds, arguments.seconds, arguments.memory
    if min(limits) <= 0 or arguments.jobs < 1:
        sys.exit("--cell-seconds, --seconds, --memory and --jobs must be greater than 0.")
    import attention_lessons
    import d2l_ext
    packages = [str(pathlib.Path(package.__file__).resolve().parent)
                for package in (attention_lessons, d2l_ext)]
    return Settings(limits, [str(ROOT), str(arguments.folder.resolve())],
                    [*packages, str(ROOT / "images"), sys.prefix], tasks,
                    arguments.seeded)


def options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="grade", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("folder", type=pathlib.Path, help="one folder or one notebook per student")
    add("--lesson", help="what was set: 02, or your own notebook; without it, any lesson")
    add("--exercises", type=pathlib.Path, help="a file that registers exercises of your own")
    add("--seeded", action="store_true", help="everybody has numbers of their own, by name")
    add("--out", type=pathlib.Path, default=ROOT / "dist/grades", help="where the tables land")
    add("--jobs", type=int, default=os.cpu_count(), help="how many notebooks at a time")
    add("--cell-seconds", type=float, default=60, help="of CPU, for one cell or answer")
    add("--seconds", type=float, default=300, help="of CPU, for one notebook")
    add("--memory", type=float, default=4, help="for one notebook, in GiB")
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    arguments = options(words)
    if not hasattr(os, "setsid"):
        sys.exit("Grading needs Linux or macOS; on Windows, use its Linux (WSL).")
    if not arguments.folder.is_dir():
        sys.exit(f"FOLDER is no folder: {arguments.folder}")
    if not handed_in(arguments.folder):
        sys.exit(f"FOLDER is empty: {arguments.folder}")
    settings = settings_for(arguments)
    print("Grading begins when PyTorch is loaded.", flush=True)
    warm()
    if arguments.exercises:
        runpy.run_path(str(arguments.exercises))
    from grade_table import write
    rows = grade_all(arguments.folder, settings, arguments.jobs)
    print(write(rows, arguments.out))


def without_network(words: list[str]) -> int:
    """Grade in a network namespace, where Linux lends one: nothing gets out, whatever is tried."""
    from offline import namespace
    return subprocess.call([*namespace(), sys.executable, __file__, "--here", *words])


sys.path[:0] = PATHS
CONTEXT = multiprocessing.get_context("forkserver" if hasattr(os, "setsid") else "spawn")

if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        main(sys.argv[2:])
    else:
        sys.exit(without_network(sys.argv[1:]))
