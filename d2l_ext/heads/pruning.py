"""Layers and models without some of their heads."""
import copy
import operator
from collections.abc import Iterable

import torch
from torch import nn

from ..attention import MultiHeadAttention
from ..checks import check_linear
from .gates import Head, by_layer, check_numbers


def prune_heads(attention: MultiHeadAttention, heads: Iterable[int]) -> MultiHeadAttention:
    """A copy of a layer without these heads.

    Their rows of W_q, W_k, W_v and their columns of W_o are gone; outputs are those of
    ``attention`` with the heads closed, but for rounding. Its ``state_dict`` loads into
    ``MultiHeadAttention(num_hiddens, heads left, head_size=...)``. Raises ValueError for a position
    module, for heads that share keys and values, and for projections that aren't plain weights.
    """
    check_linear(W_q=attention.W_q, W_k=attention.W_k, W_v=attention.W_v, W_o=attention.W_o)
    position, num_heads, num_kv_heads = (
        attention.position, attention.num_heads, attention.num_kv_heads)
    if position is not None or num_kv_heads != num_heads:
        raise ValueError("can't prune heads with a position module, or that share keys and "
                         f"values, got {position=}, {num_heads=}, {num_kv_heads=}")
    gone, size = {operator.index(head) for head in heads}, attention.head_size
    check_numbers(gone, num_heads)
    kept = torch.tensor([head for head in range(num_heads) if head not in gone])
    if not len(kept):
        raise ValueError(f"heads={sorted(gone)} are all there are: a layer needs at least one")
    small = copy.deepcopy(attention)
    small.num_heads = small.num_kv_heads = len(kept)
    rows = (kept[:, None] * size + torch.arange(size)).flatten()
    for linear in (small.W_q, small.W_k, small.W_v):
        linear.out_features = len(rows)
        for name, parameter in list(linear.named_parameters()):
            setattr(linear, name, nn.Parameter(parameter[rows], parameter.requires_grad))
    small.W_o.in_features, W_o = len(rows), small.W_o.weight
    small.W_o.weight = nn.Parameter(W_o[:, rows], W_o.requires_grad)
    return small


def prune(model: nn.Module, heads: Iterable[Head]) -> nn.Module:
    """A copy of a model without these heads, each layer made smaller by ``prune_heads``."""
    small = {}
    for name, numbers in by_layer(heads).items():
        layer = model.get_submodule(name)
        if not isinstance(layer, MultiHeadAttention):
            raise TypeError(f"prune makes MultiHeadAttention smaller, and {name!r} is a "
                            f"{type(layer).__name__}: closed(model, heads) changes the output "
                            "alike, and d2l_ext.from_torch makes one of PyTorch's")
        small[id(layer)] = prune_heads(layer, numbers)
    return copy.deepcopy(model, small)  # where the copy meets a layer again, it takes the small one
