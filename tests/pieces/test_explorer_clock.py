"""The explorer of 04: what it refuses, its words, its mathematics; its clocks in a browser."""
import math
import re

import pytest
import torch
from javascript import compute, furthest, swap
from screen import expect, said, show

from d2l_ext import sinusoids
from attention_lessons.pieces import clock_explorer, source


@pytest.mark.parametrize("width", [4, 8, 32, 64])
def test_the_words_hold_the_numbers(width):
    explorer = clock_explorer(width)
    hand, P = explorer.state["hand"], sinusoids(9, width)
    assert hand == min(3, width // 2 - 1) and explorer.state["width"] == width
    for row in (P[6], P[8]):
        assert f"{row[2 * hand]:.2f}, {row[2 * hand + 1]:.2f}" in explorer.numbers
    turned = math.degrees(2 / 10_000 ** (2 * hand / width))
    assert f"turned by {turned:.1f} degrees" in explorer.numbers
    similarity = P[6] @ P[8] / (width / 2)
    assert explorer.numbers.endswith(f"Similarity of the two rows: {similarity:.2f}.")


@pytest.mark.parametrize("width, error, words", [
    (128, ValueError, "num_hiddens=128 is not possible: choose from 4, 8, 16, 32, 64"),
    ("32", TypeError, "num_hiddens must be an integer, got '32'")])
def test_other_widths_are_refused(width, error, words):
    with pytest.raises(error, match=f"^{words}$"):
        clock_explorer(width)


# ---- the mathematics in JavaScript ---------------------------------------------------------------

TABLES = """(() => {
  const hands = piece.places(given / 2);
  const angles = hands.map((hand) => piece.speed(hand, given));
  return {
    rows: piece.places(80).map((i) => angles.flatMap((angle) => piece.tip(i * angle))),
    turns: angles.map((angle) => piece.rotation(7 * angle)),
    similarity: piece.places(80).map((offset) => piece.similarity(offset, given)),
    rounds: hands.map((hand) => piece.round(hand, given)),
  };
})()"""


def distance(folder, text, width):
    """How far positions, turns, similarities and rounds in JavaScript are from the package's."""
    P = sinusoids(80, width)
    found = compute(folder, text, TABLES, width)
    R = torch.block_diag(*torch.tensor(found.pop("turns"), dtype=torch.float64))
    found["turned"] = (P[:-7] @ R.T).tolist()
    angles = 10_000.0 ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
    return furthest(found, {"rows": P, "turned": P[7:], "similarity": P @ P[0] / (width / 2),
                            "rounds": 2 * math.pi / angles})


@pytest.mark.parametrize("width", [4, 16, 64])
def test_javascript_agrees_with_the_package(tmp_path, width):
    assert distance(tmp_path, source("clock"), width) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("(-2 * hand) / width", "(-hand) / width"),
    ("[Math.sin(angle), Math.cos(angle)]", "[Math.cos(angle), Math.sin(angle)]"),
    ("[[cosine, sine], [-sine", "[[cosine, -sine], [sine"),
    ("sum / (width / 2)", "sum / width"),
    ("(2 * Math.PI) / speed", "Math.PI / speed"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("clock"), right, wrong), 16) > 1e-3


# ---- in a browser --------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, clock_explorer())
    assert page.errors == []


def put(piece, name, value):
    piece.get_by_role("slider", name=name).fill(str(value))


def test_a_click_on_a_clock_chooses_its_columns(piece):
    box = piece.locator("canvas.clocks").bounding_box()
    columns = piece.get_by_role("slider", name="columns")
    for fraction, chosen in ((0.01, "^0, 1$"), (0.99, "^(14, 15|30, 31)$")):  # a line's ends
        piece.page.mouse.click(box["x"] + fraction * box["width"], box["y"] + 20)
        expect(columns).to_have_attribute("aria-valuetext", re.compile(chosen))


def test_a_smaller_width_keeps_to_the_hands_there_are(piece):
    put(piece, "columns", 15)
    said(piece).to_contain_text("columns 30 and 31")
    piece.get_by_label("4", exact=True).check()
    said(piece).to_contain_text("columns 2 and 3")
    expect(piece.get_by_role("slider", name="columns")).to_have_attribute("max", "1")
    piece.get_by_label("32", exact=True).check()
    said(piece).to_contain_text("columns 30 and 31")
