"""The exercises of lesson 01, attention pooling."""
import math
from dataclasses import dataclass

import torch

from ..masks import padding
from . import RAISES, Build, Choice, Exercise, Result, agrees, attempt, copies


@dataclass
class DefeatedMask(Exercise):
    """Break: three scores whose last one wins although -1e6 is written over it."""

    def judge(self, answer) -> Result:
        scores = torch.as_tensor(answer, dtype=torch.float32).detach()
        if scores.shape != (3,):
            return Result("wrong", f"Give three scores, got shape {tuple(scores.shape)}.")
        if not scores.isfinite().all():
            return Result("wrong", "Finite scores only: with infinity it would be too easy, and NaN breaks any softmax.")
        hidden = scores.clone()
        hidden[2] = -1e6
        weight = hidden.softmax(-1)[2].item()
        if weight > 0.9:
            return Result("right", self.praise)
        lowest, highest = scores[:2].min(), scores[:2].max()
        if weight < 0.01:
            above = "far above" if highest >= -1e6 + 100 else "above"
            overwritten = "The last score is overwritten, whatever you choose. " if scores[2] > highest else ""
            lost = (f"One visible score is {above} -1e6: both must be lower." if lowest < -1e6 else
                    f"Your visible scores are {above} -1e6, so the hidden key gets nothing.")
            return Result("wrong", overwritten + lost)
        return Result("wrong", f"Close: the hidden key gets {weight:.2f} of the weight. How do both visible scores compare with -1e6?")


@dataclass
class BuildMask(Build):
    """Build, and the result must be boolean: numbers 0 and 1 cannot be used with ~ and masked_fill."""

    def judge(self, answer) -> Result:
        result = super().judge(answer)
        kinds = {str(answer(*copies(arguments)).dtype) for arguments in self.inputs()} - {"torch.bool"} if result.state == "right" else set()
        return Result("wrong", f"The numbers are right, but a mask is boolean, and yours is {min(kinds)}. A comparison gives booleans.") if kinds else result


def pooling_inputs():
    generator = torch.Generator().manual_seed(1)

    def random(*shapes):
        return [torch.randn(*shape, generator=generator) for shape in shapes]

    first, other = random((4, 6), (5, 6), (5, 3)), random((3, 5), (7, 5), (7, 2))
    keep = torch.tensor([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()
    nearly_all = torch.ones(4, 5).bool().fill_diagonal_(False)  # every row has both: an added -inf * 0 and a mask upside down differ
    middle = torch.ones(3, 7).bool().tril(3).triu(-1)
    queries, keys, values = random((2, 3), (4, 3), (4, 5))
    low = 40 + queries / 10, -40 + keys / 100, values  # all scores near one another, about -2770
    return [(*first, nearly_all), (*first, keep), (*other, middle), (*low, torch.eye(2, 4).bool())]


def pooling(queries, keys, values, keep, *, axis=-1, scale=math.sqrt, mask="before", empty="zeros",
            fill=-1e9):
    """Attention with one thing to get wrong at a time."""
    scores = queries @ keys.T / scale(queries.shape[-1])
    if mask is None:
        weights = scores.softmax(axis)
    elif mask == "after":
        weights = scores.softmax(axis) * keep
    elif mask == "added":
        weights = (scores + ~keep * -math.inf).softmax(axis)
        weights = weights.where(keep, 0) if empty == "zeros" else weights
    elif mask == "product":
        weights = (scores * keep).softmax(axis)
        weights = weights * keep if empty == "cleared" else weights
    else:
        keep = ~keep if mask == "swapped" else keep
        lowest = -math.inf if empty == "nan" else fill
        weights = scores.masked_fill(~keep, lowest).softmax(axis)
        weights = weights * keep if empty == "zeros" else weights
    return weights @ values, weights


def scaled_by(width):
    """Attention whose scale is the root of ``width(queries, keys, values)``."""
    return lambda *arguments: pooling(*arguments, scale=lambda d: math.sqrt(width(*arguments[:3])))


def variant(**choices):
    return lambda *arguments: pooling(*arguments, **choices)


def hidden_upside_down(queries, keys, values, keep):
    weights = (queries @ keys.T / math.sqrt(queries.shape[-1])).masked_fill(keep, -1e9).softmax(-1) * keep
    return weights @ values, weights


def lengths_inputs():
    return [(torch.tensor([2, 0, 4]), 3, 5), (torch.tensor([3, 1]), 4, 6), (torch.tensor([[1, 3, 0], [4, 2, 4]]), 3, 4)]


def length_mask(valid_lens, queries, keys):
    return padding(valid_lens).tensor(queries, keys).expand(-1, queries, -1)


def dealt_out(valid_lens, queries, keys):
    if valid_lens.dim() == 1:
        valid_lens = valid_lens.repeat(queries).reshape(len(valid_lens), queries)
    return length_mask(valid_lens, queries, keys)


def per_query_only(valid_lens, queries, keys):
    """Lengths per sentence taken for lengths per query, as if there were as many of both."""
    if valid_lens.dim() == 2:
        return length_mask(valid_lens, queries, keys)
    return (torch.arange(keys) < valid_lens[:, None]).expand(len(valid_lens), -1, -1)


def per_sentence(mask):
    """``mask(lengths, keys)`` for every shape of lengths, and for lengths per sentence alone."""
    def for_one_axis(lens, queries, keys):
        return mask(lens, keys) if lens.dim() == 1 else length_mask(lens, queries, keys)

    return lambda lens, queries, keys: mask(lens, keys), for_one_axis


def one_batch(valid_lens, queries, keys):
    if valid_lens.dim() == 1:
        return per_query_only(valid_lens, queries, keys)
    return (torch.arange(keys) < valid_lens[None]).expand(len(valid_lens), -1, -1)


def regression(x, known_x, known_y, sigma, *, score=lambda distance, sigma: -distance**2 / (2 * sigma**2), axis=-1):
    return score(x[:, None] - known_x, sigma).softmax(axis) @ known_y


def regression_inputs():
    generator = torch.Generator().manual_seed(4)
    x, known_x, known_y = (torch.randn(count, generator=generator) for count in (4, 7, 7))
    return [(x, known_x, known_y, 0.7), (x, known_x, known_y, 2.0)]


def kernel(score):
    return lambda *arguments: regression(*arguments, score=score)


@dataclass
class AllPairs(Build):
    """Build. Where sizes don't fit, it is tried again with as many points as known points.

    There an answer runs that has the axes of the differences in another order, and is told so.
    """

    def judge(self, answer) -> Result:
        try:
            return super().judge(answer)
        except Exception:
            *_, known_y, sigma = self.inputs()[0]
            square = known_y.cos(), known_y.sin(), known_y, sigma
            given = attempt(answer, square)
            for wrong, words in TURNED:
                if given is not RAISES and agrees(given, attempt(wrong, square)):
                    return Result("wrong", words)
            raise


COLUMNS = ("Your differences are turned around: known points in the rows, new points in the columns. "
           "Rows are queries, here the new points: x[:, None] - known_x, and softmax(-1).")
NO_PAIRS = ("x - known_x compares the first with the first, the second with the second. Each x "
            "needs its distance to every known point: x[:, None] - known_x.")
TURNED = [
    (lambda x, known_x, known_y, sigma: regression(known_x, x, known_y, sigma), COLUMNS),
    (lambda x, known_x, known_y, sigma: regression(known_x, x, known_y, sigma, axis=0), COLUMNS),
    (lambda x, known_x, known_y, sigma: (-(x - known_x)**2 / (2 * sigma**2)).softmax(0) @ known_y,
     NO_PAIRS),
    (lambda x, known_x, known_y, sigma: (-(x - known_x)**2 / (2 * sigma**2)).softmax(0) * known_y,
     NO_PAIRS),
]

MIXED_LENGTHS = ("A sentence's queries get the lengths of other sentences. Each length belongs to all queries of its own sentence: "
                 "make it a column with [:, None], or repeat_interleave it; repeat deals the lengths out in turn.")

ZERO_STILL_COUNTS = ("A score multiplied by 0 is 0, and a score of 0 still gets weight. "
                     "Hide it with a very low number instead.")

NOT_LOW_ENOUGH = ("Your number is not low enough to hide with: where the visible scores are lower "
                  "still, such "
                  "as -2800, the hidden keys win. Use minus infinity, or the lowest number of the "
                  "type.")

INFINITY_TIMES_ZERO = "Your weights are NaN: (~keep) * -inf is 0 · -inf = NaN where nothing is hidden. Use masked_fill."

EXERCISES = [
    Choice("between-two", right="b", praise="Right. Two keys fit equally well, so each gives half.",
           hints=["Compute the four dot products of (10, 10, 0) with the keys.", "They are 100, 100, 0, 0. After dividing by 8, how do the weights of 12.5 and 0 compare?"],
           reasons={"a": "That is the sum of both values. Weights sum to 1, so the output is a mean: never more than the largest value.",
                    "c": "That is the mean of all four values. Two of the keys score 0 here, against 12.5: they get almost no weight.",
                    "d": "A Python dictionary would return the first that fits. The softmax treats equal scores equally."}),
    Build("pooling", praise="Right: masked, scaled, and zeros where there is nothing to attend to.",
          hints=["Five steps: score, hide, softmax, clear, mix.", "scores.masked_fill(~keep, lowest) hides; torch.finfo(scores.dtype).min is the lowest number there is.",
                 "In a row where all is hidden the softmax is uniform: multiply the weights with keep."],
          reference=pooling, inputs=pooling_inputs, misconceptions=[
              (variant(mask="added"), INFINITY_TIMES_ZERO),
              (variant(mask="added", empty="nan"), INFINITY_TIMES_ZERO),
              (variant(axis=0), "Your columns sum to 1: the softmax is over the queries, the wrong axis. Keys are the last axis: softmax(-1)."),
              (variant(scale=lambda d: 1), "The scores are not scaled. Divide them by the square root of the width of the queries."),
              (scaled_by(lambda queries, keys, values: 4),
               "You divide by 2 = math.sqrt(4), the root of the lesson's width. "
               "Here the width is another: queries.shape[-1]."),
              *((scaled_by(width), "You divide by the root of a number of tokens. "
                                   "What counts is the width of a query: queries.shape[-1].")
                for width in (lambda queries, keys, values: len(keys),
                              lambda queries, keys, values: len(queries))),
              (scaled_by(lambda queries, keys, values: values.shape[1]),
               "You divide by the root of the values' width. What counts is the width of a query."),
              (variant(scale=lambda d: 1 / math.sqrt(d)),
               "You multiply by the root of the width: divide."),
              (variant(scale=float), "You divide by the width, not by its square root: the weights come out too even."),
              (variant(mask=None), "The mask has no effect: where keep is False, the weight must be 0."),
              (variant(mask="swapped"), "The mask is upside down: True means may attend, and you hide exactly those."),
              (variant(mask="swapped", empty="uniform"), "The mask is upside down: True means may attend, and you hide exactly those."),
              (variant(mask="swapped", empty="nan"), "The mask is upside down: True means may attend, and you hide exactly those."),
              (hidden_upside_down, "The mask is upside down where you hide: masked_fill(keep, ...) overwrites what may be seen. Hide ~keep, then multiply with keep."),
              (variant(mask="after"), "You hide keys after the softmax, so the weights that are left no longer sum to 1. Hide the scores before it."),
              *((variant(mask="product", empty=empty), ZERO_STILL_COUNTS) for empty in ("cleared",
                 "zeros")),
              *((variant(fill=-100, empty=empty), NOT_LOW_ENOUGH) for empty in ("zeros",
                 "uniform")),
              (variant(empty="uniform"), "All right but for the query that may attend to nothing: it gets the mean of hidden values. It should get zeros."),
              (variant(empty="nan"), "All right but for the query that may attend to nothing: its row is 0 divided by 0, which is NaN, and NaN · 0 stays NaN. Hide with the lowest number, then multiply the weights with keep."),
              (lambda queries, keys, values, keep: pooling(queries, keys, keys, keep),
               "The weights are right. The output mixes the values, and yours mixes the keys."),
              (lambda *arguments: pooling(*arguments)[0], "The output is right. Return the weights as well: return output, weights."),
              (lambda *arguments: pooling(*arguments)[::-1], "The two results have changed places: first the output, then the weights."),
          ]),
    BuildMask("lengths", praise="Right, for lengths per sentence and per query.",
          hints=["Key j may be attended to when j < length, and torch.arange(keys) holds all j.", "Bring valid_lens to shape (batch, queries, 1): valid_lens[:, None, None] for one length per sentence, valid_lens[:, :, None] for one per query.",
                 "The result must have all three axes: expand(-1, queries, -1) repeats one row per sentence for every query."],
          reference=length_mask, inputs=lengths_inputs, misconceptions=[
              (lambda lens, n, m: ~length_mask(lens, n, m), "Upside down: True means may attend, so the first valid_lens keys are True."),
              (lambda lens, n, m: length_mask(lens + 1, n, m), "One key too many: a length of 2 means positions 0 and 1, so compare with <."),
              (lambda lens, n, m: length_mask((lens - 1).clamp(min=0), n, m),
               "One key too few: a length of 2 means positions 0 and 1, and torch.arange counts "
               "from 0."),
              (dealt_out, MIXED_LENGTHS),
              (per_query_only, MIXED_LENGTHS),
              (one_batch, MIXED_LENGTHS),
              (lambda lens, n, m: length_mask(lens, n, m).flip(-1), "You keep the last keys. Padding stands at the end: the first valid_lens keys are the real ones."),
              *((wrong,
                 "The axis of the queries is missing: (batch, keys) should be (batch, queries, "
                 "keys). "
                        "Every query of a sentence gets the same row.")
                for wrong in per_sentence(lambda lens, keys: torch.arange(keys) < lens[:, None])),
              *((wrong,
                 "Right but for the shape: expand the axis of the queries from 1 to their number.")
                for wrong in per_sentence(lambda lens, m: torch.arange(m) < lens[:, None, None])),
          ]),
    DefeatedMask("defeat", praise="Right: next to scores below -1e6, a hidden key is the most attractive of all. The lowest number of the type cannot be undercut.",
                 hints=["The hidden score becomes -1e6 whatever you write there. What counts is how the other two compare with it.", "A softmax looks at differences only: the visible scores need to be lower than -1e6, by 10 or more."]),
    Choice("why-scale", right=frozenset("ade"), options="abcde", praise="Right: variance d, typical size √d, and a scale that keeps gradients alive.",
           hints=["Three statements are true. The section 'Why divide by √d?' measured all three.", "Does dividing by a positive number change which of several numbers is the largest?"],
           reasons={"b": "Statement b is false: the softmax divides by its sum, with any scale.",
                    "c": "Statement c is false: dividing all scores by the same positive number keeps their order."}),
    AllPairs("kernel", praise="Right: kernel regression is attention whose score is a distance.",
          hints=["x[:, None] - known_x has shape (queries, keys).", "Square it, divide by 2 sigma², put a minus in front, softmax over the last axis, multiply with known_y."],
          reference=regression, inputs=regression_inputs, misconceptions=[
              (kernel(lambda distance, sigma: distance**2 / (2 * sigma**2)), "The minus is missing: far points get the most weight."),
              (kernel(lambda distance, sigma: -distance.abs() / (2 * sigma**2)), "Square the distance; its absolute value gives another kernel."),
              (kernel(lambda distance, sigma: -distance / (2 * sigma**2)),
               "Square the distance: as it is, one side of x counts as nearer than x itself."),
              (kernel(lambda distance, sigma: (-distance**2 / (2 * sigma**2)).exp()),
               "The softmax takes the exponential itself: give it the scores as they are."),
              (lambda *arguments: regression(*arguments) / len(arguments[1]),
               "You take the mean of weight times y. The weights sum to 1 already: add up."),
              (lambda x, known_x, known_y, sigma: known_y.mean().expand(len(x)),
               "Every x gets the plain mean. Near points should count more."),
              (kernel(lambda distance, sigma: -distance**2 / (2 * sigma) ** 2), "You square the 2 as well: only sigma is squared, 2 * sigma**2."),
              (kernel(lambda distance, sigma: -distance**2), "sigma has no effect: divide by 2 sigma²."),
              (kernel(lambda distance, sigma: -distance**2 / (2 * sigma)), "sigma needs a square as well: divide by 2 sigma²."),
              (kernel(lambda distance, sigma: -distance**2 / sigma**2), "The 2 is missing: divide by 2 sigma²."),
              (kernel(lambda distance, sigma: -distance**2 / 2 * sigma**2), "You multiply by sigma²: in a / 2 * b Python divides by 2 alone. Put 2 * sigma**2 in brackets."),
              (lambda x, known_x, known_y, sigma: (-(x[:, None] - known_x) ** 2 / (2 * sigma**2)).exp() @ known_y, "The weights don't sum to 1: take the softmax, not the exponential alone."),
              (lambda *arguments: regression(*arguments, axis=0), "The softmax is over the queries: every known point shares itself out among the new ones. Use the last axis, the known points."),
              (lambda x, known_x, known_y, sigma: known_y[(x[:, None] - known_x).abs().argmin(-1)], "That is the nearest point's y alone. Every point counts, near ones more."),
          ]),
]
