"""Notebooks that carry the packages with them: `make standalone`.

Each is one file that runs without this repository and without a network, where torch, numpy,
matplotlib and, for 09, safetensors are. Only its set-up cell differs.
"""
import base64
import io
import json
import lzma
import pathlib
import re
import tomllib
import zipfile
from functools import cache

from tools import ROOT
from tools.notebooks.nbtext import inner, read

LIMIT = 1_800_000  # bytes
SPOKEN = re.compile(r"/languages/\w+\.(json|otf)$|/images/../")  # where other languages lie


def members(language: str = "") -> dict[str, pathlib.Path]:
    """What an installed package consists of, by its place there, as pyproject.toml says; for a
    language ("en", "zh") without the files of others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    found = {}
    for package in setuptools["packages"]:
        place = package.replace(".", "/")
        folder = ROOT / setuptools["package-dir"].get(package, place)
        for pattern in ["*.py", *setuptools["package-data"]["*"]]:
            found |= {f"{place}/{path.relative_to(folder).as_posix()}": path
                      for path in folder.glob(pattern)}
    return {name: path for name, path in sorted(found.items())
            if not language or not SPOKEN.search(name) or re.search(f"/{language}[./]", name)}


@cache
def setup_cell(language: str = "en") -> str:
    """The cell that carries the packages as text, the same from the same files: a zip of 1980 (the
    earliest there is)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for name, path in members(language).items():
            file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    # compressed as a whole, since the drawings have much in common
    packed = base64.b85encode(lzma.compress(archive.getvalue(), preset=9)).decode()
    cell = (ROOT / "tools/notebooks/standalone_cell.py").read_text(encoding="utf-8").strip()
    if language != "en":
        cell += f'\nspoken = __import__("attention_lessons").language("{language}")'
    return cell.replace("PACKED", packed)


def write(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """The notebook with another set-up cell. Raises ValueError if it gets too large to share."""
    notebook = read(path)
    made = setup_cell(notebook["metadata"].get("language", "en"))
    for cell in notebook["cells"]:
        if cell["id"] == "setup":
            own = "".join(cell["source"]).partition("\n\n")[2]
            cell["source"] = f"{made}\n\n{own}".splitlines(keepends=True)
    file = target / inner(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    file.write_text(text + "\n", encoding="utf-8")  # without indents: smaller
    if file.stat().st_size >= LIMIT:
        raise ValueError(f"too large, {LIMIT // 1000} kB is the limit")
    return file
