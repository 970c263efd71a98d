"""Attention seen from outside: every head's weights in a model, which stays as it is.

A torch-function mode sees calls of ``F.scaled_dot_product_attention`` and softmaxes; PyTorch's
hooks for all modules say in which module they happen. The mode would turn off the fast paths of
PyTorch's own layers, so these run without it, and then once more with it, for their weights. Our
own layer is asked again, too, and says them itself.
"""
from __future__ import annotations

import inspect
import math
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .attention import MultiHeadAttention
from .checks import check_integer

SOFTMAXES = {F.softmax, torch.softmax, torch.special.softmax, Tensor.softmax}
COUNTS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads")  # what models call it
FAST = nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder
STATES: Any = torch._C  # its functions on torch functions have no types


def eagerly() -> AbstractContextManager[object]:
    """While open, compiled models run uncompiled: compiled code would skip what watches it."""
    loaded = "torch._dynamo" in sys.modules
    return torch.compiler.set_stance("force_eager") if loaded else nullcontext()


# ---- where a model is ----

class Unplaced(ValueError):
    """Weights whose axes are not known to be heads, queries and keys."""


@dataclass
class Running:
    """A call of a module that has not ended."""

    module: nn.Module
    shape: tuple[int, ...]  # of the first tensor that it got by position
    maps: int = 0  # made in it, parts not counted
    apart: bool = False  # whether it runs without the mode, and then again


class Watch(TorchFunctionMode):
    """While open, calls ``attended`` and ``packed`` for each attention inside ``model``.

    ``attended`` gets the output of ``F.scaled_dot_product_attention`` or of a softmax, the number
    of keys, and a function for the weights; ``packed`` gets ``F.multi_head_attention_forward`` and
    its arguments. They return the output. ``names`` holds the name of each module, ``running``
    those at work, the innermost last.
    """

    attended: Callable[[Tensor, int, Callable[[], Tensor]], Tensor]
    packed: Callable[..., Any]

    def __init__(self, model: nn.Module):
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        super().__init__()
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[Running] = []
        self.images = 0
        self.other: dict[str, str] = {}  # what was met and is not attention as it is known

    def __enter__(self) -> Self:
        self.thread = threading.get_ident()
        self.handles = [
            register_module_forward_pre_hook(self.enters),
            register_module_forward_hook(self.leaves, with_kwargs=True, always_call=True)]
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()
        super().__exit__(*error)

    def is_here(self, module: nn.Module) -> bool:
        """Whether this is a module of the model, in this thread, and uncompiled."""
        return (not torch.compiler.is_compiling() and module in self.names
                and self.thread == threading.get_ident())

    def enters(self, module: nn.Module, args: Any) -> None:
        if not self.is_here(module):
            return
        shape = next((tuple(X.shape) for X in args
                      if isinstance(X, Tensor) and not X.is_nested), ())
        if not self.running:
            self.images = 0
        if isinstance(module, (nn.Conv2d, nn.Conv3d)) and not self.images and shape:
            self.images = shape[0]
        self.running.append(Running(module, shape))

    def leaves(self, module: nn.Module, args: Any, *rest: Any) -> None:
        """``rest``: what it got by name (not after an error), and its output."""
        if not self.is_here(module) or all(each.module is not module for each in self.running):
            return
        while self.running[-1].module is not module:
            self.running.pop()
        *kwargs, output = rest
        if output is not None:
            self.after_module(self.running[-1], args, kwargs[0])
        self.running.pop()

    def after_module(self, ended: Running, args: Any, kwargs: Any) -> None:
        """Called after each module of the model."""

    @property
    def name(self) -> str:
        """The module that is at work."""
        return self.names[self.running[-1].module]

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.running and not torch.compiler.is_compiling():
            if func is F.scaled_dot_product_attention:
                keys = args[1] if len(args) > 1 else kwargs["key"]
                return self.attended(func(*args, **kwargs), keys.shape[-2],
                                     lambda: fused_weights(*args, **kwargs))
            if func in SOFTMAXES and self.is_attention(args, kwargs):
                weights = func(*args, **kwargs)
                return self.attended(weights, weights.shape[-1], weights.clone)
            if func is F.multi_head_attention_forward:
                given = inspect.signature(func).bind(*args, **kwargs).arguments
                return self.packed(func, given)
            if getattr(func, "__name__", "") == "flex_attention":
                self.other[self.name] = "flex_attention shows no weights"
        return func(*args, **kwargs)

    def is_attention(self, args: Any, kwargs: Any) -> bool:
        """Whether a softmax is over the last of four axes or more, or of three in attention."""
        scores = args[0] if args else kwargs["input"]
        axis = args[1] if len(args) > 1 else kwargs.get("dim")
        return axis in (-1, scores.dim() - 1) and (scores.dim() > 3 or scores.dim() == 3 and any(
            "attention" in type(each.module).__name__.lower() for each in self.running[-2:]))

    def counts(self) -> list[int]:
        """The numbers of heads that the innermost modules and their settings name."""
        near = [each.module for each in self.running[:-3:-1]]
        named = [[getattr(holder, name, None) for name in COUNTS]
                 for holder in (getattr(near[0], "config", None), *near)]
        return [counts[0] for each in named if (counts := [c for c in each if type(c) is int])]

    def arranged(self, X: Tensor, keys: int) -> Tensor:
        """(..., queries, any) as (batch, heads, queries, any), or with windows after the batch.

        Windows, blocks or frames are those that a model of images folds into its batch, or an axis
        of their own. ``X`` is seen otherwise, and not copied. Raises Unplaced where heads can't be
        told from other axes.
        """
        X = X[:, None] if X.dim() == 3 else X[None, None] if X.dim() == 2 else X
        counts, given, maps = self.counts(), self.running[-1].shape, (*X.shape[:-1], keys)
        batch, heads, queries = X.shape[:3]
        width = given[-1] / counts[0] if counts and len(given) == 3 else 0
        if queries == keys == width != given[1]:
            raise Unplaced(f"its weights join {keys} x {keys} channels, not tokens")
        if X.dim() > 5 or X.dim() == 5 and (heads in counts) == (queries in counts):
            raise Unplaced(f"of {maps} not exactly one axis fits its heads")
        if X.dim() == 5:
            return X.transpose(1, 2) if heads in counts else X
        if counts and heads < counts[0] == heads * queries:  # one query, and heads that share keys
            X = X.reshape(batch, -1, 1, X.shape[3])
        elif counts and heads not in counts:
            folded = next((count for count in counts if batch % count == 0), 0)
            if queries in counts and (len(given) != 3 or keys != given[1]):
                raise Unplaced(f"(batch, queries, heads, neighbours) {maps}: "
                               "its last axis is not the keys")
            elif queries in counts:
                X = X.transpose(1, 2)
            elif folded:
                X = X.unflatten(0, (-1, folded))
                X = X[:, :, 0] if heads == 1 else X.transpose(1, 2)
            else:
                self.other[self.name] = f"it has {heads} heads and names {counts[0]}"
        inside = self.images and any(each.shape[:1] == (self.images,) for each in self.running)
        if inside and X.dim() == 4 and len(X) > self.images and len(X) % self.images == 0:
            X = X.unflatten(0, (self.images, -1))
        return X


# ---- weights ----

def fused_weights(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, **options: Any,
) -> Tensor:
    """The weights behind a call of ``F.scaled_dot_product_attention``, before dropout.

    Takes that function's arguments. Computed in single precision at least; a query that sees no key
    has zeros.
    """
    q, k, v = (X.to(torch.promote_types(X.dtype, torch.float32)) for X in (query, key, value))
    mask = attn_mask
    if mask is not None:
        mask = torch.where(mask, 0.0, -math.inf) if mask.dtype == torch.bool else mask.to(q)
    with torch.autocast(q.device.type, enabled=False):
        return torch.ops.aten._scaled_dot_product_attention_math(
            q, k, v, mask, 0.0, is_causal, **options)[1]


class Recorder(Watch):
    """Keeps the weights of every attention, by name; what it could not keep it tells at the end.

    Nothing that goes wrong here reaches the model's run.
    """

    def __init__(self, model: nn.Module, most_bytes: int):
        super().__init__(model)
        check_integer(most_bytes=most_bytes)
        self.most, self.kept, self.quiet = most_bytes, 0, False
        self.recorded: dict[str, list[Tensor]] = {}
        self.ran: dict[str, str] = {}  # names and classes

    def __enter__(self) -> Self:
        self.state = STATES._get_torch_function_state()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        STATES._set_torch_function_state(self.state)  # after an interruption
        super().__exit__(*error)

    def enters(self, module: nn.Module, args: Any) -> None:
        """Torch functions are off while a layer runs that may take a fast path."""
        if self.quiet or not self.is_here(module):
            return
        super().enters(module, args)
        self.ran.setdefault(self.name, type(module).__name__)
        alone = len(_get_current_function_mode_stack()) == 1  # other modes end fast paths anyway
        if isinstance(module, FAST) and not module.training and alone and not any(
                each.apart for each in self.running):
            self.quiet = self.running[-1].apart = True
            STATES._set_torch_function_state(STATES._TorchFunctionState.ALL_DISABLED)

    def leaves(self, module: nn.Module, args: Any, *rest: Any) -> None:
        if self.quiet and self.is_here(module) and self.running[-1].module is module:
            self.quiet = False
            STATES._set_torch_function_state(self.state)
        super().leaves(module, args, *rest)

    def after_module(self, ended: Running, args: Any, kwargs: Any) -> None:
        module, ours = ended.module, isinstance(ended.module, MultiHeadAttention)
        if ours or ended.apart:  # ours, because fused it cuts padding off
            with torch.random.fork_rng(enabled=any(part.training for part in module.modules())):
                if ours:
                    self.keep(lambda: module.forward(*args, **kwargs | {"need_weights": True})[1])
                else:
                    with self.noting(), torch.no_grad():
                        module.forward(*args, **kwargs)
        if ended.maps > 1:
            self.other[self.name] = (f"{ended.maps} maps in one call, of several layers or parts: "
                                     "none of them alone need be what is applied")

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Errors within don't reach the model's run: they are why weights are missing."""
        try:
            yield
        except Exception as error:
            kind = "" if isinstance(error, Unplaced) else f"{type(error).__name__}: "
            self.other[self.name] = f"{kind}{error}"[:200]

    def keep(self, make: Callable[[], Tensor]) -> None:
        """Keep what ``make`` returns, if there is room."""
        self.running[-1].maps += 1
        with self.noting(), torch.no_grad(), torch._C.DisableTorchFunction():
            weights = make().detach()  # one map alone may be too large
            if self.kept + weights.nbytes > self.most:
                self.other[self.name] = f"maps are missing, beyond most_bytes={self.most:,}"
            else:
                self.recorded.setdefault(self.name or "attention", []).append(weights)
                self.kept += weights.nbytes

    def attended(self, output: Tensor, keys: int, weights: Callable[[], Tensor]) -> Tensor:
        if not isinstance(self.running[-1].module, MultiHeadAttention):
            self.keep(lambda: self.arranged(weights(), keys))
        return output

    def packed(self, func: Callable[..., Any], given: dict[str, Any]) -> Any:
        asked = {"need_weights": True, "average_attn_weights": False, "training": False}
        output = func(**given)

        def make() -> Tensor:
            weights = func(**given | asked)[1]
            return weights if weights.dim() == 4 else weights[None]

        self.keep(make)
        return output

    def tell(self) -> None:
        """Warn of what is missing, once for each reason."""
        def met(name: str) -> bool:
            """Whether this module or a part of it was recorded or has a reason."""
            return any(f"{each}.".startswith(f"{name}." if name else "")
                       for each in (*self.recorded, *self.other))

        for name, kind in reversed(self.ran.items()):  # parts come before what they are parts of
            if "attention" in kind.lower() and not met(name):
                self.other[name] = (
                    "calls neither PyTorch's fused attention nor a softmax over (batch, heads, "
                    "queries, keys); model.get_submodule(name).register_forward_hook(...) shows "
                    "what goes in and out")
        for stack in (module for module in self.names if isinstance(module, nn.ModuleList)):
            ran = {layer: met(name) for layer in stack if (name := self.names[layer]) in self.ran}
            seen = {type(layer) for layer, has in ran.items() if has}
            self.other |= {self.names[layer]: "shows no attention, though others of its class do"
                           for layer, has in ran.items() if type(layer) in seen and not has}
        for module, name in self.names.items():
            if getattr(module, "_orig_mod", module._compiled_call_impl) is not None:
                self.other.setdefault(
                    name, "ran uncompiled: outputs are the compiled ones but for rounding")
        if not (self.recorded or self.other):
            kinds = ", ".join([*dict.fromkeys(self.ran.values())][:5]) or "nothing"
            self.other[""] = (f"nothing was recorded: {kinds} ran without PyTorch's fused "
                              "attention or a softmax over keys; exported, traced, scripted and "
                              "compiled code, and other threads, show neither")
        why = defaultdict(list)
        for name, reason in self.other.items():
            why[reason].append(repr(name or "model"))
        for reason, names in why.items():
            more = f" and {len(names) - 3} more" * (len(names) > 3)
            warnings.warn(f"record_attention: {', '.join(names[:3])}{more}: {reason}",
                          stacklevel=4)


@contextmanager
def record_attention(
    model: nn.Module, most_bytes: int = 2**30,
) -> Iterator[dict[str, list[Tensor]]]:
    """While open, records the weights of every attention inside ``model``, asked for or not.

    Yields a dictionary: name of the module that attends (``"attention"`` if that is the model) ->
    list of detached weights before dropout, one per call: (batch, heads, queries, keys), or
    (batch, windows, heads, queries, keys) where each window, block or frame attends for itself. It
    sees PyTorch's and our attention, softmaxes over the last of four axes, and of three in a module
    called attention. Heads are found by the number that the module names. At most ``most_bytes``
    are kept.

    The model's outputs stay the same to the last bit, except those of compiled models and of
    flex_attention, which run uncompiled here: they differ by rounding. What a model does to its
    weights later isn't seen. Nothing that fails here reaches the run: warnings at the end name what
    is missing and why, and where nothing was recorded, what ran.

    >>> attention = MultiHeadAttention(8, 2)
    >>> with record_attention(attention) as weights:
    ...     output = attention(*[torch.rand(1, 3, 8)] * 3)
    >>> weights["attention"][0].shape
    torch.Size([1, 2, 3, 3])
    """
    with eagerly(), Recorder(model, most_bytes) as recorder:
        yield recorder.recorded
    recorder.tell()
