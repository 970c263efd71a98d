"""Heads, and the ways to go wrong in them, for the classes that several lessons ask for."""
import torch
from torch import nn

from d2l_ext.attention import merge_heads, split_heads
from .classes import refuses

KNOWN = {
    r"(?:must match.*\(3\)|\(3\) must match)":  # no axis but the batch has 3
    "Where scores are (batch, heads, queries, keys), lengths need four axes: "
    "valid_lens[:, None, None, None].",
    "shape of the mask": "An index must have the scores' own shape. "
    "masked_fill stretches axes of length 1: scores.masked_fill(~keep, lowest)."}
LENGTHS = torch.tensor([0, 3, 5])


class Heads(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.p = num_heads, dropout
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens=None):
        keep = torch.ones(1, 1, 1, keys.shape[1], dtype=torch.bool)
        if valid_lens is not None:
            keep = self.keep(keys, valid_lens)
        return self.attend(queries, keys, values, keep)

    def keep(self, keys, valid_lens):
        return torch.arange(keys.shape[1]) < valid_lens[:, None, None, None]

    def attend(self, queries, keys, values, keep):
        q, k, v = self.W_q(queries), self.W_k(keys), self.W_v(values)
        q, k, v = (split_heads(X, self.num_heads) for X in (q, k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~keep, -1e9).softmax(-1) * keep
        weights = nn.functional.dropout(weights, self.p, self.training)
        return self.W_o(merge_heads(weights @ v))


WEIGHTS = "scores.masked_fill(~keep, -1e9).softmax(-1) * keep"
CUT = "(cut := scores.softmax(-1) * keep) / cut.sum(-1, keepdim=True)"
MASKING = [  # 03 too
    ("< valid_lens", "< 99 + valid_lens",
     "The lengths have no effect: keys from position valid_lens on must get no weight."),
    ("< valid_lens", ">= valid_lens",
     "The mask of the lengths is upside down: you hide the real tokens and look at the padding."),
    *((WEIGHTS, f"scores.masked_fill({mask}, -1e9).softmax(-1) * keep",
       "masked_fill(keep, ...) overwrites the scores that may be seen. Hide the others: "
       "masked_fill(~keep, ...). Then multiply the weights with keep.")
      for mask in ("keep", "keep & ~keep.all()")),  # the second: where something is hidden
    ("< valid_lens", "<= valid_lens",
     "One key too many: a length of 3 means positions 0, 1 and 2."),
    (".softmax(-1) * keep", ".softmax(-1)",
     "Where nothing may be seen (length 0), your weights are spread over the padding. They "
     "should all be 0."),
    ("-1e9).softmax(-1) * keep", "-torch.inf).softmax(-1)",
     "Where nothing may be seen (length 0), your output is NaN: a softmax over minus "
     "infinities. NaN times 0 stays NaN. Fill in the lowest number instead, "
     "torch.finfo(scores.dtype).min, and multiply the weights with keep."),
    (WEIGHTS, CUT,
     "Where nothing may be seen (length 0), your output is NaN: no weight is left, and you divide "
     "0 by the sum 0. Hide the scores before the softmax, then nothing needs to be divided again."),
    *((WEIGHTS, cut,
       "You hide keys after the softmax and divide by what is left. Where a hidden score is "
       "far above the others, nothing is left. Hide the scores before the softmax.")
      for cut in (f"({CUT}).nan_to_num()", f"{CUT}.clamp(min=1e-9)")),
    *((WEIGHTS, f"scores.masked_fill(~keep, 0.0).softmax(-1){cleared}",
       "You hide a key by setting its score to 0, but a score of 0 still weighs e^0 = 1. Set "
       "it to the lowest number there is, torch.finfo(scores.dtype).min.")
      for cleared in ("", " * keep")),
    ("-1e9", "-1e4",
     "Where all scores are low, a hidden key still wins: what you fill in is not below them. "
     "Use the lowest number there is, torch.finfo(scores.dtype).min."),
    ("scores.masked_fill(~keep, -1e9)", "(scores - 100.0 * ~keep)",
     "A hidden key still wins where its score was high: what you take off is not enough. "
     "Don't subtract: masked_fill(~keep, torch.finfo(scores.dtype).min)."),
    *((WEIGHTS, powers,
       "The powers of high scores overflow, those of low ones are 0. softmax takes the highest "
       "score off first, which changes no weight.")
      for powers in ("(e := scores.exp() * keep) / e.sum(-1, keepdim=True).clamp(min=1e-9)",
                     "((e := scores.exp() * keep) / e.sum(-1, keepdim=True)).nan_to_num()",
                     "(e := scores.exp() * keep) / (e.sum(-1, keepdim=True) + 1e-9)")),
    (WEIGHTS, "scores.softmax(-1) * keep",
     "You hide keys after the softmax, so the weights that are left no longer sum to 1. Hide "
     "the scores before it."),
]
SCALE, SPLIT = "q.shape[-1] ** 0.5", "split_heads(X, self.num_heads)"
MERGE, UNMOVED = "merge_heads(weights @ v)", "(weights @ v).reshape(queries.shape)"
STRETCHES = "X.reshape(X.shape[0], self.num_heads, X.shape[1], -1)"
WEIGHING = [
    (SCALE, "1.0",
     "The scores are not scaled: divide them by the square root of the head's width."),
    (SCALE, "(q.shape[-1] * self.num_heads) ** 0.5",
     "You scale by the width of the model. A dot product within a head has as many terms as "
     "the head has columns: divide by the square root of the head's width, q.shape[-1]."),
    (SCALE, "self.num_heads ** 0.5",
     "You divide by the square root of the number of heads. A dot product has as many terms "
     "as a head has columns: divide by the square root of the head's width, q.shape[-1]."),
    (SCALE, "q.shape[-1]", "You divide by the head's width, not by its square root."),
    (SPLIT, STRETCHES,
     "The heads hold stretches of the sentence. Cut each token into heads first, then swap "
     "the axes."),
    (SPLIT, STRETCHES, MERGE, UNMOVED,
     "The heads hold stretches of the sentence: splitting needs a transpose after the "
     "reshape, and merging one before it."),
    (SPLIT, "X.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)",
     "The columns are dealt out to the heads in turn. A head is a block of neighbouring columns."),
    (MERGE, UNMOVED,
     "Splitting is right, merging is not: bring the steps before the heads (transpose), then "
     "flatten."),
    (f"self.W_o({MERGE})", MERGE,
     "W_o is built and never used: it mixes the heads' answers at the end."),
    ("self.W_k(keys)", "self.W_q(keys)",
     "The keys go through W_q. They have a matrix of their own, W_k."),
    ("self.W_v(values)", "self.W_k(values)",
     "The values go through W_k. They have a matrix of their own, W_v."),
    ("softmax(-1)", "softmax(-2)",
     "Your softmax goes over the queries. It goes over the keys, the last axis, so that each "
     "query's weights sum to 1."),
]
UNCHECKED = ("raise ValueError", "pass",
             "Heads that don't divide the width are accepted: raise a ValueError in __init__.")
DETACHED = ("q @ k.mT", "(q @ k.mT).detach()",
            "No gradient flows through the scores (detach, .data, no_grad or a new "
            "torch.tensor): W_q and W_k would never learn.")
MODE = (", self.training)", ")",
        "In evaluation mode numbers are still dropped. nn.Dropout knows the mode; F.dropout "
        "must be told: training=self.training.")
REFUSES = refuses("The error for 10 hiddens and 4 heads, which don't divide them", 10, 4)
