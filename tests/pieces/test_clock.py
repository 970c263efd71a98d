"""The piece of 04: clocks, waves, similarity and turn in numbers are the package's sinusoids."""
import math

import pytest
import torch
from pieces import sees
from tools.draw._stills import described, in_node

from d2l_ext import sinusoids
from attention_lessons.pieces import clock_explorer, source

SOURCE = source("clock")


@pytest.mark.parametrize("width, error, words", [
    (128, ValueError, "num_hiddens=128 is not possible: choose from 4, 8, 16, 32, 64"),
    ("32", TypeError, "num_hiddens must be an integer, got '32'")])
def test_other_widths_are_refused(width, error, words):
    with pytest.raises(error, match=f"^{words}$"):
        clock_explorer(width)


def near(one, other, far=0.01):
    assert torch.allclose(torch.tensor(one).float(), torch.as_tensor(other).float(), atol=far)


def ends(lines):
    """How far across and how far up each hand reaches, of its length."""
    across = torch.tensor([[line["x2"] - line["x1"], line["y1"] - line["y2"]] for line in lines])
    return across / across.norm(dim=1, keepdim=True)


def check(text):
    for width, hand, i, offset, room in (
            (32, 5, 6, 2, 816), (4, 0, 63, 6, 340), (64, 9, 0, 16, 262)):
        P = sinusoids(80, width)
        similar = P[i] @ P[i + offset] / (width / 2)
        shown = described(clock_explorer(width), source=text, width=room, ui={"more": True},
                          hand=hand, position=i, offset=offset)
        columns = [2 * hand, 2 * hand + 1]
        hands = shown.of("hand")
        near(ends(hands[::2]).flatten().tolist(), P[i], 0.03)
        near(ends(hands[1::2]).flatten().tolist(), P[i + offset], 0.03)
        # the waves, and the marks on them
        sine, cosine, alike = ([tuple(map(float, point.split(","))) for point in
                                line["points"].split()] for line in shown.of("polyline"))
        rows = [(row["cx"], row["cy"]) for row in shown.of("row")]
        assert rows == [line[8 * place] for place in (i, i + offset) for line in (sine, cosine)]
        high = [(sine[0][1] - y) / 45 for _, y in sine[::8] + cosine[::8]]
        near(high, P[:, columns].T.flatten())
        # similarity against the offset
        now, = shown.of("now")
        assert (now["cx"], now["cy"]) == alike[2 * offset]
        unit = (P @ P[0] / (width / 2)).double()
        heights = torch.tensor([y for _, y in alike[::2]]).double()
        slope = (heights[40] - heights[0]) / (unit[40] - unit[0])
        near((heights - heights[0]).tolist(), (unit - 1) * slope, 0.2)
        assert f"↔ δ = {offset}: {similar:.2f}" in shown.words
        # the turn
        turned = [float(each["name"]) for each in shown.of("turned")]
        angle = offset / 10_000 ** (2 * hand / width)
        R = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        near(turned, [*R.flatten(), *P[i, columns], *P[i + offset, columns]], 0.0051)
        rounds = torch.tensor([dot["cy"] for dot in shown.of("round")])
        near(rounds.diff().tolist(), torch.full((width // 2 - 1,), -44 * 8 / width), 0.11)
        assert shown.sentence.startswith(
            f"From position {i} to {i + offset} the hand of columns {2 * hand} and {2 * hand + 1} "
            f"turns by {math.degrees(angle):.3g}")
        assert f"the rows' similarity is {similar:.2f}, as from anywhere." in shown.sentence
        assert f"{2 * math.pi * offset / angle:,.3g}"[:3] in shown.sentence


def test_all_that_is_shown_is_the_packages():
    check(SOURCE)


@pytest.mark.parametrize("right, wrong", [
    ("(-2 * hand) / width", "(-hand) / width"), (", 0) / (width / 2)", ", 0) / width"),
    ("[-Math.sin(angle), Math.cos", "[Math.sin(angle), Math.cos"),
    ("y - length * radius * up", "y + length * radius * up"), ("[later, BOLD]", "[0, BOLD]"),
    ("y(worth(drawn.offset))", "y(worth(state.position))"),
])
def test_a_mistake_is_seen(right, wrong):
    sees(check, SOURCE, right, wrong)


def test_a_dragged_hand_stops_where_the_pointer_is():
    """The fast hand comes round every 6.28 positions: the offset near the one before is taken."""
    given = [[8 + 3, 0, 32], [8 + 9, 8, 32], [8 + 16, 15, 32]]
    found = in_node(SOURCE, given, """given.map(([angle, offset, width]) =>
        turned(angle, { position: 8, offset, width }, 0, 16))""")
    assert found == [3, 9, 16]


def test_the_words_of_no_turn():
    assert described(clock_explorer(), offset=0).sentence == (
        "From position 6 to 6 nothing turns: the rotation is the identity, and a row's similarity "
        "to itself is 1.")
    assert "columns 2 and 3" in described(clock_explorer(4), hand=31).sentence
