"""Convolution, recurrence and self-attention: all take and return (batch, steps, num_hiddens)."""
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .checks import check_sequence, check_size


class Convolution(nn.Module):
    """Each output is a learned mixture of ``kernel_size`` inputs, ``dilation`` apart.

    y_i = Σ_j W_j x_{i + j·dilation} (Zhang et al. 2023, section 16.3.1). The middle of the kernel
    is at i, so ``kernel_size`` is odd; with ``causal=True`` its last place is. Outside are zeros.
    """

    def __init__(
        self, num_hiddens: int, kernel_size: int = 3, *, dilation: int = 1, causal: bool = False,
    ):
        super().__init__()
        check_size(num_hiddens=num_hiddens, kernel_size=kernel_size, dilation=dilation)
        if not causal and kernel_size % 2 == 0:
            raise ValueError(f"{kernel_size=} has no middle: a centred kernel is odd")
        outside = (kernel_size - 1) * dilation
        self.padding = (outside, 0) if causal else (outside // 2, outside // 2)
        self.conv = nn.Conv1d(num_hiddens, num_hiddens, kernel_size, dilation=dilation, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        check_sequence(X, self.conv.in_channels)
        return self.conv(F.pad(X.mT, self.padding)).mT


class Recurrence(nn.Module):
    """Each output is made of its input and the output before it.

    y_i = tanh(W x_i + U y_{i-1}), y_0 = 0 (Zhang et al. 2023, section 9.4.2).
    """

    cell: Callable[..., nn.RNNBase] = nn.RNN

    def __init__(self, num_hiddens: int):
        super().__init__()
        self.rnn = self.cell(num_hiddens, num_hiddens, batch_first=True, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        check_sequence(X, self.rnn.input_size)
        return self.rnn(X)[0]


class GRU(Recurrence):
    """A ``Recurrence`` with two gates.

    From Cho et al. 2014, section 2.3 (Zhang et al. 2023, section 10.2).
    r = σ(W_r x_i + U_r y_{i-1}), z = σ(W_z x_i + U_z y_{i-1}),
    y_i = z ⊙ y_{i-1} + (1 - z) ⊙ tanh(W x_i + r ⊙ U y_{i-1}), y_0 = 0.
    The reset gate r acts after its product, as in PyTorch, not before it, as in the two sources.
    """

    cell = nn.GRU


class LSTM(Recurrence):
    """A ``Recurrence`` with a cell c beside the state, changed by addition, and three gates.

    From Hochreiter & Schmidhuber 1997 and Gers et al. 2000 (Zhang et al. 2023, section 10.1).
    i, f, o = σ(W x_i + U y_{i-1}), a pair of matrices each, and g = tanh(W_g x_i + U_g y_{i-1}):
    c_i = f ⊙ c_{i-1} + i ⊙ g, y_i = o ⊙ tanh(c_i), y_0 = c_0 = 0.
    """

    cell = nn.LSTM


class SelfAttention(nn.Module):
    """Each output is made of weighted means over all positions; causal: up to its own.

    From Vaswani et al. 2017, section 3.2.3.
    """

    def __init__(self, num_hiddens: int, num_heads: int = 1, *, causal: bool = False):
        super().__init__()
        self.attention, self.causal = MultiHeadAttention(num_hiddens, num_heads), causal

    def forward(self, X: Tensor) -> Tensor:
        return self.attention(X, X, X, causal=self.causal)
