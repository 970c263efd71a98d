"""Masks: yes/no questions about a query position and a key position.

``True`` means *may attend*, everywhere in this package.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import torch
from torch import Tensor

from .checks import check_boolean, check_lengths, check_size, kind
from .host_values import surely_all

Predicate = Callable[[Tensor, Tensor], Tensor]  # (query, key) -> may attend


class Mask:
    """A predicate on two positions that composes with ``&``, ``|`` and ``~``.

    ``predicate(query, key)`` receives positions, integers of shape (queries, 1) and (keys,), and
    returns booleans that broadcast to (queries, keys), (batch, queries, keys) or
    (batch, heads, queries, keys).

    >>> near = window(1) & causal()
    >>> near.tensor(3, 3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """

    def __init__(self, predicate: Predicate):
        if not callable(predicate):
            raise TypeError("a mask must be a function of (query, key) or a boolean tensor, "
                            f"got {kind(predicate)}")
        # Up to 2.11 torch.compile asks what it calls for its truth, so functions alone are called.
        inner = predicate.predicate if isinstance(predicate, Mask) else predicate
        self.predicate: Predicate = inner

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.predicate(query, key)

    def __and__(self, other: Predicate) -> Mask:
        a, b = self.predicate, Mask(other).predicate
        return Mask(lambda query, key: a(query, key) & b(query, key))

    def __or__(self, other: Predicate) -> Mask:
        a, b = self.predicate, Mask(other).predicate
        return Mask(lambda query, key: a(query, key) | b(query, key))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Mask:
        return Mask(lambda query, key: ~self.predicate(query, key))

    def __bool__(self) -> bool:
        raise TypeError("masks compose with &, | and ~, not with `and`, `or`, `not`")

    def tensor(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """The answers for all pairs: booleans (queries, keys), after the predicate's own axes."""
        query = torch.arange(queries, device=device)[:, None]
        answer = self.predicate(query, torch.arange(keys, device=device))
        if not isinstance(answer, Tensor) or answer.dtype != torch.bool:
            raise TypeError("mask: the predicate must answer with a boolean tensor, "
                            f"got {kind(answer)}")
        return answer.broadcast_to(torch.broadcast_shapes(answer.shape, (queries, keys)))


MaskLike = Mask | Predicate | Tensor  # what ``mask=`` takes: who may attend to whom


def causal(offset: int = 0) -> Mask:
    """A query sees the keys up to its own position: key <= query + offset.

    From Vaswani et al. 2017, section 3.2.3. ``offset = keys - queries`` lets the last query see the
    last key, as when decoding with a cache.

    >>> causal(offset=2).tensor(2, 4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    return Mask(lambda query, key: key <= query + offset)


def window(size: int) -> Mask:
    """A query sees the keys at most ``size`` positions away, to either side: |query - key| <= size.

    >>> window(0).tensor(2, 2).int().tolist()
    [[1, 0], [0, 1]]
    """
    check_size(0, size=size)
    return Mask(lambda query, key: (query - key).abs() <= size)


def padding(valid_lens: Tensor) -> Mask:
    """A query sees the first keys: key < valid_lens, integers, (batch,) or (batch, queries)."""
    check_lengths(valid_lens)
    return Mask(lambda query, key: counted(valid_lens, key))


def counted(valid_lens: Tensor, key: Tensor) -> Tensor:
    """Which keys count, by their positions (keys,): (batch, 1 or queries, keys)."""
    lengths = valid_lens[:, None, None] if valid_lens.dim() == 1 else valid_lens[..., None]
    return key < lengths.to(key.device, torch.int64)


def all_constraints(
    batch: int, heads: int, queries: int, keys: int, valid_lens: Tensor | None = None,
    mask: MaskLike | None = None, is_causal: bool = False, device: torch.device | None = None,
) -> Tensor | None:
    """All constraints together: booleans (batch|1, heads|1, queries|1, keys), None without any."""
    parts = []
    if valid_lens is not None:
        check_lengths(valid_lens, (batch, queries, keys))
        parts.append(counted(valid_lens, torch.arange(keys, device=device))[:, None])
    if mask is not None:
        parts.append(mask_tensor(mask, batch, heads, queries, keys, device))
    if is_causal:
        parts.append(as_4d(causal().tensor(queries, keys, device)))
    return functools.reduce(operator.and_, parts) if parts else None


def unmask_empty_rows(keep: Tensor) -> tuple[Tensor, Tensor | None]:
    """``keep`` with its empty rows set to True, and which rows weren't empty.

    A softmax over nothing is NaN; set the weights of these rows to 0 afterwards. Without such rows,
    where this is known at once, the second is None and nothing needs to be done.
    """
    sees = keep.any(-1, keepdim=True)
    return (keep, None) if surely_all(sees) else (keep | ~sees, sees)


def mask_tensor(
    mask: MaskLike, batch: int, heads: int, queries: int, keys: int,
    device: torch.device | None = None,
) -> Tensor:
    """``mask`` as booleans of four axes, if it is one of these sizes."""
    if not isinstance(mask, Tensor):
        mask = Mask(mask).tensor(queries, keys, device)
    check_boolean(mask)
    shape = tuple(mask.shape)
    before = [(), (batch,), (1,)] + [(b, h) for b in (1, batch) for h in (1, heads)]
    if shape[-2:] != (queries, keys) or shape[:-2] not in before:
        pairs = f"{queries}, {keys}"
        raise ValueError(f"mask has shape {shape}, expected ({pairs}), ({batch}, {pairs}) or "
                         f"({batch}, 1 or {heads}, {pairs}), "
                         "that is (queries, keys), with batch and heads before")
    return as_4d(mask.to(device))


def as_4d(X: Tensor) -> Tensor:
    """(a, b), (batch, a, b) or (batch, heads, a, b) as (batch|1, heads|1, a, b)."""
    return X[:, None] if X.dim() == 3 else X.reshape((1,) * (4 - X.dim()) + X.shape)


def to_sdpa(mask: Tensor) -> Tensor:
    """Our mask for ``F.scaled_dot_product_attention``, where True = may attend, too.

    (batch, queries, keys) becomes (batch, 1, queries, keys), or its batch would count as heads.
    """
    check_boolean(mask)
    return mask[:, None] if mask.dim() == 3 else mask


def to_torch_mha(mask: Tensor, num_heads: int = 1) -> Tensor:
    """Our mask as ``attn_mask`` of ``torch.nn.MultiheadAttention``, where True = must *not* attend.

    (queries, keys) keeps its shape; (batch, queries, keys) and (batch, 1|num_heads, queries, keys)
    become (batch * num_heads, queries, keys).
    """
    hidden = ~to_sdpa(mask)
    if hidden.dim() == 2:
        return hidden
    return hidden.expand(-1, num_heads, -1, -1).flatten(0, 1)
