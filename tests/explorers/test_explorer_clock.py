"""The explorer of 04: its numbers are the package's, its settings are checked, its still picture agrees, and in a browser its controls and clocks do the same."""
import math

import pytest
import torch
from javascript import compute, furthest
from screen import result, show

from d2l_ext import sinusoids
from d2l_ext.explorers import clock_explorer, source
from d2l_ext.plotting import Picture

START = {"position": 6, "offset": 2, "hand": 3, "width": 32}


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("width", [4, 8, 32, 64])
def test_the_words_hold_the_numbers(width):
    explorer = clock_explorer(width)
    hand, P = explorer.state["hand"], sinusoids(9, width)
    for row in (P[6], P[8]):
        assert f"{row[2 * hand]:.2f}, {row[2 * hand + 1]:.2f}" in explorer.numbers
    turned = math.degrees(2 / 10_000 ** (2 * hand / width))
    assert f"turned by {turned:.1f} degrees" in explorer.numbers
    assert explorer.numbers.endswith(f"Similarity of the two rows: {P[6] @ P[8] / (width / 2):.2f}.")


def test_the_still_picture_shows_the_default_state():
    assert clock_explorer().numbers in Picture("04_explorer").alt and '<img class="d2l-still"' in clock_explorer().html()
    assert '<p class="d2l-still">' in clock_explorer(8).html()  # another state: words, not a wrong picture


def test_settings_are_checked():
    explorer = clock_explorer()
    assert explorer.state == START and clock_explorer(4).state == START | {"hand": 1, "width": 4}
    explorer.set(position=63, offset=0, hand=31, width=64)
    assert explorer.state == {"position": 63, "offset": 0, "hand": 31, "width": 64}
    for wrong in ({"position": 64}, {"position": 1.5}, {"offset": -1}, {"hand": 32}, {"width": 6}, {"speed": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explorer.set(**wrong)
    assert explorer.state["position"] == 63


@pytest.mark.parametrize("width, error", [(6, ValueError), (0, ValueError), (128, ValueError), ("32", TypeError), (32.0, TypeError)])
def test_other_widths_are_refused(width, error):
    with pytest.raises(error, match="num_hiddens"):
        clock_explorer(width)


def test_it_is_the_same_each_time():
    assert clock_explorer().html() == clock_explorer().html() and repr(clock_explorer()) == repr(clock_explorer())


# ---- the mathematics in JavaScript ------------------------------------------------------------------------------------------------------

def turned(folder, text, width):
    """How far positions, turns, similarities and rounds in JavaScript are from the package's."""
    hands, P = width // 2, sinusoids(80, width)
    found = compute(folder, text, """{
        rows: places(80).map((i) => places(given / 2).flatMap((j) => piece.tip(i * piece.speed(j, given)))),
        turns: places(given / 2).map((j) => piece.rotation(7 * piece.speed(j, given))),
        similarity: places(80).map((offset) => piece.similarity(offset, given)),
        rounds: places(given / 2).map((j) => piece.round(j, given)) }""".replace("places(", "((count) => [...Array(count).keys()])("), width)
    R = torch.block_diag(*torch.tensor(found.pop("turns"), dtype=torch.float64))
    found["turned"] = (P[:-7] @ R.T).tolist()
    angles = 10_000.0 ** (-2 * torch.arange(hands, dtype=torch.float64) / width)
    return furthest(found, {"rows": P, "turned": P[7:], "similarity": P @ P[0] / hands, "rounds": 2 * math.pi / angles})


@pytest.mark.parametrize("width", [4, 16, 64])
def test_javascript_agrees_with_the_package(tmp_path, width):
    assert turned(tmp_path, source("clock"), width) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("(-2 * hand) / width", "(-hand) / width"),  # speeds by column, not by pair
    ("[Math.sin(angle), Math.cos(angle)]", "[Math.cos(angle), Math.sin(angle)]"),  # sine and cosine changed over
    ("[[cosine, sine], [-sine", "[[cosine, -sine], [sine"),  # turns back
    ("sum / (width / 2)", "sum / width"),
    ("(2 * Math.PI) / speed", "Math.PI / speed"),  # half a round
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    text = source("clock")
    assert text.count(right) == 1
    assert turned(tmp_path, text.replace(right, wrong), 16) > 1e-3


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, clock_explorer())
    assert page.errors == []


def blocks(piece):
    result(piece)
    return piece.locator(".block").all_inner_texts()


def put(piece, name, value):
    piece.get_by_role("slider", name=name).fill(str(value))


def test_it_opens_with_the_default_state(piece):
    assert piece.locator(".d2l-still").is_hidden()
    assert result(piece).startswith("From position 6 to 8 the hand of columns 6 and 7 turns by 20.4°, as it does from any other position. A round takes it 35.3 positions.")
    assert [block.split() for block in blocks(piece)] == [["0.94", "0.35", "-0.35", "0.94"], ["0.88", "0.48"], ["0.99", "0.15"]]


def test_the_position_changes_the_hands_and_not_the_turn(piece):
    matrix, before, _ = blocks(piece)
    put(piece, "position", 40)
    assert blocks(piece)[0] == matrix and blocks(piece)[1] != before
    assert "From position 40 to 42" in result(piece) and "turns by 20.4°" in result(piece) and "0.86" in result(piece)
    put(piece, "offset", 0)
    assert "the rotation is the identity" in result(piece)


def test_a_click_on_a_clock_chooses_its_columns(piece):
    box = piece.locator("canvas.clocks").bounding_box()
    for fraction, columns in ((0.01, "0, 1"), (0.99, None)):
        piece.page.mouse.click(box["x"] + fraction * box["width"], box["y"] + 20)
        value = piece.get_by_role("slider", name="columns").get_attribute("aria-valuetext")
        assert value == columns if columns else value in ("14, 15", "30, 31")  # the end of the first line


def test_a_smaller_width_keeps_to_the_hands_there_are(piece):
    put(piece, "columns", 15)
    assert "columns 30 and 31" in result(piece)
    piece.get_by_label("4", exact=True).check()
    assert "columns 2 and 3" in result(piece) and piece.get_by_role("slider", name="columns").get_attribute("max") == "1"
    piece.get_by_label("32", exact=True).check()
    assert "columns 30 and 31" in result(piece)


def test_keys_move_the_sliders(piece):
    piece.get_by_role("slider", name="offset").focus()
    piece.page.keyboard.press("ArrowRight")
    assert "From position 6 to 9" in result(piece)
    piece.page.keyboard.press("Home")
    assert "nothing turns" in result(piece)
