"""Drawings say in words what they show, refuse what they can't show, and list their numbers.

A wrong drawing has another text, so a comparison of texts notices it.
"""
import base64
import html
import re

import matplotlib
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot as plt
from tools import ROOT

from attention_lessons import plotting
from attention_lessons.plotting import Drawing, array, bars, curves, heatmaps, picture, table

ALT = "Each token looks at the one before it, and \"man\" at none"
NAME = "99-figure"
MAP = torch.tensor([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0]])
PAIR = torch.stack([MAP, MAP / 4])


@pytest.fixture(autouse=True)
def words(tmp_path, monkeypatch):
    """A lesson 99 with alternative texts of its own."""
    text = f"figure = '{ALT}'\n\n[trained]\nvaries = true\ntext = '{ALT}'\n"
    (tmp_path / "lesson_99").mkdir()
    (tmp_path / "lesson_99/alt.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(plotting, "HERE", tmp_path)


def png(drawing) -> bytes:
    shown = drawing._repr_mimebundle_()["text/html"]
    return base64.b64decode(re.search('base64,([^"]+)', shown)[1])


def texts(labels):
    return [label.get_text() for label in labels]


def weights(values=MAP, rows=("dog", "man"), columns=("a", "b", "c"), **more):
    return heatmaps(values, rows, columns, **{"name": NAME} | more)


def lines(x=(1, 2, 4), y=(0.5, 0.25, 0.125), line="error", xlabel="n", ylabel="seconds", **more):
    return curves(x, {line: y}, **dict(xlabel=xlabel, ylabel=ylabel, name=NAME) | more)


def column(values=(1.0, 2.0), labels=("one", "two"), ylabel="score", **more):
    return bars(values, labels, **dict(ylabel=ylabel, name=NAME) | more)


# ---- pictures and their words --------------------------------------------------------------------

def slowly(*values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.mark.parametrize("draw", [weights, lines, column, *slowly(
    lambda: weights(PAIR - 0.5, titles=["one", "two"], signed=True), lambda: lines(log=True))])
def test_a_drawing_is_a_picture_with_words(draw):
    before, drawing = dict(matplotlib.rcParams), draw()
    data, _ = DisplayFormatter().format(drawing)
    assert png(drawing).startswith(b"\x89PNG")
    start = f'<img alt="{html.escape(ALT)}" style="max-width: 100%; height: auto" src="data:'
    assert data["text/html"].startswith(f"{start}image/png;base64,") and "image/png" not in data
    assert drawing._repr_mimebundle_()["text/plain"] == repr(drawing) == str(drawing)
    assert repr(drawing).startswith(f"[picture] {ALT}\n") and isinstance(drawing, Drawing)
    assert draw()._repr_mimebundle_() == data
    assert plt.get_fignums() == [] and dict(matplotlib.rcParams) == before, "it leaves no style"


@pytest.mark.parametrize("draw, said", [
    (lambda: weights(PAIR, titles=["one", "two"]),
     """one: columns a, b, c
       dog    1.00    0.00    0.00
       man    0.75    0.25    0.00
two: columns a, b, c
       dog    0.25    0.00    0.00
       man    0.19    0.06    0.00"""),
    (lambda: weights(torch.arange(105.0).reshape(7, 15) / 100, range(7), range(15), signed=True),
     "7 x 15, first row 0 0.02 0.04 0.06 0.08 0.1 0.12 0.14, "
     "first column 0 0.15 0.3 0.45 0.6 0.75 0.9"),
    (lambda: lines(y=[0.5, torch.nan, 0.125], title="Time", marks={"trained": 2.5},
                   points={"known": ([1, 3], [0.25, 1234.6])}),
     "Time: seconds over n\nn: 1 2 4\nerror: 0.5 nan 0.125\nknown: 0.25 1235\ntrained at 2.5"),
    (lambda: column([1, -0.2506]), "score: one 1, two -0.251"),
    (lambda: column(title="Points"), "Points: score: one 1, two 2")],
    ids=["maps", "large map", "lines", "bars", "bars with a title"])
def test_the_words_are_all_that_is_drawn(draw, said):
    assert draw().data == said


def test_numbers_in_words_are_short():
    given = 0, 2e-7, -0.00042, 0.001, 1 / 3, 999.4, 1234.6
    assert [plotting.short(value) for value in given] == [
        "0", "0", "-0.0004", "0.001", "0.333", "999", "1235"]


@pytest.mark.parametrize("draw, change, kept", [
    (weights, dict(values=MAP.flip(1)), ("dog", "man", "b")),
    (lines, dict(y=(3, 2, 1)), ("seconds", "n")),
    (column, dict(values=(7.0, 1.0)), ("one", "two", "score"))], ids=["map", "lines", "bars"])
def test_numbers_that_vary_stay_out_of_the_repr(draw, change, kept):
    drawing = draw(name="99-trained")
    assert repr(drawing) == repr(draw(name="99-trained", **change)) and drawing.alt == ALT
    assert not re.search(r"\d\.\d", drawing.data) and all(word in drawing.data for word in kept)


# ---- what is drawn -------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_large_map_stays_a_picture():
    drawing = weights(torch.eye(200), range(200), range(200))
    assert max(drawing.get_size_inches()) < 17
    assert len(drawing._repr_mimebundle_()["text/html"]) < 200_000
    shown = texts(drawing.axes[0].get_xticklabels())
    assert shown[0] == "0" and len(shown) < 80


@pytest.mark.slow
@pytest.mark.parametrize("label", ["$5 and $6", r"$\foo$"])
def test_dollars_are_dollars(label):
    for drawing in (weights(rows=("dog", label)), column(labels=("dog", label)),
                    lines(name="", title=label), weights(titles=[label]), lines(line=label),
                    lines(xlabel=label), lines(ylabel=label), column(ylabel=label),
                    weights(row_label=label), weights(column_label=label)):
        assert png(drawing)
        assert label.replace("$", r"\$") in texts(drawing.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("values", [MAP.tolist(), MAP.numpy(), MAP.half(), [MAP[0], MAP[1]],
                                    MAP.clone().requires_grad_()])
def test_numbers_of_any_kind(values):
    assert array(values).dtype == np.float64 and np.allclose(array(values), MAP.numpy())


@pytest.mark.parametrize("wrong, words", [
    (lambda: weights(MAP.T), r"shape \(3, 2\), but there are 2 row and 3 column labels"),
    (lambda: weights(MAP[0]), "2 row and 3 column"),
    (lambda: weights(rows=("dog",)), "1 row and 3 column"),
    (lambda: weights(titles=["one", "two"]), "2 titles for 1 maps"),
    (lambda: weights(MAP * 2), "weights must lie in 0..1, got 0..2: use signed=True"),
    (lambda: weights(-MAP), "use signed=True"),
    (lambda: weights(MAP.double() + 2e-6), "got 2e-06..1: use"),
    (lambda: weights(MAP.double() - 2e-6), "got -2e-06..1: use"),
    (lambda: weights(MAP * torch.nan, signed=True), r"must be finite, got nan at \[0, 0\]"),
    (lambda: weights(torch.stack([MAP, MAP / MAP])), r"finite, got nan at \[1, 0, 1\]"),
    (lambda: lines(x=(), y=()), "nothing to draw: x has 0 places"),
    (lambda: curves([1], {}, xlabel="n", ylabel="y"), "there are 0 lines"),
    (lambda: lines(y=(1, 2)), r"line 'error' has shape \(2,\), x has shape \(3,\)"),
    (lambda: column(labels=("one",)), r"shape \(2,\), but there are 1 labels"),
    (lambda: column(values=(), labels=()), "there are 0 labels"),
    (lambda: column(values=(1.0, torch.nan)), "bar of 'two' has height nan"),
    (lambda: weights(torch.zeros(0, 2, 3)), r"nothing to draw: values have shape \(0, 2, 3\)"),
    (lambda: weights(torch.eye(512), range(512), range(512), numbers=True),
     "cells of 0.03 inches are too small for numbers, which need 0.3"),
    (lambda: lines(x=[[1, 2]], y=[[1, 2]]), r"shape \(1, 2\)"),
    (lambda: lines(y=(1, torch.inf, 3)), "line 'error' holds inf, .* it must be finite$"),
    (lambda: lines(y=[torch.nan] * 3), "line 'error' is NaN everywhere"),
    (lambda: lines(x=(1, torch.nan, 3)), "x holds nan"),
    (lambda: lines(x=(0, 1, 2), log=True), "x holds 0, .* finite and above 0"),
    (lambda: lines(y=(1, -2, 3), log=True), "line 'error' holds -2"),
    (lambda: lines(marks={"trained": torch.nan}), "mark 'trained' holds nan"),
    (lambda: lines(points={"known": ([], [])}), r"points 'known' need .* shapes \(0,\)"),
    (lambda: lines(points={"known": ([1, 2], [1])}), r"shapes \(2,\) and \(1,\)"),
    (lambda: lines(points={"known": ([1], [torch.inf])}), "points 'known' holds inf"),
    (lambda: lines(points={"error": ([1], [2])}), "points 'error' need a name of their own"),
    (lambda: weights(name="99-none"), "name='99-none' has no alternative text: add 'none' to "
     "lesson_99/alt.toml"),
    (lambda: lines(name="98-figure"), "add 'figure' to lesson_98/alt.toml"),
    (lambda: table([(1, 2)], ["a", "b", "c"]), "a row has 2 values for 3 columns")])
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


# ---- tables --------------------------------------------------------------------------------------

ROWS = [("dog", 1, 0.25, None), ("man", 12345, -0.0001, True)]


def test_a_table_has_headers_and_numbers():
    shown = table(ROWS, ["who", "n", "weight", "seen"])
    assert repr(shown) == """who       n  weight  seen
dog       1    0.25
man  12,345    0.00  True"""
    page = shown._repr_html_()
    assert page.startswith('<table><thead><tr><th scope="col">who</th>')
    row = '<tr><th scope="row">man</th><td>12,345</td><td>0.00</td><td>True</td></tr>'
    assert row in page and repr(table(ROWS, "abcd", digits=3)) != repr(shown)
    empty = table([], ["", "n"])._repr_html_()
    assert empty.startswith('<table><thead><tr><td></td><th scope="col">n')


def test_a_table_takes_tensors_and_hostile_words():
    rows = [("<b>", *torch.tensor([1.5, 2.0])), (torch.tensor(3), np.float32(0.5), 7)]
    shown = table(rows, "abc", digits=1)
    assert shown.rows == [["<b>", "1.5", "2.0"], ["3", "0.5", "7"]]
    assert "<b>" not in shown._repr_html_() and "&lt;b&gt;" in shown._repr_html_()


# ---- the drawings in images/ ---------------------------------------------------------------------

def test_a_picture_shows_the_file_with_its_description():
    name = "02_multi_head_block"
    drawing = picture(name)
    page = drawing._repr_mimebundle_()["text/html"]
    alt, source = re.fullmatch(r'<img alt="([^"]+)" style="[^"]*" '
                               r'src="data:image/svg\+xml;base64,([^"]+)">', page).groups()
    assert base64.b64decode(source) == (ROOT / f"images/{name}.svg").read_bytes()
    assert len(alt) >= 20 and repr(drawing) == f"[picture] {drawing.alt}"
