"""What learners answer wrongly in 04, and what they should then read."""
import math

import numpy as np
import torch
from rewriting import table

# ---- sinusoid-table: a right answer, and one thing changed ---------------------------------------

TABLE = """
def answer(steps, num_hiddens):
    P = torch.zeros(steps, num_hiddens)
    position = torch.arange(steps).float()[:, None]
    angles = position / torch.pow(10000, torch.arange(0, num_hiddens, 2) / num_hiddens)
    P[:, 0::2] = torch.sin(angles)
    P[:, 1::2] = torch.cos(angles)
    return P
"""
EXPONENT = "torch.arange(0, num_hiddens, 2) / num_hiddens"
TABLES = table(TABLE, [
    ("0::2", "even", "1::2", "0::2", "even", "1::2", "swapped"),
    ("0::2", ":num_hiddens // 2", "1::2", "num_hiddens // 2:", "take turns"),
    ("position / ", "position * ", "You multiply by the powers"),
    ("torch.arange(steps)", "torch.arange(1, steps + 1)", "count from 0"),
    ("torch.arange(steps)", "torch.arange(0, 2 * steps, 2)", "steps of two"),
    (EXPONENT, "torch.arange(num_hiddens // 2) / num_hiddens", "Your exponent is j/d"),
    (EXPONENT, f"2 * {EXPONENT}", "4j/d"),
    (EXPONENT, "torch.linspace(0, 1, num_hiddens // 2)", r"2j/\(d - 2\)"),
    (f"{EXPONENT})", f"{EXPONENT.replace(' /', ') /')}", "Brackets"),
    (f"torch.pow(10000, {EXPONENT})", "(10000 ** torch.arange(0, num_hiddens, 2) / num_hiddens)",
     "Brackets"),
    ("(angles)", "(angles * 180 / math.pi)", "Radians"),
    ("angles = position", "angles = math.pi / 180 * position", "Radians"),
    (f"position / torch.pow(10000, {EXPONENT})", "position.expand(-1, num_hiddens // 2)",
     "same speed"),
    (EXPONENT, "torch.ones(num_hiddens // 2)", "same speed"),
    ("torch.cos(angles)", "torch.sin(angles)", "hold sines"),
    ("torch.sin(angles)", "torch.cos(angles)", "hold cosines"),
    ("10000", "1000", "another number of zeros"),
    ("10000", "9000", "numbers are not"),
    (f"{EXPONENT})", "torch.arange(0, num_hiddens, 2)) ** (1 / num_hiddens)",
     "of 1920 numbers are not"),  # integers overflow where num_hiddens is large
    ("return P", "return angles", "Those are the angles"),
    ("return P", "return P.T", "changed places"),
    ("return P", "return P[None]", "One axis too many"),
    ("return P", "return P.tolist()", "Return one tensor"),
    ("P[:, 1::2]", "P[:, 1:2]", "raises RuntimeError"),
])


def by_position(steps, num_hiddens):
    """PE(pos, 2i) read as: an even position."""
    P = torch.zeros(steps, num_hiddens)
    for position in range(steps):
        for column in range(num_hiddens):
            angle = position / 10000 ** ((column // 2 * 2) / num_hiddens)
            P[position, column] = math.sin(angle) if position % 2 == 0 else math.cos(angle)
    return P


def by_column(steps, num_hiddens):
    """An angle for each column."""
    angles = torch.arange(steps)[:, None] / 10000 ** (torch.arange(num_hiddens) / num_hiddens)
    angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos()
    return angles


# ---- shift ---------------------------------------------------------------------------------------

SHIFT = """
def answer(P, offset):
    P = P.clone()
    d = P.shape[-1]
    beta = offset / 10000 ** (torch.arange(0, d, 2) / d)
    s, c = P[:, 0::2].clone(), P[:, 1::2].clone()
    P[:, 0::2] = s * torch.cos(beta) + c * torch.sin(beta)
    P[:, 1::2] = c * torch.cos(beta) - s * torch.sin(beta)
    return P
"""
SHIFTS = table(SHIFT, [
    ("+ c *", "- c *", "- s *", "+ s *", "wrong way"),
    ("- s * torch.sin", "+ s * torch.sin", r"A sign: cos\(a"),
    ("+ c * torch.sin", "- c * torch.sin", r"A sign: sin\(a"),
    ("P[:, 0::2].clone()", "P[:, 0::2]", "overwritten"),
    ("offset / 10000 ** (torch.arange(0, d, 2) / d)", "torch.full((d // 2,), float(offset))",
     "the same angle"),
    ("torch.arange(0, d, 2) / d", "torch.arange(d // 2) / d", "^Your exponent is j/d"),
    ("/ 10000 **", "* 10000 **", "slower: divide"),
    ("offset / 10000", "abs(offset) / 10000", "A negative offset"),
    ("return P", "return P[offset:]", "shape should be"),
])


def from_zero(steps, d):
    """The sinusoidal table, number by number."""
    return torch.tensor([[(math.cos if c % 2 else math.sin)(i / 10000 ** ((c - c % 2) / d))
                          for c in range(d)] for i in range(steps)])


# ---- read-clock ----------------------------------------------------------------------------------

CLOCK = """
def answer(row):
    d = row.shape[0]
    angle = math.atan2(row[-2], row[-1])
    return int(round(angle * 10000 ** ((d - 2) / d)))
"""
CLOCKS = table(CLOCK, [
    ("row[-2], row[-1]", "row[-1], row[-2]", "sine first"),
    ("math.atan2(row[-2], row[-1])", "math.asin(row[-2])", "same before and after"),
    ("math.atan2(row[-2], row[-1])", "math.atan(row[-2] / row[-1])", "opposite hands"),
    ("int(round(angle * 10000 ** ((d - 2) / d)))", "angle * 10000 ** ((d - 2) / d)", "number.$"),
    ("int(round(angle * 10000 ** ((d - 2) / d)))", "int(angle * 10000 ** ((d - 2) / d))", "cuts"),
    ("((d - 2) / d)", "(d / d)", "10000 times slower"),
    ("((d - 2) / d)", "((d - 1) / d)", "even column"),
    ("((d - 2) / d)", "((d // 2 - 1) / d)", "twice yours"),
    ("angle * 10000 ** ((d - 2) / d)", "angle", "That is the angle"),
    ("row[-2], row[-1]", "row[0], row[1]", "first two columns"),
    ("row[-2], row[-1]", "row[d], row[d - 1]", "raises IndexError"),
])


def clock(position):
    def answer(row):
        angle = torch.atan2(row[-2:-1], row[-1:])
        return position(angle * 10_000 ** ((len(row) - 2) / len(row)))
    return answer


WRONG = {
    "position-zero": [("a", "cos 0 is 1"), ("b", "Sines come first"), ("d", "take turns"),
                      ([0, 1, 0, 1, 0, 1], "letters")],
    "sinusoid-table": [*TABLES, (by_position, "every position has both"),
                       (by_column, "angle of its own")],
    "batch-axis": [
        (lambda batch, steps: [list(range(steps))] * batch, "takes X.shape"),
        (lambda batch, steps: [[i for _ in range(batch)] for i in range(steps)], "outer list"),
        (lambda batch, steps: [list(range(b * steps, (b + 1) * steps)) for b in range(batch)],
         "run on through"),
        (lambda batch, steps: [[0] * steps] * batch, "first sentence"),
        (lambda batch, steps: [[b] * steps for b in range(1, batch + 1)], "count from 0"),
        (lambda batch, steps: [b for b in range(batch)], "a list per sentence"),
        (lambda batch, steps: [[b for b in range(batch)] for _ in range(steps)], "one number"),
        (lambda batch, steps: torch.arange(batch)[:, None].expand(batch, steps), "nested lists"),
        (lambda batch, steps: [0, 0, 0, 1, 1, 1], "Expected"),
    ],
    "shift": [
        *SHIFTS,
        (lambda P, offset: P.roll(-offset, 0), "Rolling"),
        (lambda P, offset: P + offset, "add the offset"),
        (lambda P, offset: torch.zeros(len(P), P.shape[1]), "all zeros"),
        (lambda P, offset: P + from_zero(abs(offset) + 1, P.shape[1])[offset], "don't add up"),
        (lambda P, offset: from_zero(99, P.shape[1])[abs(offset):][:len(P)], "began at position 0"),
    ],
    "read-clock": [
        *CLOCKS,
        (lambda row: round(float(torch.atan2(row[0], row[1]))), "You read the fastest hand"),
        (lambda row: torch.tensor([200]), "^Expected 7, got 200\\.$"),
        (lambda row: torch.tensor([7, 7]), "^Expected 200"),
    ],
    "true-of-sinusoids": [({"a", "b", "c", "e"}, "Statement b"), ({"c", "d"}, "Statement d"),
                          ({"a", "e"}, "1 more"), ("a", "2 more"), ({"f"}, "letters")],
}
RIGHT = {"read-clock": [clock(torch.round), clock(lambda x: x.round().long()),
                        clock(lambda x: x.round().numpy()), clock(lambda x: np.round(x.item()))]}
