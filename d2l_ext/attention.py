"""Attention: the masked softmax, two ways to score, and multi-head attention."""
import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import torch_weights
from .checks import (check_causal, check_divides, check_float, check_inputs, check_shape,
                     check_size)
from .hidden import hide, unmask_empty_rows
from .masks import Attend, as_4d, combine
from .relative import RelativePosition


def masked_softmax(
    scores: Tensor, valid_lens: Tensor | None = None, *, mask: Attend | None = None,
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
    keep = combine(batch, heads, queries, keys, valid_lens, mask, device=scores.device)
    if keep is None:
        return scores.softmax(-1)
    return softmax_where(keep, torch.where(keep, four, 0.0)).reshape(scores.shape)


def softmax_where(keep: Tensor | None, scores: Tensor) -> Tensor:
    """Softmax over the last axis of what ``keep`` allows; 0 elsewhere. Overwrites ``scores``."""
    if keep is None:
        return scores.softmax(-1)
    allowed, sees = unmask_empty_rows(keep)
    with torch.no_grad():  # the softmax has gradient 0 where it is -inf
        scores.masked_fill_(~allowed, -math.inf)
    return scores.softmax(-1) * sees


def dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Attend | None = None,
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention: softmax(q kᵀ / √d) v (Vaswani et al. 2017, section 3.2.1).

    queries (..., queries, d), keys (..., keys, d), values (..., keys, v), where ... is nothing,
    (batch,) or (batch, heads). Returns the output (..., queries, v) and the weights (..., queries,
    keys), which a key that no query may see doesn't reach.

    >>> queries, keys, values = torch.tensor([[9., 0.]]), torch.eye(2), torch.tensor([[1.], [5.]])
    >>> [round(output.item(), 2) for output in dot_product_attention(queries, keys, values)[0]]
    [1.01]
    """
    check_inputs(queries, keys, values, None)
    q, k, v = as_4d(queries), as_4d(keys), as_4d(values)
    batch, heads, count, _ = q.shape
    keep = combine(batch, heads, count, k.shape[2], mask=mask, device=q.device)
    if keep is not None:
        q, k, v = hide(keep, q, k, v)
    weights = softmax_where(keep, q / math.sqrt(q.shape[-1]) @ k.mT)
    steps = queries.shape[:-1]
    return (weights @ v).reshape(*steps, values.shape[-1]), weights.reshape(*steps, keys.shape[-2])


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
        self.W_q = nn.Linear(query_size or num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size or num_hiddens, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: Attend | None = None, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        check_inputs(queries, keys, values, (self.W_q.in_features, self.W_k.in_features))
        sizes = queries.shape[0], 1, queries.shape[1], keys.shape[1]
        keep = combine(*sizes, valid_lens, mask, device=queries.device)
        if keep is not None:
            queries, keys, values = hide(keep.any(1), queries, keys, values)
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
        sizes = {"query_size": query_size, "key_size": key_size, "value_size": value_size}
        widths = {name: num_hiddens if size is None else size for name, size in sizes.items()}
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_size(num_hiddens=num_hiddens, num_heads=num_heads, num_kv_heads=num_kv_heads,
                   **widths)
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads=} does not divide {num_heads=}: "
                             "each must serve as many heads as the others")
        if head_size is None:
            check_divides(num_heads, num_hiddens,
                          "; give head_size to choose the width of a head yourself")
            head_size = num_hiddens // num_heads
        check_size(head_size=head_size)
        self.num_heads, self.num_kv_heads, self.head_size = num_heads, num_kv_heads, head_size
        self.W_q = nn.Linear(widths["query_size"], num_heads * head_size, bias=bias)
        self.W_k = nn.Linear(widths["key_size"], num_kv_heads * head_size, bias=bias)
        self.W_v = nn.Linear(widths["value_size"], num_kv_heads * head_size, bias=bias)
        self.W_o = nn.Linear(num_heads * head_size, num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.position = position

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: Attend | None = None, causal: bool = False, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend. A key counts where every constraint allows it; True = may attend.

        queries (batch, queries, query_size), keys (batch, keys, key_size),
        values (batch, keys, value_size). valid_lens: how many keys count, integers, (batch,) or
        (batch, queries). mask: a predicate, or booleans (queries, keys), (batch, queries, keys) or
        (batch, 1|heads, queries, keys). causal: a query sees the keys up to its own position; needs
        as many queries as keys. Returns the output (batch, queries, num_hiddens), with
        ``need_weights=True`` also the weights before dropout (batch, heads, queries, keys).

        Guaranteed: a query with nothing to attend to gets zeros before ``W_o``, in weights, values
        and gradients. A position that no query may see reaches neither output nor gradients, NaN
        and infinity included; where only some queries may see it, this holds for finite inputs. No
        input is modified.
        """
        widths = self.W_q.in_features, self.W_k.in_features, self.W_v.in_features
        check_inputs(queries, keys, values, widths)
        sizes = queries.shape[0], self.num_heads, queries.shape[1], keys.shape[1]
        check_causal(causal, *sizes[2:])
        alone = valid_lens is None and mask is None and self.position is None and not need_weights
        is_causal = causal and alone  # the kernel's own mask
        keep = None if is_causal else combine(*sizes, valid_lens, mask, causal, queries.device)
        if keep is not None:
            queries, keys, values = hide(keep.any(1), queries, keys, values)
        q = split_heads(self.W_q(queries), self.num_heads)
        k = split_heads(self.W_k(keys), self.num_kv_heads)
        v = split_heads(self.W_v(values), self.num_kv_heads)
        bias = None
        if self.position is not None:
            q, k = self.position.transform(q, k)
            bias = self.position.bias(q, k)
        if not need_weights:
            return self.W_o(merge_heads(self._fused(q, k, v, keep, bias, is_causal)))
        heads, weights = self._explicit(q, k, v, keep, bias)
        return self.W_o(merge_heads(heads)), weights

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, bias: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        if self.num_kv_heads < self.num_heads:  # neighbouring heads share one
            k, v = (X.repeat_interleave(self.num_heads // X.shape[1], 1) for X in (k, v))
        scores = q / math.sqrt(self.head_size) @ k.mT
        weights = softmax_where(keep, scores if bias is None else scores + bias)
        return self.dropout(weights) @ v, weights

    def _fused(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, bias: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        mask = None if bias is None else bias.expand(*q.shape[:3], k.shape[2])
        if keep is not None:
            allowed, sees = unmask_empty_rows(keep)  # kernels disagree on empty rows
            mask = allowed if mask is None else mask.masked_fill(~allowed, -math.inf)
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=is_causal, scale=1 / math.sqrt(self.head_size),
            enable_gqa=self.num_kv_heads < self.num_heads)
        return attended if keep is None else torch.where(sees, attended, 0.0)

    @classmethod
    def from_torch(cls, attention: nn.MultiheadAttention) -> Self:
        """A copy of an ``nn.MultiheadAttention`` with the same weights and dropout, batch first.

        Raises ValueError for ``add_bias_kv`` and ``add_zero_attn``, which have no counterpart.
        """
        ours = cls(**torch_weights.sizes_from_torch(attention)).to(attention.out_proj.weight)
        ours.load_state_dict(torch_weights.parts(attention))
        return ours.train(attention.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """A batch-first ``nn.MultiheadAttention`` with the same weights and dropout.

        Raises ValueError where it can't say the same, as for a position module.
        """
        theirs = nn.MultiheadAttention(**torch_weights.sizes_to_torch(self)).to(self.W_o.weight)
        with torch.no_grad():
            for name, part in torch_weights.parts(theirs).items():
                part.copy_(self.get_parameter(name))
        return theirs.train(self.training)
