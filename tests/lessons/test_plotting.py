"""Drawings say in words what they show, and refuse what they can't show.

What they show is compared in the lessons, picture by picture (pictures.py); here is what few of
these have.
"""
import base64
import html
import io
import re

import matplotlib
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from PIL import Image
from matplotlib import pyplot as plt

from attention_lessons import plotting
from attention_lessons.plotting import array, bars, curves, heatmaps, picture, table

ALT = "Each token looks at the one before it, and \"man\" at none"
MAPS = torch.tensor([[[0.1, 0.9, 0.0], [0.7, 0.2, 0.3]], [[0.6, 0.05, 0.8], [0.0, 1.0, 0.4]]])
MAP, ROWS, COLUMNS = MAPS[0], ["dog", "man"], ["a", "b", "c"]


@pytest.fixture(autouse=True)
def words(tmp_path, monkeypatch):
    """A lesson 99 with alternative texts of its own."""
    text = (f"figure = '{ALT}'\n\n[trained]\nvaries = true\ntext = '{ALT}'\n"
            f"\n[drawn]\ndraw = 0\ntext = '{ALT}'\n")
    (tmp_path / "lesson_99").mkdir()
    (tmp_path / "lesson_99/alt.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(plotting, "HERE", tmp_path)


def weights(values=MAP, rows=ROWS, columns=COLUMNS, name="99-figure", **more):
    return heatmaps(values, rows, columns, name=name, **more)


def lines(x=(1, 2, 4), y=(0.5, 0.25, 0.125), line="error", name="99-figure", **more):
    return curves(x, {line: y}, name=name, **dict(xlabel="n", ylabel="seconds") | more)


def column(values=(1.0, 2.0), labels=("one", "two"), ylabel="score", name="99-figure", **more):
    return bars(values, labels, ylabel=ylabel, name=name, **more)


# ---- words ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("draw", [weights, lines, column])
def test_a_drawing_does_not_depend_on_the_users_settings(draw, monkeypatch):
    before = draw().image()
    for name, value in {"axes.grid": True, "image.origin": "lower", "savefig.facecolor": "black",
                        "ytick.labelleft": False, "text.usetex": True}.items():
        monkeypatch.setitem(matplotlib.rcParams, name, value)
    assert draw().image() == before


@pytest.mark.parametrize("draw", [weights, lines, column])
def test_a_drawing_is_a_picture_with_words(draw):
    before, drawing = dict(matplotlib.rcParams), draw()
    data, _ = DisplayFormatter().format(drawing)
    start = re.escape(f'{plotting.folded()}<img alt="{html.escape(ALT)}" style="max-width: 100%; ')
    found = re.match(f"{start}width: (\\d+)px; height: auto\" src=\"data:image/png;base64,",
                     data["text/html"])
    assert 0 < int(found[1]) <= 640 and "image/png" not in data
    shown = base64.b64decode(re.search('base64,([^"]+)', data["text/html"])[1])
    assert shown.startswith(b"\x89PNG") and data["text/plain"] == repr(drawing) == str(drawing)
    assert repr(drawing).startswith(f"[picture] {ALT}\n") and draw()._repr_mimebundle_() == data
    assert plt.get_fignums() == [] and dict(matplotlib.rcParams) == before, "it leaves no style"


@pytest.mark.parametrize("draw, said, labels", [
    (lambda **more: weights(MAPS, titles=["one", "two"], **more),
     """one: columns a, b, c
       dog    0.10    0.90    0.00
       man    0.70    0.20    0.30
two: columns a, b, c
       dog    0.60    0.05    0.80
       man    0.00    1.00    0.40""", "one; two; columns a, b, c; rows dog, man"),
    (lambda **more: weights(torch.arange(105.0).reshape(7, 15) / 100, [*"abcdefg"], ["x"] * 15,
                            signed=True, **more),
     "7 x 15, first row 0 0.02 0.04 0.06 0.08 0.1 0.12 0.14, "
     "first column 0 0.15 0.3 0.45 0.6 0.75 0.9",
     "columns x, x, x, x, x, x, x, x, x, x, x, x, x, x, x; rows a, b, c, d, e, f, g"),
    (lambda **more: lines(
        y=[0.5, torch.nan, 0.125], title="Time", marks={"trained": 2.5},
        points={"known": ([1, 3, 2, 4], [2e-7, -0.00042, 999.4, 1234.6])}, **more),
     "Time: seconds over n\nn: 1 2 4\nerror: 0.5 nan 0.125\nknown: 0 -0.0004 999 1235\n"
     "trained at 2.5", "Time: seconds over n"),
    (lambda **more: column([1, -0.2506], title="Points", **more),
     "Points: score: one 1, two -0.251", "Points: score: one, two")],
    ids=["maps", "large map", "lines", "bars"])
def test_the_words_are_all_that_is_drawn_but_numbers_that_vary(draw, said, labels):
    varies = draw(name="99-trained")
    assert draw().data == said and varies.data == labels and varies.alt == ALT


@pytest.mark.parametrize("draw", [
    lambda **more: lines(range(30), np.linspace(3, 9, 30), height=4, title="title", **more),
    lambda **more: lines((1, 2, 4), (0.5, 0.25, np.nan), marks={"m": 2}, **more),
    lambda **more: weights([[1.0, 1.0]], ["a long name"], ["a", "b"], **more),
    lambda **more: column((0.4, 0.9), **more)])
def test_handles_lie_on_the_ink_of_the_stored_picture(draw):
    """And what lies under the covers is all of it."""
    drawing = draw(name="99-drawn")
    image = drawing.image()[1]  # which differs in nothing from that of a figure that isn't drawn
    picture = np.asarray(Image.open(io.BytesIO(image)).convert("RGB")).astype(int)
    assert image == draw().image()[1] and 1 < len(drawing.places()["at"]) < 10
    coloured = np.ptp(picture, axis=2) > 60
    for _, x, y, _ in drawing.places()["at"]:
        x, y = round(x), round(y)
        assert coloured[y:y + 9, x - 1:x + 2].any(), (x, y)
        assert drawing.places()["kind"] == "map" or not coloured[y - 12:y - 6, x].any(), (x, y)
    for x, y, width, height in drawing.places()["covers"]:
        coloured[round(y):round(y + height), round(x):round(x + width)] = False
    assert not coloured.any()


# ---- maps ----------------------------------------------------------------------------------------

def texts(labels):
    return [label.get_text() for label in labels]


def test_a_number_is_written_in_the_colour_that_can_be_read():
    for place in np.linspace(0, 1, 48):
        linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4
                  for part in plotting.SIGNED(place)[:3]]
        ground = linear @ np.array((0.2126, 0.7152, 0.0722)) + 0.05
        usable = {"white": 1.05 / ground, "black": ground / 0.05}
        written = plotting.readable_on(plotting.SIGNED(place))
        assert written == max(usable, key=usable.get) and usable[written] > 4.5


@pytest.mark.parametrize("maps, written, edges, bar", [
    (torch.stack([torch.eye(8), torch.full((8, 8), 1 / 9)]), {"0.00", "1.00"}, False, False),
    (torch.eye(8), {"0", "1"}, False, False), (torch.eye(8) > 0, {"0", "1"}, False, False),
    (torch.eye(5, 13), set(), False, True), ((torch.eye(5, 13) > 0).numpy(), set(), False, False),
    (torch.eye(5, 13).expand(2, 5, 13), set(), True, True)])
def test_small_maps_show_their_numbers_and_others_a_bar_unless_they_are_yes_and_no(
        maps, written, edges, bar):
    """Whole numbers only where all are; two maps without numbers have edges, or look like one."""
    axes = heatmaps(maps, range(maps.shape[-2]), range(maps.shape[-1])).figure.axes
    assert set(texts(axes[0].texts)) == written
    assert axes[0].spines["top"].get_visible() == edges
    assert len(axes) == (len(maps) if maps.ndim > 2 else 1) + bar


# ---- what is given -------------------------------------------------------------------------------

def test_dollars_are_dollars():
    label = r"$\foo$"
    for drawing in (weights(rows=("dog", label), titles=["one"]), weights(titles=[label]),
                    weights(row_label=label), weights(column_label=label),
                    lines(name="", title=label), lines(line=label), lines(xlabel=label),
                    lines(ylabel=label), column(labels=("dog", label)), column(ylabel=label)):
        assert r"\$\foo\$" in texts(drawing.figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("values", [MAP.tolist(), MAP.numpy(), MAP.half(), [MAP[0], MAP[1]],
                                    MAP.clone().requires_grad_()])
def test_numbers_of_any_kind(values):
    assert array(values).dtype == np.float64
    assert np.allclose(array(values), MAP.numpy(), atol=1e-3)


@pytest.mark.parametrize("wrong, words", [
    (lambda: weights(MAP.T), r"shape \(3, 2\), but there are 2 row and 3 column labels"),
    (lambda: weights(titles=["one", "two"]), "2 titles for 1 maps"),
    (lambda: weights(MAP.double() / 0.9 + 2e-6), "must lie in 0..1, got 2e-06..1: use signed=True"),
    (lambda: weights(MAP.double() - 2e-6), "got -2e-06..0.9: use"),
    (lambda: weights(MAP * torch.nan, signed=True), "values must be finite, got nan"),
    (lambda: weights(torch.zeros(0, 2, 3)), r"nothing to draw: .* in values, of shape \(0, 2, 3\)"),
    (lambda: weights(torch.eye(512), range(512), range(512), numbers=True),
     "cells of 0.02 inches are too small for numbers, which need 0.3"),
    (lambda: weights(name="99-none"), "name='99-none' has no alternative text: add 'none' to "
     "lesson_99/alt.toml"),
    (lambda: lines(name="98-figure"), "add 'figure' to lesson_98/alt.toml"),
    (lambda: lines(x=(), y=()), "nothing to draw: no numbers in x"),
    (lambda: curves([1], {}, xlabel="n", ylabel="y"), "nothing to draw: there are no lines"),
    (lambda: lines(x=[[1, 2]], y=[[1, 2]]), r"'error' has shape \(1, 2\)"),
    (lambda: lines(y=(1, 2)), r"'error' has shape \(2,\), its x has shape \(3,\)"),
    (lambda: lines(y=(1, torch.inf, 3)), "'error' must be finite, got inf$"),
    (lambda: lines(y=[torch.nan] * 3), "nothing to draw: no numbers in 'error'"),
    (lambda: lines(x=(0, 1, 2), log=True), "x must be finite and above 0, .* got 0"),
    (lambda: lines(y=(1, -2, 3), log=True), "'error' must be .* got -2"),
    (lambda: lines(marks={"trained": torch.nan}), "mark 'trained' must be finite, got nan"),
    (lambda: lines(points={"known": ([1, 2], [1])}), r"'known' has shape \(1,\)"),
    (lambda: lines(points={"known": ([1], [torch.inf])}), "'known' must be finite"),
    (lambda: column(labels=("one",)), r"shape \(2,\), but there are 1 labels"),
    (lambda: column(values=(1.0, torch.nan)), "values must be finite, got nan"),
    (lambda: table([(1, 2)], ["a", "b", "c"]), "a row has 2 values for 3 columns")])
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


# ---- tables, and the drawings in images/ ---------------------------------------------------------

def test_a_table_has_headers_and_numbers_and_takes_tensors_and_hostile_words():
    shown = table([("dog", 1, torch.tensor(0.25), None), ("<b>", 12345, -0.0001, True),
                   (torch.tensor(3), 7, np.float32(0.5), "`X`")], ["", "n", "weight", "`seen`"])
    assert repr(shown) == """          n  weight  seen
dog       1    0.25
<b>  12,345    0.00  True
  3       7    0.50     X"""
    assert shown._repr_html_() == plotting.folded() + (
        '<table><thead><tr><td></td><th scope="col">n</th><th scope="col">weight</th>'
        '<th scope="col"><code>seen</code></th></tr></thead><tbody>'
        '<tr><th scope="row">dog</th><td>1</td><td>0.25</td><td></td></tr>'
        '<tr><th scope="row">&lt;b&gt;</th><td>12,345</td><td>0.00</td><td>True</td></tr>'
        '<tr><th scope="row">3</th><td>7</td><td>0.50</td><td><code>X</code></td></tr>'
        '</tbody></table>')
    assert table([(1.25,)], "a", digits=1).rows == [["1.2"]]


def test_a_picture_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match="there is no images/none.svg"):
        picture("none")
