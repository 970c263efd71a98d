"""The package as others get it: one version, a wheel that holds all it needs, a page that reads."""
import doctest
import email
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import yaml
import address
from readme import ROOT

import d2l_ext
import standalone

BUILT_FROM = ("pyproject.toml", "LICENSE", "LICENSE-text", "d2l_ext", "images")
PIP = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
OFFLINE = ["--no-index", "--no-build-isolation", "--no-deps", "--no-cache-dir"]
IMPORTS = """import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[1], "d2l_ext").rglob("*.py")):
    parts = path.relative_to(sys.argv[1]).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert module.__file__ == str(path), module.__file__
"""


def build(folder, change=None):
    """The wheel, built without a network from a copy of what belongs in it, and unpacked."""
    source = folder / "source"
    source.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, source)
    if change:
        change(source)
    subprocess.run([*PIP, *OFFLINE, "-w", folder, source], check=True)
    [wheel] = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))


def files(wheel):
    """Its files, by their place in it, without what describes the package."""
    found = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    return {name for name in found if ".dist-info/" not in name}


def metadata(wheel):
    [path] = wheel.glob("*.dist-info/METADATA")
    return email.message_from_string(path.read_text(encoding="utf-8"))


def imports(wheel):
    """Import each of its modules, with nothing else of this folder in sight."""
    command = [sys.executable, "-I", "-c", IMPORTS, str(wheel)]
    return subprocess.run(command, cwd=wheel.parent, capture_output=True, text=True)


# ---- the wheel --------------------------------------------------------------------------------

def test_the_wheel_holds_the_package_and_its_drawings(wheel):
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "d2l_ext").rglob("*")
               if path.is_file() and path.parent.name != "__pycache__"}
    drawings = {f"d2l_ext/images/{path.name}" for path in (ROOT / "images").iterdir()}
    assert files(wheel) == (package | drawings) - {"d2l_ext/README.md"}
    assert files(wheel) == set(standalone.members())
    assert "d2l_ext/py.typed" in files(wheel)
    assert all(name.endswith(".svg") for name in drawings)


def test_every_module_in_it_can_be_imported(wheel):
    done = imports(wheel)
    assert done.returncode == 0, done.stderr


def test_a_script_among_the_drawings_is_noticed(tmp_path):
    def add(source):
        (source / "images/draw.py").write_text("import _style\n", encoding="utf-8")

    wheel = build(tmp_path, add)
    assert "d2l_ext/images/draw.py" in files(wheel)
    assert "No module named '_style'" in imports(wheel).stderr


# ---- what it says of itself -------------------------------------------------------------------

def test_the_version_has_one_place(wheel, tmp_path):
    assert metadata(wheel)["Version"] == d2l_ext.__version__
    assert d2l_ext.__version__ not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    def older(source):
        file = source / "d2l_ext/__init__.py"
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub('__version__ = ".*"', '__version__ = "0.0.7"', text))

    assert metadata(build(tmp_path, older))["Version"] == "0.0.7"


def test_the_changelog_knows_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\d[\w.]*)", text, re.M)
    assert versions[0] == d2l_ext.__version__


def links(text):
    return re.findall(r"\]\(([^)]+)\)|<(\w+:[^>]+)>", text)


def test_its_page_has_no_link_that_leads_nowhere(wheel):
    page = metadata(wheel).get_payload()
    assert page == (ROOT / "d2l_ext/README.md").read_text(encoding="utf-8")
    found = ["".join(link) for link in links(page)]
    assert found and all(link.startswith("https://") for link in found)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(not link.startswith("https://") for link, _ in links(readme))  # seen where there are


def test_the_example_on_its_page_is_true():
    failed, tried = doctest.testfile(str(ROOT / "d2l_ext/README.md"), module_relative=False)
    assert tried and not failed


def test_the_citation_has_what_the_format_asks_for():
    """https://citation-file-format.github.io, version 1.2.0: the four keys that must be there."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation.keys() >= {"cff-version", "message", "title", "authors"}
    assert citation["cff-version"] == "1.2.0" and citation["authors"][0]["name"]
    assert citation["repository-code"] == f"https://github.com/{address.slug()}"
    assert "version" not in citation  # its one place is d2l_ext/__init__.py


def test_the_address_is_written_into_the_page_and_the_citation(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/you/yours"\n', encoding="utf-8")
    (tmp_path / "README.md").touch()
    (tmp_path / "d2l_ext").mkdir()
    for name in address.OTHERS:
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(address, "ROOT", tmp_path)
    assert address.main(["--check"]) == 1
    assert address.main([]) == 0 and address.main(["--check"]) == 0
    for name in ("d2l_ext/README.md", "CITATION.cff"):
        text = pathlib.Path(tmp_path, name).read_text(encoding="utf-8")
        assert set(re.findall(r"github\.com/([\w-]+/[\w-]+)", text)) == {"you/yours"}
