"""The exercises of lesson 09, what heads learn."""
import torch

from ..exercises.kinds import Build


def gates_inputs():
    gates = torch.rand(2, 3)
    gates[0, 1] = 0  # a closed head among open ones
    return [(torch.randn(2, 5, 12), gates), (torch.randn(3, 4, 6), torch.rand(3, 2))]


def gated(merged, gates):
    width = merged.shape[-1] // gates.shape[-1]
    return merged * gates.repeat_interleave(width, -1)[:, None]


def importance(slopes):
    mean = slopes.abs().mean(0)
    return mean / mean.norm(dim=-1, keepdim=True)


def operations(n, d, num_heads, kept):
    inner = kept * d // num_heads
    inwards, back = 3 * 2 * n * d * inner, 2 * n * inner * d
    products = 2 * 2 * n * n * inner
    return inwards + back + products


def two_back(text):
    places = torch.arange(len(text))
    return places == places[:, None] - 2


EXERCISES = [
    Build("head-gates", gated, gates_inputs),
    Build("gradient-importance", importance,
          lambda: [(torch.randn(7, 2, 3),), (torch.randn(4, 3, 5),)]),
    Build("pruned-cost", operations,
          lambda: [(10, 60, 5, 3), (7, 48, 8, 2), (5, 6, 3, 3), (9, 30, 6, 4)]),
    Build("two-back", two_back,
          lambda: [(torch.randint(4, (7,)),), (torch.randint(9, (12,)),), (torch.tensor([5]),)]),
]
