"""The exercises of lesson 14, other frameworks. All are checked in PyTorch alone."""
import torch
from torch.nn import functional as F

from ..exercises.kinds import Build


def kernels(W_q, W_o, num_heads):
    entering = W_q.T.unflatten(1, (num_heads, -1))
    leaving = W_o.T.unflatten(0, (num_heads, -1))
    return entering, leaving


def upside_down_inputs():
    cases = ([2, 6, 0, 6], 6), ([4, 3, 4, 1, 2], 4), ([1, 2], 3)
    return [(torch.tensor(lens), keys) for lens, keys in cases]


def upside_down(valid_lens, num_keys):
    nothing_left = valid_lens == num_keys
    return nothing_left.nonzero().flatten().tolist()


def block_inputs():
    return [(scale * torch.randn(3, 4, 5), torch.randn(5, 12) / 2, torch.randn(12, 5) / 3)
            for scale in (2.0, 0.001)]


def block(X, W_1, W_2):
    """Flax: nnx.LayerNorm(X + gelu(X W_1) W_2), with its epsilon and JAX's GELU."""
    Y = X + F.gelu(X @ W_1, approximate="tanh") @ W_2
    return F.layer_norm(Y, Y.shape[-1:], eps=1e-6)


EXERCISES = [
    Build("to-kernel", kernels,
          lambda: [(torch.randn(12, 5), torch.randn(9, 12), 3),
                   (torch.randn(8, 10), torch.randn(6, 8), 2)]),
    Build("upside-down", upside_down, upside_down_inputs),
    Build("translate", block, block_inputs),
]
