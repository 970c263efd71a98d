"""Masks: yes/no questions about a query position and a key position. ``True`` means *may attend*, everywhere in this package."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Predicate = Callable[[Tensor, Tensor], Tensor]  # (query, key) -> may attend


class Mask:
    """A predicate on two positions that composes with ``&``, ``|`` and ``~``.

    ``predicate(query, key)`` receives positions, a ``(queries, 1)`` and a ``(keys,)`` integer tensor, and answers with booleans that
    broadcast to ``(queries, keys)`` or ``(batch, queries, keys)``.

    >>> near = window(1) & causal()
    >>> near.tensor(3, 3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """

    def __init__(self, predicate: Predicate):
        if not callable(predicate):
            raise TypeError(f"predicate must be a function of (query, key), got {type(predicate).__name__}")
        self.predicate = predicate

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.predicate(query, key)

    def __and__(self, other: Predicate) -> Mask:
        return Mask(lambda query, key: self(query, key) & other(query, key))

    def __or__(self, other: Predicate) -> Mask:
        return Mask(lambda query, key: self(query, key) | other(query, key))

    def __invert__(self) -> Mask:
        return Mask(lambda query, key: ~self(query, key))

    def tensor(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """The answers for all pairs: booleans of shape (queries, keys), or (batch, queries, keys) where the predicate knows a batch."""
        answer = self(torch.arange(queries, device=device)[:, None], torch.arange(keys, device=device))
        if not isinstance(answer, Tensor) or answer.dtype != torch.bool:
            raise TypeError(f"mask: a predicate must answer with a boolean tensor, got {getattr(answer, 'dtype', type(answer).__name__)}")
        return answer.broadcast_to(torch.broadcast_shapes(answer.shape, (queries, keys)))


def causal(offset: int = 0) -> Mask:
    """A query sees the keys up to its own position: key <= query + offset (Vaswani et al. 2017, section 3.2.3).

    With fewer queries than keys, as when decoding with a cache, the last query is to see the last key: ``offset = keys - queries``.

    >>> causal(offset=2).tensor(2, 4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    return Mask(lambda query, key: key <= query + offset)


def window(size: int) -> Mask:
    """A query sees the keys at most ``size`` positions away, to either side: |query - key| <= size.

    >>> window(0).tensor(2, 2).int().tolist()
    [[1, 0], [0, 1]]
    """
    if size < 0:
        raise ValueError(f"size={size} must not be negative")
    return Mask(lambda query, key: (query - key).abs() <= size)


def padding(valid_lens: Tensor) -> Mask:
    """A query sees the first ``valid_lens`` keys: key < valid_lens.

    valid_lens: integers of shape (batch,), one length per sequence, or (batch, queries), one per query.

    >>> padding(torch.tensor([1, 3])).tensor(1, 3).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    check_lengths_type(valid_lens)
    lengths = valid_lens[:, None, None] if valid_lens.dim() == 1 else valid_lens[..., None]
    return Mask(lambda query, key: key < lengths.to(key.device))


def check_lengths_type(valid_lens: Tensor) -> None:
    """Raise TypeError or ValueError unless ``valid_lens`` is an integer tensor of one or two axes."""
    if not isinstance(valid_lens, Tensor):
        raise TypeError(f"valid_lens must be an integer tensor of shape (batch,) or (batch, queries), got {type(valid_lens).__name__}")
    if valid_lens.is_floating_point() or valid_lens.is_complex() or valid_lens.dtype == torch.bool:
        raise TypeError(f"valid_lens must hold integers, got {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"valid_lens must have shape (batch,) or (batch, queries), got {tuple(valid_lens.shape)}")


def check_lengths(valid_lens: Tensor, batch: int, queries: int, keys: int) -> None:
    """Raise unless ``valid_lens`` fits. Its values are looked at in eager mode only: under compile, export and vmap they can't be."""
    check_lengths_type(valid_lens)
    if tuple(valid_lens.shape) not in [(batch,), (batch, queries)]:
        raise ValueError(f"valid_lens has shape {tuple(valid_lens.shape)}, expected ({batch},) or ({batch}, {queries}) for {batch=}, {queries=}")
    if torch.compiler.is_compiling() or not valid_lens.numel():
        return
    try:
        low, high = valid_lens.min().item(), valid_lens.max().item()
    except RuntimeError:  # under vmap no single value is to be had
        return
    if low < 0:
        raise ValueError(f"valid_lens contains {low}: a length must not be negative")
    if high > keys:
        raise ValueError(f"valid_lens contains {high}, but there are only {keys=}")


def combine(batch: int, heads: int, queries: int, keys: int, valid_lens: Tensor | None = None, mask: Mask | Predicate | Tensor | None = None,
            causal_: bool = False, device: torch.device | None = None) -> Tensor | None:
    """All constraints and-ed into one boolean tensor of shape (batch|1, heads|1, queries|1, keys), or None where there is no constraint."""
    parts = []
    if valid_lens is not None:
        check_lengths(valid_lens, batch, queries, keys)
        parts.append(padding(valid_lens)(None, torch.arange(keys, device=device))[:, None])
    if mask is not None:
        parts.append(mask_tensor(mask, batch, heads, queries, keys, device))
    if causal_:
        if queries != keys:
            raise ValueError(f"causal=True needs as many queries as keys, got {queries=} and {keys=}: "
                             f"say which keys a query may see, for example mask=d2l_ext.causal(offset={keys - queries})")
        parts.append(causal().tensor(queries, keys, device)[None, None])
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total & part
    return total


def mask_tensor(mask: Mask | Predicate | Tensor, batch: int, heads: int, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """``mask`` as a boolean tensor of four axes; raises TypeError or ValueError, with the shapes, where it doesn't fit."""
    if not isinstance(mask, Tensor):
        if not callable(mask):
            raise TypeError(f"mask must be a predicate or a boolean tensor, got {type(mask).__name__}")
        mask = (mask if isinstance(mask, Mask) else Mask(mask)).tensor(queries, keys, device)
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, got {mask.dtype}")
    shape = tuple(mask.shape)
    fitting = [(queries, keys), (batch, queries, keys), (1, queries, keys)] + [(b, h, queries, keys) for b in (1, batch) for h in (1, heads)]
    if shape not in fitting:
        raise ValueError(f"mask has shape {shape}, expected ({queries}, {keys}), ({batch}, {queries}, {keys}) or ({batch}, 1 or {heads}, {queries}, {keys}), "
                         "that is (queries, keys), with batch and heads before")
    mask = mask.to(device)
    return mask[:, None] if mask.dim() == 3 else mask.reshape((1,) * (4 - mask.dim()) + shape)


def to_sdpa(mask: Tensor) -> Tensor:
    """Our mask for ``torch.nn.functional.scaled_dot_product_attention``: the same, since True = may attend there too."""
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, got {mask.dtype}")
    return mask


def to_torch_mha(mask: Tensor, num_heads: int = 1) -> Tensor:
    """Our mask as ``attn_mask`` of ``torch.nn.MultiheadAttention``, where True = must *not* attend.

    (queries, keys) keeps its shape; (batch, queries, keys) and (batch, 1|num_heads, queries, keys) become (batch * num_heads, queries, keys).

    >>> to_torch_mha(torch.tensor([[True, False]])).tolist()
    [[False, True]]
    """
    hidden = ~to_sdpa(mask)
    if hidden.dim() == 2:
        return hidden
    hidden = hidden[:, None] if hidden.dim() == 3 else hidden
    if hidden.dim() != 4 or hidden.shape[1] not in (1, num_heads):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected (queries, keys), (batch, queries, keys) or (batch, 1 or {num_heads}, queries, keys)")
    return hidden.expand(-1, num_heads, -1, -1).flatten(0, 1)
