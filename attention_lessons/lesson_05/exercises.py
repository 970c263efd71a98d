"""The exercises of lesson 05, positional encoding."""
import math

import torch
from torch import nn

from d2l_ext.positional import sinusoids
from ..exercises.classes import FromScratch, ClassTrial, build, draw, refusal
from ..exercises.kinds import Build
from ..languages import t


def waves(steps, num_hiddens):
    position = torch.arange(steps, dtype=torch.float64)[:, None]
    column = torch.arange(num_hiddens)
    angles = position / 10_000 ** ((column - column % 2) / num_hiddens)
    table = torch.where(column % 2 == 0, angles.sin(), angles.cos())
    return table


def shift(P, offset):
    sine, cosine = P[:, 0::2].double(), P[:, 1::2].double()
    columns = torch.arange(0, P.shape[1], 2)
    turn = offset / 10_000 ** (columns.double() / P.shape[1])
    new_sine = sine * turn.cos() + cosine * turn.sin()
    new_cosine = cosine * turn.cos() - sine * turn.sin()
    return torch.stack([new_sine, new_cosine], dim=-1).flatten(1)


def shift_inputs():
    return [(sinusoids(50, 6)[[3, 10, 4]], 2), (sinusoids(40, 8)[20:25], 7),
            (sinusoids(30, 4)[10:12], -3)]


def read(row):
    sine, cosine = row[-2:].tolist()
    angle = math.atan2(sine, cosine)
    position = angle * 10_000 ** ((len(row) - 2) / len(row))
    return round(position)


def read_inputs():
    places = (4, 200), (32, 7), (6, 250), (64, 0), (4, 100), (8, 39)
    return [(sinusoids(251, d)[i],) for d, i in places]


class Positions(nn.Module):
    def __init__(self, num_hiddens, max_len=1000):
        super().__init__()
        self.max_len = max_len
        columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64) / num_hiddens
        angles = torch.arange(max_len, dtype=torch.float64)[:, None] / 10_000 ** columns
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None, :, :num_hiddens]
        self.register_buffer("P", table.float(), persistent=False)

    def forward(self, X):
        if X.shape[1] > self.max_len:
            raise ValueError
        rows = self.P[:, :X.shape[1]].to(X.dtype)
        return X + rows


TRIAL = ClassTrial(Positions, (6,), {"X": (3, 5, 6)})


def table(answer):
    buffers = dict(build(answer, Positions, 6, max_len=9).named_buffers())
    shapes = ", ".join(f"{name} {tuple(X.shape)} {X.dtype}" for name, X in buffers.items())
    return {t("The buffers, their shapes and dtypes"): shapes or t("none")}


def dtypes(answer):
    return {t("For X in {0}, the dtype of the output", str(dtype)):
            str(TRIAL.run(answer, change=lambda X: [X.to(dtype)])[1].dtype)
            for dtype in (torch.float16, torch.float64)}


def too_long(answer):
    layer = build(answer, Positions, 6, max_len=9)
    return {t("The error for {0} steps with max_len=9", steps):
            refusal(layer, torch.zeros(2, steps, 6)) for steps in (9, 10)}


EXERCISES = [
    Build("sinusoid-table", waves, lambda: [(3, 4), (5, 6), (9, 4), (60, 32)]),
    Build("shift", shift, shift_inputs),
    Build("read-clock", read, read_inputs),
    FromScratch("positional-class", Positions, stages=[
        TRIAL.shows("The output for width 6"),
        TRIAL.shows("The output for the odd width 7", sizes=(7,),
                    change=lambda X: draw((3, 5, 6), (2, 4, 7))[1:]),
        TRIAL.keeps(), TRIAL.learns(), table,
        TRIAL.nears("The output at positions up to 20,000", max_len=20_001,
                    change=lambda X: [torch.zeros(1, 20_000, 6)]),
        dtypes, too_long]),
]
