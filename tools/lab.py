"""Open JupyterLab on a notebook, whoever asks and wherever: `make lab`.

    python -m tools.lab [LANGUAGE] [OPTION OF JUPYTERLAB ...]

"zh" opens the Chinese lessons, and so does a machine that speaks Chinese (LANG=zh_CN.UTF-8).
Root may (in a container there is nobody else), and a HOME that is missing or read-only gets a
stand-in within .venv. `--ip 0.0.0.0` serves other machines too.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import ROOT

LESSONS = ROOT / "notebooks"


def is_writable(folder):
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def first(words, environ=os.environ):
    """The first lesson, in the language that the first word names or the machine speaks, and the
    words that are left."""
    others = {path.name for path in LESSONS.glob("??")}
    if words and words[0] in {"en", *others}:
        language, *words = words
    else:
        language = environ.get("LC_ALL", environ.get("LANG", ""))[:2]
    folder = f"{language}/" if language in others else ""
    return f"notebooks/{folder}00_start_here.ipynb", words


def changed(folder):
    """The lessons that somebody has changed, as far as git knows."""
    try:
        done = subprocess.run(["git", "diff", "--name-only", "--relative", "HEAD", "--", "."],
                              cwd=folder, capture_output=True, text=True)
    except OSError:  # no git here
        return set()
    return {folder / line for line in done.stdout.splitlines()}


def sign(folder=LESSONS):
    """Trust the lessons that are as they came: then JupyterLab runs their interactive figures as
    soon as they are opened, and not only once their cells have been run."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for path in sorted({*folder.rglob("*.ipynb")} - changed(folder)):
        notebook = nbformat.read(path, as_version=4)
        if not notary.check_signature(notebook):
            notary.sign(notebook)


def options(notebook, words=()):
    """JupyterLab's options for this machine, then those that were given."""
    made = [f"--LabApp.default_url=/lab/tree/{notebook}",
            "--ServerApp.contents_manager_class=tools.jupyter_contents.Notebooks"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        made.append("--allow-root")
    return [*made, *words]


def serve(notebook, words=(), python=sys.executable):
    """Become JupyterLab, so that Ctrl+C reaches it alone."""
    if not is_writable(os.environ.get("HOME") or Path.home()):
        home = Path(sys.prefix) / "home"
        home.mkdir(exist_ok=True)
        os.environ["HOME"] = str(home)
    sign()
    command = [str(python), "-m", "jupyterlab", *options(notebook, words)]
    if os.name == "nt":  # there a process can't become another
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    serve(*first(sys.argv[1:]))
