"""Answers to 04 that no slip makes, and what their writers should then read."""
import math

import torch


def by_position(steps, num_hiddens):
    """PE(pos, 2i) read as: an even position."""
    waves = math.sin, math.cos
    return torch.tensor([[waves[i % 2](i / 10_000 ** (c // 2 * 2 / num_hiddens))
                          for c in range(num_hiddens)] for i in range(steps)])


def in_integers(steps, num_hiddens):
    """The power before the root: it overflows where num_hiddens is large."""
    powers = torch.pow(10_000, torch.arange(0, num_hiddens, 2)) ** (1 / num_hiddens)
    angles = torch.arange(steps)[:, None] / powers
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


WRONG = {
    "sinusoid-table": [(by_position, "every position has both"),
                       (in_integers, "of 1920 numbers are not")],
    "batch-axis": [(lambda batch, steps: [0, 0, 0, 1, 1, 1], "Expected")],
    "shift": [(lambda P, offset: P[offset:], "shape should be")],
    "read-clock": [(lambda row: torch.tensor([200]), "^Expected 7, got 200\\.$"),
                   (lambda row: torch.tensor([7, 7]), "^Expected 200")],
}
