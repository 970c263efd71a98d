"""The exercises of lesson 10, writing with a cache."""
import math
from dataclasses import dataclass

import torch
from torch import nn

from ..exercises.classes import FromScratch, ClassTrial, TensorCounter, build, refuses, trying
from ..exercises.kinds import Build, Choice, NotYet
from ..languages import t


EMPTY = -math.inf, 0.0, 0.0


def merge(one, other):
    (m, s, x), (n, t, y) = one, other
    new = max(m, n)
    a, b = s * math.exp(m - new), t * math.exp(n - new)
    return new, a + b, (a * x + b * y) / (a + b)


LAYERS, HEADS, WIDTH, STEPS, BYTES = 40, 32, 128, 32_768, 2


@dataclass
class Design(Choice):
    """Sizes that keep a budget, and the letter of the argument that defends them."""

    def fault(self, answer):
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            return t("Give three things, such as {0}.", '(16, 1000, "a")')
        pairs, window, because = answer
        if not pairs and not window and not because:
            raise NotImplementedError
        if not isinstance(pairs, int) or not isinstance(window, int) or window < 1:
            return t("pairs and w are whole numbers, at least 1; got {0} and {1}.", repr(pairs),
                     repr(window))
        if pairs < 4 or HEADS % pairs:
            return t("{0} pairs won't do: 32 heads are shared out evenly, and at least 4 pairs "
                     "stay.", pairs)
        kept = min(window, STEPS)
        needed = LAYERS * 2 * pairs * WIDTH * kept * BYTES / 2**30
        if needed > 2:
            return t("It needs {0} GiB: 40 layers, 2 · {1} · 128 numbers for each of {2} tokens, "
                     "2 bytes a number.", f"{needed:.4f}", pairs, f"{kept:,}")
        if LAYERS * window < STEPS - 1:
            return t("It fits. But through 40 layers the last token hears of {0} tokens before "
                     "it, and the first is 32,767 back.", f"{LAYERS * window:,}")
        if not because:
            raise NotYet(t("Both sizes are right. Now defend them: because."))
        return super().fault(because)


def layers(n, w):
    return math.ceil((n - 1) / w)


def keys_seen(i, queries, keys):
    shown = list(range(i + 1))
    should_see = list(range(keys - queries + i + 1))
    return shown, should_see


class Tiles(nn.Module):
    def __init__(self, tile):
        super().__init__()
        if tile < 1:
            raise ValueError
        self.tile = tile

    def forward(self, queries, keys, values):
        largest = torch.full_like(queries[..., :1], -torch.inf)
        total, summed = torch.zeros_like(largest), 0 * queries[..., :1] * values[:, :, :1]
        for K, V in zip(keys.split(self.tile, 2), values.split(self.tile, 2)):
            scores = queries @ K.mT / queries.shape[-1] ** 0.5
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            factor, powers = (largest - new).exp(), (scores - new).exp()
            total = total * factor + powers.sum(-1, keepdim=True)
            summed = summed * factor + powers @ V
            largest = new
        return summed / total


TRIAL = ClassTrial(Tiles, (3,), {
    "queries": (2, 3, 4, 5), "keys": (2, 3, 7, 5), "values": (2, 3, 7, 6)})


def loud(factor):
    """Scores of hundreds, of either sign, in float64."""
    return lambda queries, keys, values: (factor * queries.double(), keys.double(), values.double())


def low(queries, keys, values):
    """Scores of -300, give or take 1, in float32: exactly, in whatever order they are computed."""
    steps = torch.arange(7).remainder(3)[:, None].expand(2, 3, 7, 4)
    return torch.full((2, 3, 4, 4), 8.0), -18.75 - steps / 64, values


def memory(answer):
    layer, n = build(answer, Tiles, 4), 64
    with TensorCounter() as seen:
        trying("forward(queries, keys, values)", layer, *torch.zeros(3, 1, 1, n, 2))
    return {t("A tensor with a number for each query and key is made"):
            t("yes") if seen.largest >= n * n else t("no"),
            t("PyTorch's own attention is called"): t("yes") if seen.fused else t("no")}


EXERCISES = [
    Build("merge-states", merge,
          lambda: [((1.0, 1.5, 4.0), (3.0, 1.25, 10.0)), ((3.0, 2.0, -1.0), (1.0, 2.5, 5.0)),
                   ((0.5, 3.0, 2.0), (0.5, 1.0, 6.0)), ((2.0, 1.0, 3.0), (1000.0, 1.5, 5.0)),
                   (EMPTY, (2.0, 1.5, 7.0)), ((1000.0, 1.25, 2.0), (999.0, 4.0, 8.0))]),
    Design("defend-cache"),
    Build("window-layers", layers,
          lambda: [(24, 4), (9, 4), (10, 4), (100, 7), (2, 5), (17, 1)]),
    Build("top-left", keys_seen, lambda: [(0, 1, 4), (1, 2, 5), (2, 3, 3), (0, 2, 6)]),
    FromScratch("tiles-class", Tiles, stages=[
        *(TRIAL.shows(t("The output with tile={0}", tile), sizes=(tile,))
          for tile in (7, 3, 1)),
        TRIAL.shows("The output with tile=100, more than there are keys", sizes=(100,)),
        TRIAL.keeps(),
        *(TRIAL.shows(t("The output for queries times {0}, in float64", factor),
                      change=loud(factor)) for factor in (1000, -1000)),
        TRIAL.shows("The output for scores near -300", change=low), memory, TRIAL.learns(),
        refuses("The error for tile=0", 0)]),
]
