"""The small words that all pieces say, and their softmax, at the edges of each rule."""
import pytest
from tools.draw.pieces_in_node import in_node

from attention_lessons.pieces import source

SAID = {
    "[0, 1, 2, 3].map((count) => list(given.slice(0, count)))":
        ["", "a", "a and b", "a, b and c"],
    "[0, 1, 2].map(headCount)": ["0 heads", "1 head", "2 heads"],
    "[9999, 999.994, 1000, -1000.4, 1e4].map(digits)":
        ["9999", "999.99", "1000", "-1000", "1.00e+4"],
    "[clip('abc', 3), clip('abcd', 3), clip(' a  b ', 9), clip('', 9)]":
        ["abc", "ab…", "a b", "(empty)"],
    "softmax([0, Math.log(3)])": [0.25, 0.75],
    "softmax([0, Math.log(3)], 2)": [0.1, 0.9],
    "softmax([1000, 1000])": [0.5, 0.5],
    "softmax([0, 1000])": [0, 1],
    "[speak({ one: '一' }), speak({ two: '二' }), said('one') + said('two')].at(-1)": "一二",
}


def test_word_for_word():
    found_all = in_node(source("clock"), list("abcde"), f"[{', '.join(SAID)}]")
    for (said, wanted), found in zip(SAID.items(), found_all):
        assert found == (pytest.approx(wanted) if "softmax" in said else wanted), said
