"""The class that lesson 05 asks for, and the ways to go wrong in it."""
import torch
from torch import Tensor, nn

from ..exercises.classes import FromScratch, Trial, build, draw, refuses, trying
from ..languages import t


class Rotary(nn.Module):
    def __init__(self, head_size, base=10000.0):
        super().__init__()
        if head_size % 2:
            raise ValueError
        self.base = base

    def forward(self, X, offset=0):
        d, places = X.shape[-1], torch.arange(X.shape[2], dtype=torch.float64) + offset
        speeds = self.base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = (places[:, None] / speeds).to(X.device)
        s, c = angles.sin().float(), angles.cos().float()
        a, b = X[..., 0::2], X[..., 1::2]
        first = a * c - b * s
        second = a * s + b * c
        Y = torch.stack([first, second], -1).flatten(-2)
        return Y.to(X.dtype)


LAST = "second = a * s + b * c"
JOIN = "torch.stack([first, second], -1).flatten(-2)", "torch.cat([first, second], -1)"
TURNING = [
    ("a * c - b * s", "a * c + b * s", LAST, "second = b * c - a * s",
     "You turn the wrong way: the first of a pair is x cos - y sin, the second x sin + y cos."),
    ("X[..., 0::2], X[..., 1::2]", "X.chunk(2, -1)", *JOIN,
     "You pair the first half with the second. Here neighbours are pairs: (0, 1), (2, 3), ..."),
    (*JOIN,
     "The turning is right, the order is not: put the two numbers of a pair side by side again "
     "(stack, then flatten)."),
    (LAST, "second = first * s + b * c",
     "The second number of a pair is computed from the first after it was turned. Use the "
     "old one in both lines."),
    ("a * c - b * s", "a + s", LAST, "second = b + c",
     "You add sines and cosines. Rotary multiplies: it turns each pair."),
    (" - b * s", "", LAST, "second = b * s",
     "Each number is multiplied alone. A turn mixes the two of a pair."),
    ("+ offset", "+ offset + 1",
     "Positions are counted from 1. Row 0 stands at position offset: with offset=0 it "
     "doesn't turn."),
    ("a * c - b * s", "a", LAST, "second = b", "Nothing is turned: the output is X itself."),
    (" / d", " * 2 / d",
     "The exponent is twice as large as it should be: torch.arange(0, d, 2) already holds "
     "the 2r of the formula."),
    (" / d", " / 2 / d",
     "The exponent is half as large as it should be: 2r / head_size, where r counts pairs."),
    ("self.base ** (", "self.base ** -(",
     "The speeds are upside down: pair r turns by position / base^(2r/d), the later pairs "
     "more slowly."),
    ("+ offset", "+ 0", "offset has no effect: row i stands at position offset + i."),
    ("+ offset", "- offset", "offset is subtracted: row i stands at position offset + i."),
    ("self.base = base", "columns = torch.arange(0, head_size, 2, dtype=torch.float64)\n"
     "        self.register_buffer('speeds', base ** (columns / head_size), persistent=False)",
     "self.base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)", "self.speeds",
     "A buffer is cast with the module: after .half() the speeds have three digits left. "
     "Compute them in forward, in torch.float64."),
    ("self.base **", "10_000.0 **",
     "base has no effect: 10000 is its default, not its only value."),
    ("Y.to(X.dtype)", "X.copy_(Y)",
     "forward changes the X it is given. Put the turned numbers into a new tensor."),
    ("a, b = X", "X = X.detach(); a, b = X",
     "X is detached: no gradient reaches the queries and keys."),
    ("float64", "float32",
     "Far positions are off: you compute the angles in single precision. Compute them in "
     "torch.float64."),
    ("torch.arange(X.shape[2], dtype=torch.float64)", "torch.arange(X.shape[2], dtype=X.dtype)",
     "For a 16-bit X you count positions in 16 bits, which has no odd numbers beyond 2048. "
     "Count in torch.float64, whatever X is."),
    (".to(X.dtype)", "",
     "The output is not of X's kind: a 16-bit X comes back in 32 bits. End with .to(X.dtype)."),
    ("raise ValueError", "pass", "An odd head_size is accepted: raise a ValueError in __init__."),
]
TRIAL = Trial(Rotary, (8,), {"X": (2, 3, 5, 8)}, last="offset")


def narrow(X=None):
    return draw((3, 2, 4, 6))


def half(X):
    return X.half(),


def holds(given, wanted):
    """Whether a 16-bit result has two right digits, in words."""
    right = isinstance(given, Tensor) and torch.allclose(given.float(), wanted, atol=0.02)
    return t("yes") if right else t("no")


def in_half(answer):
    given, wanted = TRIAL.run(answer, 3000, change=half)[1], TRIAL.run(Rotary, 3000)[1]
    return {t("The dtype of the output for X in torch.float16"): str(given.dtype),
            t("For X in torch.float16 and offset=3000, two digits hold"): holds(given, wanted)}


def cast(answer):
    layer, X = build(answer, Rotary, 6).half(), narrow()[0]
    given = trying("After .half(), forward(X, offset)", layer, X.half(), 100_000)
    return {t("After .half(), for X in torch.float16 and offset=100,000, two digits hold"):
            holds(given, Rotary(6)(X, 100_000))}


def device(answer):
    output = trying("On another device ('meta'), forward(X)", build(answer, Rotary, 8).to("meta"),
                    torch.zeros(2, 3, 5, 8, device="meta"))
    return {t("The device of the output for X on 'meta'"): str(getattr(output, "device", "none"))}


EXERCISES = [FromScratch(
    "rotary-class", Rotary, TURNING,
    sizes="batch 2, 3 heads, 5 steps, head size 8, and batch 3, 2 heads, 4 steps, head size 6",
    stages=[TRIAL.shows("The output"),
            TRIAL.shows("The output for head size 6", sizes=(6,), change=narrow), TRIAL.keeps(3),
            TRIAL.shows("The output with offset=3", 3),
            TRIAL.shows("The output with offset=11", 11),
            TRIAL.shows("The output with base=100.0", 3, base=100.0), TRIAL.learns(3),
            TRIAL.nears("The output with offset=100,000", 100_000), in_half, cast, device,
            refuses("The error for head_size=7, which is odd", 7)])]
