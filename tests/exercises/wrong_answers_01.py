"""Answers to 01 that no slip makes, and what their writers should then read."""
import math

import torch
from torch.nn import functional as F


def faint(queries, keys, values, keep):
    scores = queries.mm(keys.t()) / math.sqrt(queries.size(1))
    weights = F.softmax(torch.where(keep, scores, torch.tensor(-1000.0)), dim=1) * keep
    return weights.mm(values), weights


def fused(queries, keys, values, keep):
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None], keep)[0]


def blocks(x, known_x, known_y, sigma):
    return known_y[torch.cdist(x[:, None], known_x[:, None]).argmin(1)]


WRONG = {
    "pooling": [(faint, "not low enough to hide with"), (fused, "Return the weights as well"),
                (lambda q, k, v, keep: q.mm(k), "raises RuntimeError")],
    "lengths": [(lambda lens, n, m: [[j < k for j in range(m)] for k in lens.tolist()],
                 "Return one tensor"),
                (lambda lens, n, m: (torch.ones(len(lens), n, m).cumsum(-1) <=
                                     lens.view(len(lens), -1, 1)).float(), "is torch.float32")],
    "defeat": [
        ([0, 0, 100], "^The last score is overwritten, whatever you choose. Your visible"),
        ([0.0, 0.0, 0.0], "^Your visible scores are far above -1e6, so the hidden key"),
        ([-1e6, -1e6, -1e6], "Close: the hidden key gets 0.33"),
        ([-1e6 + 50, -1e6 + 50, -2e6], "^Your visible scores are just above -1e6, so"),
        ([-2e6, -1e6 + 50, -3e6], "^One visible score is just above -1e6: both"),
        ([-2e6, 0, 0], "^One visible score is far above -1e6: both"),
        ([0, -2e6, 1e9], "overwritten.* One visible score"),
        ([-math.inf, -math.inf, 0], "Finite scores only"), ([-1e7, -1e7], "three scores"),
        (["low", "low", "high"], "raises")],
    "kernel": [(blocks, "nearest point"),
               (lambda x, known_x, known_y, sigma: known_x - x, "raises RuntimeError")],
}
RIGHT = {"defeat": [(-1.1e6, -1.2e6, 5), torch.tensor([-2e6, -3e6, 0.0])]}
