"""What learners answer wrongly in 01, and what they should then read.

Answers here are written otherwise than the misconceptions that the exercises know.
"""
import math

import torch
from rewriting import table, write
from torch.nn import functional as F

# ---- pooling: a right answer, and one thing changed ----------------------------------------------

POOLING = """
def answer(queries, keys, values, keep):
    d = queries.size(1)
    scores = queries.mm(keys.t()) / math.sqrt(d)
    scores = torch.where(keep, scores, torch.tensor(-1e9))
    weights = F.softmax(scores, dim=1)
    weights = torch.where(keep, weights, torch.tensor(0.0))
    output = weights.mm(values)
    return output, weights
"""
HIDE = "    scores = torch.where(keep, scores, torch.tensor(-1e9))\n"
SOFTMAX = "    weights = F.softmax(scores, dim=1)\n"
DIVIDE = "    weights = weights / weights.sum(1, keepdim=True).clamp(min=1e-12)\n"
CLEAR = "    weights = torch.where(keep, weights, torch.tensor(0.0))\n"
ALL = HIDE + SOFTMAX + CLEAR


def weights(scores):
    return f"    weights = F.softmax({scores}, dim=1)\n"


POOLINGS = table(POOLING, [
    ("dim=1", "dim=0", "columns sum to 1"),
    ("/ math.sqrt(d)", "", "not scaled"),
    ("math.sqrt(d)", "d", "not by its square root"),
    ("/ math.sqrt(d)", "* math.sqrt(d)", "You multiply by the root"),
    ("math.sqrt(d)", "2", r"2 = math.sqrt\(4\)"),  # copied from the lesson
    ("math.sqrt(d)", "math.sqrt(6)", "numbers are not"),
    ("math.sqrt(d)", "math.sqrt(len(keys))", "root of a number of tokens"),
    ("math.sqrt(d)", "math.sqrt(len(queries))", "root of a number of tokens"),
    ("math.sqrt(d)", "math.sqrt(values.size(1))", "root of the values' width"),
    (ALL, SOFTMAX, "mask has no effect"),
    (HIDE, "", "after the softmax"),
    ("keep, scores, torch.tensor(-1e9)", "keep, scores, torch.tensor(0.0)", "a score of 0 still"),
    (ALL, weights("scores * keep"), "a score of 0 still gets weight"),
    ("-1e9", "-1000.0", "not low enough to hide with"),
    ("-1e9", "-100.0", CLEAR, "", "not low enough to hide with"),
    ("-1e9", "-1e4", "not low enough to hide with"),
    ("-1e9", "-1e6", CLEAR, "", "not low enough to hide with"),
    (HIDE, "", CLEAR, "    weights = weights * keep\n" + DIVIDE, "divide by what is left"),
    (ALL, "    weights = scores.exp() * keep\n" + DIVIDE, "own exponentials round to 0"),
    (ALL, "    weights = scores.exp() * keep\n    weights = weights / weights.sum(1)[:, None]\n",
     "own exponentials round to 0"),
    ("keep, scores, ", "~keep, scores, ", "upside down where you hide"),
    ("keep, ", "~keep, ", "upside down: True"),
    (ALL, weights("scores.masked_fill(keep, -math.inf)"), "upside down"),
    (CLEAR, "", "mean of hidden values"),
    (ALL, weights("scores.masked_fill(~keep, -math.inf)"), "0 divided by 0"),
    (ALL, weights("scores.masked_fill(~keep, -math.inf)").rstrip() + " * keep\n", "stays NaN"),
    (HIDE, "    scores = scores + (~keep) * -math.inf\n", "0 · -inf = NaN"),
    (ALL, weights("scores + (~keep) * -math.inf"), "Use masked_fill"),
    ("return output, weights", "return output", "Return the weights as well"),
    ("return output, weights", "return weights, output", "changed places"),
    ("weights.mm(values)", "weights.mm(keys)", "yours mixes the keys"),
    ("queries.mm(keys.t())", "queries.mm(keys)", "raises RuntimeError"),
])
RENORMALISED = "    weights = F.softmax(scores, dim=1) * keep\n" + DIVIDE
NAN_TO_NUM = "    weights = scores.masked_fill(~keep, -math.inf).softmax(1).nan_to_num()\n"



def fused(q, k, v, keep):
    both = torch.cat([v, torch.eye(len(k))], 1)[None, None]
    mixed = F.scaled_dot_product_attention(q[None, None], k[None, None], both, keep)[0, 0]
    mixed = torch.where(keep.any(1, keepdim=True), mixed, 0)
    return mixed[:, :v.shape[1]], mixed[:, v.shape[1]:]


def by_lists(q, k, v, keep):
    rows = [[sum(x * y for x, y in zip(a, b)) / len(a) ** 0.5 for b in k.tolist()]
            for a in q.tolist()]
    return hidden(torch.tensor(rows), v, keep)


def hidden(scores, v, keep):
    weights = scores.masked_fill(~keep, -math.inf).softmax(1).nan_to_num()
    return weights.to(v) @ v, weights.to(v)


ORDERS = [  # the same operations in another order, and in another type
    fused, by_lists,
    lambda q, k, v, keep: hidden((q / math.sqrt(q.shape[1])) @ k.T, v, keep),
    lambda q, k, v, keep: hidden(q @ (k / math.sqrt(k.shape[1])).T, v, keep),
    lambda q, k, v, keep: hidden(q @ k.T * q.shape[1] ** -0.5, v, keep),
    lambda q, k, v, keep: hidden((q * q.shape[1] ** -0.25) @ (k * q.shape[1] ** -0.25).T, v, keep),
    lambda q, k, v, keep: hidden((q[:, None] * k).sum(-1) / q.shape[1] ** 0.5, v, keep),
    lambda q, k, v, keep: hidden(q.double() @ k.double().T / q.shape[1] ** 0.5, v, keep),
]

# ---- lengths, defeat and kernel ------------------------------------------------------------------


def column(lens, n):
    return lens.repeat_interleave(n).reshape(-1, n, 1) if lens.dim() == 1 else lens[..., None]


LENGTHS = [
    (lambda lens, n, m: torch.arange(m) >= column(lens, n), "Upside down"),
    (lambda lens, n, m: torch.arange(m) <= column(lens, n), "One key too many"),
    (lambda lens, n, m: torch.arange(1, m + 1) < column(lens, n), "One key too few"),
    (lambda lens, n, m: torch.arange(m) <
     (lens.repeat(n) if lens.dim() == 1 else lens.flatten()).reshape(-1, n, 1), "the lengths out"),
    (lambda lens, n, m: torch.arange(m).expand(len(lens), len(lens), -1) <
     (lens[:, None] if lens.dim() == 1 else lens)[None], "lengths of other sentences"),
    (lambda lens, n, m: torch.arange(m) < lens[:, None], "axis of the queries is missing"),
    (lambda lens, n, m: torch.arange(m) < lens.reshape(len(lens), -1, 1), "expand the axis"),
    (lambda lens, n, m: torch.arange(m).flip(0) < column(lens, n), "keep the last keys"),
    (lambda lens, n, m: torch.arange(n) < column(lens, n), "shape should be"),
    (lambda lens, n, m: [[j < n for j in range(m)] for n in lens.tolist()], "Return one tensor"),
    (lambda lens, n, m: (torch.arange(m) < column(lens, n)).float(), "yours is torch.float32"),
    (torch.ones(3, 3, 5).bool(), "Give the function itself, got Tensor"),
]
DEFEAT = [
    ([0, 0, 100], "^The last score is overwritten, whatever you choose. Your visible"),
    ([0.0, 0.0, 0.0], "^Your visible scores are far above -1e6, so the hidden key"),
    ([-1e6, -1e6, -1e6], "Close: the hidden key gets 0.33"),
    ([-1e6, -2e6, 0], "Close: the hidden key gets 0.50"),
    ([-1e6 + 50, -1e6 + 50, -2e6], "^Your visible scores are just above -1e6, so"),
    ([-2e6, -1e6 + 50, -3e6], "^One visible score is just above -1e6: both"),
    ([-2e6, 0, 0], "^One visible score is far above -1e6: both"),
    ([0, -2e6, 1e9], "overwritten.* One visible score"),
    ([-math.inf, -math.inf, 0], "Finite scores only"),
    ([-1e7, -1e7], "three scores"),
    ([[-2e6, -2e6, 0]], "three scores"),
    (["low", "low", "high"], "raises"),
]


def kernel(score):
    return lambda x, known_x, known_y, sigma: score(
        x.unsqueeze(1) - known_x.unsqueeze(0), sigma).softmax(1) @ known_y


def attended(scores, axis=-1):
    """``scores(x, known_x)``, divided by 2 sigma², softmaxed, and mixed."""
    return lambda x, known_x, known_y, sigma: F.softmax(
        scores(x, known_x) / (2 * sigma * sigma), axis) @ known_y


def loop_over(x, known_x, known_y, sigma):
    rows = [F.softmax(-(known_x - point).pow(2) / (2 * sigma**2), 0) for point in x]
    return torch.stack([(row * known_y).mean() for row in rows])


KERNEL = [
    (kernel(lambda distance, sigma: distance.pow(2) / (2 * sigma**2)), "minus is missing"),
    (kernel(lambda distance, sigma: -distance.abs() / (2 * sigma**2)), "its absolute value"),
    (kernel(lambda distance, sigma: -distance.pow(2) / (2 * sigma)), "sigma needs a square"),
    (kernel(lambda distance, sigma: -distance.pow(2) / sigma**2), "The 2 is missing"),
    (kernel(lambda distance, sigma: -(distance / (2 * sigma)).pow(2)), "square the 2 as well"),
    (kernel(lambda distance, sigma: -distance.pow(2)), "sigma has no effect"),
    (kernel(lambda distance, sigma: -distance.pow(2) / 2 * sigma**2), "in brackets"),
    (kernel(lambda distance, sigma: -distance / (2 * sigma**2)), "one side of x"),
    (kernel(lambda distance, sigma: torch.exp(-distance.pow(2) / (2 * sigma**2))),
     "takes the exponential itself"),
    (lambda x, known_x, known_y, sigma: torch.exp(
        -(x[:, None] - known_x).pow(2) / (2 * sigma**2)) @ known_y, "don't sum to 1"),
    (attended(lambda x, known_x: -(x[:, None] - known_x).pow(2), 0), "over the queries"),
    (lambda x, known_x, known_y, sigma:
     known_y[torch.cdist(x[:, None], known_x[:, None]).argmin(1)], "nearest point"),
    (lambda x, known_x, known_y, sigma: known_y.mean().expand(len(x)), "the plain mean"),
    (lambda x, known_x, known_y, sigma: -(x[:, None] - known_x).pow(2), "shape should be"),
    (attended(lambda x, known_x: -(x - known_x).pow(2)), "compares the first with the first"),
    (attended(lambda x, known_x: -(known_x[:, None] - x) ** 2), "known points in the rows"),
    (attended(lambda x, known_x: -(known_x.view(-1, 1) - x).square(), 0), "points in the rows"),
    (attended(lambda x, known_x: (known_x[:, None] - x) ** 2), "raises RuntimeError"),  # two slips
    (loop_over, "sum to 1 already"),
]

WRONG = {
    "between-two": [("a", "Weights sum to 1"), ("c", "all four"), ("d", "equal scores equally")],
    "pooling": POOLINGS,
    "lengths": LENGTHS,
    "defeat": DEFEAT,
    "why-scale": [({"a", "b", "d"}, "Statement b is false"), ({"a", "c"}, "Statement c is false"),
                  ({"a"}, "2 more"), ({"d", "a"}, "1 more"), ("ade", "set"),
                  ({"a", "f"}, "letters from a, b, c, d, e")],
    "kernel": KERNEL,
}
RIGHT = {
    "pooling": [write(POOLING, ALL, HIDE + RENORMALISED),
                write(POOLING, "-1e9", "torch.finfo(torch.float32).min"),
                write(POOLING, ALL, NAN_TO_NUM), *ORDERS],
    "defeat": [(-1.1e6, -1.2e6, 5), torch.tensor([-2e6, -3e6, 0.0])],
}
