"""The exercises of lesson 06, relative positions."""
import torch
from torch import Tensor, nn

from d2l_ext.relative import T5RelativeBias
from ..exercises.classes import FromScratch, ClassTrial, build, draw, refuses, trying
from ..exercises.kinds import Build
from ..languages import t


def rows(queries, keys, c):
    first = keys - queries
    query = first + torch.arange(queries)[:, None]
    offset = torch.arange(keys) - query
    row = offset.clamp(-c, c) + c
    return row


def beyond_training(whole, trained, length):
    beyond = (whole * length - trained) / (length - trained)
    return beyond


def untrained(bucket, num_buckets, trained):
    reached = bucket(torch.arange(1 - trained, trained)).unique().tolist()
    return sorted({*range(num_buckets)} - {*reached})


def untrained_inputs():
    standard, small = T5RelativeBias(1), T5RelativeBias(1, 8, 6)
    return [(standard.bucket, 32, 16), (small.bucket, 8, 4), (standard.bucket, 32, 9)]


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


TRIAL = ClassTrial(Rotary, (8,), {"X": (2, 3, 5, 8)}, last="offset")


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


EXERCISES = [
    Build("offset-rows", rows, lambda: [(3, 5, 2), (4, 4, 1), (2, 7, 3), (5, 6, 9)]),
    Build("unmask", beyond_training,
          lambda: [(0.31, 16, 64), (0.53, 16, 32), (0.7, 8, 20)]),
    Build("untrained", untrained, untrained_inputs),
    FromScratch("rotary-class", Rotary, stages=[
        TRIAL.shows("The output"),
        TRIAL.shows("The output for head size 6", sizes=(6,), change=narrow), TRIAL.keeps(3),
        TRIAL.shows("The output with offset=3", 3),
        TRIAL.shows("The output with offset=11", 11),
        TRIAL.shows("The output with base=100.0", 3, base=100.0), TRIAL.learns(3),
        TRIAL.nears("The output with offset=100,000", 100_000), in_half, cast, device,
        refuses("The error for head_size=7, which is odd", 7)]),
]
