"""The exercises of lesson 02, multi-head attention."""
import math

import torch

from ..exercises.classes import FromScratch, Trial, build, draw, factors, in_words
from ..exercises.heads import KNOWN, LENGTHS, REFUSES, Heads
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

def low(queries, keys, values):
    """All keys of a sentence alike, so that its scores are, and millions from 0, on either side."""
    return 1e8 * queries.double(), keys[:, :1].expand_as(keys).double(), values.double()


def apart(queries, keys, values):
    """Scores of hundreds, in float64: single precision would not agree on them."""
    return 200 * queries.double(), keys.double(), values.double()


def dropping(answer):
    """With one key each weight is 1, so a head's output is its value, kept or dropped."""
    layer = build(answer, Heads, 10, 2, dropout=0.2)
    layer.W_o.load_state_dict({"weight": torch.eye(10)})
    found = factors(layer, draw((3, 40, 10), (3, 1, 10), (3, 1, 10)))
    kept = found.unflatten(-1, (2, 5)) > 0.5
    whole = (kept == kept[..., :1]).all()
    single = (kept[:, :, 0] != kept[:, :, 1]).any() and (kept != kept[:, :1]).any()
    return {t("In training mode with dropout=0.2 and a single key, a head's answer is multiplied "
              "by"): in_words(found),
            t("In training mode with dropout=0.2 and a single key, a head's answer is kept or "
              "dropped as a whole"): t("yes") if whole else t("no"),
            t("In training mode with dropout=0.2 and a single key, heads and queries are dropped "
              "independently"): t("yes") if single else t("no")}


TRIAL = Trial(Heads, (10, 2), options={"dropout": 0.0, "bias": False}, last="valid_lens",
              inputs={"queries": (3, 4, 10), "keys": (3, 7, 10), "values": (3, 7, 10)}, known=KNOWN)


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
        TRIAL.shows("The output"), TRIAL.shows("The output with bias=True", bias=True),
        TRIAL.shows("The output with lengths 0, 3, 5", LENGTHS),
        TRIAL.shows("The output with lengths 0, 3, 5 and bias=True", LENGTHS, bias=True),
        TRIAL.shows("The output with lengths 0, 3, 5 and scores far below -1e6", LENGTHS,
                    change=low),
        TRIAL.shows("The output with lengths 0, 3, 5 and scores far apart", LENGTHS,
                    change=apart),
        TRIAL.learns(LENGTHS, bias=True), TRIAL.evaluates(LENGTHS), dropping, REFUSES]),
]
