"""The exercises of lesson 09, longer and faster."""
import math
from dataclasses import dataclass

from ..exercises.kinds import Build, Choice, NotYet
from ..languages import t


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


EXERCISES = [
    Build("merge-states", merge, MERGE,
          lambda: [((1.0, 1.5, 4.0), (3.0, 1.25, 10.0)), ((3.0, 2.0, -1.0), (1.0, 2.5, 5.0)),
                   ((0.5, 3.0, 2.0), (0.5, 1.0, 6.0))],
          larger=lambda: [((2.0, 1.0, 3.0), (1000.0, 1.5, 5.0)), (EMPTY, (2.0, 1.5, 7.0)),
                          ((1000.0, 1.25, 2.0), (999.0, 4.0, 8.0))]),
    Design("defend-cache"),
    Build("window-layers", layers, WINDOW_LAYERS,
          lambda: [(24, 4), (9, 4), (10, 4), (100, 7), (2, 5), (17, 1)]),
]
