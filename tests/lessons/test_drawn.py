"""What is drawn is what was asked for: numbers, labels, places and colours are read back.

They are read from the finished figure, its pixels and its artists, never from the arguments. All
sizes, labels and numbers differ, so that nothing can change places unnoticed.
"""
import io

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from PIL import Image

from attention_lessons.plotting import bars, curves, heatmaps

BLUE, ORANGE, WHITE = (np.array(to_rgb(colour)) for colour in ("#0072B2", "#D55E00", "white"))
MAPS = torch.tensor([[[0.1, 0.9, 0.0], [0.7, 0.2, 0.3]], [[0.6, 0.05, 0.8], [0.0, 1.0, 0.4]],
                     [[0.25, 0.5, 0.15], [0.85, 0.35, 0.45]], [[0.3, 0.0, 0.6], [0.2, 0.1, 0.55]]])
SIGNED = MAPS * torch.tensor([[-2.0, 1.5, -1.0], [3.0, -1.0, -2.5]])  # lowest: not -limit
ROWS, COLUMNS, TITLES = ["dog", "man"], ["a", "b", "c"], ["one", "two", "three", "four"]


def texts(labels):
    return [label.get_text() for label in labels]


class Pixels:
    """A drawing as it is seen: the colour at a place of an axis."""

    def __init__(self, drawing):
        file = io.BytesIO()
        drawing.savefig(file, format="png", dpi=drawing.dpi)
        self.image = np.asarray(Image.open(file).convert("RGB")) / 255

    def at(self, axis, x, y):
        across, up = axis.transData.transform((x, y))
        return self.image[len(self.image) - 1 - int(up), int(across)]


def colour_of(value, limit=1.0):
    """White at 0, blue at the limit, orange at the limit below 0."""
    share = abs(value) / limit
    return (1 - share) * WHITE + share * (BLUE if value >= 0 else ORANGE)


def ticks(axis):
    """The label at each place."""
    places = {tick.get_loc(): tick.label1.get_text() for tick in axis.get_major_ticks()}
    return {round(place): label for place, label in places.items()}


def same_colour(one, other):
    return np.abs(one - other).max() < 0.02


def brightness(colour):
    linear = np.where(colour <= 0.04, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722) + 0.05


@pytest.mark.parametrize("count, signed", [(1, True), (3, False), (4, True)])
def test_maps_have_the_colours_numbers_and_words_of_their_values(count, signed):
    maps = (SIGNED if signed else MAPS)[:count]
    limit = maps.abs().max().item() if signed else 1.0
    drawing = heatmaps(maps, ROWS, COLUMNS, titles=TITLES[:count], signed=signed,
                       row_label="asks", column_label="answers", numbers=True)
    pixels, axes = Pixels(drawing), drawing.axes
    assert len(axes) == count and ticks(axes[0].yaxis) == dict(enumerate(ROWS))
    for axis, panel, title in zip(axes, maps.tolist(), TITLES):
        assert axis.get_title() == title and ticks(axis.xaxis) == dict(enumerate(COLUMNS))
        assert (axis.get_xlim(), axis.get_ylim()) == ((-0.5, 2.5), (1.5, -0.5)), "only the cells"
        values = {(column, row): panel[row][column] for row in range(2) for column in range(3)}
        assert {text.get_position(): text.get_text() for text in axis.texts} == {
            place: f"{value:.2f}" for place, value in values.items()}
        for (column, row), value in values.items():
            colour = pixels.at(axis, column + 0.35, row - 0.35)
            assert same_colour(colour, colour_of(value, limit))
    assert [axis.get_xlabel() for axis in axes] == ["answers"] * count
    assert [axis.get_ylabel() for axis in axes] == ["asks"] + [""] * (count - 1)


def test_a_number_is_written_in_the_colour_that_can_be_read():
    values = torch.linspace(-1, 1, 48).reshape(6, 8)
    axis = heatmaps(values, range(6), range(8), signed=True).axes[0]
    for text, value in zip(axis.texts, values.flatten().tolist(), strict=True):
        ground = brightness(colour_of(value))
        usable = {"white": 1.05 / ground, "black": ground / 0.05}
        assert text.get_color() == max(usable, key=usable.get) and max(usable.values()) > 4.5


def test_each_map_of_up_to_64_cells_shows_its_numbers_whole_ones_only_where_all_are():
    maps = torch.stack([torch.eye(7, 9), torch.full((7, 9), 1 / 9)])
    axes = heatmaps(maps, range(7), range(9), titles=["one", "two"]).axes[:2]
    assert [set(texts(axis.texts)) for axis in axes] == [{"0.00", "1.00"}, {"0.11"}]
    whole = heatmaps(maps[:1], range(7), range(9)).axes[0]
    assert set(texts(whole.texts)) == {"0", "1"}
    large = heatmaps(torch.eye(5, 13).expand(2, 5, 13), range(5), range(13)).axes[0]
    assert not large.texts and large.spines["top"].get_visible(), "two do not look like one"


@pytest.mark.parametrize("maps, signed", [(MAPS[0], False), (SIGNED, True)])
def test_maps_without_numbers_have_a_bar(maps, signed):
    limit = maps.abs().max().item() if signed else 1.0
    drawing = heatmaps(maps, ROWS, COLUMNS, signed=signed, numbers=False)
    pixels, (*axes, bar) = Pixels(drawing), drawing.axes
    assert len(axes) == (len(maps) if signed else 1)
    for value in np.linspace(-0.95 * limit if signed else 0.05, 0.95 * limit, 9):
        assert same_colour(pixels.at(bar, 0.5, value), colour_of(value, limit))


def test_yes_and_no_are_cells_of_their_own_without_a_bar():
    for yes in (MAPS[0] > 0.2, (MAPS[0] > 0.2).numpy()):
        drawing = heatmaps(yes, ROWS, COLUMNS, numbers=False)
        axis, = drawing.axes
        colours = [Pixels(drawing).at(axis, *place) for place in ((1, 0), (0, 0), (0.5, 0))]
        assert same_colour(colours[2], np.ones(3)) and not same_colour(colours[0], colours[1])


# ---- lines ---------------------------------------------------------------------------------------

X = [1, 2, 4, 8, 16]
LINES = {f"line {i}": [0.1 * i + 0.03 * i * j + 0.2 / x for j, x in enumerate(X)]
         for i in range(1, 6)}
POINTS = {"known": ([1.5, 3, 12], [0.9, 0.35, 0.6])}


def test_curves_have_the_places_names_and_axes_of_their_numbers():
    drawing = curves(X, LINES, xlabel="tokens", ylabel="loss", title="Loss", points=POINTS,
                     marks={"trained": 4.5, "tried": 9}, width=5.5, height=4.5)
    axis = drawing.axes[0]
    drawn = [line.get_xydata().T.tolist() for line in axis.lines]
    wanted = [[X, y] for y in LINES.values()] + [[*POINTS["known"]]]
    assert np.allclose(np.concatenate(drawn[:6], 1), np.concatenate(wanted, 1))
    assert [line.get_linestyle() for line in axis.lines[5:6]] == ["None"], "points aren't joined"
    assert [line.get_marker() for line in axis.lines[:6]] == ["None"] * 5 + ["o"]
    assert drawn[6:] == [[[4.5, 4.5], [0, 1]], [[9, 9], [0, 1]]]
    assert all(line.get_transform() == axis.get_xaxis_transform() for line in axis.lines[6:])
    named = {text.get_text(): text.xy for text in axis.texts}
    assert named == {"trained": (4.5, 1), "tried": (9, 1), "known": (12, 0.6)} | {
        name: (16, y[-1]) for name, y in LINES.items()}
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == ("tokens", "loss", "Loss")
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "linear")
    inches = axis.get_window_extent().transformed(drawing.dpi_scale_trans.inverted())
    assert abs(inches.width - 5.5) < 1.2 and abs(inches.height - 4.5) < 0.7


def test_logarithmic_curves_name_their_points():
    axis = curves(X, LINES, xlabel="n", ylabel="s", log=True, markers=True).axes[0]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert texts(axis.get_xticklabels()) == ["1", "2", "4", "8", "16"]
    assert list(axis.get_xticks()) == X
    assert {line.get_marker() for line in axis.lines} == {"o"}


def test_names_at_line_ends_stand_apart_in_the_order_of_the_ends():
    ends = {"c": 0.503, "a": 0.5, "d": 0.504, "b": 0.502, "e": 0.9}
    drawing = curves([1, 2], {name: [0, end] for name, end in ends.items()}, xlabel="x", ylabel="y")
    axis, points = drawing.axes[0], 72 / drawing.dpi
    places = {text.get_text(): axis.transData.transform(text.xy)[1] * points
              + text.get_position()[1] for text in axis.texts}
    order = sorted(places, key=places.get)
    assert order == list("abcde")
    assert min(places[upper] - places[lower] for lower, upper in zip(order, order[1:])) > 12


# ---- bars and tables -----------------------------------------------------------------------------

def test_bars_have_the_heights_and_names_that_were_given():
    heights, labels = [0.125, 3.5, 2.25, 1.0], ["dog", "man", "dog", "bites"]
    axis = bars(heights, labels, ylabel="score", title="Four").axes[0]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axis.patches]
    named = ticks(axis.xaxis)
    assert [named[round(middle)] for middle in middles] == labels
    assert middles == pytest.approx(range(4)), "above their names"
    assert [(bar.get_y(), bar.get_height()) for bar in axis.patches] == [(0, h) for h in heights]
    assert all(to_rgb(bar.get_facecolor()[:3]) == tuple(BLUE) for bar in axis.patches)
    written = {text.get_text(): text.xy for text in axis.texts}
    assert written == {f"{height:.3g}": pytest.approx((place, height))
                       for place, height in enumerate(heights)}
    assert (axis.get_ylabel(), axis.get_title()) == ("score", "Four")
