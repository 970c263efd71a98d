"""What learners answer wrongly in 05, and what they should then read."""
import numpy as np
import torch

# ---- offset-rows ---------------------------------------------------------------------------------


def rows(change, first=lambda queries, keys: keys - queries):
    """A table of ``change(query, key, c)``, with a loop over all pairs."""
    def answer(queries, keys, c):
        start = first(queries, keys)
        return torch.tensor([[change(start + i, j, c) for j in range(keys)]
                             for i in range(queries)])
    return answer


def right(i, j, c):
    return max(-c, min(c, j - i)) + c


OFFSET_ROWS = [
    (rows(right, first=lambda queries, keys: 0), "as if all keys were new"),
    (rows(right, first=lambda queries, keys: keys - queries - 1), "one away from the last key"),
    (rows(right, first=lambda queries, keys: queries - keys), "wrong sign"),
    (lambda queries, keys, c: rows(right)(queries, keys, c).mT, "Rows are queries"),
    (rows(lambda i, j, c: right(j, i, c)), "Left and right are swapped"),
    (rows(lambda i, j, c: right(i, j, c) - c), "not shifted"),
    (rows(lambda i, j, c: j - i + c), "not clipped"),
    (rows(lambda i, j, c: max(-c, min(c, j - i + c))), "before you clip"),
    (rows(lambda i, j, c: right(i, j, c) + 1), "row 0, and yours uses row 1"),
    (rows(lambda i, j, c: right(i, j, c) - 1), "yours uses -1"),
    (rows(lambda i, j, c: max(-c, min(c - 1, j - i)) + c), "rows of their own, 0 and 2c. Python"),
    (rows(lambda i, j, c: max(-c, min(c + 1, j - i)) + c), "no row 2c \\+ 1"),
    (rows(lambda i, j, c: right(i, j, c - 1)), "up to c - 1"),
    (rows(lambda i, j, c: right(i, j, c + 1)), "up to c \\+ 1"),
    (rows(lambda i, j, c: min(c, abs(i - j))), "keeps its sign"),
    (rows(lambda i, j, c: (j - i) % (2 * c + 1)), "remainder"),
    (rows(lambda i, j, c: 2 if i == j else right(i, j, c)), "expected 1, yours is 2"),
    (lambda queries, keys, c: torch.arange(keys).clamp(-c, c) + c, r"shape should be \(3, 5\)"),
    (lambda queries, keys, c: rows(right)(queries, keys, c).float(), "not integers"),
    (lambda queries, keys, c: [[0] * keys] * queries, "Return one tensor"),
    (lambda steps, c: torch.zeros(steps, steps), "raises TypeError"),
]

# ---- unmask and untrained ------------------------------------------------------------------------


def share(whole, trained, length):
    return (whole * length - trained) / (length - trained)


UNMASK = [
    (lambda whole, trained, length: whole, "flattering"),
    (lambda whole, trained, length: whole * (1 - trained / length), "scale the average"),
    (lambda whole, trained, length: length * (1 - whole) / (length - trained), "wrong answers"),
    (lambda whole, trained, length: whole / 2,
     r"^Expected 0.08, got 0.155\.\n  It was called with 0.31, 16, 64\.$"),
    (lambda whole, trained, length: np.float32(whole / 2), r"^Expected 0.08, got 0.155"),
    (lambda whole: whole, "raises TypeError"),
    (lambda whole, trained, length: trained / length, "share of positions"),
    (lambda whole, trained, length: length * whole - trained, "You count right answers"),
    (lambda whole, trained, length: whole - trained / length, "divide by all positions"),
    (lambda whole, trained, length: whole / (1 - trained / length), "still in it. Take them away"),
    (lambda whole, trained, length: whole - (1 - whole), "exactly half"),
]


def missing(offsets):
    return lambda bucket, num_buckets, n: [
        b for b in range(num_buckets) if b not in bucket(offsets(n)).tolist()]


def missed(bucket, num_buckets, n):
    return missing(lambda n: torch.arange(1 - n, n))(bucket, num_buckets, n)


UNTRAINED = [
    (missing(lambda n: torch.arange(-n, n + 1)), "One too far:"),
    (missing(lambda n: torch.arange(-n, n)), "One too far on the left"),
    (missing(lambda n: torch.arange(n)), "right alone"),
    (missing(lambda n: -torch.arange(n)), "left alone"),
    (lambda *arguments: len(missed(*arguments)), "Return the list"),
    (lambda *arguments: torch.tensor(missed(*arguments)), "Return a list, got Tensor"),
    (lambda bucket, num_buckets, trained: bucket(trained), "raises"),
    (lambda bucket, num_buckets, n: sorted({*bucket(torch.arange(1 - n, n)).tolist()}),
     "that training reaches"),
    (lambda bucket, num_buckets, n: [*range(n, num_buckets)], "number is no offset"),
]

WRONG = {
    "which-orders": [("d", "Reverse the sentence"), ("b", r"of two\.$"),
                     ("a", "distance has changed")],
    "offset-rows": OFFSET_ROWS,
    "unmask": UNMASK,
    "true-of-relative": [({"a", "b", "c", "e"}, "Statement b is false"), ({"c", "d"}, "d is false"),
                         ({"a", "c"}, "1 more"), ({"e"}, "2 more"), ("ace", "set")],
    "untrained": UNTRAINED,
}
RIGHT = {"unmask": [lambda *report: np.float32(share(*report)),
                    lambda *report: np.array([share(*report)]),
                    lambda *report: torch.tensor(share(*report)),
                    lambda *report: torch.tensor([share(*report)])]}
