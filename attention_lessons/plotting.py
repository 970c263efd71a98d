"""Pictures and tables as functions of data.

Each picture is a ``Plot``: shown once, with an alternative text, and with its numbers as text.
"""
from __future__ import annotations

import base64
import html
import io
import json
import pathlib
import re
import tomllib
from collections.abc import Sequence
from math import ceil
from textwrap import fill

import numpy as np
import torch
from matplotlib import style
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from PIL import Image

from .languages import language, name_of, t, translations_in
from .palette import PALETTE

HERE = pathlib.Path(__file__).parent  # in lesson_02/alt.toml: the alternative texts of 02
COLOURS = tuple(PALETTE[name]["light"] for name in (
    "query", "key", "value", "output", "amber", "sky", "grey"))
QUERY, KEY, *_, TEXT = COLOURS
DARK = PALETTE["ink"]["light"]
LINES = ("-", "--", "-.", ":")
LOOKS = {kind: role["light"] for role in PALETTE.values() for kind in role.get("of", ())}
PIXELS = 84  # of a page in an inch of a figure: letters of 12 points are 14 pixels high
SHARP = 110  # pixels of the stored image in an inch
WIDEST = 9.9  # inches of cells in a row: with labels 950 pixels, as wide as the website's page
SMALLEST = 0.3  # inches of a cell that holds a number
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["white", QUERY])
BOOLEANS = LinearSegmentedColormap.from_list("booleans", ["#F2F2F2", WEIGHTS(0.6)])  # of 0 and 1
SIGNED = LinearSegmentedColormap.from_list("signed", [KEY, "white", QUERY])
# The Chinese characters that figures need: few machines have a font with them, Colab has none.
CHINESE = HERE / "languages" / "zh.otf"
FONTS = ["DejaVu Sans"]
if CHINESE.exists():  # not in a notebook that carries the package with it
    fontManager.addfont(CHINESE)
    FONTS.append("Attention Sans SC")
STYLE = {"font.size": 12, "font.family": FONTS,
         "axes.titlesize": 12, "text.color": DARK, "axes.edgecolor": TEXT,
         "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
         "axes.spines.top": False, "axes.spines.right": False,
         "figure.facecolor": "white", "axes.facecolor": "white"}
LEADER = {"arrowstyle": "-", "color": "#888888", "linewidth": 0.8, "relpos": (0, 0.5),
          "shrinkA": 1, "shrinkB": 3}


def own_style():
    """matplotlib's own settings and ours, whatever the user's are."""
    return style.context(["default", STYLE])


def array(values) -> np.ndarray:
    """Lists, arrays, tensors of any kind or lists of tensors as a float64 array."""
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], torch.Tensor):
        values = torch.stack(list(values))
    if isinstance(values, torch.Tensor):
        return values.detach().double().cpu().numpy()
    return np.asarray(values, dtype=float)


class ImageWithAlt:
    """An image that is shown, where a cell returns it, in HTML: JupyterLab shows an image/png
    without its alternative text. Its repr has all words, for those who compare texts."""

    alt = data = ""

    def _repr_mimebundle_(self, include=None, exclude=None):
        mime, content, style = self.image()
        shown = (f'{folded()}<img alt="{html.escape(self.alt)}" style="max-width: 100%; {style}" '
                 f'src="data:{mime};base64,{base64.b64encode(content).decode()}">')
        return {"text/html": shown, "text/plain": repr(self)}

    def __repr__(self) -> str:
        said = self.alt if self.data in self.alt else f"{self.alt}\n{self.data}"
        return f"[picture] {said}"


class Plot(ImageWithAlt):
    """matplotlib's ``figure``, with ``alt``, its alternative text, and ``data``, what it draws.

    ``name`` "02-two-rows" is the entry ``two-rows`` of ``lesson_02/alt.toml``: a text, or a table
    of ``text`` and ``varies = true`` where numbers differ between machines and only ``labels``
    belong in the repr. With ``draw = 0`` readers draw the first of ``parts`` before they see it
    (``pieces/draw.js``). A part is a line, on linear axes, a map, or all bars: its name, its axes,
    and label, x, y and value of each point, cell or bar, 25 at most.
    A drawing without a name says its data. Raises ValueError for a name without an entry.
    """

    def __init__(self, figure: Figure, name: str, data: str, labels: str, parts: Sequence):
        self.figure, self.alt, self.data = figure, data, data
        self.name, self.drawn = name, []
        if name:
            lesson, _, cell = name.partition("-")
            path = HERE / f"lesson_{lesson}/alt.toml"
            entries = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if cell not in entries:
                raise ValueError(f"{name=} has no alternative text: add {cell!r} to "
                                 f"lesson_{lesson}/alt.toml")
            entry = entries[cell] if isinstance(entries[cell], dict) else {"text": entries[cell]}
            self.alt = str(t(entry["text"]))
            self.data = labels if entry.get("varies") else data
            self.drawn = [part for part in parts[entry.get("draw", len(parts)):][:1]
                          if len(part[2]) <= 25]

    def _repr_mimebundle_(self, include=None, exclude=None):
        made = super()._repr_mimebundle_()
        if self.drawn:
            head, image = made["text/html"].split("\n")
            script = (HERE / "pieces/draw.js").read_text(encoding="utf-8")
            script = re.sub(r"(?m)^ *(//.*|/\*\*.*)?\n? *", "", script)
            values = json.dumps(self.places() | {"words": translations_in(script)})
            given = f'data-lm-suppress-shortcuts="true" data-drawn="{html.escape(values)}"'
            made["text/html"] = (f'{head}\n<div class="d2l-draw" {given}>{image}'
                                 f'<script type="module">\n{script}</script></div>')
        return made

    @own_style()
    def places(self) -> dict:
        """Where parts of the stored picture lie, in its pixels: what is covered, the lowest and the
        highest value with their heights; of each handle the label, x, y and the value."""
        [(what, axis, points)] = self.drawn
        self.figure.set_dpi(SHARP)
        self.figure.draw_without_rendering()
        crop = self.figure.get_tightbbox().padded(0.1)  # as savefig does
        corner = crop.x0 * SHARP, crop.y1 * SHARP
        labels, *data = zip(*points)
        x, y, values = np.array(data, dtype=float).round(4)
        bounds = (0, 1) if axis.images or abs(values - 0.5).max() < 0.501 else (None, None)
        ends = bounds if axis.images else axis.get_ylim()
        low, high = np.clip(ends, *bounds).tolist()

        def pixels(places):
            return ((axis.transData.transform(places) - corner) * (1, -1)).round(1).tolist()

        named = [text.get_window_extent().padded(3) for text in axis.texts
                 if getattr(text, "xycoords", "") == "data"]
        covers = [np.round([box.x0 - corner[0], corner[1] - box.y1, *box.size], 1).tolist()
                  for box in [axis.bbox, *named]]
        (_, bottom), (_, top) = pixels([(0, low), (0, high)])
        at = [(label, *place, value) for label, place, value in zip(
            labels, pixels(np.transpose([x, y])), values.tolist())]
        kind = "map" if axis.images else "bars" if axis.patches else "curve"
        return {"name": self.name, "kind": kind, "what": what, "covers": covers, "at": at,
                "ends": (low, bottom, high, top), "size": np.floor(crop.size * SHARP).tolist(),
                "ink": DARK, "fill": QUERY}

    @own_style()
    def image(self) -> tuple[str, bytes, str]:
        """In 256 colours, which take a third of the size."""
        png, small = io.BytesIO(), io.BytesIO()
        self.figure.savefig(png, format="png", dpi=SHARP, bbox_inches="tight")
        picture = Image.open(png).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        picture.save(small, "png", optimize=True)
        width = round(picture.width / SHARP * PIXELS)
        return "image/png", small.getvalue(), f"width: {width}px; height: auto"


# ---- maps ----

@own_style()
def heatmaps(
    values, rows: Sequence, columns: Sequence, *, name: str = "", titles: Sequence[str] = (),
    signed: bool = False, numbers: bool | None = None, row_label: str = t("query"),
    column_label: str = t("key"), size: float = 0.62,
) -> Plot:
    """Maps side by side, four or more in two rows, in one colour scale from white at 0 to 1.

    values: (rows, columns), or (maps, rows, columns) for several. A colour bar stands beside maps
    that show no numbers, unless they are booleans. rows, columns: tick labels. name: as in
    ``Plot``. titles: one per map. signed: the scale is symmetric about 0 instead. numbers:
    whether each cell shows its value; left out, maps of up to 64 cells do. size: inches per cell;
    large maps get smaller cells.
    Raises ValueError for values that can't be drawn, or that labels or titles don't fit, for
    weights outside 0..1, and for numbers in cells that are too small for them.
    """
    maps = checked_maps(array(values), rows, columns, titles, signed)
    whole = getattr(values, "dtype", None) in (torch.bool, np.bool_)
    colours = {"cmap": BOOLEANS if whole else WEIGHTS, "vmin": 0, "vmax": 1}
    if signed:
        limit = max(np.abs(maps).max(), 1e-9)
        colours = {"cmap": SIGNED, "vmin": -limit, "vmax": limit}
    numbers = maps[0].size <= 64 if numbers is None else numbers
    digits = 0 if np.all(maps == maps.round()) else 2
    beside = in_a_row(len(maps), len(columns) * size)
    size = min(size, WIDEST / max(len(rows), beside * len(columns)))
    if numbers and size < SMALLEST:
        raise ValueError(f"cells of {size:.2f} inches are too small for numbers, which need "
                         f"{SMALLEST}: leave out numbers=True")
    wide, high = max(len(columns) * size, 1.6), max(len(rows) * size, 1.0)
    figure, axes = panels(len(maps), wide, high, beside)
    for i, (axis, panel) in enumerate(zip(axes, maps)):
        image = axis.imshow(panel, aspect="auto", **colours)
        first = i % beside == 0
        label_ticks(axis.xaxis, columns, size)
        label_ticks(axis.yaxis, rows if first else [""] * len(rows), size)
        axis.set(title=plain(titles[i]) if titles else "", xlabel=plain(column_label),
                 ylabel=plain(row_label) if first else "")
        axis.tick_params(length=0)
        # without edges, two maps that end in white would look like one
        axis.spines[:].set(visible=len(maps) > 1 and not numbers, color="#BBBBBB")
        if numbers or whole:
            part_cells(axis, panel.shape, "white" if whole else "#DDDDDD", 2 if whole else 1)
        if numbers:
            write_numbers(axis, image, digits)
    if not (numbers or whole):
        figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02 if len(maps) > 1 else 0.04)
    labels = [*titles, f"columns {listed(columns)}", f"rows {listed(rows)}"]
    description = (describe(panel, rows, columns, *titles[i:i + 1]) for i, panel in enumerate(maps))
    parts = [(titles[i] if titles else "", axis, [
        (f"{rows[row]} → {columns[column]}", column, row, value)
        for (row, column), value in np.ndenumerate(panel)])
        for i, (axis, panel) in enumerate(zip(axes, maps))]
    return Plot(figure, name, "\n".join(description), "; ".join(labels), parts)


def in_a_row(count: int, width: float) -> int:
    """How many maps of so many inches stand in a row: all, up to three or as far as they fit."""
    fit = count <= 3 or count * max(width, 1.6) <= WIDEST
    return count if fit else ceil(count / 2)


def checked_maps(
    values: np.ndarray, rows: Sequence, columns: Sequence, titles: Sequence[str], signed: bool,
) -> np.ndarray:
    """(maps, rows, columns); ValueError for what ``heatmaps`` can't show."""
    if values.ndim not in (2, 3) or values.shape[-2:] != (len(rows), len(columns)):
        raise ValueError(f"values have shape {values.shape}, but there are {len(rows)} row and "
                         f"{len(columns)} column labels")
    drawable("values", values)
    if not signed and not (values.min() >= -1e-6 and values.max() <= 1 + 1e-6):
        raise ValueError(f"weights must lie in 0..1, got {values.min():.3g}..{values.max():.3g}: "
                         "use signed=True for other values")
    maps = values.reshape(-1, len(rows), len(columns))
    if titles and len(titles) != len(maps):
        raise ValueError(f"{len(titles)} titles for {len(maps)} maps")
    return maps


def label_ticks(axis, labels: Sequence, size: float) -> None:
    """Every label, or every second, third and so on where cells of ``size`` inches are small."""
    places = range(0, len(labels), ceil(0.2 / size))
    axis.set_ticks(places, labels=[plain(labels[place]) for place in places])


def part_cells(axis, shape: tuple[int, int], colour: str, width: float) -> None:
    """Lines between the cells."""
    axis.set_xticks(np.arange(shape[1] + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(shape[0] + 1) - 0.5, minor=True)
    axis.tick_params(which="minor", length=0)
    axis.grid(which="minor", color=colour, linewidth=width)


def write_numbers(axis, image, digits: int) -> None:
    """The values in their cells."""
    for (row, column), value in np.ndenumerate(image.get_array()):
        axis.text(column, row, f"{value:.{digits}f}", ha="center", va="center", fontsize=11,
                  color=readable_on(image.cmap(image.norm(value))))


def readable_on(colour: Sequence[float]) -> str:
    """Black or white, whichever stands out more on a colour (WCAG 2.2, contrast ratio)."""
    red, green, blue = (((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "black" if luminance + 0.05 > (0.05 * 1.05) ** 0.5 else "white"


# ---- lines and bars ----

@own_style()
def curves(
    x, lines: dict[str, Sequence], *, xlabel: str, ylabel: str, name: str = "", title: str = "",
    log: bool = False, markers: bool = False, height: float = 3.2,
    points: dict[str, tuple[Sequence, Sequence]] = {}, marks: dict[str, float] = {},
) -> Plot:
    """Lines over ``x``, each named at its end instead of in a legend.

    name: as in ``Plot``. log: both axes are logarithmic. height: of the
    axes, in inches. points: name -> (x, y), dots that no line joins. marks: name -> x,
    upright lines, for example at the length of training. NaN leaves a gap in a line.
    Raises ValueError for lines that aren't as long as ``x``, and for numbers that can't be drawn:
    none at all, infinity, 0 and less on logarithmic axes.
    """
    x = array(x)
    drawn = {line: (x, array(y)) for line, y in lines.items()}
    drawn |= {dot: (array(across), array(up)) for dot, (across, up) in points.items()}
    drawable("x", x, log)
    if not lines:
        raise ValueError("nothing to draw: there are no lines")
    for what, (across, up) in drawn.items():
        if across.ndim != 1 or across.shape != up.shape:
            raise ValueError(f"{what!r} has shape {up.shape}, its x has shape {across.shape}")
        drawable(repr(what), up[~np.isnan(up)], log)
    for mark, place in marks.items():
        drawable(f"mark {mark!r}", array([place]), log)
    figure, (axis,) = panels(1, 6.05, height)
    inks = {}
    for i, (what, (across, up)) in enumerate(drawn.items()):
        style = LINES[i % len(LINES)]  # 28 lines all differ
        colour = LOOKS.get(what.partition(":")[0], COLOURS[i % len(COLOURS)])
        inks[what] = TEXT if what in points else colour
        if what in points:
            axis.plot(across, up, "o", color=TEXT, markersize=4, zorder=1)
        else:
            axis.plot(x, up, style, color=colour, linewidth=2, marker="o" if markers else None,
                      markersize=4)
    if log:
        axis.set(xscale="log", yscale="log")
        if len(x) <= 10:  # the points themselves, in plain numbers
            axis.set_xticks(x, labels=[f"{place:g}" for place in x])
            axis.tick_params(axis="x", which="minor", labelbottom=False)
    for mark, place in marks.items():
        axis.axvline(place, color=TEXT, linewidth=1, linestyle=(0, (2, 3)), zorder=0)
        axis.annotate(plain(mark), (place, 1), xycoords=("data", "axes fraction"), xytext=(-2, 3),
                      textcoords="offset points", va="bottom", color=TEXT, fontsize=10)
    axis.set(xlabel=plain(xlabel), ylabel=plain(ylabel))
    axis.set_title(plain(title), pad=20 if marks else None)
    axis.grid(color="#EEEEEE")
    figure.canvas.draw()
    name_line_ends(axis, {what: (across[there][-1], up[there][-1]) for what, (across, up)
                          in drawn.items() for there in [np.isfinite(up)]}, inks)
    axes = f"{title}: " * bool(title) + f"{ylabel} over {xlabel}"
    numbers = {xlabel: x} | {what: up for what, (_, up) in drawn.items()}
    description = [axes, *(f"{what}: {sample(values)}" for what, values in numbers.items()),
            *(f"{mark} at {place:g}" for mark, place in marks.items())]
    parts = []
    for what, (across, up) in drawn.items():
        there = np.flatnonzero(np.isfinite(up))
        some = there[np.unique(np.linspace(0, len(there) - 1, 9).round().astype(int))]
        parts.append((name_of(what), axis, [
            (f"{xlabel} {across[i]:g}", across[i], up[i], up[i]) for i in some]))
    return Plot(figure, name, "\n".join(description), axes, parts)


def name_line_ends(
    axis, ends: dict[str, tuple[float, float]], inks: dict[str, str],
) -> None:
    """Write each name beside its line's end, higher where it would overlap the one below."""
    height, lowest = 20, -np.inf
    for name, end in sorted(ends.items(), key=lambda item: item[1][1]):
        _, y = axis.transData.transform(end)
        place = max(y, lowest)
        lowest = place + height
        moved = place - y > 3  # then a thin line leads back to the end
        offset = (28 if moved else 8, (place - y) * 72 / axis.figure.dpi)
        axis.annotate(plain(name), end, xytext=offset, textcoords="offset points", va="center",
                      color=inks[name], annotation_clip=False, arrowprops=LEADER if moved else None)


@own_style()
def bars(
    values, labels: Sequence[str], *, ylabel: str, name: str = "", title: str = "",
) -> Plot:
    """One bar per label, its value written above it. name: as in ``Plot``.

    Raises ValueError for values that can't be drawn, or that aren't as many as the labels.
    """
    heights = array(values)
    if heights.shape != (len(labels),):
        raise ValueError(f"values have shape {heights.shape}, but there are {len(labels)} labels")
    drawable("values", heights)
    width = min(1.0, WIDEST / len(labels))  # of a bar's place
    figure, (axis,) = panels(1, max(width * len(labels), 3), 2.6)
    drawn = axis.bar(range(len(labels)), heights, color=QUERY, width=0.6)  # a label may come twice
    axis.bar_label(drawn, fmt="%.3g", padding=2)
    axis.set_xticks(range(len(labels)), labels=[
        in_lines(plain(label), int(width * 10)) for label in labels])
    axis.set(ylabel=plain(ylabel), title=plain(title))
    head = f"{title}: " * bool(title) + ylabel
    description = ", ".join(f"{label} {height:.3g}" for label, height in zip(labels, heights))
    parts = [(ylabel, axis, [*zip(map(str, labels), range(len(labels)), heights, heights)])]
    return Plot(figure, name, f"{head}: {description}", f"{head}: {listed(labels)}", parts)


# ---- what they share ----

def drawable(what: str, numbers: np.ndarray, log: bool = False) -> None:
    """Raise ValueError where there is no number, or one that can't be drawn."""
    if not numbers.size:
        raise ValueError(f"nothing to draw: no numbers in {what}, of shape {numbers.shape}")
    for number in numbers[~np.isfinite(numbers) | (log & (numbers <= 0))].tolist():
        wanted = "finite and above 0, as the axes are logarithmic" if log else "finite"
        raise ValueError(f"{what} must be {wanted}, got {number:g}")


def panels(count: int, width: float, height: float, beside: int = 0) -> tuple[Figure, list]:
    """A figure with ``count`` axes, each ``width`` by ``height`` inches, ``beside`` in a row."""
    beside = beside or count
    rows = ceil(count / beside)
    figure = Figure((beside * width + 1.4, rows * (height + 0.9)), layout="constrained")
    axes = list(figure.subplots(rows, beside, squeeze=False).flat)
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count]


def folded() -> str:
    """What JupyterLab shows of an output that is folded: its first line."""
    words = t("Predict first, then click here")
    return f"<!-- {words} -->\n"


def in_lines(label: str, letters: int) -> str:
    """A label in lines of so many letters, or half as many Chinese characters."""
    if re.search("[\u4e00-\u9fff]", label):
        return "\n".join(re.findall(rf".{{1,{letters // 2}}}", label))
    return fill(label, letters, break_long_words=False)


def plain(label) -> str:
    """A label as it is drawn, where a dollar is a dollar, not a formula's beginning, and a tensor
    of one number this number."""
    label = label.item() if isinstance(label, torch.Tensor) and label.numel() == 1 else label
    return name_of(str(label)).replace("$", r"\$")


def listed(labels: Sequence) -> str:
    return ", ".join(map(str, labels))


def describe(panel: np.ndarray, rows: Sequence, columns: Sequence, title: str = "") -> str:
    """A map in words: its labels and numbers, or for a large one its shape and a sample."""
    head = f"{title}: " * bool(title)
    if panel.size > 100:
        ends = f"first row {sample(panel[0])}, first column {sample(panel[:, 0])}"
        return f"{head}{panel.shape[0]} x {panel.shape[1]}, {ends}"
    lines = []
    for row, values in zip(rows, panel.round(2)):
        lines.append(f"  {str(row):>8} {' '.join(f'{value:z7.2f}' for value in values)}")
    return "\n".join([f"{head}columns {listed(columns)}", *lines])


def sample(values: np.ndarray) -> str:
    """Up to eight of the values, evenly spaced."""
    places = np.linspace(0, len(values) - 1, min(8, len(values))).astype(int)
    return " ".join(map(short, values[places]))


def short(value: float) -> str:
    """Three digits, one digit below 0.001, and 0 for what may be rounding."""
    size = abs(value)
    if size < 3e-7:
        return "0"
    return f"{value:.1g}" if size < 1e-3 else f"{value:.3g}" if size < 999.5 else f"{value:.0f}"


# ---- tables ----
# Ours, as pandas' HTML differs between versions and marks no headers.

class Table:
    """A table to be shown as the last line of a cell: ``rows``, each as long as ``columns``.

    The first value of a row names it. Floats get ``digits`` digits after the point, integers get
    commas, None stays empty; what stands in backticks is a name to be typed, shown as code.
    Raises ValueError for a row of another length.

    >>> table([(2, 0.5, "even"), (16, 0.125, None)], ["keys", "weight", "kind"], digits=3)
    keys  weight  kind
       2   0.500  even
      16   0.125
    """

    def __init__(self, rows: Sequence[Sequence], columns: Sequence[str], digits: int = 2):
        self.columns = [name_of(str(column)) for column in columns]
        self.rows = [[cell_text(value, digits) for value in row] for row in rows]
        for row in self.rows:
            if len(row) != len(columns):
                raise ValueError(f"a row has {len(row)} values for {len(columns)} columns: {row}")

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{cell_html(column)}</th>' if column else "<td></td>"
                       for column in self.columns)
        body = ""
        for first, *rest in self.rows:
            cells = "".join(f"<td>{cell_html(value)}</td>" for value in rest)
            body += f'<tr><th scope="row">{cell_html(first)}</th>{cells}</tr>'
        return f"{folded()}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        rows = [[value.replace("`", "") for value in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(map(str.rjust, row, widths)).rstrip() for row in rows)


table = Table


def cell_html(text: str) -> str:
    return re.sub("`(.+?)`", r"<code>\1</code>", html.escape(text))


def cell_text(value, digits: int) -> str:
    if isinstance(value, (torch.Tensor, np.generic)):
        value = value.item()
    if isinstance(value, float):
        return f"{value:z,.{digits}f}"  # z: no minus zero
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else name_of(str(value))


# ---- drawings ----

class Picture(ImageWithAlt):
    """The drawing ``images/NAME.svg``, with its own description as alternative text.

    Raises FileNotFoundError where there is none.
    """

    def __init__(self, name: str):
        here = pathlib.Path(__file__).parent
        names = [f"{language()}/{name}.svg", f"{name}.svg"]  # its own words, or English ones
        paths = [folder / "images" / each for each in names for folder in (here, here.parent)]
        path = next(filter(pathlib.Path.exists, paths), None)
        if path is None:
            raise FileNotFoundError(f"picture {name!r}: there is no images/{name}.svg")
        self.svg = path.read_bytes()
        found = re.search(r"<desc[^>]*>(.*?)</desc>", self.svg.decode(), re.S)
        self.alt = " ".join(html.unescape(found[1]).split()) if found else name

    def image(self) -> tuple[str, bytes, str]:
        return "image/svg+xml", self.svg, "width: 800px; background: white; border-radius: 8px"


picture = Picture  # the last line of a cell shows it
