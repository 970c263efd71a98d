"""Write notebooks that carry the package d2l_ext with them: `make standalone`.

Each is one file in dist/standalone that runs without this repository and without a network, where
torch, numpy, matplotlib and, for 07, safetensors are. Only its set-up cell differs. The date
reader's weights, half of the package, go with the lessons that import `dates`.
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

from nbtext import write

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


def packed(weights: bool = True) -> str:
    """The package as text, the same from the same files: a zip of 1980 (the earliest there is).

    weights: with those of the date reader.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for name, path in members().items():
            if name == WEIGHTS and not weights:
                continue
            file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    # compressed as a whole, since the drawings have much in common
    return base64.b85encode(lzma.compress(archive.getvalue(), preset=9)).decode()


def setup_cell(weights: bool = True) -> str:
    cell = (ROOT / "tools/notebooks/standalone_cell.py").read_text(encoding="utf-8")
    return cell.strip().replace("PACKED", packed(weights))


def reads_dates(notebook: dict) -> bool:
    """Whether a lesson needs the date reader's weights."""
    return any(re.search(r"^(from|import) .*\bdates", "".join(cell["source"]), re.M)
               for cell in notebook["cells"] if cell["cell_type"] == "code")


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
    setup, large = {weights: setup_cell(weights) for weights in (True, False)}, []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        write(standalone(notebook, setup[reads_dates(notebook)]), folder / path.name)
        size = (folder / path.name).stat().st_size
        if size >= LIMIT:
            large.append(path.name)
        print(f"{path.name}: {size // 1000} kB")
    print(f"The package is {len(setup[False]) // 1000} kB of each, {len(setup[True]) // 1000} kB "
          "with the weights.")
    return large


if __name__ == "__main__":
    if large := write_all():
        sys.exit(f"Too large, {LIMIT // 1000} kB is the limit: {', '.join(large)}")
