"""Attention seen from outside: every head's weights in a model, which stays as it is.

A torch-function mode sees PyTorch's two functions that attend; hooks for all modules say in which
module they are called.
"""
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import MethodType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, handle_torch_function

from .attention import MultiHeadAttention

ARGUMENTS = "query", "key", "value", "attn_mask", "dropout_p", "is_causal"  # by position
FAST = nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder
SEEN = ("d2l_ext's MultiHeadAttention, nn.MultiheadAttention, and F.scaled_dot_product_attention "
        "on queries (batch, heads, steps, size). A model of transformers calls the last if it is "
        'made with attn_implementation="sdpa", one of timm if it is made after '
        "timm.layers.set_fused_attn(experimental=True)")


def eagerly() -> AbstractContextManager[object]:
    """While open, compiled models run uncompiled: compiled code would skip what watches it."""
    loaded = "torch._dynamo" in sys.modules
    return torch.compiler.set_stance("force_eager") if loaded else nullcontext()


# ---- where a model is ----

class AttentionSpy(TorchFunctionMode):
    """While open, attention inside ``model`` goes through ``on_attention`` or ``on_torch_mha``.

    They get the arguments of ``F.scaled_dot_product_attention`` and of
    ``F.multi_head_attention_forward`` by name, and return the output.
    """

    def __init__(self, model: nn.Module):
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        super().__init__()
        self.model = model
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[nn.Module] = []  # the innermost stands last
        self.ran: dict[nn.Module, None] = {}  # in this order
        self.seen: set[str] = set()  # the modules whose attention was seen
        self.unseen: dict[str, None] = {}  # those that attend in another way

    def __enter__(self) -> Self:
        self.handles = [register_module_forward_pre_hook(self.enters),
                        register_module_forward_hook(self.leaves, always_call=True)]
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()
        super().__exit__(*error)

    def is_here(self, module: nn.Module) -> bool:
        """Whether this is a module of the model, and uncompiled."""
        return not torch.compiler.is_compiling() and module in self.names

    def enters(self, module: nn.Module, args: Any) -> None:
        if self.is_here(module):
            self.running.append(module)
            self.ran[module] = None
            if isinstance(module, MultiHeadAttention):
                self.seen.add(self.name)

    def leaves(self, module: nn.Module, *_: Any) -> None:
        if self.running and self.running[-1] is module:
            self.running.pop()

    @property
    def name(self) -> str:
        """The module that is at work."""
        return self.names[self.running[-1]]

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.running and self.is_here(self.running[-1]):
            if func is F.scaled_dot_product_attention:
                given = dict(zip(ARGUMENTS, args)) | kwargs
                if given["query"].dim() == 4:
                    self.seen.add(self.name)
                    return self.on_attention(given)
                self.unseen[self.name] = None
            if func is F.multi_head_attention_forward:
                self.seen.add(self.name)
                return self.on_torch_mha(inspect.signature(func).bind(*args, **kwargs).arguments)
        return func(*args, **kwargs)

    def on_attention(self, given: dict[str, Any]) -> Tensor:
        return F.scaled_dot_product_attention(**given)

    def on_torch_mha(self, given: dict[str, Any]) -> Any:
        return F.multi_head_attention_forward(**given)


# ---- weights ----

def fused_weights(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The weights behind a call of ``F.scaled_dot_product_attention``, before dropout.

    In single precision at least; a query that sees no key has zeros.
    """
    q, k = (X.to(torch.promote_types(X.dtype, torch.float32)) for X in (query, key))
    if enable_gqa:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    if is_causal:
        attn_mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    with torch.autocast(q.device.type, enabled=False):
        scores = q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale) @ k.mT
    if attn_mask is not None:
        is_bool = attn_mask.dtype == torch.bool
        scores = scores + (torch.where(attn_mask, 0.0, -math.inf) if is_bool else attn_mask)
    return scores.softmax(-1).masked_fill((scores == -math.inf).all(-1, keepdim=True), 0.0)


def without_mode(recorder: "Recorder", forward: Callable[..., Any], *args: Any, **kwargs: Any,
                 ) -> Any:
    """By ``handle_torch_function``: calls ``forward`` while the recorder's mode is off.

    None where a mode that was opened after it, which ends fast paths, gets this call.
    """


class Recorder(AttentionSpy):
    """Keeps the weights of every attention, by name."""

    making: ContextVar["Recorder | None"] = ContextVar("making", default=None)  # others wait

    def __init__(self, model: nn.Module):
        super().__init__(model)
        self.recorded: dict[str, list[Tensor]] = {}
        self.paused = False

    def __enter__(self) -> Self:
        self.own: dict[Any, Any] = {
            module: vars(module).get("forward") for module in self.names
            if isinstance(module, (MultiHeadAttention, *FAST))}
        for module in self.own:  # as methods, so that a copy has its own
            module.forward = MethodType(self.rerun, module)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for module, forward in self.own.items():
            del module.forward
            if forward:
                module.forward = forward

    def is_here(self, module: nn.Module) -> bool:
        return (super().is_here(module) and not self.paused
                and self.making.get() in (None, self))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None,
    ) -> Any:
        if func is without_mode and args[0] is self:
            return args[1](*args[2:], **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def rerun(self, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        """Run a layer, and then again for its weights: the mode would turn off fast paths."""
        forward = self.own.get(module) or MethodType(type(module).forward, module)
        ours = isinstance(module, MultiHeadAttention)
        if not self.is_here(module) or not ours and any(part.training for part in module.modules()):
            return forward(*args, **kwargs)  # in training no path is fast
        try:
            self.paused = True
            output = handle_torch_function(without_mode, (), self, forward, *args, **kwargs)
            if output is None:
                output = forward(*args, **kwargs)
        finally:
            self.paused = False
        with self.apart():
            if ours:
                with torch.random.fork_rng(enabled=module.training):
                    self.keep(forward(*args, **kwargs | {"need_weights": True})[1])
            else:
                forward(*args, **kwargs)
        return output

    @contextmanager
    def apart(self) -> Iterator[None]:
        """While open, other recorders don't look at what runs."""
        token = self.making.set(self)
        try:
            with torch.no_grad():
                yield
        finally:
            self.making.reset(token)

    def keep(self, weights: Tensor) -> None:
        self.recorded.setdefault(self.name or "attention", []).append(weights)

    def on_attention(self, given: dict[str, Any]) -> Tensor:
        with self.apart():
            self.keep(fused_weights(**given))
        return super().on_attention(given)

    def on_torch_mha(self, given: dict[str, Any]) -> Any:
        asked = {"need_weights": True, "average_attn_weights": False, "training": False}
        with self.apart():
            weights: Any = F.multi_head_attention_forward(**given | asked)[1]
            self.keep(weights if given["query"].dim() == 3 else weights[None])  # without a batch
        return super().on_torch_mha(given)

    def warn_of_missing(self) -> None:
        """Refuse if nothing was recorded; warn of what attends, or is called attention, unseen."""
        for module in reversed(self.ran):  # parts come before what they are parts of
            name, known = self.names[module], (*self.seen, *self.unseen)
            inside = f"{name}." if name else ""
            if "attention" in type(module).__name__.lower() and not any(
                    f"{each}.".startswith(inside) for each in known):
                self.unseen[name] = None
        names = [repr(name or "model") for name in self.unseen]
        where = ", ".join(names[:3]) + ", ..." * (len(names) > 3) or type(self.model).__name__
        unseen = f"record_attention saw no attention in {where}: it sees {SEEN}"
        if not self.recorded:
            raise ValueError(unseen)
        if names:
            warnings.warn(unseen, stacklevel=4)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """While open, records the weights of attention inside ``model``, asked for or not.

    Yields name of the module that attends (``"attention"`` if that is the model) -> list of
    detached weights before dropout, one per call, (batch, heads, queries, keys). They are exact,
    and come from our ``MultiHeadAttention``, ``nn.MultiheadAttention`` and calls of
    ``F.scaled_dot_product_attention``. Windows that a model folds into its batch stay there, as do
    heads that it counts among the queries. Beam search changes which sequence a row of the batch
    holds from call to call.

    The model's outputs stay the same to the last bit, but for rounding where models are compiled,
    call flex_attention, or have a part that is recorded at the same time.
    Warns of modules that attend in another way and are called attention; raises ValueError when
    nothing was recorded.

    >>> attention = MultiHeadAttention(8, 2)
    >>> with record_attention(attention) as weights:
    ...     output = attention(*[torch.rand(1, 3, 8)] * 3)
    >>> weights["attention"][0].shape
    torch.Size([1, 2, 3, 3])
    """
    with eagerly(), Recorder(model) as recorder:
        yield recorder.recorded
    recorder.warn_of_missing()
