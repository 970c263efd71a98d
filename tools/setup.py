"""Make .venv and install what the notebooks need. Run it as often as you like:

    python tools/setup.py [EXTRA ...]

A finished set-up is recognised at once; an interrupted one begins again, with what pip has already
fetched.
EXTRA is one of pyproject.toml's lists that not everybody needs: html, slides, site, browser,
mutants, clients.
Two environment variables change what is installed:

    PINS         the file of exact versions, pins.txt if not given;
                 empty: whatever the ranges in pyproject.toml allow
    TORCH_INDEX  where PyTorch comes from: the address of an index, or the word
                 "default" for the ordinary registry; remembered in .venv
"""
import sys

# This file must parse in any Python, so that an old one gets a sentence: no f-strings.
if sys.version_info < (3, 11):
    sys.exit("Python %d.%d is too old, 3.11 or later is needed. If you have one under "
             "another name: make lab PYTHON=python3.12" % sys.version_info[:2])

import hashlib
import os
import re
import subprocess
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "set-up-done"
REMEMBERED = VENV / "torch-index"
BASE = getattr(sys, "_base_executable", None) or sys.executable  # also from within a .venv
LAB_SETTINGS = VENV / "share/jupyter/lab/settings/overrides.json"

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
D2L = "d2l==1.0.3"
EXTRAS = ("lab", "d2l", "test")  # those of requirements.txt
ALONE = {  # without what these ask for
    "slides",  # a package for Sphinx that carries reveal.js
}
ORDINARY = "from the ordinary registry, as PyTorch's CPU index can't be reached or is slow"
TORCH_SECONDS = 900  # for 200 MB
AGAIN = "then run the same command again."


def stop(message):
    """End with one sentence instead of a traceback."""
    sys.exit("Set-up stopped: " + message)


def say(line):
    print(line, flush=True)


def read(path):
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def settings():
    return tomllib.loads(read(ROOT / "pyproject.toml"))


def address():
    """The repository's, as pyproject.toml has it."""
    return settings()["project"]["urls"]["Repository"]


def tag():
    """What a release of this version is called in the repository."""
    text = read(ROOT / "d2l_ext" / "__init__.py")
    return "v" + re.search(r'__version__ = "([^"]+)"', text).group(1)


def listed(*extras):
    """What pyproject.toml lists under these extras."""
    lists = settings()["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in lists:
            stop("there is no extra %s: choose from %s." % (extra, ", ".join(lists)))
    return [line for extra in extras for line in lists[extra]]


def requirements():
    """What requirements.txt stands for, one by one."""
    return settings()["project"]["dependencies"] + listed(*EXTRAS)


def fingerprint(pins, index):
    """One number for all that decides what is installed."""
    ours = settings()
    ours = [ours["build-system"], ours["project"], ours["tool"]["setuptools"]]
    files = [read(ROOT / "requirements.txt"), read(ROOT / pins) if pins else ""]
    return hashlib.sha256(repr([str(ROOT), pins, index, files, ours]).encode()).hexdigest()


def make_venv():
    """Make .venv, or make it again where an interruption or a removed Python broke it."""
    if STAMP.exists() and PYTHON.exists():
        return
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        stop("this Python can't make environments. On Debian and Ubuntu: sudo apt install "
             "python%d.%d-venv, " % sys.version_info[:2] + AGAIN)
    made = subprocess.run([BASE, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        lines = (made.stdout + made.stderr).strip().splitlines() or ["no reason given"]
        stop("no .venv could be made in %s: %s" % (ROOT, lines[-1]))


def pip(*arguments, python=PYTHON, limit=None):
    """Run `pip install`, for at most so many seconds; whether it succeeded."""
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
               "--quiet", "--timeout", "20", "--retries", "2"]
    try:
        return not subprocess.run(command + list(arguments), cwd=str(ROOT), timeout=limit,
                                  env=dict(os.environ, PIP_USER="0")).returncode
    except subprocess.TimeoutExpired:
        return False


def install(*arguments, python=PYTHON):
    """Run `pip install`, and stop if it fails."""
    if not pip(*arguments, python=python):
        stop("pip could not finish, as it says above. If it can't reach the package index, check "
             "the network, HTTPS_PROXY, PIP_INDEX_URL and TORCH_INDEX, " + AGAIN)


def answers(url, seconds=10):
    """Whether an address sends its whole page within so many seconds: where it only trickles, pip
    would wait for TORCH_SECONDS."""
    import urllib.request  # here, because it loads slowly and is rarely needed

    end = time.monotonic() + seconds
    try:
        with urllib.request.urlopen(url, timeout=seconds / 2) as page:
            while page.read1(1 << 16):
                if time.monotonic() > end:
                    return False
        return True
    except Exception:  # whatever is in the way, the ordinary registry is the answer
        return False


def has_nvidia_gpu():
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def torch_index():
    """What TORCH_INDEX says, or said when .venv was made."""
    return os.environ.get("TORCH_INDEX", "").strip() or read(REMEMBERED)


def torch_source(index):
    """Where PyTorch comes from, None for the ordinary registry, and a word about it."""
    if index:
        return (None if index == "default" else index), "as TORCH_INDEX says"
    if not sys.platform.startswith("linux"):
        return None, "for this system"
    if has_nvidia_gpu():
        return None, "for your GPU, some gigabytes"
    if answers(CPU_INDEX + "/torch/"):
        return CPU_INDEX, "for the CPU"
    return None, ORDINARY


def install_torch(requirement, index, constraints=(), python=PYTHON):
    """PyTorch; what it needs comes later, as an index of PyTorch's lacks the pinned versions."""
    source, why = torch_source(index)
    say("    " + why)
    arguments = ["--index-url", source, "--no-deps"] if source else []
    if index and index != read(REMEMBERED):
        arguments.append("--force-reinstall")  # another build of the same version
    if source and not index:
        if pip(requirement, *constraints, *arguments, python=python, limit=TORCH_SECONDS):
            return
        say("    It failed or took too long: " + ORDINARY)
        arguments = []
    install(requirement, *constraints, *arguments, python=python)


def set_up(pins, index, mark):
    say("Setting up .venv with Python %d.%d (once; a few minutes)" % sys.version_info[:2])
    make_venv()
    STAMP.unlink(missing_ok=True)
    say("1/3 PyTorch")
    install_torch(next(line for line in requirements() if re.match(r"torch\b", line)), index, pins)
    if index:
        REMEMBERED.write_text(index, encoding="utf-8")
    say("2/3 JupyterLab, what the lessons use, and d2l_ext from this folder")
    install("-r", "requirements.txt", *pins)
    say("3/3 d2l, to compare with")
    if not pip("--no-deps", D2L):
        say("    %s could not be installed: only the comparisons with it are missing; to try "
            "again: %s -m pip install --no-deps %s" % (D2L, PYTHON.relative_to(ROOT), D2L))
    LAB_SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    LAB_SETTINGS.write_text('{"@jupyterlab/apputils-extension:notification": '
                            '{"fetchNews": "false", "checkForUpdates": false}}\n', encoding="utf-8")
    STAMP.write_text(mark, encoding="utf-8")
    say(".venv is ready.")


def main(extras):
    file, index = os.environ.get("PINS", "pins.txt").strip(), torch_index()
    if file and not (ROOT / file).is_file():
        stop("there is no file %s (PINS)." % file)
    pins = ["-c", file] if file else []
    listed(*extras)
    mark = fingerprint(file, index)
    if not PYTHON.exists() or read(STAMP) != mark:
        set_up(pins, index, mark)
    for extra in extras:
        install(*listed(extra), *pins, *["--no-deps"] * (extra in ALONE))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run the same command again.")
    except OSError as problem:
        stop("%s" % problem)
