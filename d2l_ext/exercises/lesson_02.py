"""The exercises of lesson 02, multi-head attention."""
import math

import torch

from ..attention import merge_heads, split_heads
from . import Build, Choice, Lines


def split_inputs():
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(2, 5, 12, generator=generator), 3), (torch.randn(1, 3, 4, generator=generator), 2)]


def attention_inputs():
    """Two batches in which all sizes differ, and one whose scores are all far below -1000."""
    generator = torch.Generator().manual_seed(3)

    def random(*shapes):
        return [torch.randn(*shape, generator=generator) for shape in shapes]

    first = random((2, 4, 7), (2, 6, 8), (2, 6, 9), (15, 7), (15, 8), (15, 9), (10, 15))
    second = random((3, 5, 6), (3, 4, 9), (3, 4, 11), (14, 6), (14, 9), (14, 11), (13, 14))
    third = random((2, 3, 5), (2, 4, 6), (2, 4, 7), (8, 5), (8, 6), (8, 7), (9, 8))
    queries, keys, values, W_q, W_k, *rest = third
    low = 7 + queries / 10, -7 + keys / 100, values, W_q.abs() + 0.5, W_k.abs() + 0.5, *rest
    lengths = torch.tensor([5, 2]), torch.tensor([1, 4, 3]), torch.tensor([1, 1])
    return [(*first, 3, lengths[0]), (*second, 2, lengths[1]), (*low, 4, lengths[2])]


def attend(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens, *, axis=-1,
           scale=math.sqrt, mask="keep", fill=None, split=split_heads, merge=merge_heads):
    """Multi-head attention with one thing to get wrong at a time."""
    q, k, v = split(queries @ W_q.T, num_heads), split(keys @ W_k.T, num_heads), split(values @ W_v.T, num_heads)
    scores = q @ k.mT / scale(q.shape[-1])
    lengths, position = valid_lens[:, None, None, None], torch.arange(keys.shape[1])
    keep = position < lengths
    if mask is None:
        keep = torch.ones_like(keep)
    elif mask == "off by one":
        keep = position <= lengths
    elif mask == "one short":
        keep = position < lengths - 1
    elif mask == "last":
        keep = keep.flip(-1)
    elif mask == "longest":
        keep = position < valid_lens.max()
    elif mask == "first":
        keep = position < valid_lens[0]
    elif mask == "queries":
        keep = torch.arange(queries.shape[1])[:, None] < lengths
    elif mask == "swapped":
        keep = ~keep
    elif mask == "after":
        return merge((scores.softmax(axis) * keep) @ v) @ W_o.T
    fill = torch.finfo(scores.dtype).min if fill is None else fill
    return merge(scores.masked_fill(~keep, fill).softmax(axis) @ v) @ W_o.T


def scaled_by(width):
    """Attention whose scale is the root of ``width(arguments)``, a width that isn't the heads'."""
    return lambda *arguments: attend(*arguments, scale=lambda p: math.sqrt(width(*arguments)))


def masked(kind, words):
    """A misconception about what to hide, hidden with either of two numbers."""
    return [(variant(mask=kind, fill=fill), words) for fill in FILLS]


def keys_for_values(queries, keys, values, W_q, W_k, W_v, *rest):
    return attend(queries, keys, keys, W_q, W_k, W_k, *rest)


def without_mixing(*arguments):
    *rest, W_o, num_heads, valid_lens = arguments
    return attend(*rest, torch.eye(W_o.shape[1]), num_heads, valid_lens)


def variant(**choices):
    return lambda *arguments: attend(*arguments, **choices)


FILLS = (None, -math.inf)  # a learner may hide with either


def reshaped(X, num_heads):
    return X.reshape(X.shape[0], num_heads, X.shape[1], -1)


def dealt(X, num_heads):
    return X.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def undealt(X):
    return X.permute(0, 2, 3, 1).flatten(2)


def unmoved(X):
    return X.reshape(X.shape[0], X.shape[2], -1)


def tokens_in_head(head, steps, hiddens, num_heads):
    token_of = torch.arange(steps)[:, None].expand(steps, hiddens)
    return token_of.reshape(num_heads, -1)[head].unique().tolist()


def count(num_hiddens, num_heads, head_size, query_size, key_size, value_size, bias):
    inner = num_heads * head_size
    return (query_size + key_size + value_size + num_hiddens) * inner + (3 * inner + num_hiddens) * bias


def w_o_square(wide):
    """A count that takes W_o for square, as wide as the heads together or as num_hiddens."""
    def wrong(num_hiddens, num_heads, head_size, *rest):
        inner = num_heads * head_size
        square = (inner if wide else num_hiddens) ** 2
        return count(num_hiddens, num_heads, head_size, *rest) - inner * num_hiddens + square
    return wrong


EXERCISES = [
    Choice("four-heads", right="a", praise="Right. Each question needs one number, and the two stay in different heads.",
           hints=["Write down head 1's matrices: which of their rows has anything in it?", "Columns 0 and 2 hold the two questions. In which heads are they when each head has one column?"],
           reasons={"b": "One head mixes the questions because both columns share its row of weights. With four heads, do columns 0 and 2 share one?",
                    "c": "Columns 1 and 3 of the values are empty: nothing there can become 1 or 3.",
                    "d": "Width 1 is allowed: four heads of width 1 make 4. A head compares tokens through that one number."}),
    Build("split-heads", praise="Right: every head gets its block of columns, of every token.",
          hints=["Which shape has all four axes, in the order in which the numbers already lie?", "X.reshape(batch, steps, num_heads, hiddens // num_heads) cuts each token into heads.",
                 "Now two axes must change places: transpose(1, 2)."],
          reference=split_heads, inputs=split_inputs, misconceptions=[
              (lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1), "The shape is right, but a reshape without a transpose cuts the sentence into stretches: the first head holds neighbouring numbers of the first tokens. Cut each token first, then swap the axes."),
              (lambda X, h: X.reshape(X.shape[0], X.shape[1], h, -1), "Each token is cut into heads; now the heads have to come before the steps: swap axes 1 and 2."),
              (lambda X, h: X.unflatten(-1, (-1, h)).permute(0, 3, 1, 2), "You deal the columns out in turn (the first head gets columns 0, h, 2h ...). A head is a block of neighbouring columns: heads before head size in the reshape."),
              (lambda X, h: X.mT.reshape(X.shape[0], h, X.shape[1], -1), "You transpose, then cut. Cut each token first: reshape into heads, then swap the axes."),
              (lambda X, h: split_heads(X, h).mT, "Steps and head size have changed places. Swap axes 1 and 2, not the last two."),
              (lambda X, h: split_heads(X, h).flip(1), "The heads come out in reverse order: the first head is the first block of columns."),
              (lambda X, h: split_heads(X, h).transpose(0, 1),
               "Your heads stand before the batch: the result is (batch, heads, steps, head "
               "size)."),
              (lambda X, h: split_heads(X, 2), "You cut into two heads, whatever num_heads says."),
              (lambda X, h: split_heads(X, h).flatten(0, 1), "This is D2L's shape, heads folded into the batch. Keep them as an axis of their own: (batch, heads, steps, head size)."),
          ]),
    Build("multi-head", praise="Right: the same numbers as the package's class, padding and all.",
          hints=["Six steps: project, split, score, hide, weigh, merge and mix. Each is one line.", "Split with unflatten(-1, (num_heads, -1)).transpose(1, 2); merge with transpose(1, 2).flatten(2).",
                 "hidden = torch.arange(keys.shape[1]) >= valid_lens[:, None, None, None] broadcasts over heads and queries; masked_fill the scores, then softmax over the last axis."],
          reference=attend, inputs=attention_inputs, misconceptions=[
              *((variant(axis=-2, mask=mask), "Your weights sum to 1 over the queries. Softmax goes over the keys, the last axis, so that each query's weights sum to 1.") for mask in ("keep", None)),
              (variant(axis=1), "Your softmax goes over the heads. Each head has its own weights; softmax goes over the keys, the last axis."),
              (variant(axis=1, fill=-math.inf), "There is NaN in your result: a softmax found nothing but minus infinity. It goes over the keys, the last axis."),
              *((variant(axis=0, fill=fill),
                 "Your softmax goes over the sentences of the batch. It goes over the keys, the "
                 "last axis.") for fill in FILLS),
              (scaled_by(lambda queries, keys, values, W_q, *rest: len(W_q)),
               "You scale by the width of the model. A head's dot product has head-size terms: "
               "divide by the square root of the head size."),
              (scaled_by(lambda queries, *rest: queries.shape[-1]),
               "You scale by the width of the queries before they are projected. "
               "Divide by the square root of the head size."),
              (scaled_by(lambda queries, keys, *rest: keys.shape[-1]),
               "You scale by the width of the keys before they are projected. "
               "Divide by the square root of the head size."),
              (scaled_by(lambda *arguments: len(arguments[6])),
               "You scale by the width of the output. Divide by the square root of the head size."),
              (scaled_by(lambda *arguments: arguments[7]),
               "You scale by the number of heads. Divide by the square root of the head size."),
              (scaled_by(lambda queries, keys, *rest: keys.shape[1]),
               "You scale by the number of keys. Divide by the square root of the head size."),
              (variant(scale=lambda p: 1.0),
               "The scores are not scaled. Divide them by the square root of the head size."),
              (variant(scale=float), "You divide by the head size, not by its square root."),
              (variant(scale=lambda p: 1 / math.sqrt(p)),
               "You multiply by the square root of the head size: divide."),
              (variant(mask=None), "The lengths have no effect: keys from position valid_lens on must get no weight."),
              (variant(mask=None, scale=lambda p: 1.0),
               "Two things are missing: the scores are not scaled, and the lengths have no "
               "effect."),
              (variant(fill=0.0), "You hide a key by setting its score to 0, but a score of 0 still weighs e^0 = 1. Set it to minus infinity."),
              (variant(fill=-100.0),
               "Your number is not low enough to hide with: where a head's scores are lower still, "
               "the hidden keys win. Use minus infinity, or the lowest number of the type."),
              *masked("swapped",
                      "The mask is upside down: you hide the real tokens and look at the padding."),
              *masked("off by one", "One key too many: a length of 2 means positions 0 and 1."),
              *masked("one short", "One key too few: a length of 2 means positions 0 and 1."),
              *masked("last",
                      "You keep the last keys. Padding stands at the end: the first valid_lens "
                      "keys are real."),
              *masked("longest",
                      "All sentences get the longest one's length. Each has its own: valid_lens[:, "
                      "None, None, None]."),
              *masked("first",
                      "All sentences get the first one's length. Each has its own: valid_lens[:, "
                      "None, None, None]."),
              *masked("queries",
                      "You hide queries. The lengths say which keys are real: compare them with "
                      "the last axis."),
              (variant(mask="after"), "You hide keys after the softmax, so the weights that are left no longer sum to 1. Hide the scores before it."),
              *((variant(split=reshaped, merge=merge), "Tokens are cut into stretches: splitting needs a transpose, and so does merging.") for merge in (merge_heads, unmoved)),
              *((variant(split=dealt, merge=merge),
                 "You deal the columns out in turn. A head is a block of neighbouring columns: "
                 "heads before head size when you split.") for merge in (merge_heads, undealt)),
              (variant(merge=undealt),
               "Splitting is right. Merged, a head's columns should be neighbours again: "
               "swap the heads and the steps, then flatten."),
              (keys_for_values, "Your values are the keys. They have a matrix of their own, W_v."),
              (without_mixing, "The heads are merged, and not mixed: the last step is W_o."),
              (variant(merge=unmoved), "Splitting is right, merging is not: bring the steps before the heads (transpose), then flatten."),
          ]),
    Build("mixed-up", praise="Right: each head gets a stretch of the sentence.",
          hints=["Follow the numbers: fill a (steps, hiddens) tensor with each token's own number, then reshape it the wrong way.", "torch.arange(steps)[:, None].expand(steps, hiddens) is that tensor; .unique().tolist() reads it off."],
          reference=tokens_in_head, inputs=lambda: [(1, 5, 12, 3), (0, 5, 12, 3), (1, 3, 4, 2), (0, 7, 8, 4)], misconceptions=[
              (lambda head, n, d, h: list(range(n)), "That would be the right split: every token in every head. Without the transpose a head gets only a stretch."),
              (lambda head, n, d, h: [head], "Heads and tokens are not the same count: a head holds steps * hiddens / num_heads numbers. How many tokens is that?"),
              (lambda head, n, d, h: list(range(n * head // h, n * (head + 1) // h)), "Where a head begins or ends in the middle of a token, that token is in it too: it gets at least one number."),
              (lambda head, n, d, h: list(range(n))[head::h], "The tokens are not dealt out in turn: reshape keeps the order, so each head gets neighbours."),
              (lambda head, n, d, h: tokens_in_head(head, d, n, h),
               "Those are columns. Each row of X is a token, of hiddens numbers."),
              (lambda head, n, d, h: [token + 1 for token in tokens_in_head(head, n, d, h)],
               "Tokens count from 0."),
              (lambda head, n, d, h: tokens_in_head(h - 1 - head, n, d, h), "Head 0 gets the beginning of the sentence, not its end."),
          ]),
    Choice("why-split", right=frozenset("bde"), options="abcde", praise="Right: rows of weights are gained, width per head is lost, parameters and work stay.",
           hints=["Three statements are true. The notebook counted parameters and operations for several h.", "The deeper section on low rank is about d; the ladder's rung three is about e."],
           reasons={"a": "Statement a is false: 'Why split?' counted the same for 1, 2, 4 and 8 heads.",
                    "c": "Statement c is false: each head does 1/h of the work, so the sum does not depend on h. 'What it costs' counted it."}),
    Build("count-parameters", praise="Right, and a test would compare it with sum(W.numel() for W in layer.parameters()).",
          hints=["All heads together have the width num_heads * head_size.", "W_q, W_k and W_v lead from their inputs' widths to that width, W_o from it to num_hiddens.", "A bias has as many numbers as its matrix has outputs."],
          reference=count, inputs=lambda: [(8, 2, 3, 5, 7, 9, False), (8, 2, 3, 5, 7, 9, True),
                                           (64, 4, 16, 64, 64, 64, False),
                                           (10, 4, 2, 9, 3, 6, True)],
          misconceptions=[
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, bias) * h, "You count every head twice over: num_heads * head_size is already the width of all heads together."),
              (lambda d, h, p, q, k, v, bias: (q + k + v + d) * p + (3 * p + d) * bias, "That is one head. All heads together have the width num_heads * head_size."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, False) + 4 * h * p * bias, "W_o's bias is as wide as its output, num_hiddens."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, False) + 4 * d * bias, "The biases of W_q, W_k and W_v are as wide as the heads together, num_heads * head_size."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, bias) - h * p * d - d * bias, "The output projection W_o is missing."),
              (lambda d, h, p, q, k, v, bias: (q + k + v + d) * d + 4 * d * bias,
               "You take num_hiddens for the heads' common width. The head size may be chosen "
               "freely: that width is num_heads * head_size."),
              *((w_o_square(wide),
                 "W_o isn't square: it leads from num_heads * head_size to num_hiddens.")
                for wide in (False, True)),
              (lambda d, h, p, q, k, v, bias: 4 * d * d, "4 * num_hiddens ** 2 holds only when all widths are equal. Here the inputs have widths of their own."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, True), "Biases are counted even where bias=False."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, False), "The biases are missing: one number per output of each matrix."),
              (lambda d, h, p, q, k, v, bias: count(d, h, p, q, k, v, False) + (q + k + v + h * p) * bias, "A bias is as wide as its matrix's output, not its input."),
          ]),
    Lines("pencil", praise="Right, all six lines. You have computed multi-head attention by hand.",
          hints=["The token bites has one number that isn't zero, the third: W_q x is the third column of W_q.", "A key is W_k x: for dog it is the sum of columns 1 and 4 of W_k, with its height as the factor of the fourth.",
                 "Line 4: the scores 2, 1, 1 count 4.11, 2.03, 2.03; divide by their sum."],
          lines={1: ([2, 1, 1, 2], {(0, 0, 1, 0): "That is the third row of W_q. Row times token, for each row, picks the third column."}),
                 2: ([2, 1, 1], {(4, 3, 2): "You used all four numbers: head 1 has only the rows 1 and 2 of W_q x and of W_k x.", (2, 2, 1): "That is head 2: head 1 has the rows 1 and 2.", (1.41, 0.71, 0.71): "Line 2 is before scaling: don't divide by the square root of 2 yet."}),
                 3: ([2, 2, 1], {(4, 3, 2): "You used all four numbers: head 2 has only the rows 3 and 4.", (2, 1, 1): "That is head 1 again: head 2 has the rows 3 and 4.", (1.41, 1.41, 0.71): "Line 3 is before scaling: don't divide by the square root of 2 yet."}),
                 4: ([0.503, 0.248, 0.248], {(4.11, 2.03, 2.03): "Now divide each by their sum, so that the three add up to 1.", (0.576, 0.212, 0.212): "You left out the scaling: a score of 2 counts e^(2/1.41) = 4.11, not e^2 = 7.39."}),
                 5: ([0.401, 0.401, 0.198], {(4.11, 4.11, 2.03): "Now divide each by their sum, so that the three add up to 1.", (0.422, 0.422, 0.155): "You left out the scaling: a score of 2 counts e^(2/1.41) = 4.11, not e^2 = 7.39."}),
                 6: ([1.248, 0.503, 0.995, 0.198], {(1.248, 0.503, 1.248, 0.248): "Head 2 uses its own weights, line 5, not those of head 1.", (1.0, 0.0, 3.0, 0.0): "That is the notebook's other example, where the questions were loud. Here the weights are softer."})}),
]
