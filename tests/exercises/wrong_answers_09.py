"""What learners answer wrongly in 09, and what they should then read."""
import math

# ---- running-softmax -----------------------------------------------------------------------------


def two_pass(rescale_sum=True, rescale_output=True, sign=1, last=False, divide=True):
    """A step written with plain sums, one part wrong."""
    def answer(largest, total, output, score, value):
        new = score if last else max(largest, score)
        try:
            factor = math.exp(sign * (largest - new))
        except OverflowError:
            factor = math.inf
        power = math.exp(score - new)
        after = total * (factor if rescale_sum else 1) + power
        summed = total * output * (factor if rescale_output else 1) + power * value
        return new, after, summed / after if divide else summed
    return answer


def powers_alone(largest, total, output, score, value):
    after = total + math.exp(score)
    return max(largest, score), after, (total * output + math.exp(score) * value) / after


def mean_of_all(largest, total, output, score, value):
    return max(largest, score), total + 1, (total * output + value) / (total + 1)


RUNNING = [
    (two_pass(rescale_sum=False, rescale_output=False), "Nothing is rescaled"),
    (two_pass(rescale_sum=False), "but not the sum"),
    (two_pass(rescale_output=False), "not what the output is made of"),
    (two_pass(divide=False), "divided by the sum"),
    (two_pass(last=True), "largest so far"),
    (powers_alone, "overflow"),
    (mean_of_all, "Expected|Result"),
    (lambda largest, total, output: (largest, total, output), "raises TypeError"),
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
    (lambda h, g: (dealt(h, g), [head // g for head in range(h)]), "h // g"),
    (lambda h, g: (list(range(h // g)) * g, neighbours(h, g)), "there are g of them"),
    (lambda h, g: dealt(h, g), "Return 2 things"),
]
WINDOW_LAYERS = [
    (lambda n, w: math.ceil(n / w), "n - 1 steps"),
    (lambda n, w: int((n - 1) / w), "Rounded down"),
    (lambda n, w: math.ceil((n - 1) / (w + 1)), "carries it nowhere"),
    (lambda n, w: (n - 1) / w, "round up"),
    (lambda n, w: n - 1, "window of 1"),
    (lambda n, w: 1, "Expected"),
]

WRONG = {
    "kv-bytes": [("a", "single pair"), ("b", "Half of it"), ("d", "pair of its own")],
    "running-softmax": RUNNING,
    "which-head": WHICH_HEAD,
    "true-of-tiles": [({"a", "b", "d", "e"}, "Statement a is false"),
                      ({"b", "c", "d", "e"}, "Statement c is false"), ({"b", "d"}, "1 more"),
                      ({"e"}, "2 more"), ("bde", "set")],
    "window-layers": WINDOW_LAYERS,
}
RIGHT = {"window-layers": [lambda n, w: math.ceil((n - 1) / w)]}
