"""The exercises of lesson 02, self-attention."""
import math

import torch

from ..exercises.classes import FromScratch, Trial
from ..exercises.heads import KNOWN, LENGTHS, REFUSES, Heads
from ..exercises.kinds import Build, Drawing


# ---- self-attention ----

def attention_inputs():
    """First square matrices, then others, and last scores far below -1000 and below -1e6."""
    def sentence(steps, width, query_width, value_width):
        return [torch.randn(rows, width) for rows in (steps, query_width, query_width, value_width)]

    X, W_q, W_k, W_v = sentence(4, 6, 3, 2)
    low = 3 + X / 300, 2 + W_q, -2 - W_k.abs(), W_v
    lower = 100 + 10 * X.flip(0), *low[1:]  # thousands apart
    square, wide, narrow = sentence(6, 4, 4, 4), sentence(7, 5, 3, 2), sentence(5, 3, 6, 4)
    return [(*square, 3), (*wide, 4), (*narrow, 5), (*low, 1), (*lower, 1)]


def self_attention(X, W_q, W_k, W_v, valid_len):
    queries, keys, values = X @ W_q.T, X @ W_k.T, X @ W_v.T
    query, key = torch.arange(len(X))[:, None], torch.arange(len(X))
    keep = (key <= query) & (key < valid_len)
    scores = queries @ keys.T / math.sqrt(queries.shape[1])
    weights = scores.masked_fill(~keep, -math.inf).softmax(-1)
    return weights @ values


# ---- top-left ----

def keys_seen(i, queries, keys):
    shown = list(range(i + 1))
    should_see = list(range(keys - queries + i + 1))
    return shown, should_see


# ---- draw-mask ----

def packed():
    """Two sentences in one row of five tokens, of three and two words, read from left to right."""
    sentence, place = torch.tensor([0, 0, 0, 1, 1]), torch.arange(5)
    same = sentence == sentence[:, None]
    past = place <= place[:, None]
    return same & past


# ---- self-attention-class ----

class SelfHeads(Heads):
    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__(num_hiddens, num_heads)
        self.causal = causal

    def forward(self, X, valid_lens=None):
        keep = torch.ones(len(X), 1, *[X.shape[1]] * 2, dtype=torch.bool)
        if self.causal:
            keep = keep.tril()
        if valid_lens is not None:
            past, real = keep, self.keep(X, valid_lens)
            keep = past & real
        return self.attend(X, X, X, keep)


TRIAL = Trial(SelfHeads, (10, 2), {"X": (3, 7, 10)}, {"causal": False}, "valid_lens", KNOWN)


def low(X):
    """All steps of a sentence alike, so that its scores are, and millions from 0."""
    return 1e4 * X[:, :1].expand_as(X).double(),


def apart(X):
    """Scores of thousands, in float64: single precision would not agree on them."""
    return 60 * X.double(),


EXERCISES = [
    Build("self-attention", self_attention, attention_inputs),
    Build("top-left", keys_seen, lambda: [(0, 1, 4), (1, 2, 5), (2, 3, 3), (0, 2, 6)]),
    Drawing("draw-mask", packed),
    FromScratch("self-attention-class", SelfHeads, stages=[
        TRIAL.shows("The output with one head, nothing hidden", sizes=(10,)),
        TRIAL.shows("The output with 2 heads, nothing hidden"),
        TRIAL.shows("The output with causal=True", causal=True),
        TRIAL.shows("The output with lengths 0, 3, 5", LENGTHS),
        TRIAL.shows("The output with causal=True and lengths 0, 3, 5", LENGTHS, causal=True),
        TRIAL.shows("The output with both masks and scores far below -1e6", LENGTHS,
                    causal=True, change=low),
        TRIAL.shows("The output with both masks and scores far apart", LENGTHS,
                    causal=True, change=apart),
        TRIAL.learns(LENGTHS, causal=True),
        REFUSES]),
]
