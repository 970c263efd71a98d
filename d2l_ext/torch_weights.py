"""Weights that move between ``MultiHeadAttention`` and PyTorch's ``nn.MultiheadAttention``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from .attention import MultiHeadAttention


def sizes_from_torch(attention: nn.MultiheadAttention) -> dict[str, Any]:
    """Arguments of ``MultiHeadAttention`` for the sizes of PyTorch's class."""
    if attention.bias_k is not None or attention.add_zero_attn:
        raise ValueError("nn.MultiheadAttention with add_bias_kv or add_zero_attn "
                         "has no counterpart here")
    return {"num_hiddens": attention.embed_dim, "num_heads": attention.num_heads,
            "dropout": attention.dropout, "bias": attention.in_proj_bias is not None,
            "key_size": attention.kdim, "value_size": attention.vdim}


def sizes_to_torch(ours: MultiHeadAttention) -> dict[str, Any]:
    """Arguments of ``nn.MultiheadAttention`` for the sizes of ours, if it can have them."""
    hiddens, inner, query_size = ours.W_o.out_features, ours.W_o.in_features, ours.W_q.in_features
    num_heads, num_kv_heads, position = ours.num_heads, ours.num_kv_heads, ours.position
    if position is not None or num_kv_heads != num_heads or not inner == query_size == hiddens:
        raise ValueError("nn.MultiheadAttention has one size for queries, heads and outputs, and "
                         f"no position: got {query_size=}, {num_heads=}, {num_kv_heads=}, "
                         f"head_size={ours.head_size}, num_hiddens={hiddens}, {position=}")
    return {"embed_dim": hiddens, "num_heads": num_heads, "batch_first": True,
            "dropout": ours.dropout.p, "bias": ours.W_q.bias is not None,
            "kdim": ours.W_k.in_features, "vdim": ours.W_v.in_features}


def parts(attention: nn.MultiheadAttention) -> dict[str, Tensor]:
    """Views of PyTorch's weights, by the names that they have in ``MultiHeadAttention``."""
    packed, last = attention.in_proj_weight, attention.out_proj
    weights = packed.chunk(3) if packed is not None else (
        attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight)
    found = {f"W_{name}.weight": weight for name, weight in zip("qkvo", (*weights, last.weight))}
    if attention.in_proj_bias is not None:
        biases = *attention.in_proj_bias.chunk(3), last.bias
        found |= {f"W_{name}.bias": part for name, part in zip("qkvo", biases)}
    return found
