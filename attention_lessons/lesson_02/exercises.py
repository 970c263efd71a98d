"""The exercises of lesson 02, multi-head attention."""
import math
from dataclasses import replace

import torch

from ..exercises.kinds import Build, Lines, stable_hash
from ..languages import t


# ---- split-heads ----

def split_heads(X, h):
    heads = X.reshape(X.shape[0], X.shape[1], h, -1).transpose(1, 2)
    return heads


CUT = "X.shape[0], X.shape[1], h, -1).transpose(1, 2)"
SPLIT_HEADS = [
    (CUT, "X.shape[0], h, X.shape[1], -1)",
     "The shape is right, but a reshape without a transpose cuts the sentence into stretches: "
     "the first head holds neighbouring numbers of the first tokens. Cut each token first, "
     "then swap the axes."),
    (".transpose(1, 2)", "",
     "Each token is cut into heads; now the heads have to come before the steps: swap axes 1 "
     "and 2."),
    (CUT, "X.shape[0], X.shape[1], -1, h).permute(0, 3, 1, 2)",
     "You deal the columns out in turn (the first head gets columns 0, h, 2h ...). A head is a "
     "block of neighbouring columns: heads before head size in the reshape."),
    (f"X.reshape({CUT}", "X.mT.reshape(X.shape[0], h, X.shape[1], -1)",
     "You transpose, then cut. Cut each token first: reshape into heads, then swap the axes."),
    ("heads.mT", "Steps and head size have changed places. Swap axes 1 and 2, not the last two."),
    ("heads.transpose(0, 1)",
     "Your heads stand before the batch: the result is (batch, heads, steps, head size)."),
    ("1], h,", "1], 2,", "You cut into two heads, whatever num_heads says."),
    ("heads.flatten(0, 1)",
     "This is D2L's shape, heads folded into the batch. Keep them as an axis of their own: "
     "(batch, heads, steps, head size)."),
]


# ---- mixed-up ----

def tokens_in_head(head, steps, hiddens, num_heads):
    token_of = torch.arange(steps)[:, None].expand(steps, hiddens)
    return token_of.reshape(num_heads, -1)[head].unique().tolist()


MIXED_UP = [
    ("list(range(steps))",
     "That would be the right split: every token in every head. Without the transpose a head "
     "gets only a stretch."),
    ("[head]",
     "Heads and tokens are not the same count: a head holds steps * hiddens / num_heads "
     "numbers. How many tokens is that?"),
    ("list(range(steps * head // num_heads, steps * (head + 1) // num_heads))",
     "Where a head begins or ends in the middle of a token, that token is in it too: it gets "
     "at least one number."),
    ("list(range(steps))[head::num_heads]",
     "The tokens are not dealt out in turn: reshape keeps the order, so each head gets "
     "neighbours."),
    ("(steps)", "(hiddens)", "(steps, hiddens)", "(hiddens, steps)",
     "Those are columns. Each row of X is a token, of hiddens numbers."),
    ("[head]", "[head].add(1)", "Tokens count from 0."),
]


# ---- count-parameters ----

def count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    weights = (query_size + key_size + value_size + num_hiddens) * inner
    biases = (3 * inner + num_hiddens) * bias
    return weights + biases


BIASES = "(3 * inner + num_hiddens)"
COUNT_PARAMETERS = [
    ("(weights + biases) * num_heads",
     "You multiply by num_heads twice: num_heads * head_size is already the width of all heads "
     "together."),
    ("num_heads * head_size", "head_size",
     "That is one head. All heads together have the width num_heads * head_size."),
    (BIASES, "4 * inner", "W_o's bias is as wide as its output, num_hiddens."),
    (BIASES, "3 * inner", "W_o has a bias too: num_hiddens more numbers."),
    (BIASES, "4 * num_hiddens",
     "The biases of W_q, W_k and W_v are as wide as the heads together, num_heads * head_size."),
    ("value_size + num_hiddens)", "value_size)", BIASES, "3 * inner",
     "The output projection W_o is missing."),
    ("num_heads * head_size", "num_hiddens",
     "You take num_hiddens for the heads' common width. The head size may be chosen freely: "
     "that width is num_heads * head_size."),
    *(("value_size + num_hiddens) * inner", f"value_size) * inner + {width} ** 2",
       "W_o isn't square: it leads from num_heads * head_size to num_hiddens.")
      for width in ("inner", "num_hiddens")),
    ("4 * num_hiddens ** 2",
     "4 * num_hiddens ** 2 holds only when all widths are equal. Here the inputs have widths "
     "of their own."),
    (" * bias", "", "Biases are counted even where bias=False."),
    ("weights", "The biases are missing: one number per output of each matrix."),
    (BIASES, "(query_size + key_size + value_size + inner)",
     "A bias is as wide as its matrix's output, not its input."),
]


# ---- pencil ----

GIVEN = (2, 1, 1, 2), (1, 3)  # the question of bites; the heights of dog and man
PAGE = (r"dog (1, 0, 0, {4})", r"man (0, 1, 0, {5})",
        r"0&0&{0}&0\\0&0&{1}&0\\0&0&{2}&0\\0&0&{3}&0")


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


class Pencil(Lines):
    """The page for pencil and paper, on which other numbers can stand."""

    @staticmethod
    def given(seed):
        """The question of bites, and the heights: not equal where that would hide a mistake."""
        pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
        first, second, heights = (pairs[stable_hash(seed, place) % 6] for place in range(3))
        return first + second, (heights[0] + 1, heights[1] + 1)

    def variant(self, seed):
        return replace(self, lines=pencil_lines(*self.given(seed)))

    def question(self, text, seed):
        for words in PAGE:
            text = text.replace(words.format(*sum(GIVEN, ())),
                                words.format(*sum(self.given(seed), ())))
        return text


EXERCISES = [
    Build("split-heads", split_heads, SPLIT_HEADS,
          lambda: [(torch.randn(2, 5, 12), 3), (torch.randn(1, 3, 4), 2)]),
    Build("mixed-up", tokens_in_head, MIXED_UP,
          lambda: [(1, 5, 12, 3), (0, 5, 12, 3), (1, 3, 4, 2), (0, 7, 8, 4)]),
    Build("count-parameters", count, COUNT_PARAMETERS,
          lambda: [(8, 2, 3, 5, 7, 9, False), (8, 2, 3, 5, 7, 9, True),
                   (64, 4, 16, 64, 64, 64, False), (10, 4, 2, 9, 3, 6, True)]),
    Pencil("pencil", lines=pencil_lines(*GIVEN)),
]
