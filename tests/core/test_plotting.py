"""Pictures say in words what they show, notice what they can't show, and list their numbers: a wrong
one is seen in a text comparison."""
import base64
import html
import io
import re
from types import SimpleNamespace

import IPython
import matplotlib
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot as plt
from PIL import Image
from readme import ROOT

from d2l_ext import plotting
from d2l_ext.plotting import Drawing, array, bars, curves, heatmaps, picture, table

ALT = "Each token looks at the one before it, and \"man\" at none"
NAME = "99-figure"
MAP = torch.tensor([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0]])


@pytest.fixture(autouse=True)
def words(tmp_path, monkeypatch):
    """A lesson 99 with alternative texts of its own."""
    (tmp_path / "alt").mkdir()
    text = f"figure = '{ALT}'\n\n[trained]\nvaries = true\ntext = '{ALT}'\n"
    (tmp_path / "alt/99.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(plotting, "ALT", tmp_path / "alt")


def png(drawing) -> bytes:
    return base64.b64decode(re.search("base64,([^\"]+)", drawing._repr_mimebundle_()["text/html"])[1])


def weights(values=MAP, rows=("dog", "man"), columns=("a", "b", "c"), **more):
    return heatmaps(values, rows, columns, **{"name": NAME} | more)


def lines(x=(1, 2, 4), y=(0.5, 0.25, 0.125), line="error", xlabel="n", ylabel="seconds", **more):
    return curves(x, {line: y}, **{"xlabel": xlabel, "ylabel": ylabel, "name": NAME} | more)


def column(values=(1.0, 2.0), labels=("one", "two"), ylabel="score", **more):
    return bars(values, labels, **{"ylabel": ylabel, "name": NAME} | more)


@pytest.mark.parametrize("draw", [weights, lambda: weights(torch.stack([MAP, MAP]) - 0.5, titles=["one", "two"], signed=True), lines, lambda: lines(log=True), column])
def test_a_drawing_is_a_picture_with_words(draw):
    drawing = draw()
    data, _ = DisplayFormatter().format(drawing)
    assert png(drawing).startswith(b"\x89PNG")
    assert f'alt="{html.escape(ALT)}"' in data["text/html"] and "image/png" not in data
    assert data["text/plain"] == repr(drawing) == str(drawing)
    assert repr(drawing).startswith(f"[picture] {ALT}\n")
    assert draw()._repr_mimebundle_() == data


def test_no_bare_image_where_pyplot_draws_inline(monkeypatch):
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    shell.display_formatter.formatters["image/png"].for_type(matplotlib.figure.Figure, lambda figure: b"bare")
    assert "image/png" in shell.display_formatter.format(plt.figure())[0]
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert set(shell.display_formatter.format(weights())[0]) == {"text/html", "text/plain"}
    plt.close("all")


@pytest.mark.parametrize("draw", [weights, lines, column])
def test_without_a_name_it_says_its_numbers(draw):
    drawing = draw(name="")
    assert drawing.alt == drawing.data and repr(drawing) == f"[picture] {drawing.data}"
    assert repr(draw()) == f"[picture] {ALT}\n{drawing.data}"


def test_a_name_without_a_text_is_refused():
    with pytest.raises(ValueError, match="name='99-none' has no alternative text: add 'none' to alt/99.toml"):
        weights(name="99-none")
    with pytest.raises(ValueError, match="add 'figure' to alt/98.toml"):
        lines(name="98-figure")


def test_numbers_asked_for_in_a_large_map_are_not_rounded_away():
    drawing = heatmaps(torch.full((9, 9), 1 / 9), range(9), range(9), name=NAME, numbers=True)
    assert {text.get_text() for text in drawing.figure.axes[0].texts} == {"0.11"}


def test_a_drawing_shows_once_and_leaves_no_style():
    before = dict(matplotlib.rcParams)
    assert isinstance(weights(), Drawing) and isinstance(lines(), Drawing)
    assert plt.get_fignums() == [] and dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("draw, change", [
    (weights, {"values": MAP[:, [1, 0, 2]]}), (weights, {"values": MAP.flip(0)}), (weights, {"rows": ("man", "dog")}), (weights, {"columns": ("b", "a", "c")}),
    (weights, {"values": MAP + torch.tensor([[0, 0, 0.02], [0, 0, 0]])}), (weights, {"name": ""}),
    (lines, {"y": (0.125, 0.25, 0.5)}), (lines, {"x": (1, 2, 3)}), (lines, {"line": "loss"}), (lines, {"xlabel": "seconds", "ylabel": "n"}), (lines, {"title": "Time"}),
    (column, {"values": (2.0, 1.0)}), (column, {"labels": ("two", "one")}), (column, {"ylabel": "loss"})],
    ids=lambda thing: getattr(thing, "__name__", None) or "-".join(thing))
def test_a_wrong_drawing_has_another_repr(draw, change):
    assert repr(draw(**change)) != repr(draw())


def test_a_transposed_map_has_another_repr():
    square = torch.rand(3, 3)
    assert repr(weights(square, "abc", "abc")) != repr(weights(square.T, "abc", "abc"))
    large = torch.rand(12, 12)
    assert repr(weights(large, range(12), range(12))) != repr(weights(large.T, range(12), range(12)))


def test_the_wrong_panel_under_a_title_has_another_repr():
    pair = torch.stack([MAP, MAP.flip(1)])
    assert repr(weights(pair, titles=["one", "two"])) != repr(weights(pair, titles=["two", "one"]))


def test_small_noise_and_minus_zero_do_not_show():
    assert repr(weights(MAP + 1e-5 * torch.tensor([[-1, 1, 1], [1, 1, 1]]))) == repr(weights())
    assert "-0" not in repr(weights(-0.0 * MAP, signed=True))


@pytest.mark.parametrize("draw, change, kept", [
    (weights, {"values": MAP.flip(1)}, ("dog", "man", "b")), (lines, {"y": (3, 2, 1)}, ("seconds", "n")),
    (column, {"values": (7.0, 1.0)}, ("one", "two", "score"))], ids=["map", "lines", "bars"])
def test_numbers_that_vary_stay_out_of_the_repr(draw, change, kept):
    drawing = draw(name="99-trained")
    assert repr(drawing) == repr(draw(name="99-trained", **change)) and drawing.alt == ALT
    assert repr(draw()) != repr(draw(**change)) and all(word in drawing.data for word in kept)
    assert not re.search(r"\d\.\d", drawing.data)


def test_maps_share_one_scale_from_white():
    axes = weights(torch.stack([MAP, MAP / 4]), titles=["one", "two"]).axes[:2]
    assert [axis.images[0].get_clim() for axis in axes] == [(0, 1), (0, 1)]
    assert axes[0].images[0].cmap(0.0) == axes[1].images[0].cmap(0.0) == (1, 1, 1, 1)
    low, high = weights(MAP * -3, signed=True).axes[0].images[0].get_clim()
    assert -low == high == 3
    axis = weights().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["dog", "man"] and (axis.get_ylabel(), axis.get_xlabel()) == ("query", "key")


def test_yes_and_no_have_no_bar():
    assert len(weights(MAP > 0.5).axes) == 1 and len(weights(MAP).axes) == 2


def test_lines_are_named_at_their_ends():
    drawing = curves([1, 2], {"first": [1, 2], "second": [1, 2.01]}, xlabel="n", ylabel="y", name=NAME)
    assert [text.get_text() for text in drawing.axes[0].texts] == ["first", "second"] and drawing.axes[0].get_legend() is None
    heights = [text.get_position()[1] for text in drawing.axes[0].texts]
    assert heights[1] - heights[0] > 5  # moved apart


def test_curves_may_be_taller_and_wider():
    usual, taller, wider = (drawing.get_size_inches() for drawing in (lines(), lines(height=5.2), lines(width=8.4)))
    assert taller[1] - usual[1] == pytest.approx(2) and wider[0] - usual[0] == pytest.approx(2)


@pytest.mark.parametrize("wrong, words", [
    (lambda: weights(MAP.T), r"shape \(3, 2\).*2 row and 3 column"), (lambda: weights(MAP[0]), "row and 3 column"), (lambda: weights(rows=("dog",)), "1 row and 3 column"),
    (lambda: weights(titles=["one", "two"]), "2 titles for 1 maps"), (lambda: weights(MAP * 2), "0..1, got 0..2: use signed=True"),
    (lambda: weights(-MAP), "use signed=True"),
    (lambda: weights(MAP * float("nan"), signed=True), r"finite, got nan at \[0, 0\]"),
    (lambda: weights(torch.stack([MAP, MAP / MAP])), r"finite, got nan at \[1, 0, 1\]"),
    (lambda: lines(x=(), y=()), "nothing to draw: x has 0 places"),
    (lambda: curves([1], {}, xlabel="n", ylabel="y"), "there are 0 lines"),
    (lambda: lines(y=(1, 2)), r"line 'error' has shape \(2,\), x has shape \(3,\)"),
    (lambda: column(labels=("one",)), r"shape \(2,\), but there are 1 labels")])
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def test_a_large_map_stays_a_picture():
    drawing = weights(torch.eye(512), range(512), range(512))
    assert max(drawing.get_size_inches()) < 17 and len(drawing._repr_mimebundle_()["text/html"]) < 200_000
    shown = [label.get_text() for label in drawing.axes[0].get_xticklabels()]
    assert shown[0] == "0" and len(shown) < 80
    assert len(weights().axes[0].get_xticklabels()) == 3


def test_a_label_may_come_twice():
    drawing = column(values=(1.0, 2.0, 3.0), labels=("dog", "man", "dog"))
    bars = drawing.axes[0].patches
    assert [bar.get_height() for bar in bars] == [1, 2, 3] and len({bar.get_x() for bar in bars}) == 3
    assert [label.get_text() for label in drawing.axes[0].get_xticklabels()] == ["dog", "man", "dog"]


@pytest.mark.parametrize("label", ["$5 and $6", r"$\foo$", "a$"])
def test_dollars_are_dollars(label):
    for drawing in (weights(rows=("dog", label)), column(labels=("dog", label)), lines(name="", title=label),
                    weights(titles=[label]), curves([1, 2], {label: [1, 2]}, xlabel="x", ylabel="y")):
        assert png(drawing)
        texts = [text.get_text() for text in drawing.findobj(matplotlib.text.Text)]
        assert label.replace("$", r"\$") in texts


def test_marks_are_drawn_and_listed():
    drawing = lines(marks={"trained": 2})
    assert [line.get_xdata()[0] for line in drawing.axes[0].lines[1:]] == [2] and "trained at 2" in repr(drawing)


# ---- tables -----------------------------------------------------------------------------------------------------------------------------

ROWS = [("dog", 1, 0.25, None), ("man", 12345, -0.0001, True)]


def test_a_table_has_headers_and_numbers():
    shown = table(ROWS, ["who", "n", "weight", "seen"])
    assert repr(shown) == """who       n  weight  seen
dog       1    0.25
man  12,345    0.00  True"""
    assert shown._repr_html_().startswith('<table><thead><tr><th scope="col">who</th>')
    assert '<tr><th scope="row">man</th><td>12,345</td><td>0.00</td><td>True</td></tr>' in shown._repr_html_()
    assert repr(table(ROWS, "abcd", digits=3)) != repr(shown)
    assert table([], ["", "n"])._repr_html_().startswith('<table><thead><tr><td></td><th scope="col">n')


def test_a_table_takes_tensors_and_hostile_words():
    shown = table([("<b>", *torch.tensor([1.5, 2.0])), (torch.tensor(3), np.float32(0.5), 7)], "abc", digits=1)
    assert [row[1:] for row in shown.rows] == [["1.5", "2.0"], ["0.5", "7"]] and shown.rows[1][0] == "3"
    assert "<b>" not in shown._repr_html_() and "&lt;b&gt;" in shown._repr_html_()


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="a row has 2 values for 3 columns"):
        table([(1, 2)], ["a", "b", "c"])


@pytest.mark.parametrize("values", [MAP.tolist(), MAP.numpy(), MAP.half(), MAP.clone().requires_grad_(), [MAP[0], MAP[1]], MAP.double()])
def test_numbers_of_any_kind(values):
    assert array(values).dtype == np.float64 and np.allclose(array(values), MAP.numpy())


# ---- the drawings in images/ ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", sorted((ROOT / "images").glob("*.svg")), ids=lambda path: path.stem)
def test_picture_shows_the_file_with_its_description(path):
    data = picture(path.stem)._repr_mimebundle_()
    alt, source = re.fullmatch(r'<img alt="([^"]+)" style="[^"]*" src="data:image/svg\+xml;base64,([^"]+)">', data["text/html"]).groups()
    assert base64.b64decode(source) == path.read_bytes()
    assert len(alt) >= 20 and data["text/plain"] == f"[picture] {picture(path.stem).alt}"


def test_a_description_may_hold_quotes(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    (tmp_path / "images/00_x.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><desc>Rows &amp; columns,\n  "dog" &lt; "man"</desc></svg>', encoding="utf-8")
    monkeypatch.setattr(plotting, "__file__", str(tmp_path / "plotting.py"))
    assert repr(picture("00_x")) == '[picture] Rows & columns, "dog" < "man"'
    assert 'alt="Rows &amp; columns, &quot;dog&quot; &lt; &quot;man&quot;"' in picture("00_x")._repr_mimebundle_()["text/html"]


def test_a_missing_picture_is_named():
    with pytest.raises(FileNotFoundError, match="no images/09_nothing.svg"):
        picture("09_nothing")


def test_points_are_drawn_and_listed():
    drawing = lines(points={"known": ([1, 3], [0.25, 0.75])})
    assert "known" in repr(drawing) and "0.25 0.75" in repr(drawing)
    assert repr(drawing) != repr(lines(points={"known": ([1, 3], [0.75, 0.25])})) and repr(lines()) == repr(lines(points={}))


def test_stored_pictures_are_small_and_keep_white_white():
    stored = png(weights())
    picture = Image.open(io.BytesIO(stored))
    assert picture.mode == "P" and picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert len(stored) < 10_000
