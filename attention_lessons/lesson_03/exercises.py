"""The exercises of lesson 03, multi-head attention."""
import math

import torch

from ..exercises.classes import FromScratch, Trial
from ..exercises.heads import REFUSES, Heads
from ..exercises.kinds import Build, Lines
from ..languages import t


# ---- split-heads ----

def split_heads(X, h):
    heads = X.reshape(X.shape[0], X.shape[1], h, -1).transpose(1, 2)
    return heads


# ---- mixed-up ----

def tokens_in_head(head, steps, hiddens, num_heads):
    token_of = torch.arange(steps)[:, None].expand(steps, hiddens)
    return token_of.reshape(num_heads, -1)[head].unique().tolist()


# ---- count-parameters ----

def count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    weights = (query_size + key_size + value_size + num_hiddens) * inner
    biases = (3 * inner + num_hiddens) * bias
    return weights + biases


# ---- pencil ----

GIVEN = (2, 1, 1, 2), (1, 3)  # the question of bites; the heights of dog and man


def counts(scores, scale=2**.5):
    return [math.exp(score / scale) for score in scores]


def weights(scores, scale=2**.5):
    total = sum(counts(scores, scale))
    return [count / total for count in counts(scores, scale)]


def score_line(head, scores, others):
    both = tuple(map(sum, zip(scores, others)))
    rows = t("the rows {0} and {1}", 2 * head - 1, 2 * head)
    return [
        scores,
        (both, t("You used all four numbers: head {0} has only {1} of W_q x and of W_k x.", head,
                 rows)),
        (others, t("That is head {0}: head {1} has {2}.", 3 - head, head, rows)),
        ([score / 2**.5 for score in scores],
         t("Line {0} is before scaling: don't divide by the square root of 2 yet.", head + 1))]


def weight_line(scores):
    return [
        weights(scores),
        (counts(scores), "Now divide each by their sum, so that the three add up to 1."),
        (weights(scores, 1),
         "You left out the scaling: a score of 2 counts e^(2/1.41) = 4.11, not e^2 = 7.39.")]


def pencil_lines(question, heights):
    """The six lines, for dog, bites and man: what is right, and what known mistakes give."""
    (one, two, three, four), (dog, man) = question, heights
    first, second = [one, two, two], [four, four, three]

    def output(weights_1, weights_2):
        mix = [(w[0] * dog + w[2] * man) for w in (weights_1, weights_2)]
        return mix[0], weights_1[0], mix[1], weights_2[2]

    return [
        [question, ((0, 0, three, 0), "That is the third row of W_q. "
                                      "Row times token, for each row, picks the third column.")],
        score_line(1, first, second),
        score_line(2, second, first),
        weight_line(first),
        weight_line(second),
        [output(weights(first), weights(second)),
         (output(weights(first), weights(first)),
          "Head 2 uses its own weights, line 5, not those of head 1."),
         ((dog, 0, man, 0), "That is the notebook's other example, where the questions were loud. "
                            "Here the weights are softer.")]]


# ---- multi-head-class ----

TRIAL = Trial(Heads, (10, 2), {"queries": (3, 4, 10), "keys": (3, 7, 10), "values": (3, 7, 10)})


EXERCISES = [
    Build("split-heads", split_heads,
          lambda: [(torch.randn(2, 5, 12), 3), (torch.randn(1, 3, 4), 2)]),
    Build("mixed-up", tokens_in_head,
          lambda: [(1, 5, 12, 3), (0, 5, 12, 3), (1, 3, 4, 2), (0, 7, 8, 4)]),
    Build("count-parameters", count,
          lambda: [(8, 2, 3, 5, 7, 9, False), (8, 2, 3, 5, 7, 9, True),
                   (64, 4, 16, 64, 64, 64, False), (10, 4, 2, 9, 3, 6, True)]),
    Lines("pencil", lines=pencil_lines(*GIVEN)),
    FromScratch("multi-head-class", Heads, stages=[
        TRIAL.shows("The output"), TRIAL.learns(), REFUSES]),
]
