"""Lesson 11 with JAX, TensorFlow and MXNet, in environments of their own: `make frameworks`.

    python tools/frameworks.py [lab [ARGUMENT ...]]    open the lesson in JupyterLab
    python tools/frameworks.py store                   run it and store its outputs
    python tools/frameworks.py python                  say which interpreter has them

tools/frameworks.toml has what is installed. MXNet's environment lies beside the others', whose
interpreter starts MXNet's. `make test-frameworks` compares the lesson with its stored outputs and
runs the tests that need the frameworks; not one may be skipped.
"""
import os
import subprocess
import sys
import tomllib

import environments as env
import setup

LESSON = "11_other_frameworks"
LESSONS = [path.relative_to(env.ROOT) for path in (env.ROOT / "notebooks").rglob(f"{LESSON}.ipynb")]
TESTS = ["tests/core/test_frameworks.py", "d2l_ext/frameworks", *sorted(map(str, LESSONS))]
COMMANDS = {
    "lab": ["-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/notebooks/{LESSON}.ipynb"],
    "store": ["tools/notebooks/execute.py", LESSON],
    "python": ["-c", "import sys; print(sys.executable)"],
}


def build():
    """Make both environments where they aren't there; return the Python that has all but MXNet."""
    lists = tomllib.loads(setup.read(env.ROOT / "tools/frameworks.toml"))
    torch = [line for line in env.lines("pins.txt") if env.name_of(line) == "torch"]
    packages = [*torch, *setup.requirements(), *lists["frameworks"], "-c", "pins.txt"]
    base = env.find_python("3.11")
    env.build("frameworks-mxnet", lists["frameworks-mxnet"], base, alone=(setup.D2L,))
    return env.build("frameworks", packages, base)


def prove(arguments):
    """All cells of the lesson, compared strictly, and the tests of what needs the frameworks."""
    python = build()
    code, found = env.tested(python, *TESTS, *arguments)
    if found["skipped"]:
        print(f"{found['skipped']} were skipped: here none may be.")
    return env.keep("frameworks", python, found) or code or int(found["skipped"] > 0)


def main(arguments):
    command, *rest = arguments or ["lab"]
    if command not in COMMANDS:
        command, rest = "lab", arguments  # JupyterLab's own
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run([build(), *COMMANDS[command], *rest], cwd=env.ROOT,
                          env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
