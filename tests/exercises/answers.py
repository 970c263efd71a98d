"""Answers that no slip makes: wrong ones and what they should hear, a pattern, and right ones."""
import math

import numpy as np
import torch
from torch.nn import functional as F

from attention_lessons.lesson_05.exercises import Positions

PENCIL = {1: [2, 1, 1, 2], 2: [2, 1, 1], 3: [2, 2, 1], 4: [0.5, 0.25, 0.25], 5: [0.4, 0.4, 0.2],
          6: [1.25, 0.5, 1.0, 0.2]}
class TooEarly(Positions):
    """Refuses as many steps as its table has rows."""

    def forward(self, X):
        if X.shape[1] == self.max_len:
            raise ValueError
        return super().forward(X)


WRONG = {
    "positional-class": [(TooEarly, "error for 9 steps with max_len=9")],
    "lengths": [(lambda lens, n, m: [[j < k for j in range(m)] for k in lens.tolist()],
                 "Return one tensor"),
                (lambda lens, n, m: (torch.ones(len(lens), n, m).cumsum(-1) <=
                                     lens.view(len(lens), -1, 1)).float(), "is torch.float32")],
    "defeat": [
        ([0, 0, 100], "^The last score is overwritten, whatever you choose. Your visible"),
        ([0.0, 0.0, 0.0], "^Your visible scores are far above -1e6, so the hidden key"),
        ([-1e6, -1e6, -1e6], "Close: the hidden key gets 0.33"),
        ([-1e6 - 2, -1e6 - 2, 0], "Close: the hidden key gets 0.79"),
        ([-1e6 + 50, -1e6 + 50, -2e6], "^Your visible scores are just above -1e6, so"),
        ([-2e6, -1e6 + 50, -3e6], "^One visible score is just above -1e6: both"),
        ([0, -2e6, 1e9], "overwritten.* One visible score is far above"),
        ([-math.inf, -math.inf, 0], "Finite scores only"), ([-1e7, -1e7], "three scores"),
        (["low", "low", "high"], "raises")],
    "line-up": [("dbcfag", "^Line c comes too early: it needs line a before it"),
                ("dbfac", "a line is missing: g"), ("dbfacc", "once, by its letter, as in abcdfg")],
    "decoder-lines": [("ceafb", "^Line e comes too early: it needs line f before it"),
                      ("cfea", "a line is missing: b"),
                      ("cfabe", "a comes too early: it needs line e")],
    "draw-mask": [("x . .", "^Draw 5 rows of 5 signs"), ("x . . . ?\n" * 5, "^Draw 5 rows"),
                  (". . . . .\n" * 5, "^The shape is right, 9 of 25 numbers are not")],
    "defend-cache": [
        ((8, 820), "^Give three things, such as"), ((12, 820, "b"), "^12 pairs won't do"),
        ((2, 820, "b"), "at least 4 pairs"), ((8, 2.5, ""), "whole numbers"),
        ((8, 13_108, "b"), "^It needs 2.0001 GiB: 40 .* · 8 · 128"),
        ((8, 99_999, ""), "for each of 32,768 tokens"), ((8, 819, "b"), "hears of 32,760 tokens"),
        ((8, 820, "a"), "^Tiles change"), ((8, 820, "z"), "^Answer with")],
    "mend-weights": [(lambda scores, lens: scores.softmax(-1), "^Result 1 of 3: The shape is")],
    "kernel": [(lambda x, known_x, known_y, sigma: known_x - x, "raises RuntimeError")],
    "pencil": [(PENCIL | {4: [0.45, 0.27, 0.27]}, "Line 4: the number in place 1, 0.45, is not"),
               (PENCIL | {6: [1.25, 0.5, 1, float("nan")]}, "Line 6: the number in place 4")],
    "read-figure": [({1: [330]}, "^Line 1: the number in place 1, 330"),
                    ({1: [700]}, "as a ruler"), ({1: [500], 2: [30]}, "as a ruler"),
                    ({1: [500], 2: [20], 3: [15.5]}, "^Line 3: That is the difference")],
}
RIGHT = {
    "attend": [lambda queries, keys, values: tuple(
        F.scaled_dot_product_attention(queries, keys, X) for X in (values, torch.eye(len(keys))))],
    "pooling": [lambda queries, keys, values, keep: tuple(
        F.scaled_dot_product_attention(queries, keys, X, keep) for X in (
            values, torch.eye(len(keys))))],
    "defend-cache": [(8, 820, "b"), [8, 13_107, "B"], (32, 3276, "b"), (4, 26_214, "b")],
    "decoder-lines": [list("CFEAB"), "c, f, e, a, b"],
    "line-up": ["adbfcg", ["D", "b", "a", "f", "c", "g"], "d, b, f, a, c, g"],
    "draw-mask": ["""x . . . .
                  x x . . .
                  x x x . .

                  . . . x .
                  . . . x x"""],
    "defeat": [(-1.1e6, -1.2e6, 5), torch.tensor([-2e6, -3e6, 0.0])],
    "read-figure": [{1: [430], 2: [16], 3: [5]}, {1: [600], 2: [23], 3: (4,)}],
    "pencil": [{float(line): tuple(numbers) for line, numbers in PENCIL.items()}],
    "lengths": [lambda lens, n, m: torch.tensor([
        [[j < row[i % len(row)] for j in range(m)] for i in range(n)]
        for row in lens.reshape(len(lens), -1).tolist()])],
    "read-clock": [lambda row: np.int64(round(
        math.atan2(*row[-2:].tolist()) / 10_000 ** (2 / len(row) - 1)))],
}
