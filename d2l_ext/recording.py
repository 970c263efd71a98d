"""Attention seen from outside: every head's weights in any model, which stays as it is.

A torch-function mode sees calls of ``F.scaled_dot_product_attention`` and softmaxes; PyTorch's
hooks for all modules say in which module they happen, and look into ``nn.MultiheadAttention`` and
``nn.TransformerEncoderLayer``, whose fast paths such a mode would turn off.
"""
from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ._validate import check_integer
from .attention import MultiHeadAttention, widened
from .masks import combine

SOFTMAXES = {F.softmax, torch.softmax, torch.special.softmax, Tensor.softmax}
COUNTS = ("num_heads", "num_attention_heads", "n_heads", "n_head")  # what models call it


def eagerly() -> AbstractContextManager[object]:
    """While open, compiled models run uncompiled: compiled code would skip what watches it."""
    loaded = "torch._dynamo" in sys.modules
    return torch.compiler.set_stance("force_eager") if loaded else nullcontext()


# ---- where a model is ----

class Running(NamedTuple):
    module: nn.Module
    quiet: AbstractContextManager[None] | None  # turns torch functions off, for a fast path
    before: tuple[int, int]  # how much was seen, and how much was not, when it started


class Watch(TorchFunctionMode):
    """While open, calls ``fused`` and ``softmax`` for each attention inside ``model``.

    Subclasses say what these do; both get the function's arguments and return its output. ``names``
    holds the name of each module, ``running`` those that are at work, the innermost last.
    """

    quietly = False  # whether PyTorch's own layers keep their fast paths

    def __init__(self, model: nn.Module):
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        super().__init__()
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[Running] = []
        self.seen = self.unseen = 0

    def __enter__(self) -> Self:
        self.handles = [
            register_module_forward_pre_hook(self.enters),
            register_module_forward_hook(self.leaves, with_kwargs=True, always_call=True)]
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        while self.running:  # after an interruption
            self.ends()
        for handle in self.handles:
            handle.remove()
        super().__exit__(*error)

    def enters(self, module: nn.Module, args: Any) -> None:
        if module not in self.names:
            return
        quiet, modes = None, _get_current_function_mode_stack()  # other modes end fast paths anyway
        if has_fast_path(module) and all(getattr(mode, "quietly", False) for mode in modes):
            quiet = torch._C.DisableTorchFunction()
            quiet.__enter__()
        self.running.append(Running(module, quiet, (self.seen, self.unseen)))

    def leaves(self, module: nn.Module, args: Any, *rest: Any) -> None:
        """After a module: ``rest`` is what it got by name (not after an error), and its output."""
        if module not in [each.module for each in self.running]:
            return
        while (ended := self.ends()).module is not module:
            pass
        if rest[-1] is not None:
            self.left(ended, args, rest[0])

    def ends(self) -> Running:
        ended = self.running.pop()
        if ended.quiet is not None:
            ended.quiet.__exit__(None, None, None)
        return ended

    def left(self, ended: Running, args: Any, kwargs: Any) -> None:
        """Called after each module of the model."""

    @property
    def name(self) -> str:
        """The module that is at work."""
        return self.names[self.running[-1].module]

    def fused(self, args: Any, kwargs: Any) -> Tensor:
        raise NotImplementedError

    def softmax(self, func: Callable[..., Tensor], args: Any, kwargs: Any) -> Tensor:
        raise NotImplementedError

    def packed(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """``F.multi_head_attention_forward``, where ``nn.MultiheadAttention`` has no fast path."""
        return func(*args, **kwargs)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.running:
            if func is F.scaled_dot_product_attention:
                return self.fused(args, kwargs)
            if func in SOFTMAXES and self.heads_of(args, kwargs):
                return self.softmax(func, args, kwargs)
            if func is F.multi_head_attention_forward:
                return self.packed(func, args, kwargs)
        return func(*args, **kwargs)

    def heads_of(self, args: Any, kwargs: Any) -> int:
        """How many heads a softmax weighs for; 0 where it isn't attention.

        Over the last of four axes it is. Over the last of three it is in a module called attention:
        heads may then be folded into the batch, as they may where four axes have one head.
        """
        scores = args[0] if args else kwargs["input"]
        axis = args[1] if len(args) > 1 else kwargs.get("dim")
        if axis not in (-1, scores.dim() - 1):
            return 0
        near = [each.module for each in self.running[-2:]]
        alone = scores.dim() == 3 or scores.dim() == 4 and scores.shape[1] == 1
        if alone and any(is_called_attention(module) for module in near):
            heads = next((count for module in reversed(near) if (count := count_of(module))), 1)
            return heads if len(scores) % heads == 0 else 1
        return scores.shape[1] if scores.dim() == 4 else 0

    def grouped(self, X: Tensor) -> Tensor:
        """With one query, some models pass the heads that share keys as queries: undo that."""
        module = self.running[-1].module
        heads = count_of(getattr(module, "config", None)) or count_of(module)
        packed = X.dim() == 4 and X.shape[1] < heads == X.shape[1] * X.shape[2]
        return X.reshape(len(X), heads, 1, X.shape[3]) if packed else X


def has_fast_path(module: nn.Module) -> bool:
    """Whether this is a layer of PyTorch's that runs otherwise where a mode is open."""
    if type(module) is nn.TransformerEncoder:
        return all(type(layer) is nn.TransformerEncoderLayer for layer in module.layers)
    return (type(module) is nn.TransformerEncoderLayer
            or isinstance(module, nn.MultiheadAttention))


def is_called_attention(module: nn.Module) -> bool:
    return "attention" in type(module).__name__.lower()


def count_of(holder: object) -> int:
    """The number of heads that a module or its settings name; 0 for none."""
    counts = (getattr(holder, name, None) for name in COUNTS)
    return next((count for count in counts if type(count) is int), 0)


# ---- weights ----

def fused_weights(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The weights behind a call of ``F.scaled_dot_product_attention``, before dropout.

    Takes that function's arguments. Computed in single precision at least; a query that sees no key
    has zeros.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k = query.detach().to(wide), key.detach().to(wide)
    if enable_gqa:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    scores = q / math.sqrt(q.shape[-1]) @ k.mT if scale is None else q * scale @ k.mT
    if is_causal:
        keep = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~keep, -math.inf)
    if attn_mask is not None:
        mask = attn_mask.detach()
        scores = (scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool
                  else scores + mask)
    empty = scores.isneginf().all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(empty, 0.0)


def packed_weights(module: nn.MultiheadAttention, *args: Any, **kwargs: Any) -> Tensor:
    """What ``nn.MultiheadAttention`` returns as weights when asked for those of each head."""
    kwargs |= {"need_weights": True, "average_attn_weights": False}
    was, module.training = module.training, False  # weights before dropout
    try:
        _, weights = type(module).forward(module, *args, **kwargs)
    finally:
        module.training = was
    assert weights is not None  # it was asked for
    return weights if weights.dim() == 4 else weights[None]


def layer_weights(layer: nn.TransformerEncoderLayer, src: Tensor, mask: Tensor | None,
                  padding: Tensor | None) -> Tensor:
    """The weights of a layer that took its fast path, which calls none of its modules.

    Padding that the fast path left out has zeros.
    """
    X, rows = src, None
    if src.is_nested:
        X = src.to_padded_tensor(0.0)
        lengths = torch.tensor([len(each) for each in src.unbind()], device=X.device)
        rows = torch.arange(X.shape[1], device=X.device) < lengths[:, None]
        padding = ~rows
    X = layer.norm1(X) if layer.norm_first else X
    weights = packed_weights(layer.self_attn, X, X, X, key_padding_mask=padding, attn_mask=mask)
    return weights if rows is None else weights * rows[:, None, :, None]


class Recorder(Watch):
    """Keeps the weights of every attention, by name; what it could not keep it tells at the end."""

    quietly = True

    def __init__(self, model: nn.Module, most_bytes: int):
        super().__init__(model)
        check_integer(most_bytes=most_bytes)
        self.most, self.kept, self.full = most_bytes, 0, False
        known = (module for module in self.names
                 if isinstance(module, (MultiHeadAttention, nn.MultiheadAttention)))
        self.recorded: dict[str, list[Tensor]] = {self.names[module] or "attention": []
                                                  for module in known}
        self.left_out: list[tuple[str, int]] = []  # each call's name and bytes
        self.hidden: dict[str, str] = {}  # attention without weights: its name and class

    def keep(self, name: str, shape: tuple[int, ...], make: Callable[[], Tensor]) -> None:
        """Keep what ``make`` returns, of this shape, if there is room."""
        self.seen += 1
        name, size = name or "attention", 4 * math.prod(shape)
        calls = self.recorded.setdefault(name, [])
        self.full = self.kept + size > self.most
        if self.full:
            self.left_out.append((name, size))
            return
        with torch.no_grad(), torch._C.DisableTorchFunction():
            weights = make().detach()
        calls.append(weights)
        self.kept += weights.nbytes

    def fused(self, args: Any, kwargs: Any) -> Tensor:
        output = F.scaled_dot_product_attention(*args, **kwargs)
        given = dict(zip(("query", "key"), args)) | kwargs
        shape = (*output.shape[:-1], given["key"].shape[-2])

        def make() -> Tensor:
            with torch.autocast(output.device.type, enabled=False):
                return four(self.grouped(fused_weights(*args, **kwargs)))

        self.keep(self.name, shape, make)
        return output

    def softmax(self, func: Callable[..., Tensor], args: Any, kwargs: Any) -> Tensor:
        heads, weights = self.heads_of(args, kwargs), func(*args, **kwargs)

        def make() -> Tensor:
            return weights.reshape(-1, heads, *weights.shape[-2:]).clone()

        self.keep(self.name, tuple(weights.shape), make)
        return weights

    def left(self, ended: Running, args: Any, kwargs: Any) -> None:
        module, name = ended.module, self.names[ended.module]
        seen, unseen = ended.before
        if isinstance(module, nn.MultiheadAttention):
            given = bound(nn.MultiheadAttention, module, args, kwargs)
            q, k = given["query"], given["key"]
            at = int(module.batch_first and q.dim() == 3)
            batch = q.shape[1 - at] if q.dim() == 3 else 1
            shape = batch, module.num_heads, q.shape[at], k.shape[at]
            self.keep(name, shape, lambda: packed_weights(module, *args, **kwargs))
        elif self.seen > seen:
            if isinstance(module, MultiHeadAttention) and not self.full:
                self.complete(module, args, kwargs)
        elif type(module) is nn.TransformerEncoderLayer:
            given = bound(nn.TransformerEncoderLayer, module, args, kwargs)
            masks = given.get("src_mask"), given.get("src_key_padding_mask")
            self.fast(module, given["src"], *masks)
        elif is_called_attention(module) and self.unseen == unseen:
            self.hidden[name] = type(module).__name__
            self.unseen += 1

    def fast(self, layer: nn.TransformerEncoderLayer, src: Tensor, mask: Tensor | None,
             padding: Tensor | None) -> None:
        """Keep the weights of a layer that took its fast path."""
        steps = max(map(len, src.unbind())) if src.is_nested else src.shape[1]
        shape = src.size(0), layer.self_attn.num_heads, steps, steps
        name = self.names[layer.self_attn]
        self.keep(name, shape, lambda: layer_weights(layer, src, mask, padding))

    def complete(self, module: MultiHeadAttention, args: Any, kwargs: Any) -> None:
        """Ours cuts off padding first, and gives rows that see nothing zeros afterwards."""
        calls = self.recorded[self.names[module] or "attention"]
        given = bound(MultiHeadAttention, module, args, kwargs)
        lengths, mask = given.get("valid_lens"), given.get("mask")
        if lengths is None and mask is None:
            return
        keys, (batch, heads, queries, _) = given["keys"].shape[1], calls[-1].shape
        with torch._C.DisableTorchFunction():
            keep = combine(batch, heads, queries, keys, lengths, mask, device=calls[-1].device)
            if keep is not None:
                calls[-1] = widened(calls[-1], keys) * keep.any(-1, keepdim=True)

    def tell(self) -> None:
        """Warn of what is missing."""
        if self.left_out:
            (first, _), size = self.left_out[0], sum(size for _, size in self.left_out)
            warnings.warn(
                f"record_attention left out {len(self.left_out)} of {self.seen} calls, the first "
                f"of {first!r}: with their {size:,} bytes it would keep {self.kept + size:,}, more "
                f"than most_bytes={self.most:,}", stacklevel=4)
        for name, kind in self.hidden.items():
            warnings.warn(
                f"record_attention sees no weights in {name!r}, a {kind}: it knows PyTorch's fused "
                "attention and softmaxes over (batch, heads, queries, keys); "
                f"model.get_submodule({name!r}).register_forward_hook(...) shows what goes in and "
                "comes out", stacklevel=4)


def bound(kind: type[nn.Module], module: nn.Module, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of a call of ``module.forward`` by name."""
    signature = inspect.signature(kind.forward)
    return signature.bind(module, *args, **kwargs).arguments


def four(weights: Tensor) -> Tensor:
    """Weights as (batch, heads, queries, keys): (queries, keys) and (batch, ...) have one head."""
    if weights.dim() > 4:
        return weights.flatten(0, -4)
    return weights if weights.dim() == 4 else weights.reshape(-1, 1, *weights.shape[-2:])


@contextmanager
def record_attention(
    model: nn.Module, most_bytes: int = 2**30,
) -> Iterator[dict[str, list[Tensor]]]:
    """While open, records the weights of every attention inside ``model``, asked for or not.

    Yields a dictionary: name of the module that attends (``"attention"`` if that is the model) ->
    list of detached weights before dropout, (batch, heads, queries, keys), one per call. The
    model's outputs stay the same to the last bit. It sees calls of
    ``F.scaled_dot_product_attention``, whose weights it computes from queries and keys; softmaxes
    over the last of four axes, or of three in a module called attention, with the heads that its
    ``num_heads`` names; ``nn.MultiheadAttention`` and ``nn.TransformerEncoderLayer``, on their fast
    paths too; ``MultiHeadAttention``. At most ``most_bytes`` are kept. A warning at the end names
    what was left out, and modules called attention in which it saw no weights. Raises TypeError
    where ``model`` is no module or ``most_bytes`` no integer.

    >>> attention = MultiHeadAttention(8, 2)
    >>> with record_attention(attention) as weights:
    ...     output = attention(*[torch.rand(1, 3, 8)] * 3)
    >>> weights["attention"][0].shape
    torch.Size([1, 2, 3, 3])
    """
    with eagerly(), Recorder(model, most_bytes) as recorder:
        yield recorder.recorded
    recorder.tell()
