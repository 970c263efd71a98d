"""The package as others get it: one version, a wheel that holds all it needs, a page that reads."""
import doctest
import re
import subprocess
import sys
import zipfile

import pytest

import attention_lessons
import d2l_ext
from tools import ROOT, environments
from tools.notebooks import nbtext, standalone
from attention_lessons import __main__ as opening


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    zipfile.ZipFile(environments.make_wheel(folder)).extractall(folder / "unpacked")
    return folder / "unpacked"


def within(*folders, pattern="[!.]*"):
    """The files of folders, by their places."""
    return {path.relative_to(ROOT).as_posix() for folder in folders
            for path in (ROOT / folder).rglob(pattern)
            if path.is_file() and path.parent.name[0] not in "._"}  # caches


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_drawings(wheel):
    found = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    drawings, lessons = ({f"attention_lessons/{place}" for place in places} for places in (
        within("images", pattern="*.svg"), within("notebooks", pattern="*.ipynb")))
    carried = set(standalone.members())
    assert carried == within("d2l_ext", "attention_lessons") - {"d2l_ext/README.md"} | drawings
    assert carried | lessons == {name for name in found if ".dist-info/" not in name}
    assert (wheel / f"d2l_ext-{d2l_ext.__version__}.dist-info").is_dir()


@pytest.mark.slow
def test_it_works_alone_and_brings_the_lessons(wheel, tmp_path):
    command = [sys.executable, "-I", "-c", environments.ALONE, wheel, tmp_path / "lessons"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = {path.relative_to(tmp_path / "lessons") for path in (tmp_path / "lessons").rglob("*.*")}
    assert made == {*map(nbtext.inner, nbtext.notebooks())}
    assert "0 notebooks copied" in done.stdout and "kept as they are" in done.stdout


def test_a_lesson_that_was_worked_on_is_kept(tmp_path, capsys):
    name = opening.lessons()[2].name
    (tmp_path / name).write_text("my work")
    assert opening.main([str(tmp_path), "--no-open"]) == 0
    assert (tmp_path / name).read_text() == "my work"
    assert "1 kept as they are" in capsys.readouterr().out


def test_lessons_come_in_another_language(tmp_path, capsys):
    assert opening.main([str(tmp_path), "--no-open", "--language", "zh"]) == 0
    attention_lessons.language("en")
    for path in nbtext.notebooks("zh"):
        copy = tmp_path / nbtext.inner(nbtext.in_language(path))
        assert copy.read_bytes() == path.read_bytes()
    assert len([*tmp_path.rglob("*.*")]) == len(opening.lessons()) == len(nbtext.notebooks())


def test_the_first_lesson_is_opened_where_it_was_copied_to(tmp_path, monkeypatch):
    monkeypatch.setattr(opening.importlib.util, "find_spec", {"jupyterlab": 1}.get)
    first = [sys.executable, "-m", "jupyterlab", tmp_path / "00_start_here.ipynb"]
    for uid, asked, wanted in [(1000, [], first), (0, [], [*first, "--allow-root"])]:
        monkeypatch.setattr(opening.os, "geteuid", lambda uid=uid: uid)
        monkeypatch.setattr(opening.subprocess, "call", lambda words: asked.append(words) or 7)
        assert opening.main([str(tmp_path)]) == 7
        assert asked == [wanted]


def test_the_changelog_knows_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d[\w.]*)", text, re.M)[0] == d2l_ext.__version__


def test_the_example_on_its_page_is_true():
    failed, tried = doctest.testfile(str(ROOT / "d2l_ext/README.md"), module_relative=False)
    assert tried and not failed
