"""The class that lesson 09 asks for, and the ways to go wrong in it."""
import torch
from torch import nn

from ..exercises.classes import FromScratch, Trial, Watch, build, refuses, trying
from ..languages import t


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


MORE = "summed = summed * factor + powers @ V"
SUM = "total = total * factor + powers.sum(-1, keepdim=True)"
NEW = "torch.maximum(largest, scores.amax(-1, keepdim=True))"
TILING = [
    (SUM, "total = total + powers.sum(-1, keepdim=True)", MORE, "summed = summed + powers @ V",
     "Nothing is rescaled: when a larger score comes, sum and output so far must be "
     "multiplied by exp(old maximum - new maximum)."),
    (SUM, "total = total + powers.sum(-1, keepdim=True)",
     "The output is rescaled, but not the sum. Both were made with the old maximum."),
    (MORE, "summed = summed + powers @ V",
     "The sum is rescaled, but not the output. Both were made with the old maximum."),
    (NEW, "scores.amax(-1, keepdim=True)",
     "Your maximum is that of the last tile. It is the largest so far, old or new."),
    ("return summed / total", "return summed",
     "Not divided: the output is the weighted sum, divided by the sum of the powers."),
    (" / queries.shape[-1] ** 0.5", "",
     "The scores are not scaled: divide by the square root of the queries' width."),
    ("keys.split(self.tile, 2)", "keys.split(self.tile, 2)[:keys.shape[2] // self.tile or 1]",
     "The last keys are lost where the tiles don't fit: the last tile may be smaller."),
    (NEW, "0 * largest.nan_to_num()",
     "factor, powers = (largest - new).exp(), (scores - new).exp()",
     "factor, powers = 1.0, scores.exp()",
     "Powers of the scores themselves overflow. Take the largest score so far off first."),
    ("-torch.inf", "0.0",
     "Where all scores are low, nothing is left of their powers: your first maximum is above "
     "them all. Begin with -inf."),
    ("scores = queries @ K.mT / queries.shape[-1] ** 0.5", "scores = queries @ K.mT",
     "        largest = torch", "        queries /= queries.shape[-1] ** 0.5; largest = torch",
     "forward changes the queries it is given: /= and *= write into them. Write queries / "
     "..., which is a new tensor."),
    ("keys.split(self.tile, 2), values.split(self.tile, 2)",
     "keys.split(keys.shape[2], 2), values.split(values.shape[2], 2)",
     "The numbers are right, but all scores are made at once. Take `tile` keys at a time."),
    ("return summed / total",
     "return nn.functional.scaled_dot_product_attention(queries, keys, values)",
     "PyTorch's own function does it for you. Take `tile` keys at a time."),
    ("(scores - new).exp()", "(scores - new).exp().detach()",
     "The powers are cut off from the graph: queries and keys get a wrong gradient, or none."),
    ("if tile < 1:", "if False:", "A tile of 0 keys passes. The promise asks for a ValueError."),
]
TRIAL = Trial(Tiles, (3,), {"queries": (2, 3, 4, 5), "keys": (2, 3, 7, 5), "values": (2, 3, 7, 6)})


def loud(factor):
    """Scores of hundreds, of either sign, in float64."""
    return lambda queries, keys, values: (factor * queries.double(), keys.double(), values.double())


def low(queries, keys, values):
    """Scores of -300, give or take 1, in float32: exactly, in whatever order they are computed."""
    steps = torch.arange(7).remainder(3)[:, None].expand(2, 3, 7, 4)
    return torch.full((2, 3, 4, 4), 8.0), -18.75 - steps / 64, values


def memory(answer):
    layer, n = build(answer, Tiles, 4), 64
    with Watch() as seen:
        trying("forward(queries, keys, values)", layer, *torch.zeros(3, 1, 1, n, 2))
    return {t("A tensor with a number for each query and key is made"):
            t("yes") if seen.largest >= n * n else t("no"),
            t("PyTorch's own attention is called"): t("yes") if seen.fused else t("no")}


EXERCISES = [FromScratch(
    "tiles-class", Tiles, TILING,
    sizes="batch 2, 3 heads, 4 queries, 7 keys",
    stages=[*(TRIAL.shows(t("The output with tile={0}", tile), sizes=(tile,))
              for tile in (7, 3, 1)),
            TRIAL.shows("The output with tile=100, more than there are keys", sizes=(100,)),
            TRIAL.keeps(),
            *(TRIAL.shows(t("The output for queries times {0}, in float64", factor),
                          change=loud(factor)) for factor in (1000, -1000)),
            TRIAL.shows("The output for scores near -300", change=low), memory, TRIAL.learns(),
            refuses("The error for tile=0", 0)])]
