"""Heads, and the ways to go wrong in them, for the classes that several lessons ask for."""
import torch
from torch import nn

from d2l_ext.attention import merge_heads, split_heads
from .classes import refuses

KNOWN = {
    r"(?:must match.*\(3\)|\(3\) must match)":  # no axis but the batch has 3
    "Where scores are (batch, heads, queries, keys), lengths need four axes: "
    "valid_lens[:, None, None, None].",
    "shape of the mask": "An index must have the scores' own shape. "
    "masked_fill stretches axes of length 1: scores.masked_fill(~keep, lowest)."}
LENGTHS = torch.tensor([0, 3, 5])


class Heads(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.p = num_heads, dropout
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens=None):
        keep = torch.ones(1, 1, 1, keys.shape[1], dtype=torch.bool)
        if valid_lens is not None:
            keep = self.keep(keys, valid_lens)
        return self.attend(queries, keys, values, keep)

    def keep(self, keys, valid_lens):
        return torch.arange(keys.shape[1]) < valid_lens[:, None, None, None]

    def attend(self, queries, keys, values, keep):
        q, k, v = self.W_q(queries), self.W_k(keys), self.W_v(values)
        q, k, v = (split_heads(X, self.num_heads) for X in (q, k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~keep, -1e9).softmax(-1) * keep
        weights = nn.functional.dropout(weights, self.p, self.training)
        return self.W_o(merge_heads(weights @ v))


REFUSES = refuses("The error for 10 hiddens and 4 heads, which don't divide them", 10, 4)
