"""The look all pictures share: colours, type, and a sheet to draw on.

Text is text, as in the pieces: a reader's browser sets it in the first of these fonts that it has.
"""

import re
import tomllib
from functools import cache
from math import hypot
from pathlib import Path
from xml.sax.saxutils import escape

from matplotlib.colors import to_rgb
from matplotlib.font_manager import findfont, get_font

from attention_lessons.plotting import CHINESE, COLOURS, DARK as STRONG, readable_on
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

FONTS = "DejaVu Sans, Verdana, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif"
MARKS = re.compile(r"\*(?P<i>[^*]+)\*|_(?:\{(?P<sub>[^}]+)\}|(?P<sub1>.))"
                   r"|\^(?:\{(?P<sup>[^}]+)\}|(?P<sup1>.))|(?P<r>[^*_^]+)")
SCRIPTS = {"sub": -0.26, "sup": 0.42}  # how high they stand, in sizes


def spans(string, size):
    """The SVG of `plain *italic* x_1 W_1^{(q)}`."""
    made, height = "", 0
    for match in MARKS.finditer(string):
        kind, letters = match.lastgroup[:3], match[match.lastgroup]
        rise = SCRIPTS.get(kind, 0)
        style = {"font_style": "italic"} if kind == "i" or letters[0] == "*" else {}
        style |= {"font_size": 0.72 * size} if kind in SCRIPTS else {}
        style |= {"dy": (height - rise) * size} if rise != height else {}
        letters, height = escape(letters.strip("*")), rise
        made += element("tspan", letters, **style) if style else letters
    return made


def element(tag, inside="", **attributes):
    """The SVG of an element; its numbers are coordinates."""
    pairs = "".join(f' {k.replace("_", "-")}="{num(v) if isinstance(v, (int, float)) else v}"'
                    for k, v in attributes.items())
    return f"<{tag}{pairs}>{inside}</{tag}>" if inside else f"<{tag}{pairs}/>"


@cache
def width(string, size, bold):
    """About how wide a string gets, in the widest of the fonts."""
    font = get_font([findfont("DejaVu Sans:bold" if bold else "DejaVu Sans"), str(CHINESE)])
    font.set_size(size, 72)
    font.set_text(re.sub(r"[*_^{}]", "", string))
    return font.get_width_height()[0] / 64


# ---- sheet ----

class Sheet:
    """A white sheet; y points down, text is centred on the y it is given. Upright, for a phone, it
    shows rows of parts (x, y, width, height) of what is drawn."""

    def __init__(self, name, height, rows=()):
        self.width, self.height, self.rows, self.upright = 800, height, rows, bool(rows)
        self.title, self.desc = (str(t(text)) for text in WORDS[name].values())
        self.parts = []

    def add(self, tag, **attributes):
        self.parts.append(element(tag, **attributes))

    def text(self, x, y, string, anchor="middle", size=SMALL, bold=False, colour=TEXT, turn=0):
        string = str(t(string))
        if self.upright and width(string, size, bold) > 310:
            halves = re.match("(.+[,;，；]) ?(.+)", string).groups()
            return self.lines(x, y, *halves, size=size, bold=bold, colour=colour)
        style = {"font_weight": "bold"} if bold else {}
        style |= {"fill": colour} if colour != TEXT else {}
        style |= {"transform": f"rotate({turn} {num(x)} {num(y)})"} if turn else {}
        self.add("text", inside=spans(string, size), x=x, y=y + 0.365 * size, font_size=size,
                 text_anchor=anchor, **style)

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

    def lines(self, x, y, *strings, size=SMALL, **style):
        for i, string in enumerate(strings):
            self.text(x, y + i * 1.35 * size, string, size=size, **style)

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

    def grid(self, x, y, cells, size, colour, fills=None, text=BODY):
        """Cells with their labels; `fills[i][j]` is how much of `colour` a cell takes."""
        for i, row in enumerate(cells):
            for j, label in enumerate(row):
                self.add("rect", x=x + j * size, y=y + i * size, width=size, height=size,
                         fill=tint(colour, fills[i][j] if fills else 0.16),
                         stroke="#ffffff", stroke_width=STROKE)
                if label != "":
                    self.text(x + (j + 0.5) * size, y + (i + 0.5) * size,
                              str(label), size=text, colour=STRONG)
        self.frame(x, y, len(cells[0]) * size, len(cells) * size, colour)

    def weights(self, x, y, values, width, height, labels=None):
        """Attention weights, or a mask as zeros and ones, in the colours of the lessons' plots."""
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                fill = tint(QUERY, value)
                self.add("rect", x=x + j * width, y=y + i * height, width=width, height=height,
                         fill=fill, stroke="#dddddd", stroke_width=1)
                if labels:
                    self.text(x + (j + 0.5) * width, y + (i + 0.5) * height,
                              labels[i][j], size=BODY, colour=readable_on(to_rgb(fill)))
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
        d = f"M{' '.join(map(num, points[0]))}"
        for (x, y), (x1, y1) in zip(points, points[1:]):
            if curve:
                a, b = ((x + x1) / 2, y) if curve == "h" else (x, (y + y1) / 2)
                p, q = ((x + x1) / 2, y1) if curve == "h" else (x1, (y + y1) / 2)
                d += f"C{num(a)} {num(b)} {num(p)} {num(q)} {num(x1)} {num(y1)}"
            else:
                d += f"L{num(x1)} {num(y1)}"
        if halo:
            self.add("path", d=d, fill="none", stroke="#ffffff", stroke_width=width + 6)
        extra = {"stroke_dasharray": dash} if dash else {}
        self.add("path", d=d, fill="none", stroke=colour, stroke_width=width,
                 stroke_linejoin="round", **extra)

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

    def stack(self):
        """Rows below each other, made as narrow as the sheet where they are wider."""
        drawn, self.parts, self.width, self.height = "".join(self.parts), [], 352, 0
        self.add("defs", inside=f'<g id="all">{drawn}</g>')
        for row in self.rows:
            whole = sum(part[2] for part in row)
            scale = min(1, 352 / whole)
            left = 176 - scale * whole / 2
            for x, y, wide, high in row:
                self.add("svg", inside='<use href="#all"/>', x=left, y=self.height,
                         width=scale * wide, height=scale * high, viewBox=f"{x} {y} {wide} {high}")
                left += scale * wide
            self.height += round(scale * high)

    def svg(self):
        if self.upright:
            self.stack()
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" fill="{TEXT}" '
            f'font-family="{FONTS}" '
            'role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.desc)}</desc>',
            f'<rect width="{self.width}" height="{self.height}" rx="14" fill="#ffffff"/>',
            *self.parts, "</svg>", ""])


def toward(start, end, distance):
    """The point `distance` away from start on the way to end."""
    part = distance / hypot(end[0] - start[0], end[1] - start[1])
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])
