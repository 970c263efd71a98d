"""The training loop of all models in the laboratory."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from hashlib import sha256

import torch
from torch import Tensor, nn

from ..progress import progress_bar

STEPS_THAT_IDENTIFY = 8  # two trainings with the same losses in so many steps are the same


def fit(
    model: nn.Module, loss_of_batch: Callable[[], Tensor], steps: int, rate: float, *,
    one_cycle: bool = False, progress: str = "",
) -> list[float]:
    """Train with Adam, gradients clipped to a norm of 1. Returns the loss of each step.

    loss_of_batch: runs the model on a new batch. one_cycle: the learning rate rises to ``rate`` and
    falls to 0. progress: the name of a bar that shows the loss.

    For a lecture: where the environment variable D2L_EXT_WEIGHTS names a folder, the end of each
    training is kept there. The same training then stops after eight steps, whose losses tell which
    one it is, and ends with the same weights, losses and state of the random generator.
    """
    optimizer = torch.optim.Adam(model.parameters(), rate)
    cycle = torch.optim.lr_scheduler.OneCycleLR
    schedule = cycle(optimizer, rate, steps, pct_start=0.15) if one_cycle else None
    bar = progress_bar(progress, steps) if progress else None
    losses, end = [], None
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
        if step == STEPS_THAT_IDENTIFY:
            end = path_of(losses, steps, rate, one_cycle)
        if step == STEPS_THAT_IDENTIFY and end and end.exists():
            losses = load_end(model, end)
            if bar is not None:
                bar.value, bar.description = steps, f"{progress}, stored weights"
            break
    else:
        if end:
            save_end(model, losses, end)
    model.eval()
    return losses


def path_of(begin: object, *settings) -> pathlib.Path | None:
    """Where the end of the training that begins so is kept, if it is kept at all."""
    folder = os.environ.get("D2L_EXT_WEIGHTS")
    name = sha256(repr((begin, settings)).encode()).hexdigest()[:32]
    return pathlib.Path(folder, f"{name}.pt") if folder else None


def save_end(model: nn.Module, losses: list[float], end: pathlib.Path) -> None:
    end.parent.mkdir(parents=True, exist_ok=True)
    random, part = torch.get_rng_state(), end.with_suffix(f".{os.getpid()}")
    torch.save({"weights": model.state_dict(), "losses": losses, "random": random}, part)
    part.replace(end)  # whole, or not at all


def load_end(model: nn.Module, end: pathlib.Path) -> list[float]:
    """Give the model its weights of the end, and the random generator its state; the losses."""
    kept = torch.load(end)
    model.load_state_dict(kept["weights"])
    torch.set_rng_state(kept["random"])
    return kept["losses"]
