"""The pictures in images/: drawn by their scripts, byte for byte, each with words, each shown."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from attention_lessons.palette import PALETTE
from tools import ROOT
from tools.draw import pieces_in_node

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = sorted((ROOT / "images").glob("*.svg"))
DRAW = """import pathlib, sys
sys.path.insert(0, sys.argv[1])
from tools.draw import draw
draw.main([], pathlib.Path("."))"""
each = pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)


@pytest.mark.slow
def test_pictures_are_drawn_the_same_again(tmp_path):
    """In another process, folder and hash seed."""
    pieces_in_node.node()  # skips where there is none
    subprocess.run([sys.executable, "-c", DRAW, str(ROOT)], check=True, cwd=tmp_path,
                   capture_output=True, env=os.environ | {"PYTHONHASHSEED": "7"})
    drawn, kept = ({path.relative_to(folder).as_posix(): path.read_bytes()
                    for path in folder.rglob("*.svg")} for folder in (tmp_path, ROOT / "images"))
    assert sorted(drawn) == sorted(kept) and "zh/04_masks.svg" in drawn
    changed = [name for name in kept if kept[name] != drawn[name]]
    assert not changed, f"changed by hand, or drawn by an older script: {changed}"


def described(path):
    return ElementTree.parse(path).find(f"{SVG}desc").text


@each
def test_a_picture_says_what_it_shows_and_loads_nothing(path):
    description = described(path)
    assert 15 <= len(description.split()) <= 90 and path.stat().st_size < 60_000
    assert "http" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", "")


def labels(path):
    """What is written in a picture."""
    return ["".join(part.itertext()) for part in ElementTree.parse(path).iter(f"{SVG}text")]


NAMES = ("dog|bites|man|pad|yesterday|and|runs|far|away|copy|softmax|reshape|transpose|Shaw|ALiBi"
         "|GRU|LSTM|delta|sin|cos|PyTorch|JAX|Flax|TensorFlow|Keras|MXNet|Gluon|out|（[a-z-]+）")


def english(texts):
    """The words that a Chinese picture should not have."""
    return [text for text in texts if re.search("[A-Za-z]{3}", re.sub(NAMES, " ", text))]


@each
def test_a_picture_in_chinese_says_the_same(path):
    twin = path.parent / "zh" / path.name
    assert english(labels(path)) and not english(labels(twin))
    assert english([described(path)]) and not english([described(twin)])
    numbers, others = (Counter(re.findall(r"\d[\d,.]*\d|\d", described(each)))
                       for each in (path, twin))
    assert numbers == others


LAYOUT = (ROOT / "tests/tools/drawings.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", LAYOUT)
def test_labels_stand_where_the_words_say(line):
    """Across, each label begins further right than the one before; down, lower."""
    where, _, names = line.partition(": ")
    name, way = where.split()
    axis, places = {"across": "x", "down": "y"}[way], {}
    for part in ElementTree.parse(ROOT / f"images/{name}.svg").iter(f"{SVG}text"):
        places.setdefault("".join(part.itertext()), []).append(float(part.get(axis)))
    found = [min(places[label]) for label in re.split(r" \| ", names)]
    assert all(first < second for first, second in zip(found, found[1:])), found


ROLES = {"q": "query", "k": "key", "v": "value"}


@each
def test_a_box_has_the_colour_of_what_is_written_in_it(path):
    """q, k or v with a number or none; a rectangle without an edge is a background."""
    drawn = ElementTree.parse(path)
    boxes = [(box, *(float(box.get(side)) for side in ("x", "y", "width", "height")))
             for box in drawn.iter(f"{SVG}rect") if box.get("stroke") and box.get("x")]
    for part in drawn.iter(f"{SVG}text"):
        written, x, y = "".join(part.itertext()), float(part.get("x")), float(part.get("y"))
        for box, left, top, wide, high in boxes:
            if left <= x <= left + wide and top <= y <= top + high and (
                    found := re.fullmatch(r"([qkv])\d?", written)):
                assert box.get("stroke") == PALETTE[ROLES[found[1]]]["light"], written
