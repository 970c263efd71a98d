"""Answers to 05 that no slip makes, and what their writers should then read."""
import torch


def by_pairs(queries, keys, c):
    """A loop over all pairs, in which offset 0 got a row of its own."""
    pairs = [[(j, keys - queries + i) for j in range(keys)] for i in range(queries)]
    return torch.tensor([[2 if j == i else max(-c, min(c, j - i)) + c for j, i in row]
                         for row in pairs])


def in_floats(queries, keys, c):
    offsets = torch.arange(keys) - torch.arange(keys - queries, keys)[:, None]
    return offsets.clamp(-c, c) + float(c)


WRONG = {
    "offset-rows": [(by_pairs, "expected 1, yours is 2"), (in_floats, "not integers")],
    "unmask": [(lambda whole, trained, length: whole / 2,
                r"^Expected 0.08, got 0.155\.\n  It was called with 0.31, 16, 64\.$")],
    "untrained": [(lambda bucket, num_buckets, trained: bucket(trained), "raises")],
}
