"""The class that lesson 02 asks for, and the ways to go wrong in it."""
import torch

from ..exercises.classes import FromScratch, Trial, build, draw, factors, in_words
from ..exercises.heads import (
    DETACHED, KNOWN, LENGTHS, MASKING, MERGE, MODE, REFUSES, UNCHECKED, WEIGHING, Heads)
from ..languages import t

DROP = "nn.functional.dropout(weights, self.p, self.training)"
DROPPING = [
    MODE,
    (DROP, "weights",
     "Dropout has no effect on the weights. It belongs after the softmax, before the weights "
     "meet the values."),
    (DROP, "weights", MERGE, f"nn.functional.dropout({MERGE}, self.p, self.training)",
     "You drop numbers of the answers. Here dropout acts on the weights: a head's answer to "
     "one key is kept or dropped as a whole."),
    (DROP, "weights * (torch.rand(weights.shape) > self.p) if self.training else weights",
     "What is kept must be divided by 1 - dropout, so that the mean stays as it is. "
     "nn.Dropout does both."),
]


def low(queries, keys, values):
    """All keys of a sentence alike, so that its scores are, and millions from 0, on either side."""
    return 1e8 * queries.double(), keys[:, :1].expand_as(keys).double(), values.double()


def apart(queries, keys, values):
    """Scores of hundreds, in float64: single precision would not agree on them."""
    return 200 * queries.double(), keys.double(), values.double()


def dropping(answer):
    """With one key each weight is 1, so a head's output is its value, kept or dropped."""
    layer = build(answer, Heads, 10, 2, dropout=0.2)
    layer.W_o.load_state_dict({"weight": torch.eye(10)})
    found = factors(layer, draw((3, 40, 10), (3, 1, 10), (3, 1, 10)))
    kept = found.unflatten(-1, (2, 5)) > 0.5
    whole = (kept == kept[..., :1]).all()
    single = (kept[:, :, 0] != kept[:, :, 1]).any() and (kept != kept[:, :1]).any()
    return {t("In training mode with dropout=0.2 and a single key, a head's answer is multiplied "
              "by"): in_words(found),
            t("In training mode with dropout=0.2 and a single key, a head's answer is kept or "
              "dropped as a whole"): t("yes") if whole else t("no"),
            t("In training mode with dropout=0.2 and a single key, heads and queries are dropped "
              "independently"): t("yes") if single else t("no")}


TRIAL = Trial(Heads, (10, 2), options={"dropout": 0.0, "bias": False}, last="valid_lens",
              inputs={"queries": (3, 4, 10), "keys": (3, 7, 10), "values": (3, 7, 10)}, known=KNOWN)


EXERCISES = [FromScratch(
    "multi-head-class", Heads, [*WEIGHING, *MASKING, DETACHED, *DROPPING, UNCHECKED],
    sizes="batch 3, 4 queries, 7 keys, 2 heads of width 5",
    stages=[TRIAL.shows("The output"), TRIAL.shows("The output with bias=True", bias=True),
            TRIAL.shows("The output with lengths 0, 3, 5", LENGTHS),
            TRIAL.shows("The output with lengths 0, 3, 5 and bias=True", LENGTHS, bias=True),
            TRIAL.shows("The output with lengths 0, 3, 5 and scores far below -1e6", LENGTHS,
                        change=low),
            TRIAL.shows("The output with lengths 0, 3, 5 and scores far apart", LENGTHS,
                        change=apart),
            TRIAL.learns(LENGTHS, bias=True), TRIAL.evaluates(LENGTHS), dropping, REFUSES])]
