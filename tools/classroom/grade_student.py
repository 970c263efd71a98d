"""A student's process: runs a notebook's cells, and calls its functions when the grader asks.

What a student wrote can take over everything in here. So no answer is in here, and nothing that
says whether one is right: that is found out at the other end of the line (wire.py).
"""
import math
import os
import pathlib
import re
import shutil
import symtable

JUDGE, BEGINS, ENDS = range(3)  # what the grader keeps for this end
MODULES = {"torch", "nn", "F", "plt", "d2l_ext", "math", "random"}  # that cells call, not change
CHANGED = re.compile(r"^ *(\w+)[.\[]", re.M)  # net.train(), rows[0] = 1


class Later:
    """What ``check`` returns here."""

    state, message = "not attempted", "It is graded later."

    def __repr__(self) -> str:
        return self.message


# ---- which cells run -----------------------------------------------------------------------------

def names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes or may change, and those that it needs from before."""
    from IPython.core.inputtransformer2 import TransformerManager
    try:
        source = TransformerManager().transform_cell(source)
        tables = [symtable.symtable(source, "cell", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()  # it can't run
    symbols = [*tables[0].get_symbols()]
    made = {each.get_name() for each in symbols if each.is_namespace() or each.is_imported()}
    used = {each.get_name() for each in symbols if each.is_referenced()} - made
    for table in tables:  # the list grows while it is gone through
        used |= {each.get_name() for each in table.get_symbols() if each.is_global()} - made
        tables += table.get_children()
    made |= {each.get_name() for each in symbols if each.is_assigned()}
    return made | {*CHANGED.findall(source)} & used - MODULES, used


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


# ---- running them --------------------------------------------------------------------------------

def restrict(seconds: float, memory: float, for_good: bool = True) -> None:
    """Limits of this process: seconds of CPU, memory in GiB; for good, it can't lift them."""
    import resource  # which Windows lacks
    limits = {resource.RLIMIT_CPU: math.ceil(seconds) + 10, resource.RLIMIT_CORE: 0,
              resource.RLIMIT_NOFILE: 256}
    if os.path.exists("/proc/self/statm"):  # elsewhere this limit isn't heeded
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        limits[resource.RLIMIT_AS] = now + int(memory * 2**30)
    for what, most in limits.items():
        resource.setrlimit(what, (most, most if for_good else resource.getrlimit(what)[1]))


def limit(seconds: float) -> None:
    """So much CPU from now on, then the process ends."""
    import resource
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))


class Student:
    """One submission, as its own process sees it."""

    def __init__(self, line):
        self.line = line

    def prepare(self) -> None:
        """The lessons' package as it is here: ``check`` hands in, and nothing knows an answer."""
        from attention_lessons import exercises

        def check(name, answer=None, *others, **more) -> Later:
            self.line.call(JUDGE, None, name, answer)
            return Later()

        def nothing(*arguments, **options):
            raise LookupError("The answers aren't here while it is graded.")

        exercises.check, exercises.hint = check, lambda *arguments: None
        exercises.find = exercises.all_exercises = nothing

    def run(self, cells: list, skip: list, limits: list) -> None:
        """cells: [source, whether it is wanted], of which those in ``skip`` ended a process.
        limits: seconds for a cell and for all, and GiB."""
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config
        seconds, all_seconds, memory = limits
        restrict(all_seconds, memory)
        settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"cache_size": 0})
        shell = InteractiveShell.instance(config=settings)
        shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **more: None
        self.prepare()
        sources, done = [source for source, _ in cells], {*skip}

        def run(number: int):
            done.add(number)
            self.line.call(BEGINS, None, number)
            limit(seconds)
            try:
                result = shell.run_cell(sources[number], silent=True)
                error = result.error_before_exec or result.error_in_exec
                said = error and f"{type(error).__name__}: {error}"[:2000]
            except BaseException as raised:
                error, said = raised, type(raised).__name__
            self.line.call(ENDS, None, number, said)
            return error

        for number in sorted(needed(sources, [wanted for _, wanted in cells]) - done):
            error, left_out = run(number), [i for i in range(number) if i not in done]
            if isinstance(error, NameError) and any(error.name in names_in(sources[i])[0]
                                                    for i in left_out):
                for each in [*left_out, number]:
                    run(each)


def main() -> None:
    from wire import Line  # which lies beside this file within the walls
    line = Line(os.dup(0), [])
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    shutil.copytree(pathlib.Path(__file__).parent / "fonts", os.environ["MPLCONFIGDIR"])
    line.keep(Student(line).run)
    while True:
        line.serve(line.hear())


if __name__ == "__main__":
    main()
