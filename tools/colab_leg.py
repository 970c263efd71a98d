"""Run notebooks as Colab does, each alone and compared with its stored outputs: `make test-colab`.

The environment holds what Colab ships (tests/colab/constraints.txt), `google.colab` is a stand-in,
and the package is absent: a notebook's set-up cell fetches it from the public address, behind
which stands this working tree. A notebook must install that and nothing else, and must switch
Colab's widgets on.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import environments as env
import offline
import setup

sys.path.append(str(env.ROOT / "tools/notebooks"))
from nbtext import chosen, read

TESTS = env.ROOT / "tests"
PACKAGE = "d2l-ext"
FETCHED = {"08_coming_from_d2l": {"d2l"}}  # what a notebook fetches beside the package
NBVAL = ["-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env",
         "--nbval-cell-timeout=600", f"--nbval-sanitize-with={TESTS / 'nbval_sanitize.cfg'}"]


def mirror(folder):
    """A repository with the working tree as it is, in place of the public one."""
    shutil.copytree(env.ROOT, folder, ignore=offline.NOT_COPIED)
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "the working tree"]):
        subprocess.run([*git, *command], check=True)
    return folder


def machine(folder, base):
    """A fresh machine: a Python that has what ``base`` has, and a place of its own for more."""
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    theirs, own = map(env.packages_of, (base, env.program(folder)))
    Path(own, "colab.pth").write_text(theirs + "\n", encoding="utf-8")
    return env.program(folder)


def surroundings(folder, repository):
    """Environment variables: google.colab in each kernel, our repository at the public address."""
    startup = folder / "ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("import google.colab\n", encoding="utf-8")
    address = setup.settings()["project"]["urls"]["Repository"]
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(TESTS / "colab"),
        "IPYTHONDIR": str(folder / "ipython"),
        "COLAB_LOG": str(folder / "log"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }


def attempt(notebook, folder, base, repository):
    """Run a notebook on a fresh machine and compare it strictly; counts, and complaints."""
    content = folder / "content"
    content.mkdir(parents=True)
    lesson = read(notebook)
    for cell in lesson["cells"]:  # frameworks that are optional are missing here: nbval's own tag
        if any(tag.startswith("needs-") for tag in cell["metadata"]["tags"]):
            cell["metadata"]["tags"].append("nbval-skip")
    (content / notebook.name).write_text(json.dumps(lesson), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # no settings from above
    python, variables = machine(folder / "machine", base), surroundings(folder, repository)
    before = env.installed(python)
    if PACKAGE in before:
        raise SystemExit(f"{PACKAGE} is there before the set-up cell fetched it: no proof.")
    command = [python, "-m", "pytest", *NBVAL, "--junitxml=../report.xml", notebook.name]
    run = subprocess.run(command, cwd=content, env=variables, capture_output=True, text=True)
    if run.returncode > 1:
        raise SystemExit(f"pytest did not finish {notebook.name}:\n{run.stdout}{run.stderr}")
    found = env.counts(folder / "report.xml")
    complaints = [run.stdout] if run.returncode else []
    code = sum(cell["cell_type"] == "code" for cell in lesson["cells"])
    if sum(found.values()) != code:
        complaints.append(f"{sum(found.values())} cells were compared, but {code} are there")
    after = env.installed(python)
    added = sorted(name for name in after if after[name] != before.get(name))
    wanted = sorted({PACKAGE} | FETCHED.get(notebook.stem, set()))
    if added != wanted:
        complaints.append(f"added or changed were {added}, not {wanted}")
    if not (folder / "log").exists():
        complaints.append("the set-up cell did not switch Colab's widgets on")
    name = f"{notebook.parent.name}/{notebook.name}"
    print(f"{name}: {found['cells']} cells, {found['failed']} more differ", flush=True)
    return found, [f"{notebook.name}: {complaint}" for complaint in complaints]


def run(names):
    # a newer notebook, which the widgets ask for, would bring JupyterLab
    more = ["nbval", "requests", "safetensors", "notebook<7"]
    packages = env.lines("tests/colab/constraints.txt") + more
    base = env.build("colab", packages, env.find_python("3.13"), alone=())
    # the long ones first; of the Chinese twins, whose code is the same, one to see its letters
    wanted = [path for path in reversed(chosen(names, env.ROOT / "notebooks"))
              if names or path.parent.name == "notebooks" or path.name.startswith("02")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        repository = mirror(Path(folder, "repository"))
        results = list(pool.map(lambda path: attempt(
            path, Path(folder, path.parent.name, path.stem), base, repository), wanted))
    complaints = [complaint for _, each in results for complaint in each]
    print("\n".join(complaints))
    total = {key: sum(found[key] for found, _ in results) for key in results[0][0]}
    failed = 0 if names else env.keep("colab", base, total)
    return int(failed or bool(complaints))
