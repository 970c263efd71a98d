"""Write notebooks that carry the package d2l_ext with them: `make standalone`.

Each is one file in dist/standalone that runs without this repository and without a network, where
torch, numpy, matplotlib and, for 07, safetensors are. Only its set-up cell differs. What the
package has for other lessons alone stays out: their exercises and pictures, the date reader.
"""
import base64
import io
import json
import lzma
import pathlib
import re
import shutil
import sys
import tomllib
import zipfile

from nbtext import read

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dist/standalone"
LIMIT = 1_000_000  # bytes
WEIGHTS = "d2l_ext/laboratory/data/dates.safetensors"


def members() -> dict[str, pathlib.Path]:
    """What an installed package consists of, by its place there: as pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    found = {}
    for package in setuptools["packages"]:
        place = package.replace(".", "/")
        folder = ROOT / setuptools["package-dir"].get(package, place)
        for pattern in ["*.py", *setuptools["package-data"]["*"]]:
            found |= {f"{place}/{path.name}": path for path in folder.glob(pattern)}
    return dict(sorted(found.items()))


def packed(lesson: str = "", text: str = "") -> str:
    """The package as text, the same from the same files: a zip of 1980 (the earliest there is).

    For a lesson with this number and text: without exercises and pictures of others, and without
    the date reader's weights where it doesn't read dates.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for name, path in members().items():
            if not lesson or needed(name, lesson, text):
                file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    # compressed as a whole, since the drawings have much in common
    return base64.b85encode(lzma.compress(archive.getvalue(), preset=9)).decode()


def translated(name: str) -> bool:
    """Whether a file of the package speaks another language. (It knows the answers, too.)"""
    return "/languages/" in name or "/zh/" in name


def needed(name: str, lesson: str, text: str) -> bool:
    """Whether a lesson needs a file of the package."""
    if name == WEIGHTS:
        return bool(re.search(r"^(from|import) .*\bdates", text, re.M))
    if translated(name):  # the English lessons are made alone
        return False
    found = re.search(r"/(images/|exercises/lesson_)(\d\d)", name)
    return not found or found[2] == lesson or pathlib.Path(name).stem in text


def setup_cell(lesson: str = "", text: str = "") -> str:
    cell = (ROOT / "tools/notebooks/standalone_cell.py").read_text(encoding="utf-8")
    return cell.strip().replace("PACKED", packed(lesson, text))


def standalone(notebook: dict, setup: str) -> dict:
    """The notebook with another set-up cell."""
    for cell in notebook["cells"]:
        if cell["id"] == "setup":
            cell["source"] = setup.splitlines(keepends=True)
    return notebook


def write_all(folder: pathlib.Path = FOLDER) -> list[str]:
    """Write them into an emptied folder, print their sizes, return the names of too large ones."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    large = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = read(path)
        code = ["".join(cell["source"]) for cell in notebook["cells"]]
        content = standalone(notebook, setup_cell(path.name[:2], "\n".join(code)))
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        (folder / path.name).write_text(text + "\n", encoding="utf-8")  # without indents: smaller
        size = (folder / path.name).stat().st_size
        if size >= LIMIT:
            large.append(path.name)
        print(f"{path.name}: {size // 1000} kB")
    return large


if __name__ == "__main__":
    if large := write_all():
        sys.exit(f"Too large, {LIMIT // 1000} kB is the limit: {', '.join(large)}")
