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
    drawn, kept = ({path.relative_to(folder).as_posix(): path.read_bytes()
                    for path in folder.rglob("*.svg")} for folder in (tmp_path, ROOT / "images"))
    assert sorted(drawn) == sorted(kept) and "zh/03_masks.svg" in drawn
    changed = [name for name in kept if kept[name] != drawn[name]]
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
