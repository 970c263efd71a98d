"""What learners answer wrongly in 09, and what they should then read."""
import math

# ---- merge-states --------------------------------------------------------------------------------


def weighed(a, b):
    """The two outputs weighed by a and b."""
    def answer(one, other):
        (m, j, o), (n, k, p) = one, other
        x, y = a(m, n, j), b(n, m, k)
        return max(m, n), x + y, (x * o + y * p) / (x + y)
    return answer


def right(mine, others, total):
    return total * math.exp(mine - max(mine, others))


def sum_of_products(one, other):
    new, (m, j, o), (n, k, p) = max(one[0], other[0]), one, other
    a, b = j * math.exp(m - new), k * math.exp(n - new)
    return new, a + b, a * o + b * p


def old_sums_in_output(one, other):
    (m, j, o), (n, k, p) = one, other
    total = right(m, n, j) + right(n, m, k)
    return max(m, n), total, (j * o + k * p) / total


def old_means(one, other):
    new, total, _ = weighed(right, right)(one, other)
    return new, total, weighed(lambda m, n, j: j, lambda n, m, k: k)(one, other)[2]


def upside_down(one, other):
    (m, j, o), (n, k, p) = one, other
    new = max(m, n)
    a, b = j / math.exp(m - new), k / math.exp(n - new)
    return new, a + b, (a * o + b * p) / (a + b)


def mean_of_outputs(one, other):
    a, b = right(one[0], other[0], one[1]), right(other[0], one[0], other[1])
    return max(one[0], other[0]), a + b, 0.5 * one[2] + 0.5 * other[2]


def sum_of_outputs(one, other):
    return *mean_of_outputs(one, other)[:2], one[2] + other[2]


def powers_alone(one, other):
    (m, j, o), (n, k, p) = one, other
    a, b = j * math.exp(m), k * math.exp(n)
    new = max(m, n)
    return new, (a + b) / math.exp(new), (a * o + b * p) / (a + b)


MERGE = [
    (weighed(lambda m, n, j: j, lambda n, m, k: k), "Nothing is rescaled"),
    (old_sums_in_output, "but not what the outputs are made of"),
    (old_means, "but not what the outputs are made of"),
    (upside_down, "Rescaled the wrong way"),
    (sum_of_products, "divided by the sum"),
    (sum_of_outputs, "The outputs are added"),
    (mean_of_outputs, "count alike"),
    (weighed(right, lambda n, m, k: right(n, m, 1)), "its sum is missing"),
    (powers_alone, "raises OverflowError"),
    (lambda one: one, "raises TypeError"),
]

# ---- which-head and window-layers ----------------------------------------------------------------


def dealt(h, g):
    return list(range(g)) * (h // g)


def neighbours(h, g):
    return [pair for pair in range(g) for _ in range(h // g)]


WHICH_HEAD = [
    (lambda h, g: (neighbours(h, g), dealt(h, g)), "exchanged"),
    (lambda h, g: (neighbours(h, g), neighbours(h, g)), "doesn't do that"),
    (lambda h, g: (dealt(h, g), dealt(h, g)), "neighbours that share"),
    (lambda h, g: (dealt(h, g), [head // g for head in range(h)]), "divide by the number"),
    (lambda h, g: (list(range(h // g)) * g, neighbours(h, g)), "there are g of them"),
    (lambda h, g: dealt(h, g), "Return 2 things"),
    (lambda h, g: ([i + 1 for i in dealt(h, g)], [i + 1 for i in neighbours(h, g)]), "from 0"),
]
WINDOW_LAYERS = [
    (lambda n, w: math.ceil(n / w), "One layer too many where w divides n - 1"),
    (lambda n, w: (n - 1) // w + 1, "One layer too many where w divides n - 1"),
    (lambda n, w: round((n - 1) / w), "Rounded to the nearest"),
    (lambda n, w: math.ceil(n / (w + 1)), "carries it nowhere"),
    (lambda n, w: int((n - 1) / w), "Rounded down"),
    (lambda n, w: math.ceil((n - 1) / (w + 1)), "carries it nowhere"),
    (lambda n, w: (n - 1) / w, "round up"),
    (lambda n, w: n - 1, "window of 1"),
    (lambda n, w: 1, "Expected"),
    (lambda n, w: (n - 1).bit_length(), "don't double"),
]

WRONG = {
    "kv-bytes": [("a", "single pair"), ("b", "Half of it"), ("d", "pair of its own")],
    "merge-states": MERGE,
    "which-head": WHICH_HEAD,
    "true-of-tiles": [({"a", "b", "d", "e"}, "Statement a is false"),
                      ({"b", "c", "d", "e"}, "Statement c is false"), ({"b", "d"}, "1 more"),
                      ({"e"}, "2 more"), ("bde", "set")],
    "window-layers": WINDOW_LAYERS,
}
RIGHT = {"merge-states": [weighed(right, right)],
         "window-layers": [lambda n, w: math.ceil((n - 1) / w)]}
