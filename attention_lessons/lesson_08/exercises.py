"""The exercises of lesson 08, coming from d2l."""
import torch

from ..exercises.kinds import Build, Choice, Order, Repair

EXERCISES = []


EXERCISES.append(Choice(
    "older-order", right="b",
    praise="Right: keys first, then queries, then values; and weights are (outputs, inputs).",
    hints=["The signature is in the table of 'Four matrices, many signatures'.",
           "Which of 6, 4 and 7 belongs to the queries? "
           "And a linear layer's weight is (outputs, inputs)."],
    reasons={
        "a": "In 0.17 the first number is the keys' width, not the queries'.",
        "c": "The right two numbers, turned around: a linear layer's weight is (outputs, inputs).",
        "d": "Only W_o is square here: the queries come with a width of their own.",
    }))


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

EXERCISES.append(Build(
    "unfold-weights", reference=unfold, slips=UNFOLD_WEIGHTS,
    inputs=lambda: [(torch.rand(6, 4, 5), 2), (torch.rand(8, 3, 6), 4)],
    praise="Right: out of the batch, then to the front.",
    hints=["The first axis counts sentence 0 head 0, sentence 0 head 1, and so on. "
           "Which of the two is the outer one?",
           "weights.unflatten(0, (-1, num_heads)) "
           "gives (batch, heads, queries, keys). What is left to do?"]))


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
TOO_HIGH = ("Where visible scores are lower still, a hidden key wins: -1e6 is a number like any "
            "other. Fill with the lowest of the type, torch.finfo(scores.dtype).min.")
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

EXERCISES.append(Repair(
    "mend-weights", reference=weigh, inputs=scores_inputs, slips=MEND_WEIGHTS,
    given=("masked_fill(", INTO, LOWEST, "-1e6", " * keep", "", ""),
    praise="Right: hidden whatever the scores are, zeros where nothing is left, and what was "
           "handed in stays as it was.",
    hints=["Three faults: run it, and look at `scores` afterwards; give it scores near -1e7; "
           "give it a length of 0.",
           "scores.masked_fill(~keep, lowest) makes a new tensor, and lowest = "
           "torch.finfo(scores.dtype).min lies below all scores.",
           "Where all is hidden, all scores are alike and the softmax is even: multiply the "
           "weights by keep."]))


EXERCISES.append(Choice(
    "exchange", right="abd",
    praise="Right. What changes is where d2l errs, and what it doesn't check.",
    hints=["Three statements are true.",
           "'Weights move both ways', the table of three equal training steps and 'Lengths that "
           "can't be lengths' decide three of the statements; the sections on the Transformer and "
           "on recording the others."],
    reasons={
        "c": "is false: it is (batch * heads, queries, keys), as in D2L's code. "
             "record_attention takes the heads out of the batch.",
        "e": "is false: d2l_1_0 has the names of 11.5 and 11.6. "
             "For the Transformer, import d2l and put our classes in.",
    }))


EXERCISES.append(Order(
    "line-up", needs={"a": "", "b": "d", "c": "af", "d": "", "f": "b", "g": "c"},
    reasons={"e": "No turning: both sides hold (outputs, inputs)."},
    praise="Right: rows under rows, nothing turned around, and compared at the end.",
    hints=["Which lines use a name that another line makes?",
           "d comes before b, b before f. The layer must be there before it takes its "
           "weights, and they must be there before anything is compared.",
           "One line is not needed: is either side's matrix (inputs, outputs)?"]))
