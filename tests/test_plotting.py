"""Pictures say in words what they show, notice what they can't show, and list their numbers, so that a wrong one is seen in a text comparison."""
import base64
import io
import re

import matplotlib
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot as plt
from PIL import Image
from notebook_rules import ROOT

from d2l_ext import plotting
from d2l_ext.plotting import Drawing, array, bars, curves, heatmaps, picture

ALT = "Each token looks at the one before it"
MAP = torch.tensor([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0]])


def weights(values=MAP, rows=("dog", "man"), columns=("a", "b", "c"), **more):
    return heatmaps(values, rows, columns, **{"alt": ALT} | more)


def lines(x=(1, 2, 4), y=(0.5, 0.25, 0.125), name="error", xlabel="n", ylabel="seconds", **more):
    return curves(x, {name: y}, **{"xlabel": xlabel, "ylabel": ylabel, "alt": ALT} | more)


def column(values=(1.0, 2.0), labels=("one", "two"), ylabel="score", **more):
    return bars(values, labels, **{"ylabel": ylabel, "alt": ALT} | more)


@pytest.mark.parametrize("draw", [weights, lambda: weights(torch.stack([MAP, MAP]) - 0.5, titles=["one", "two"], signed=True), lines, lambda: lines(log=True), column])
def test_a_drawing_is_a_png_with_words(draw):
    drawing = draw()
    data, metadata = DisplayFormatter().format(drawing)
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG") and metadata["image/png"]["alt"] == ALT
    assert data["text/plain"] == repr(drawing) == str(drawing) and repr(drawing).startswith(f"[picture] {ALT}\n")
    assert draw()._repr_mimebundle_()[0] == data


def test_numbers_asked_for_in_a_large_map_are_not_rounded_away():
    drawing = heatmaps(torch.full((9, 9), 1 / 9), range(9), range(9), alt=ALT, numbers=True)
    assert {text.get_text() for text in drawing.figure.axes[0].texts} == {"0.11"}


def test_a_drawing_shows_once_and_leaves_no_style():
    before = dict(matplotlib.rcParams)
    assert isinstance(weights(), Drawing) and isinstance(lines(), Drawing)
    assert plt.get_fignums() == [] and dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("draw, change", [
    (weights, {"values": MAP[:, [1, 0, 2]]}), (weights, {"values": MAP.flip(0)}), (weights, {"rows": ("man", "dog")}), (weights, {"columns": ("b", "a", "c")}),
    (weights, {"values": MAP + torch.tensor([[0, 0, 0.02], [0, 0, 0]])}), (weights, {"alt": ALT + "."}),
    (lines, {"y": (0.125, 0.25, 0.5)}), (lines, {"x": (1, 2, 3)}), (lines, {"name": "loss"}), (lines, {"xlabel": "seconds", "ylabel": "n"}), (lines, {"title": "Time"}),
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


def test_timings_stay_out_of_the_repr():
    assert repr(lines(secret=True)) == repr(lines(y=(3, 2, 1), secret=True))


def test_maps_share_one_scale_from_white():
    axes = weights(torch.stack([MAP, MAP / 4]), titles=["one", "two"]).axes[:2]
    assert [axis.images[0].get_clim() for axis in axes] == [(0, 1), (0, 1)]
    assert axes[0].images[0].cmap(0.0) == axes[1].images[0].cmap(0.0) == (1, 1, 1, 1)
    low, high = weights(MAP * -3, signed=True).axes[0].images[0].get_clim()
    assert -low == high == 3
    axis = weights().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["dog", "man"] and (axis.get_ylabel(), axis.get_xlabel()) == ("query", "key")


def test_lines_are_named_at_their_ends():
    drawing = curves([1, 2], {"first": [1, 2], "second": [1, 2.01]}, xlabel="n", ylabel="y", alt=ALT)
    assert [text.get_text() for text in drawing.axes[0].texts] == ["first", "second"] and drawing.axes[0].get_legend() is None
    heights = [text.get_position()[1] for text in drawing.axes[0].texts]
    assert heights[1] - heights[0] > 5  # moved apart


def test_curves_may_be_taller_and_wider():
    usual, taller, wider = (drawing.get_size_inches() for drawing in (lines(), lines(height=5.2), lines(width=8.4)))
    assert taller[1] - usual[1] == pytest.approx(2) and wider[0] - usual[0] == pytest.approx(2)


@pytest.mark.parametrize("wrong, words", [
    (lambda: weights(MAP.T), r"shape \(3, 2\).*2 row and 3 column"), (lambda: weights(MAP[0]), "row and 3 column"), (lambda: weights(rows=("dog",)), "1 row and 3 column"),
    (lambda: weights(titles=["one", "two"]), "2 titles for 1 maps"), (lambda: weights(MAP * 2), "0..1, got 0..2: use signed=True"),
    (lambda: weights(-MAP), "use signed=True"), (lambda: weights(alt="A map"), "must say what"), (lambda: lines(alt=""), "must say what"), (lambda: column(alt=""), "must say what")])
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def test_nan_is_no_weight():
    with pytest.raises(ValueError, match="0..1"):
        weights(MAP * float("nan"))


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
    png = base64.b64decode(weights()._repr_mimebundle_()[0]["image/png"])
    picture = Image.open(io.BytesIO(png))
    assert picture.mode == "P" and picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255) and len(png) < 10_000


def test_secret_pictures_keep_their_labels_and_hide_their_numbers():
    values = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    for draw in (lambda values, **more: heatmaps(values, ["dog", "man"], ["asks", "asked"], titles=["head 1"], alt="A map of two words and two columns", **more),
                 lambda values, **more: bars(values[0], ["dog", "man"], ylabel="height", alt="Two bars, one for each word", **more)):
        assert repr(draw(values, secret=True)) == repr(draw(values.flip(0), secret=True)) != repr(draw(values))
        assert all(word in repr(draw(values, secret=True)) for word in ("dog", "man")) and "0.25" not in repr(draw(values, secret=True))
