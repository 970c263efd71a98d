"""The class that lesson 04 asks for, and the ways to go wrong in it."""
import torch
from torch import nn

from ..exercises.classes import (
    FromScratch, Trial, build, draw, factors, in_words, refusal)
from ..exercises.heads import MODE
from ..languages import t


class Positions(nn.Module):
    def __init__(self, num_hiddens, dropout=0.0, max_len=1000):
        super().__init__()
        self.p, self.max_len = dropout, max_len
        columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64) / num_hiddens
        angles = torch.arange(max_len, dtype=torch.float64)[:, None] / 10_000 ** columns
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None, :, :num_hiddens]
        self.register_buffer("P", table.float(), persistent=False)

    def forward(self, X):
        if X.shape[1] > self.max_len:
            raise ValueError
        rows = self.P[:, :X.shape[1]].to(X.dtype)
        return nn.functional.dropout(X + rows, self.p, self.training)


DROP_SUM = "nn.functional.dropout(X + rows, self.p, self.training)"
ENCODING = [
    ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()",
     "Sines and cosines have changed places: the even columns are sines."),
    ("stack(", "cat(", "-1).flatten(1)", "1)",
     "All sines stand before all cosines. They alternate: column 0 is a sine, column 1 the "
     "cosine of the same angle."),
    ("[:, None] /", "[:, None].add(1) /",
     "Positions are counted from 1. The first row belongs to position 0: 0, 1, 0, 1, ..."),
    ("/ num_hiddens", "/ num_hiddens * 2",
     "The exponent is twice as large as it should be: torch.arange(0, d, 2) already holds "
     "the 2j of the formula."),
    ("10_000", "1_000", "The base is 10000, not 1000."),
    ("self.P[:, :X.shape[1]]", "self.P[0, :X.shape[0], None]",
     "Each sentence gets the row of its own number. Rows belong to steps, the second axis of "
     "a batch-first X."),
    ("X + rows", "rows.expand_as(X)", "You return the table alone: it is to be added to X."),
    ("X + rows", "X * X.shape[2] ** 0.5 + rows",
     "X is multiplied by the square root of the width first. A whole Transformer does that "
     "elsewhere; here X and P are added as they are."),
    ("X + rows", "X.detach() + rows",
     "X is detached: no gradient reaches what stands before this layer."),
    ("X + rows", "X.add_(rows)",
     "forward changes the X it is given: X += P writes into it. Write X + P, which is a new "
     "tensor."),
    ('self.register_buffer("P", table.float(), persistent=False)', "self.P = table.float()",
     "P is a plain attribute, which .to() leaves behind. Make it a buffer: "
     'register_buffer("P", table, persistent=False).'),
    ("float64", "float32",
     "Far positions are off: you compute the angles in single precision. Compute in "
     "torch.float64 and round the finished table."),
    (".to(X.dtype)", "",
     "The output is not of X's kind: P in float32 turns a 16-bit X into 32 bits. Add "
     "P[...].to(X.dtype)."),
    MODE,
    (DROP_SUM, "X + rows", "In training mode nothing is dropped: dropout acts on the sum X + P."),
    (DROP_SUM, "nn.functional.dropout(X, self.p, self.training) + rows",
     "Dropout acts on X alone. It acts on the sum X + P."),
    ("raise ValueError", "pass",
     "Too long an input fails with a message about shapes. Raise a ValueError that says what "
     "to do: build it with a larger max_len."),
]
TRIAL = Trial(Positions, (6,), {"X": (3, 5, 6)})


def table(answer):
    buffers = dict(build(answer, Positions, 6, max_len=9).named_buffers())
    shapes = ", ".join(f"{name} {tuple(X.shape)} {X.dtype}" for name, X in buffers.items())
    return {t("The buffers, their shapes and dtypes"): shapes or t("none")}


def dtypes(answer):
    return {t("For X in {0}, the dtype of the output", str(dtype)):
            str(TRIAL.run(answer, change=lambda X: [X.to(dtype)])[1].dtype)
            for dtype in (torch.float16, torch.float64)}


def dropping(answer):
    layer = build(answer, Positions, 6, dropout=0.2)
    found = factors(layer, draw((3, 200, 6))[0][None] + 6)  # no number near 0
    return {t("In training mode with dropout=0.2, numbers of X + P are multiplied by"):
            in_words(found)}


def too_long(answer):
    layer = build(answer, Positions, 6, max_len=9)
    return {t("The error for {0} steps with max_len=9", steps):
            refusal(layer, torch.zeros(2, steps, 6)) for steps in (9, 10)}


EXERCISES = [FromScratch(
    "positional-class", Positions, ENCODING,
    sizes="batch 3, 5 steps, width 6, and batch 2, 4 steps, width 7",
    stages=[TRIAL.shows("The output for width 6"),
            TRIAL.shows("The output for the odd width 7", sizes=(7,),
                        change=lambda X: draw((3, 5, 6), (2, 4, 7))[1:]),
            TRIAL.keeps(), TRIAL.learns(), table,
            TRIAL.nears("The output at positions up to 20,000", max_len=20_001,
                        change=lambda X: [torch.zeros(1, 20_000, 6)]),
            dtypes, TRIAL.evaluates(), dropping, too_long])]
