"""What learners answer wrongly in 10, and what they should then read."""
import torch


def loops(a, first, last):
    """Entry (i, j): the product of a[j + first] to a[i + last]."""
    n, M = len(a), []
    for i in range(n):
        row = []
        for j in range(n):
            left = 1 if j <= i else 0
            for t in range(j + first, i + last + 1):
                left *= a[t]
            row.append(left)
        M.append(row)
    return M


SHARES = [
    (lambda a: loops(a, 0, 0), "share of step j itself"),
    (lambda a: loops(a, 0, -1), "One step early"),
    (lambda a: loops(a, 1, -1), "share of step i is missing"),
    (lambda a: [list(row) for row in zip(*loops(a, 1, 0))], "swapped"),
    (lambda a: [[1 if j <= i else 0 for j in range(len(a))] for i in range(len(a))],
     "nothing is forgotten"),
    (lambda a: [[1 if i == j else 0 for j in range(len(a))] for i in range(len(a))], "Expected"),
]


def walk(q, k, v, w, *, late=0, leave=True, first="write"):
    S, Y = torch.zeros(k.shape[1], v.shape[1]), []
    for t in range(len(q)):
        if first == "read":
            Y.append(q[t] @ S)
        S = S + k[t, :, None] * v[t]
        if leave and t >= w + late:
            S = S - k[t - w - late, :, None] * v[t - w - late]
        if first == "write":
            Y.append(q[t] @ S)
    return torch.stack(Y)


def forgotten_again(q, k, v, w):
    S, Y = torch.zeros(k.shape[1], v.shape[1]), []
    for t in range(len(q)):
        S = S + k[t, :, None] * v[t]
        gone = k[t - w, :, None] * v[t - w] if t >= w else 0
        Y.append(q[t] @ (S - gone))
    return torch.stack(Y)


WINDOWS = [
    (lambda q, k, v, w: walk(q, k, v, w, late=1), "One token too many"),
    (lambda q, k, v, w: walk(q, k, v, w, late=-1), "One token too few"),
    (lambda q, k, v, w: walk(q, k, v, w, leave=False), "Nothing leaves"),
    (lambda q, k, v, w: walk(q, k, v, w, first="read"), "read before the new token"),
    (forgotten_again, "back a step later"),
    (lambda q, k, v, w: walk(q, k, v, w) / q.shape[1] ** 0.5, "√d"),
    (lambda q, k, v, w: 0 * walk(q, k, v, w), "expected"),
]

WRONG = {
    "keeps": [("a", "More heads"), ("c", "a state and a cell"), ("d", "2nd numbers"),
              (("b", "a"), "More heads")],
    "share-mask": SHARES,
    "brackets": [({"a", "b", "c", "e"}, "the first output would see"), ({"a", "b", "d"}, "softmax"),
                 ({"a", "b"}, "1 more"), ("e", "2 more")],
    "why-linear": [({"a", "b", "c", "e"}, "Below n = d"), ({"a", "c", "d"}, "as many cells"),
                   ({"a", "c"}, "1 more"), ("c", "2 more")],
    "window-memory": WINDOWS,
}
