"""The training loop of all models in the laboratory."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..progress import progress_bar


def fit(
    model: nn.Module, loss_of_batch: Callable[[], Tensor], steps: int, rate: float, *,
    one_cycle: bool = False, progress: str = "",
) -> list[float]:
    """Train with Adam, gradients clipped to a norm of 1. Returns the loss of each step.

    loss_of_batch: runs the model on a new batch. one_cycle: the learning rate rises to ``rate`` and
    falls to 0. progress: the name of a bar that shows the loss.
    """
    optimizer = torch.optim.Adam(model.parameters(), rate)
    cycle = torch.optim.lr_scheduler.OneCycleLR
    schedule = cycle(optimizer, rate, steps, pct_start=0.15) if one_cycle else None
    bar = progress_bar(progress, steps) if progress else None
    losses = []
    model.train()
    for step in range(1, steps + 1):
        loss = loss_of_batch()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
        if bar is not None and step % 10 == 0:
            bar.value, bar.description = step, f"{progress}, loss {losses[-1]:.3f}"
    model.eval()
    return losses
