"""Weights that move between ``MultiHeadAttention`` and PyTorch's ``nn.MultiheadAttention``."""
import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention


def from_torch(attention: nn.MultiheadAttention) -> MultiHeadAttention:
    """A ``MultiHeadAttention`` with the same weights and dropout, batch first.

    Raises ValueError for ``add_bias_kv`` and ``add_zero_attn``, which have no counterpart.
    """
    if attention.bias_k is not None or attention.add_zero_attn:
        raise ValueError("nn.MultiheadAttention with add_bias_kv or add_zero_attn "
                         "has no counterpart here")
    ours = MultiHeadAttention(
        attention.embed_dim, attention.num_heads, attention.dropout,
        attention.in_proj_bias is not None, key_size=attention.kdim, value_size=attention.vdim)
    ours.to(attention.out_proj.weight).load_state_dict(parts(attention))
    return ours.train(attention.training)


def to_torch(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """A batch-first ``nn.MultiheadAttention`` with the same weights and dropout.

    Raises ValueError where it can't compute the same, as with a position module.
    """
    hiddens, inner, query_size = ours.W_o.out_features, ours.W_o.in_features, ours.W_q.in_features
    num_heads, num_kv_heads, position = ours.num_heads, ours.num_kv_heads, ours.position
    if position is not None or num_kv_heads != num_heads or not inner == query_size == hiddens:
        raise ValueError("nn.MultiheadAttention has one size for queries, heads and outputs, and "
                         f"no position: got {query_size=}, {num_heads=}, {num_kv_heads=}, "
                         f"head_size={ours.head_size}, num_hiddens={hiddens}, {position=}")
    theirs = nn.MultiheadAttention(
        hiddens, num_heads, ours.dropout.p, ours.W_q.bias is not None, batch_first=True,
        kdim=ours.W_k.in_features, vdim=ours.W_v.in_features).to(ours.W_o.weight)
    with torch.no_grad():
        for name, part in parts(theirs).items():
            part.copy_(ours.get_parameter(name))
    return theirs.train(ours.training)


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
