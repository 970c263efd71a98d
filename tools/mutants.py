"""Do the tests notice mistakes? `make mutants` makes them by hand and by machine, ARGS=hand or ARGS=tool one kind alone; the results are stored.
`make mutants ARGS=again`, after a change: by machine, those alone that lived without a reason or whose function is another now.

By hand: each of tests/mutants/by_hand.toml is made in a copy of this folder; the test that it names must pass before, and fail with it.
By machine: mutmut changes the core's functions one place at a time (settings: pyproject.toml, [tool.mutmut]). What its tests let live is made once more
in plain source for the tests that can't run under mutmut. What lives then needs its reason in tests/mutants/equivalent.toml.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter

ROOT = pathlib.Path(__file__).parent.parent
HERE = ROOT / "tests" / "mutants"
COPY = ROOT / "dist" / "mutants"  # mutmut keeps what it knows in there
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "dist", "build", "__pycache__", ".hypothesis", ".pytest_cache", "*.egg-info", ".ipynb_checkpoints")
PYTEST = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
PLAIN = ["-o", "addopts=", "-p", "no:nbval"]
# What torch traces can't go through mutmut's switch between mutants.
TRACED = ["tests/core/test_attention.py", "tests/core/test_heads.py", "tests/core/test_positional.py", "tests/core/test_relative.py", "tests/core/test_bad_input.py", "-k", "compile or export or they_cannot_be"]
STATES = {None: "not run", 0: "survived", 1: "killed", 3: "killed", 33: "no tests", 36: "timeout", -24: "timeout", 152: "timeout"}


def mistakes() -> list[dict]:
    return tomllib.loads((HERE / "by_hand.toml").read_text(encoding="utf-8"))["mistake"]


def made(mistake: dict, folder: pathlib.Path) -> str:
    """The file's text with the mistake in it. Raises ValueError where the right text doesn't stand in it exactly once."""
    text = (folder / mistake["file"]).read_text(encoding="utf-8")
    if text.count(mistake["old"]) != 1:
        raise ValueError(f"{mistake['what']}: {mistake['old']!r} stands {text.count(mistake['old'])} times in {mistake['file']}, not once")
    return text.replace(mistake["old"], mistake["new"])


def copy_tree(fresh: bool = True) -> None:
    if fresh:
        shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=NOT_COPIED, dirs_exist_ok=True)


def run(command: list[str]) -> subprocess.CompletedProcess:
    """In the copy, which is found before an installed package."""
    environment = os.environ | {"PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, encoding="utf-8")


def outcome(*test: str) -> str:
    """passed, failed, or what pytest says where it could not run the test."""
    done = run([*PYTEST, "-x", *test])
    return {0: "passed", 1: "failed"}.get(done.returncode) or f"not run: {(done.stdout + done.stderr).strip()[-300:]}"


def outcomes(tests: set[str]) -> dict[str, str]:
    """All in one go: passed, failed, or skipped where nothing of a test could run."""
    words = re.findall(r"^(PASSED|FAILED|ERROR) ([^\s\[]+)", run([*PYTEST, "-rA", *sorted(tests)]).stdout, re.M)
    seen = {test: {word for word, name in words if name == test or name.startswith(f"{test}::")} for test in tests}
    return {test: "failed" if seen[test] & {"FAILED", "ERROR"} else "passed" if seen[test] else "skipped" for test in tests}


def assert_copy_is_used() -> None:
    found = run([sys.executable, "-c", "import d2l_ext; print(d2l_ext.__file__)"]).stdout.strip()
    if pathlib.Path(found) != COPY / "d2l_ext" / "__init__.py":
        sys.exit(f"Python imports {found}, not the copy in {COPY}.")


# ---- by hand -----------------------------------------------------------------------------------------------------------------------------

def by_hand() -> list[tuple[str, str, str]]:
    """(what, test, outcome) of each mistake: caught, or what happened instead."""
    copy_tree(fresh=False)
    assert_copy_is_used()
    without, rows = outcomes({mistake["test"] for mistake in mistakes()}), []
    for mistake in mistakes():
        what, test, file = mistake["what"], mistake["test"], COPY / mistake["file"]
        state = f"without the mistake: {without[test]}"
        if without[test] == "passed":
            right = file.read_text(encoding="utf-8")
            file.write_text(made(mistake, COPY), encoding="utf-8")
            state = {"failed": "caught", "passed": "SURVIVED"}.get(found := outcome(test), found)
            file.write_text(right, encoding="utf-8")
        rows.append((what, test, state))
        print(f"{state:9} {what}  ({test})", flush=True)
    return rows


# ---- by machine --------------------------------------------------------------------------------------------------------------------------

def by_machine(again: bool = False) -> tuple[dict[str, Counter], list[dict]]:
    """How many of each module's mutants ended how, and the survivors."""
    copy_tree(fresh=not again)
    mutmut("run", "--max-children", "1")
    unexplained = [name for states in ends().values() for name, state in states.items() if state == "survived" and reason(difference(name)) is None]
    if again and unexplained:
        mutmut("run", "--max-children", "1", *unexplained)
    counts, survivors = {}, []
    for module, states in ends().items():
        counts[module] = Counter(states.values())
        survivors += [{"module": module, "name": name, "diff": difference(name)} for name, state in states.items() if state == "survived"]
    assert_copy_is_used()
    for survivor in survivors:
        if killed_when_traced(survivor):
            counts[survivor["module"]].update({"killed": 1, "survived": -1})
    return counts, [survivor for survivor in survivors if not survivor["killed"]]


def mutmut(*arguments: str, **options) -> subprocess.CompletedProcess:
    """In the copy; not by `run`, which would put the unmutated package in front."""
    done = subprocess.run([sys.executable, "-m", "mutmut", *arguments], cwd=COPY, env=os.environ | {"OMP_NUM_THREADS": "1"}, **options)
    if done.returncode:
        sys.exit(f"mutmut {arguments[0]} stopped: what it printed says why.")
    return done


def ends() -> dict[str, dict[str, str]]:
    """module -> name of a mutant -> how it ended."""
    codes = {meta.name.removesuffix(".py.meta"): json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
             for meta in sorted((COPY / "mutants/d2l_ext").glob("*.py.meta"))}
    return {module: {name: STATES.get(code, f"exit {code}") for name, code in of_module.items()} for module, of_module in codes.items()}


def difference(name: str) -> str:
    """The lines that a mutant changes, - before and + after."""
    shown = mutmut("show", name, capture_output=True, text=True, encoding="utf-8").stdout
    return "\n".join(re.sub(r"^([-+]) +", r"\1 ", line) for line in shown.splitlines() if re.match(r"[-+](?![-+]{2} )", line))


def killed_when_traced(survivor: dict) -> bool:
    file = COPY / "d2l_ext" / f"{survivor['module']}.py"
    right = file.read_text(encoding="utf-8")
    mutmut("apply", survivor["name"], capture_output=True)
    survivor["killed"] = reason(survivor["diff"]) is None and outcome(*PLAIN, *TRACED) == "failed"
    file.write_text(right, encoding="utf-8")
    return survivor["killed"]


def reason(diff: str) -> str | None:
    """Why a mutant changes nothing that anyone could see."""
    known = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))["mutant"]
    return next((mutant["why"] for mutant in known if mutant["diff"].strip() == diff), None)


# ---- the results ---------------------------------------------------------------------------------------------------------------------------

def table(counts: dict[str, Counter]) -> list[str]:
    ends = ["killed", "survived", "timeout", "no tests"]
    lines = [f"| module | mutants | {' | '.join(ends)} | killed, % |", "|---|" + "---|" * (len(ends) + 2)]
    for name, count in [*counts.items(), ("**all**", sum(counts.values(), Counter()))]:
        lines.append(f"| {name} | {count.total()} | {' | '.join(str(count[end]) for end in ends)} | {share(count):.1f} |")
    return lines


def share(count: Counter) -> float:
    return 100 * (count["killed"] + count["timeout"]) / max(count.total(), 1)


def store(heading: str, lines: list[str]) -> None:
    """Replace one part of results.md."""
    path = HERE / "results.md"
    parts = dict(re.findall(r"(?ms)^# ([^\n]+)\n(.*?)(?=^# |\Z)", path.read_text(encoding="utf-8"))) if path.exists() else {}
    parts[heading] = "\n" + "\n".join(lines) + "\n\n"
    path.write_text("".join(f"# {name}\n{text}" for name, text in sorted(parts.items())).rstrip() + "\n", encoding="utf-8")


def store_by_hand(rows: list[tuple[str, str, str]]) -> bool:
    caught = sum(state == "caught" for *_, state in rows)
    lines = [f"`make mutants ARGS=hand`: {caught} of {len(rows)} caught by the test named beside it.", "", "| mistake | test | |", "|---|---|---|"]
    store("Mistakes made by hand", lines + [f"| {what} | {test} | {state} |" for what, test, state in rows])
    return caught == len(rows)


def store_by_machine(counts: dict[str, Counter], survivors: list[dict]) -> bool:
    reasons = [reason(survivor["diff"]) for survivor in survivors]
    lines = ["`make mutants ARGS=tool`, with mutmut 3. A timeout is a mutant that never ends; it counts as killed.", "", *table(counts), "",
             "Not mutated: docstrings, annotations, what stands outside of functions, and functions with a decorator.", "", "What lives, and why:", ""]
    for survivor, why in sorted(zip(survivors, reasons), key=lambda pair: pair[0]["module"]):
        lines += [f"- {survivor['module']}: {why or 'NO REASON GIVEN'}", "", "  ```diff", *(f"  {line}" for line in survivor["diff"].splitlines()), "  ```"]
    store("Mutants made by machine", lines)
    return None not in reasons


def main(kind: str = "all") -> int:
    if kind not in ("hand", "tool", "again", "all"):
        sys.exit(f"{kind!r} is none of hand, tool, again, all.")
    good, start = True, time.monotonic()
    if kind in ("hand", "all"):
        good &= store_by_hand(by_hand())
    if kind != "hand":
        counts, survivors = by_machine(again=kind == "again")
        good &= store_by_machine(counts, survivors)
        print("\n".join(table(counts)))
    print(f"{(time.monotonic() - start) / 60:.0f} minutes. Stored in {(HERE / 'results.md').relative_to(ROOT)}." + ("" if good else " NOT all is well: look for SURVIVED and NO REASON GIVEN."))
    return not good


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
