"""What becomes of an encoding of positions beyond the lengths that it was trained on."""
from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from d2l_ext.checks import check_choice, check_size
from d2l_ext.layers import SelfAttention
from d2l_ext.positional import LearnedPositionalEncoding
from d2l_ext.relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from .readers import Reader, train
from .stored import DATA, load_weights
from .tasks import Task, copy_back, repeat, reverse

ENCODINGS = ("none", "none, causal", "sinusoidal", "learned", "Shaw", "T5", "ALiBi",
             "ALiBi, causal", "rotary")


class Trial(NamedTuple):
    """A task, and how a ``Reader`` of self-attention is trained on it, at lengths up to 16."""

    task: Task
    vocab_size: int
    lengths: tuple[int, int]
    layers: int = 1
    steps: int = 300
    rate: float = 3e-3
    causal: bool = False  # whether every encoding gets a causal mask

    @property
    def encodings(self) -> list[str]:
        """The ``ENCODINGS`` that differ here: where all are causal, a causal form replaces its
        other form."""
        return [name for name in ENCODINGS if not (self.causal and f"{name}, causal" in ENCODINGS)]


TRIALS = {
    "copy": Trial(copy_back, 10, (8, 16)),
    "reverse": Trial(reverse, 10, (16, 16)),
    "repeat": Trial(repeat, 32, (6, 16), layers=2, steps=600, rate=6e-3, causal=True),
}


def attention_layer(position: nn.Module | None, causal: bool) -> SelfAttention:
    """Self-attention of width 64 with four heads and a relative position, or None."""
    layer = SelfAttention(64, 4, causal=causal)
    layer.attention.position = position
    return layer


def untrained(name: str, encoding: str, seed: int = 0, layers: int | None = None) -> Reader:
    """A reader of width 64 with four heads for ``TRIALS[name]``, with one of ``ENCODINGS``."""
    check_choice("task", name, TRIALS)
    check_choice("encoding", encoding, ENCODINGS)
    trial, (base, _, masked) = TRIALS[name], encoding.partition(", ")
    layers = trial.layers if layers is None else layers
    check_size(layers=layers)
    causal, symbols = trial.causal or bool(masked), trial.vocab_size
    relative = {
        "Shaw": lambda: ShawRelativeKeys(16, 8),
        "T5": lambda: T5RelativeBias(4, bidirectional=not causal),
        "ALiBi": lambda: ALiBi(4),
        "rotary": lambda: RotaryEmbedding(16),
    }
    make = relative.get(base, lambda: None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stack = [attention_layer(make(), causal) for _ in range(layers)]
        model = Reader(stack, 64, symbols, symbols, positions=base == "sinusoidal")
        if base == "learned":
            model.positions = LearnedPositionalEncoding(64, max_len=64)
    return model


def try_encoding(name: str, encoding: str, seed: int = 0, *, layers: int | None = None) -> Reader:
    """A reader of width 64 with four heads, trained on ``TRIALS[name]`` with one of ``ENCODINGS``.

    layers: how many, in place of the trial's own. The weights depend on the arguments alone, and a
    little on the processor and PyTorch's version. Raises ValueError for an unknown task or
    encoding, TypeError or ValueError for layers below 1.
    """
    model, trial = untrained(name, encoding, seed, layers), TRIALS[name]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # models as small as these are slower with a second one
    try:
        train(model, trial.task, trial.steps, lengths=trial.lengths, rate=trial.rate, seed=seed)
    finally:
        torch.set_num_threads(threads)
    return model


def trained_repeater() -> Reader:
    """``try_encoding("repeat", "rotary", layers=2)`` with stored weights, as lesson 09 shows it.

    Training goes another way on another processor, and then other heads look back.
    """
    model = untrained("repeat", "rotary", layers=2)
    load_weights(model, DATA / "repeater.safetensors")
    return model
