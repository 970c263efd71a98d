"""The explorers' pages without a browser: `perform` plays steps on a piece in node, where stage.mjs
stands in for the document; a `Stage` says what is then on the page, and what a canvas holds."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import pytest
import torch

from attention_lessons import plotting
from attention_lessons.pieces import source

HERE = pathlib.Path(__file__).parent
LIGHT = {"backgroundColor": "rgb(250, 252, 255)", "color": "rgb(17, 20, 24)"}
DARK = {"backgroundColor": "rgb(17, 23, 31)", "color": "rgb(226, 222, 217)"}
SIZE = 14  # a pixel less than the page's font


def perform(folder, explorer, *steps, width=1000, colours=LIGHT, script=None, brief=False):
    """What is on the page at the start and after each step, a `Stage` each. steps: JavaScript over
    the functions of `hands` in stage.mjs. brief: only the state is told, which is quick."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here to run the explorer's JavaScript")
    words = getattr(explorer, "words", {})
    values = {"data": explorer.data, "state": explorer.state, "words": words}
    acts = ", ".join(f"(h) => h.{step}" for step in steps)
    run = f"""import {{ perform }} from './stage.mjs';
        const piece = await import('./piece.mjs');
        const settings = {{ width: {width}, colours: {json.dumps(colours)}, steps: [{acts}],
            brief: {json.dumps(brief)} }};
        console.log(JSON.stringify(perform(piece, {json.dumps(values)}, settings)));"""
    shutil.copy(HERE / "stage.mjs", folder)
    (folder / "piece.mjs").write_text(script or source(explorer.piece), encoding="utf-8")
    (folder / "play.mjs").write_text(run, encoding="utf-8")
    done = subprocess.run([node, "play.mjs"], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return [Stage(told) for told in json.loads(done.stdout)]


# ---- the page ----

class Part:
    """An element of the page."""

    def __init__(self, told):
        self.tag, self.given, self.text = told["tag"], told["given"], told["text"]
        self.style, self.dataset = told["style"], told["dataset"]
        self.parts = [Part(part) if isinstance(part, dict) else part for part in told["parts"]]
        self.told = told

    @property
    def classes(self):
        return self.given.get("class", "").split()

    def __iter__(self):
        yield self
        for part in self.parts:
            if isinstance(part, Part):
                yield from part

    def all(self, tag="", kind=""):
        """The parts of a tag, or of a class."""
        return [part for part in self if (not tag or part.tag == tag)
                and (not kind or kind in part.classes)]

    def one(self, tag="", kind=""):
        found = self.all(tag, kind)
        assert len(found) == 1, f"{len(found)} parts are {tag} {kind}"
        return found[0]

    def words(self, tag="", kind=""):
        return [part.text for part in self.all(tag, kind)]

    def rows(self):
        """A table's words by rows."""
        return [[cell.text for cell in row.parts] for row in self.all("tr")]


class Stage(Part):
    """A page after a step."""

    def __init__(self, told):
        super().__init__(told["root"])
        self.state, self.saved, self.waits = told["state"], told["saved"], told["waits"]
        self.prevented, self.stopped = told["prevented"], told["stopped"]

    @property
    def result(self):
        return self.one(kind="result").text

    @cached_property
    def pictures(self):
        return [Picture(part) for part in self.all("canvas")]

    def chosen(self):
        """For each control its name and what it shows: words, a number or whether it is ticked."""
        found = {}
        for group in self.all("fieldset"):
            marked = [pill.text for pill in group.all(kind="pill")
                      if pill.all("input")[0].told.get("checked")]
            found[group.parts[0].text] = marked
        for label in self.all("label", "control"):
            name = label.one(kind="name").text
            if menu := label.all("select"):
                found[name] = [line.text for line in menu[0].parts if line.told.get("selected")]
            else:
                shown = [part.text for part in label.all(kind="number")]
                said = label.all("input")[0].given.get("aria-valuetext")
                assert shown in ([], [said]), f"{name} shows {shown} and says {said}"
                found[name] = label.all("input")[0].told["value"], *shown
        return found


# ---- a canvas ----

class Text(NamedTuple):
    text: str
    x: float  # its middle, left or right end, as `align` says
    y: float
    align: str
    bold: bool
    colour: tuple
    box: tuple  # left, top, right, bottom


class Box(NamedTuple):
    """A block or a frame."""
    x: float
    y: float
    wide: float
    high: float
    colour: tuple
    width: float  # a frame's line
    alpha: float


class Line(NamedTuple):
    points: list
    colour: tuple
    width: float
    dash: list


class Round(NamedTuple):
    x: float
    y: float
    radius: float
    angles: tuple
    colour: tuple
    width: float | None  # None: filled


class Map(NamedTuple):
    x: float
    y: float
    wide: float
    high: float
    pixels: torch.Tensor
    smooth: bool


def numbers(colour):
    return tuple(map(int, re.findall(r"\d+", colour)))


class Picture:
    """What a canvas holds: `texts`, `blocks`, `frames`, `lines`, `shapes`, `rounds` and `maps`, in
    the order in which they were drawn, and its alternative text `alt`."""

    def __init__(self, part):
        self.alt = part.given.get("aria-label")
        self.wide, self.high = (float(part.style[side][:-2]) for side in ("width", "height"))
        self.part, self.drawn = part, part.told["drawn"]
        self.texts, self.blocks, self.frames, self.maps = [], [], [], []
        self.lines, self.shapes, self.rounds = [], [], []
        for one in self.drawn:
            getattr(self, f"add_{one['what']}")(one)

    def add_text(self, one):
        (x, y), wide, align = one["at"], one["wide"], one["align"]
        left = x - {"left": 0, "center": 0.5, "right": 1}[align] * wide
        assert one["base"] == "middle" and re.fullmatch("(600 )?14px sans", one["font"]), one
        words = one["text"].strip("\u2068\u2069")  # what keeps right-to-left text to itself
        self.texts.append(Text(words, x, y, align, one["font"].startswith("600"),
                               numbers(one["colour"]),
                               (left, y - 0.4 * SIZE, left + wide, y + 0.4 * SIZE)))

    def add_block(self, one):
        self.blocks.append(Box(*one["at"], numbers(one["colour"]), 0, one["alpha"]))

    def add_frame(self, one):
        assert not one["dash"], f"a frame has gaps: {one}"
        self.frames.append(Box(*one["at"], numbers(one["colour"]), one["lineWidth"], one["alpha"]))

    def add_map(self, one):
        pixels = torch.frombuffer(bytearray(base64.b64decode(one["pixels"])), dtype=torch.uint8)
        self.maps.append(Map(*one["at"], pixels.reshape(one["shape"]).int(), one["smooth"]))

    def add_line(self, one):
        self.add_path(one, self.lines, one["lineWidth"])

    def add_shape(self, one):
        self.add_path(one, self.shapes, None)

    def add_path(self, one, found, width):
        """Arcs go to `rounds`, strokes from point to point to `found`."""
        colour, pieces = numbers(one["colour"]), []
        for step in one["path"]:
            if "arc" in step:
                radius, start, end = step["arc"]
                self.rounds.append(Round(*step["at"], radius, (start, end), colour, width))
            elif step["start"] or not pieces:
                pieces.append([tuple(step["at"])])
            else:
                pieces[-1].append(tuple(step["at"]))
        found += [Line(points, colour, width, one.get("dash")) for points in pieces]

    def text(self, words):
        """The one text with these words."""
        found = [text for text in self.texts if text.text == words]
        assert len(found) == 1, f"{words!r} stands {len(found)} times among {self.said()}"
        return found[0]

    def said(self):
        return [text.text for text in self.texts]

    def grid(self, x, y, across, down, rows, columns):
        """The words in each cell of a table at (x, y); each stands in the middle, and fits."""
        table = [[None] * columns for _ in range(rows)]
        for text in self.texts:
            column, row = (text.x - x) / across - 0.5, (text.y - y) / down - 0.5
            if -0.5 < column < columns - 0.5 and -0.5 < row < rows - 0.5:
                near = abs(column - round(column)) * across, abs(row - round(row)) * down
                assert max(near) < 1.6 and text.align == "center", f"{text} stands beside a cell"
                assert text.box[2] - text.box[0] <= across, f"{text} is wider than its cell"
                assert table[round(row)][round(column)] is None, f"{text} stands on another"
                table[round(row)][round(column)] = text.text
        return table


# ---- what must hold for any picture ----

def apart(first, second):
    return (first[2] <= second[0] + 0.5 or second[2] <= first[0] + 0.5
            or first[3] <= second[1] + 0.5 or second[3] <= first[1] + 0.5)


def check_picture(picture, width=None):
    """Nothing reaches beyond the canvas, which is sharp and fits the page; no text hides another or
    part of a map, and each can be read where it stands."""
    assert picture.alt and picture.part.given["role"] == "img"
    sides = picture.wide, picture.high
    assert picture.part.told["size"] == [int(2 * side + 0.5) for side in sides]
    assert all(one["scale"] == 2 for one in picture.drawn)
    assert width is None or picture.wide <= width
    for left, top, right, bottom in [text.box for text in picture.texts]:
        assert left >= -0.5 and right <= picture.wide + 0.5, (left, right, picture.said())
        assert top >= 0 and bottom <= picture.high, (top, bottom, picture.said())
    for first, second in combinations(picture.texts, 2):
        assert apart(first.box, second.box), f"{first} stands on {second}"
    solid = [*picture.frames, *picture.maps]
    for x, y, wide, high in [box[:4] for box in solid]:
        assert -1 <= x <= x + wide <= picture.wide + 1, (x, wide, picture.wide)
        assert -1 <= y <= y + high <= picture.high + 1, (y, high, picture.high)


def expected(name, theme=LIGHT):
    """A role's colour, ink or paper as a theme has it."""
    if name in ("ink", "paper"):
        return numbers(theme["color" if name == "ink" else "backgroundColor"])
    if name == "faint":
        return mixed(expected("paper", theme), expected("ink", theme), 0.16)
    if name == "query" and theme is DARK:
        name = 5  # the lighter of Okabe and Ito's blues
    names = ["query", "key", "value", "output"]
    colour = plotting.COLOURS[names.index(name) if name in names else name]
    return tuple(bytes.fromhex(colour[1:]))


def mixed(start, end, amount):
    return tuple(round(a + (b - a) * amount) for a, b in zip(start, end))


def shade(amount, theme=LIGHT, role="query"):
    return mixed(expected("paper", theme), expected(role, theme), amount)


def check_map(found, weights, theme=LIGHT, near=1.6):
    """A map's pixels are weights on the way from paper to the query's colour."""
    paper, query = (torch.tensor(expected(name, theme)) for name in ("paper", "query"))
    wanted = paper + torch.as_tensor(weights).float()[..., None] * (query - paper)
    assert found.pixels.shape[:2] == wanted.shape[:2] and not found.smooth
    assert (found.pixels[..., :3] - wanted).abs().max() < near
    assert (found.pixels[..., 3] == 255).all()


def digits(number):
    """As `digits` in shared.js."""
    return f"{number + 0:.2f}".replace("-0.00", "0.00")


def takes(weights, tokens, most=3):
    """Where a row goes, in words, for weights that differ."""
    order = sorted((-w, i) for i, w in enumerate(weights) if w >= min(0.05, max(weights)))[:most]
    words = [f"{tokens[i]} {digits(-w)}" for w, i in order]
    if 1 + sum(w for w, _ in order) > 0.05:
        words.append(f"others {digits(1 + sum(w for w, _ in order))}")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
