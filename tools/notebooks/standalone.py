"""Notebooks that carry the packages with them: `make standalone`.

Each is one file that runs without this repository and without a network, where torch, numpy,
matplotlib and, for 07, safetensors are. Only its set-up cell differs.
"""
import base64
import io
import json
import lzma
import pathlib
import re
import tomllib
import zipfile

from tools import ROOT
from tools.notebooks.nbtext import inner, read

LIMIT = 1_800_000  # bytes; 07 has a model in its piece, Chinese its catalogue and its font
WEIGHTS = "attention_lessons/laboratory/data/dates.safetensors"


def members() -> dict[str, pathlib.Path]:
    """What an installed package consists of, by its place there: as pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    found = {}
    for package in setuptools["packages"]:
        place = package.replace(".", "/")
        folder = ROOT / setuptools["package-dir"].get(package, place)
        for pattern in ["*.py", *setuptools["package-data"]["*"]]:
            found |= {f"{place}/{path.relative_to(folder).as_posix()}": path
                      for path in folder.glob(pattern)}
    return dict(sorted(found.items()))


def packed(lesson: str = "", text: str = "", language: str = "") -> str:
    """The packages as text, the same from the same files: a zip of 1980 (the earliest there is);
    for a lesson with this number and text, what it needs of them."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for name, path in members().items():
            if not lesson or needed(name, lesson, text, language):
                file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    # compressed as a whole, since the drawings have much in common
    return base64.b85encode(lzma.compress(archive.getvalue(), preset=9)).decode()


def translated(name: str) -> bool:
    """Whether a file of the package speaks another language. (It knows the answers, too.)"""
    return bool(re.search(r"/languages/\w+\.|/images/../", name)) and not name.endswith(".py")


def needed(name: str, lesson: str, text: str, language: str = "") -> bool:
    """Whether a lesson needs a file of the package: what is for other lessons alone, or in other
    languages, it doesn't."""
    if name == WEIGHTS:
        return bool(re.search(r"^(from|import) .*\bdates", text, re.M))
    if translated(name) and not (language and re.search(rf"/{language}[./]", name)):
        return False
    found = re.search(r"/(images/(?:../)?|lesson_)(\d\d)", name)
    return not found or found[2] == lesson or f'"{pathlib.Path(name).stem}"' in text


def setup_cell(lesson: str = "", text: str = "", language: str = "") -> str:
    cell = (ROOT / "tools/notebooks/standalone_cell.py").read_text(encoding="utf-8").strip()
    if language:
        cell += f'\nspoken = __import__("attention_lessons").language("{language}")'
    return cell.replace("PACKED", packed(lesson, text, language))


def write(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """The notebook with another set-up cell. Raises ValueError if it gets too large to share."""
    notebook = read(path)
    language = notebook["metadata"].get("language", "")
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    for cell in notebook["cells"]:
        if cell["id"] == "setup":
            made = setup_cell(path.name[:2], code, language)
            made += "\n\n" + "".join(cell["source"]).partition("\n\n")[2]
            cell["source"] = made.splitlines(keepends=True)
    file = target / inner(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    file.write_text(text + "\n", encoding="utf-8")  # without indents: smaller
    if file.stat().st_size >= LIMIT:
        raise ValueError(f"too large, {LIMIT // 1000} kB is the limit")
    return file
