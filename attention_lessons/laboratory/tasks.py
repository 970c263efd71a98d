"""Tasks with any number of examples.

A task is a function ``task(generator, batch, length)`` that returns three tensors
(batch, length): inputs and targets, both integers, and a mask, True where an answer is scored.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from d2l_ext.checks import check_size

Examples = tuple[Tensor, Tensor, Tensor]
Task = Callable[[Generator, int, int], Examples]


def parity(generator: Generator, batch: int, length: int) -> Examples:
    """Running parity: is the number of ones so far odd? Every position is scored."""
    bits = torch.randint(2, (batch, length), generator=generator)
    return bits, bits.cumsum(1) % 2, torch.ones_like(bits, dtype=torch.bool)


def find_marked(distance: int | None = None) -> Task:
    """A task: one token among many is marked; name it, at the last position.

    Inputs are symbols 0..7; 8 is added to the marked one. distance: how many places it stands
    before the last, or None for anywhere. Only the last position is scored.
    The task raises ValueError for a distance that leaves the sequence.
    """
    if distance is not None:
        check_size(0, distance=distance)

    def task(generator: Generator, batch: int, length: int) -> Examples:
        if distance is not None and distance >= length:
            raise ValueError(f"{distance=} must lie in 0..{length - 1} when {length=}")
        inputs = torch.randint(8, (batch, length), generator=generator)
        if distance is None:
            place = length - 1 - torch.randint(length, (batch, 1), generator=generator)
        else:
            place = torch.full((batch, 1), length - 1 - distance)
        targets = inputs.gather(1, place).expand(batch, length)
        scored = torch.zeros(batch, length, dtype=torch.bool)
        scored[:, -1] = True
        return inputs.scatter_add(1, place, torch.full_like(place, 8)), targets, scored
    return task


def copy_back(generator: Generator, batch: int, length: int) -> Examples:
    """Copy two back: ten symbols at random, the target is the symbol two places to the left.

    Scored where there is one.
    """
    inputs = torch.randint(10, (batch, length), generator=generator)
    return inputs, inputs.roll(2, 1), (torch.arange(length) >= 2).expand(batch, length)


def reverse(generator: Generator, batch: int, length: int) -> Examples:
    """Reverse: ten symbols at random, the targets are the same from last to first."""
    inputs = torch.randint(10, (batch, length), generator=generator)
    return inputs, inputs.flip(1), torch.ones_like(inputs, dtype=torch.bool)


def repeat(generator: Generator, batch: int, length: int) -> Examples:
    """Repeat: 32 symbols at random, then the same again; the target is the next symbol.

    Scored in the second half, for causal layers. An odd length loses its last place.
    """
    first = torch.randint(32, (batch, length // 2), generator=generator)
    inputs = torch.cat([first, first], 1)
    places = torch.arange(inputs.shape[1])
    scored = (places >= length // 2) & (places < len(places) - 1)
    return inputs, inputs.roll(-1, 1), scored.expand_as(inputs)


def recall(generator: Generator, batch: int, length: int) -> Examples:
    """Associative recall: pairs of a key and a value, then all keys again, in another order.

    128 keys, all different, then 16 values, numbered 128..143; the target is the value's number
    less 128. length // 3 pairs are told, the rest is left out. Scored where keys are asked, as in
    Arora et al. 2024, section 3.1 (there keys that are asked stand among others that aren't).
    Raises ValueError for a length that has no pair, or more pairs than there are keys.

    >>> inputs, targets, scored = recall(torch.Generator().manual_seed(0), 1, 6)
    >>> inputs.tolist(), targets[scored].tolist()
    ([[83, 137, 94, 131, 83, 94]], [9, 3])
    """
    pairs = length // 3
    if not 1 <= pairs <= 128:
        raise ValueError(f"{length=} makes {pairs} pairs, and there are 1 to 128 keys to ask for")
    keys = torch.rand(batch, 128, generator=generator).argsort(1)[:, :pairs]
    values = torch.randint(16, (batch, pairs), generator=generator)
    order = torch.rand(batch, pairs, generator=generator).argsort(1)
    told = torch.stack([keys, values + 128], 2).flatten(1)
    inputs = torch.cat([told, keys.gather(1, order)], 1)
    targets = torch.cat([torch.zeros_like(told), values.gather(1, order)], 1)
    return inputs, targets, (torch.arange(3 * pairs) >= 2 * pairs).expand_as(inputs)
