"""Tasks that can be made in any number.

A task is a function ``task(generator, batch, length)`` that returns inputs (batch, length) of
whole numbers, targets (batch, length) of whole numbers, and a mask (batch, length) of booleans:
True where an answer is scored.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .._validate import check_integer

Task = Callable[[torch.Generator, int, int], tuple[Tensor, Tensor, Tensor]]


def parity(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Running parity: input bits, target whether the number of ones so far is odd. Every position is scored.

    >>> inputs, targets, scored = parity(torch.Generator().manual_seed(0), 1, 6)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1, 1, 0, 1, 1]], [[0, 1, 0, 0, 1, 0]])
    """
    bits = torch.randint(2, (batch, length), generator=generator)
    return bits, bits.cumsum(1) % 2, torch.ones_like(bits, dtype=torch.bool)


def find_marked(distance: int | None = None, vocab_size: int = 8) -> Task:
    """A task: one token among many is marked; name it, at the last position.

    Inputs are symbols 0..vocab_size-1, the marked one raised by ``vocab_size``. It stands ``distance`` places before the last, or anywhere where
    None is given. Only the last position is scored.
    """
    if distance is not None:
        check_integer(distance=distance)

    def task(generator: torch.Generator, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
        if distance is not None and not 0 <= distance < length:
            raise ValueError(f"{distance=} must lie in 0..{length - 1} when {length=}")
        inputs = torch.randint(vocab_size, (batch, length), generator=generator)
        back = torch.randint(length, (batch, 1), generator=generator) if distance is None else torch.full((batch, 1), distance)
        place = length - 1 - back
        targets = inputs.gather(1, place).expand(batch, length)
        scored = torch.zeros(batch, length, dtype=torch.bool)
        scored[:, -1] = True
        return inputs.scatter_add(1, place, torch.full_like(place, vocab_size)), targets, scored
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
