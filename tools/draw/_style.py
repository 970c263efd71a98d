"""The look all pictures share: colours, type, and a sheet to draw on.

Letters are drawn as outlines of matplotlib's own DejaVu Sans, so a picture
needs no font where it is shown and comes out the same on every machine.
"""

import re
import tomllib
from functools import lru_cache
from math import hypot
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib
from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont
from matplotlib.colors import to_rgb

from attention_lessons.plotting import CHINESE, COLOURS, readable_on
from attention_lessons.plotting import DARK as STRONG
from attention_lessons.languages import t

QUERY, KEY, VALUE, OUTPUT, AMBER, SKY, TEXT = COLOURS  # amber and sky: for what has no role
LINE, FAINT = "#8c8c8c", "#d0d0d0"
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

BODY, SMALL, HEAD = 16, 14, 18  # type sizes, in a picture 800 wide
RADIUS, STROKE = 7, 2


def tint(colour, amount=0.16):
    """Mix `amount` of a colour with white."""
    rgb = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - amount * (255 - c)):02x}" for c in rgb)


def num(value):
    """A coordinate to a tenth, as short as it goes."""
    return f"{round(value, 1) + 0:g}"


# ---- letters ----

FACES = {"r": "DejaVuSans", "i": "DejaVuSans-Oblique", "b": "DejaVuSans-Bold",
         "bi": "DejaVuSans-BoldOblique"}
ITALIC = {"r": "i", "b": "bi"}


@lru_cache
def font(face):
    if face == "c":
        return TTFont(CHINESE)
    return TTFont(Path(matplotlib.get_data_path(), "fonts/ttf", FACES[face] + ".ttf"))


@lru_cache
def glyph(face, letter):
    """The font of a letter, its name there, and what brings its units to 1/2048 of the size."""
    if ord(letter) not in font(face).getBestCmap():
        face = "c"  # Chinese characters
    return font(face), font(face).getBestCmap()[ord(letter)], 2048 / font(face)["head"].unitsPerEm


def heavy(face, letter):
    """Whether it is a bold Chinese character: that font has one weight, so a line is added."""
    return face[0] == "b" and ord(letter) not in font(face).getBestCmap()


@lru_cache
def outline(face, letter):
    source, name, scale = glyph(face, letter)
    glyphs = source.getGlyphSet()
    pen = SVGPathPen(glyphs, ntos=lambda v: str(round(v)))
    glyphs[name].draw(TransformPen(pen, (scale, 0, 0, scale, 0, 0)))
    return pen.getCommands()


def advances(face, string):
    """The width of each letter in 1/2048 of the size, kerning included."""
    found = [glyph(face, letter) for letter in string]
    pairs = font(face)["kern"].kernTables[0].kernTable
    widths = [round(source["hmtx"][name][0] * scale) for source, name, scale in found]
    for i, (one, other) in enumerate(zip(found, found[1:])):
        if one[0] is other[0] is font(face):
            widths[i] += pairs.get((one[1], other[1]), 0)
    return widths


PIECE = re.compile(r"\*(?P<i>[^*]+)\*|_(?:\{(?P<sub>[^}]+)\}|(?P<sub1>.))"
                   r"|\^(?:\{(?P<sup>[^}]+)\}|(?P<sup1>.))|(?P<r>[^*_^]+)")


def runs(string, size, face="r"):
    """Lay out `plain *italic* x_1 W_1^{(q)}`: [(x, rise, size, face, letters)], width."""
    laid, x, script = [], 0, None  # script: where a first sub- or superscript began
    for match in PIECE.finditer(string):
        kind, letters = match.lastgroup[:3], match[match.lastgroup]
        small = kind in ("sub", "sup")
        scale, rise = {"sub": (0.72, -0.26), "sup": (0.72, 0.42)}.get(kind, (1, 0))
        italic = kind == "i" or letters.startswith("*")
        here, letters = ITALIC[face] if italic else face, letters.strip("*")
        start = script if small and script is not None else x
        laid.append((start, rise * size, size * scale, here, letters))
        x = max(x, start + sum(advances(here, letters)) / 2048 * size * scale)
        script = start if small else None
    return laid, x


# ---- sheet ----

class Sheet:
    """A white sheet; y points down, text is centred on the y it is given."""

    def __init__(self, name, height):
        self.width, self.height = 800, height
        self.title, self.desc = (str(t(text)) for text in WORDS[name].values())
        self.parts, self.glyphs = [], {}

    def add(self, tag, **attributes):
        pairs = (f'{k.replace("_", "-")}="{num(v) if isinstance(v, (int, float)) else v}"'
                 for k, v in attributes.items())
        self.parts.append(f"<{tag} {' '.join(pairs)}/>")

    def text(self, x, y, string, anchor="middle", size=SMALL, bold=False, colour=TEXT, turn=0):
        string = str(t(string))
        laid, width = runs(string, size, "b" if bold else "r")
        left = {"start": 0, "middle": -width / 2, "end": -width}[anchor]
        if not turn and not (8 <= x + left and x + left + width <= self.width - 8
                             and size / 2 <= y <= self.height - size / 2):
            raise ValueError(f"{string!r} runs off the sheet")
        for start, rise, points, face, letters in laid:
            dx, dy = left + start, 0.365 * size - rise
            place = f"translate({num(x + dx)} {num(y + dy)})"
            if turn:
                place = f"translate({num(x)} {num(y)})rotate({turn})translate({num(dx)} {num(dy)})"
            scale = f"{points / 2048:.5f}".lstrip("0")
            fill = "" if colour == TEXT else f' fill="{colour}"'
            if any(heavy(face, letter) for letter in letters):
                fill += f' stroke="{colour}" stroke-linejoin="round"'
            self.parts.append(f'<g{fill} transform="{place}scale({scale}-{scale})">'
                              f"{self.letters(face, letters)}</g>")

    def say(self, x, y, string, anchor="middle", **style):
        self.text(x, y, string, anchor, BODY, colour=STRONG, **style)

    def bold(self, x, y, string, anchor="middle"):
        self.say(x, y, string, anchor, bold=True)

    def head(self, x, y, string, anchor="middle"):
        self.text(x, y, string, anchor, HEAD, bold=True, colour=STRONG)

    def column(self, x, string, how, below=53, size=SMALL):
        """What heads a column of the picture, and smaller words below."""
        self.head(x, 30, string)
        self.text(x, below, how, size=size)

    def letters(self, face, letters):
        uses, at = [], 0
        for letter, advance in zip(letters, advances(face, letters)):
            if letter != " ":
                name = f"{face}{ord(letter):x}"
                width = ' stroke-width="80"' if heavy(face, letter) else ""
                self.glyphs[name] = f'd="{outline(face, letter)}"{width}'
                uses.append(f'<use href="#{name}"' + (f' x="{at}"/>' if at else "/>"))
            at += advance
        return "".join(uses)

    def lines(self, x, y, *strings, size=SMALL, step=1.35, **style):
        for i, string in enumerate(strings):
            self.text(x, y + i * step * size, string, size=size, **style)

    def box(self, x, y, width, height, colour=LINE, label="", size=BODY, amount=0.16):
        """A rounded box, tinted in its role's colour, with its corner at (x, y)."""
        self.add("rect", x=x, y=y, width=width, height=height, rx=RADIUS, fill=tint(colour, amount),
                 stroke=colour, stroke_width=STROKE)
        if label:
            self.text(x + width / 2, y + height / 2, label, size=size, colour=STRONG)

    def panel(self, x, y, width, height):
        """A quiet ground behind things that belong together."""
        self.add("rect", x=x, y=y, width=width, height=height, rx=RADIUS, fill="#f4f4f4")

    def token(self, x, y, word, width=64, height=32):
        """A word of the sentence, centred on (x, y)."""
        self.add("rect", x=x - width / 2, y=y - height / 2, width=width, height=height,
                 rx=height / 2, fill="#f2f2f2", stroke=LINE, stroke_width=1.5)
        self.say(x, y, word)

    def grid(self, x, y, cells, size, colour, fills=None, text=BODY, height=None):
        """Cells with their labels; `fills[i][j]` is how much of `colour` a cell takes."""
        height = height or size
        for i, row in enumerate(cells):
            for j, label in enumerate(row):
                self.add("rect", x=x + j * size, y=y + i * height, width=size, height=height,
                         fill=tint(colour, fills[i][j] if fills else 0.16),
                         stroke="#ffffff", stroke_width=STROKE)
                self.text(x + (j + 0.5) * size, y + (i + 0.5) * height,
                          str(label), size=text, colour=STRONG)
        self.frame(x, y, len(cells[0]) * size, len(cells) * height, colour)

    def weights(self, x, y, values, width, height, labels=None, size=BODY):
        """Attention weights, or a mask as zeros and ones, in the colours of the lessons' plots."""
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                fill = tint(QUERY, value)
                self.add("rect", x=x + j * width, y=y + i * height, width=width, height=height,
                         fill=fill, stroke="#dddddd", stroke_width=1)
                if labels:
                    self.text(x + (j + 0.5) * width, y + (i + 0.5) * height,
                              labels[i][j], size=size, colour=readable_on(to_rgb(fill)))
        self.frame(x, y, len(values[0]) * width, len(values) * height, TEXT)

    def operator(self, x, y, sign, radius):
        """A sign in a ring."""
        self.add("circle", cx=x, cy=y, r=radius, fill="#ffffff", stroke=LINE, stroke_width=STROKE)
        self.text(x, y, sign, size=HEAD, colour=STRONG)

    def frame(self, x, y, width, height, colour, stroke=STROKE):
        self.add("rect", x=x, y=y, width=width, height=height, rx=3, fill="none",
                 stroke=colour, stroke_width=stroke)

    def line(self, points, colour=LINE, width=STROKE, curve="", halo=False, dash=""):
        """A line through points; `curve` "h" or "v" leaves and arrives that way."""
        (x, y), *rest = points
        d = f"M{num(x)} {num(y)}"
        for i, (x1, y1) in enumerate(rest):
            if curve:
                a, b = ((x + x1) / 2, y) if curve == "h" else (x, (y + y1) / 2)
                p, q = ((x + x1) / 2, y1) if curve == "h" else (x1, (y + y1) / 2)
                d += f"C{num(a)} {num(b)} {num(p)} {num(q)} {num(x1)} {num(y1)}"
            elif i + 1 < len(rest):  # round the corner towards the next point
                x2, y2 = rest[i + 1]
                r = min(RADIUS, hypot(x1 - x, y1 - y) / 2, hypot(x2 - x1, y2 - y1) / 2)
                a = toward((x1, y1), (x, y), r)
                b = toward((x1, y1), (x2, y2), r)
                d += f"L{num(a[0])} {num(a[1])}Q{num(x1)} {num(y1)} {num(b[0])} {num(b[1])}"
            else:
                d += f"L{num(x1)} {num(y1)}"
            x, y = x1, y1
        if halo:
            self.add("path", d=d, fill="none", stroke="#ffffff", stroke_width=width + 6)
        extra = {"stroke_dasharray": dash} if dash else {}
        self.add("path", d=d, fill="none", stroke=colour, stroke_width=width, **extra)

    def arc(self, x, to, y, towards, colour, width):
        """A bow from (x, y) to (to, y), bent towards a height."""
        self.add("path", d=f"M{x} {y}C{x} {towards} {to} {towards} {to} {y}", fill="none",
                 stroke=colour, stroke_width=width, stroke_linecap="round")

    def arrow(self, points, colour=LINE, width=STROKE, curve="", halo=False):
        """A line with a head at its last point."""
        size = 7 + 1.5 * width
        (x0, y0), (x, y) = points[-2:]
        if curve == "h":
            x0, y0 = x - (1 if x > x0 else -1), y
        elif curve == "v":
            x0, y0 = x, y - (1 if y > y0 else -1)
        length = hypot(x - x0, y - y0)
        u, v = (x - x0) / length, (y - y0) / length
        stop = x - (size - 1) * u, y - (size - 1) * v
        self.line([*points[:-1], stop], colour, width, curve, halo)
        half = size * 0.42
        a, b = x - size * u, y - size * v
        corners = (x, y), (a - half * v, b + half * u), (a + half * v, b - half * u)
        path = "L".join(f"{num(a)} {num(b)}" for a, b in corners)
        self.add("path", d=f"M{path}Z", fill=colour)

    def dot(self, x, y, colour=LINE, radius=4):
        self.add("circle", cx=x, cy=y, r=radius, fill=colour)

    def svg(self):
        glyphs = "".join(f'<path id="{name}" {path}/>'
                         for name, path in sorted(self.glyphs.items()))
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" fill="{TEXT}" '
            'role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.desc)}</desc>',
            f"<defs>{glyphs}</defs>",
            f'<rect width="{self.width}" height="{self.height}" rx="14" fill="#ffffff"/>',
            *self.parts, "</svg>", ""])


def toward(start, end, distance):
    """The point `distance` away from start on the way to end."""
    part = distance / hypot(end[0] - start[0], end[1] - start[1])
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])
