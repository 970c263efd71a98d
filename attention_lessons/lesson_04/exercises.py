"""The exercises of lesson 04, masks."""
import math
from dataclasses import dataclass

import torch

from ..exercises.classes import FromScratch, ClassTrial
from ..exercises.heads import LENGTHS, REFUSES, Heads, eighths, low_scores
from ..exercises.kinds import Build, Drawing, Exercise
from ..languages import t


def pooling_inputs():
    first = torch.randn(4, 6), torch.randn(5, 6), torch.randn(5, 3)
    other = torch.randn(3, 5), torch.randn(7, 5), torch.randn(7, 2)
    queries, keys = eighths()
    values = torch.randn(4, 5)
    lower = 1000 + 8 * queries, -750 - 64 * keys, values  # about -3e6, and thousands apart
    # In the first mask every row both shows and hides a key: an added -inf * 0 and a mask that is
    # upside down differ there. In the second, one row hides all. In the last two, one row hides
    # higher scores than it shows, the other none or a lower one.
    nearly_all = torch.ones(4, 5).bool().fill_diagonal_(False)
    keep = torch.tensor([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]])
    middle = torch.ones(3, 7).bool().tril(3).triu(-1)
    one, two = torch.tensor([[[1, 0, 0, 0], [1, 1, 1, 1]], [[1, 1, 0, 0], [0, 1, 1, 1]]]).bool()
    return [(*first, nearly_all), (*first, keep.bool()), (*other, middle),
            (*low_scores(queries, keys), values, one), (*lower, two)]


def pooling(queries, keys, values, keep):
    scores = queries @ keys.T / math.sqrt(queries.shape[-1])
    hidden = scores.masked_fill(~keep, -1e9)
    weights = hidden.softmax(-1) * keep
    return weights @ values, weights


def packed():
    """Two sentences in one row of five tokens, of three and two words, read from left to right."""
    sentence, place = torch.tensor([0, 0, 0, 1, 1]), torch.arange(5)
    same = sentence == sentence[:, None]
    past = place <= place[:, None]
    return same & past


class SelfHeads(Heads):
    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__(num_hiddens, num_heads)
        self.causal = causal

    def forward(self, X, valid_lens=None):
        keep = torch.ones(len(X), 1, *[X.shape[1]] * 2, dtype=torch.bool)
        if self.causal:
            keep = keep.tril()
        if valid_lens is not None:
            past, real = keep, torch.arange(X.shape[1]) < valid_lens[:, None, None, None]
            keep = past & real
        return self.attend(X, X, X, keep)


KNOWN = {
    r"(?:must match.*\(3\)|\(3\) must match)":  # no axis but the batch has 3
    "Where scores are (batch, heads, queries, keys), lengths need four axes: "
    "valid_lens[:, None, None, None].",
    "shape of the mask": "An index must have the scores' own shape. "
    "masked_fill stretches axes of length 1: scores.masked_fill(~keep, lowest)."}
TRIAL = ClassTrial(SelfHeads, (10, 2), {"X": (3, 7, 10)}, "valid_lens", KNOWN)


def low(X):
    """All steps of a sentence alike, so that its scores are, and millions from 0."""
    return 1e4 * X[:, :1].expand_as(X).double(),


def apart(X):
    """Scores of thousands, in float64: single precision would not agree on them."""
    return 60 * X.double(),


@dataclass
class BuildMask(Build):
    """Build a boolean mask: numbers 0 and 1 can't be used with ~ and masked_fill."""

    def fault(self, answer):
        if words := super().fault(answer):
            return words
        for case in self.inputs():
            if (dtype := self.run(answer, case).dtype) != torch.bool:
                return t("The numbers are right, but a mask is boolean, and yours is {0}. A "
                         "comparison gives booleans.", dtype)


def lengths_inputs():
    per_query = torch.tensor([[1, 3, 0], [4, 2, 4]])
    return [(torch.tensor([2, 0, 4]), 3, 5), (torch.tensor([3, 1]), 4, 6), (per_query, 3, 4)]


def length_mask(lens, queries, keys):
    each = lens[:, None].expand(-1, queries) if lens.dim() == 1 else lens
    return torch.arange(keys) < each[:, :, None]


@dataclass
class DefeatedMask(Exercise):
    """Break: three scores whose last one wins although -1e6 is written over it."""

    def fault(self, answer):
        scores = torch.as_tensor(answer, dtype=torch.float32).detach()
        if scores.shape != (3,):
            return t("Give three scores, got shape {0}.", tuple(scores.shape))
        if not scores.isfinite().all():
            return ("Finite scores only: with infinity it would be too easy, and NaN breaks any "
                    "softmax.")
        visible, last = scores[:2], scores[2]
        weight = torch.tensor([*visible, -1e6]).softmax(-1)[2].item()
        if weight > 0.9:
            return None
        if weight >= 0.01:
            return t("Close: the hidden key gets {0} of the weight. How do both visible scores "
                     "compare with -1e6?", f"{weight:.2f}")
        far = visible.max() >= -1e6 + 100
        above = t("far above -1e6") if far else t("just above -1e6")
        words = t("Your visible scores are {0}, so the hidden key gets nothing.", above)
        if visible.min() < -1e6:
            words = t("One visible score is {0}: both must be lower.", above)
        if last > visible.max():
            words = t("The last score is overwritten, whatever you choose. {0}", words)
        return words


EXERCISES = [
    Build("pooling", pooling, pooling_inputs),
    Drawing("draw-mask", packed),
    FromScratch("self-attention-class", SelfHeads, stages=[
        TRIAL.shows("The output with one head, nothing hidden", sizes=(10,)),
        TRIAL.shows("The output with 2 heads, nothing hidden"),
        TRIAL.shows("The output with causal=True", causal=True),
        TRIAL.shows("The output with lengths 0, 3, 5", LENGTHS),
        TRIAL.shows("The output with causal=True and lengths 0, 3, 5", LENGTHS, causal=True),
        TRIAL.shows("The output with both masks and scores far below -1e6", LENGTHS,
                    causal=True, change=low),
        TRIAL.shows("The output with both masks and scores far apart", LENGTHS,
                    causal=True, change=apart),
        TRIAL.learns(LENGTHS, causal=True),
        REFUSES]),
    BuildMask("lengths", length_mask, lengths_inputs),
    DefeatedMask("defeat"),
]
