"""What learners answer wrongly in 07, and what they should then read."""
import torch
from torch.nn.functional import normalize


def loop(merged, gates, block=lambda head, size: slice(head * size, (head + 1) * size), row=None):
    """A loop over texts and heads; all texts may use one row of the gates."""
    out, size = merged.clone(), merged.shape[-1] // gates.shape[-1]
    for text in range(len(merged)):
        for head in range(gates.shape[-1]):
            out[text, :, block(head, size)] *= gates[text if row is None else row, head]
    return out


def dealt(merged, gates):
    return loop(merged, gates, block=lambda head, size: slice(head, None, gates.shape[-1]))


GATES = [
    (dealt, "repeat_interleave"),
    (lambda X, g: loop(X, g, row=0), "first one's gates"),
    (lambda X, g: X * g.repeat_interleave(4, -1), "raises RuntimeError"),  # no axis for the steps
    (lambda X, g: X * g.repeat_interleave(2, -1)[:, None], "raises RuntimeError"),  # a size of 2
    (lambda X, g: X * (g.sum(-1) / g.shape[1])[:, None, None], "same number"),
    (lambda X, g: X + loop(X, g), "leave nothing"),
    (lambda X, g: loop(X, g.softmax(-1)), "No softmax"),
    (lambda X, g: torch.stack(X.chunk(g.shape[1], -1), 2) * g[:, None, :, None], "merge them"),
    (lambda X, g: X.reshape(*g.shape, X.shape[1], -1).mul(g[..., None, None]).reshape(X.shape),
     "into stretches"),
    (lambda X, g: loop(X, g.round()), "not a switch"),
    (lambda X, g: loop(X, (g > 0).float()), "not a switch"),
    (lambda X, g: X - loop(X, g), "Upside down"),
    (lambda X, g: loop(X, torch.ones_like(g)), "Nothing is gated"),
    (lambda merged: merged, "raises TypeError"),
    (torch.zeros(2, 5, 12), "Give the function itself"),
    (lambda X, g: loop(X, g.mean(0)[None], row=0), "You average"),
]
IMPORTANCE = [
    (lambda slopes: normalize(slopes.mean(0).abs(), dim=-1), "the colleague's, scaled"),
    (lambda slopes: normalize(slopes.abs().mean(0), dim=0), "over the layers"),
    (lambda slopes: normalize(slopes.abs().mean(0), p=1, dim=-1), "sums to 1"),
    (lambda slopes: slopes.abs().mean(0) / torch.linalg.norm(slopes.abs().mean(0)),
     "one norm for all layers"),
    (lambda slopes: normalize(slopes.pow(2).mean(0).sqrt(), dim=-1), "mean square"),
    (lambda slopes: normalize(slopes.mean(0), dim=-1), "come out negative"),
    (lambda slopes: normalize(slopes.abs(), dim=-1).mean(0), "within each text"),
    (lambda slopes: normalize(slopes.abs().mean((0, 1)), dim=-1), "shape should be"),
    (lambda slopes: slopes.mean(0).abs(), "norms are missing"),
    (lambda slopes: slopes.abs().sum(0), "Sums grow"),
    (lambda slopes: slopes.abs().mean(0).softmax(1), "no softmax"),
    (lambda slopes: slopes.abs().mean(0) / slopes.abs().mean(0).pow(2).sum(1)[:, None],
     "root is missing"),
    (lambda slopes: slopes.abs().mean(dim=0), "The mean is right"),
    (lambda slopes: normalize(slopes.pow(2).mean(0), dim=-1), "You square"),
    (lambda slopes: normalize(slopes.abs().mean(0), p=torch.inf, dim=-1), "layer's largest"),
]
COST = [
    (lambda n, d, h, k: n * (8 * d + 2 * n) * k * d // h, "One product is missing"),
    (lambda n, d, h, k: 8 * n * d**2 + 4 * n**2 * d * k // h, "Only the products"),
    (lambda n, d, h, k: (4 * n * d**2 + 2 * n**2 * d) * k // h, "count as two"),
    (lambda n, d, h, k: (8 * n * d**2 + 4 * n**2 * d) * (h - k) // h, "cut away"),
    (lambda n, d, h, k: (8 * n * d**2 + 4 * n**2 * d) // h, "single head"),
    (lambda n, d, h, k: (6 * n * d**2 + 4 * n**2 * d) * k // h, "W_o is missing"),
    (lambda n, d, h, k: (8 * n * d + 4 * n * n) * (d // (h // k or 1)),
     r"^Expected 187200, got 312000\.\n  It was called with 10, 60, 5, 3\.$"),
    (187200, "Give the function itself"),
    (lambda n, d, h, k: 4 * n * d * (2 * d + n), "That is the whole layer"),
    (lambda n, d, h, k: 4 * n * (k * d // h) * (2 * k * d // h + n), "shrink on both sides"),
    (lambda n, d, h, k: 4 * n * d * (2 * (d * k // h) + n), "Only the projections"),
    (lambda n, d, h, k: 2 * n * (d * d + (3 * d + 2 * n) * (d * k // h)), "W_o shrinks too"),
    (lambda n, d, h, k: k / h, "share of heads"),
]

WRONG = {
    "closed-map": [("b", "still sums to 1"), ("c", "equal scores"), ("d", "same input"),
                   ("B", "still sums to 1"), (["d"], "don't know of each other")],
    "head-gates": GATES,
    "gradient-importance": IMPORTANCE,
    "four-measures": [({"a", "b", "c", "e"}, "twins"), ({"b", "c", "d"}, "never reopens"),
                      ({"b", "c"}, "1 more"), ({"b"}, "2 more"), ({"a", "d"}, "Statement a")],
    "pruned-cost": COST,
}
