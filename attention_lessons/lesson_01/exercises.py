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


SCALE, HIDE, WEIGHTS = (
    "math.sqrt(queries.shape[-1])", "scores.masked_fill(~keep, -1e9)", "hidden.softmax(-1) * keep")
CLEAR = " * keep", ""
NOT_LOW = "", ".clamp(min=1e-30)"  # a row of zeros comes out as nan, or as zeros
POOLING = [
    *((HIDE, "scores + ~keep * -math.inf", WEIGHTS, f"hidden.softmax(-1){cleared}",
       "Your weights are NaN: (~keep) * -inf is 0 · -inf = NaN where nothing is hidden. Use "
       "masked_fill.") for cleared in ("", ".where(keep, 0)")),
    ("softmax(-1)", "softmax(0)",
     "Your columns sum to 1: the softmax is over the queries, the wrong axis. Keys are the "
     "last axis: softmax(-1)."),
    (SCALE, "1",
     "The scores are not scaled. Divide them by the square root of the width of the queries."),
    (SCALE, "2",
     "You divide by 2 = math.sqrt(4), the root of the lesson's width. Here the width is "
     "another: queries.shape[-1]."),
    *((SCALE, f"math.sqrt(len({tokens}))",
       "You divide by the root of a number of tokens. What counts is the width of a query: "
       "queries.shape[-1].") for tokens in ("keys", "queries")),
    (SCALE, "math.sqrt(values.shape[1])",
     "You divide by the root of the values' width. What counts is the width of a query."),
    ("/ math", "* math", "You multiply by the root of the width: divide."),
    (SCALE, "queries.shape[-1]",
     "You divide by the width, not by its square root: the weights come out too even."),
    (WEIGHTS, "scores.softmax(-1)",
     "The mask has no effect: where keep is False, the weight must be 0."),
    *(("~keep, -1e9", f"keep, {fill}", CLEAR[0], cleared,
       "The mask is upside down: True marks what may be attended to, and you hide exactly "
       "that.") for fill, cleared in (("-1e9", " * ~keep"), ("-1e9", ""), ("-math.inf", ""))),
    ("~keep", "keep",
     "The mask is upside down where you hide: masked_fill(keep, ...) overwrites what may be "
     "seen. Hide ~keep, then multiply with keep."),
    (WEIGHTS, "scores.softmax(-1) * keep",
     "You hide keys after the softmax, so the weights that are left no longer sum to 1. Hide "
     "the scores before it."),
    *((WEIGHTS, f"(left := scores.softmax(-1) * keep) / left.sum(-1, keepdim=True){clamped}",
       "You hide keys after the softmax and divide by what is left. Where a hidden score is "
       "far above the others, nothing is left. Hide before the softmax.")
      for clamped in NOT_LOW),
    *((WEIGHTS, f"(left := scores.exp() * keep) / left.sum(-1, keepdim=True){clamped}",
       "Where all visible scores are low, such as -2800, your own exponentials round to 0. "
       "Hide, then leave it to softmax: it subtracts the row's largest score first.")
      for clamped in NOT_LOW),
    *((HIDE, "scores * keep", WEIGHTS, f"hidden.softmax(-1){cleared}",
       "A score multiplied by 0 is 0, and a score of 0 still gets weight. Hide it with a very "
       "low number instead.") for cleared in ("", CLEAR[0])),
    *(("-1e9", fill, CLEAR[0], cleared,
       "Your number is not low enough to hide with: where the visible scores are lower still, "
       "such as -3e6, the hidden keys win. Use minus infinity, or the lowest number of the "
       "type.") for fill in ("-100", "-1e4") for cleared in CLEAR),
    (*CLEAR,
     "All right except for the query that may attend to nothing: it gets the mean of hidden "
     "values. It should get zeros."),
    ("-1e9", "-math.inf", *CLEAR,
     "All right except for the query that may attend to nothing: its row is 0 divided by 0, "
     "which is NaN, and NaN · 0 stays NaN. Hide with the lowest number, then multiply the "
     "weights with keep."),
    ("@ values", "@ keys",
     "The weights are right. The output mixes the values, and yours mixes the keys."),
    ("weights @ values",
     "The output is right. Return the weights as well: return output, weights."),
    ("weights, weights @ values",
     "The two results have changed places: first the output, then the weights."),
]


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


COLUMN, COMPARED = "lens[:, None].expand(-1, queries)", "torch.arange(keys) < "
OTHERS = ("A sentence's queries get the lengths of other sentences. Each length belongs to all "
          "queries of its own sentence: make it a column with [:, None], or repeat_interleave it. "
          "repeat would deal the lengths out in turn.")
NO_AXIS = ("The axis of the queries is missing: (batch, keys) should be (batch, queries, keys). "
           "Every query of a sentence gets the same row.")
SHORT_AXIS = "Right except for the shape: expand the axis of the queries from 1 to their number."
LENGTHS = [  # lengths per sentence, and in some slips per query too
    ("<", ">=",
     "Upside down: True marks keys that may be attended to, so the first valid_lens are True."),
    ("<", "<=", "One key too many: a length of 2 means positions 0 and 1, so compare with <."),
    ("arange(keys)", "arange(1, keys + 1)",
     "One key too few: a length of 2 means positions 0 and 1, and torch.arange counts from 0."),
    (COLUMN, "lens.repeat(queries).reshape(-1, queries)", OTHERS),
    (COLUMN, "lens.expand(len(lens), -1)", OTHERS),
    (f"({COMPARED}(lens[:, None] if lens.dim() == 1 else lens)).expand(len(lens), -1, -1)", OTHERS),
    ("arange(keys)", "arange(keys).flip(0)",
     "You keep the last keys. Padding stands at the end: the first valid_lens keys are the "
     "real ones."),
    (f"{COMPARED}lens[:, None]", NO_AXIS),
    ("each[:, :, None]", "(lens[:, None] if lens.dim() == 1 else each[:, :, None])", NO_AXIS),
    (f"{COMPARED}lens[:, None, None]", SHORT_AXIS),
    (".expand(-1, queries)", "", SHORT_AXIS),
]


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
        above = "far above -1e6" if visible.max() >= -1e6 + 100 else "just above -1e6"
        words = t("Your visible scores are {0}, so the hidden key gets nothing.", t(above))
        if visible.min() < -1e6:
            words = t("One visible score is {0}: both must be lower.", t(above))
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


PAIRS = "x[:, None] - known_x"
KERNEL = [
    *((PAIRS, "known_x[:, None] - x", "softmax(-1)", f"softmax({axis})",
       "Your differences are turned around: known points in the rows, new points in the "
       "columns. Rows are queries, here the new points: x[:, None] - known_x, and "
       "softmax(-1).") for axis in (-1, 0)),
    *((PAIRS, "x - known_x", "weights @", f"weights {times}",
       "x - known_x compares the first with the first, the second with the second. Each x "
       "needs its distance to every known point: x[:, None] - known_x.") for times in "@*"),
    ("-distance", "distance", "The minus is missing: far points get the most weight."),
    ("distance**2", "distance.abs()",
     "Square the distance; its absolute value gives another kernel."),
    ("distance**2", "distance",
     "Square the distance: as it is, one side of x counts as nearer than x itself."),
    ("scores.softmax", "scores.exp().softmax",
     "The softmax takes the exponential itself: give it the scores as they are."),
    ("weights @ known_y / len(known_x)",
     "You take the mean of weight times y. The weights sum to 1 already: add up."),
    ("known_y.mean().expand(len(x))",
     "Every x gets the plain mean. Near points should count more."),
    ("(2 * sigma**2)", "(2 * sigma) ** 2",
     "You square the 2 as well: only sigma is squared, 2 * sigma**2."),
    (" / (2 * sigma**2)", "", "sigma has no effect: divide by 2 sigma²."),
    ("sigma**2", "sigma", "sigma needs a square as well: divide by 2 sigma²."),
    ("(2 * sigma**2)", "sigma**2", "The 2 is missing: divide by 2 sigma²."),
    ("(2 * sigma**2)", "2 * sigma**2",
     "You multiply by sigma²: in a / 2 * b Python divides by 2 alone. Put 2 * sigma**2 in "
     "brackets."),
    ("scores.softmax(-1)", "scores.exp()",
     "The weights don't sum to 1: take the softmax, not the exponential alone."),
    ("softmax(-1)", "softmax(0)",
     "The softmax is over the queries: the weights of a known point sum to 1. Those of each "
     "query must: use the last axis, the known points."),
    ("known_y[distance.abs().argmin(-1)]",
     "That is the nearest point's y alone. Every point counts, near ones more."),
]


EXERCISES = [
    Build("pooling", pooling, POOLING, pooling_inputs),
    BuildMask("lengths", length_mask, LENGTHS, lengths_inputs),
    DefeatedMask("defeat"),
    AllPairs("kernel", regression, KERNEL,
             lambda: [(torch.randn(4), *torch.randn(2, 7), sigma) for sigma in (0.7, 2.0)]),
]
