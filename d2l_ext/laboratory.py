"""A small laboratory: tasks that can be made in any number, a model that reads them, one way to train, one way to score. All on the CPU.

A task is a function ``task(generator, batch, length)`` that returns inputs (batch, length) of whole numbers, targets (batch, length) of whole
numbers, and a mask (batch, length) of booleans: True where an answer is scored.
"""
from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import check_choice, check_integer
from .masks import Mask, window
from .positional import LearnedPositionalEncoding, PositionalEncoding
from .relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from .sequence import GRU, LSTM, Convolution, Recurrence, SelfAttention

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
    if distance is not None:
        check_integer(distance=distance)

    def task(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
        if distance is not None and not 0 <= distance < length:
            raise ValueError(f"{distance=} must lie in 0..{length - 1} when {length=}")
        inputs = torch.randint(symbols, (batch, length), generator=generator)
        back = torch.randint(length, (batch, 1), generator=generator) if distance is None else torch.full((batch, 1), distance)
        place = length - 1 - back
        targets = inputs.gather(1, place).expand(batch, length)
        scored = torch.zeros(batch, length, dtype=torch.bool)
        scored[:, -1] = True
        return inputs.scatter_add(1, place, torch.full_like(place, symbols)), targets, scored
    return task


def copy_back(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Copy two back: ten symbols in any order; the target is the symbol two places to the left, scored wherever there is one.

    >>> inputs, targets, scored = copy_back(torch.Generator().manual_seed(0), 1, 6)
    >>> torch.equal(targets[:, 2:], inputs[:, :-2]), scored.tolist()
    (True, [[False, False, True, True, True, True]])
    """
    inputs = torch.randint(10, (batch, length), generator=generator)
    return inputs, inputs.roll(2, 1), (torch.arange(length) >= 2).expand(batch, length)


def reverse(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Reverse: ten symbols in any order; the target at each position is the symbol as far from the other end. Every position is scored."""
    inputs = torch.randint(10, (batch, length), generator=generator)
    return inputs, inputs.flip(1), torch.ones_like(inputs, dtype=torch.bool)


def repeat(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Repeat: 32 symbols in any order, then the same once more; the target is the next symbol, scored in the second half. For causal layers.

    An odd length loses its last place.
    """
    first = torch.randint(32, (batch, length // 2), generator=generator)
    inputs = torch.cat([first, first], 1)
    places = torch.arange(inputs.shape[1])
    return inputs, inputs.roll(-1, 1), ((places >= length // 2) & (places < len(places) - 1)).expand_as(inputs)


class Reader(nn.Module):
    """Numbers in, an answer at each position: embedding, layers of (batch, steps, num_hiddens), each added to what it was given, a linear map.

    layers: applied to normalised inputs (layer norm), one after the other, with a ReLU behind each. positions: add the sinusoidal table first.
    Takes (batch, steps), returns (batch, steps, answers). Vectors (batch, steps, num_hiddens) may
    stand for the embedded numbers: so ``influence`` can ask what the layers pass on.
    """

    def __init__(self, layers: Sequence[nn.Module], num_hiddens: int, symbols: int, answers: int, *, positions: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(symbols, num_hiddens)
        self.positions = PositionalEncoding(num_hiddens) if positions else nn.Identity()
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens) for _ in layers)
        self.head = nn.Linear(num_hiddens, answers)

    def forward(self, inputs: Tensor) -> Tensor:
        X = self.positions(inputs if inputs.is_floating_point() else self.embedding(inputs))
        for layer, norm in zip(self.layers, self.norms):
            X = X + F.relu(layer(norm(X)))
        return self.head(X)


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


def reader(kind: str, symbols: int, answers: int, *, causal: bool = False, seed: int = 0) -> Reader:
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
        return Reader(layers, width, symbols, answers, positions="self-attention" in kind)


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
    bar = show_bar(progress, steps) if progress else None
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


# ---- what becomes of an encoding beyond the lengths it was trained on ---------------------------------------------------------------------

ENCODINGS = ("none", "none, causal", "sinusoidal", "learned", "Shaw", "T5", "ALiBi", "ALiBi, causal", "rotary")


class Trial(NamedTuple):
    """A task with its number of symbols, and how a ``Reader`` of self-attention is trained on it, at lengths up to 16."""

    task: Task
    symbols: int
    lengths: tuple[int, int]
    layers: int = 1
    steps: int = 300
    rate: float = 3e-3
    causal: bool = False  # whether every encoding gets a causal mask

    @property
    def encodings(self) -> list[str]:
        """Those that make sense: under a causal mask for all, a symmetric or unmasked form is no form of its own."""
        return [name for name in ENCODINGS if not (self.causal and f"{name}, causal" in ENCODINGS)]


TRIALS = {"copy": Trial(copy_back, 10, (8, 16)), "reverse": Trial(reverse, 10, (16, 16)),
          "repeat": Trial(repeat, 32, (6, 16), layers=2, steps=600, rate=6e-3, causal=True)}


def attend(position: nn.Module | None, causal: bool) -> SelfAttention:
    """A layer of width 64 with four heads and a relative position, or None."""
    layer = SelfAttention(64, 4, causal=causal)
    layer.attention.position = position
    return layer


@contextmanager
def one_thread():
    """Models as small as these lose time to a second thread, and much of it on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def try_encoding(name: str, encoding: str, seed: int = 0, *, position: Callable[[], nn.Module] | None = None) -> Reader:
    """A reader, width 64 and four heads, trained on ``TRIALS[name]`` with one of the ``ENCODINGS``. Its weights depend on the arguments alone.

    position: makes another relative position for each layer, in place of the encoding's own.
    """
    check_choice("task", name, TRIALS)
    check_choice("encoding", encoding, ENCODINGS)
    trial, (base, _, masked) = TRIALS[name], encoding.partition(", ")
    causal = trial.causal or bool(masked)
    relative = {"Shaw": lambda: ShawRelativeKeys(16, 8), "T5": lambda: T5RelativeBias(4, bidirectional=not causal), "ALiBi": lambda: ALiBi(4),
                "rotary": lambda: RotaryEmbedding(16)}
    make = position or relative.get(base, lambda: None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Reader([attend(make(), causal) for _ in range(trial.layers)], 64, trial.symbols, trial.symbols, positions=base == "sinusoidal")
        if base == "learned":
            model.positions = LearnedPositionalEncoding(64, max_len=64)
    train(model, trial.task, trial.steps, lengths=trial.lengths, rate=trial.rate, seed=seed)
    return model


def try_encodings(name: str, seed: int = 0) -> dict[str, Reader]:
    """``try_encoding`` for all that make sense in this task, with a bar that shows how many are trained."""
    check_choice("task", name, TRIALS)
    encodings = TRIALS[name].encodings
    bar = show_bar("training", len(encodings))
    models = {}
    for encoding in encodings:
        models[encoding] = try_encoding(name, encoding, seed)
        bar.value += 1
    return models


def results(lesson: str) -> dict:
    """What `make laboratory`, or for 07 tools/dates.py, stored for a lesson, such as "06": command, date, PyTorch's version, seeds, and rows."""
    stored = {path.stem[-2:]: path for path in sorted(pathlib.Path(__file__).parent.glob("laboratory_??.json"))}
    check_choice("lesson with results", lesson, stored)
    return json.loads(stored[lesson].read_text(encoding="utf-8"))


def show_bar(name: str, steps: int):
    """A progress bar, shown in the cell that runs. Nothing of it is stored: no text stands for it.

    Its ``value`` runs from 0 to ``steps``.
    """
    from IPython.display import display
    from ipywidgets import FloatProgress
    style = {"description_width": "initial"}
    bar = FloatProgress(value=0, max=steps, description=name, style=style)
    view = {"version_major": 2, "version_minor": 0, "model_id": bar.model_id}
    display({"application/vnd.jupyter.widget-view+json": view}, raw=True)  # display(bar) adds text
    return bar
