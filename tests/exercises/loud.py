"""Orders of the same operations, and types, in which right code may compute: all must be accepted.

Where scores are loud, their last digits depend on both.
"""
import math
from itertools import product

import torch

ORDERS = [  # queries (..., n, d) and keys (..., m, d) -> scaled scores (..., n, m)
    lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]),
    lambda q, k: (q / math.sqrt(q.shape[-1])) @ k.mT,
    lambda q, k: q @ (k / math.sqrt(k.shape[-1])).mT,
    lambda q, k: q @ k.mT * q.shape[-1] ** -0.5,
    lambda q, k: (q * q.shape[-1] ** -0.25) @ (k * k.shape[-1] ** -0.25).mT,
    lambda q, k: (k.flip(-1) @ q.flip(-1).mT).mT / math.sqrt(q.shape[-1]),
    lambda q, k: (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / math.sqrt(q.shape[-1]),
]
WAYS = [*product(ORDERS, (torch.float32, torch.float64))]


def attention(scores, dtype):
    """Masked attention with scores from one of ``ORDERS``: the output and the weights."""
    def attend(queries, keys, values, keep):
        found = scores(queries.to(dtype), keys.to(dtype))
        weights = found.masked_fill(~keep, -math.inf).softmax(-1).nan_to_num()
        return weights @ values.to(dtype), weights
    return attend
