"""Pictures as functions of data. Each returns a ``Drawing`` that shows once, says in words what it shows, and lists its numbers."""
from __future__ import annotations

import base64
import html
import io
import pathlib
import re
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from PIL import Image

QUERY, KEY, VALUE, OUTPUT, TEXT = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#595959"  # Okabe & Ito's colours, one job each
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["white", QUERY])
SIGNED = LinearSegmentedColormap.from_list("signed", [KEY, "white", QUERY])
STYLE = {"font.size": 12, "axes.edgecolor": TEXT, "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT, "text.color": "#333333",
         "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 12, "figure.facecolor": "white", "axes.facecolor": "white"}


def array(values) -> np.ndarray:
    """Numbers of any kind (lists, arrays, tensors on any device, with or without gradient) as a float64 array."""
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], torch.Tensor):
        values = torch.stack(list(values))
    return values.detach().double().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values, dtype=float)


class Drawing(Figure):
    """A figure that appears where it is returned, with ``alt`` as its text, and whose repr lists the numbers it draws.

    The repr is what a screen reader and a text comparison get: a wrong label or a transposed map changes it.
    """

    alt = ""
    data = ""

    def _repr_mimebundle_(self, include=None, exclude=None):
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
        return ({"image/png": base64.b64encode(slim(png)).decode(), "text/plain": repr(self)}, {"image/png": {"alt": self.alt}})

    def __repr__(self) -> str:
        return f"[picture] {self.alt}" + (f"\n{self.data}" if self.data else "")

    __str__ = __repr__


@rc_context(STYLE)
def heatmaps(values, rows: Sequence, columns: Sequence, *, alt: str, titles: Sequence[str] = (), signed: bool = False, numbers: bool | None = None,
             row_label: str = "query", column_label: str = "key", size: float = 0.62, secret: bool = False) -> Drawing:
    """Maps side by side that share one colour scale: weights from white = 0 to 1, or with ``signed=True`` symmetric about 0.

    values: (rows, columns), or (maps, rows, columns) for several. rows, columns: tick labels. titles: one per map. numbers: write the
    value into each cell (left out: where there are at most 64 cells). size: inches per cell. alt: what the picture shows. ``secret`` keeps
    the numbers out of the repr: for what was learned, which differs from machine to machine.
    Raises ValueError where labels or titles don't fit the values, or weights leave 0..1.
    """
    maps = array(values)
    shape, maps = maps.shape, maps[None] if maps.ndim == 2 else maps
    if maps.ndim != 3 or maps.shape[1:] != (len(rows), len(columns)):
        raise ValueError(f"values have shape {shape}, but there are {len(rows)} row and {len(columns)} column labels")
    if titles and len(titles) != len(maps):
        raise ValueError(f"{len(titles)} titles for {len(maps)} maps")
    if not signed and maps.size and not (maps.min() >= -1e-6 and maps.max() <= 1 + 1e-6):
        raise ValueError(f"weights must lie in 0..1, got {maps.min():.3g}..{maps.max():.3g}: use signed=True for other values")
    limit = max(np.abs(maps).max(), 1e-9) if signed else 1
    numbers = maps[0].size <= 64 if numbers is None else numbers
    digits = 0 if np.all(maps == maps.round()) else 2
    widths = max(len(columns) * size, 1.6)
    figure, axes = panels(len(maps), widths, max(len(rows) * size, 1.0))
    for i, (axis, panel) in enumerate(zip(axes, maps)):
        image = axis.imshow(panel, cmap=SIGNED if signed else WEIGHTS, vmin=-limit if signed else 0, vmax=limit, aspect="auto")
        label_ticks(axis.xaxis, columns)
        label_ticks(axis.yaxis, rows if i == 0 else [""] * len(rows))
        axis.set(title=titles[i] if titles else "", xlabel=column_label, ylabel=row_label if i == 0 else "")
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
        axis.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        if len(maps) > 1 and not numbers:  # where the edge is white, one map would run into the next
            axis.spines[:].set(visible=True, color="#BBBBBB")
        if numbers:
            axis.grid(which="minor", color="#DDDDDD", linewidth=1)
            for (row, column), value in np.ndenumerate(panel):
                axis.text(column, row, f"{value:.{digits}f}", ha="center", va="center", fontsize=11,
                          color="white" if abs(value) > 0.55 * limit else "#333333")
        axis.tick_params(which="minor", length=0)
    figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02 if len(maps) > 1 else 0.04)
    if secret:
        return finish(figure, alt, "; ".join([*titles, f"columns {', '.join(map(str, columns))}", f"rows {', '.join(map(str, rows))}"]))
    return finish(figure, alt, "\n".join(describe(panel, rows, columns, titles[i] if titles else "") for i, panel in enumerate(maps)))


@rc_context(STYLE)
def curves(x, lines: dict[str, Sequence], *, xlabel: str, ylabel: str, alt: str, title: str = "", log: bool = False, markers: bool = False,
           width: float = 6.4, height: float = 3.2, secret: bool = False, points: dict[str, tuple[Sequence, Sequence]] = {}) -> Drawing:
    """Lines over ``x``, each named at its end instead of in a legend; ``log`` makes both axes logarithmic.

    points: name -> (x, y), dots that no line joins. ``secret`` keeps the numbers out of the repr: for timings, which differ from run to run.
    """
    x, lines = array(x), {name: array(y) for name, y in lines.items()}
    figure, (axis,) = panels(1, width, height)
    styles = ["-", "--", "-.", ":"]
    for i, (name, y) in enumerate(lines.items()):
        colour = (QUERY, KEY, VALUE, OUTPUT, "#E69F00", "#56B4E9", TEXT)[i % 7]
        axis.plot(x, y, styles[i % 4], color=colour, linewidth=2, marker="o" if markers else None, markersize=4)
    dots = {name: (array(across), array(up)) for name, (across, up) in points.items()}
    for across, up in dots.values():
        axis.plot(across, up, "o", color=TEXT, markersize=4, zorder=1)
    if log:
        axis.set(xscale="log", yscale="log")
        if len(x) <= 10:  # the points themselves, in plain numbers
            axis.set_xticks(x, labels=[f"{place:g}" for place in x])
            axis.tick_params(axis="x", which="minor", labelbottom=False)
    axis.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axis.grid(color="#EEEEEE")
    figure.canvas.draw()
    name_line_ends(axis, {name: (x[-1], y[-1]) for name, y in lines.items()} | {name: (across[-1], up[-1]) for name, (across, up) in dots.items()})
    axes = f"{title}: {ylabel} over {xlabel}" if title else f"{ylabel} over {xlabel}"
    numbers = [f"{xlabel}: {sample(x)}", *(f"{name}: {sample(y)}" for name, y in lines.items()), *(f"{name}: {sample(up)}" for name, (_, up) in dots.items())]
    return finish(figure, alt, "\n".join([axes, *([] if secret else numbers)]))


@rc_context(STYLE)
def bars(values, labels: Sequence[str], *, ylabel: str, alt: str, title: str = "", colour: str = QUERY, secret: bool = False) -> Drawing:
    """One bar a label, its value written above it. ``secret`` as in ``heatmaps``."""
    figure, (axis,) = panels(1, max(1.0 * len(labels), 3), 2.6)
    drawn = axis.bar(labels, array(values), color=colour, width=0.6)
    axis.bar_label(drawn, fmt="%.3g", padding=2)
    axis.set(ylabel=ylabel, title=title)
    head = f"{title}: {ylabel}" if title else ylabel
    numbers = (str(label) if secret else f"{label} {value:.3g}" for label, value in zip(labels, array(values)))
    return finish(figure, alt, f"{head}: " + ", ".join(numbers))


@rc_context(STYLE)
def panels(count: int, width: float, height: float) -> tuple[Drawing, list]:
    """A ``Drawing`` with ``count`` axes in a row, each ``width`` by ``height`` inches, in the house style."""
    figure = Drawing(figsize=(count * width + 1.4, height + 0.9), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def finish(figure: Drawing, alt: str, data: str = "") -> Drawing:
    """Give the drawing its words. Raises ValueError for an alt text too short to say anything."""
    if len(alt) < 20:
        raise ValueError(f"{alt=} must say what the picture shows")
    figure.alt, figure.data = alt, data
    return figure


def slim(png: io.BytesIO) -> bytes:
    """The same picture in 256 colours, a third of the size: notebooks store it."""
    small = io.BytesIO()
    Image.open(png).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def label_ticks(axis, labels: Sequence) -> None:
    axis.set_ticks(range(len(labels)), labels=[str(label) for label in labels])


LEADER = {"arrowstyle": "-", "color": "#888888", "linewidth": 0.8, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}


def name_line_ends(axis, ends: dict[str, tuple[float, float]]) -> None:
    """Write each name beside its line's end, moved apart where they would overlap."""
    to_pixels, height = axis.transData.transform, 20
    taken: list[float] = []
    for name, end in sorted(ends.items(), key=lambda item: item[1][1]):
        x, y = to_pixels(end)
        place = max([y, *(t + height for t in taken[-1:])])
        taken.append(place)
        moved = place - y > 3  # then a thin line leads back to the end
        axis.annotate(name, end, xytext=(28 if moved else 8, (place - y) * 72 / axis.figure.dpi), textcoords="offset points", va="center", color="#333333",
                      annotation_clip=False, arrowprops=LEADER if moved else None)


def describe(panel: np.ndarray, rows: Sequence, columns: Sequence, title: str) -> str:
    """A map in words: its labels and numbers, or for a large one its shape and a sample."""
    head = f"{title}: " if title else ""
    if panel.size > 100:
        return f"{head}{panel.shape[0]} x {panel.shape[1]}, first row {sample(panel[0])}, first column {sample(panel[:, 0])}"
    lines = (f"  {str(row):>8} {' '.join(format(value + 0.0, '7.2f') for value in values)}" for row, values in zip(rows, panel.round(2)))
    return "\n".join([f"{head}columns {', '.join(str(column) for column in columns)}", *lines])


def sample(values, count: int = 8) -> str:
    """Up to ``count`` of the values, evenly chosen: three digits, one digit below 0.001, and 0 for what may be rounding."""
    values = array(values)
    chosen = values[np.unique(np.linspace(0, len(values) - 1, min(count, len(values))).astype(int))]
    return " ".join("0" if abs(value) < 3e-7 else f"{value:.1g}" if abs(value) < 1e-3 else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}" for value in chosen)


class Picture:
    """A drawing from ``images/``: shown as it is, with its own description as alternative text."""

    def __init__(self, name: str):
        here = pathlib.Path(__file__).parent
        folder = next((folder for folder in (here / "images", here.parent / "images") if (folder / f"{name}.svg").exists()), None)
        if folder is None:
            raise FileNotFoundError(f"picture {name!r}: there is no images/{name}.svg")
        self.svg = (folder / f"{name}.svg").read_bytes()
        found = re.search(r"<desc[^>]*>(.*?)</desc>", self.svg.decode(), re.S)
        self.alt = " ".join(html.unescape(found[1]).split()) if found else name

    def _repr_mimebundle_(self, include=None, exclude=None):
        source = base64.b64encode(self.svg).decode()
        style = "max-width: 100%; width: 800px; background: white; border-radius: 8px"
        return {"text/html": f'<img alt="{html.escape(self.alt)}" style="{style}" src="data:image/svg+xml;base64,{source}">', "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"[picture] {self.alt}"


def picture(name: str) -> Picture:
    """The drawing ``images/NAME.svg``, to be shown as the last line of a cell."""
    return Picture(name)
