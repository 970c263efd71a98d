"""The class that lesson 03 asks for, and the ways to go wrong in it: those of 02, and masks."""
import torch

from ..exercises.classes import FromScratch, Trial
from ..exercises.heads import (
    DETACHED, KNOWN, LENGTHS, MASKING, REFUSES, UNCHECKED, WEIGHING, WEIGHTS, Heads)


class SelfHeads(Heads):
    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__(num_hiddens, num_heads)
        self.causal = causal

    def forward(self, X, valid_lens=None):
        keep = torch.ones(len(X), 1, *[X.shape[1]] * 2, dtype=torch.bool)
        if self.causal:
            keep = keep.tril()
        if valid_lens is not None:
            past, real = keep, self.keep(X, valid_lens)
            keep = past & real
        return self.attend(X, X, X, keep)


ONE_MASK = "{} if self.causal else past & real"
EITHER = "A key passes if either mask allows it. It must pass both: & instead of |."
CAUSAL = [
    ("keep.tril()", "keep", "causal=True has no effect: a step must not see the steps after it."),
    ("tril()", "tril(-1)",
     "A step doesn't see itself. It sees the steps up to its own, itself included."),
    ("tril()", "triu()",
     "The causal mask looks the wrong way: a step sees the future, not the past."),
    ("tril()", "tril(1)",
     "A step sees one step too many: the next one. Key positions go up to the query's own."),
    ("past & real", ONE_MASK.format("real"),
     "With lengths given, the causal mask is lost. A key must pass both masks: combine them "
     "with &."),
    ("past & real", ONE_MASK.format("past"),
     "With causal=True, the lengths are lost. A key must pass both masks: combine them with &."),
    ("past & real", ONE_MASK.format("past | real"), EITHER),
    ("past & real", "past | real", EITHER),
]
ROWS = [  # whole rows are hidden: they come out as zeros, even, or NaN
    ("past & real", new, WEIGHTS, f"scores.masked_fill(~keep, {fill}", words)
    for new, words in [
        ("past & real.mT",
         "Your lengths hide queries. A length hides keys, the last axis of the scores: "
         "whoever asks, positions from valid_lens on must get no weight."),
        ("past & real & real.mT",
         "The rows of padded queries are lost. A length hides keys, not queries: a padded "
         "query keeps its row, as in PyTorch's nn.MultiheadAttention. Nobody has to read it."),
    ] for fill in ("-1e9).softmax(-1) * keep", "-1e9).softmax(-1)", "-torch.inf).softmax(-1)")]
TRIAL = Trial(SelfHeads, (10, 2), {"X": (3, 7, 10)}, {"causal": False}, "valid_lens", KNOWN)


def low(X):
    """All steps of a sentence alike, so that its scores are, and millions from 0."""
    return 1e4 * X[:, :1].expand_as(X).double(),


def apart(X):
    """Scores of thousands, in float64: single precision would not agree on them."""
    return 60 * X.double(),


EXERCISES = [FromScratch(
    "self-attention-class", SelfHeads, [*WEIGHING, *CAUSAL, *MASKING, *ROWS, DETACHED, UNCHECKED],
    sizes="batch 3, 7 steps, 2 heads of width 5",
    stages=[TRIAL.shows("The output with one head, nothing hidden", sizes=(10,)),
            TRIAL.shows("The output with 2 heads, nothing hidden"),
            TRIAL.shows("The output with causal=True", causal=True),
            TRIAL.shows("The output with lengths 0, 3, 5", LENGTHS),
            TRIAL.shows("The output with causal=True and lengths 0, 3, 5", LENGTHS, causal=True),
            TRIAL.shows("The output with both masks and scores far below -1e6", LENGTHS,
                        causal=True, change=low),
            TRIAL.shows("The output with both masks and scores far apart", LENGTHS,
                        causal=True, change=apart),
            TRIAL.learns(LENGTHS, causal=True),
            REFUSES])]
