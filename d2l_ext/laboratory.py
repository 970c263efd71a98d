"""A small laboratory: tasks that can be made in any number, a model that reads them, one way to train, one way to score. All on the CPU.

A task is a function ``task(generator, batch, length)`` that returns inputs (batch, length) of whole numbers, targets (batch, length) of whole
numbers, and a mask (batch, length) of booleans: True where an answer is scored.
"""
from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .positional import PositionalEncoding
from .sequence import Convolution, Recurrence, SelfAttention

Task = Callable[[torch.Generator, int, int], tuple[Tensor, Tensor, Tensor]]


def parity(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Running parity: input bits, target whether the number of ones so far is odd. Every position is scored.

    >>> inputs, targets, scored = parity(torch.Generator().manual_seed(0), 1, 6)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1, 1, 0, 1, 1]], [[0, 1, 0, 0, 1, 0]])
    """
    bits = torch.randint(2, (batch, length), generator=generator)
    return bits, bits.cumsum(1) % 2, torch.ones_like(bits, dtype=torch.bool)


def find_marked(distance: int | None = None, symbols: int = 8) -> Task:
    """A task: one token among many is marked; name it, at the last position.

    Inputs are symbols 0..symbols-1, the marked one raised by ``symbols``. It stands ``distance`` places before the last, or anywhere where
    None is given. Only the last position is scored.
    """
    def task(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
        inputs = torch.randint(symbols, (batch, length), generator=generator)
        back = torch.randint(length, (batch, 1), generator=generator) if distance is None else torch.full((batch, 1), distance)
        place = length - 1 - back
        targets = inputs.gather(1, place).expand(batch, length)
        scored = torch.zeros(batch, length, dtype=torch.bool)
        scored[:, -1] = True
        return inputs.scatter_add(1, place, torch.full_like(place, symbols)), targets, scored
    return task


class Reader(nn.Module):
    """Numbers in, an answer at each position: embedding, layers of (batch, steps, num_hiddens), each added to what it was given, a linear map.

    layers: applied to normalised inputs (layer norm), one after the other, with a ReLU behind each. positions: add the sinusoidal table first.
    Takes (batch, steps), returns (batch, steps, answers).
    """

    def __init__(self, layers: Sequence[nn.Module], num_hiddens: int, symbols: int, answers: int, *, positions: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(symbols, num_hiddens)
        self.positions = PositionalEncoding(num_hiddens) if positions else nn.Identity()
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens) for _ in layers)
        self.head = nn.Linear(num_hiddens, answers)

    def forward(self, inputs: Tensor) -> Tensor:
        X = self.positions(self.embedding(inputs))
        for layer, norm in zip(self.layers, self.norms):
            X = X + F.relu(layer(norm(X)))
        return self.head(X)


READERS = ("self-attention", "dilated convolution", "recurrence", "convolution")


def reader(kind: str, symbols: int, answers: int, *, causal: bool = False, seed: int = 0) -> Reader:
    """A ``Reader`` of one of the ``READERS``, sized so that the layers of each kind hold 16,400 numbers, give or take 2 %.

    One layer of four heads with positions; five layers with kernel 3 and dilation 1, 2, 4, 8, 16; one recurrent layer; four layers with kernel 3.
    ``causal`` lets every kind see the past alone, as a recurrence does anyway. The weights depend on ``seed`` and on nothing else.
    """
    makers = {"self-attention": (64, lambda d: [SelfAttention(d, 4, causal=causal)]),
              "dilated convolution": (33, lambda d: [Convolution(d, 3, dilation=2**i, causal=causal) for i in range(5)]),
              "recurrence": (90, lambda d: [Recurrence(d)]),
              "convolution": (37, lambda d: [Convolution(d, 3, causal=causal) for _ in range(4)])}
    width, layers = makers[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Reader(layers(width), width, symbols, answers, positions=kind == "self-attention")


def train(model: nn.Module, task: Task, steps: int, *, lengths: tuple[int, int], batch: int = 64, rate: float = 3e-3, seed: int = 0,
          progress: str = "") -> list[float]:
    """Train on fresh examples, ``steps`` times ``batch`` of them, of a length drawn from ``lengths`` (both ends included); Adam, gradients clipped to 1.

    Returns the loss of each step. The same seed gives the same examples; that, and a seed set before the model was built, makes a run repeatable.
    progress: shows a bar of this name.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    bar = show_bar(progress, steps) if progress else None
    losses = []
    model.train()
    for step in range(1, steps + 1):
        length = int(torch.randint(lengths[0], lengths[1] + 1, (), generator=generator))
        inputs, targets, scored = task(generator, batch, length)
        loss = F.cross_entropy(model(inputs)[scored], targets[scored])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if bar is not None and step % 10 == 0:
            bar.value = step
    model.eval()
    return losses


@torch.no_grad()
def accuracy(model: nn.Module, task: Task, length: int, *, batch: int = 512, seed: int = 10_000) -> Tensor:
    """The share of right answers at each position, (length,), on ``batch`` examples that training did not draw; NaN where nothing is scored."""
    inputs, targets, scored = task(torch.Generator().manual_seed(seed), batch, length)
    right = (model(inputs).argmax(-1) == targets) & scored
    return right.sum(0) / scored.sum(0)


def results(lesson: str) -> dict:
    """What `make laboratory` stored for a lesson, such as "06": command, date, PyTorch's version, seeds, and rows."""
    return json.loads(pathlib.Path(__file__).with_name(f"laboratory_{lesson}.json").read_text(encoding="utf-8"))


def show_bar(name: str, steps: int):
    """A progress bar, shown in the cell that runs."""
    from IPython.display import display
    from ipywidgets import FloatProgress
    bar = FloatProgress(value=0, max=steps, description=name)
    display(bar)
    bar.style.description_width = "initial"  # not before: its text would then differ between versions of ipywidgets
    return bar
