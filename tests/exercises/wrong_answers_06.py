"""What learners answer wrongly in 06, and what they should then read. Written from the exercises' texts, not from their checks."""
import math

FIELDS = [
    (lambda k, gaps: 1 + sum((k - 1) * gap for gap in gaps), "both sides and the middle"),
    (lambda k, gaps: sum((k - 1) * gap for gap in gaps), "half of it"),
    (lambda k, gaps: len(gaps) * (k // 2), "without gaps"),
    (lambda k, gaps: (k - 1) // 2 * max(gaps), "widest layer alone|last layer alone"),
    (lambda k, gaps: k * sum(gaps) // 2, "half of k - 1"),
    (lambda k, gaps: sum(k / 2 * gap for gap in gaps), "half of k - 1"),
    (lambda k, gaps: sum(k // 2 * gap for gap in gaps) + 1, "distances start at 0"),
    (lambda k, gaps: sum(gaps), "holds for kernel 3|wider kernel"),
    (lambda k, gaps: (k - 1) / 2 * math.prod(gaps), "don't multiply"),
    (lambda k, gaps: k * sum(gaps), "not k"),
    (lambda k, gaps: 2 ** len(gaps) - 1, "holds for kernel 3 and gaps"),
    (lambda k, gaps: len(gaps) * (k - 1),
     "both sides together, and without gaps"),  # once: the widest layer alone
    (lambda k, gaps: k * len(gaps), r"^Expected 22, got 15\. It was called with 5, \[1, 6, 4\]\.$"),
    (lambda k: k // 2, "raises TypeError"),
    (7, "Give the function itself, got int"),
]

WORK = [
    (lambda n, d, inner: 4 * n * d**2 + 2 * n**2 * d + 2 * n * d * inner, "a multiply and an add are two"),
    (lambda n, d, inner: 4 * n**2 * d + 4 * n * d * inner, "four projections are missing"),
    (lambda n, d, inner: 6 * n * d**2 + 4 * n**2 * d + 4 * n * d * inner, "W_o"),
    (lambda n, d, inner: 8 * n * d**2 + 4 * n * d * inner, "two products"),
    (lambda n, d, inner: 8 * n * d**2 + 2 * n**2 * d + 4 * n * d * inner, "One product is missing"),
    (lambda n, d, inner: 8 * n * d**2 + 4 * n**2 * d + 2 * n * d * inner, "and back"),
    (lambda n, d, inner: 8 * n * d**2 + 4 * n**2 * d, "small network is missing"),
    (lambda n, d, inner: 24 * n * d**2 + 4 * n**2 * d, "inner is a number of its own"),
    (lambda n, d, inner: 8 * d * d + 4 * n * d + 4 * d * inner, "per token"),
    (lambda n, d, inner: 4 * n * d * d + 4 * n * n * d + 4 * n * d * inner, "not nd²"),
    (lambda n, d, inner: 8 * n * d * d + 4 * n * n * d + 4 * n * d * inner + n * inner, "no ReLU"),
    (lambda n, d, inner: 8 * n * d * d + 4 * n * n * d + 4 * n * inner**2,
     "None is inner by inner"),
    (lambda n, d, inner: 8 * n * d * d + 4 * n * n * d + 2 * n * d * inner + 2 * n * inner**2,
     "None is inner by inner"),
    (lambda n, d, inner: 8 * n * d * d + 4 * n * n * d + 4 * n * d * inner + 2 * n * inner**2,
     "None is inner by inner"),
    (lambda n, d, inner: n * d * (8 * d + 4 * n + 4 * inner) + 4 * d**2, "Expected"),
]


def pairs(dilations, n, order=1, middle=True, known=None):
    known = [{i} for i in range(n)]
    for gap in dilations[::order]:
        known = [set().union(*(known[j] for j in ([i - gap, i, i + gap] if middle else [i - gap, i + gap]) if j in range(n))) for i in range(n)]
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


def outside(dilations, n):
    """Sets that may lie outside, as if the sequence had no ends."""
    known = {i: {i} for i in range(-100, 100)}
    for gap in dilations:
        known = {i: known[i] | known.get(i - gap, set()) | known.get(i + gap, set()) for i in known}
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


def in_place(dilations, n):
    known = [{i} for i in range(n)]
    for gap in dilations:
        for i in range(n):
            for j in (i - gap, i + gap):
                if 0 <= j < n:
                    known[i] = known[i] | known[j]
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


def from_behind(dilations, n):
    """Negative indices read the last places."""
    known = [{i} for i in range(n)]
    for gap in dilations:
        known = [known[i - gap] | known[i] | (known[i + gap] if i + gap < n else set()) for i in range(n)]
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


UNCONNECTED = [
    (in_place, "still reading them"),
    (from_behind, r"known\[-1\] is the last place"),
    (lambda gaps, n: [(j, i) for i, j in pairs(gaps, n)], r"written \(input, output\)"),
    (outside, "leave the sequence"),
    (lambda gaps, n: pairs(gaps, n, middle=False), "has a middle"),
    (lambda gaps, n: pairs(gaps, n, order=-1), "the layers their order"),
    (lambda gaps, n: sorted((j, i) for i, j in pairs(gaps, n)), "have changed places"),
    (lambda gaps, n: [(i, j) for i in range(n) for j in range(n) if abs(i - j) > sum(gaps)], "not all"),
    (lambda gaps, n: [(i, j) for i, j in pairs(gaps, n) if j > i], "Each direction counts"),
    (lambda gaps, n: [(i + 1, j + 1) for i, j in pairs(gaps, n)], "from 0"),
    (lambda gaps, n: sorted(set((i, j) for i in range(n) for j in range(n)) - set(pairs(gaps, n))), "do meet"),
    (lambda gaps, n: [(0, 8)], "Return|Expected"),
    (lambda gaps, n: [], "says that every pair meets"),
    (lambda gaps, n: set(pairs(gaps, n)), "in a set"),
]

WINDOWS = [
    (lambda n, w: (n * (2 * w + 1), -(-(n - 1) // w)), "at the two ends"),
    (lambda n, w: (n * (2 * w + 1) - w * (w + 1), math.ceil((n - 1) / (2 * w))), "twice as many"),
    (lambda n, w: ((2 * w + 1) * n, math.ceil((n - 1) / 2 / w)), "Two things"),
    (lambda n, w: (n * (2 * w + 1) - w * (w + 1), (n - 1) // w), "rounded up"),
    (lambda n, w: (n * (2 * w + 1) - w * (w + 1), math.ceil(n / w)), "n - 1 places"),
    (lambda n, w: (sum(abs(i - j) <= w for i in range(n) for j in range(n)), (n - 1) // w + 1), "no extra layer"),
    (lambda n, w: (sum(0 <= i - j <= w for i in range(n) for j in range(n)), math.ceil((n - 1) / w)), "each pair once"),
    (lambda n, w: (sum(0 < abs(i - j) <= w for i in range(n) for j in range(n)), math.ceil((n - 1) / w)), "to itself"),
    (lambda n, w: (sum(abs(i - j) <= w for i in range(n) for j in range(-w, n)), math.ceil((n - 1) / w)), "both ends"),
    (lambda n, w: (sum(abs(i - j) <= w for i in range(n) for j in range(n)), 1), "no longer connects all"),
    (lambda n, w: (n**2, math.ceil((n - 1) / w)), "saves"),
    (lambda n, w: (n * w, n // w),
     "^Result 1 of 2: Expected 44, got 20"),  # once: the path is right
    (lambda n, w: (n * w, math.ceil((n - 1) / w)), "on each side"),
    (lambda n, w: (math.ceil((n - 1) / w), n * (2 * w + 1) - w * (w + 1)), "wrong order"),
    (lambda n, w: n * (2 * w + 1) - w * (w + 1), "Return 2 things"),
]

WRONG = {
    "cheapest": [("a", "only while n < d"), ("c", "only at n = 2d"), ("d", "eight matrices"),
                 (("b", "d"), "eight matrices"), ("GRU", "letters")],
    "receptive-field": FIELDS,
    "work": WORK,
    "unconnected": UNCONNECTED,
    "why-attention": [({"a", "b", "c", "e"}, "products alone"), ({"b", "c", "d", "e"}, "too far"), ({"b", "c"}, "1 more"), ("b", "2 more"), ({"a"}, "products alone"),
                      ({"f"}, "letters")],
    "windowed": WINDOWS,
}
