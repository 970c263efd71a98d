"""What learners answer wrongly in 05, and what they should then read. Written from the exercises' texts, not from their checks."""
import numpy as np
import torch

# ---- offset-rows ----------------------------------------------------------------------------------------------------------------------

def table_rows(change):
    """Written with a loop over all pairs."""
    return lambda steps, c: torch.tensor([[change(i, j, c) for j in range(steps)] for i in range(steps)])


OFFSET_ROWS = [
    (table_rows(lambda i, j, c: max(-c, min(c, i - j)) + c), "(?i)left and right are swapped"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i))), "not shifted"),
    (table_rows(lambda i, j, c: j - i + c), "not clipped"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i + c))), "before you clip"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i)) + c + 1), "row 0, and yours uses row 1"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i)) + c - 1), "yours uses -1"),
    (table_rows(lambda i, j, c: max(-c, min(c - 1, j - i)) + c), "number 2c"),
    (table_rows(lambda i, j, c: max(1 - c, min(c - 1, j - i)) + c), "clip them away"),
    (table_rows(lambda i, j, c: min(c, abs(i - j))), "keeps its sign"),
    (table_rows(lambda i, j, c: (j - i) % (2 * c + 1)), "(?i)remainder"),
    (lambda steps, c: torch.arange(steps).clamp(-c, c) + c, r"shape should be \(5, 5\)"),
    (lambda steps, c: table_rows(lambda i, j, c: max(-c, min(c, j - i)) + c)(steps, c).float(), "not integers"),
    (lambda steps, c: [[0] * steps] * steps, "(?i)return (a|one) tensor"),
    (lambda steps: torch.zeros(steps, steps), "raises TypeError"),
    (torch.zeros(5, 5), "Give the function itself"),
]

# ---- unmask ---------------------------------------------------------------------------------------------------------------------------

UNMASK = [
    (lambda whole, trained, length: whole, "flattering"),
    (lambda whole, trained, length: whole * length - trained, "(?i)divide by how many"),
    (lambda whole, trained, length: (whole * length - trained) / length, "beyond training alone"),
    (lambda whole, trained, length: whole * length / (length - trained), "Take them away"),
    (lambda whole, trained, length: whole - trained / length, "beyond training alone"),
    (lambda whole, trained, length: 2 * whole - 1, "exactly half"),
    (lambda whole, trained, length: whole * (1 - trained / length), "scale the average"),
    (lambda whole, trained, length: (length - whole * length) / (length - trained), "wrong answers"),
    (lambda whole, trained, length: whole / 2,
     r"^Expected 0.08, got 0.155\. It was called with 0.31, 16, 64\.$"),
    (lambda whole, trained, length: np.float32(whole / 2), r"^Expected 0.08, got 0.155"),
    (lambda whole, trained, length: trained / length, "share of positions"),
    (0.06, "Give the function itself"),
    (lambda whole: whole, "raises TypeError"),
]

# ---- rotate: a right answer, and one thing changed ------------------------------------------------------------------------------------

ROTATE = """
def answer(X):
    steps, d = X.shape
    out = torch.zeros_like(X)
    for i in range(steps):
        for p in range(d // 2):
            angle = torch.tensor(i / 10000 ** (2 * p / d))
            x, y = X[i, 2 * p], X[i, 2 * p + 1]
            out[i, 2 * p] = x * torch.cos(angle) - y * torch.sin(angle)
            out[i, 2 * p + 1] = x * torch.sin(angle) + y * torch.cos(angle)
    return out
"""


def rotated(*changes):
    source = ROTATE
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    space = {"torch": torch}
    exec(source, space)
    return space["answer"]


def in_place(X):
    X, d = X.clone(), X.shape[1]
    for i, row in enumerate(X):
        for p in range(d // 2):
            angle = torch.tensor(i / 10000 ** (2 * p / d))
            row[2 * p] = row[2 * p] * angle.cos() - row[2 * p + 1] * angle.sin()
            row[2 * p + 1] = row[2 * p] * angle.sin() + row[2 * p + 1] * angle.cos()
    return X


def too_fast(X):
    angles = torch.arange(len(X))[:, None] * 10_000 ** (torch.arange(0, X.shape[1], 2) / X.shape[1])
    x, y = X[:, ::2], X[:, 1::2]
    return torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], 2).reshape(X.shape)


def by_steps(X):
    """Angles for the steps, not for the width: with 5 rows of width 6 there are as many."""
    angles = torch.arange(len(X))[:, None] / 10_000 ** (torch.arange(0, len(X), 2) / X.shape[1])
    x, y, cos, sin = X[:, ::2], X[:, 1::2], angles.cos(), angles.sin()
    return torch.stack([x * cos - y * sin, x * sin + y * cos], 2).reshape(X.shape)


ROTATIONS = [
    (rotated(("X[i, 2 * p], X[i, 2 * p + 1]", "X[i, p], X[i, p + d // 2]"), ("out[i, 2 * p]", "out[i, p]"), ("out[i, 2 * p + 1]", "out[i, p + d // 2]")), "GPT-NeoX"),
    (rotated(("out[i, 2 * p]", "out[i, p]"), ("out[i, 2 * p + 1]", "out[i, p + d // 2]")), "put back wrongly"),
    (rotated(("- y * torch.sin", "+ y * torch.sin"), ("x * torch.sin(angle) +", "-x * torch.sin(angle) +")), "the other way"),
    (rotated(("tensor(i /", "tensor((i + 1) /")), "count from 1"),
    (rotated(("(2 * p / d)", "(4 * p / d)")), "doubled once more"),
    (rotated(("(2 * p / d)", "(p / d)")), "r where 2r should"),
    (too_fast, "(?i)more slowly"),
    (in_place, "overwritten the first numbers"),
    (rotated(("tensor(i / 10000 ** (2 * p / d))", "tensor(float(i))")), "(?i)turn alike"),
    (rotated(("x * torch.cos(angle) - y * torch.sin(angle)", "x + torch.sin(angle)"), ("x * torch.sin(angle) + y * torch.cos(angle)", "y + torch.cos(angle)")), "add the clock hands"),
    (rotated(("- y * torch.sin", "+ y * torch.sin")), "A sign: the first"),
    (rotated(("+ y * torch.cos", "- y * torch.cos")), "A sign: the second"),
    (rotated((" - y * torch.sin(angle)", ""), ("x * torch.sin(angle) +", "")),
     "scale each number by itself"),
    (rotated(("out[i, 2 * p]", "z"), ("out[i, 2 * p + 1]", "out[i, 2 * p]"), ("z =",
                                                                              "out[i, 2 * p + 1] "
                                                                              "=")),
     "changed places"),
    (by_steps, "raises RuntimeError"),
    (rotated(("return out", "return out.T")), "shape should be"),
    (lambda X: X, "Nothing is turned"),
    (lambda X: X.clone(), "Nothing is turned"),
    (lambda X, d: X, "raises TypeError"),
]

# ---- untrained ------------------------------------------------------------------------------------------------------------------------

def missing(offsets):
    return lambda bucket, num_buckets, trained: [b for b in range(num_buckets) if b not in bucket(offsets(trained)).tolist()]


UNTRAINED = [
    (missing(lambda n: torch.arange(-n, n + 1)), "One too far"),
    (missing(lambda n: torch.arange(-n, n)), "on the left"),
    (missing(lambda n: torch.arange(n)), "right alone"),
    (missing(lambda n: -torch.arange(n)), "left alone"),
    (lambda bucket, num_buckets, trained: bucket(torch.arange(1 - trained, trained)).unique().tolist(), "training reaches"),
    (lambda bucket, num_buckets, trained: list(range(trained, num_buckets)), "no offset"),
    (lambda bucket, num_buckets, trained: len(missing(lambda n: torch.arange(1 - n, n))(bucket, num_buckets, trained)), "(?i)return (a|the) list"),
    (lambda bucket, num_buckets, trained: torch.tensor(missing(lambda n: torch.arange(1 - n, n))(bucket, num_buckets, trained)), "Return a list, got Tensor"),
    (lambda bucket, num_buckets, trained: bucket(trained), "raises"),
    ([16], "Give the function itself"),
]

WRONG = {
    "which-orders": [("a", "(?i)reverse the sentence"), ("c", "middle"), ("d", "distance has changed")],
    "offset-rows": OFFSET_ROWS,
    "unmask": UNMASK,
    "rotate": ROTATIONS,
    "true-of-relative": [({"a", "b", "c", "e"}, "Statement b is false"), ({"a", "c", "d", "e"}, "Statement d is false"), ({"a", "c"}, "1 more"), ({"e"}, "2 more"),
                         ("ace", "set"), ({"a", "f"}, "letters from")],
    "untrained": UNTRAINED,
}


# Unusual right answers
def share(whole, trained, length):
    return (whole * length - trained) / (length - trained)


RIGHT = {"unmask": [lambda *report: np.float32(share(*report)),
                    lambda *report: np.array([share(*report)]),
                    lambda *report: torch.tensor(share(*report)),
                    lambda *report: torch.tensor([share(*report)])]}
