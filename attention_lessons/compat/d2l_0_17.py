"""D2L 0.17's names for attention and positions:
``from attention_lessons.compat import d2l_0_17 as d2l``.

Differs from ``d2l_1_0`` in the constructor, which takes the input widths.
"""
from torch import nn

from . import d2l_1_0


class MultiHeadAttention(d2l_1_0.MultiHeadAttention):
    """Multi-head attention; first come the widths of keys, queries and values, in this order.

    >>> import torch
    >>> attention = MultiHeadAttention(6, 4, 7, num_hiddens=8, num_heads=2, dropout=0.5)
    >>> queries, keys, values = torch.rand(1, 3, 4), torch.rand(1, 5, 6), torch.rand(1, 5, 7)
    >>> attention(queries, keys, values, torch.tensor([2])).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self, key_size: int, query_size: int, value_size: int, num_hiddens: int, num_heads: int,
        dropout: float, bias: bool = False, **kwargs,
    ):
        super().__init__(num_hiddens, num_heads, dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(size, num_hiddens, bias=bias)
            for size in (query_size, key_size, value_size, num_hiddens))


def __getattr__(name: str):
    """All other names are those of 1.0."""
    return getattr(d2l_1_0, name)
