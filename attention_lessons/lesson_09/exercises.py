"""The exercises of lesson 09, longer and faster."""
import math
from dataclasses import dataclass

from ..exercises.kinds import Build, Choice, NotYet
from ..languages import t

EXERCISES = []


EXERCISES.append(Choice(
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
    }))


# ---- merge-states ----

EMPTY = -math.inf, 0.0, 0.0


def merge(one, other):
    (m, s, x), (n, t, y) = one, other
    new = max(m, n)
    a, b = s * math.exp(m - new), t * math.exp(n - new)
    return new, a + b, (a * x + b * y) / (a + b)


OUTPUT = "(a * x + b * y) / (a + b)"
MERGE = [
    (" * math.exp(m - new)", "", " * math.exp(n - new)", "",
     "Nothing is rescaled: each sum counts as divided by exp of its own largest score. "
     "Bring both to the common one."),
    *((OUTPUT, new, "The sums are rescaled, but not what the outputs are made of. Weigh both "
                    "with the new sums.")
      for new in ("(s * x + t * y) / (a + b)", "(s * x + t * y) / (s + t)")),
    ("m - new", "new - m", "n - new", "new - n",
     "Rescaled the wrong way: the factor is exp(old maximum - new maximum), 1 at most."),
    (" / (a + b)", "",
     "The weighted sum is right, but the output is that sum divided by the sum of the powers."),
    (OUTPUT, "x + y",
     "The outputs are added. Each is a mean over its half: weigh them by their rescaled sums."),
    (OUTPUT, "(x + y) / 2",
     "Both outputs count alike. A half with larger scores weighs more: use the rescaled sums."),
    ("t * math.exp", "math.exp",
     "You take the other half for a single key, as `more` takes a tile: its sum is missing."),
]

EXERCISES.append(Build(
    "merge-states", reference=merge,
    inputs=lambda: [((1.0, 1.5, 4.0), (3.0, 1.25, 10.0)), ((3.0, 2.0, -1.0), (1.0, 2.5, 5.0)),
                    ((0.5, 3.0, 2.0), (0.5, 1.0, 6.0))],
    larger=lambda: [((2.0, 1.0, 3.0), (1000.0, 1.5, 5.0)), (EMPTY, (2.0, 1.5, 7.0)),
                    ((1000.0, 1.25, 2.0), (999.0, 4.0, 8.0))],
    slips=MERGE,
    praise="Right: both sums are brought to the common maximum, and weigh the outputs.",
    hints=["First the new maximum. Then: how much is each sum worth against it?",
           "a = one's sum * exp(one's largest - new), b the same for the other.",
           "The output is a mean of both outputs, with the weights a and b."]))


# ---- defend-cache ----

LAYERS, HEADS, WIDTH, STEPS, BYTES = 40, 32, 128, 32_768, 2


@dataclass
class Design(Choice):
    """Sizes that keep a budget, and the letter of the argument that defends them."""

    def fault(self, answer):
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            return t("Give three things, such as {0}.", '(16, 1000, "a")')
        pairs, window, because = answer
        if not pairs and not window and not because:
            raise NotImplementedError
        if not isinstance(pairs, int) or not isinstance(window, int) or window < 1:
            return t("pairs and w are whole numbers, at least 1; got {0} and {1}.", repr(pairs),
                     repr(window))
        if pairs < 4 or HEADS % pairs:
            return t("{0} pairs won't do: 32 heads are shared out evenly, and at least 4 pairs "
                     "stay.", pairs)
        kept = min(window, STEPS)
        needed = LAYERS * 2 * pairs * WIDTH * kept * BYTES / 2**30
        if needed > 2:
            return t("It needs {0} GiB: 40 layers, 2 · {1} · 128 numbers for each of {2} tokens, "
                     "2 bytes a number.", f"{needed:.4f}", pairs, f"{kept:,}")
        if LAYERS * window < STEPS - 1:
            return t("It fits. But through 40 layers the last token hears of {0} tokens before "
                     "it, and the first is 32,767 back.", f"{LAYERS * window:,}")
        if not because:
            raise NotYet(t("Both sizes are right. Now defend them: because."))
        return super().fault(because)


EXERCISES.append(Design(
    "defend-cache", right="b",
    praise="Right: a cheaper model is another model, and whether it is as good is measured.",
    hints=["A token has 2 · pairs · 128 numbers in each of 40 layers. A window keeps no more "
           "tokens than it is wide.",
           "How wide must a window be for 40 layers of it to reach 32,767 back? How wide may "
           "it be with 8 pairs, at 163,840 bytes a token?",
           "Which argument would you accept from somebody else? Sharing and windows change "
           "what is computed."],
    reasons={
        "a": "Tiles change nothing but the order of sums. A window hides keys, and shared "
             "pairs are other keys: the outputs are others.",
        "c": "Every head keeps a query of its own, and W_q its size.",
        "d": "Beyond its window a token is dropped for each that comes: the cache stays as "
             "large as it is.",
    }))


EXERCISES.append(Choice(
    "true-of-tiles", right="bde",
    praise="Right: exact, without the table, with less to move, and all of the arithmetic.",
    hints=["Three statements are true.",
           "The sections 'The sum of a softmax needs one look' and 'Exact attention without "
           "the table' decide all five."],
    reasons={
        "a": "is false: every size of tile gives the same numbers, up to rounding.",
        "c": "is false: every score is computed, and the rescaling comes on top.",
    }))


# ---- window-layers ----


def layers(n, w):
    return math.ceil((n - 1) / w)


WINDOW_LAYERS = [
    ("n - 1", "n",
     "One layer too many where w divides n - 1: from the last token to the first there are "
     "n - 1 steps. Round (n - 1) / w up."),
    ("ceil", "floor",
     "Rounded down: the last layer need not use its whole window, but it is needed."),
    ("math.ceil", "round",
     "Rounded to the nearest: the last layer need not use half of its window, but it is needed."),
    *((old, new, "A layer carries w further. That a token sees itself, too, carries it "
                 "nowhere.") for old, new in (("/ w", "/ (w + 1)"),
                                                  ("(n - 1) / w", "n / (w + 1)"))),
    ("(n - 1) / w", "There are no parts of layers: round up."),
    ("n - 1", "That holds for a window of 1. Each layer carries w steps."),
    ("(n - 1) / w", "math.log2(n)",
     "Windows add up, they don't double: every layer carries the same w steps."),
]

EXERCISES.append(Build(
    "window-layers", reference=layers,
    inputs=lambda: [(24, 4), (9, 4), (10, 4), (100, 7), (2, 5), (17, 1)],
    slips=WINDOW_LAYERS,
    praise="Right: windows add up from layer to layer.",
    hints=["Through one layer the last token hears of those up to w before it.",
           "How many times w do you need for n - 1? Round up."]))
