"""The piece of lesson 03: words to move, masks to switch on."""
from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from d2l_ext.attention import MultiHeadAttention
from ..languages import t
from .base import Explorer, check_tensor, clean, exact, matrices_of, some


def order_explorer(attention: MultiHeadAttention, X: Tensor, tokens: Sequence[str],
                   features: Sequence[str], valid_len: int) -> Explorer:
    """Self-attention over 2 to 5 words that can be moved and hidden: what changes, what stays.

    attention: one head, no bias, no positions. X (tokens, features): its rows are named by
    ``tokens``, its columns by ``features``. valid_len: how many places count under the padding
    mask. At the start the first ``valid_len`` words stand in reverse, and nothing is hidden.
    Raises TypeError where ``X`` is not a tensor, ValueError for attention or shapes that don't fit,
    for equal tokens, for numbers that aren't finite or above 1e30 in size.
    """
    check_tensor(X)
    if attention.num_heads != 1:
        raise ValueError(f"needs attention with num_heads=1, got num_heads={attention.num_heads}")
    labels = [clean(token) for token in tokens]
    count, width = len(labels), len(features)
    if not 2 <= len(set(labels)) == count <= 5 or tuple(X.shape) != (count, width):
        raise ValueError("X must have shape (tokens, features), its 2 to 5 tokens all different, "
                         f"got {tuple(X.shape)}, tokens {labels} and {width} features")
    if not 1 <= valid_len <= count:
        raise ValueError(f"valid_len={valid_len} must lie in 1..{count}")
    matrices = matrices_of(attention, X)
    if (made := len(matrices["W_o"])) != width:
        raise ValueError(f"W_o gives outputs of width {made}, X has width {width}: "
                         "a second layer needs the same width")
    start = [*reversed(range(valid_len)), *range(valid_len, count)]
    return Explorer(
        "order",
        title=t("Self-attention over {0}: words to move, masks to switch on.",
                some([label[:20] for label in labels])),
        data={"tokens": labels, "features": [clean(feature) for feature in features],
              "validLen": valid_len} | {name: exact(matrix) for name, matrix in matrices.items()},
        state={"order": "".join(map(str, start)), "causal": False, "padding": False, "layers": 1},
        still="03_explorer")
