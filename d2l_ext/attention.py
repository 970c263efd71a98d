"""Attention: the masked softmax, two ways to score, and multi-head attention."""
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import (check_causal, check_divides, check_float, check_inputs, check_shape,
                     check_size)
from .masks import MaskLike, all_constraints, as_4d, unmask_empty_rows
from .relative import RelativePosition


def masked_softmax(
    scores: Tensor, valid_lens: Tensor | None = None, *, mask: MaskLike | None = None,
) -> Tensor:
    """Softmax over the keys (the last axis) that counts only the keys a query may attend to.

    scores: (queries, keys), (batch, queries, keys) or (batch, heads, queries, keys). valid_lens,
    mask: as in ``MultiHeadAttention.forward``. Each row of the result sums to 1, or is zeros where
    there is nothing to attend to; hidden keys weigh exactly 0 and get no gradient.

    >>> masked_softmax(torch.zeros(1, 2, 4), torch.tensor([[2, 0]])).tolist()
    [[[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]
    """
    check_float(scores=scores)
    check_shape("scores", scores, "(queries, keys)", "(batch, queries, keys)",
                "(batch, heads, queries, keys)")
    four = as_4d(scores)
    batch, heads, queries, keys = four.shape
    keep = all_constraints(batch, heads, queries, keys, valid_lens, mask, device=scores.device)
    kept = four if keep is None else torch.where(keep, four, 0.0)
    return softmax_where(keep, kept).reshape(scores.shape)


def softmax_where(keep: Tensor | None, scores: Tensor) -> Tensor:
    """Softmax over the last axis of what ``keep`` allows; 0 elsewhere. Overwrites ``scores``."""
    if keep is None:
        return scores.softmax(-1)
    allowed, sees = unmask_empty_rows(keep)
    with torch.no_grad():  # the softmax has gradient 0 where it is -inf
        scores.masked_fill_(~allowed, -math.inf)
    weights = scores.softmax(-1)
    return weights if sees is None else weights * sees


def dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, *, mask: MaskLike | None = None,
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention: softmax(q kᵀ / √d) v (Vaswani et al. 2017, section 3.2.1).

    queries (..., queries, d), keys (..., keys, d), values (..., keys, v), where ... is nothing,
    (batch,) or (batch, heads). Returns the output (..., queries, v) and the weights (..., queries,
    keys).

    >>> queries, keys, values = torch.tensor([[9., 0.]]), torch.eye(2), torch.tensor([[1.], [5.]])
    >>> [round(output.item(), 2) for output in dot_product_attention(queries, keys, values)[0]]
    [1.01]
    """
    check_inputs(queries, keys, values, None)
    q, k, v = as_4d(queries), as_4d(keys), as_4d(values)
    batch, heads, count, _ = q.shape
    keep = all_constraints(batch, heads, count, k.shape[2], mask=mask, device=q.device)
    output, weights = explicit_attention(q, k, v, keep)
    steps = queries.shape[:-1]
    return output.reshape(*steps, values.shape[-1]), weights.reshape(*steps, keys.shape[-2])


class AdditiveAttention(nn.Module):
    """Attention whose score is a small network: w_vᵀ tanh(W_q q + W_k k).

    From Bahdanau et al. 2015, appendix A.1.2. queries (batch, queries, query_size), keys (batch,
    keys, key_size), values (batch, keys, v); the two sizes are ``num_hiddens`` unless given.
    Returns the output (batch, queries, v), and the weights as ``MultiHeadAttention`` does, of one
    head: (batch, queries, keys).
    """

    def __init__(
        self, num_hiddens: int, dropout: float = 0.0, *,
        query_size: int | None = None, key_size: int | None = None,
    ):
        super().__init__()
        query_size = num_hiddens if query_size is None else query_size
        key_size = num_hiddens if key_size is None else key_size
        check_size(num_hiddens=num_hiddens, query_size=query_size, key_size=key_size)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: MaskLike | None = None, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        check_inputs(queries, keys, values, (self.W_q.in_features, self.W_k.in_features))
        sizes = queries.shape[0], 1, queries.shape[1], keys.shape[1]
        keep = all_constraints(*sizes, valid_lens, mask, device=queries.device)
        features = self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]
        scores = self.w_v(features.tanh()).squeeze(-1)
        weights = softmax_where(keep, scores[:, None])[:, 0]
        output = self.dropout(weights) @ values
        return (output, weights) if need_weights else output


def split_heads(X: Tensor, num_heads: int) -> Tensor:
    """(batch, steps, heads * head_size) -> (batch, heads, steps, head_size).

    Head i gets the i-th block of columns.
    """
    check_shape("X", X, "(batch, steps, heads * head_size)")
    check_divides(num_heads, X.shape[-1])
    batch, steps, width = X.shape  # not unflatten: torch.compile with a default device can't
    return X.reshape(batch, steps, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(X: Tensor) -> Tensor:
    """(batch, heads, steps, head_size) -> (batch, steps, heads * head_size)."""
    check_shape("X", X, "(batch, heads, steps, head_size)")
    return X.transpose(1, 2).flatten(2)


# ---- the two ways to compute it ----

def explicit_attention(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, bias: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Attention as it is written, (batch, heads, steps, size): the heads, and their weights."""
    group = q.shape[1] // k.shape[1]  # so many neighbouring heads share keys and values
    if group > 1:
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q / math.sqrt(q.shape[-1]) @ k.mT
    weights = softmax_where(keep, scores if bias is None else scores + bias)
    return F.dropout(weights, dropout, training=dropout > 0) @ v, weights


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, bias: Tensor | None = None,
    dropout: float = 0.0, *, is_causal: bool = False,
) -> Tensor:
    """The same heads by PyTorch's fused routine, which never stores the weights."""
    sees = None
    mask = None if bias is None else bias.expand(*q.shape[:3], k.shape[2])
    if keep is not None:
        allowed, sees = unmask_empty_rows(keep)  # kernels disagree on empty rows
        mask = allowed if mask is None else mask.masked_fill(~allowed, -math.inf)
    heads = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=is_causal,
        scale=1 / math.sqrt(q.shape[-1]), enable_gqa=k.shape[1] < q.shape[1])
    return heads if sees is None else torch.where(sees, heads, 0.0)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: W_o [h_1; ...; h_h], h_i = attention(W_q⁽ⁱ⁾ q, W_k⁽ⁱ⁾ k, W_v⁽ⁱ⁾ v).

    From Vaswani et al. 2017, section 3.2.2. query_size, key_size, value_size: widths of the inputs,
    ``num_hiddens`` unless given. head_size: width of a head, ``num_hiddens / num_heads`` unless
    given. num_kv_heads: how many heads have keys and values of their own, ``num_heads`` unless
    given; fewer serve groups of neighbours (grouped-query attention: Ainslie et al. 2023, section
    2.2). position: a ``RelativePosition``. Parameters: W_q, W_k, W_v, W_o, each an ``nn.Linear``.
    """

    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float = 0.0, bias: bool = False, *,
        query_size: int | None = None, key_size: int | None = None, value_size: int | None = None,
        head_size: int | None = None, num_kv_heads: int | None = None,
        position: RelativePosition | None = None,
    ):
        super().__init__()
        query_size = num_hiddens if query_size is None else query_size
        key_size = num_hiddens if key_size is None else key_size
        value_size = num_hiddens if value_size is None else value_size
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_size(num_hiddens=num_hiddens, num_heads=num_heads, num_kv_heads=num_kv_heads,
                   query_size=query_size, key_size=key_size, value_size=value_size)
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads=} does not divide {num_heads=}: "
                             "each must serve as many heads as the others")
        if head_size is None:
            check_divides(num_heads, num_hiddens,
                          "; give head_size to choose the width of a head yourself")
            head_size = num_hiddens // num_heads
        check_size(head_size=head_size)
        self.num_heads, self.num_kv_heads, self.head_size = num_heads, num_kv_heads, head_size
        self.W_q = nn.Linear(query_size, num_heads * head_size, bias=bias)
        self.W_k = nn.Linear(key_size, num_kv_heads * head_size, bias=bias)
        self.W_v = nn.Linear(value_size, num_kv_heads * head_size, bias=bias)
        self.W_o = nn.Linear(num_heads * head_size, num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.position = position

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: MaskLike | None = None, causal: bool = False, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend. A key counts where every constraint allows it; True = may attend.

        queries (batch, queries, query_size), keys (batch, keys, key_size),
        values (batch, keys, value_size). valid_lens: how many keys count, integers, (batch,) or
        (batch, queries). mask: a predicate, or booleans (queries, keys), (batch, queries, keys) or
        (batch, 1|heads, queries, keys). causal: a query sees the keys up to its own position; needs
        as many queries as keys. Returns the output (batch, queries, num_hiddens), with
        ``need_weights=True`` also the weights before dropout (batch, heads, queries, keys).

        Guaranteed for finite inputs: a key reaches neither the outputs of queries that may not see
        it nor, through them, any gradient, and a query with nothing to attend to gets zeros before
        ``W_o``, in weights, values and gradients. No input is modified.
        """
        check_inputs(queries, keys, values,
                     (self.W_q.in_features, self.W_k.in_features, self.W_v.in_features))
        check_causal(causal, queries.shape[1], keys.shape[1])
        sizes = queries.shape[0], self.num_heads, queries.shape[1], keys.shape[1]
        alone = valid_lens is None and mask is None and self.position is None
        is_causal = causal and alone and not need_weights  # the fused routine's own mask
        keep = None if is_causal else all_constraints(*sizes, valid_lens, mask, causal,
                                                      queries.device)

        q = split_heads(self.W_q(queries), self.num_heads)    # (batch, heads, queries, head_size)
        k = split_heads(self.W_k(keys), self.num_kv_heads)    # (batch, kv heads, keys, head_size)
        v = split_heads(self.W_v(values), self.num_kv_heads)
        bias = None
        if self.position is not None:
            q, k = self.position.transform(q, k)
            bias = self.position.bias(q, k)

        dropout = self.dropout.p if self.training else 0.0
        if need_weights:
            heads, weights = explicit_attention(q, k, v, keep, bias, dropout)
            return self.W_o(merge_heads(heads)), weights
        heads = fused_attention(q, k, v, keep, bias, dropout, is_causal=is_causal)
        return self.W_o(merge_heads(heads))
