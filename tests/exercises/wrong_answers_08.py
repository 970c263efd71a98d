"""What learners answer wrongly in 08, and what they should then read. Written from the exercises' texts, not from their checks."""
import torch

# ---- unfold-weights ---------------------------------------------------------------------------------------------------------------------

UNFOLD = [
    (lambda weights, num_heads: weights.view(num_heads, -1, weights.shape[1], weights.shape[2]), "sentences are mixed up"),
    (lambda weights, num_heads: torch.stack(weights.chunk(num_heads)), "sentences are mixed up"),
    (lambda weights, num_heads: weights.reshape(-1, num_heads, *weights.shape[1:]), "batch stands in front"),
    (lambda weights, num_heads: weights.unflatten(0, (-1, num_heads)).permute(1, 0, 3, 2), "Queries and keys"),
    (lambda weights, num_heads: torch.stack([weights[i::num_heads] for i in reversed(range(num_heads))]), "reverse"),
    (lambda weights, num_heads: weights.reshape(-1, num_heads, *weights.shape[1:]).mean(dim=1), "average"),
    (lambda weights, num_heads: weights.reshape(-1, num_heads, *weights.shape[1:]).sum(dim=1), "add the heads up"),
    (lambda weights, num_heads: weights, "Still folded"),
    (lambda weights, num_heads: [weights[i::num_heads] for i in range(num_heads)], "Return one tensor, got list"),
    (lambda weights, num_heads: weights[::num_heads], "each sentence's first head"),
    (lambda weights: weights.unflatten(0, (-1, 2)), "raises TypeError"),
    ("unflatten", "Give the function itself"),
]

# ---- misled -----------------------------------------------------------------------------------------------------------------------------


def rows(valid_lens, num_heads):
    return valid_lens.repeat(num_heads).reshape(len(valid_lens), num_heads).tolist()


def by_rows(pick):
    """The sentences of which ``pick(what its heads get, its length)`` is true."""
    return lambda valid_lens, num_heads: [i for i, (row, right) in enumerate(zip(rows(valid_lens, num_heads), valid_lens.tolist())) if pick(row, right)]


def folded_places(valid_lens, num_heads):
    return [i for i, (a, b) in enumerate(zip(valid_lens.repeat(num_heads), valid_lens.repeat_interleave(num_heads))) if a != b]


MISLED = [
    (by_rows(lambda row, right: all(length == right for length in row)), "nobody misleads"),
    (by_rows(lambda row, right: right not in row), "One wrong head is enough"),
    (by_rows(lambda row, right: row[0] != right), "first head only"),
    (folded_places, "places in the folded batch"),
    (lambda valid_lens, num_heads: [place // num_heads for place in folded_places(valid_lens, num_heads)], "name each once"),
    (lambda valid_lens, num_heads: sorted({place % num_heads for place in folded_places(valid_lens, num_heads)}), "Those are heads"),
    (lambda lens, h: sorted({place % len(lens) for place in folded_places(lens, h)}),
     r"^Expected \[1, 2, 3\], got \[1, 2, 3, 4\]. It was called with tensor\(\[2, 2, 2, 5, 5\]\), "
     r"2\.$"),
    (lambda valid_lens, num_heads: [], "Nobody"),
    (lambda valid_lens, num_heads: (valid_lens.repeat(num_heads).reshape(num_heads, -1) != valid_lens).any(0).nonzero().flatten().tolist(), "heads were the outer axis"),
    (lambda valid_lens, num_heads: list(range(len(valid_lens))), "with equal lengths all do"),
    (lambda valid_lens, num_heads: list(range(1, len(valid_lens) - 1)),
     "(?s)^(?!.*every head is wrong).*first and the last"),
    (lambda valid_lens, num_heads: list(range(1, len(valid_lens))), "first sentence isn't"),
    (lambda valid_lens, num_heads: list(range(len(valid_lens) - 1)), "last sentence isn't"),
    # once told of equal lengths, which it knows
    (lambda lens, num_heads: list(range(len(lens))) if lens.unique().numel() > 1 else [],
     "^(?!.*with equal lengths).*even where lengths differ"),
    (lambda valid_lens, num_heads: [i + 1 for i in by_rows(lambda row, right: set(row) != {right})(valid_lens, num_heads)], "count from 0"),
    (lambda valid_lens, num_heads: valid_lens[by_rows(lambda row, right: set(row) != {right})(valid_lens, num_heads)].tolist(), "Those are lengths"),
    (lambda valid_lens, num_heads: len(by_rows(lambda row, right: set(row) != {right})(valid_lens, num_heads)), "how many"),
    (lambda valid_lens, num_heads: valid_lens.repeat(num_heads) != valid_lens, "raises RuntimeError"),
]

# ---- pack-weights -----------------------------------------------------------------------------------------------------------------------

PACK = [
    (lambda W_q, W_k, W_v, W_o: (torch.cat([W_k, W_q, W_v]), W_o), "order of 0.17's arguments"),
    (lambda W_q, W_k, W_v, W_o: (torch.vstack([W_q, W_v, W_k]), W_o), "Keys and values are swapped"),
    (lambda W_q, W_k, W_v, W_o: (torch.vstack([W_v, W_k, W_q]), W_o), "Values come last"),
    (lambda W_q, W_k, W_v, W_o: (torch.hstack([W_q, W_k, W_v]), W_o), "side by side"),
    (lambda W_q, W_k, W_v, W_o: (torch.cat([W_q, W_k, W_v], dim=-1).T, W_o), "No turning around"),
    (lambda W_q, W_k, W_v, W_o: (torch.stack([W_q, W_k, W_v]), W_o), "three axes"),
    (lambda W_q, W_k, W_v, W_o: (torch.stack([W_q, W_k, W_v], dim=1).reshape(-1, len(W_q)), W_o), "rows alternate"),
    (lambda W_q, W_k, W_v, W_o: (torch.cat([W_q, W_k, W_v, W_o]), W_o), "place of its own"),
    (lambda W_q, W_k, W_v, W_o: (torch.cat([W_q, W_k, W_v]), W_o.T), "W_o is turned around"),
    (lambda W_q, W_k, W_v, W_o: (torch.cat([W_q.T, W_k.T, W_v.T]), W_o.T), "No turning around"),
    (lambda W_q, W_k, W_v, W_o: torch.cat([W_q, W_k, W_v, W_o]), "Return 2 things"),
    (lambda W_q, W_k, W_v, W_o: (torch.stack([W_q, W_k, W_v]).reshape(12, 4), W_o),
     r"raises RuntimeError(.|\n)*\(7, 7\)"),
    (lambda W_q, W_k, W_v, W_o: {"in_proj_weight": torch.cat([W_q, W_k, W_v]), "out_proj.weight": W_o}, "Return 2 things"),
]

WRONG = {
    "older-order": [("a", "keys' width"), ("c", "turned around"), ("d", "width of their own"), ("(8, 4)", "letters"), (("a", "b"), "keys' width")],
    "unfold-weights": UNFOLD,
    "misled": MISLED,
    "exchange": [({"a", "b", "c", "d"}, "c is false"), ({"a", "e"}, "e is false"), ({"a", "b"}, "1 more"), ("d", "2 more"), (set("abcde"), "c is false")],
    "pack-weights": PACK,
}
