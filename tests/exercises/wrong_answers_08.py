"""What learners answer wrongly in 08, and what they should then read."""
import torch


def by_head(weights, num_heads):
    return [weights[i::num_heads] for i in range(num_heads)]


UNFOLD = [
    (lambda W, h: torch.stack(W.chunk(h)), "sentences are mixed up"),
    (lambda W, h: torch.stack(by_head(W, h), 1), "batch stands in front"),
    (lambda W, h: torch.stack(by_head(W.mT, h)), "Queries and keys"),
    (lambda W, h: torch.stack(by_head(W, h)).mean(dim=0), "average"),
    (lambda W, h: sum(by_head(W, h)), "add the heads up"),
    (by_head, "Return one tensor, got list"),
    (lambda W, h: by_head(W, h)[0], "each sentence's first head"),
    (lambda W: W.unflatten(0, (-1, 2)), "raises TypeError"),
    ("unflatten", "Give the function itself"),
    (lambda W, h: W.clone(), "Still folded"),
]


def by_rows(pick):
    """The sentences of which ``pick(what its heads get, its length)`` is true."""
    def answer(lens, num_heads):
        rows = lens.repeat(num_heads).reshape(len(lens), num_heads).tolist()
        return [i for i, (row, right) in enumerate(zip(rows, lens.tolist())) if pick(row, right)]
    return answer


def places(lens, h):
    """The places in the folded batch that get a wrong length."""
    return [i for i, (a, b) in enumerate(zip(lens.repeat(h), lens.repeat_interleave(h))) if a != b]


right = by_rows(lambda row, length: set(row) != {length})
MISLED = [
    (by_rows(lambda row, right: all(length == right for length in row)), "get the right lengths"),
    (by_rows(lambda row, right: right not in row), "One wrong head is enough"),
    (by_rows(lambda row, right: row[0] != right), "first head only"),
    (places, "places in the folded batch"),
    (lambda lens, h: [place // h for place in places(lens, h)], "name each once"),
    (lambda lens, h: sorted({place % h for place in places(lens, h)}), "Those are heads"),
    (lambda lens, h: sorted({place % len(lens) for place in places(lens, h)}),
     r"^Expected \[1, 2, 3\], got \[1, 2, 3, 4\].\n  It was called with "
     r"tensor\(\[2, 2, 2, 5, 5\]\), 2\.$"),
    (lambda lens, h: (lens.repeat(h).reshape(h, -1) != lens).any(0).nonzero().flatten().tolist(),
     "heads were the outer axis"),
    (lambda lens, h: [*range(len(lens))], "with equal lengths all do"),
    (lambda lens, h: [*range(len(lens))][1:-1], "Neither the first nor the last sentence"),
    (lambda lens, h: [*range(len(lens))] if lens.unique().numel() > 1 else [],
     "^(?!.*with equal lengths).*even where lengths differ"),
    (lambda lens, h: [i + 1 for i in right(lens, h)], "count from 0"),
    (lambda lens, h: lens[right(lens, h)].tolist(), "Those are lengths"),
    (lambda lens, h: len(right(lens, h)), "how many"),
    (lambda lens, h: lens.repeat(h) != lens, "raises RuntimeError"),
]
PACK = [
    (lambda q, k, v, o: (torch.vstack([k, q, v]), o), "order of 0.17's arguments"),
    (lambda q, k, v, o: (torch.vstack([q, v, k]), o), "Keys and values are swapped"),
    (lambda q, k, v, o: (torch.vstack([v, k, q]), o), "Values come last"),
    (lambda q, k, v, o: (torch.hstack([q, k, v]), o), "side by side"),
    (lambda q, k, v, o: (torch.hstack([q, k, v]).T, o), "No turning around"),
    (lambda q, k, v, o: (torch.stack([q, k, v], 1).reshape(-1, len(q)), o), "rows alternate"),
    (lambda q, k, v, o: (torch.vstack([q, k, v, o]), o), "place of its own"),
    (lambda q, k, v, o: (torch.vstack([q, k, v]), o.T), "W_o is turned around"),
    (lambda q, k, v, o: torch.cat([q, k, v, o]), "Return 2 things"),
    (lambda q, k, v, o: (torch.stack([q, k, v]).reshape(12, 4), o),
     r"raises RuntimeError(.|\n)*\(7, 7\)"),
    (lambda q, k, v, o: {"in_proj_weight": torch.cat([q, k, v])}, "Return 2 things, got dict"),
    (lambda q, k, v, o: (torch.stack([q, k, v]), o), "make three axes"),
    (lambda q, k, v, o: (o, torch.cat([q, k, v])), "in the other order"),
]

WRONG = {
    "older-order": [("a", "keys' width"), ("c", "turned around"), ("d", "width of their own"),
                    ("(8, 4)", "letters"), (("a", "b"), "keys' width")],
    "unfold-weights": UNFOLD,
    "misled": MISLED,
    "exchange": [({"a", "b", "c", "d"}, "c is false"), ({"a", "e"}, "e is false"),
                 ({"a", "b"}, "1 more"), ("d", "2 more"), (set("abcde"), "c is false")],
    "pack-weights": PACK,
}
