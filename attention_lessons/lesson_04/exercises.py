"""The exercises of lesson 04, positional encoding."""
import math

import torch

from d2l_ext.positional import sinusoids
from ..exercises.kinds import Build, Choice

# ---- sinusoid-table ----


def waves(steps, num_hiddens, *, first=0, base=10_000, exponent=lambda c: c - c % 2,
          sine=lambda i, c: c % 2 == 0):
    """The sinusoidal table with one thing to get wrong at a time."""
    i = torch.arange(first, first + steps, dtype=torch.float64)[:, None]
    c = torch.arange(num_hiddens)
    angles = i / base ** (exponent(c) / num_hiddens)
    return torch.where(sine(i, c), angles.sin(), angles.cos())


def variant(**choices):
    return lambda steps, num_hiddens: waves(steps, num_hiddens, **choices)


def halves(steps, num_hiddens):
    P = waves(steps, num_hiddens)
    return torch.cat([P[:, 0::2], P[:, 1::2]], dim=1)


def by_angle(change):
    """The table of changed angles: ``change(i, c, d)`` for position i and even column c."""
    def wrong(steps, num_hiddens):
        i, c = torch.arange(steps, dtype=torch.float64)[:, None], torch.arange(0, num_hiddens, 2)
        angles = change(i, c.double(), num_hiddens)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return wrong


def speeds(d):
    return 10_000 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


SINUSOID_TABLE = [
    (variant(exponent=lambda c: c),
     "Each of your columns has an angle of its own. "
     "Columns 2j and 2j + 1 share one: the exponent is 2j/d in both."),
    (variant(exponent=lambda c: c // 2),
     "Your exponent is j/d; it should be 2j/d. "
     "As it is, the hands slow down by half as much as they should."),
    (variant(exponent=lambda c: 2 * (c - c % 2)),
     "Your exponent is 4j/d; it should be 2j/d. The column's number is 2j already, not j."),
    (by_angle(lambda i, c, d: i / 10_000 ** (c / (d - 2))),
     "Your exponent is 2j/(d - 2); it should be 2j/d: divide by the whole width."),
    (variant(sine=lambda i, c: c % 2 == 1),
     "Sine and cosine are swapped: even columns hold the sines."),
    (halves,
     "All sines come first and all cosines after them. "
     "Other code does that; here they take turns, column by column."),
    (variant(sine=lambda i, c: (i % 2 == 0) & (c >= 0)),
     "You give sines to even positions and cosines to odd ones. "
     "The 2i of the paper's formula counts columns: every position has both."),
    (variant(sine=lambda i, c: c + i >= 0),
     "All your columns hold sines. The odd ones hold the cosines of the same angles."),
    (variant(sine=lambda i, c: c + i < 0),
     "All your columns hold cosines. The even ones hold the sines of the same angles."),
    (variant(base=1000), variant(base=100_000),
     "The base is 10000: yours has another number of zeros."),
    (lambda n, d: torch.arange(n)[:, None] / 10_000 ** (torch.arange(0, d, 2) / d),
     "Those are the angles. Their sines go into the even columns, "
     "their cosines into the odd ones."),
    (variant(first=1), "Positions count from 0: the first row has all angles 0."),
    (variant(base=1 / 10_000),
     "You multiply by the powers of 10000. The hands should slow down: divide."),
    (variant(exponent=lambda c: c * 0), variant(exponent=lambda c: c * 0 + len(c)),
     "All your hands have the same speed. "
     "The exponent 2j/d makes each one slower than the one before."),
    (by_angle(lambda i, c, d: i / 10_000 ** c / d), by_angle(lambda i, c, d: i / (10_000 ** c / d)),
     "Brackets: the power is 2j/d; yours is divided by d afterwards."),
    (by_angle(lambda i, c, d: (i * speeds(d)).rad2deg()),
     by_angle(lambda i, c, d: (i * speeds(d)).deg2rad()),
     "Radians: torch.sin takes no degrees, and the formula gives none."),
    (lambda steps, d: waves(2 * steps, d)[::2],
     "Your positions go in steps of two. "
     "The 2 in the formula belongs to the column, not to the position."),
    (lambda steps, d: waves(steps, d).T,
     "Rows and columns have changed places: a row for each position."),
    (lambda steps, d: waves(steps, d)[None],
     "One axis too many: the table is (steps, num_hiddens), the batch comes in when it is added."),
]

# ---- batch-axis ----


def sentence_numbers(batch, steps):
    return [[sentence] * steps for sentence in range(batch)]


BATCH_AXIS = [
    (lambda batch, steps: [list(range(steps)) for _ in range(batch)],
     "Those would be the right positions. "
     "But the code takes X.shape[0] rows, one per sentence, and spreads each over the words."),
    (lambda batch, steps: [[word] * batch for word in range(steps)],
     "Your outer list is the words. "
     "The rows of P line up with the first axis of X, the sentences."),
    (lambda batch, steps: torch.arange(batch * steps).reshape(batch, steps).tolist(),
     "The positions don't run on through the batch: "
     "P[:batch] has a row for each sentence, no more."),
    (lambda batch, steps: [[0] * steps for _ in range(batch)],
     "That holds for the first sentence. The second one gets row 1 of P."),
    (lambda batch, steps: [[sentence + 1] * steps for sentence in range(batch)],
     "Positions count from 0, and so do the rows of P."),
    (lambda batch, steps: [list(range(batch))] * steps,
     "Each sentence has one number, the same for all its words."),
    (lambda batch, steps: torch.tensor(sentence_numbers(batch, steps)),
     "Right numbers; return nested lists (`.tolist()`)."),
    (lambda batch, steps: list(range(batch)),
     "Right numbers; write one for each word: a list per sentence."),
]

# ---- shift ----


def shift(P, offset, *, turn=lambda offset, d: offset * speeds(d), plus=1, sign=-1, stale=True):
    """Every hand turned by its own angle, with one thing to get wrong at a time."""
    turn = turn(offset, P.shape[1])
    sine, cosine = P[:, 0::2].double(), P[:, 1::2].double()
    first = sine * turn.cos() + plus * cosine * turn.sin()
    second = cosine * turn.cos() + sign * (sine if stale else first) * turn.sin()
    return torch.stack([first, second], dim=-1).flatten(1)


def turned(**choices):
    return lambda P, offset: shift(P, offset, **choices)


def shift_inputs():
    return [(sinusoids(50, 6)[[3, 10, 4]], 2), (sinusoids(40, 8)[20:25], 7),
            (sinusoids(30, 4)[10:12], -3)]


SHIFT = [
    (lambda P, offset: shift(P, -offset),
     "You turn the wrong way: these are the rows offset positions before. "
     "Look at the signs in the addition formulas."),
    (lambda P, offset: shift(P, abs(offset)),
     "A negative offset turns the hands back: you turn them on by as much."),
    (turned(turn=lambda offset, d: offset / speeds(d)),
     "You multiply by 10000^(2j/d). The hands of later columns are slower: divide."),
    (lambda P, offset: P + offset,
     "You add the offset to sines and cosines. It is the hands' angles that grow: turn the hands."),
    (turned(turn=lambda offset, d: offset * torch.ones(d // 2).double()),
     "All your hands turn by the same angle. "
     "Each has its own speed: divide the offset by 10000^(2j/d)."),
    (turned(turn=lambda offset, d: offset * speeds(d) ** 0.5),
     "Your exponent is j/d; the speed of hand j is 1 / 10000^(2j/d)."),
    (turned(sign=1), "A sign: cos(a + b) = cos a cos b - sin a sin b."),
    (turned(plus=-1), "A sign: sin(a + b) = sin a cos b + cos a sin b."),
    (lambda P, offset: torch.zeros_like(P),
     "Your rows are all zeros: nothing has been written into the result. "
     "Fill the even columns with the new sines, the odd ones with the new cosines."),
    (turned(stale=False),
     "You have overwritten the sines before the cosines were computed from them. "
     "Keep the old ones."),
    (lambda P, offset: torch.roll(P, -offset, 0),
     "Rolling only exchanges the rows you were given. "
     "The rows further on aren't among them: turn the hands."),
    (lambda P, offset: P + sinusoids(abs(offset) + 1, P.shape[1])[offset],
     "Encodings don't add up like positions: the hands would leave their circles. "
     "Angles add, so turn them."),
    (lambda P, offset: sinusoids(len(P) + abs(offset), P.shape[1])[abs(offset):],
     "You build rows as if P began at position 0. "
     "Nobody said where it begins: start from the rows themselves."),
]

# ---- read-clock ----


def read(row, *, angle=math.atan2, slow=lambda d: 10_000 ** ((d - 2) / d), hand=-1):
    """The position from one hand, with one thing to get wrong at a time."""
    sine, cosine = row.unflatten(0, (-1, 2))[hand].tolist()
    return round(angle(sine, cosine) * slow(len(row)))


def unrounded(row):
    return math.atan2(*row[-2:].tolist()) * 10_000 ** ((len(row) - 2) / len(row))


def unrounded_in_single(row):
    return float(torch.atan2(row[-2], row[-1])) * 10_000 ** ((len(row) - 2) / len(row))


def read_inputs():
    places = (4, 200), (32, 7), (6, 250), (64, 0), (4, 100), (8, 39)
    return [(sinusoids(251, d)[i],) for d, i in places]


def reading(**choices):
    return lambda row: read(row, **choices)


READ_CLOCK = [
    (reading(hand=0),
     "The first two columns are the fastest hand, "
     "which goes round every 6.28 positions. Read the last two."),
    (reading(hand=0, slow=lambda d: 1),
     "You read the fastest hand. "
     "It goes round every 6.28 positions, so it can't tell 1 from 45. Read the slowest."),
    (reading(angle=lambda sine, cosine: math.atan2(cosine, sine)),
     "Sine and cosine have changed places: atan2 takes the sine first."),
    (reading(angle=lambda sine, cosine: math.asin(sine)),
     "The sine alone can't tell 100 from 214: "
     "it is the same before and after a quarter round. Use both numbers: atan2."),
    (reading(angle=lambda sine, cosine: math.atan(sine / cosine)),
     "atan of the quotient cannot tell opposite hands apart: use atan2 of both."),
    (unrounded, "Nearly: round to the nearest whole number."),
    (lambda row: int(unrounded(row)), lambda row: int(unrounded_in_single(row)),
     "Nearly: round to the nearest whole number, int() cuts off."),
    (reading(slow=lambda d: 10_000),
     "The slowest hand isn't 10000 times slower than the first, but 10000^((d - 2)/d) times."),
    (reading(slow=lambda d: 10_000 ** ((d - 1) / d)),
     "The exponent of the last pair is (d - 2)/d: sine and cosine share that of the even column."),
    (reading(slow=lambda d: 10_000 ** ((d / 2 - 1) / d)),
     "The last hand has the number j = d/2 - 1, and its exponent is 2j/d, twice yours."),
    (reading(slow=lambda d: 1),
     "That is the angle. The position is the angle divided by the hand's speed."),
]


EXERCISES = [
    Choice(
        "position-zero", right="c",
        praise="Right. Every hand stands upright, so even the first token changes.",
        hints=["At position 0 all angles are 0. What are sin 0 and cos 0?",
               "Even columns hold sines, odd columns cosines."],
        reasons={
            "a": "The angles are zero, but cos 0 is 1: half of the columns change.",
            "b": "Sines come first, and sin 0 is 0.",
            "d": "The numbers are right, the order isn't: sines and cosines take turns.",
        },
    ),
    Build(
        "sinusoid-table", reference=waves, inputs=lambda: [(3, 4), (5, 6), (9, 4)],
        larger=lambda: [(60, 32)], misconceptions=SINUSOID_TABLE,
        praise="Right: sines and cosines alternate, each pair with one angle.",
        hints=["First the angles, of shape (steps, num_hiddens / 2): "
               "a column of positions divided by a row of numbers.",
               "The row is 10_000 ** (torch.arange(0, num_hiddens, 2) / num_hiddens).",
               "P[:, 0::2] = angles.sin() fills the even columns; "
               "the odd ones take the cosines of the same angles."],
    ),
    Build(
        "batch-axis", reference=sentence_numbers, inputs=lambda: [(2, 3), (4, 2), (1, 5)],
        misconceptions=BATCH_AXIS,
        praise="Right: each word gets the number of its sentence. In a batch of one, all get 0.",
        hints=["Which axis of X has length X.shape[0]: the sentences or the words?",
               "P[:batch] has shape (batch, 1, d). "
               "It is added to (batch, steps, d): along which axis is each row repeated?"],
    ),
    Build(
        "shift", reference=shift, inputs=shift_inputs, misconceptions=SHIFT,
        praise="Right. You didn't need to know where the rows stand.",
        hints=["Each pair of columns is a hand that turns by offset times its speed; "
               "write those angles as a row of d / 2 numbers.",
               "sin(a + b) = sin a cos b + cos a sin b, and sin a and cos a stand in P.",
               "P[:, 0::2] are the sines, P[:, 1::2] the cosines. "
               "Don't overwrite the one before the other is done."],
    ),
    Build(
        "read-clock", reference=read, inputs=read_inputs, misconceptions=READ_CLOCK,
        praise="Right. A fast hand tells a position only up to a full round.",
        hints=["Which hand has not made a full round by position 250, whatever the width?",
               "torch.atan2(sine, cosine) is the angle of a hand; "
               "the last two columns are the slowest.",
               "The angle is the position "
               "divided by 10_000 ** ((d - 2) / d): multiply, then round."],
    ),
    Choice(
        "true-of-sinusoids", right="ace",
        praise="Right: what a shift does is known everywhere; "
               "what a model does beyond its training isn't.",
        hints=["Three statements are true. All three follow from the rotation.",
               "Look again at the curve of similarity and at the race."],
        reasons={
            "b": "is false: the curve in `similar` falls at first, "
                 "and rises at offset 5 for d = 32.",
            "d": "is false: the row for position 200 is there, "
                 "but in the race accuracy "
                 "was down to about a half or less three positions after the last trained one.",
        },
    ),
]
