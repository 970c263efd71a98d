"""The exercises of lesson 09, longer and faster."""
import math

from ..exercises.kinds import Build, Choice, Slip

# ---- merge-states ----

EMPTY = -math.inf, 0.0, 0.0


def merge(one, other):
    (m, s, x), (n, t, y) = one, other
    new = max(m, n)
    a, b = s * math.exp(m - new), t * math.exp(n - new)
    return new, a + b, (a * x + b * y) / (a + b)


OUTPUT = "(a * x + b * y) / (a + b)"
MERGE = [
    Slip(" * math.exp(m - new)", "", " * math.exp(n - new)", "",
         "Nothing is rescaled: each sum counts as divided by exp of its own largest score. "
         "Bring both to the common one."),
    *(Slip(OUTPUT, new, "The sums are rescaled, but not what the outputs are made of. Weigh both "
                        "with the new sums.")
      for new in ("(s * x + t * y) / (a + b)", "(s * x + t * y) / (s + t)")),
    Slip("m - new", "new - m", "n - new", "new - n",
         "Rescaled the wrong way: the factor is exp(old maximum - new maximum), 1 at most."),
    Slip(" / (a + b)", "",
         "The weighted sum is right, but the output is that sum divided by the sum of the powers."),
    Slip(OUTPUT, "x + y",
         "The outputs are added. Each is a mean over its half: weigh them by their rescaled sums."),
    Slip(OUTPUT, "(x + y) / 2",
         "Both outputs count alike. A half with larger scores weighs more: use the rescaled sums."),
    Slip("t * math.exp", "math.exp",
         "You take the other half for a single key, as `more` takes a tile: its sum is missing."),
]

# ---- which-head ----


def pairs(num_heads, num_pairs):
    dealt = [head % num_pairs for head in range(num_heads)]
    neighbours = [head // (num_heads // num_pairs) for head in range(num_heads)]
    return dealt, neighbours


WHICH_HEAD = [
    Slip("neighbours, dealt",
         "The two lists are exchanged: first what `repeat` gives, then what it should be."),
    Slip("neighbours, neighbours",
         "The second list is right. `repeat` doesn't do that: "
         "it puts copies of the whole row one after the other."),
    Slip("dealt, dealt", "The first list is right. It should be neighbours that share a pair."),
    Slip("(num_heads // num_pairs)", "num_pairs",
         "In the second list you divide by the number of pairs. "
         "Divide by how many heads share one: h // g."),
    Slip("% num_pairs", "% (num_heads // num_pairs)",
         "In the first list the numbers of the pairs go round: there are g of them, not h // g."),
    Slip("[head ", "[1 + head ", "Pairs are numbered from 0."),
]

# ---- window-layers ----


def layers(n, w):
    return math.ceil((n - 1) / w)


WINDOW_LAYERS = [
    Slip("n - 1", "n",
         "One layer too many where w divides n - 1: from the last token to the first there are "
         "n - 1 steps. Round (n - 1) / w up."),
    Slip("ceil", "floor",
         "Rounded down: the last layer need not use its whole window, but it is needed."),
    Slip("math.ceil", "round",
         "Rounded to the nearest: the last layer need not use half of its window, but it is "
         "needed."),
    *(Slip(old, new, "A layer carries w further. That a token sees itself, too, carries it "
                     "nowhere.") for old, new in (("/ w", "/ (w + 1)"),
                                                  ("(n - 1) / w", "n / (w + 1)"))),
    Slip("(n - 1) / w", "There are no parts of layers: round up."),
    Slip("n - 1", "That holds for a window of 1. Each layer carries w steps."),
    Slip("(n - 1) / w", "math.log2(n)",
         "Windows add up, they don't double: every layer carries the same w steps."),
]


EXERCISES = [
    Choice(
        "kv-bytes", right="c",
        praise="Right: 2 x 8 x 128 numbers a token and layer, times 32 layers, 8,192 tokens and "
               "2 bytes.",
        hints=["How many pairs of a key and a value are there, if four of 32 heads share one?",
               "A token has 2 x pairs x width numbers in each layer. Then layers, tokens, bytes."],
        reasons={
            "a": "A token has a key and a value in each of eight pairs: you may have "
                 "counted a single pair.",
            "b": "Half of it: a cache holds keys and values, or a number has 2 bytes.",
            "d": "That is the size if each head has a pair of its own. Four share one here.",
        },
    ),
    Build(
        "merge-states", reference=merge,
        inputs=lambda: [((1.0, 1.5, 4.0), (3.0, 1.25, 10.0)), ((3.0, 2.0, -1.0), (1.0, 2.5, 5.0)),
                        ((0.5, 3.0, 2.0), (0.5, 1.0, 6.0))],
        larger=lambda: [((2.0, 1.0, 3.0), (1000.0, 1.5, 5.0)), (EMPTY, (2.0, 1.5, 7.0)),
                        ((1000.0, 1.25, 2.0), (999.0, 4.0, 8.0))],
        slips=MERGE,
        praise="Right: both sums are brought to the common maximum, and weigh the outputs.",
        hints=["First the new maximum. Then: how much is each sum worth against it?",
               "a = one's sum * exp(one's largest - new), b the same for the other.",
               "The output is a mean of both outputs, with the weights a and b."],
    ),
    Build(
        "which-head", reference=pairs, inputs=lambda: [(4, 2), (8, 2), (6, 3), (8, 4)],
        slips=WHICH_HEAD,
        praise="Right: repeat deals the pairs out in turn, repeat_interleave gives them to "
               "neighbours.",
        hints=["Try torch.arange(2).repeat(2) and torch.arange(2).repeat_interleave(2).",
               "The first list goes round: a remainder. The second counts groups: a division."],
    ),
    Choice(
        "true-of-tiles", right="bde",
        praise="Right: exact, without the table, with less to move, and all of the arithmetic.",
        hints=["Three statements are true.",
               "The sections 'The sum of a softmax needs one look' and 'Exact attention without "
               "the table' decide all five."],
        reasons={
            "a": "is false: every size of tile gives the same numbers, up to rounding.",
            "c": "is false: every score is computed, and the rescaling comes on top.",
        },
    ),
    Build(
        "window-layers", reference=layers,
        inputs=lambda: [(24, 4), (9, 4), (10, 4), (100, 7), (2, 5), (17, 1)],
        slips=WINDOW_LAYERS,
        praise="Right: windows add up from layer to layer.",
        hints=["Through one layer the last token hears of those up to w before it.",
               "How many times w do you need for n - 1? Round up."],
    ),
]
