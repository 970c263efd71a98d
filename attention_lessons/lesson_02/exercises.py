"""The exercises of lesson 02, self-attention."""
import math

import torch

from ..exercises.kinds import Build


def attention_inputs():
    """First square matrices, then others."""
    def sentence(steps, width, query_width, value_width):
        return [torch.randn(rows, width) for rows in (steps, query_width, query_width, value_width)]

    return [sentence(6, 4, 4, 4), sentence(7, 5, 3, 2), sentence(5, 3, 6, 4)]


def self_attention(X, W_q, W_k, W_v):
    queries, keys, values = X @ W_q.T, X @ W_k.T, X @ W_v.T
    scores = queries @ keys.T / math.sqrt(queries.shape[-1])
    weights = scores.softmax(-1)
    return weights @ values


EXERCISES = [
    Build("self-attention", self_attention, attention_inputs),
]
