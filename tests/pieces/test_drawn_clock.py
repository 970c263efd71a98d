"""What the explorer of 04 draws, without a browser: hands, waves, P Pᵀ, curves and dots against the
package's sinusoids."""
import math

import pytest
import torch
from stage import DARK, LIGHT, check_map, check_picture, expected, perform, shade

from d2l_ext import sinusoids
from attention_lessons.pieces import clock_explorer

STEPS = 80  # 63 positions and 16 offsets further
SKY, ORANGE = (86, 180, 233), (230, 159, 0)


def rough(number):
    """Three figures, at most two of them decimals."""
    value = float(f"{number:.3g}") if number >= 1 else number
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def end_of(line):
    """From the first point to the last."""
    (x, y), *_, (right, down) = line.points
    return right - x, down - y


def check_clocks(picture, theme, position, offset, hand, P):
    """Each hand stands where two columns of P say: sine across, cosine up."""
    count = P.shape[1] // 2
    faces = [one for one in picture.rounds if one.width]
    wedges = [one for one in picture.rounds if one.width is None]
    assert len(faces) == len(wedges) == count
    names = [text for text in picture.texts]
    assert [text.text for text in names] == [f"{2 * i}, {2 * i + 1}" for i in range(count)]
    assert [text.text for text in names if text.bold] == [f"{2 * hand}, {2 * hand + 1}"]
    tips = [line for line in picture.lines if len(line.points) == 2]
    for i, (face, wedge, name) in enumerate(zip(faces, wedges, names)):
        assert face.colour == expected("ink" if i == hand else "faint", theme)
        assert face.width == (3 if i == hand else 1.5)
        assert abs(face.angles[1] - face.angles[0]) == pytest.approx(2 * math.pi)
        assert name.x == face.x and name.align == "center"
        assert 0 < name.y - face.y - face.radius < 20
        for line, place, colour, width in ((tips[2 * i], position, "ink", 2),
                                           (tips[2 * i + 1], position + offset, "query", 4)):
            assert line.points[0] == (face.x, face.y)
            across, down = end_of(line)
            length = math.hypot(across, down)
            assert 0.7 * face.radius < length < face.radius
            assert (across / length, -down / length) == pytest.approx(
                P[place, 2 * i:2 * i + 2].tolist(), abs=1e-5)
            assert (line.colour, line.width) == (expected(colour, theme), width)
        assert wedge.colour == shade(0.2, theme) and wedge.radius < face.radius
        start, end = (angle + math.pi / 2 for angle in wedge.angles)
        speed = 10000 ** (-2 * i / (2 * count))
        assert start == pytest.approx(position * speed)
        assert end - start == pytest.approx(min(offset * speed, 2 * math.pi))
    assert 0 < picture.high - names[-1].box[3] < 10
    columns = {face.x for face in faces}
    rows = sorted({face.y for face in faces})
    assert [(face.y, face.x) for face in faces] == sorted((face.y, face.x) for face in faces)
    assert len(columns) * len(rows) >= count
    assert all(face.x - face.radius >= 0 and face.x + face.radius <= picture.wide
               for face in faces)


def axis(picture, numbers):
    """Where numbers at the left stand, and where the lines at them begin and end."""
    heights, ends = [], set()
    for words in numbers:
        text = next(text for text in picture.texts if text.text == words and text.align == "right")
        line = next(block for block in picture.blocks if block.y == text.y)
        assert line.high == 1 and text.box[2] < line.x
        heights.append(text.y)
        ends.add((line.x, line.x + line.wide))
    assert len(picture.blocks) == len(numbers)
    return heights, *ends


def below(picture, high):
    """The numbers under a plot and where they stand."""
    found = [(int(text.text), text.x) for text in picture.texts
             if text.align == "center" and text.text.isdigit() and text.y > high]
    (first, start), (last, end) = found[0], found[-1]
    assert first == 0 and [x for _, x in found] == pytest.approx(
        [start + (end - start) * i / last for i, _ in found])
    return start, (end - start) / last


def check_waves(picture, theme, position, offset, hand, P):
    (low, middle, high), ends = axis(picture, ["-1", "0", "1"])
    assert low > middle > high and low - middle == pytest.approx(middle - high)
    start, per = below(picture, low)
    assert ends == pytest.approx((start, start + per * (STEPS - 1)))
    half = middle - high
    sine, cosine = picture.lines[:2]
    for line, colour, column in ((sine, SKY, 2 * hand), (cosine, ORANGE, 2 * hand + 1)):
        assert line.colour == colour
        assert line.points[-1][0] == pytest.approx(start + per * (STEPS - 1))
        at = {round((x - start) / per * 8): (middle - y) / half for x, y in line.points}
        assert len(at) == len(line.points) == 8 * (STEPS - 1) + 1
        assert [at[8 * i] for i in range(STEPS)] == pytest.approx(P[:, column].tolist(), abs=1e-5)
    for line, place, colour in zip(picture.lines[2:], (position, position + offset),
                                   ("ink", "query"), strict=True):
        assert line.colour == expected(colour, theme)
        assert [x for x, _ in line.points] == pytest.approx([start + per * place] * 2)
        assert [y for _, y in line.points] == [high, low]
    discs = iter(picture.rounds)
    for place, colour in ((position, "ink"), (position + offset, "query")):
        for column in (2 * hand, 2 * hand + 1):
            disc = next(discs)
            assert disc.colour == expected(colour, theme) and disc.width is None
            assert (disc.x, (middle - disc.y) / half) == pytest.approx(
                (start + per * place, float(P[place, column])), abs=1e-5)
    names = [picture.text(f"{name}, column {column}")
             for name, column in (("sine", 2 * hand), ("cosine", 2 * hand + 1))]
    ends = [middle - half * float(P[-1, column]) for column in (2 * hand, 2 * hand + 1)]
    gap = ends[1] - ends[0]
    push = math.copysign(max(0, 18 - abs(gap)) / 2, gap)  # a line's height apart
    assert [name.y for name in names] == pytest.approx([ends[0] - push, ends[1] + push], abs=1e-3)
    assert names[0].x == names[1].x == picture.text("position").x > sine.points[-1][0]
    assert picture.alt == (f"Sine and cosine of columns {2 * hand} and {2 * hand + 1} over "
                           f"positions 0 to 79, marked at {position} and {position + offset}.")


def check_products(picture, theme, position, offset, P):
    products = P @ P.T / (P.shape[1] / 2)
    lowest = products.min()
    big, = picture.maps
    check_map(big, (products - lowest) / (1 - lowest), theme)
    cell = big.wide / STEPS
    frame, = picture.frames
    middle = frame.x + frame.wide / 2 - big.x, frame.y + frame.high / 2 - big.y
    assert middle == pytest.approx(((position + offset + 0.5) * cell, (position + 0.5) * cell))
    assert frame.colour == expected("ink", theme) and frame.wide == frame.high == 3 * cell
    across = [text for text in picture.texts if text.align == "center"]
    down = [text for text in picture.texts if text.align == "right"]
    assert [text.text for text in across] == [text.text for text in down] == ["0", "20", "40", "60"]
    ends = [(20 * i + 0.5) * cell for i in range(4)]
    assert [text.x - big.x for text in across] == pytest.approx(ends)
    assert [text.y - big.y for text in down] == pytest.approx(ends)
    assert all(text.y < big.y for text in across) and all(text.box[2] < big.x for text in down)
    value = float(products[position, position + offset])
    assert picture.alt.endswith(f"At row {position}, column {position + offset}: {value:.2f}.")
    assert "positions 0 to 79" in picture.alt
    return float(lowest)


def check_alike(picture, theme, offset, P):
    products = (P @ P[0] / (P.shape[1] / 2)).tolist()
    speeds = 10000 ** (-torch.arange(0, P.shape[1], 2) / P.shape[1])
    quarters = (torch.arange(4 * STEPS - 3)[:, None] / 4 * speeds).cos().mean(1)
    lowest = min(0, math.floor(2 * float(quarters.min())) / 2)
    heights, ends = axis(picture, list(dict.fromkeys([rough(lowest), "0", "0.5", "1"])))
    half, top = heights[-2:]
    start, per = below(picture, heights[0])
    assert ends == pytest.approx((start, start + per * (STEPS - 1)))

    def value(y):
        return 1 - (y - top) / (half - top) / 2

    assert value(heights[0]) == pytest.approx(lowest)
    curve, = picture.lines
    assert curve.colour == expected("ink", theme)
    places = [start + per * i / 4 for i in range(4 * STEPS - 3)]
    assert [x for x, _ in curve.points] == pytest.approx(places)
    assert [value(y) for _, y in curve.points] == pytest.approx(quarters.tolist(), abs=1e-5)
    disc, = picture.rounds
    assert (disc.x, value(disc.y)) == pytest.approx((start + per * offset, products[offset]),
                                                    abs=1e-5)
    assert disc.colour == expected("query", theme)
    name = picture.text("offset")
    assert name.y > heights[0] and (name.x, name.align) == (pytest.approx(sum(ends) / 2), "center")
    assert picture.alt == (f"Similarity of two rows against their offset, for width {P.shape[1]}: "
                           f"1 at offset 0, {products[offset]:.2f} at offset {offset}.")


def check_rounds(picture, theme, hand, width):
    powers = ["1", "10", "100", "1,000", "10,000", "100,000"]
    heights, (left, right) = axis(picture, powers)
    step = heights[0] - heights[1]
    assert heights == pytest.approx([heights[0] - i * step for i in range(6)]) and step > 0
    needs = [2 * math.pi * 10000 ** (2 * i / width) for i in range(width // 2)]
    assert [(heights[0] - one.y) / step for one in picture.rounds] == pytest.approx(
        [math.log10(need) for need in needs])
    gaps = [b.x - a.x for a, b in zip(picture.rounds, picture.rounds[1:])]
    assert gaps == pytest.approx([(right - left) * 2 / width] * len(gaps)) and gaps[0] > 0
    assert picture.rounds[0].x - left == pytest.approx(gaps[0] / 2)
    for i, disc in enumerate(picture.rounds):
        assert (disc.radius, disc.colour) == ((6, expected("query", theme)) if i == hand
                                              else (3, expected("ink", theme)))
    for i in (0, width // 2 - 1):
        name = picture.text(f"{2 * i}, {2 * i + 1}")
        assert name.x == picture.rounds[i].x and name.align == "center" and name.y > heights[0]
    name = picture.text("columns")
    assert name.y > heights[0] and (name.x, name.align) == ((left + right) / 2, "center")
    assert picture.alt == (
        f"Positions in one round: {rough(needs[0])} for columns 0, 1, growing evenly on a "
        f"logarithmic scale to {rough(needs[-1])} for the last; {rough(needs[hand])} for the "
        "chosen.")


def check(stage, theme, position, offset, hand, width):
    P = sinusoids(STEPS, width).float()
    clocks, waves, products, alike, rounds = stage.pictures
    for picture in stage.pictures:
        check_picture(picture, 1000)
    check_clocks(clocks, theme, position, offset, hand, P)
    check_waves(waves, theme, position, offset, hand, P)
    lowest = check_products(products, theme, position, offset, P)
    check_alike(alike, theme, offset, P)
    check_rounds(rounds, theme, hand, width)
    assert clocks.alt == f"{width // 2} clocks. {stage.result}"
    assert stage.chosen() == {
        "position i": (str(position), str(position)), "offset δ": (str(offset), str(offset)),
        "columns": (str(hand), f"{2 * hand}, {2 * hand + 1}"), "width d": [str(width)]}
    assert stage.all("input")[2].given["max"] == str(width // 2 - 1)
    scale = next(text for text in stage.words("p") if text.startswith("rows i"))
    assert scale == ("rows i, columns i + δ, from 0 to 79. Full colour is 1, none is "
                     f"{lowest:.2f}; the frame is at i, i + δ")
    angle = offset * 10000 ** (-2 * hand / width)
    turn = stage.one(kind="turn")
    sine, cosine = math.sin(angle), math.cos(angle)
    shown = [[f"{number:.2f}".replace("-0.00", "0.00") for number in numbers]
             for numbers in ([cosine, sine, -sine, cosine],
                             *(P[i, 2 * hand:2 * hand + 2].tolist()
                               for i in (position, position + offset)))]
    assert [block.words("span")[1:] for block in turn.all(kind="block")] == shown
    assert [("two" in block.classes) for block in turn.all(kind="block")] == [True, False, False]
    words = [part if isinstance(part, str) else part.text for part in turn.parts]
    assert words[0] == f"turn by {rough(math.degrees(angle))}°:" and words[2] == "×"
    assert words[4] == f"(position {position}) =" and words[6] == f"(position {position + offset})"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_hand_and_curve_is_the_packages(tmp_path, theme):
    stages = perform(
        tmp_path, clock_explorer(16), "type('position i', 41)", "type('offset δ', 13)",
        "type('columns', 7)", "pick('width d', '8')", "type('columns', 1)", "pick('width d', '64')",
        "type('columns', 17)", "type('columns', 15)", colours=theme)
    cases = [(6, 2, 3, 16), (41, 2, 3, 16), (41, 13, 3, 16), (41, 13, 7, 16), (41, 13, 3, 8),
             (41, 13, 1, 8), (41, 13, 1, 64), (41, 13, 17, 64),
             (41, 13, 15, 64)]
    for stage, case in zip(stages, cases, strict=True):
        check(stage, theme, *case)
    titles = [title.text for title in stages[0].all(kind="title")]
    assert titles == ["The two columns of the chosen hand",
                      "How similar are rows i and i + δ? P Pᵀ, divided by d/2",
                      "… against their offset", "Positions in one round, by columns"]


@pytest.mark.parametrize("width, columns", [(260, 4), (330, 6), (560, 8), (800, 16), (1120, 16)])
def test_plots_fit_any_page_and_clicks_meet_their_clock(tmp_path, width, columns):
    stage, = perform(tmp_path, clock_explorer(64), width=width)
    for picture in stage.pictures[:5 if width > 300 else 1]:  # narrower, numbers below waves meet
        check_picture(picture, max(width, 330))
    side = float(stage.one(kind="plots").style["--side"][:-2])
    assert [picture.wide for picture in stage.pictures[3:]] == [side, side]
    if 278 + 2 * (side + 20) > width - 12:
        assert side <= min(314, width - 12) and 278 + 2 * 240 > width - 12
    faces = [one for one in stage.pictures[0].rounds if one.width]
    assert len({face.x for face in faces}) == columns
    reach = 0.9 * faces[0].radius
    spots = [(i, face.x + dx * reach, face.y + dy * reach) for i, face in enumerate(faces)
             for dx, dy in ((0, 0), (-1, 0), (1, 0), (0, 1), (0, -1))][::7]
    clicks = [f"click(h.canvas(0), {{ offsetX: {x}, offsetY: {y} }})" for _, x, y in spots]
    stages = perform(tmp_path, clock_explorer(64), *clicks, width=width, brief=True)
    assert [stage.state["hand"] for stage in stages[1:]] == [i for i, _, _ in spots]


def test_a_click_beyond_the_clocks_chooses_nothing(tmp_path):
    clicks = [f"click(h.canvas(0), {{ offsetX: {x}, offsetY: 9 }})" for x in (900, 200, -5)]
    stages = perform(tmp_path, clock_explorer(4), *clicks, brief=True)
    assert [stage.state["hand"] for stage in stages] == [1] * 4
