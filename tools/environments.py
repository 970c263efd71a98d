"""Run tests and notebooks elsewhere than in the environment that made the stored outputs.

    python -m tools.environments LEG [ARGUMENT ...]      as do `make test-oldest` and so on

    oldest, newest   the ends of what pyproject.toml admits
    colab            each Chinese notebook alone, with what Colab ships (tests/colab); names choose
                     others
    sections         .venv itself: each section of the deeper notebooks alone
    gpu, pinned      .venv itself: on an NVIDIA GPU; as a row for README's table
    offline          .venv itself, without a network (tools/offline.py)
    frameworks       lesson 14 with JAX, TensorFlow and MXNet (tools/frameworks.toml); `lab` and
                     `store` open it there and store its outputs
    wheel            an empty environment with the package's wheel: layers, a piece, a check, and
                     the lessons that it copies, of which 02 is run; names choose others
    nbgrader         `make student ARGS=nbgrader`, and nbgrader's own commands over four hand-ins

An environment .venv-LEG is made once, and again when what belongs in it changes. The result of a
whole run is written into README's table. Other arguments are passed to pytest.
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
import tomllib
import xml.etree.ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import lab, offline, setup
from tools.notebooks import catalogue, readme, translation
from tools.notebooks.nbtext import cells_of, chosen, deeper, inner, read, write

ROOT = setup.ROOT
TESTS = ROOT / "tests"
PINS = "-c", "pins.txt"
SHOWN = "torch", "numpy", "matplotlib", "ipython", "ipywidgets", "jupyterlab"


def name_of(line):
    """The package's name in a requirement, in the registry's spelling."""
    return canonicalize_name(Requirement(line).name)


def lines(path):
    """The lines of a list of packages, without comments."""
    bare = (line.partition("#")[0].strip() for line in setup.read(ROOT / path).splitlines())
    return [line for line in bare if line]


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def packages_of(python):
    """The folder in which an interpreter's packages lie."""
    return said_by(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")


def installed(python):
    """What is installed, as name -> version."""
    listed = said_by(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check")
    return {canonicalize_name(package["name"]): package["version"]
            for package in json.loads(listed)}


# ---- environments -----------------------------------------------------------------------------

def program(folder):
    """The Python of an environment."""
    return folder / setup.PYTHON.relative_to(setup.VENV)


def lowest(requirement):
    """`name>=1.2,<3` as `name==1.2`; what uv's lowest-direct does, without one more tool."""
    wanted = Requirement(requirement)
    least, = (each.version for each in wanted.specifier if each.operator == ">=")
    wanted.specifier = SpecifierSet(f"=={least}")
    return str(wanted)


def find_python(wanted):
    """The Python of this version, if there is one that can make environments; else this one."""
    found = shutil.which(f"python{wanted}")
    works = found and not subprocess.run([found, "-c", "import ensurepip"],
                                         capture_output=True).returncode
    return found if works else setup.BASE


def build(leg, packages, python=sys.executable, alone=(setup.D2L, "-e", "."), constraints=()):
    """Make `.venv-LEG` with these packages, and some without what they ask for; return its Python.
    """
    folder = ROOT / f".venv-{leg}"
    ours, done = program(folder), folder / "set-up-done"
    pins = [setup.read(ROOT / file) for file in constraints[1:]]
    mark = hashlib.sha256(repr([str(ROOT), python, packages, alone, pins]).encode()).hexdigest()
    if setup.read(done) == mark:
        return ours
    print(f"Making .venv-{leg} (once; a few minutes)", flush=True)
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    for line in packages:
        if name_of(line) == "torch":
            setup.install_torch(line, setup.torch_index(), constraints, python=ours)
    setup.install(*packages, *constraints, python=ours)
    if alone:
        setup.install("--no-deps", *alone, python=ours)
    done.write_text(mark, encoding="utf-8")
    return ours


# ---- results ----------------------------------------------------------------------------------

def counts(report):
    """How many tests and cells passed, failed and were skipped, from pytest's XML."""
    said = xml.etree.ElementTree.parse(report).find("testsuite")
    tests, failures, errors, skipped = (
        int(said.get(key)) for key in ("tests", "failures", "errors", "skipped"))
    failed = failures + errors
    return Counter(passed=tests - failed - skipped, failed=failed, skipped=skipped)


def keep(leg, python, found):
    """Write what a leg found into its row of README's table; 1 if something failed."""
    packages, page = installed(python), ROOT / "README.md"
    said = ", ".join(f"{found[key]:,} {key}" for key in ("passed", "failed") if found[key])
    version = said_by(python, "-c", "import platform; print(platform.python_version())")
    cells = " | ".join([version, *(packages.get(name, "") for name in SHOWN),
                        f"{said} ({datetime.date.today()})"])
    command = "make test" + f"-{leg}" * (leg != "pinned")
    text = re.sub(rf"(?m)^(\|[^|]*`{command}` \|).*", rf"\1 {cells} |", setup.read(page))
    page.write_text(text, encoding="utf-8")
    print(f"{leg}: {said}, {found['skipped']} skipped\n| {cells} |")
    return int(found["failed"] > 0)


def suite(leg, python, arguments, what=("-n", "2"), skips=True):
    """Run tests and notebooks, all of them without arguments; keep the result of a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        code = subprocess.run([*command, *what, *arguments], cwd=ROOT, env=one_thread).returncode
        if code > 1:
            sys.exit(f"Stopped: pytest did not finish ({code}).")
        found = counts(report)
    if found["skipped"] and not skips:
        print(f"{found['skipped']} were skipped: here none may be skipped.")
        code = 1
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


def gpu(arguments):
    if "True" not in said_by(setup.PYTHON, "-c", "import torch; print(torch.cuda.is_available())"):
        sys.exit("Stopped: PyTorch sees no CUDA device here; README says under TORCH_INDEX how to "
                 "install a build that could.")
    return suite("gpu", setup.PYTHON, arguments)


def alone(path):
    """The sections of a deeper notebook as notebooks of their own, by name, each with the
    set-up."""
    notebook = read(path)
    cells = cells_of(notebook)
    setups = [cell for cell in cells if cell["id"] == "setup"]
    for section in readme.sections(cells):
        yield section[0]["id"], notebook | {"cells": setups + section}


def sections(arguments):
    """Compared with what is stored, as the whole notebooks are."""
    target = ROOT / "dist/sections"  # within the repository, so that conftest.py holds
    shutil.rmtree(target, ignore_errors=True)
    for path in deeper():
        (target / path.stem).mkdir(parents=True)
        for name, notebook in alone(path):
            write(notebook, target / path.stem / f"{name}.ipynb")
    return suite("sections", setup.PYTHON, arguments, ["-n", "2", str(target)])


def frameworks(arguments):
    """MXNet's environment lies beside the others', whose interpreter starts MXNet's."""
    lists = tomllib.loads(setup.read(ROOT / "tools/frameworks.toml"))
    packages = [*setup.requirements(), *lists["frameworks"]]
    base, lesson = find_python("3.11"), "14_other_frameworks"
    build("frameworks-mxnet", lists["frameworks-mxnet"], base, alone=(setup.D2L,))
    python = build("frameworks", packages, base, constraints=PINS)
    if arguments[:1] == ["lab"]:
        return lab.serve(f"notebooks/{lesson}.ipynb", arguments[1:], python)
    if arguments == ["store"]:
        command = [python, "-m", "tools.notebooks.execute", lesson]
        return subprocess.run(command, cwd=ROOT).returncode
    what = ["tests/core/test_frameworks.py", "attention_lessons/frameworks",
            *sorted(map(str, (ROOT / "notebooks").rglob(f"{lesson}*.ipynb")))]
    return suite("frameworks", python, arguments, what, skips=False)


def nbgrader(arguments):
    """The packages must come from the assignment, so they are not installed."""
    packages = [*setup.requirements(), "nbgrader==0.9.6"]
    python = build("nbgrader", packages, alone=(), constraints=PINS)
    return suite("nbgrader", python, arguments, ["tests/classroom/course.py"], skips=False)


# With the folder that the package must come from, and one for the lessons, which are copied once.
ALONE = """import pathlib, sys
sys.path.insert(0, sys.argv[1])
import torch
import d2l_ext
from attention_lessons import __main__, exercises, pieces as explorers
assert pathlib.Path(d2l_ext.__file__).parent == pathlib.Path(sys.argv[1], "d2l_ext")
attention, X = d2l_ext.MultiHeadAttention(6, 3), torch.randn(4, 6)
piece = explorers.heads_explorer(attention, X, list("abcd"), list("abcdef"))
assert 'class="d2l-explorer"' in piece.html()
exercises.check("split-heads", lambda X, h: X.unflatten(-1, (h, -1)).transpose(1, 2))
__main__.main([sys.argv[2], "--no-open"])
__main__.main([sys.argv[2], "--no-open"])
"""


def make_wheel(folder):
    """Build the package's wheel into a folder, without a network."""
    source = Path(folder, "source")
    shutil.copytree(ROOT, source, ignore=offline.NOT_COPIED)
    alone = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir"]
    command = [sys.executable, "-m", "pip", "wheel", *alone, "-w", folder, source]
    subprocess.run(command, check=True)
    shutil.rmtree(source)
    made, = Path(folder).glob("*.whl")
    return made


def wheel(names):
    """Install it with what it asks for, let it copy the lessons, and run some."""
    with tempfile.TemporaryDirectory() as folder:
        made, lessons = make_wheel(folder), Path(folder, "lessons")
        packages = ["torch", f"d2l-ext[lab] @ {made.as_uri()}"]
        python = build("wheel", packages, alone=(), constraints=PINS)
        command = [python, "-I", "-c", ALONE, packages_of(python), lessons]
        subprocess.run(command, cwd=folder, check=True)
        found = [path for name in names or ["02"] for path in lessons.rglob(f"{name}*.ipynb")]
        run = [python, "-I", "-m", "nbconvert", "--execute", "--to", "notebook", "--inplace",
               "--ExecutePreprocessor.timeout=600"]
        return subprocess.run([*run, *found], cwd=folder).returncode


# ---- Colab ------------------------------------------------------------------------------------

ADDRESS = "https://example.org/lessons"
FETCHED = {"13_coming_from_d2l": {"d2l"}}  # what a notebook fetches beside the package
NBVAL = ["-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env",
         "--nbval-cell-timeout=600", f"--nbval-sanitize-with={TESTS / 'nbval_sanitize.cfg'}"]


def mirror(folder):
    """A repository with the working tree as it is, at its version's tag, in place of the public."""
    shutil.copytree(ROOT, folder, ignore=offline.NOT_COPIED)
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "the working tree"],
                    ["tag", setup.tag()]):
        subprocess.run([*git, *command], check=True)
    return folder


def machine(folder, base):
    """A fresh machine: a Python that has what ``base`` has, and a place of its own for more."""
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    theirs, own = map(packages_of, (base, program(folder)))
    Path(own, "colab.pth").write_text(theirs + "\n", encoding="utf-8")
    return program(folder)


def surroundings(folder, repository):
    """Environment variables: google.colab in each kernel, our repository at the address."""
    startup = folder / "ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("import google.colab\n", encoding="utf-8")
    return os.environ | {
        "OMP_NUM_THREADS": "1", "PYTHONPATH": str(TESTS / "colab"),
        "IPYTHONDIR": str(folder / "ipython"),
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": ADDRESS,
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf"}


def attempt(notebook, folder, base, repository):
    """Run a notebook on a fresh machine and compare it strictly; counts, and complaints."""
    content = folder / "content"
    content.mkdir(parents=True)
    lesson, language = read(notebook), inner(notebook).parts[0]
    for cell in lesson["cells"]:
        if cell["id"] == "setup":  # as `make address` would make it
            ours, other = (readme.setup_source(each).partition("\n")[2] for each in ("", ADDRESS))
            if (catalogue.FOLDER / language).is_dir():
                ours, other = (translation.with_refusals(each, catalogue.load(language))
                               for each in (ours, other))
            cell["source"] = "".join(cell["source"]).replace(ours, other)
        if any(tag.startswith("needs-") for tag in cell["metadata"]["tags"]):  # frameworks
            cell["metadata"]["tags"].append("nbval-skip")
    (content / notebook.name).write_text(json.dumps(lesson), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # no settings from above
    python = machine(folder / "machine", base)
    before = installed(python)
    command = [python, "-m", "pytest", *NBVAL, "--junitxml=../report.xml", notebook.name]
    run = subprocess.run(command, cwd=content, env=surroundings(folder, repository),
                         capture_output=True, text=True)
    if run.returncode > 1:
        raise SystemExit(f"pytest did not finish {notebook.name}:\n{run.stdout}{run.stderr}")
    found, after = counts(folder / "report.xml"), installed(python)
    complaints = [run.stdout] if run.returncode else []
    added = {name for name in after if after[name] != before.get(name)}
    if added != FETCHED.get(notebook.stem.removesuffix("_deeper"), set()) | {"d2l-ext"}:
        complaints.append(f"added or changed were {sorted(added)}")
    print(f"{inner(notebook)}: {found['passed']} cells, {found['failed']} more differ", flush=True)
    return found, [f"{notebook.name}: {complaint}" for complaint in complaints]


def colab(names):
    """The package is absent: a notebook must fetch it and nothing else."""
    # a newer notebook, which the widgets ask for, would bring JupyterLab
    packages = [*lines("tests/colab/constraints.txt"), "nbval", "requests", "safetensors",
                "notebook<7"]
    base = build("colab", packages, find_python("3.13"), alone=())
    # the long ones first; the Chinese ones, since the English ones, whose code is the same, run in
    # all other legs, and 02 in both languages
    wanted = [path for path in reversed(chosen(names))
              if names or inner(path).parts[0] == "zh" or path.name.startswith("02")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        repository = mirror(Path(folder, "repository"))
        results = list(pool.map(lambda path: attempt(
            path, Path(folder, inner(path).with_suffix("")), base, repository), wanted))
    complaints = [complaint for _, each in results for complaint in each]
    print("\n".join(complaints))
    total = sum((found for found, _ in results), Counter())
    failed = 0 if names else keep("colab", base, total)
    return int(failed or bool(complaints))


LEGS = {"oldest": oldest, "newest": newest, "colab": colab, "gpu": gpu,
        "offline": lambda arguments: offline.prove(ROOT, ["-n", "2", *arguments]),
        "pinned": lambda arguments: suite("pinned", setup.PYTHON, arguments), "sections": sections,
        "frameworks": frameworks, "wheel": wheel, "nbgrader": nbgrader}

if __name__ == "__main__":
    if not sys.argv[1:] or sys.argv[1] not in LEGS:
        sys.exit(__doc__)
    sys.exit(LEGS[sys.argv[1]](sys.argv[2:]))
