"""Attention: the masked softmax, two ways to score, and multi-head attention."""
from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ._validate import check_causal, check_dropout, check_float, check_inputs, check_position
from ._validate import check_products, check_size, check_width, extremes
from .masks import Attend, combine
from .relative import RelativePosition


def masked_softmax(
    scores: Tensor, valid_lens: Tensor | None = None, *, mask: Attend | None = None,
) -> Tensor:
    """Softmax over the keys (the last axis) that counts only the keys a query may attend to.

    scores: (queries, keys), (batch, queries, keys) or (batch, heads, queries, keys). valid_lens:
    integers, (batch,) or (batch, queries). mask: a predicate or booleans, True = may attend.
    Returns weights of the shape of ``scores``. Each row sums to 1, or is all zeros where there is
    nothing to attend to; hidden keys weigh exactly 0 and get no gradient, in every dtype;
    ``scores`` is not modified. Raises TypeError for scores that aren't floating point and for what
    isn't a mask, ValueError for shapes and lengths that don't fit.

    >>> masked_softmax(torch.zeros(1, 2, 4), torch.tensor([[2, 0]])).tolist()
    [[[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]
    """
    check_float(scores=scores)
    if scores.dim() not in (2, 3, 4):
        raise ValueError("scores must have shape (queries, keys), (batch, queries, keys) or "
                         f"(batch, heads, queries, keys), got {tuple(scores.shape)}")
    four = as_4d(scores)
    batch, heads, queries, keys = four.shape
    keep = combine(batch, heads, queries, keys, valid_lens, mask, device=scores.device)
    if keep is None:
        return scores.softmax(-1)
    return softmax_where(keep, torch.where(keep, four, 0.0)).reshape(scores.shape)


def softmax_where(keep: Tensor | None, scores: Tensor, bounded: bool = False) -> Tensor:
    """Softmax over the last axis of what ``keep`` allows; 0 elsewhere.

    Overwrites ``scores``, since at long lengths new memory takes most of the time. bounded: all
    scores are known to be finite; then clamping hides as filling does, five times faster.
    """
    sees = None
    if keep is not None:
        allowed, sees = unmask_empty_rows(keep)
        with torch.no_grad():  # the softmax has gradient 0 where it is -inf
            if bounded:
                scores.clamp_(max=(allowed.to(scores.dtype) - 0.5) * math.inf)
            else:
                scores.masked_fill_(~allowed, -math.inf)
    in_place = at_hand(scores) and not derived(scores)
    weights = torch.softmax(scores, -1, out=scores) if in_place else scores.softmax(-1)
    return weights if sees is None else weights * sees


def derived(X: Tensor) -> bool:
    """Whether derivatives go through ``X``, backward or forward."""
    return X.requires_grad or forward_ad.unpack_dual(X).tangent is not None


def unmask_empty_rows(keep: Tensor) -> tuple[Tensor, Tensor | None]:
    """``keep`` with its empty rows set to True, and which rows weren't empty (None: all).

    A softmax over nothing is NaN; set the weights of these rows to 0 afterwards.
    """
    sees = keep.any(-1, keepdim=True)
    return (keep, None) if known(sees) else (keep | ~sees, sees)


def known(answer: Tensor) -> bool:
    """Whether all are True, and this can be read at once."""
    return at_hand(answer) and bool(answer.all())


def at_hand(X: Tensor) -> bool:
    """Whether values can be read at once.

    Under compile, export, trace and vmap they can't, and reading from a GPU waits for it.
    """
    tracing = torch.jit.is_tracing()  # type: ignore[attr-defined]  # public, but not for mypy
    if tracing or torch.compiler.is_compiling() or X.device.type != "cpu":
        return False
    try:
        X.data_ptr()
    except RuntimeError:  # what stands for numbers without having any
        return False
    return True


def as_4d(X: Tensor) -> Tensor:
    """(a, b), (batch, a, b) or (batch, heads, a, b) as (batch|1, heads|1, a, b)."""
    return X[:, None] if X.dim() == 3 else X.reshape((1,) * (4 - X.dim()) + X.shape)


def dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Attend | None = None,
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention: softmax(q kᵀ / √d) v (Vaswani et al. 2017, section 3.2.1).

    queries (..., queries, d), keys (..., keys, d), values (..., keys, v), where ... is nothing,
    (batch,) or (batch, heads). mask: a predicate or booleans, True = may attend.
    Returns the output (..., queries, v) and the weights (..., queries, keys) as ``masked_softmax``
    guarantees them. A key that no query may see reaches neither, NaN and infinity included. Raises
    TypeError for what isn't floating point and for what isn't a mask, ValueError for shapes that
    don't fit.

    >>> queries, keys, values = torch.tensor([[9., 0.]]), torch.eye(2), torch.tensor([[1.], [5.]])
    >>> output, weights = dot_product_attention(queries, keys, values)
    >>> output.shape, [round(w, 3) for w in weights[0].tolist()]
    (torch.Size([1, 1]), [0.998, 0.002])
    """
    check_products(queries, keys, values)
    q, k, v = as_4d(queries), as_4d(keys), as_4d(values)
    batch, heads, count, _ = q.shape
    keep = combine(batch, heads, count, k.shape[2], mask=mask, device=q.device)
    if keep is not None:
        q, k, v = hide_rows(keep, q, k, v)
    weights = softmax_where(keep, q / math.sqrt(q.shape[-1]) @ k.mT)
    steps = queries.shape[:-1]
    return (weights @ v).reshape(*steps, values.shape[-1]), weights.reshape(*steps, keys.shape[-2])


def hide_rows(keep: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros at the queries of each head that see nothing, and at the keys that no query sees."""
    sees, seen = keep.any(3)[..., None], keep.any(2)[..., None]
    return torch.where(sees, q, 0.0), torch.where(seen, k, 0.0), torch.where(seen, v, 0.0)


class AdditiveAttention(nn.Module):
    """Attention whose score is a small network: w_vᵀ tanh(W_q q + W_k k).

    From Bahdanau et al. 2015, appendix A.1.2. queries (batch, queries, query_size),
    keys (batch, keys, key_size), values (batch, keys, v); the two sizes equal ``num_hiddens``
    unless given. Returns the output (batch, queries, v), with ``need_weights=True`` also the
    weights before dropout (batch, queries, keys). Empty rows and unseen positions are treated as in
    ``MultiHeadAttention``, and errors are the same.

    >>> attention = AdditiveAttention(num_hiddens=8, query_size=3, key_size=2)
    >>> attention(torch.rand(1, 4, 3), torch.rand(1, 5, 2), torch.rand(1, 5, 6)).shape
    torch.Size([1, 4, 6])
    """

    def __init__(
        self, num_hiddens: int, dropout: float = 0.0, *,
        query_size: int | None = None, key_size: int | None = None,
    ):
        super().__init__()
        query_size = num_hiddens if query_size is None else query_size
        key_size = num_hiddens if key_size is None else key_size
        check_size(num_hiddens=num_hiddens, query_size=query_size, key_size=key_size)
        check_dropout(dropout)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: Attend | None = None, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        check_inputs(queries, keys, values)
        check_width("queries", queries, self.W_q.in_features)
        check_width("keys", keys, self.W_k.in_features)
        sizes = queries.shape[0], 1, queries.shape[1], keys.shape[1]
        keep = combine(*sizes, valid_lens, mask, device=queries.device)
        if keep is not None:
            queries, keys, values = hide_unseen(keep, queries, keys, values)
        features = self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]
        scores = self.w_v(features.tanh()).squeeze(-1)
        weights = softmax_where(keep, scores[:, None])[:, 0]
        output = self.dropout(weights) @ values
        return (output, weights) if need_weights else output


def split_heads(X: Tensor, num_heads: int) -> Tensor:
    """(batch, steps, heads * head_size) -> (batch, heads, steps, head_size).

    Head i gets the i-th block of columns. Raises ValueError for an X without three axes and for
    heads that don't divide the width, TypeError unless ``num_heads`` is an integer.

    >>> split_heads(torch.arange(4.).reshape(1, 1, 4), num_heads=2).tolist()
    [[[[0.0, 1.0]], [[2.0, 3.0]]]]
    """
    if X.dim() != 3:
        shape = tuple(X.shape)
        raise ValueError(f"X must have shape (batch, steps, heads * head_size), got {shape}")
    check_size(num_heads=num_heads)
    if X.shape[-1] % num_heads:
        raise ValueError(f"{num_heads=} does not divide the width {X.shape[-1]}")
    batch, steps, width = X.shape  # not unflatten: torch.compile with a default device can't
    return X.reshape(batch, steps, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(X: Tensor) -> Tensor:
    """(batch, heads, steps, head_size) -> (batch, steps, heads * head_size).

    Undoes ``split_heads``. Raises ValueError for an X without four axes.
    """
    if X.dim() != 4:
        shape = tuple(X.shape)
        raise ValueError(f"X must have shape (batch, heads, steps, head_size), got {shape}")
    return X.transpose(1, 2).flatten(2)


def for_each_head(X: Tensor, num_heads: int) -> Tensor:
    """(batch, kv heads, steps, head_size) -> (batch, heads, steps, head_size).

    Neighbouring heads share one: each stands there as often as there are heads that share it.

    >>> for_each_head(torch.tensor([3., 5.]).reshape(1, 2, 1, 1), num_heads=4).flatten().tolist()
    [3.0, 3.0, 5.0, 5.0]
    """
    group = num_heads // X.shape[1]
    return X if group == 1 else X.repeat_interleave(group, dim=1)


def takes_shared_heads() -> bool:
    """Whether PyTorch's fused kernel for CPUs takes shared heads; that of 2.8 doesn't."""
    q, k = (torch.zeros(1, heads, 1, 8, device="cpu") for heads in (2, 1))
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("ignore")  # it says why it doesn't
        try:
            F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
        except RuntimeError:
            return False
    return True


FUSED_SHARES = takes_shared_heads()


class MultiHeadAttention(nn.Module):
    """Multi-head attention: W_o [h_1; ...; h_h], h_i = attention(W_q⁽ⁱ⁾ q, W_k⁽ⁱ⁾ k, W_v⁽ⁱ⁾ v).

    From Vaswani et al. 2017, section 3.2.2. query_size, key_size, value_size: widths of the inputs,
    ``num_hiddens`` unless given. head_size: width of a head, ``num_hiddens / num_heads`` unless
    given. num_kv_heads: how many heads have keys and values of their own, ``num_heads`` unless
    given; fewer serve groups of neighbours (grouped-query attention: Ainslie et al. 2023, section
    2.2), and 1 serves all (multi-query: Shazeer 2019, section 3); on a CPU PyTorch 2.8 needs them
    repeated, which takes memory. position: a ``RelativePosition``, or any module with its
    methods. Parameters: W_q, W_k, W_v, W_o, each an ``nn.Linear``; a ``state_dict`` moves to and
    from D2L's class as it is. Raises TypeError for sizes that aren't integers, ValueError where
    sizes don't fit: heads that don't divide ``num_hiddens`` or aren't divided by ``num_kv_heads``,
    sizes below 1, dropout outside [0, 1).

    >>> attention = MultiHeadAttention(num_hiddens=8, num_heads=2)
    >>> queries, keys = torch.rand(1, 3, 8), torch.rand(1, 5, 8)
    >>> output, weights = attention(queries, keys, keys, need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 5]))
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
        if head_size is None and num_hiddens % num_heads:
            raise ValueError(f"{num_heads=} does not divide {num_hiddens=}; "
                             "give head_size to choose the width of a head yourself")
        head_size = num_hiddens // num_heads if head_size is None else head_size
        check_size(head_size=head_size)
        check_dropout(dropout)
        check_position(position)
        self.num_heads, self.num_kv_heads, self.head_size = num_heads, num_kv_heads, head_size
        inner, shared = num_heads * head_size, num_kv_heads * head_size
        self.W_q = nn.Linear(widths["query_size"], inner, bias=bias)
        self.W_k = nn.Linear(widths["key_size"], shared, bias=bias)
        self.W_v = nn.Linear(widths["value_size"], shared, bias=bias)
        self.W_o = nn.Linear(inner, num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.position = position

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None, *,
        mask: Attend | None = None, causal: bool = False, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend. A key counts where every constraint allows it; True = may attend.

        queries (batch, queries, query_size), keys (batch, keys, key_size),
        values (batch, keys, value_size). valid_lens: integers, (batch,) or (batch, queries).
        mask: a predicate, or booleans (queries, keys), (batch, queries, keys) or
        (batch, 1|heads, queries, keys). causal: a query sees the keys up to its own position; needs
        as many queries as keys. Returns the output (batch, queries, num_hiddens); with
        ``need_weights=True`` also the weights before dropout (batch, heads, queries, keys). While
        dropout is inactive the output is the same; without weights a fused kernel computes it.

        Guaranteed: a query with nothing to attend to gets zeros before ``W_o``, in weights, values
        and gradients. A position that no query may see reaches neither output nor gradients, NaN
        and infinity included; where only some queries may see it, this holds for finite inputs. No
        input is modified. Second derivatives need ``need_weights=True`` or PyTorch's math backend.

        Raises TypeError for inputs that aren't floating point, for what is no mask or no lengths,
        and unless ``causal`` is True or False; ValueError for shapes, widths and lengths that don't
        fit.
        """
        check_inputs(queries, keys, values)
        check_width("queries", queries, self.W_q.in_features)
        check_width("keys", keys, self.W_k.in_features)
        check_width("values", values, self.W_v.in_features)
        check_causal(causal, queries.shape[1], keys.shape[1])
        alone = causal and valid_lens is None and mask is None  # then no row or column is empty
        is_causal = alone and not need_weights  # and the fused kernel needs no tensor
        keep = None
        if not is_causal:
            sizes = queries.shape[0], self.num_heads, queries.shape[1], keys.shape[1]
            keep = combine(*sizes, valid_lens, mask, causal, queries.device)
        count = keys.shape[1]
        if keep is not None and not alone:
            queries, keys, values = hide_unseen(keep, queries, keys, values)
            if self.position is None:  # which counts from the last key
                keep, keys, values = cut_padding(valid_lens, keep, keys, values)
        q = split_heads(self.W_q(queries), self.num_heads)
        k = split_heads(self.W_k(keys), self.num_kv_heads)
        v = split_heads(self.W_v(values), self.num_kv_heads)
        q, k, bias = self._relate(q, k)
        weights = None
        if need_weights:
            heads, weights = self._explicit(q, k, v, keep, bias)
        else:
            heads = self._fused(q, k, v, keep, bias, is_causal)
        output = self.W_o(merge_heads(heads))
        return output if weights is None else (output, widened(weights, count))

    def _relate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        if self.position is None:
            return q, k, None
        q, k = self.position.transform(q, k)
        return q, k, addable(self.position.bias(q, k), (*q.shape[:3], k.shape[2]))

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, bias: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        bounded = keep is not None and bias is None and products_bounded(q, k)
        k, v = (for_each_head(X, self.num_heads) for X in (k, v))
        scores = q / math.sqrt(self.head_size) @ k.mT
        weights = softmax_where(keep, scores if bias is None else scores + bias, bounded)
        return self.dropout(weights) @ v, weights

    def _fused(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, bias: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        if is_causal and bias is not None:  # the kernel takes one of the two
            is_causal = False
            batch, heads, queries, _ = q.shape
            keep = combine(batch, heads, queries, k.shape[2], causal_=True, device=q.device)
        mask, sees = bias, None
        if keep is not None:
            allowed, sees = unmask_empty_rows(keep)  # kernels disagree on empty rows
            mask = allowed if bias is None else bias.masked_fill(~allowed, -math.inf)
        shared = self.num_kv_heads < self.num_heads
        if shared and q.device.type == "cpu" and not FUSED_SHARES:  # it would make all weights
            k, v, shared = *(for_each_head(X, self.num_heads) for X in (k, v)), False
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=is_causal, scale=1 / math.sqrt(self.head_size),
            enable_gqa=shared)
        return attended if sees is None else torch.where(sees, attended, 0.0)

    @classmethod
    def from_torch(cls, attention: nn.MultiheadAttention) -> MultiHeadAttention:
        """A copy of an ``nn.MultiheadAttention`` with the same weights and dropout, batch first.

        Raises TypeError for another class, ValueError for ``add_bias_kv`` and ``add_zero_attn``.
        """
        ours = cls(**sizes_from_torch(attention))
        ours.to(attention.out_proj.weight).load_state_dict(state_from_torch(attention))
        return ours.train(attention.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """A batch-first ``nn.MultiheadAttention`` with the same weights and dropout.

        Raises ValueError where PyTorch's class can't say the same: a position module, heads that
        share keys and values, and ``query_size`` or ``num_heads * head_size`` other than
        ``num_hiddens``.
        """
        theirs = nn.MultiheadAttention(**sizes_to_torch(self), batch_first=True)
        theirs.to(self.W_o.weight).load_state_dict(state_to_torch(self, theirs))
        return theirs.train(self.training)


def sizes_from_torch(attention: nn.MultiheadAttention) -> dict[str, Any]:
    """Arguments of ``MultiHeadAttention`` for the sizes of PyTorch's class."""
    if not isinstance(attention, nn.MultiheadAttention):
        got = type(attention).__name__
        raise TypeError(f"attention must be an nn.MultiheadAttention, got {got}")
    if attention.bias_k is not None or attention.add_zero_attn:
        raise ValueError("nn.MultiheadAttention with add_bias_kv or add_zero_attn "
                         "has no counterpart here")
    return {"num_hiddens": attention.embed_dim, "num_heads": attention.num_heads,
            "dropout": attention.dropout, "bias": attention.in_proj_bias is not None,
            "key_size": attention.kdim, "value_size": attention.vdim}


def state_from_torch(attention: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The ``state_dict`` of ``MultiHeadAttention`` from PyTorch's packed weights."""
    packed = attention.in_proj_weight
    if packed is None:
        weights = attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight
    else:
        weights = packed.chunk(3)
    last = attention.out_proj
    state = {f"W_{name}.weight": weight for name, weight in zip("qkvo", (*weights, last.weight))}
    if attention.in_proj_bias is not None:
        biases = *attention.in_proj_bias.chunk(3), last.bias
        state |= {f"W_{name}.bias": part for name, part in zip("qkvo", biases)}
    return state


def sizes_to_torch(attention: MultiHeadAttention) -> dict[str, Any]:
    """Arguments of ``nn.MultiheadAttention`` for the sizes of ours, if it can have them."""
    hiddens, inner = attention.W_o.out_features, attention.W_o.in_features
    query_size, position = attention.W_q.in_features, attention.position
    if attention.num_kv_heads != attention.num_heads:
        raise ValueError("nn.MultiheadAttention has keys and values for each head, got "
                         f"num_kv_heads={attention.num_kv_heads} for "
                         f"num_heads={attention.num_heads}")
    if position is not None or query_size != hiddens or inner != hiddens:
        raise ValueError(
            "nn.MultiheadAttention needs position=None and "
            f"query_size = num_heads * head_size = num_hiddens, got {position=}, {query_size=}, "
            f"num_heads * head_size={inner}, num_hiddens={hiddens}")
    return {"embed_dim": hiddens, "num_heads": attention.num_heads,
            "dropout": attention.dropout.p, "bias": attention.W_q.bias is not None,
            "kdim": attention.W_k.in_features, "vdim": attention.W_v.in_features}


def state_to_torch(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The ``state_dict`` of ``theirs`` with the weights of ``ours``."""
    inputs = ours.W_q, ours.W_k, ours.W_v
    state = {"out_proj.weight": ours.W_o.weight}
    if theirs.in_proj_weight is None:
        state |= {f"{name}_proj_weight": linear.weight for name, linear in zip("qkv", inputs)}
    else:
        state["in_proj_weight"] = torch.cat([linear.weight for linear in inputs])
    if theirs.in_proj_bias is not None:
        state["in_proj_bias"] = torch.cat([linear.bias for linear in inputs])
        state["out_proj.bias"] = ours.W_o.bias
    return state


def hide_unseen(
    keep: Tensor, queries: Tensor, keys: Tensor, values: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros at the keys that no query may see and at the queries that see nothing.

    0 x NaN is NaN, so a weight of 0 would not keep it out. Numbers known to be harmless stay: 0
    times those is 0, and copies cost time and memory. In self-attention, where one tensor is passed
    as queries and keys, a key that no one sees is a query as well: as a query it stays as it is,
    unless it holds a number that isn't finite.
    """
    if all(harmless(X) for X in {id(X): X for X in (queries, keys, values)}.values()):
        return queries, keys, values
    seen, sees = keep.any(2).any(1)[..., None], keep.any(3).any(1)[..., None]
    if queries is keys:
        # Six times as fast as isfinite().
        finite = (queries.detach() * 0).sum(-1, keepdim=True) == 0
        sees = sees & (seen | finite)
    hidden_keys = torch.where(seen, keys, 0.0)
    hidden_values = hidden_keys if values is keys else torch.where(seen, values, 0.0)
    return torch.where(sees, queries, 0.0), hidden_keys, hidden_values


def harmless(X: Tensor) -> bool:
    """Whether all numbers are known to be finite, with room for a projection to stay so."""
    if not at_hand(X) or not X.numel():
        return False
    low, high = X.detach().aminmax()
    room = torch.finfo(X.dtype).max ** 0.25  # 16 in half precision, 4e9 in single
    return known((-room < low) & (high < room))


def products_bounded(q: Tensor, k: Tensor) -> bool:
    """Whether q kᵀ is known to hold neither NaN nor infinity.

    No product of two rows exceeds that of their lengths, nor that of the norms of all (Cauchy and
    Schwarz).
    """
    limit = torch.finfo(q.dtype).max
    return at_hand(q) and known(q.detach().norm() * k.detach().norm() < limit)


def cut_padding(
    valid_lens: Tensor | None, keep: Tensor, keys: Tensor, values: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """All three without the keys beyond the longest length, where it is known and worth a copy."""
    if valid_lens is None or not at_hand(valid_lens):
        return keep, keys, values
    _, longest = extremes(valid_lens)
    if longest > keys.shape[1] * 7 // 8:  # measured: below an eighth the copy costs more
        return keep, keys, values
    cut = keys[:, :longest].contiguous()  # one copy, where each projection would make its own
    return keep[..., :longest], cut, cut if values is keys else values[:, :longest]


def widened(weights: Tensor, keys: int) -> Tensor:
    """``weights`` with zeros for the keys that were cut off."""
    cut = keys - weights.shape[-1]
    return F.pad(weights, (0, cut)) if cut else weights


def addable(bias: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """``bias`` with four axes; raises ValueError unless it can be added to scores of this shape."""
    if bias is None:
        return None
    pairs = zip(bias.shape[::-1], shape[::-1])
    if bias.dim() > 4 or any(size not in (1, wanted) for size, wanted in pairs):
        raise ValueError(f"position.bias has shape {tuple(bias.shape)}, "
                         f"which can't be added to scores of shape {tuple(shape)}")
    return bias.reshape((1,) * (4 - bias.dim()) + tuple(bias.shape))
