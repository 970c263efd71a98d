"""What learners answer wrongly in 06, and what they should then read."""
import math

FIELDS = [
    (lambda k, gaps: 1 + sum((k - 1) * gap for gap in gaps), "both sides and the middle"),
    (lambda k, gaps: sum((k - 1) * gap for gap in gaps), "half of it"),
    (lambda k, gaps: (k - 1) // 2 * max(gaps), "widest layer alone"),
    (lambda k, gaps: sum(k / 2 * gap for gap in gaps), "middle place is on neither"),
    (lambda k, gaps: sum(k // 2 * gap for gap in gaps) + 1, "distances start at 0"),
    (lambda k, gaps: (k - 1) / 2 * math.prod(gaps), "don't multiply"),
    (lambda k, gaps: k * len(gaps),
     r"^Expected 22, got 15\.\n  It was called with 5, \[1, 6, 4\]\.$"),
    (lambda k: k // 2, "raises TypeError"),
    (7, "Give the function itself, got int"),
    (lambda k, gaps: len(gaps) * ((k - 1) // 2), "^That holds without gaps"),
    (lambda k, gaps: len(gaps) * (k - 1), "both sides together"),
    (lambda k, gaps: 2 ** len(gaps) - 1, "kernel 3 and gaps"),
    (lambda k, gaps: sum(k * gap for gap in gaps), r"its middle, not k\."),
    (lambda k, gaps: [k // 2 * gap for gap in gaps][-1], "last layer alone"),
    (lambda k, gaps: sum(gaps), "A wider kernel"),
]
WORK = [
    (lambda n, d, inner: 2 * n * d * (2 * d + n + inner), "^Half of what"),
    (lambda n, d, inner: 4 * n * d * (n + inner), "four projections are missing"),
    (lambda n, d, inner: 8 * n * d**2 + 4 * n**2 * d, "small network is missing"),
    (lambda n, d, inner: 24 * n * d**2 + 4 * n**2 * d, "inner is a number of its own"),
    (lambda n, d, inner: 4 * d * (2 * d + n + inner), "per token"),
    (lambda n, d, inner: 4 * n * (2 * d * d + n * d + inner**2), "None is inner by inner"),
    (lambda n, d, inner: n * d * (8 * d + 4 * n + 4 * inner) + 4 * d**2, "Expected"),
    (lambda n, d, inner: 4 * n * d * (d + n + inner), "projection is 2nd²"),
    (lambda n, d, inner: 4 * n * d * (2 * d + n + inner) + n * inner, "no ReLU"),
    (lambda n, d, inner: 2 * n * d * (3 * d + 2 * n + 2 * inner), "There is a fourth"),
    (lambda n, d, inner: 4 * n * d * (2 * d + inner), "two products, scores and"),
    (lambda n, d, inner: 2 * n * d * (4 * d + n + 2 * inner), "One product is missing"),
    (lambda n, d, inner: 2 * n * d * (4 * d + 2 * n + inner), "two layers: to inner"),
]


def unknown(known, n):
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


def pairs(gaps, n, middle=(0,)):
    known = [{i} for i in range(n)]
    for gap in gaps:
        known = [set().union(*(known[i + step] for step in (-gap, *middle, gap)
                               if i + step in range(n))) for i in range(n)]
    return unknown(known, n)


def outside(gaps, n):
    """Sets that may lie outside, as if the sequence had no ends."""
    known = {i: {i} for i in range(-100, 100)}
    for gap in gaps:
        known = {i: known[i] | known.get(i - gap, set()) | known.get(i + gap, set()) for i in known}
    return unknown(known, n)


def in_place(gaps, n):
    known = [{i} for i in range(n)]
    for gap in gaps:
        for i in range(n):
            for j in (i - gap, i + gap):
                if 0 <= j < n:
                    known[i] = known[i] | known[j]
    return unknown(known, n)


def from_behind(gaps, n):
    """Negative indices read the last places."""
    known = [{i} for i in range(n)]
    for gap in gaps:
        known = [known[i - gap] | known[i] | (known[i + gap] if i + gap < n else set())
                 for i in range(n)]
    return unknown(known, n)


UNCONNECTED = [
    (in_place, "still reading them"),
    (from_behind, r"known\[-1\] is the last place"),
    (outside, "leave the sequence"),
    (lambda gaps, n: pairs(gaps, n, middle=()), "has a middle"),
    (lambda gaps, n: [(j, i) for i, j in pairs(gaps, n)], r"written \(input, output\)"),
    (lambda gaps, n: sorted((j, i) for i, j in pairs(gaps, n)), "have changed places"),
    (lambda gaps, n: [(i, j) for i, j in pairs(gaps, n) if j > i], "Each direction counts"),
    (lambda gaps, n: sorted(set(unknown([()] * n, n)) - set(pairs(gaps, n))), "do meet"),
    (lambda gaps, n: [(0, 8)], "Expected"),
    (lambda gaps, n: set(pairs(gaps, n)), "in a set"),
    (lambda gaps, n: [(i, j) for i in range(n) for j in range(n) if j > i + sum(gaps)
                      or i > j + sum(gaps)], "Reach is not enough"),
    (lambda gaps, n: [(i + 1, j + 1) for i, j in pairs(gaps, n)], "Count places from 0"),
    (lambda gaps, n: list(), "An empty list"),
    (lambda gaps, n: pairs(gaps[-1:], n), "last layer alone"),
]


def inside(n, w, *, own=True):
    """The pairs of a window, counted one by one."""
    return sum(abs(i - j) <= w and (own or i != j) for i in range(n) for j in range(n))


WINDOWS = [
    (lambda n, w: (n * (2 * w + 1), -(-(n - 1) // w)), "at the two ends"),
    (lambda n, w: (inside(n, w), math.ceil((n - 1) / (2 * w))), "twice as many"),
    (lambda n, w: ((2 * w + 1) * n, math.ceil((n - 1) / 2 / w)), "Two things"),
    (lambda n, w: (inside(n, w), (n - 1) // w), "rounded up"),
    (lambda n, w: (inside(n, w), (n - 1) // w + 1), "no extra layer"),
    (lambda n, w: ((inside(n, w) + n) // 2, math.ceil((n - 1) / w)), "each pair once"),
    (lambda n, w: (sum(0 <= i - j <= w for i in range(n) for j in range(n)), -(-(n - 1) // w)),
     "only looked back"),
    (lambda n, w: (inside(n, w, own=False), math.ceil((n - 1) / w)), "to itself"),
    (lambda n, w: (sum(abs(i - j) <= w for i in range(n) for j in range(-w, n)),
                   math.ceil((n - 1) / w)), "both ends"),
    (lambda n, w: (inside(n, w), 1), "no longer connects all"),
    (lambda n, w: (n * w, n // w), "^Result 1 of 2: Expected 44, got 20"),
    (lambda n, w: (math.ceil((n - 1) / w), inside(n, w)), "wrong order"),
    (inside, "Return 2 things"),
    (lambda n, w: (n * w, math.ceil((n - 1) / w)), "on each side and itself"),
    (lambda n, w: (n**2, math.ceil((n - 1) / w)), "inside the window are scored"),
]

WRONG = {
    "cheapest": [("a", "only while n < d"), ("c", "only at n = 2d"), ("d", "eight matrices"),
                 (("b", "d"), "eight matrices")],
    "receptive-field": FIELDS,
    "work": WORK,
    "unconnected": UNCONNECTED,
    "why-attention": [({"a", "b", "c", "e"}, "products alone"), ({"b", "c", "d"}, "too far"),
                      ({"b", "c"}, "1 more"), ("b", "2 more")],
    "windowed": WINDOWS,
}
