"""The pictures in images/: drawn by their scripts, byte for byte, each with words, each shown somewhere."""
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PICTURES = sorted((ROOT / "images").glob("*.svg"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Every picture drawn anew, in another process, folder and hash seed."""
    folder = tmp_path_factory.mktemp("images")
    program = "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import draw; draw.main([], pathlib.Path(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", program, str(ROOT / "tools/draw"), str(folder)], check=True, capture_output=True, cwd=folder, env=os.environ | {"PYTHONHASHSEED": "7"})
    return folder


def test_every_picture_has_its_script(drawn):
    assert [path.name for path in sorted(drawn.glob("*.svg"))] == [path.name for path in PICTURES]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_drawn_the_same_again(path, drawn):
    assert (drawn / path.name).read_bytes() == path.read_bytes(), f"run `make images`, or undo what was changed in {path.name} by hand"


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_says_what_it_shows_and_loads_nothing(path):
    root = ElementTree.parse(path).getroot()
    description = root.find("{http://www.w3.org/2000/svg}desc").text
    assert 15 <= len(description.split()) <= 90 and path.stat().st_size < 60_000
    assert "http" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", "")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_shown_somewhere(path):
    lesson = next((ROOT / "notebooks").glob(f"{path.stem[:2]}_*.ipynb"), None)
    if lesson is None:
        pytest.skip(f"lesson {path.stem[:2]} isn't there yet")
    sources = [lesson, *(ROOT / "d2l_ext" / "explorers").glob("*.py")]
    assert any(f'"{path.stem}"' in source.read_text(encoding="utf-8").replace("\\", "") for source in sources)
