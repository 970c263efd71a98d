"""The explorer of 01: what it refuses, its words, its mathematics; typing."""
import math

import pytest
import torch
from javascript import compute, furthest, swap
from pieces import KEYS, pooling
from screen import expect, result, said, show

from d2l_ext import dot_product_attention
from d2l_ext.explorers import source


def test_the_words_hold_the_numbers():
    assert ("Query 0, 10, 0, scale 8: scores 0.00, 12.50, 0.00, 0.00; weights 0.00, 1.00, 0.00, "
            "0.00. Output: 10.00, 0.00, 0.00." in repr(pooling(query=[0, 10, 0])))
    assert "Output: 550.00, 5.50, 0.00." in repr(pooling(query=[0, 0, 10]))


@pytest.mark.parametrize("change, words", [
    ({"query": [1, 2]}, r"keys must be \(keys, d\), values \(keys, v\), query \(d,\), "
                        r"got \(4, 3\), \(4, 3\), \(2,\)"),
    ({"keys": KEYS[0]}, r".* got \(3,\), \(4, 3\), \(3,\)"),
    ({"values": torch.zeros(5, 3)}, r".* got \(4, 3\), \(5, 3\), \(3,\)"),
    ({"keys": KEYS * math.inf}, "keys must be finite, but holds NaN or infinity"),
    ({"query": [0, 1e31, 9]},
     r"query must hold numbers of size up to 1e\+30, but holds one of 1e\+31"),
    ({"scale": 0.5}, r"scale=0.5 must be a number in 1..100"),
    ({"scale": 100.5}, r"scale=100.5 must be a number in 1..100"),
    ({"keys": torch.zeros(13, 3), "values": torch.zeros(13, 2)},
     "shows 1 to 12 keys and widths 1 to 6, got 13 keys of width 3, values of width 2"),
    ({"keys": torch.zeros(4, 7), "query": [0] * 7}, ".* got 4 keys of width 7, values of width 3"),
    ({"values": torch.zeros(4, 7)}, ".* got 4 keys of width 3, values of width 7"),
    ({"values": torch.zeros(4, 0)}, ".* got 4 keys of width 3, values of width 0"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        pooling(**change)


@pytest.mark.parametrize("query, limit", [([0, 1, 2], 10), ([0, -20, 2], 20)])
def test_the_largest_of_keys_and_query_is_the_limit(query, limit):
    assert pooling(query=query).data["limit"] == limit


@pytest.mark.parametrize("count, width, value_width", [(1, 1, 1), (12, 6, 6)])
def test_the_smallest_and_the_largest_are_shown(count, width, value_width):
    piece = pooling(keys=torch.zeros(count, width), values=torch.ones(count, value_width),
                    query=[0.5] * width, scale=2)
    assert piece.state == {**{f"q{i + 1}": 0.5 for i in range(width)}, "scale": 2,
                           **{f"key{i + 1}": True for i in range(count)}}
    assert piece.data["limit"] == 1 and piece.numbers.endswith(
        f"Output: {', '.join(['1.00'] * value_width)}.")


# ---- the mathematics in JavaScript ---------------------------------------------------------------

def distance(folder, text):
    """How far JavaScript's weights and output are from the package's, on random numbers."""
    given, wanted = [], []
    for _ in range(5):
        keys, values, query = (torch.randn(*size).double() for size in ((5, 3), (5, 2), (3,)))
        query, sees = 3 * query, torch.rand(5) > 0.3
        data = {"keys": keys.tolist(), "values": values.tolist()}
        given.append([data, query.tolist(), math.sqrt(3), sees.tolist()])
        output, weights = dot_product_attention(query[None], keys, values, mask=sees[None])
        wanted.append({"weights": weights[0], "output": output[0]})
    found = compute(folder, text, "given.map((one) => piece.pool(...one))", given)
    return max(map(furthest, found, wanted))


def test_javascript_agrees_with_the_package(tmp_path):
    assert distance(tmp_path, source("pooling")) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("dot(query, key) / scale", "dot(query, key)"),
    ("dot(query, key) / scale", "dot(query, key) / scale ** 2"),
    ("(seen ? shares.shift() : 0)", "(seen ? shares.pop() : 0)"),
    ("scores.filter((_, i) => sees[i])", "scores.filter((_, i) => !sees[i])"),
    ("softmax(visible)", "visible.map((score) => score / visible.reduce((a, b) => a + b))"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("pooling"), right, wrong)) > 1e-3


# ---- in a browser --------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, pooling())
    assert page.errors == []


def test_what_is_no_number_changes_nothing_and_one_out_of_range_becomes_the_nearest(piece):
    before = result(piece)
    box = piece.get_by_label("query, number 1, typed")
    for wrong, kept in (("", "0"), ("1000", "10")):
        box.fill(wrong)
        assert result(piece) == before
        box.blur()
        expect(box).to_have_value(kept)
        expect(box).to_have_attribute("title", "-10 to 10")
    said(piece).not_to_have_text(before)
