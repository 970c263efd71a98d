"""A student's process: runs a notebook's cells, and calls its functions when the grader asks.

What a student wrote can take over everything in here. So no answer is in here, and nothing that
says whether one is right: that is found out at the other end of the line (wire.py).
"""
import ast
import math
import os
import pathlib
import resource
import shutil
import socket
import symtable
import sys
from types import ModuleType

CHECKS = "attention_lessons.exercises"
MUSEUM = "attention_lessons.lesson_12.exercises"  # code of lesson 12; its answers stay outside
MODULES = {"torch", "nn", "F", "plt", "d2l_ext", "math", "random"}  # that cells call, not change
FILES, OPEN = 2**27, 256  # bytes of a file, and how many are open at once


class Later:
    """What ``check`` returns here."""

    state, message = "not attempted", "It is graded later."

    def __repr__(self) -> str:
        return self.message


def names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes or may change, and those that it needs from before."""
    from IPython.core.inputtransformer2 import TransformerManager
    try:
        source = TransformerManager().transform_cell(source)
        top, nodes = symtable.symtable(source, "cell", "exec"), list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
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


def needed(sources: list[str], wanted: list[bool]) -> set[int]:
    """The cells to run: those wanted, which the student wrote, and what these need of ours.

    Ours are figures and training for the most part, and would take most of the time.
    """
    chosen, names = set(), set()
    for i in reversed(range(len(sources))):
        made, used = names_in(sources[i])
        if wanted[i] or made & names:
            chosen.add(i)
            names |= used
    return chosen


def restrict(memory: float, seconds: float) -> None:
    """Limits for good: memory in GiB, seconds of CPU, files."""
    for what, limit in ((resource.RLIMIT_CPU, math.ceil(seconds) + 10),
                        (resource.RLIMIT_FSIZE, FILES), (resource.RLIMIT_CORE, 0),
                        (resource.RLIMIT_NOFILE, OPEN)):
        resource.setrlimit(what, (limit, limit))
    if os.path.exists("/proc/self/statm"):  # elsewhere this limit isn't heeded
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + int(memory * 2**30),) * 2)


class Student:
    """One submission, as its own process sees it."""

    def __init__(self, line):
        self.line = line

    def hand_in(self, name, answer=None, *others, **more) -> Later:
        """What a notebook's ``check`` does here."""
        seed, parcel = more.get("seed"), self.line.parcel()
        try:
            given = parcel.encode(answer)
        except (RecursionError, ValueError, RuntimeError) as error:  # it holds itself, for one
            given = f"{type(error).__name__}: {error}"
        self.line.send({"check": str(name), "answer": given, "tensors": parcel.sent,
                        "seed": seed if isinstance(seed, (int, str)) else None})
        while "go on" not in (heard := self.line.hear()):
            self.line.serve(heard)
        return Later()

    def limit(self, seconds: float) -> None:
        """So much CPU from now on, then the process ends."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))

    def packages(self) -> None:
        """The lessons' package as it is here: ``check`` hands in, and nothing knows an answer."""
        def nothing(*arguments, **options):
            raise LookupError("The answers aren't here while it is graded.")

        exercises, museum = ModuleType(CHECKS), ModuleType(MUSEUM)
        exercises.check, exercises.hint = self.hand_in, lambda *arguments: None
        exercises.find = exercises.all_exercises = nothing
        museum.CASES = {}
        sys.modules |= {CHECKS: exercises, MUSEUM: museum}

    def run(self, cells: list, seconds: float, skip: list, everything: bool) -> None:
        """cells: [source, whether it is wanted], of which those in ``skip`` ended a process."""
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config
        sources, wanted = [source for source, _ in cells], [want for _, want in cells]
        chosen = {*range(len(cells))} if everything else needed(sources, wanted)
        left_out = {name for i in range(len(cells)) if i not in chosen
                    for name in names_in(sources[i])[0]}
        self.line.send({"left_out": sorted(left_out)})
        settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"cache_size": 0})
        shell = InteractiveShell.instance(config=settings)
        self.packages()
        shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **more: None
        for number in sorted(chosen - {*skip}):
            self.line.send({"cell": number})
            self.limit(seconds)
            try:
                done = shell.run_cell(sources[number], silent=True)
                error = done.error_before_exec or done.error_in_exec
                said = error and f"{type(error).__name__}: {error}"[:2000]
            except BaseException as raised:
                said = type(raised).__name__
            self.line.send({"error": said})


def main() -> None:
    from counting import Watch  # these lie beside this file within the walls
    from wire import Line
    line = Line(socket.socket(fileno=os.dup(0)), counting=Watch)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    shutil.copytree(pathlib.Path(__file__).parent / "fonts", os.environ["MPLCONFIGDIR"])
    task = line.hear()
    seconds, all_seconds, memory = task["limits"]
    restrict(memory, all_seconds)
    Student(line).run(task["cells"], seconds, task["skip"], task["everything"])
    line.send({"done": True})


if __name__ == "__main__":
    main()
