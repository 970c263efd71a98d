"""Copy the lessons into a folder and open them: ``python -m attention_lessons [FOLDER]``.

``--language zh`` brings the Chinese ones (or the environment variable D2L_EXT_LANGUAGE).
The folder is ``attention-notebooks`` if none is given. A lesson that lies there already is kept:
it may hold your work. ``--no-open`` copies only. Otherwise JupyterLab must be installed:
``pip install "d2l-ext[lab]"``.
"""
import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from attention_lessons.languages import language, languages

HERE = Path(__file__).resolve().parent


def lessons() -> list[Path]:
    """The notebooks, deeper ones last: those of an installed package, or those beside it in a
    clone."""
    own = "" if language() == "en" else language()
    found = [[*sorted((folder / "notebooks" / own).glob("[0-9]*.ipynb")),
              *sorted((folder / "notebooks" / own / "deeper").glob("[0-9]*.ipynb"))]
             for folder in (HERE, HERE.parent)]
    return found[0] or found[1]


def copy(folder: Path) -> None:
    """Copy what isn't there yet, and say what was kept.

    Raises NotADirectoryError where ``folder`` is a file, FileNotFoundError without lessons.
    """
    if not lessons():
        raise FileNotFoundError(f"there are no notebooks in {HERE / 'notebooks'}")
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: name a folder")
    places = {path: folder / ("deeper" if path.parent.name == "deeper" else "") / path.name
              for path in lessons()}  # links lead from a lesson into its deeper folder
    new = [path for path in places if not places[path].exists()]
    for path in new:
        places[path].parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, places[path])
    kept = len(places) - len(new)
    print(f"{folder}: {len(new)} notebooks copied" + f", {kept} kept as they are" * bool(kept))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attention_lessons",
                                     description="Copy the lessons "
                                     "into a folder, and open them in JupyterLab.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("attention-notebooks"))
    parser.add_argument("--no-open", action="store_true", help="copy only")
    parser.add_argument("--language", choices=languages(), default=language())
    given = parser.parse_args(words)
    try:
        language(given.language)
        copy(given.folder)
    except OSError as error:
        sys.exit(str(error))
    if given.no_open:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        sys.exit('JupyterLab is missing: pip install "d2l-ext[lab]", or open them elsewhere.')
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    first = given.folder / lessons()[0].name
    return subprocess.call([sys.executable, "-m", "jupyterlab", first, *root])


if __name__ == "__main__":
    sys.exit(main())
