"""Four measures of what heads are worth; all of them run a model in evaluation mode."""
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..settings import default_settings
from .gates import Head, all_heads, closed, gates

Score = Callable[[], float]  # runs the model; higher is better


@contextmanager
def measuring(model: nn.Module) -> Iterator[list[Head]]:
    """While open, ``model`` is in evaluation mode. Yields its heads."""
    modes = [(module, module.training) for module in model.modules()]
    heads = all_heads(model)
    if not heads:
        raise ValueError(f"{type(model).__name__} has no head that can be closed: none of its "
                         "layers is a MultiHeadAttention or an nn.MultiheadAttention")
    model.eval()
    try:
        yield heads
    finally:
        for module, training in modes:
            module.training = training


def score_without(model: nn.Module, score: Score, heads: list[Head]) -> float:
    """The score with these heads closed."""
    with closed(model, heads):
        return score()


def ablate_one(model: nn.Module, score: Score) -> Tensor:
    """How much the score falls when a head alone is closed (Michel et al. 2019, section 3.2).

    Returns one number per head, (heads,); below 0 where the head did harm.
    """
    with measuring(model) as heads:
        full = score()
        return torch.tensor([full - score_without(model, score, [head]) for head in heads])


def keep_one(model: nn.Module, score: Score) -> Tensor:
    """The score when a head is the only open one of its layer, one number per head, (heads,).

    From Michel et al. 2019, section 3.3.
    """
    def others(head: Head) -> list[Head]:
        return [other for other in heads if other[0] == head[0] and other != head]

    with measuring(model) as heads:
        return torch.tensor([score_without(model, score, others(head)) for head in heads])


@default_settings()
def gradient(model: nn.Module, losses: Callable[[], Tensor]) -> Tensor:
    """How much the loss would move with each gate: I_h = E_x |∂L(x) / ∂ξ_h|.

    Each layer is divided by its ℓ2 norm (Michel et al. 2019, section 4.1), unless that is 0.
    losses: runs the model and returns the loss of each example, (batch,). Returns one number per
    head, (heads,), from one backward pass: every example has gates of its own.
    """
    with measuring(model) as heads:
        first = torch.no_grad()(losses)()
        if first.dim() != 1:
            raise ValueError("losses() must return one loss per example, (batch,), "
                             f"got shape {tuple(first.shape)}")
        opened = {name: torch.ones(len(first), count, device=first.device, requires_grad=True)
                  for name, count in Counter(name for name, _ in heads).items()}
        with gates(model, opened):
            slopes = torch.autograd.grad(losses().sum(), list(opened.values()))
    return torch.cat([F.normalize(slope.abs().mean(0), dim=0) for slope in slopes]).cpu()


def greedy(model: nn.Module, score: Score) -> tuple[list[Head], list[float]]:
    """Close heads one after the other, each time the one without which the score stays highest.

    Returns the heads in the order of closing, and the scores: with all open, then after each.
    """
    order: list[Head] = []
    with measuring(model) as remaining:
        scores = [score()]
        while remaining:
            results = {head: score_without(model, score, [*order, head]) for head in remaining}
            best = max(remaining, key=results.get)
            remaining.remove(best)
            order.append(best)
            scores.append(results[best])
    return order, scores


def rank_correlation(first: Sequence[float] | Tensor, second: Sequence[float] | Tensor) -> float:
    """Spearman's coefficient, the correlation of the ranks; equal values share a rank.

    1 means the same order, -1 the reverse, and NaN that all values on one side are equal.
    """
    both = [torch.as_tensor(values, dtype=torch.float64) for values in (first, second)]
    a, b = ((X[:, None] - X).sign().sum(1) for X in both)  # twice the rank, from the middle
    return round((a @ b / (a.norm() * b.norm())).item(), 12)
