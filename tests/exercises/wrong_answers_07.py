"""What learners answer wrongly in 07, and what they should then read. Written from the exercises' texts, not from their checks."""
import torch

# ---- closed-map and four-measures: letters ------------------------------------------------------------------------------------------------

CLOSED = [("b", "still sums to 1"), ("c", "equal scores"), ("d", "don't know of each other"), ("B", "still sums to 1"), (["d"], "same input")]
MEASURES = [({"a", "b", "c", "e"}, "twins"), ({"b", "c", "d", "e"}, "never reopens"), ({"b", "c"}, "1 more"), ({"b"}, "2 more"), ({"a", "d"}, "Statement a"), ("bce", "letters")]

# ---- head-gates ---------------------------------------------------------------------------------------------------------------------------


def loop(merged, gates, block=lambda head, size: slice(head * size, (head + 1) * size), row=lambda text: text):
    out, size = merged.clone(), merged.shape[-1] // gates.shape[-1]
    for text in range(len(merged)):
        for head in range(gates.shape[-1]):
            out[text, :, block(head, size)] *= gates[row(text), head]
    return out


GATES = [
    (lambda merged, gates: merged * gates.repeat(1, merged.shape[-1] // gates.shape[-1]).unsqueeze(1), "repeat_interleave"),
    (lambda merged, gates: loop(merged, gates, block=lambda head, size: slice(head, None, gates.shape[-1])), "dealt out in turn"),
    (lambda merged, gates: loop(merged, gates, row=lambda text: 0), "row of its own"),
    (lambda merged, gates: merged * gates[:, None], "raises RuntimeError"),
    (lambda merged, gates: merged * gates.repeat_interleave(4, -1), "raises RuntimeError"),  # no axis for the steps
    (lambda merged, gates: merged * gates.repeat_interleave(2, -1)[:, None], "raises RuntimeError"),  # a head size that fits nothing
    (lambda merged, gates: merged * gates.mean(-1)[:, None, None], "same number"),
    (lambda merged, gates: merged + loop(merged, gates), "leave nothing"),
    (lambda merged, gates: loop(merged, gates.softmax(-1)), "No softmax"),
    (lambda merged, gates: merged.unflatten(-1, (gates.shape[-1], -1)) * gates[:, None, :, None], "merge them again"),
    (lambda X, g: X.reshape(*g.shape, X.shape[1], -1).mul(g[..., None, None]).reshape(X.shape),
     "into stretches"),
    (lambda merged, gates: loop(merged, gates.round()), "not a switch"),
    (lambda merged, gates: loop(merged, (gates > 0).float()), "not a switch"),
    (lambda merged, gates: loop(merged, 1 - gates), "Upside down"),
    (lambda merged, gates: merged, "Nothing is gated"),
    (lambda merged: merged, "raises TypeError"),
    (torch.zeros(2, 5, 12), "Give the function itself"),
]

# ---- gradient-importance ------------------------------------------------------------------------------------------------------------------

IMPORTANCE = [
    (lambda slopes: slopes.mean(0).abs(), "still cancel, and"),
    (lambda slopes: torch.nn.functional.normalize(slopes.mean(0).abs(), dim=-1), "the colleague's, scaled"),
    (lambda slopes: slopes.abs().mean(dim=0), "Now divide each layer"),
    (lambda slopes: torch.nn.functional.normalize(slopes.abs().mean(0), dim=0), "over the layers"),
    (lambda slopes: torch.nn.functional.normalize(slopes.abs().mean(0), p=1, dim=-1), "sums to 1"),
    (lambda slopes: slopes.abs().mean(0).softmax(-1), "no softmax"),
    (lambda slopes: slopes.abs().sum(0), "take the mean"),
    (lambda slopes: slopes.abs().mean(0) / slopes.abs().mean(0).pow(2).sum(-1, keepdim=True),
     "root is missing"),
    (lambda slopes: slopes.abs().mean(0) / torch.linalg.norm(slopes.abs().mean(0)), "one norm for all layers"),
    (lambda slopes: torch.nn.functional.normalize(slopes.pow(2).mean(0).sqrt(), dim=-1), "mean square"),
    (lambda slopes: torch.nn.functional.normalize(slopes.mean(0), dim=-1), "come out negative"),
    (lambda slopes: torch.nn.functional.normalize(slopes.abs(), dim=-1).mean(0), "within each text"),
    (lambda slopes: torch.nn.functional.normalize(slopes.abs().mean((0, 1)), dim=-1), "shape should be"),
    (lambda slopes: torch.nn.functional.normalize(slopes.abs(), dim=-1), "shape should be"),
]

# ---- pruned-cost --------------------------------------------------------------------------------------------------------------------------

COST = [
    (lambda n, d, h, k: n * (8 * d + 2 * n) * k * d // h, "One product is missing"),
    (lambda n, d, num_heads, kept: 8 * n * d**2 + 4 * n**2 * d, "whole layer"),
    (lambda n, d, num_heads, kept: 8 * n * (d * kept / num_heads) ** 2 + 4 * n**2 * d * kept / num_heads, "both sides"),
    (lambda n, d, num_heads, kept: 8 * n * d**2 + 4 * n**2 * d * kept // num_heads, "Only the products"),
    (lambda n, d, num_heads, kept: 8 * n * d * d * kept // num_heads + 4 * n**2 * d, "Only the projections"),
    (lambda n, d, num_heads, kept: (4 * n * d**2 + 2 * n**2 * d) * kept // num_heads, "count as two"),
    (lambda n, d, num_heads, kept: (8 * n * d**2 + 4 * n**2 * d) * (num_heads - kept) // num_heads, "cut away"),
    (lambda n, d, num_heads, kept: (8 * n * d**2 + 4 * n**2 * d) // num_heads, "single head"),
    (lambda n, d, num_heads, kept: (6 * n * d**2 + 4 * n**2 * d) * kept // num_heads, "W_o is missing"),
    (lambda n, d, num_heads, kept: (6 * n * d * kept * d // num_heads) + 2 * n * d * d + 4 * n * n * kept * d // num_heads, "W_o shrinks too"),
    (lambda n, d, num_heads, kept: kept / num_heads, "share of heads"),
    (lambda n, d, h, k: (8 * n * d + 4 * n * n) * (d // (h // k or 1)),
     r"^Expected 187200, got 312000\. It was called with 10, 60, 5, 3\.$"),  # once: the whole layer
    (187200, "Give the function itself"),
]

WRONG = {"closed-map": CLOSED, "head-gates": GATES, "gradient-importance": IMPORTANCE, "four-measures": MEASURES, "pruned-cost": COST}
