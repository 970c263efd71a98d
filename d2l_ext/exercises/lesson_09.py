"""The exercises of lesson 09, longer and faster."""
import math

from .kinds import Build, Choice

# ---- running-softmax ----

START = -math.inf, 0.0, 0.0


def step(largest, total, output, score, value):
    return changed()(largest, total, output, score, value)


def changed(rescale=lambda old, new: math.exp(old - new), of_sum=True, of_output=True,
            maximum=max, divide=True):
    """A step with one of its parts wrong."""
    def answer(largest, total, output, score, value):
        new = maximum(largest, score)
        factor, power = rescale(largest, new), math.exp(score - new)
        after = (factor if of_sum else 1.0) * total + power
        summed = (factor if of_output else 1.0) * total * output + power * value
        return new, after, summed / after if divide else summed
    return answer


def unweighted(largest, total, output, score, value):
    """Takes the output for a sum, though it was divided."""
    new = max(largest, score)
    factor, power = math.exp(largest - new), math.exp(score - new)
    return new, factor * total + power, (factor * output + power * value) / (factor * total + power)


def without_maximum(largest, total, output, score, value):
    power = math.exp(score)
    return max(largest, score), total + power, (total * output + power * value) / (total + power)


RUNNING = [
    (changed(rescale=lambda old, new: 1.0),
     "Nothing is rescaled: when a larger score comes, what was summed "
     "must count as divided by exp(new maximum)."),
    (changed(of_sum=False),
     "The output is rescaled, but not the sum. Both were made with the old maximum."),
    (changed(of_output=False),
     "The sum is rescaled, but not what the output is made of. "
     "Both were made with the old maximum."),
    (changed(rescale=lambda old, new: math.exp(min(new - old, 700.0)) if old > -math.inf else 0.0),
     "Rescaled the wrong way: the factor is exp(old maximum - new maximum), 1 at most."),
    (changed(divide=False),
     "The weighted sum is right, but the output is that sum divided by the sum of the powers."),
    (unweighted,
     "The output so far was divided already: multiply it by its sum before you add to it."),
    (without_maximum,
     "You take powers of the scores themselves: with a score of 1000 they overflow. "
     "Take the largest off first."),
    (changed(maximum=lambda old, new: new),
     "Your maximum is the last score. It is the largest so far, old or new."),
]

# ---- which-head ----


def pairs(h, g):
    return [head % g for head in range(h)], [head // (h // g) for head in range(h)]


WHICH_HEAD = [
    (lambda h, g: pairs(h, g)[::-1],
     "The two lists are exchanged: first what `repeat` gives, then what it should be."),
    (lambda h, g: (pairs(h, g)[1], pairs(h, g)[1]),
     "The second list is right. `repeat` doesn't do that: "
     "it puts copies of the whole row one after the other."),
    (lambda h, g: (pairs(h, g)[0], pairs(h, g)[0]),
     "The first list is right. It should be neighbours that share a pair."),
    (lambda h, g: (pairs(h, g)[0], [head // g for head in range(h)]),
     "In the second list you divide by the number of pairs. "
     "Divide by how many heads share one: h // g."),
    (lambda h, g: ([head % (h // g) for head in range(h)], pairs(h, g)[1]),
     "In the first list the numbers of the pairs go round: there are g of them, not h // g."),
    (lambda h, g: tuple([pair + 1 for pair in each] for each in pairs(h, g)),
     "Pairs are numbered from 0."),
]

# ---- window-layers ----


def layers(n, w):
    return -(-(n - 1) // w)


WINDOW_LAYERS = [
    (lambda n, w: -(-n // w),
     "Between the last of n tokens and the first there are n - 1 steps, not n."),
    (lambda n, w: (n - 1) // w,
     "Rounded down: the last layer need not use its whole window, but it is needed."),
    (lambda n, w: -(-(n - 1) // (w + 1)),
     "A layer carries w further. That a token sees itself, too, carries it nowhere."),
    (lambda n, w: (n - 1) / w, lambda n, w: (n - 1) / w + 1e-9,
     "There are no parts of layers: round up."),
    (lambda n, w: n - 1, "That holds for a window of 1. Each layer carries w steps."),
    (lambda n, w: math.ceil(math.log2(n)),
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
        "running-softmax", reference=step,
        inputs=lambda: [(1.0, 1.5, 4.0, 3.0, 10.0), (3.0, 2.0, -1.0, 1.0, 5.0),
                        (*START, 2.0, 7.0), (2.0, 1.0, 3.0, 1000.0, 5.0),
                        (1000.0, 1.25, 2.0, 999.0, 8.0)],
        misconceptions=RUNNING,
        praise="Right: sum and output are rescaled whenever a larger score comes.",
        hints=["First the new maximum. Then: how much is what was summed worth against it?",
               "before = total * exp(largest - new), power = exp(score - new).",
               "The output is a mean: (before * output + power * value) / (before + power)."],
    ),
    Build(
        "which-head", reference=pairs, inputs=lambda: [(4, 2), (8, 2), (6, 3), (8, 4)],
        misconceptions=WHICH_HEAD,
        praise="Right: repeat deals the pairs out in turn, repeat_interleave gives them to "
               "neighbours.",
        hints=["Try torch.arange(2).repeat(2) and torch.arange(2).repeat_interleave(2).",
               "The first list goes round: a remainder. The second counts groups: a division."],
    ),
    Choice(
        "true-of-tiles", right="bde",
        praise="Right: exact, without the table, with less to move, and all of the arithmetic.",
        hints=["Three statements are true.",
               "The sections 'Exact attention without the table' and 'A softmax needs no second "
               "look' decide all five."],
        reasons={
            "a": "is false: every size of tile gives the same numbers, up to rounding.",
            "c": "is false: every score is computed, and the rescaling comes on top.",
        },
    ),
    Build(
        "window-layers", reference=layers,
        inputs=lambda: [(24, 4), (9, 4), (10, 4), (100, 7), (2, 5), (17, 1)],
        misconceptions=WINDOW_LAYERS,
        praise="Right: windows add up from layer to layer.",
        hints=["Through one layer the last token hears of those up to w before it.",
               "How many times w do you need for n - 1? Round up."],
    ),
]
