"""Run everything in other environments than the one that made the stored outputs: `make test-colab`, `test-oldest`, `test-newest`, `test-gpu`.

    python tools/environments.py LEG [NAME ...]    LEG is colab, oldest, newest, gpu or pinned; names choose some of Colab's notebooks

A leg has an environment of its own, `.venv-LEG`, made once and made anew when what belongs in it changes; gpu and pinned use `.venv`.
What came out is kept there in `result-LEG.json`, from which `make versions` makes README's table. Oldest and newest are the ends of
what pyproject.toml admits. PyTorch comes as a CPU build or not at all, unless TORCH_INDEX says otherwise, as in tools/setup.py. JOBS=1 runs Colab's notebooks one by one.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbtext
import setup

ROOT = setup.ROOT
TESTS = ROOT / "tests"
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider"]
SHOWN = "torch numpy matplotlib ipython ipywidgets anywidget jupyterlab".split()
PACKAGE = "d2l-ext"
FETCHED = {"08_coming_from_d2l": {"d2l"}}  # what a notebook fetches beside the package


def stop(message):
    sys.exit(f"Stopped: {message}")


def name_of(line):
    """The package's name in a requirement or a line of `pip list`, in the registry's spelling."""
    return re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-")


def lines(path):
    """The lines of a list of packages, without comments."""
    return [line for line in (line.partition("#")[0].strip() for line in setup.read(ROOT / path).splitlines()) if line]


def program(folder):
    return folder / setup.PYTHON.relative_to(setup.VENV)


# ---- environments -------------------------------------------------------------------------------------------------------------------

def lowest(requirement):
    """`name>=1.2,<3` as `name==1.2`."""
    return re.sub(r"^([\w-]+)>=([\w.]+).*", r"\1==\2", requirement)


def find_python(wanted):
    """The Python of this version, if it runs this or is on the path and can make environments; else the one that runs this."""
    found = None if sys.version.startswith(f"{wanted}.") else shutil.which(f"python{wanted}")
    works = found and not subprocess.run([found, "-c", "import ensurepip"], capture_output=True).returncode
    return found if works else getattr(sys, "_base_executable", sys.executable)


def torch_index():
    return os.environ.get("TORCH_INDEX", "").strip()


def torch_from(wanted):
    """pip's arguments for a CPU build: `wanted` where an index of such builds can be reached, else the pinned one, with a word about it."""
    index = torch_index() or (setup.CPU_INDEX if setup.answers(setup.CPU_INDEX + "/torch/") else "")
    if index == "default":
        return [wanted], f"{wanted}, from the ordinary registry, with CUDA where that has it"
    if index:
        return [wanted, "--index-url", index], f"{wanted}, from {index}"
    pinned = next(line for line in lines("pins.txt") if name_of(line) == "torch")
    return [pinned], f"{pinned}, as no index of CPU builds could be reached; wanted was {wanted}"


def brings_cuda(arguments):
    """Whether pip would take a build with CUDA: on Linux, any that doesn't call itself a CPU build."""
    command = [setup.PYTHON, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-", *arguments]
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode:
        stop(f"{arguments[0]} can't be had: {(said.stderr.strip().splitlines() or ['pip gave no reason'])[-1]}")
    return sys.platform.startswith("linux") and "+cpu" not in json.loads(said.stdout)["install"][0]["metadata"]["version"]


def build(leg, packages, python=sys.executable, ours=True):
    """Make `.venv-LEG` with these packages, d2l and this one too if `ours`; or go on where an interruption left it."""
    folder = ROOT / f".venv-{leg}"
    arguments, source = torch_from(next(line for line in packages if name_of(line) == "torch"))
    packages = [line for line in packages if name_of(line) != "torch"]
    mark = hashlib.sha256(repr([str(ROOT), python, packages, arguments, ours]).encode()).hexdigest()
    begun, done = folder / "set-up-begun", folder / "set-up-done"
    setup.VENV, setup.PYTHON = folder, program(folder)
    if setup.read(done) == mark:
        return setup.PYTHON
    print(f"Making .venv-{leg} (once; a few minutes): {source}", flush=True)
    if setup.read(begun) != mark:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        begun.write_text(mark, encoding="utf-8")
    setup.make_venv()
    if torch_index() != "default" and brings_cuda(arguments):
        stop("no CPU build of PyTorch can be reached. TORCH_INDEX may name an index that has one, or be the word default: gigabytes of CUDA then come along.")
    setup.install(*arguments, *(["--no-deps"] if "--index-url" in arguments else []))
    setup.install(arguments[0], *packages)
    if ours:
        setup.install("--no-deps", setup.D2L)
        setup.install("--no-deps", "-e", ".")
    done.write_text(mark, encoding="utf-8")
    return setup.PYTHON


def installed(python):
    """What is installed, as name -> version."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"], capture_output=True, text=True, check=True)
    return {name_of(package["name"]): package["version"] for package in json.loads(listed.stdout)}


# ---- results ------------------------------------------------------------------------------------------------------------------------

def counts(report):
    """Passed tests, notebook cells that did not differ, failures and skipped, from pytest's XML."""
    found = {"tests": 0, "cells": 0, "failed": 0, "skipped": 0}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        state = {child.tag for child in case}
        cell = re.fullmatch(r"Cell \d+", case.get("name")) is not None
        found["failed" if state & {"failure", "error"} else "skipped" if "skipped" in state else "cells" if cell else "tests"] += 1
    return found


def keep(leg, python, folder, found):
    """Write what a leg found beside its environment."""
    packages = installed(python)
    version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=True).stdout.strip()
    result = {"date": datetime.date.today().isoformat(), "python": version} | {name: packages.get(name) for name in SHOWN} | found
    (folder / f"result-{leg}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{leg}: {found['tests']} tests passed, {found['cells']} cells did not differ, {found['failed']} failed, {found['skipped']} skipped")
    return 1 if found["failed"] else 0


# ---- whole legs ---------------------------------------------------------------------------------------------------------------------

def suite(leg, python, arguments):
    """All tests and all notebooks, as `make test` runs them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        code = subprocess.run([python, *PYTEST, "-n", "2", "-q", f"--junitxml={report}", *arguments], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode
        if code > 1:
            stop(f"pytest did not finish ({code}).")
        return code if arguments else keep(leg, python, python.parent.parent, counts(report)) or code


def oldest(arguments):
    packages = [lowest(line) for line in setup.requirements()]
    return suite("oldest", build("oldest", packages, find_python("3.11")), arguments)


def newest(arguments):
    python = build("newest", setup.requirements())
    others = [line for line in setup.requirements() if name_of(line) != "torch"]
    setup.install("--upgrade", "--upgrade-strategy", "eager", *others)
    return suite("newest", python, arguments)


def pinned(arguments):
    return suite("pinned", setup.PYTHON, arguments)


def gpu(arguments):
    if subprocess.run([setup.PYTHON, "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]).returncode:
        stop("PyTorch sees no CUDA device here; README says under TORCH_INDEX how to install a build that could.")
    return suite("gpu", setup.PYTHON, arguments)


# ---- Colab --------------------------------------------------------------------------------------------------------------------------

def mirror(folder):
    """A repository with the working tree as it is, in place of the public one."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    git = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "core.autocrlf=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "the working tree"]):
        subprocess.run([*git, *command], check=True)
    return folder


def runtime(folder, base):
    """A fresh machine as Colab lends one: a Python that has what `base` has, and a place of its own for what is added."""
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    python = program(folder)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, own = (subprocess.run([each, "-c", where], capture_output=True, text=True, check=True).stdout.strip() for each in (base, python))
    Path(own, "colab.pth").write_text(theirs + "\n", encoding="utf-8")
    return python


def in_colab(folder, repository):
    """Environment variables: the stand-in for google.colab in each kernel, and `repository` behind the public address."""
    profile = folder / "ipython/profile_default/startup"
    profile.mkdir(parents=True)
    (profile / "00.py").write_text("import google.colab\n", encoding="utf-8")
    address = tomllib.loads(setup.read(ROOT / "pyproject.toml"))["project"]["urls"]["Repository"]
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(TESTS / "colab"), "IPYTHONDIR": str(folder / "ipython"), "COLAB_LOG": str(folder / "log"),
                         "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf", "GIT_CONFIG_VALUE_0": address}


def try_in_colab(notebook, folder, base, repository):
    """Run a notebook alone on a fresh machine and compare it strictly; counts, and complaints."""
    content = folder / "content"
    content.mkdir(parents=True)
    shutil.copy2(notebook, content)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # no other settings, wherever the folder is
    python, variables = runtime(folder / "machine", base), in_colab(folder, repository)
    before = installed(python)
    if not subprocess.run([python, "-c", f"import {PACKAGE.replace('-', '_')}"], cwd=content, env=variables, capture_output=True).returncode:
        stop(f"{PACKAGE} can be imported before the set-up cell fetched it, so nothing would be proved.")
    command = [python, *PYTEST, "-q", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=600", f"--nbval-sanitize-with={TESTS / 'nbval_sanitize.cfg'}",
               "--junitxml=../report.xml", notebook.name]
    run = subprocess.run(command, cwd=content, env=variables, capture_output=True, text=True)
    if run.returncode > 1:
        stop(f"pytest did not finish {notebook.name}:\n{run.stdout}{run.stderr}")
    found, complaints = counts(folder / "report.xml"), [run.stdout] if run.returncode else []
    code = sum(cell["cell_type"] == "code" for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"])
    if sum(found.values()) != code:
        complaints.append(f"{sum(found.values())} cells were compared, but {code} are there")
    added = set(installed(python).items()) - set(before.items())
    wanted = {PACKAGE} | FETCHED.get(notebook.stem, set())
    if {name for name, _ in added} != wanted or len(added) != len(wanted):
        complaints.append(f"added or changed were {sorted(added)}, not {sorted(wanted)}")
    if not (folder / "log").exists():
        complaints.append("the set-up cell did not switch Colab's widgets on")
    print(f"{notebook.name}: {found['cells']} cells, {found['failed'] or 'none'} differ; added {', '.join(f'{name} {version}' for name, version in sorted(added))}", flush=True)
    return found, [f"{notebook.name}: {complaint}" for complaint in complaints]


def colab(names):
    more = ["nbval", "requests", "safetensors", "notebook<7"]  # a newer notebook, which widgets ask for, would bring JupyterLab
    base = build("colab", lines("tests/colab/constraints.txt") + more, find_python("3.13"), ours=False)
    wanted = reversed(nbtext.chosen(names, ROOT / "notebooks"))  # the longest stand at the end
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        repository = mirror(Path(folder, "repository"))
        results = list(pool.map(lambda path: try_in_colab(path, Path(folder, path.stem), base, repository), wanted))
    complaints = [complaint for _, found in results for complaint in found]
    print("\n".join(complaints))
    total = {key: sum(found[key] for found, _ in results) for key in ("tests", "cells", "failed", "skipped")}
    code = keep("colab", base, base.parent.parent, total) if not names else 0
    return 1 if complaints else code


LEGS = {leg.__name__: leg for leg in (colab, oldest, newest, gpu, pinned)}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in LEGS:
        sys.exit(LEGS[sys.argv[1]](sys.argv[2:]))
    sys.exit(__doc__)
