"""The explorer of lesson 03: the same matrices, cut into more or fewer heads."""
from collections.abc import Sequence

import torch
from torch import Tensor

from d2l_ext.attention import MultiHeadAttention, dot_product_attention, split_heads
from ..languages import t
from .base import Explorer, layer_data, some

MOST_TOKENS = 64  # with more, a key is answered late, and a cell of the map is a speck


def heads_explorer(attention: MultiHeadAttention, X: Tensor, tokens: Sequence[str],
                   features: Sequence[str]) -> Explorer:
    """The matrices of ``attention`` cut into heads: who attends to whom, and what comes out.

    X (tokens, features): its rows are named by ``tokens``, its columns by ``features``.
    The piece starts with the attention's own heads, and the token whose weights are sharpest.
    Raises ValueError for bias or positions, for what doesn't fit, no token or more than 64, numbers
    not finite or above 1e30 in size.
    """
    data = layer_data(attention, X, tokens, features, "outputs", (1, MOST_TOKENS))
    X, W_q, W_k = (torch.tensor(data[name]) for name in ("X", "W_q", "W_k"))
    heads = attention.num_heads
    queries, keys = (split_heads(X[None] @ W.mT, heads) for W in (W_q, W_k))
    _, weights = dot_product_attention(queries, keys, keys)
    sharpness = weights.square().sum((0, 1, 3)).round(decimals=4)  # alike on every machine

    divisors = sorted({i for i in (*range(1, 17), heads) if len(W_q) % i == 0})
    return Explorer(
        "heads",
        title=t("Multi-head attention over {0}: the same matrices, cut into {1} heads.",
                some(data["tokens"]), ", ".join(map(str, divisors))),
        data=data | {"divisors": divisors},
        state={"num_heads": heads, "asks": int(sharpness.argmax()), "inverse_temperature": 1.0},
        still="03_explorer")
