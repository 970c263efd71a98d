"""The piece of lesson 04: words to move, masks to switch on."""
from collections.abc import Sequence

from torch import Tensor

from d2l_ext.attention import MultiHeadAttention
from ..languages import t
from .base import Explorer, layer_data, some


def order_explorer(attention: MultiHeadAttention, X: Tensor, tokens: Sequence[str],
                   features: Sequence[str], valid_len: int) -> Explorer:
    """Self-attention over 2 to 5 words that can be moved and hidden: what changes, what stays.

    attention: one head, no bias, no positions. X (tokens, features): its rows are named by
    ``tokens``, its columns by ``features``. valid_len: how many places count under the padding
    mask. At the start the first ``valid_len`` words stand in reverse, and nothing is hidden.
    Raises ValueError for what doesn't fit, equal tokens, numbers not finite or above 1e30 in size.
    """
    if attention.num_heads != 1:
        raise ValueError(f"the figure needs attention with num_heads=1, "
                         f"got num_heads={attention.num_heads}")
    # a second layer needs outputs of the features' width
    data = layer_data(attention, X, tokens, features, "features", (2, 5))
    labels = data["tokens"]
    if len(set(labels)) < len(labels):
        raise ValueError(f"tokens must all be different, got {labels}")
    if not 1 <= valid_len <= len(labels):
        raise ValueError(f"valid_len={valid_len} must lie in 1..{len(labels)}")
    order = "01234"[:len(labels)]
    return Explorer(
        "order",
        title=t("Self-attention over {0}: words to move, masks to switch on.", some(labels)),
        data=data | {"validLen": valid_len},
        state={"order": order[:valid_len][::-1] + order[valid_len:], "causal": False,
               "padding": False, "layers": 1},
        still="04_explorer")
