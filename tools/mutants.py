"""Do the tests notice mistakes? `make mutants` makes them, in a copy of this folder, and counts.

    python tools/mutants.py hand                     what tests/mutants/by_hand.toml lists
    python tools/mutants.py d2l_ext/masks.py         a module, changed one place at a time by mutmut
    python tools/mutants.py d2l_ext/explorers/*.js   the same in JavaScript, by StrykerJS

Without names everything is measured (hours). A module meets the fast tests of its own room; of
more than `SAMPLE` mutants a fixed random sample is tried. What lives needs its reason in
tests/mutants/equivalent.toml or stands in tests/mutants/results.md.
"""
import ast
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from itertools import chain

import pytest
from _pytest.main import pytest_runtestloop
from offline import NOT_COPIED

ROOT = pathlib.Path(__file__).parent.parent
HERE = ROOT / "tests" / "mutants"
COPY = ROOT / "dist" / "mutants"
PYTEST = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
PLAIN = ["-o", "addopts=", "-p", "no:nbval", "-p", "no:xdist", "--doctest-modules"]
FAST = ["-m", "not slow and not browser"]
SAMPLE = 150
# What torch traces can't see through mutmut's switch between mutants, and what looks at the calling
# frame sees its. What the other tests let live meets all of them afterwards, in plain source.
PLAINLY = "compile or export or they_cannot_be or points_at"
# Where tests of a module stand that no file of its own room names.
ELSEWHERE = {"__main__": "tools/test_packaging.py", "_validate": "core/test_*.py"}
ALIVE = 0, 33  # mutmut's codes for "all tests pass" and "no test runs it"
STRYKER = ROOT / "dist" / "stryker"  # where npm puts the part of StrykerJS that makes mutants
INSTRUMENTER = "@stryker-mutator/instrumenter@9.6.1"
# The sections of a piece that draw; the others are mathematics, words and state.
DRAWING = "on the screen", "the page", "controls", "drawing"


def copy_tree():
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=NOT_COPIED)


def run(command, **options):
    """Run in the copy, which Python finds before an installed package."""
    environment = os.environ | {"PYTHONPATH": str(COPY), "OMP_NUM_THREADS": "1",
                                "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True,
                          encoding="utf-8", **options)


# ---- by hand ----

def mistakes():
    return tomllib.loads((HERE / "by_hand.toml").read_text(encoding="utf-8"))["mistake"]


def made(mistake, folder):
    """The file's text with the mistake. Raises ValueError unless the right text occurs once."""
    text = (folder / mistake["file"]).read_text(encoding="utf-8")
    if (count := text.count(mistake["old"])) != 1:
        raise ValueError(f"{mistake['what']}: {mistake['old']!r} occurs {count} times in "
                         f"{mistake['file']}, not once")
    return text.replace(mistake["old"], mistake["new"])


def outcome(*arguments):
    """passed, failed, or "not run" where pytest ran no test."""
    return {0: "passed", 1: "failed"}.get(run([*PYTEST, "-x", *arguments]).returncode, "not run")


def by_hand():
    """Each mistake and how its test ends without it and with it."""
    copy_tree()
    without = {test: outcome(test) for test in {mistake["test"] for mistake in mistakes()}}
    rows = []
    for mistake in mistakes():
        file, test = COPY / mistake["file"], mistake["test"]
        right = file.read_text(encoding="utf-8")
        file.write_text(made(mistake, COPY), encoding="utf-8")
        rows.append((mistake["what"], without[test], outcome(test)))
        file.write_text(right, encoding="utf-8")
        print(*rows[-1], sep=" | ", flush=True)
    caught = sum(row[1:] == ("passed", "failed") for row in rows)
    alive = [f"{what}: {before} without it, {then} with it" for what, before, then in rows
             if (before, then) != ("passed", "failed")]
    store("by hand", len(rows), len(rows), caught, 0, alive)


# ---- Python, by mutmut ----

def tests_of(module):
    """The tests of the module's room, or those that name it, and the module's own examples."""
    path, tests = pathlib.Path(module), ROOT / "tests"
    room = tests / path.parts[1]
    files = {*room.glob("test_*.py")} - {*room.glob("test_drawn_*.py")}  # these run JavaScript
    if not files:
        name = path.parent.name if path.stem == "__init__" else path.stem
        near = {*tests.glob("core/test_*.py"), *tests.glob("laboratory/test_*.py")}
        files = {file for file in near if name in file.read_text(encoding="utf-8").lower()}
        files |= {*tests.glob(f"*/test_{name}.py"), *tests.glob(ELSEWHERE.get(name, "none"))}
    return [*(str(file.relative_to(ROOT)) for file in sorted(files)), module]


def settings(module):
    """mutmut's, as it reads them from pyproject.toml."""
    here = {path.name for path in ROOT.iterdir()}
    also = sorted(here - NOT_COPIED(str(ROOT), here) - {"d2l_ext", "tests", "pyproject.toml"})
    options = [*PLAIN, *FAST, "-p", "no:cacheprovider", "-k", f"not __mutmut_ and not ({PLAINLY})"]
    return {"source_paths": ["d2l_ext"], "only_mutate": [module], "also_copy": also,
            "pytest_add_cli_args": options,
            "pytest_add_cli_args_test_selection": tests_of(module)}


def mutmut(*arguments):
    """In the copy; not by `run`, which would find the unchanged package first."""
    return subprocess.run([sys.executable, "-m", "mutmut", *arguments], cwd=COPY,
                          env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True,
                          text=True, encoding="utf-8")


def sample(names):
    return sorted(random.Random(0).sample(sorted(names), min(len(names), SAMPLE)))


def python_mutants(module):
    copy_tree()
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings(module).items()]
    with open(COPY / "pyproject.toml", "a", encoding="utf-8") as file:
        file.write("\n[tool.mutmut]\n" + "\n".join(lines) + "\n")
    meta = COPY / "mutants" / f"{module}.meta"
    done = mutmut("run", "nothing", "--max-children", "1")  # makes all, tries none
    if not meta.exists():
        sys.exit(f"mutmut made no mutants of {module}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    names = sample(json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"])
    if stops := bool(names) and (done := mutmut("run", "--max-children", "1", *names)).returncode:
        # Some tests look at the source, and fail where mutmut keeps all mutants in it.
        print(f"{module}, all in plain source, since\n{done.stdout[-500:]}", flush=True)
    codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    lives = {name: difference(name) for name in names if stops or codes[name] in ALIVE}
    left = {name: diff for name, diff in lives.items() if reason(diff) is None}
    if left and (done := in_plain_source(module)).returncode:
        sys.exit(f"The tests of {module} fail without a mutant:\n{done.stdout[-1000:]}")
    alive = [diff for name, diff in left.items()
             if in_plain_source(module, name).returncode not in (1, 2)]
    same = len(lives) - len(left)
    store(module, len(codes), len(names), len(names) - same - len(alive), same, alive)


def difference(name):
    """The lines that a mutant changes, - before and + after."""
    shown = mutmut("show", name).stdout
    changed = [line for line in shown.splitlines() if re.match(r"[-+](?![-+]{2} )", line)]
    return "\n".join(re.sub(r"^([-+]) +", r"\1 ", line) for line in changed)


def reason(diff):
    """Why a mutant changes nothing that anyone could see; None if no reason is given."""
    known = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))["mutant"]
    return next((mutant["why"] for mutant in known if mutant["diff"].strip() == diff), None)


def in_plain_source(module, mutant=""):
    """How pytest ends: 1 where a test fails, 2 where one can't be imported. mutmut changes nothing
    that runs at import."""
    file = COPY / module
    right = file.read_text(encoding="utf-8")
    if mutant:
        mutmut("apply", mutant)
    try:
        return run([*PYTEST, "-x", *PLAIN, *FAST, *tests_of(module)], timeout=1200)
    except subprocess.TimeoutExpired as endless:
        return subprocess.CompletedProcess(endless.cmd, 1, "endless")
    finally:
        file.write_text(right, encoding="utf-8")


# ---- JavaScript, by StrykerJS ----

def javascript_mutants(piece):
    """All are tested in node, where a page's stand-in keeps what is drawn; what is left, in a
    browser."""
    if not STRYKER.exists():
        subprocess.run(["npm", "install", "--prefix", str(STRYKER), INSTRUMENTER], check=True)
    copy_tree()
    drawing = drawing_lines((COPY / piece).read_text(encoding="utf-8"))
    done = run(["node", "tests/mutants/instrument.mjs", str(STRYKER), piece], check=True)
    parts = {False: [], True: []}
    for mutant in json.loads(done.stdout):
        parts[mutant["line"] in drawing].append(mutant)
    stem, folder = pathlib.Path(piece).stem, COPY / "tests/explorers"
    first = [f"test_drawn_{stem}", f"test_explorer_{stem}", "test_drawn_shared", "test_words"]
    more = ["test_drawn_attention", "test_drawn_heads"] if stem == "shared" else []
    files = [f"tests/explorers/{name}.py" for name in first + more
             if (folder / f"{name}.py").exists()]
    own = [] if stem == "shared" else ["-k", stem]  # of tests of all pieces those of this one
    in_node = [tests_that_use({"compute", "perform"}, file) for file in files]
    played = "projector" if stem == "shared" else f"{stem} and projector"
    in_browser = [*files, "tests/browser/test_pages.py", "-m", "browser",
                  "-k", f"test_explorer or ({played})"]
    for what, some, tests in (("mathematics", parts[False], reversed(in_node)),
                              ("drawing", parts[True], in_node)):
        measure_javascript(f"{piece}, {what}", some, [[*chain(*tests), *own], in_browser])


def tests_that_use(names, file):
    """The tests in a file that call one of the functions, by themselves or through others of the
    file."""
    tree = ast.parse((COPY / file).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    known, before = set(names), 0
    while len(known) > before:
        before = len(known)
        known |= {function.name for function in functions if mentioned(function) & known}
    return [f"{file}::{one}" for one in sorted(known) if one.startswith("test_")]


def mentioned(function):
    """The names in a function's body, and those of its arguments, which may be fixtures."""
    nodes = list(ast.walk(function))
    return ({node.id for node in nodes if isinstance(node, ast.Name)}
            | {node.arg for node in nodes if isinstance(node, ast.arg)})


def drawing_lines(text):
    """The numbers of the lines in sections that draw."""
    title, found = "", set()
    for number, line in enumerate(text.splitlines(), 1):
        if ruler := re.match(r"// -{4,} ([^-]+)", line):
            title = ruler[1]
        if title.startswith(DRAWING):
            found.add(number)
    return found


def measure_javascript(what, mutants, stages):
    """Try a sample of mutants. stages: tests as pytest's arguments; a later stage tries what an
    earlier one lets live."""
    shared = COPY / "d2l_ext/explorers/shared.js"
    text = shared.read_text(encoding="utf-8")

    def activate(number):
        switch = f"(id) => id === '{number}', stryCov_9fa48 = () => true;\n"
        shared.write_text(f"const stryMutAct_9fa48 = {switch}{text}", encoding="utf-8")

    os.chdir(COPY)
    sys.path[:0] = [str(COPY)] * (str(COPY) not in sys.path)
    names = sample([mutant["id"] for mutant in mutants])
    left = [mutant for mutant in mutants if mutant["id"] in names]
    for tests in stages:
        if not left:
            break
        activate("none")
        # Tests that put wrong code into the source don't find its place among the mutants.
        done = run([*PYTEST, *PLAIN, "-rf", *tests])
        failed = sorted(set(re.findall(r"(?m)^FAILED (\S+?)(?:\[| )", done.stdout)))
        print(what, "without", *failed, flush=True)
        forks = Forks(left, activate)
        without = [f"--deselect={test}" for test in failed]
        pytest.main([*PYTEST[3:], *PLAIN, "-x", *tests, *without], plugins=[forks])
        left = forks.alive
    shared.write_text(text, encoding="utf-8")
    alive = [mutant["diff"] for mutant in left if reason(mutant["diff"]) is None]
    same = len(left) - len(alive)
    store(what, len(mutants), len(names), len(names) - same - len(alive), same, alive)


class Forks:
    """A plugin of pytest: runs the tests, collected once, for each mutant in a fork."""

    def __init__(self, mutants, activate):
        self.mutants, self.activate, self.alive = mutants, activate, []

    def pytest_runtestloop(self, session):
        for mutant in self.mutants:
            self.activate(mutant["id"])
            child = os.fork()
            if not child:
                run_and_exit(session)
            if ended_well(child):
                self.alive.append(mutant)
        return True


def run_and_exit(session):
    os.setsid()  # what the tests start ends with them
    try:
        pytest_runtestloop(session)
    finally:
        os._exit(session.testsfailed > 0)


def ended_well(child, seconds=120):
    """Whether a process ends with 0; it is killed after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


# ---- the results ----

HEAD = """# Do the tests notice mistakes?

Written by `make mutants`. "same" counts mutants that no test can tell from the right code; their
reasons are in equivalent.toml. A mutant that never ends counts as killed. mutmut changes the inside
of functions, but for docstrings and what has a decorator.

What nobody had thought of: mistakes written down before any test was read.

| set | mistakes | noticed at once | after mending |
|---|---|---|---|
| 1: package, pictures, messages, 2026-11-22 | 119 | 86 | 118 |
| 1: explorers, 2026-11-22 | 78 | 23 | 78 |
| 2: all rooms, lessons, tools, Chinese, 2026-11-22 | 127 | 96 | 125 |

The two that live turn a Chinese sentence round, and change a numeral written as a word.

"""


def store(what, total, tried, killed, same, alive):
    """Replace one row of the table, and the list of what lives."""
    path = HERE / "results.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = dict(re.findall(r"(?m)^\| ([^|]+) (\|.* \d+\.\d \| [\d-]+ \|)$", text))
    lists = dict(re.findall(r"(?ms)^## ([^\n]+)\n\n(.*?)\s*(?=^## |\Z)", text))
    share = 100 * killed / max(tried - same, 1)
    rows[what] = (f"| {total} | {tried} | {killed} | {same} | {len(alive)} | {share:.1f} "
                  f"| {time.strftime('%Y-%m-%d')} |")
    lists[what] = "\n".join(f"```diff\n{diff}\n```" for diff in alive)
    table = ["| what | mutants | tried | killed | same | alive | killed, % | run |"]
    table += ["|" + "---|" * 8]
    table += [f"| {name} {rows[name]}" for name in sorted(rows)]
    tail = [f"\n## {name}\n\n{lists[name]}" for name in sorted(lists) if lists[name]]
    path.write_text(HEAD + "\n".join([*table, *tail]) + "\n", encoding="utf-8")
    print(what, rows[what], flush=True)


def main(names):
    package = sorted([*ROOT.glob("d2l_ext/**/*.py"), *ROOT.glob("d2l_ext/**/*.js")])
    for name in names or ["hand", *(str(path.relative_to(ROOT)) for path in package)]:
        if name == "hand":
            by_hand()
        elif name.endswith(".js"):
            javascript_mutants(name)
        else:
            python_mutants(name)


if __name__ == "__main__":
    main(sys.argv[1:])
