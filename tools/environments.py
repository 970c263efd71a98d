"""Run all tests and notebooks elsewhere than in the environment that made the stored outputs.

    python tools/environments.py LEG [ARGUMENT ...]      as do `make test-oldest` and so on

    oldest, newest   the ends of what pyproject.toml admits, in environments .venv-LEG
    colab            the notebooks as Colab runs them (colab_leg.py); names choose some of them
    gpu, pinned      .venv itself: on an NVIDIA GPU; as a row for README's table
    offline          .venv itself, without a network (tools/offline.py)
    frameworks       lesson 11 with JAX, TensorFlow and MXNet (frameworks.py)
    wheel            what the package's wheel brings to an empty environment: layers, an explorer,
                     a check, the lessons, of which 02 is run; names choose others

An environment is made once, and again when what belongs in it changes. The result of a whole run
is kept there for README's table (`make readme`). Other arguments are passed to pytest. PyTorch
comes as a CPU build unless TORCH_INDEX says otherwise, as in tools/setup.py.
"""
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import offline
import setup

ROOT = setup.ROOT
SHOWN = "torch numpy matplotlib ipython ipywidgets anywidget jupyterlab".split()


def name_of(line):
    """The package's name in a requirement, in the registry's spelling."""
    return re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-")


def lines(path):
    """The lines of a list of packages, without comments."""
    bare = (line.partition("#")[0].strip() for line in setup.read(ROOT / path).splitlines())
    return [line for line in bare if line]


def program(folder):
    """The Python of an environment."""
    return folder / setup.PYTHON.relative_to(setup.VENV)


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def packages_of(python):
    """The folder in which an interpreter's packages lie."""
    return said_by(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")


# ---- environments -----------------------------------------------------------------------------

def lowest(requirement):
    """`name>=1.2,<3` as `name==1.2`; what uv's lowest-direct does, without one more tool."""
    return re.sub(r"^([\w-]+)>=([\w.]+).*", r"\1==\2", requirement)


def find_python(wanted):
    """The Python of this version, if there is one that can make environments; else this one."""
    found = shutil.which(f"python{wanted}")
    tried = found and subprocess.run([found, "-c", "import ensurepip"], capture_output=True)
    works = found and tried.returncode == 0
    return found if works else getattr(sys, "_base_executable", sys.executable)


def installed(python):
    """What is installed, as name -> version."""
    listed = said_by(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check")
    return {name_of(package["name"]): package["version"] for package in json.loads(listed)}


def torch_from(wanted):
    """pip's arguments for PyTorch: from an index of CPU builds, or else the build of .venv."""
    index = os.environ.get("TORCH_INDEX", "").strip()
    if index == "default":
        return [wanted]
    if not index and setup.answers(setup.CPU_INDEX + "/torch/"):
        index = setup.CPU_INDEX
    if index:
        return [wanted, "--index-url", index, "--no-deps"]
    same = f"torch=={installed(setup.PYTHON)['torch']}"
    print(f"No index of CPU builds can be reached: {same}, as in .venv, in place of {wanted}.")
    return [same]


def build(leg, packages, python=sys.executable, alone=(setup.D2L, "-e", ".")):
    """Make `.venv-LEG` with these packages, and some without what they ask for; return its Python.

    PyTorch, where it is among them, comes first, as the first line about it says.
    """
    folder = ROOT / f".venv-{leg}"
    torch = [torch_from(one) for one in [line for line in packages if name_of(line) == "torch"][:1]]
    others = [line for line in packages if name_of(line) != "torch"]
    mark = hashlib.sha256(repr([str(ROOT), python, torch, others, alone]).encode()).hexdigest()
    if setup.read(folder / "set-up-done") == mark:
        return program(folder)
    print(f"Making .venv-{leg} (once; a few minutes)", flush=True)
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    for each in torch:
        setup.install(*each, python=program(folder))
    setup.install(*[each[0] for each in torch], *others, python=program(folder))
    if alone:
        setup.install("--no-deps", *alone, python=program(folder))
    (folder / "set-up-done").write_text(mark, encoding="utf-8")
    return program(folder)


# ---- results ----------------------------------------------------------------------------------

def counts(report):
    """Passed tests, cells that did not differ, failed and skipped ones, from pytest's XML."""
    found = {"tests": 0, "cells": 0, "failed": 0, "skipped": 0}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        state = {child.tag for child in case}
        if state & {"failure", "error"}:
            found["failed"] += 1
        elif "skipped" in state:
            found["skipped"] += 1
        else:
            found["cells" if re.fullmatch(r"Cell \d+", case.get("name")) else "tests"] += 1
    return found


def keep(leg, python, found):
    """Write what a leg found into its environment; 1 if something failed."""
    packages = installed(python)
    version = said_by(python, "-c", "import platform; print(platform.python_version())")
    result = {"date": datetime.date.today().isoformat(), "python": version}
    result |= {name: packages.get(name) for name in SHOWN} | found
    path = python.parent.parent / f"result-{leg}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{leg}: {found['tests']} tests passed, {found['cells']} cells did not differ, "
          f"{found['failed']} failed, {found['skipped']} skipped")
    return int(found["failed"] > 0)


def tested(python, *arguments):
    """Run pytest: its exit code, and what it counted."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        code = subprocess.run([*command, *arguments], cwd=ROOT, env=one_thread).returncode
        if code > 1:
            sys.exit(f"Stopped: pytest did not finish ({code}).")
        return code, counts(report)


def suite(leg, python, arguments):
    """All tests and all notebooks, as `make test` runs them."""
    code, found = tested(python, "-n", "2", *arguments)
    return code if arguments else keep(leg, python, found) or code


# ---- legs -------------------------------------------------------------------------------------

def oldest(arguments):
    packages = [lowest(line) for line in setup.requirements()]
    return suite("oldest", build("oldest", packages, find_python("3.11")), arguments)


def newest(arguments):
    python = build("newest", setup.requirements())
    others = [line for line in setup.requirements() if name_of(line) != "torch"]
    setup.install("--upgrade", "--upgrade-strategy", "eager", *others, python=python)
    return suite("newest", python, arguments)


def pinned(arguments):
    return suite("pinned", setup.PYTHON, arguments)


def gpu(arguments):
    if "True" not in said_by(setup.PYTHON, "-c", "import torch; print(torch.cuda.is_available())"):
        sys.exit("Stopped: PyTorch sees no CUDA device here; README says under TORCH_INDEX how to "
                 "install a build that could.")
    return suite("gpu", setup.PYTHON, arguments)


def colab(names):
    import colab_leg
    return colab_leg.run(names)


def frameworks(arguments):
    import frameworks
    return frameworks.prove(arguments)


def off_line(arguments):
    twins = "--ignore=notebooks/zh"  # their code is that of the English lessons
    return offline.prove(ROOT, ["-n", "2", twins, *arguments])


# With the folder that the package must come from, and one for the lessons, which are copied once.
ALONE = """import pathlib, sys
sys.path.insert(0, sys.argv[1])
import torch
import d2l_ext
from d2l_ext import __main__, exercises, explorers
assert pathlib.Path(d2l_ext.__file__).parent == pathlib.Path(sys.argv[1], "d2l_ext")
attention, X = d2l_ext.MultiHeadAttention(6, 3), torch.randn(4, 6)
piece = explorers.heads_explorer(attention, X, list("abcd"), list("abcdef"))
assert 'class="d2l-explorer"' in piece.html()
exercises.check("split-heads", lambda X, h: X.unflatten(-1, (h, -1)).transpose(1, 2))
__main__.main([sys.argv[2], "--no-open"])
__main__.main([sys.argv[2], "--no-open"])
"""


def wheel(names):
    """Build it, install it with what it asks for, let it copy the lessons, and run some."""
    with tempfile.TemporaryDirectory() as folder:
        source, lessons = Path(folder, "source"), Path(folder, "lessons")
        shutil.copytree(ROOT, source, ignore=offline.NOT_COPIED)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, source]
        subprocess.run(pip, check=True)
        made, = Path(folder).glob("*.whl")
        torch = next(line for line in lines("pins.txt") if name_of(line) == "torch")
        pins = ["-c", str(ROOT / "pins.txt")]
        python = build("wheel", [torch, *pins, f"{made}[lab]"], alone=())
        command = [python, "-I", "-c", ALONE, packages_of(python), lessons]
        subprocess.run(command, cwd=folder, check=True)
        found = [path for name in names or ["02"] for path in lessons.glob(f"{name}*.ipynb")]
        run = [python, "-I", "-m", "nbconvert", "--execute", "--to", "notebook", "--inplace"]
        limit = "--ExecutePreprocessor.timeout=600"
        return subprocess.run([*run, limit, *found], cwd=folder).returncode


LEGS = {"oldest": oldest, "newest": newest, "colab": colab, "gpu": gpu, "pinned": pinned,
        "offline": off_line, "frameworks": frameworks, "wheel": wheel}

if __name__ == "__main__":
    if not sys.argv[1:] or sys.argv[1] not in LEGS:
        sys.exit(__doc__)
    sys.exit(LEGS[sys.argv[1]](sys.argv[2:]))
