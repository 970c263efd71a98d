"""The exercises of lesson 08, coming from d2l."""
import torch

from ..exercises.kinds import Build, Repair


# ---- unfold-weights ----

def unfold(weights, num_heads):
    return weights.unflatten(0, (-1, num_heads)).transpose(0, 1)


UNFOLD_WEIGHTS = [
    ("(-1, num_heads)).transpose(0, 1)", "(num_heads, -1))",
     "The shape is right and sentences are mixed up: a sentence's heads follow one another, "
     "so the batch is the outer axis. Take it apart as (batch, heads), then swap."),
    (".transpose(0, 1)", "",
     "Correctly unfolded, but the batch stands in front: result[i] should be head i."),
    ("(0, 1)", "(0, 1).mT", "Queries and keys changed places: rows are queries."),
    (".transpose(0, 1)", "[:, 0]",
     "You keep each sentence's first head. All heads are wanted, on an axis of their own."),
    ("transpose(0, 1)", "sum(1)", "You add the heads up. Each should keep its own map."),
    ("transpose(0, 1)", "mean(1)", "You average the heads. Each should keep its own map."),
    ("weights", "Still folded: the first axis holds sentences and heads."),
]


# ---- mend-weights ----

def scores_inputs():
    """Usual scores, and scores far below -1e6 and far apart, exact in either precision."""
    scores = torch.randn(4, 2, 5)
    lens = torch.tensor([2, 5, 0, 3])
    return [(scores, lens), (scores.mul(8).round() * 2**20 - 2**42, lens)]


def weigh(scores, valid_lens):
    places = torch.arange(scores.shape[-1])
    keep = (places < valid_lens[:, None, None]).expand_as(scores)
    hidden = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    return hidden.softmax(-1) * keep


LOWEST, INTO = "torch.finfo(scores.dtype).min", "masked_fill_("
HANDED_IN = ("The weights are right, and the scores that were handed in are changed: index "
             "assignment and masked_fill_ write into them. masked_fill makes a new tensor.")
TOO_HIGH = ("Where visible scores are lower still, a hidden key wins: -1e6 or -1e9 is a number "
            "like any other. Fill with the lowest of the type, torch.finfo(scores.dtype).min.")
EMPTY = ("Nearly: where a sentence has no key, its queries still read the padding. Multiply the "
         "weights by the mask.")
MEND_WEIGHTS = [
    ("masked_fill(", INTO, HANDED_IN), (LOWEST, "-1e6", TOO_HIGH),
    (" * keep", "", EMPTY), ("masked_fill(", INTO, LOWEST, "-1e6", TOO_HIGH),
    ("masked_fill(", INTO, " * keep", "", EMPTY), (LOWEST, "-1e6", " * keep", "", TOO_HIGH),
    *((LOWEST, "-torch.inf", " * keep", cleared,
       "A row of minus infinities is NaN after the softmax, and NaN times 0 stays NaN. Fill "
       "with the lowest finite number, then multiply by the mask.")
      for cleared in (" * keep", "")),
]


EXERCISES = [
    Build("unfold-weights", unfold, UNFOLD_WEIGHTS,
          lambda: [(torch.rand(6, 4, 5), 2), (torch.rand(8, 3, 6), 4)]),
    Repair("mend-weights", weigh, MEND_WEIGHTS, scores_inputs,
           given=("masked_fill(", INTO, LOWEST, "-1e6", " * keep", "", "")),
]
