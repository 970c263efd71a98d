"""The exercises of lesson 03, multi-head attention."""
import torch

from ..exercises.classes import FromScratch, ClassTrial
from ..exercises.heads import REFUSES, Heads
from ..exercises.kinds import Build


def split_heads(X, h):
    heads = X.reshape(X.shape[0], X.shape[1], h, -1).transpose(1, 2)
    return heads


def tokens_in_head(head, steps, hiddens, num_heads):
    token_of = torch.arange(steps)[:, None].expand(steps, hiddens)
    return token_of.reshape(num_heads, -1)[head].unique().tolist()


def count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    weights = (query_size + key_size + value_size + num_hiddens) * inner
    biases = (3 * inner + num_hiddens) * bias
    return weights + biases


TRIAL = ClassTrial(Heads, (10, 2), {
    "queries": (3, 4, 10), "keys": (3, 7, 10), "values": (3, 7, 10)})


EXERCISES = [
    Build("split-heads", split_heads,
          lambda: [(torch.randn(2, 5, 12), 3), (torch.randn(1, 3, 4), 2)]),
    Build("mixed-up", tokens_in_head,
          lambda: [(1, 5, 12, 3), (0, 5, 12, 3), (1, 3, 4, 2), (0, 7, 8, 4)]),
    Build("count-parameters", count,
          lambda: [(8, 2, 3, 5, 7, 9, False), (8, 2, 3, 5, 7, 9, True),
                   (64, 4, 16, 64, 64, 64, False), (10, 4, 2, 9, 3, 6, True)]),
    FromScratch("multi-head-class", Heads, stages=[
        TRIAL.shows("The output"), TRIAL.learns(), REFUSES]),
]
