"""D2L 1.0's names for sections 11.5 and 11.6:
``from attention_lessons.compat import d2l_1_0 as d2l``.

The same seed gives D2L's numbers, in training too, and D2L's ``state_dict`` can be loaded. Where
D2L errs, this behaves as ``d2l_ext`` does: scores are not overwritten, a query with nothing to
attend to gets zeros, boolean or fractional lengths and lengths beyond the keys raise errors.
``attention_weights`` is kept detached, so that a trained model can be copied.
"""
from torch import nn

from . import _common
from ._common import *  # noqa: F403 -- the names that both versions share

__all__ = [*_common.__all__, "AdditiveAttention", "MultiHeadAttention"]
__getattr__ = _common.load_pyplot


class MultiHeadAttention(_common.FoldedHeads):
    """Multi-head attention whose input widths are those of its first inputs (``nn.LazyLinear``).

    As in D2L, other keywords, such as 0.17's ``key_size``, are accepted and not used.

    >>> import torch
    >>> attention = MultiHeadAttention(num_hiddens=8, num_heads=2, dropout=0.5)
    >>> queries, keys, values = torch.rand(1, 3, 4), torch.rand(1, 5, 6), torch.rand(1, 5, 7)
    >>> attention(queries, keys, values, torch.tensor([2])).shape
    torch.Size([1, 3, 8])
    >>> attention.W_k.weight.shape
    torch.Size([8, 6])
    """

    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False, **kwargs,
    ):
        super().__init__(num_hiddens, num_heads, dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4))


class AdditiveAttention(_common.Additive):
    """Additive attention whose input widths are those of its first inputs (``nn.LazyLinear``)."""

    def __init__(self, num_hiddens: int, dropout: float, **kwargs):
        super().__init__(dropout, **kwargs)
        self.W_k = nn.LazyLinear(num_hiddens, bias=False)
        self.W_q = nn.LazyLinear(num_hiddens, bias=False)
        self.w_v = nn.LazyLinear(1, bias=False)
