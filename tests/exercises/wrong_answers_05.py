"""What learners answer wrongly in 05, and what they should then read. Written from the exercises' texts, not from their checks."""
import numpy as np
import torch

# ---- offset-rows ----------------------------------------------------------------------------------------------------------------------

def table_rows(change, first=lambda queries, keys: keys - queries):
    """Written with a loop over all pairs."""
    def answer(queries, keys, c):
        start = first(queries, keys)
        return torch.tensor([[change(start + i, j, c) for j in range(keys)]
                             for i in range(queries)])
    return answer


def right(i, j, c):
    return max(-c, min(c, j - i)) + c


OFFSET_ROWS = [
    (table_rows(right, first=lambda queries, keys: 0), "as when all keys were new"),
    (table_rows(right, first=lambda queries, keys: keys - queries - 1), "one before the last key"),
    (table_rows(right, first=lambda queries, keys: keys - queries + 1), "one beyond the last key"),
    (table_rows(right, first=lambda queries, keys: queries - keys), "wrong sign"),
    (lambda queries, keys, c: table_rows(right)(queries, keys, c).mT, "(?i)rows are queries"),
    (table_rows(lambda i, j, c: max(-c, min(c, i - j)) + c), "(?i)left and right are swapped"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i))), "not shifted"),
    (table_rows(lambda i, j, c: j - i + c), "not clipped"),
    (table_rows(lambda i, j, c: max(-c, min(c, j - i + c))), "before you clip"),
    (table_rows(lambda i, j, c: right(i, j, c) + 1), "row 0, and yours uses row 1"),
    (table_rows(lambda i, j, c: right(i, j, c) - 1), "yours uses -1"),
    (table_rows(lambda i, j, c: max(-c, min(c - 1, j - i)) + c), "number 2c"),
    (table_rows(lambda i, j, c: max(1 - c, min(c - 1, j - i)) + c), "clip them away"),
    (table_rows(lambda i, j, c: max(1 - c, min(c, j - i)) + c), "you clip it away"),
    (table_rows(lambda i, j, c: max(-c, min(c + 1, j - i)) + c), "row 2c \\+ 1 does not exist"),
    (table_rows(lambda i, j, c: max(-c - 1, min(c, j - i)) + c), "row -1 counts"),
    (table_rows(lambda i, j, c: max(-c - 1, min(c + 1, j - i)) + c), "on both sides"),
    (table_rows(lambda i, j, c: max(1 - c, min(c - 1, j - i)) + c - 1), "up to c - 1"),
    (table_rows(lambda i, j, c: max(-c - 1, min(c + 1, j - i)) + c + 1), "up to c \\+ 1"),
    (table_rows(lambda i, j, c: right(i, j, c) + c), "not 2c"),
    (table_rows(lambda i, j, c: min(c, abs(i - j))), "keeps its sign"),
    (table_rows(lambda i, j, c: (j - i) % (2 * c + 1)), "(?i)remainder"),
    (table_rows(lambda i, j, c: 2 if i == j else right(i, j, c)), "expected 1, yours is 2"),
    (lambda queries, keys, c: torch.arange(keys).clamp(-c, c) + c, r"shape should be \(3, 5\)"),
    (lambda queries, keys, c: table_rows(right)(queries, keys, c).float(), "not integers"),
    (lambda queries, keys, c: [[0] * keys] * queries, "(?i)return (a|one) tensor"),
    (lambda steps, c: torch.zeros(steps, steps), "raises TypeError"),
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
    "which-orders": [("d", "(?i)reverse the sentence"), ("b", "middle"), ("a", "distance has changed")],
    "offset-rows": OFFSET_ROWS,
    "unmask": UNMASK,
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
