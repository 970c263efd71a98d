"""Models that read a task, one way to train them, one way to score them. All on the CPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._validate import check_choice
from ..masks import Mask, window
from ..positional import PositionalEncoding
from ..progress import progress_bar
from ..sequence import GRU, LSTM, Convolution, Recurrence, SelfAttention
from .tasks import Task


class Reader(nn.Module):
    """Numbers in, an answer at each position: embedding, layers of (batch, steps, num_hiddens), each added to what it was given, a linear map.

    layers: applied to normalised inputs (layer norm), one after the other, with a ReLU behind each. positions: add the sinusoidal table first.
    Takes (batch, steps), returns (batch, steps, answers). Vectors (batch, steps, num_hiddens) may
    stand for the embedded numbers: so ``influence`` can ask what the layers pass on.
    """

    def __init__(self, layers: Sequence[nn.Module], num_hiddens: int, vocab_size: int, answers: int, *, positions: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.positions = PositionalEncoding(num_hiddens) if positions else nn.Identity()
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens) for _ in layers)
        self.scores = nn.Linear(num_hiddens, answers)

    def forward(self, inputs: Tensor) -> Tensor:
        X = self.positions(inputs if inputs.is_floating_point() else self.embedding(inputs))
        for layer, norm in zip(self.layers, self.norms):
            X = X + F.relu(layer(norm(X)))
        return self.scores(X)


READERS = ("self-attention", "dilated convolution", "recurrence", "convolution", "GRU", "LSTM")
CONTROLS = ("recurrence, identity start", "recurrence, orthogonal start",
            "recurrence, half identity start", "convolutions, gaps 1 2 4 8 16 16",
            "convolutions, gaps 16 1 2 4 8 16", "five self-attentions",
            "five self-attentions, window 7", "five self-attentions, random pairs")


def convolutions(gaps: Sequence[int]) -> Callable[[int, bool], list[nn.Module]]:
    """Makes, for a width, convolutions with kernel 3 and these gaps, first layer first."""
    return lambda d, causal: [Convolution(d, 3, dilation=gap, causal=causal) for gap in gaps]


def attentions(count: int, sees: Mask | Tensor | None = None,
               ) -> Callable[[int, bool], list[nn.Module]]:
    """Makes, for a width, layers of four heads; each sees what the mask ``sees`` allows, or all."""
    layer = SelfAttention if sees is None else lambda *a, **options: Masked(*a, sees, **options)
    return lambda d, causal: [layer(d, 4, causal=causal) for _ in range(count)]


def random_pairs(length: int, near: int) -> Tensor:
    """(length, length), True where a query sees a key: itself, and others at random, as many as
    it would see in ``window(near)``."""
    generator = torch.Generator().manual_seed(0)
    counts = window(near).tensor(length, length).sum(1)
    draws = torch.rand(length, length, generator=generator).fill_diagonal_(2)  # itself is first
    return draws.argsort(1, descending=True).argsort(1) < counts[:, None]


def recurrence(start: Callable[[Tensor], Tensor]) -> Callable[[int, bool], list[nn.Module]]:
    """Makes, for a width, a plain recurrence whose state's matrix was set by ``start``."""
    def make(d: int, causal: bool) -> list[nn.Module]:
        layer = Recurrence(d)
        start(layer.rnn.weight_hh_l0)
        return [layer]
    return make


def half_identity(U: Tensor) -> Tensor:
    """In place: half of the identity."""
    with torch.no_grad():
        return nn.init.eye_(U).mul_(0.5)


class Masked(SelfAttention):
    """Self-attention in which a token sees what a mask allows: a ``Mask``, or (steps, steps)."""

    def __init__(self, num_hiddens: int, num_heads: int, sees: Mask | Tensor, *,
                 causal: bool = False):
        super().__init__(num_hiddens, num_heads, causal=causal)
        self.sees = sees

    def forward(self, X: Tensor) -> Tensor:
        return self.attention(X, X, X, causal=self.causal, mask=self.sees)


MAKERS = {  # width, and the layers of that width: about 16,400 numbers in all
    "self-attention": (64, attentions(1)),
    "dilated convolution": (33, convolutions([1, 2, 4, 8, 16])),
    "recurrence": (90, lambda d, causal: [Recurrence(d)]),
    "convolution": (37, convolutions([1, 1, 1, 1])),
    "GRU": (52, lambda d, causal: [GRU(d)]),
    "LSTM": (45, lambda d, causal: [LSTM(d)]),
    "recurrence, identity start": (90, recurrence(nn.init.eye_)),
    "recurrence, orthogonal start": (90, recurrence(nn.init.orthogonal_)),
    "recurrence, half identity start": (90, recurrence(half_identity)),
    "convolutions, gaps 1 2 4 8 16 16": (30, convolutions([1, 2, 4, 8, 16, 16])),
    "convolutions, gaps 16 1 2 4 8 16": (30, convolutions([16, 1, 2, 4, 8, 16])),
    "five self-attentions": (28, attentions(5)),
    "five self-attentions, window 7": (28, attentions(5, window(7))),
    "five self-attentions, random pairs": (28, attentions(5, random_pairs(32, 7))),
}


def reader(kind: str, vocab_size: int, answers: int, *, causal: bool = False, seed: int = 0) -> Reader:
    """A ``Reader`` of one of the ``READERS`` or ``CONTROLS``, whose layers hold equal numbers.

    READERS, 16,400 numbers give or take 2 %: one layer of four heads, with positions; five
    convolutions with kernel 3 and gaps 1, 2, 4, 8, 16; one plain recurrence; four convolutions with
    kernel 3; one GRU; one LSTM. CONTROLS change one thing: the matrix that the plain recurrence
    starts with; a sixth convolution and where it stands; what each of five self-attentions sees:
    all, 7 places either way, or as many keys at random (of 32 tokens, no other number).
    (Five have 15,680 numbers, since four heads must divide the width.)
    ``causal`` lets every kind see the past alone, as a recurrence does anyway. The weights depend
    on ``seed`` and on nothing else.
    """
    check_choice("kind", kind, MAKERS)
    width, make = MAKERS[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = make(width, causal)
        return Reader(layers, width, vocab_size, answers, positions="self-attention" in kind)


def train(model: nn.Module, task: Task, steps: int, *, lengths: tuple[int, int], batch: int = 64, rate: float = 3e-3, seed: int = 0,
          progress: str = "") -> list[float]:
    """Train on fresh examples, ``steps`` times ``batch`` of them, of a length drawn from ``lengths`` (both ends included); Adam, gradients clipped to 1.

    Returns the loss of each step. The same seed gives the same examples; that, and a seed set before the model was built, makes a run repeatable.
    progress: shows a bar of this name.
    """
    if steps < 0:
        raise ValueError(f"{steps=} must not be negative")
    if not 1 <= lengths[0] <= lengths[1]:
        raise ValueError(f"{lengths=} must be the shortest and the longest, at least 1")
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    bar = progress_bar(progress, steps) if progress else None
    losses = []
    model.train()
    for step in range(1, steps + 1):
        length = int(torch.randint(lengths[0], lengths[1] + 1, (), generator=generator))
        inputs, targets, scored = task(generator, batch, length)
        if not scored.any():
            raise ValueError(f"the task scores nothing at length {length}, one of {lengths=}: its loss would be NaN")
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
