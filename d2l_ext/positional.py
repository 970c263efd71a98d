"""Positional encodings: what tells attention where a token stands."""
from typing import Any, Self

import torch
from torch import Tensor, nn

from .checks import check_sequence, check_size


def sinusoids(steps: int, num_hiddens: int) -> Tensor:
    """The sinusoidal table p[i, 2j] = sin(i / 10000^(2j/d)), p[i, 2j+1] = cos(i / 10000^(2j/d)).

    From Vaswani et al. 2017, section 3.5. Returns (steps, num_hiddens) in float64: in single
    precision angles far out are wrong. An odd width ends with a sine.

    >>> sinusoids(2, 3)[1].round(decimals=4).tolist()
    [0.8415, 0.5403, 0.0022]
    """
    check_size(0, steps=steps)
    check_size(num_hiddens=num_hiddens)
    return sines_and_cosines(steps, periods(num_hiddens))[:, :num_hiddens]


def periods(num_hiddens: int) -> Tensor:
    """10000^(2j/d) for each pair of columns: how many steps an angle takes for one radian."""
    columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64, device="cpu")  # never on meta
    return 10_000 ** (columns / num_hiddens)


def sines_and_cosines(steps: int, periods: Tensor) -> Tensor:
    """sin(i / period), cos(i / period) for each period in turn: (steps, 2 * periods)."""
    angles = torch.arange(steps, dtype=torch.float64, device=periods.device)[:, None] / periods
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class PositionalEncoding(nn.Module):
    """Adds the sinusoidal table to a sequence, then drops out (Vaswani et al. 2017, section 3.5).

    Takes and returns (batch, steps, num_hiddens), at most ``max_len`` steps. ``P``, (1, max_len,
    num_hiddens), is a buffer that isn't saved.
    """

    P: Tensor

    def __init__(self, num_hiddens: int, dropout: float = 0.0, max_len: int = 1000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        table = sinusoids(max_len, num_hiddens).to(torch.empty(0))  # default dtype and device
        self.register_buffer("P", table[None], persistent=False)

    def _apply(self, *args: Any, **options: Any) -> Self:
        """As modules do; after ``to_empty`` the table would hold whatever was in memory."""
        super()._apply(*args, **options)
        if "P" in self._buffers:
            _, max_len, num_hiddens = self.P.shape
            self.P = sinusoids(max_len, num_hiddens)[None].to(self.P)
        return self

    def forward(self, X: Tensor) -> Tensor:
        _, max_len, num_hiddens = self.P.shape
        check_sequence(X, num_hiddens)
        if X.shape[1] > max_len:
            raise ValueError(f"X has {X.shape[1]} steps, more than {max_len=}: "
                             f"build {type(self).__name__} with a larger max_len")
        return self.dropout(X + self.P[:, :X.shape[1]].to(X.dtype))


class LearnedPositionalEncoding(PositionalEncoding):
    """Adds a learned vector per position, then drops out (Gehring et al. 2017, section 3.1).

    As ``PositionalEncoding``, but ``P`` is a parameter, which starts as noise.
    """

    def __init__(self, num_hiddens: int, dropout: float = 0.0, max_len: int = 1000):
        super().__init__(num_hiddens, dropout, max_len)
        table = torch.randn_like(self.P)
        del self.P  # the buffer of sinusoids
        self.P = nn.Parameter(table)
