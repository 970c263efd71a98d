"""Write notebooks that carry the package d2l_ext with them: `make standalone`.

Each is one file in dist/standalone that runs without this repository and without a network, where
torch, numpy, matplotlib and, for 07, safetensors are. Only its set-up cell differs. `--check` then
runs them all, compared with their stored outputs, without a network and where no d2l_ext can be
imported; what follows it is passed to pytest (`--check -n 2`).
"""
import base64
import io
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile

from nbtext import write

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import offline  # noqa: E402

FOLDER = ROOT / "dist/standalone"
LIMIT = 1_000_000  # bytes
NBVAL = ["-c", os.devnull, "--nbval", "--nbval-current-env", "--nbval-cell-timeout=120",
         f"--nbval-sanitize-with={ROOT / 'tests/nbval_sanitize.cfg'}", "--dist=loadscope"]


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


def packed() -> str:
    """The package as text, the same from the same files: a zip of 1980 (the earliest there is)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for name, path in members().items():
            file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    # compressed as a whole, since the drawings have much in common
    return base64.b85encode(lzma.compress(archive.getvalue(), preset=9)).decode()


def setup_cell() -> str:
    cell = (ROOT / "tools/notebooks/standalone_cell.py").read_text(encoding="utf-8")
    return cell.strip().replace("PACKED", packed())


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
    setup, large = setup_cell(), []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        write(standalone(json.loads(path.read_text(encoding="utf-8")), setup), folder / path.name)
        size = (folder / path.name).stat().st_size
        if size >= LIMIT:
            large.append(path.name)
        print(f"{path.name}: {size // 1000} kB")
    print(f"The package is {len(setup) // 1000} kB of each.")
    return large


def bare_python(folder: pathlib.Path) -> pathlib.Path:
    """A Python in ``folder`` with all that is installed here but d2l_ext.

    It doesn't follow the .pth files of what is installed here, which lead to this folder.
    """
    venv.create(folder, symlinks=sys.platform != "win32")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    own = sysconfig.get_path("purelib", vars={"base": folder, "platbase": folder})
    theirs = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    pathlib.Path(own, "installed.pth").write_text("\n".join(theirs), encoding="utf-8")
    return python


def check(arguments: list[str], notebooks: pathlib.Path = FOLDER) -> int:
    """Run what was written where d2l_ext is absent; 0 if everything is as stored."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(bare_python(pathlib.Path(folder)))
        tried = [python, "-E", "-c", "import d2l_ext"]
        if subprocess.run(tried, cwd=notebooks, capture_output=True).returncode == 0:
            sys.exit("d2l_ext can be imported here, so nothing would be proved: "
                     "install it as `make setup` does.")
        return offline.prove(notebooks, [*NBVAL, *arguments], python)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] != "--check":
        sys.exit(__doc__)
    if large := write_all():
        sys.exit(f"Too large, {LIMIT // 1000} kB is the limit: {', '.join(large)}")
    if sys.argv[1:]:
        sys.exit(check(sys.argv[2:]))
