"""Weights that move from ``MultiHeadAttention`` to PyTorch's ``nn.MultiheadAttention``."""
import torch
from torch import nn

from .attention import MultiHeadAttention
from .checks import check_linear


def to_torch(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """A batch-first ``nn.MultiheadAttention`` with the same weights and dropout, frozen as here.

    Raises ValueError where it can't be the same: with a position module, a bias in some projections
    alone, projections that aren't plain weights or of which some are frozen.
    """
    linears = {name: getattr(ours, name) for name in ("W_q", "W_k", "W_v", "W_o")}
    check_linear(**linears)
    biases = {name: W.bias for name, W in linears.items() if W.bias is not None}
    if len(biases) not in (0, len(linears)):
        raise ValueError(f"all of {', '.join(linears)} have a bias, or none: here it is "
                         f"{', '.join(biases)}")
    hiddens, inner, query_size = ours.W_o.out_features, ours.W_o.in_features, ours.W_q.in_features
    num_heads, num_kv_heads, position = ours.num_heads, ours.num_kv_heads, ours.position
    if position is not None or num_kv_heads != num_heads or not inner == query_size == hiddens:
        raise ValueError("nn.MultiheadAttention has one size for queries, heads and outputs, and "
                         f"no position: got {query_size=}, {num_heads=}, {num_kv_heads=}, "
                         f"head_size={ours.head_size}, num_hiddens={hiddens}, {position=}")
    trained = {parameter.requires_grad for parameter in ours.parameters()}
    if len(trained) > 1:
        raise ValueError("nn.MultiheadAttention holds W_q, W_k and W_v in one parameter: here some "
                         "are frozen")
    theirs = nn.MultiheadAttention(
        hiddens, num_heads, ours.dropout.p, bool(biases), batch_first=True,
        kdim=ours.W_k.in_features, vdim=ours.W_v.in_features).to(ours.W_o.weight)
    weights = {f"{name}_proj_weight": getattr(ours, f"W_{name}").weight for name in "qkv"}
    if theirs.in_proj_weight is not None:  # one width for queries, keys and values
        weights = {"in_proj_weight": torch.cat([*weights.values()])}
    if biases:
        *first, last = biases.values()
        weights |= {"in_proj_bias": torch.cat(first), "out_proj.bias": last}
    theirs.load_state_dict({**weights, "out_proj.weight": ours.W_o.weight})
    return theirs.requires_grad_(*trained).train(ours.training)
