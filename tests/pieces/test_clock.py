"""The piece of 05: clocks, waves and similarity are the package's sinusoids."""

import math
import re

import pytest
import torch
from pieces import corners, near
from tools.draw.pieces_in_node import described, in_node

from attention_lessons.pieces import clock_explorer, source
from d2l_ext import sinusoids


@pytest.mark.parametrize("width, hand, i, offset, room", [
    (32, 5, 6, 2, 816), (4, 0, 63, 6, 340), (64, 9, 0, 16, 262)])
def test_all_that_is_shown_is_the_packages(width, hand, i, offset, room):
    P = sinusoids(80, width)
    similar = P @ P[0] / (width / 2)
    shown = described(clock_explorer(width), width=room, hand=hand, position=i, offset=offset)
    pair = [2 * hand, 2 * hand + 1]
    angles = torch.tensor([float(re.search(r"rotate\((.*)rad", each["style"])[1])
                           for each in shown.of("hand")]).reshape(-1, 2).T
    near(torch.stack([angles.sin(), angles.cos()], 2).flatten(1), P[[i, i + offset]])
    sine, cosine, alike = (corners(line)[::4] for line in shown.of("polyline"))
    assert [(dot["cx"], dot["cy"]) for dot in shown.of("mark")] == [
        sine[i], cosine[i], sine[i + offset], cosine[i + offset], alike[offset]]
    near([(sine[0][1] - y) / 36 for _, y in sine + cosine], P[:, pair].T.flatten())
    near([1 - (y - alike[0][1]) / 72 for _, y in alike], similar[:17])
    assert shown.words[0].endswith(f"Thin hand: position i = {i}, bold: i + δ = {i + offset}")
    assert {f"↔ i = {i}, i + δ = {i + offset}",
            f"↔ δ = {offset}: {similar[offset]:.2f}"} <= {*shown.words}
    angle = offset / 10_000 ** (2 * hand / width)
    assert shown.sentence == (
        f"From position {i} to {i + offset} the hand of columns {pair[0]} and {pair[1]} turns by "
        f"{math.degrees(angle):.3g}°; the similarity of the two clocks (their dot product, divided "
        f"by d/2) is {similar[offset]:.2f}, as from anywhere. A full turn takes "
        f"{2 * math.pi * offset / angle:.3g} positions.")


def test_a_dragged_hand_stops_where_the_pointer_is():
    """The fast hand comes round every 6.28 positions."""
    found = in_node(source("clock"), [[8 + 3, 0], [8 + 9, 8], [8 + 16, 15]], """given.map(
        ([angle, offset]) => turned(angle, { position: 8, offset, width: 32, offsets: 16 }, 0))""")
    assert found == [3, 9, 16]


def test_the_words_of_no_turn():
    assert described(clock_explorer(), offset=0).sentence == (
        "From position 6 to 6 nothing turns: the rotation is the identity, and a position's "
        "similarity to itself is 1.")
    assert "columns 2 and 3" in described(clock_explorer(4), hand=31).sentence
