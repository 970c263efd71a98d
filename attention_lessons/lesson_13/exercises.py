"""The exercises of lesson 13, coming from d2l."""
import torch

from ..exercises.kinds import Build, Repair


def unfold(weights, num_heads):
    return weights.unflatten(0, (-1, num_heads)).transpose(0, 1)


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


EXERCISES = [
    Build("unfold-weights", unfold,
          lambda: [(torch.rand(6, 4, 5), 2), (torch.rand(8, 3, 6), 4)]),
    Repair("mend-weights", weigh, scores_inputs),
]
