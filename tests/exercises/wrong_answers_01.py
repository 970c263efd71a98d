"""What learners answer wrongly in 01, and what they should then read. Written from the exercises' texts, not from their checks."""
import math

import torch
from torch.nn import functional as F

# ---- pooling: a right answer, and one thing changed -----------------------------------------------------------------------------------

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

CLEAR = "    weights = torch.where(keep, weights, torch.tensor(0.0))\n"
HIDE = "    scores = torch.where(keep, scores, torch.tensor(-1e9))\n"
CHANGES = [
    ("dim=1", "dim=0", "columns sum to 1"),
    ("/ math.sqrt(d)", "", "not scaled"),
    ("math.sqrt(d)", "d", "not by its square root"),
    ("/ math.sqrt(d)", "* math.sqrt(d)", "You multiply by the root"),
    ("math.sqrt(d)", "math.sqrt(4)", r"2 = math.sqrt\(4\)"),  # copied from the lesson
    ("math.sqrt(d)", "2", r"2 = math.sqrt\(4\)"),
    ("math.sqrt(d)", "math.sqrt(6)", "numbers are not"),
    ("math.sqrt(d)", "math.sqrt(len(keys))", "root of a number of tokens"),
    ("math.sqrt(d)", "math.sqrt(len(queries))", "root of a number of tokens"),
    ("math.sqrt(d)", "math.sqrt(values.size(1))", "root of the values' width"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores, dim=1)\n", "mask has no effect"),
    (HIDE, "", "after the softmax"),
    ("keep, scores, torch.tensor(-1e9)", "keep, scores, torch.tensor(0.0)",
     "a score of 0 still gets weight"),
    ("torch.where(keep, scores, torch.tensor(-1e9))", "scores * keep",
     "a score of 0 still gets weight"),
    ("-1e9", "-100.0", "not low enough to hide with"),
    ("-1e9", "-1000.0", "not low enough to hide with"),
    ("-1e9))\n    weights = F.softmax(scores, dim=1)\n" + CLEAR,
     "-100.0))\n    weights = F.softmax(scores, dim=1)\n",
     "not low enough to hide with"),
    ("keep, scores, ", "~keep, scores, ", "upside down where you hide"),
    ("keep, ", "~keep, ", "upside down"),
    (CLEAR, "", "mean of hidden values"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores.masked_fill(~keep, -math.inf), dim=1)\n", "0 divided by 0"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores.masked_fill(keep, -math.inf), dim=1)\n", "upside down"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores * keep, dim=1)\n", "a score of 0 still gets weight"),
    (HIDE, "    scores = scores + (~keep) * -math.inf\n", "0 · -inf = NaN"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores + (~keep) * -math.inf, dim=1)\n", "Use masked_fill"),
    (HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR, "    weights = F.softmax(scores.masked_fill(~keep, -math.inf), dim=1) * keep\n", "NaN · 0 stays NaN"),
    ("return output, weights", "return output", "(?i)return the weights as well|return 2 things"),
    ("return output, weights", "return weights, output", "changed places"),
    ("weights.mm(values)", "weights.mm(keys)", "yours mixes the keys"),
    ("queries.mm(keys.t())", "queries.mm(keys)", "raises RuntimeError"),
]


def pooling(old, new):
    assert old in POOLING
    space = {"torch": torch, "math": math, "F": F}
    exec(POOLING.replace(old, new), space)
    return space["answer"]


# ---- lengths ----------------------------------------------------------------------------------------------------------------------------

def column(lens, queries):
    return lens.repeat_interleave(queries).reshape(-1, queries, 1) if lens.dim() == 1 else lens[..., None]


LENGTHS = [
    (lambda lens, queries, keys: torch.arange(keys) >= column(lens, queries), "Upside down"),
    (lambda lens, queries, keys: torch.arange(keys) <= column(lens, queries), "One key too many"),
    (lambda lens, queries, keys: torch.arange(keys) < (lens.repeat(queries) if lens.dim() == 1 else lens.flatten()).reshape(-1, queries, 1), "deals the lengths out"),
    (lambda lens, queries, keys: (torch.arange(keys) < (lens[:, None] if lens.dim() == 1 else lens)[None, :, :]).expand(len(lens), -1, -1), "lengths of other sentences"),
    (lambda lens, queries, keys: torch.arange(keys) < lens[:, None], "axis of the queries is missing"),
    (lambda lens, queries, keys: torch.arange(keys) < lens.reshape(len(lens), -1, 1), "expand the axis"),
    (lambda lens, queries, keys: torch.arange(keys).flip(0) < column(lens, queries), "keep the last keys"),
    (lambda lens, queries, keys: torch.arange(1, keys + 1) < column(lens, queries),
     "One key too few"),
    (lambda lens, queries, keys: torch.arange(keys)[:, None] < lens, "shape should be"),
    (lambda lens, queries, keys: torch.arange(queries) < column(lens, queries), "shape should be"),
    (lambda lens, queries, keys: [[j < n for j in range(keys)] for n in lens.tolist()], "(?i)return (a|one) tensor"),
    (lambda lens, queries, keys: (torch.arange(keys) < column(lens, queries)).float(), "a mask is boolean, and yours is torch.float32"),
    (torch.ones(3, 3, 5).bool(), "Give the function itself, got Tensor"),
]

# ---- defeat and kernel -----------------------------------------------------------------------------------------------------------------

DEFEAT = [
    ([0, 0, 1e9], "overwritten, whatever you choose"),
    ([0, 0, 100], "overwritten, whatever you choose"),
    ([0.0, 0.0, 0.0], "^Your visible scores are far above -1e6"),
    ([-100, -100, -100], "far above -1e6"),
    ([-1e6, -1e6, -1e6], "(?i)close: the hidden key gets 0.33"),
    ([-1e6, -2e6, 0], "(?i)close: the hidden key gets 0.50"),
    ([-1e6 + 50, -1e6 + 50, 0],
     "^The last score is overwritten, whatever you choose. Your visible scores are above -1e6, so"),
    ([-2e6, -1e6 + 50, -3e6], "^One visible score is above -1e6: both"),
    ([-2e6, 0, 0], "^One visible score is far above -1e6: both"),
    ([0, -2e6, 1e9], "overwritten.* One visible score"),
    ([-math.inf, -math.inf, 0], "Finite scores only"),
    ([-1e7, -1e7], "(?i)three scores"),
    ([[-2e6, -2e6, 0]], "(?i)three scores"),
    (-2e6, "(?i)three scores"),
    (["low", "low", "high"], "raises"),
]


def kernel(score):
    return lambda x, known_x, known_y, sigma: score(x.unsqueeze(1) - known_x.unsqueeze(0), sigma).softmax(1) @ known_y


def loop_over(x, known_x, known_y, sigma):
    return torch.stack([(F.softmax(-(known_x - point).pow(2) / (2 * sigma**2), 0) * known_y).mean() for point in x])


KERNEL = [
    (kernel(lambda distance, sigma: distance.pow(2) / (2 * sigma**2)), "minus is missing"),
    (kernel(lambda distance, sigma: -distance.abs() / (2 * sigma**2)), "Square the distance"),
    (kernel(lambda distance, sigma: -distance.pow(2) / (2 * sigma)), "sigma needs a square"),
    (kernel(lambda distance, sigma: -distance.pow(2) / sigma**2), "The 2 is missing"),
    (kernel(lambda distance, sigma: -(distance / (2 * sigma)).pow(2)), "square the 2 as well"),
    (kernel(lambda distance, sigma: -distance.pow(2)), "sigma has no effect"),
    (kernel(lambda distance, sigma: -distance.pow(2) / 2 * sigma**2), "in brackets"),
    (kernel(lambda distance, sigma: -distance / (2 * sigma**2)), "one side of x"),
    (kernel(lambda distance, sigma: torch.exp(-distance.pow(2) / (2 * sigma**2))),
     "takes the exponential itself"),
    (lambda x, known_x, known_y, sigma: torch.exp(-(x[:, None] - known_x).pow(2) / (2 * sigma**2)) @ known_y, "don't sum to 1"),
    (lambda x, known_x, known_y, sigma: F.softmax(-(x[:, None] - known_x).pow(2) / (2 * sigma**2), dim=0) @ known_y, "over the queries"),
    (lambda x, known_x, known_y, sigma: known_y[torch.cdist(x[:, None], known_x[:, None]).argmin(1)], "nearest point"),
    (lambda x, known_x, known_y, sigma: known_y.mean().expand(len(x)), "the plain mean"),
    (lambda x, known_x, known_y, sigma: F.softmax(-(x[:, None] - known_x).pow(2) / (2 * sigma**2), dim=1), "shape should be"),  # the weights
    (lambda x, known_x, known_y, sigma:
     F.softmax(-(x - known_x).pow(2) / (2 * sigma**2), dim=0) @ known_y,
     "compares the first with the first"),
    (lambda x, known_x, known_y, sigma:
     torch.softmax(-(known_x[:, None] - x) ** 2 / (2 * sigma * sigma), -1) @ known_y,
     "turned around: known points in the rows"),
    (lambda x, known_x, known_y, sigma:
     (-(known_x.view(-1, 1) - x).square() / (2 * sigma**2)).softmax(0).matmul(known_y),
     "turned around: known points in the rows"),
    (lambda x, known_x, known_y, sigma:  # two slips: the sizes are all that is told
     ((known_x[:, None] - x) ** 2 / (2 * sigma**2)).softmax(-1) @ known_y,
     "raises RuntimeError"),
    (loop_over, "sum to 1 already"),
]

WRONG = {
    "between-two": [("a", "Weights sum to 1"), ("c", "all four"), ("d", "equal scores equally")],
    "pooling": [(pooling(old, new), words) for old, new, words in CHANGES],
    "lengths": LENGTHS,
    "defeat": DEFEAT,
    "why-scale": [({"a", "b", "d"}, "Statement b is false"), ({"a", "c", "d", "e"}, "Statement c is false"), ({"a"}, "2 more"), ({"d", "a"}, "1 more"),
                  ("ade", "set"), ({"a", "f"}, "letters from a, b, c, d, e")],
    "kernel": KERNEL,
}

HIDDEN = HIDE + "    weights = F.softmax(scores, dim=1)\n" + CLEAR
RENORMALISED = """    weights = F.softmax(scores, dim=1) * keep
    weights = weights / weights.sum(1, keepdim=True).clamp(min=1e-12)
"""

# Unusual right answers
RIGHT = {
    "pooling": [pooling(HIDDEN, RENORMALISED),
                pooling("-1e9", "torch.finfo(torch.float32).min"), pooling("-1e9", "-1e4"),
                pooling(HIDDEN,
                        "    weights = scores.masked_fill(~keep, "
                        "-math.inf).softmax(1).nan_to_num()\n")],
    "defeat": [(-1.1e6, -1.2e6, 5), torch.tensor([-2e6, -3e6, 0.0])],
}
