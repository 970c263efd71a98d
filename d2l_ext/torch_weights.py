"""Weights that move between ``MultiHeadAttention`` and PyTorch's ``nn.MultiheadAttention``."""
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from .attention import MultiHeadAttention
from .checks import check_biases, check_linear

# The parameters of nn.MultiheadAttention, and the letters of our projections that each holds.
HELD = {"in_proj_weight": "qkv", "q_proj_weight": "q", "k_proj_weight": "k", "v_proj_weight": "v",
        "in_proj_bias": "qkv", "out_proj.weight": "o", "out_proj.bias": "o"}


def from_torch(attention: nn.MultiheadAttention) -> MultiHeadAttention:
    """A ``MultiHeadAttention`` with the same weights and dropout, batch first; frozen stays frozen.

    Raises ValueError for ``add_bias_kv`` and ``add_zero_attn``, which have no counterpart, for a
    bias before the heads alone or after them alone, and for what isn't plain weights.
    """
    if attention.bias_k is not None or attention.add_zero_attn:
        raise ValueError("nn.MultiheadAttention with add_bias_kv or add_zero_attn "
                         "has no counterpart here")
    check_linear(out_proj=attention.out_proj)
    bias = attention.in_proj_bias is not None
    if bias != (attention.out_proj.bias is not None):
        raise ValueError("either in_proj and out_proj have a bias or neither has: in_proj has "
                         f"{'one' if bias else 'none'}")
    own = {name for name, _ in attention.named_parameters(recurse=False)}
    if is_parametrized(attention) or own - HELD.keys():
        raise ValueError("nn.MultiheadAttention must hold plain weights, not parametrized or "
                         f"pruned ones: it has the parameters {', '.join(sorted(own))}")
    ours = MultiHeadAttention(
        attention.embed_dim, attention.num_heads, attention.dropout, bias,
        key_size=attention.kdim, value_size=attention.vdim)
    ours.to(attention.out_proj.weight).load_state_dict(parts(attention))
    for name, part in parts(attention).items():
        ours.get_parameter(name).requires_grad_(part.requires_grad)
    return ours.train(attention.training)


def to_torch(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """A batch-first ``nn.MultiheadAttention`` with the same weights and dropout, frozen as here.

    Raises ValueError where it can't compute the same: with a position module, a bias in some
    projections alone, projections that aren't plain weights or that are frozen in part.
    """
    linears = {name: getattr(ours, name) for name in ("W_q", "W_k", "W_v", "W_o")}
    check_linear(**linears)
    bias = check_biases(**linears)
    hiddens, inner, query_size = ours.W_o.out_features, ours.W_o.in_features, ours.W_q.in_features
    num_heads, num_kv_heads, position = ours.num_heads, ours.num_kv_heads, ours.position
    if position is not None or num_kv_heads != num_heads or not inner == query_size == hiddens:
        raise ValueError("nn.MultiheadAttention has one size for queries, heads and outputs, and "
                         f"no position: got {query_size=}, {num_heads=}, {num_kv_heads=}, "
                         f"head_size={ours.head_size}, num_hiddens={hiddens}, {position=}")
    theirs = nn.MultiheadAttention(
        hiddens, num_heads, ours.dropout.p, bias, batch_first=True,
        kdim=ours.W_k.in_features, vdim=ours.W_v.in_features).to(ours.W_o.weight)
    with torch.no_grad():
        for name, part in parts(theirs).items():
            part.copy_(ours.get_parameter(name))
    for name, whole in theirs.named_parameters():
        kind = "bias" if name.endswith("bias") else "weight"
        trained = {ours.get_parameter(f"W_{letter}.{kind}").requires_grad for letter in HELD[name]}
        if len(trained) > 1:
            raise ValueError(f"{name} holds those of W_q, W_k and W_v, of which some are frozen")
        whole.requires_grad_(*trained)
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
