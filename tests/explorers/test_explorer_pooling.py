"""The explorer of 01: its numbers are the package's, its settings are checked, its still picture agrees, and in a browser dragging and typing do the same."""
import math

import pytest
import torch
from javascript import compute, furthest
from pieces import KEYS, VALUES
from pieces import pooling as dictionary
from screen import result, show

from d2l_ext import dot_product_attention
from d2l_ext.explorers import pooling_explorer, source
from d2l_ext.plotting import Picture


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

def test_the_words_hold_the_numbers():
    said = repr(dictionary((0, 10, 0)))
    assert "Query 0, 10, 0, scale 8: scores 0.00, 12.50, 0.00, 0.00; weights 0.00, 1.00, 0.00, 0.00. Output: 10.00, 0.00, 0.00." in said
    assert "Output: 550.00, 5.50, 0.00." in repr(dictionary((0, 0, 10)))


def test_the_still_picture_shows_the_default_state():
    explorer = dictionary()
    assert explorer.numbers in Picture("01_explorer").alt and '<img class="d2l-still"' in explorer.html()
    assert '<p class="d2l-still">' in dictionary((0, 10, 8)).html()  # another state: words, not a wrong picture


def test_settings_are_checked():
    explorer = dictionary()
    assert explorer.state == {"q1": 0, "q2": 10, "q3": 9, "scale": 8, "key1": True, "key2": True, "key3": True, "key4": True}
    explorer.set(q1=-2.5, scale=math.sqrt(3), key2=False)
    assert (explorer.state["q1"], explorer.state["key2"]) == (-2.5, False)
    for wrong in ({"q4": 1}, {"q1": 11}, {"q1": math.nan}, {"scale": 0.5}, {"key1": "no"}, {"key5": True}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explorer.set(**wrong)
    assert explorer.state["q1"] == -2.5


@pytest.mark.parametrize("change, words", [
    ({"values": VALUES[:3]}, "values"), ({"query": [1, 2]}, r"query \(d,\)"),
    ({"keys": KEYS * math.inf}, "finite"), ({"scale": 0.5}, "scale"),
    ({"query": [0, 1e31, 9]}, "query must hold numbers of size up to 1e"),
    ({"keys": torch.eye(13)[:, :3], "values": torch.eye(13)[:, :3]}, "13 keys"), ({"keys": torch.zeros(4, 7), "query": [0] * 7}, "width 7")], ids=str)
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        pooling_explorer(**{"keys": KEYS, "values": VALUES, "query": [0, 10, 9], "scale": 8} | change)


# ---- the mathematics in JavaScript ------------------------------------------------------------------------------------------------------

def pooled(folder, text):
    """How far weights and output in JavaScript are from the package's, on random numbers."""
    worst = 0
    for _ in range(5):
        keys, values, query, sees = torch.randn(5, 3).double(), torch.randn(5, 2).double(), 3 * torch.randn(3).double(), torch.rand(5) > 0.3
        output, weights = dot_product_attention(query[None], keys, values, mask=sees[None])
        given = [{"keys": keys.tolist(), "values": values.tolist()}, query.tolist(), math.sqrt(3), sees.tolist()]
        worst = max(worst, furthest(compute(folder, text, "piece.pool(...given)", given), {"weights": weights[0], "output": output[0]}))
    return worst


def test_javascript_agrees_with_the_package(tmp_path):
    assert pooled(tmp_path, source("pooling")) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("dot(query, key) / scale", "dot(query, key)"),  # not scaled
    ("dot(query, key) / scale", "dot(query, key) / scale ** 2"),
    ("(seen ? shares.shift() : 0)", "(seen ? shares.pop() : 0)"),  # weights back to front
    ("scores.filter((_, i) => sees[i])", "scores.filter((_, i) => !sees[i])"),  # a mask turned round
    ("softmax(visible)", "visible.map((score) => score / visible.reduce((a, b) => a + b))"),  # no exponential
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    text = source("pooling")
    assert text.count(right) == 1
    assert pooled(tmp_path, text.replace(right, wrong)) > 1e-3


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, dictionary())
    assert page.errors == []


def test_it_opens_with_the_default_state(piece):
    assert result(piece) == "Of the weight, key 2 gets 0.64, key 3 gets 0.18 and key 4 gets 0.18. Output: 206.71, 2.00, 0.00."
    assert piece.locator(".d2l-still").is_hidden()
    assert "2.4e-6" in piece.locator("tbody tr").first.inner_text()


def test_typing_dragging_and_hiding(piece):
    piece.get_by_label("query, number 3, typed").fill("0")
    assert result(piece) == "Of the weight, key 2 gets 1.00. Output: 10.00, 0.00, 0.00."
    assert piece.get_by_label("query, number 3", exact=True).input_value() == "0"
    piece.get_by_label("query, number 3", exact=True).fill("10")  # what dragging does
    assert result(piece).startswith("Of the weight, key 2 gets 0.33, key 3 gets 0.33 and key 4 gets 0.33.")
    piece.get_by_label("key 2").uncheck()
    assert result(piece) == "Of the weight, key 3 gets 0.50 and key 4 gets 0.50. Output: 550.00, 5.50, 0.00."
    for number in (1, 3, 4):
        piece.get_by_label(f"key {number}").uncheck()
    assert "nothing to mix" in result(piece) and "0.00" in piece.locator(".output").inner_text()


def test_the_scale_by_key_and_button(piece):
    piece.get_by_role("button", name="scale 1").click()
    assert result(piece).startswith("Of the weight, key 2 gets 1.00. Output: 10.05")
    piece.get_by_role("button", name="scale √3").click()
    assert piece.get_by_label("scale, typed").input_value() == "1.73"
    assert piece.get_by_role("button", name="scale √3").get_attribute("aria-pressed") == "true"
    piece.get_by_label("scale, typed").fill("100")
    assert "key 1 gets 0.1" in result(piece)


def test_what_is_no_number_changes_nothing_and_one_out_of_range_becomes_the_nearest(piece):
    before = result(piece)
    box = piece.get_by_label("query, number 1, typed")
    for wrong, kept in (("", "0"), ("1000", "10")):
        box.fill(wrong)
        assert result(piece) == before
        box.blur()
        assert box.input_value() == kept and box.get_attribute("title") == "-10 to 10"
    assert result(piece) != before
