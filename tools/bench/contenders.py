"""Multi-head attention in several hands, with the same weights: the fused call between four linear layers, ours, PyTorch's and D2L's."""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2l_ext.attention as core
from d2l_ext import MultiHeadAttention, causal, padding, to_torch_mha
from d2l_ext.compat import real_d2l

SIZES = ((2, 4, 100, 5), (8, 128, 256, 8), (2, 1024, 512, 8), (1, 4096, 512, 8))  # batch, steps, hiddens, heads
MASKS = ("none", "lengths", "causal")
PASSES = ("forward", "forward and backward")
BARE, OURS, OUR_WEIGHTS = "bare fused call", "MultiHeadAttention", "MultiHeadAttention, weights"
UNGUARDED, TORCH, TORCH_WEIGHTS, D2L = "MultiHeadAttention, no guard", "nn.MultiheadAttention", "nn.MultiheadAttention, weights", "d2l 1.0.3"
NAMES = (BARE, OURS, UNGUARDED, OUR_WEIGHTS, TORCH, TORCH_WEIGHTS, D2L)


class Case(NamedTuple):
    """One comparison: a size, a mask, and whether gradients are asked for too."""

    size: tuple[int, int, int, int]
    mask: str
    kind: str

    def lengths(self) -> Tensor | None:
        """From half of the steps to all of them."""
        batch, n = self.size[:2]
        return torch.linspace(n, n // 2, batch + 1)[1:].long() if self.mask == "lengths" else None


class Bare(nn.Module):
    """Four linear layers and PyTorch's fused call: no check, no guard, nothing that could be left out."""

    def __init__(self, attention: MultiHeadAttention):
        super().__init__()
        self.layers, self.heads = nn.ModuleList([attention.W_q, attention.W_k, attention.W_v, attention.W_o]), attention.num_heads

    def forward(self, X: Tensor, lengths: Tensor | None, is_causal: bool) -> Tensor:
        q, k, v = (layer(X).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in self.layers[:3])
        mask = None if lengths is None else (torch.arange(X.shape[1]) < lengths[:, None])[:, None, None]
        return self.layers[3](F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal).transpose(1, 2).flatten(2))


# forward as it is, but for what keeps a NaN in padding from spreading
unguarded = FunctionType(MultiHeadAttention.forward.__code__, vars(core) | {"hide_unseen": lambda keep, *inputs: inputs}, "unguarded", None, None)
unguarded.__kwdefaults__ = MultiHeadAttention.forward.__kwdefaults__


def contender(name: str, case: Case) -> Callable[[Tensor], Tensor] | None:
    """The output of self-attention on X as ``name`` makes it; the same weights whoever it is. None where d2l can't be had."""
    batch, n, width, heads = case.size
    torch.manual_seed(0)
    ours = MultiHeadAttention(width, heads)
    lengths, is_causal = case.lengths(), case.mask == "causal"
    if name == BARE:
        bare = Bare(ours)
        return lambda X: bare(X, lengths, is_causal)
    if name == OURS:
        return lambda X: ours(X, X, X, lengths, causal=is_causal)
    if name == UNGUARDED:
        return lambda X: unguarded(ours, X, X, X, lengths, causal=is_causal)
    if name == OUR_WEIGHTS:
        return lambda X: ours(X, X, X, lengths, causal=is_causal, need_weights=True)[0]
    if name in (TORCH, TORCH_WEIGHTS):
        theirs, weights = ours.to_torch(), name == TORCH_WEIGHTS
        hidden = to_torch_mha(causal().tensor(n, n)) if is_causal else None
        ignored = ~padding(lengths).tensor(1, n)[:, 0] if lengths is not None else None
        return lambda X: theirs(X, X, X, key_padding_mask=ignored, attn_mask=hidden, is_causal=is_causal and not weights, need_weights=weights)[0]
    d2l = real_d2l()
    if d2l is None:
        return None
    folded = d2l.MultiHeadAttention(width, heads, 0.0)
    folded(torch.zeros(1, 1, width), torch.zeros(1, 1, width), torch.zeros(1, 1, width), None)  # settles its lazy layers
    folded.load_state_dict(ours.state_dict())
    valid_lens = torch.arange(1, n + 1).repeat(batch, 1) if is_causal else lengths  # its only way to hide the future
    return lambda X: folded(X, X, X, valid_lens)


def one_pass(attend: Callable[[Tensor], Tensor], X: Tensor, kind: str) -> Tensor:
    """The output on X, and with ``kind`` "forward and backward" all gradients as well."""
    with torch.set_grad_enabled(kind != "forward"):
        output = attend(X)
    if kind != "forward":
        output.backward(torch.ones_like(output))
    return output.detach()


def example(case: Case) -> Tensor:
    batch, n, width, _ = case.size
    return torch.randn(batch, n, width, generator=torch.Generator().manual_seed(1)).requires_grad_(case.kind != "forward")


def agree(outputs: list[Tensor], case: Case) -> bool:
    """Whether all computed the same: who answers something else is no rival. Positions beyond a length are not compared: D2L computes them as we do."""
    return all(torch.allclose(output, outputs[0], atol=1e-4, rtol=1e-3) for output in outputs)
