"""Models that read a task, one way to train them, one way to score them. All on the CPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2l_ext.checks import check_choice, check_size
from d2l_ext.layers import GRU, LSTM, Convolution, Recurrence, SelfAttention
from d2l_ext.linear import DeltaRule, LinearAttention
from d2l_ext.masks import window
from d2l_ext.positional import PositionalEncoding
from .tasks import Task
from .training import fit


class Reader(nn.Module):
    """Integers (batch, steps) in, scores of the answers (batch, steps, answers) out.

    An embedding, then the layers, each (batch, steps, num_hiddens) -> the same, then a linear map.
    Each layer is given normalised inputs (layer norm); its output goes through a ReLU and is added
    to what it was given. positions: add the sinusoidal table first. Vectors
    (batch, steps, num_hiddens) may take the place of the embedded integers, so that ``influence``
    can ask what the layers pass on.
    """

    def __init__(
        self, layers: Sequence[nn.Module], num_hiddens: int, vocab_size: int, answers: int, *,
        positions: bool = False,
    ):
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


# ---- kinds of layers ----

def convolutions(*gaps: int) -> Callable:
    """Convolutions with kernel 3 and these gaps, first layer first."""
    return lambda d, causal: [Convolution(d, 3, dilation=gap, causal=causal) for gap in gaps]


class Windowed(SelfAttention):
    """Self-attention in which a token sees those that are up to 7 places away."""

    def forward(self, X: Tensor) -> Tensor:
        return self.attention(X, X, X, causal=self.causal, mask=window(7))


# name: (width, (width, causal) -> layers); all layers of a kind have about 16,400 numbers
READERS = {
    "self-attention": (64, lambda d, causal: [SelfAttention(d, 4, causal=causal)]),
    "dilated convolution": (33, convolutions(1, 2, 4, 8, 16)),
    "recurrence": (90, lambda d, causal: [Recurrence(d)]),
    "convolution": (37, convolutions(1, 1, 1, 1)),
    "GRU": (52, lambda d, causal: [GRU(d)]),
    "LSTM": (45, lambda d, causal: [LSTM(d)]),
}
STACKS = {
    "five self-attentions": (  # 15,680 numbers: four heads must divide the width
        28, lambda d, causal: [SelfAttention(d, 4, causal=causal) for _ in range(5)]),
    "five self-attentions, window 7": (
        28, lambda d, causal: [Windowed(d, 4, causal=causal) for _ in range(5)]),
}
MEMORIES = {
    "linear attention": (64, lambda d, causal: [LinearAttention(d, 4)]),
    "linear attention, decay": (64, lambda d, causal: [LinearAttention(d, 4, decay="input")]),
    "delta rule": (64, lambda d, causal: [DeltaRule(d, 4)]),
    "delta rule, rates to 2": (64, lambda d, causal: [DeltaRule(d, 4, max_rate=2)]),
}
MAKERS = READERS | STACKS | MEMORIES


def reader(
    kind: str, vocab_size: int, answers: int, *, causal: bool = False, seed: int = 0,
) -> Reader:
    """A ``Reader`` of one of the ``READERS``, ``STACKS`` or ``MEMORIES``.

    READERS and MEMORIES have 16,400 numbers in their layers, give or take 2 %. The STACKS start
    from the same weights, and differ in what a token sees: everything, or a window. causal: every
    kind sees the past alone, as recurrences and MEMORIES always do. The weights depend on the
    arguments alone. Raises ValueError for another kind.
    """
    check_choice("kind", kind, MAKERS)
    width, make = MAKERS[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = make(width, causal)
        return Reader(layers, width, vocab_size, answers,
                      positions="self-attention" in kind or kind == "linear attention")


def writes(steps: int) -> Tensor:
    """Where the values of ``recall`` stand, each beside its key: (steps, 1), 1 or 0."""
    step = torch.arange(steps)
    return ((step % 2 == 1) & (step < steps // 3 * 2)).float()[:, None]


class Told(DeltaRule):
    """The delta rule, told when to write: at the values of ``recall``; with a rate it learns."""

    def gate(self, X: Tensor) -> Tensor:
        return super().gate(X) * writes(X.shape[1])


class ToldFully(DeltaRule):
    """The same, with rate 1."""

    def gate(self, X: Tensor) -> Tensor:
        return writes(X.shape[1]).to(X.dtype).expand(*X.shape[:2], 1)


class ToldSum(LinearAttention):
    """A sum of keys and values, told when to write."""

    def run_chunks(
        self, S: Tensor | None, need_state: bool, q: Tensor, k: Tensor, v: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        return super().run_chunks(S, need_state, q, k, v * writes(v.shape[1]))


RECALLERS = {  # layers of one head; of 4,096 numbers, the delta rules' of 4,129
    "softmax": lambda d: SelfAttention(d, causal=True),
    "linear, elu + 1": LinearAttention,
    "linear, plain": lambda d: LinearAttention(d, feature_map=None, normalise=False),
    "linear, told when to write": lambda d: ToldSum(d, feature_map=None, normalise=False),
    "delta rule": lambda d: DeltaRule(d, chunk_size=64),
    "delta rule, told when to write": lambda d: Told(d, chunk_size=64),
    "delta rule, told, rate 1": lambda d: ToldFully(d, chunk_size=64),
}


def recaller(kind: str, *, seed: int = 0) -> Reader:
    """A ``Reader`` of width 32 for the task ``recall``: a convolution, and one of the RECALLERS.

    The causal convolution over two tokens joins a key with its value. The weights depend on the
    arguments alone. Raises ValueError for another kind.
    """
    check_choice("kind", kind, RECALLERS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [Convolution(32, 2, causal=True), RECALLERS[kind](32)]
        return Reader(layers, 32, 144, 16)


# ---- training and scoring ----

def train(
    model: nn.Module, task: Task, steps: int, *, lengths: tuple[int, int], batch: int = 64,
    rate: float = 3e-3, seed: int = 0, progress: str = "",
) -> list[float]:
    """Train with ``fit`` on ``steps`` batches of fresh examples.

    lengths: the shortest and the longest; each batch has a random length between them. The same
    seed gives the same examples. progress: the name of a bar. Returns the loss of each step.
    Raises ValueError for negative steps, no examples, bad lengths, or a length at which nothing is
    scored.
    """
    check_size(batch=batch)
    check_size(0, steps=steps)
    if not 1 <= lengths[0] <= lengths[1]:
        raise ValueError(f"{lengths=} must be the shortest and the longest, at least 1")
    generator = torch.Generator().manual_seed(seed)

    def loss_of_batch() -> Tensor:
        length = int(torch.randint(lengths[0], lengths[1] + 1, (), generator=generator))
        inputs, targets, scored = task(generator, batch, length)
        if not scored.any():
            raise ValueError(f"the task scores nothing at length {length}, one of {lengths=}: "
                             "its loss would be NaN")
        return F.cross_entropy(model(inputs)[scored], targets[scored])

    return fit(model, loss_of_batch, steps, rate, progress=progress)


@torch.no_grad()
def accuracy(model: nn.Module, task: Task, length: int, *, batch: int = 512) -> Tensor:
    """The share of right answers at each position, (length,); NaN where nothing is scored.

    batch: how many examples; only training with the seed 10,000 has drawn them. Raises ValueError
    for a batch or a length below 1.
    """
    check_size(batch=batch, length=length)
    inputs, targets, scored = task(torch.Generator().manual_seed(10_000), batch, length)
    right = (model(inputs).argmax(-1) == targets) & scored
    return right.sum(0) / scored.sum(0)
