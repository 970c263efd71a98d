"""A student's process: runs a notebook's cells within the walls, and tells what `check` says there.

It hears one piece of JSON, the task, and writes a line of JSON for each thing that happens, to a
file that is this student's alone: ["begins", cell], ["judged", exercise, state, message, the
notebook's own seed], ["ends", cell, error], at last ["done"].
"""
import json
import math
import os
import re
import runpy
import signal
import symtable
import sys

MODULES = {"torch", "nn", "F", "plt", "d2l_ext", "math", "random"}  # that cells call, not change
CHANGED = re.compile(r"^ *(\w+)[.\[]", re.M)  # net.train(), rows[0] = 1
PATIENCE = 5  # limits are seconds of CPU; on the clock, this many times as long
FILE = 2**28  # bytes that a file may hold


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

def restrict(seconds: float, memory: float) -> None:
    """Limits that can't be lifted again: seconds of CPU, memory in GiB."""
    import resource  # which Windows lacks
    limits = {resource.RLIMIT_CPU: math.ceil(seconds) + 10, resource.RLIMIT_CORE: 0,
              resource.RLIMIT_NOFILE: 256, resource.RLIMIT_FSIZE: FILE}
    if os.path.exists("/proc/self/statm"):  # elsewhere this limit isn't heeded
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        limits[resource.RLIMIT_AS] = now + int(memory * 2**30)
    for what, most in limits.items():
        resource.setrlimit(what, (most, most))


def allow(seconds: float) -> None:
    """So much CPU from now on, then the process ends."""
    import resource
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))
    signal.alarm(math.ceil(PATIENCE * seconds) + 10)


def main(task: dict, tell) -> None:
    """Run a notebook.

    cells: [source, whether it is wanted]. skip: those that ended a process before. limits: seconds
    for a cell and for all, and GiB. seed: of the student's own numbers, where a roster says one.
    own: a file of exercises.
    """
    from attention_lessons import exercises, languages
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config
    judge, (seconds, all_seconds, memory) = exercises.check, task["limits"]

    def check(name, answer=None, *, seed=None):
        result = judge(name, answer, seed=task["seed"] or seed)
        languages.chosen = ""  # a Chinese lesson's is quoted in the grader's language
        tell("judged", name, result.state, str(languages.t(result.message))[:2000],
             str(seed or ""))
        return result

    exercises.check = check
    if task["own"]:
        runpy.run_path(task["own"])
    restrict(all_seconds, memory)
    settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"cache_size": 0})
    shell = InteractiveShell.instance(config=settings)
    shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **more: None
    sources, done = [source for source, _ in task["cells"]], {*task["skip"]}

    def run(number: int):
        done.add(number)
        tell("begins", number)
        allow(seconds)
        try:
            result = shell.run_cell(sources[number], silent=True)
            error = result.error_before_exec or result.error_in_exec
            said = error and f"{type(error).__name__}: {error}"[:2000]
        except BaseException as raised:
            error, said = raised, type(raised).__name__
        tell("ends", number, said)
        return error

    for number in sorted(needed(sources, [wanted for _, wanted in task["cells"]]) - done):
        error, left_out = run(number), [i for i in range(number) if i not in done]
        if isinstance(error, NameError) and any(error.name in names_in(sources[i])[0]
                                                for i in left_out):
            for each in [*left_out, number]:
                run(each)
    tell("done")


if __name__ == "__main__":
    told = os.dup(1)
    heard = json.load(sys.stdin)
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in range(3):
        os.dup2(nothing, place)
    main(heard, lambda *said: os.write(told, json.dumps(said).encode() + b"\n"))
