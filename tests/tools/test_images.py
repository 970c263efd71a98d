"""The pictures in images/: drawn by their scripts, byte for byte, each with words, each shown."""
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PICTURES = sorted((ROOT / "images").glob("*.svg"))
DRAW = """import pathlib, sys
sys.path.insert(0, sys.argv[1])
import draw
draw.main([], pathlib.Path("."))"""
each = pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)


def test_pictures_are_drawn_the_same_again(tmp_path):
    """In another process, folder and hash seed."""
    subprocess.run([sys.executable, "-c", DRAW, str(ROOT / "tools/draw")], check=True, cwd=tmp_path,
                   capture_output=True, env=os.environ | {"PYTHONHASHSEED": "7"})
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    assert sorted(drawn) == [path.name for path in PICTURES]
    changed = [path.name for path in PICTURES if path.read_bytes() != drawn[path.name]]
    assert not changed, f"changed by hand, or drawn by an older script: {changed}"


@each
def test_a_picture_says_what_it_shows_and_loads_nothing(path):
    root = ElementTree.parse(path).getroot()
    description = root.find("{http://www.w3.org/2000/svg}desc").text
    assert 15 <= len(description.split()) <= 90 and path.stat().st_size < 60_000
    assert "http" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", "")


@each
def test_a_picture_is_shown_somewhere(path):
    lesson, = (ROOT / "notebooks").glob(f"{path.stem[:2]}_*.ipynb")
    sources = [lesson, *(ROOT / "d2l_ext" / "explorers").glob("*.py")]
    texts = (source.read_text(encoding="utf-8").replace("\\", "") for source in sources)
    assert any(f'"{path.stem}"' in text for text in texts)
