"""What the exercises of several lessons share: scores that are hard to handle, and heads."""
import torch
from torch import nn

from d2l_ext.attention import merge_heads, split_heads
from .classes import refuses

LENGTHS = torch.tensor([0, 3, 5])
ALL = torch.tensor(True)  # a mask that hides nothing


def eighths():
    """Two queries and four keys, 16 wide: whatever the order of the operations, their products and
    quarters of these are exact in float32, or right answers would differ where scores are low."""
    return [torch.randn(count, 16).mul(8).round() / 8 for count in (2, 4)]


def low_scores(queries, keys):
    """Of these, queries and keys whose scores are all near one another, about -2800."""
    return 26.5 + queries, -26.5 + keys / 4


class Heads(nn.Module):
    def __init__(self, num_hiddens, num_heads):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(self, queries, keys, values):
        return self.attend(queries, keys, values)

    def attend(self, queries, keys, values, keep=ALL):
        q, k, v = self.W_q(queries), self.W_k(keys), self.W_v(values)
        q, k, v = (split_heads(X, self.num_heads) for X in (q, k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~keep, -1e9).softmax(-1) * keep
        return self.W_o(merge_heads(weights @ v))


REFUSES = refuses("The error for 10 hiddens and 4 heads, which don't divide them", 10, 4)
