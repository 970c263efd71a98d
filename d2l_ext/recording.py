"""Attention seen from outside: every head's weights in a model, which stays as it is.

A torch-function mode sees calls of ``F.scaled_dot_product_attention`` and softmaxes; PyTorch's
hooks for all modules say in which module they happen.
"""
import inspect
import math
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import MethodType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .attention import MultiHeadAttention
from .checks import check_size

SOFTMAXES = {F.softmax, torch.softmax, torch.special.softmax, Tensor.softmax}
COUNTS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads")  # what models call it
FAST = nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder


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


class Watch(TorchFunctionMode):
    """While open, calls ``attended`` and ``packed`` for each attention inside ``model``.

    ``attended`` gets the output of ``F.scaled_dot_product_attention`` or of a softmax, the number
    of keys, and a function for the weights; ``packed`` gets ``F.multi_head_attention_forward`` and
    its arguments. They return the output. Of the modules at work the innermost stands last.
    """

    attended: Callable[[Tensor, int, Callable[[], Tensor]], Tensor]
    packed: Callable[..., Any]

    def __init__(self, model: nn.Module):
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        super().__init__()
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[Running] = []
        self.ran: dict[nn.Module, None] = {}  # in this order
        self.quiet = False  # while nothing is looked at
        self.other: dict[str, str] = {}  # what was met and is not attention as it is known

    def __enter__(self) -> Self:
        self.thread = threading.get_ident()
        self.handles = [register_module_forward_pre_hook(self.enters),
                        register_module_forward_hook(self.leaves, always_call=True)]
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()
        super().__exit__(*error)

    def is_here(self, module: nn.Module) -> bool:
        """Whether this is a module of the model, in this thread, and uncompiled."""
        return (not self.quiet and not torch.compiler.is_compiling() and module in self.names
                and self.thread == threading.get_ident())

    def enters(self, module: nn.Module, args: Any) -> None:
        if self.is_here(module):
            shape = next((tuple(X.shape) for X in args
                          if isinstance(X, Tensor) and not X.is_nested), ())
            self.running.append(Running(module, shape))
            self.ran[module] = None

    def leaves(self, module: nn.Module, *_: Any) -> None:
        if self.is_here(module) and any(each.module is module for each in self.running):
            while self.running.pop().module is not module:
                pass  # what an error ended

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

        A view. Raises Unplaced where heads can't be told from other axes.
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
        if counts and heads < counts[0] == heads * queries:  # one query; heads that share keys
            return X.reshape(batch, -1, 1, X.shape[3])
        if not counts or heads in counts:
            return X
        if queries in counts:
            if len(given) != 3 or keys != given[1]:
                raise Unplaced(f"(batch, queries, heads, neighbours) {maps}: "
                               "its last axis is not the keys")
            return X.transpose(1, 2)
        if folded := next((count for count in counts if batch % count == 0), 0):
            X = X.unflatten(0, (-1, folded))
            return X[:, :, 0] if heads == 1 else X.transpose(1, 2)
        self.other[self.name] = f"it has {heads} heads and names {counts[0]}"
        return X


# ---- weights ----

def fused_weights(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, **options: Any,
) -> Tensor:
    """The weights behind a call of ``F.scaled_dot_product_attention``, before dropout.

    In single precision at least; a query that sees no key has zeros.
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
        check_size(0, most_bytes=most_bytes)
        self.most, self.kept = most_bytes, 0
        self.recorded: dict[str, list[Tensor]] = {}

    def __enter__(self) -> Self:
        self.own: dict[Any, Any] = {
            module: vars(module).get("forward") for module in self.names
            if isinstance(module, (MultiHeadAttention, *FAST))}
        for module in self.own:  # as methods, so that a copy has its own
            module.forward = MethodType(self.twice, module)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for module, forward in self.own.items():
            del module.forward
            if forward:
                module.forward = forward

    def twice(self, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        """Run a layer, and then again for its weights: the mode would turn off fast paths."""
        forward = self.own.get(module) or MethodType(type(module).forward, module)
        ours = isinstance(module, MultiHeadAttention)  # which, fused, cuts padding off
        alone = len(_get_current_function_mode_stack()) == 1  # other modes end fast paths
        if not self.is_here(module) or not ours and (module.training or not alone):
            return forward(*args, **kwargs)
        if ours:
            output = forward(*args, **kwargs)
            with torch.random.fork_rng(enabled=module.training):
                self.keep(lambda: forward(*args, **kwargs | {"need_weights": True})[1])
            return output
        try:
            self.quiet = True
            with torch._C.DisableTorchFunction():
                output = forward(*args, **kwargs)
        finally:
            self.quiet = False
        with self.noting(), torch.no_grad():
            forward(*args, **kwargs)
        return output

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
        running = self.running[-1]
        running.maps += 1
        with self.noting(), torch.no_grad(), torch._C.DisableTorchFunction():
            weights = make().detach()  # one map alone may be too large
            if self.kept + weights.nbytes > self.most:
                self.other[self.name] = f"maps are missing, beyond most_bytes={self.most:,}"
            else:
                self.recorded.setdefault(self.name or "attention", []).append(weights)
                self.kept += weights.nbytes
        if running.maps > 1:
            self.other[self.name] = (f"{running.maps} maps in one call, of several layers or "
                                     "parts: none of them alone need be what is applied")

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

        kinds = {self.names[module]: type(module).__name__ for module in self.ran}
        for name, kind in reversed(kinds.items()):  # parts come before what they are parts of
            if "attention" in kind.lower() and not met(name):
                self.other[name] = "calls neither PyTorch's fused attention nor a softmax over keys"
        for stack in (module for module in self.names if isinstance(module, nn.ModuleList)):
            ran = {layer: met(self.names[layer]) for layer in stack if layer in self.ran}
            seen = {type(layer) for layer in ran if ran[layer]}
            self.other |= {self.names[layer]: "shows no attention, though others of its class do"
                           for layer in ran if type(layer) in seen and not ran[layer]}
        for module, name in self.names.items():
            if getattr(module, "_orig_mod", module._compiled_call_impl) is not None:
                self.other.setdefault(name, "ran uncompiled: it differs by rounding")
        if not (self.recorded or self.other):
            some = ", ".join([*dict.fromkeys(kinds.values())][:5]) or "nothing"
            self.other[""] = (f"nothing was recorded: {some} ran without PyTorch's fused "
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

    Yields name of the module that attends (``"attention"`` if that is the model) -> list of
    detached weights before dropout, one per call, (batch, heads, queries, keys). Windows,
    blocks or frames that attend for themselves stand in the batch, or in an axis after it, as in
    the model. It sees PyTorch's and our attention, softmaxes over the last of four axes, and of
    three in a module called attention. Heads are found by the number that the module names. At
    most ``most_bytes`` are kept.

    The model's outputs stay the same to the last bit, but for rounding where models are compiled or
    call flex_attention. What becomes of weights later isn't seen. Nothing that fails here reaches
    the run: warnings say what is missing.

    >>> attention = MultiHeadAttention(8, 2)
    >>> with record_attention(attention) as weights:
    ...     output = attention(*[torch.rand(1, 3, 8)] * 3)
    >>> weights["attention"][0].shape
    torch.Size([1, 2, 3, 3])
    """
    with eagerly(), Recorder(model, most_bytes) as recorder:
        yield recorder.recorded
    recorder.tell()
