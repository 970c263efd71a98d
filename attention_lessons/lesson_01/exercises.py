"""The exercises of lesson 01, attention pooling."""
import math
from dataclasses import dataclass

import torch

from ..exercises.kinds import Build, Exercise
from ..languages import t


# ---- pooling ----

def pooling_inputs():
    first = torch.randn(4, 6), torch.randn(5, 6), torch.randn(5, 3)
    other = torch.randn(3, 5), torch.randn(7, 5), torch.randn(7, 2)
    queries, keys, values = torch.randn(2, 16), torch.randn(4, 16), torch.randn(4, 5)
    # Eighths and a width of 16: whatever the order of the operations, these products and their
    # quarters are exact in float32, or right answers would differ where scores are this low.
    queries, keys = queries.mul(8).round() / 8, keys.mul(8).round() / 8
    low = 26.5 + queries, -26.5 + keys / 4, values  # all scores near one another, about -2800
    lower = 1000 + 8 * queries, -750 - 64 * keys, values  # about -3e6, and thousands apart
    # In the first mask every row both shows and hides a key: an added -inf * 0 and a mask that is
    # upside down differ there. In the second, one row hides all. In the last two, one row hides
    # higher scores than it shows, the other none or a lower one.
    nearly_all = torch.ones(4, 5).bool().fill_diagonal_(False)
    keep = torch.tensor([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]])
    middle = torch.ones(3, 7).bool().tril(3).triu(-1)
    one, two = torch.tensor([[[1, 0, 0, 0], [1, 1, 1, 1]], [[1, 1, 0, 0], [0, 1, 1, 1]]]).bool()
    return [(*first, nearly_all), (*first, keep.bool()), (*other, middle), (*low, one),
            (*lower, two)]


def pooling(queries, keys, values, keep):
    scores = queries @ keys.T / math.sqrt(queries.shape[-1])
    hidden = scores.masked_fill(~keep, -1e9)
    weights = hidden.softmax(-1) * keep
    return weights @ values, weights


# ---- lengths ----

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


# ---- defeat ----

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


# ---- kernel ----

def regression(x, known_x, known_y, sigma):
    distance = x[:, None] - known_x
    scores = -distance**2 / (2 * sigma**2)
    weights = scores.softmax(-1)
    return weights @ known_y


@dataclass
class AllPairs(Build):
    """Build. An answer whose axes don't fit is tried again with as many points as known points.

    Then it runs, and what it returns tells which axes it has confused.
    """

    def raised(self, answer, case, error):
        *_, known_y, sigma = case
        square = known_y.cos(), known_y.sin(), known_y, sigma
        return self.known(answer, [square]) or super().raised(answer, case, error)


EXERCISES = [
    Build("pooling", pooling, pooling_inputs),
    BuildMask("lengths", length_mask, lengths_inputs),
    DefeatedMask("defeat"),
    AllPairs("kernel", regression,
             lambda: [(torch.randn(4), *torch.randn(2, 7), sigma) for sigma in (0.7, 2.0)]),
]
