"""The exercises of lesson 04, positional encoding."""
import math

import torch

from d2l_ext.positional import sinusoids
from ..exercises.kinds import Build


# ---- sinusoid-table ----

def waves(steps, num_hiddens):
    position = torch.arange(steps, dtype=torch.float64)[:, None]
    column = torch.arange(num_hiddens)
    angles = position / 10_000 ** ((column - column % 2) / num_hiddens)
    table = torch.where(column % 2 == 0, angles.sin(), angles.cos())
    return table


EVEN = "(column - column % 2)"
SINUSOID_TABLE = [
    (EVEN, "column",
     "Each of your columns has an angle of its own. Columns 2j and 2j + 1 share one: the "
     "exponent is 2j/d in both."),
    (EVEN, "(column // 2)",
     "Your exponent is j/d; it should be 2j/d. As it is, the hands slow down by half as much "
     "as they should."),
    (EVEN, f"(2 * {EVEN})",
     "Your exponent is 4j/d; it should be 2j/d. The column's number is 2j already, not j."),
    ("/ num_hiddens", "/ (num_hiddens - 2)",
     "Your exponent is 2j/(d - 2); it should be 2j/d: divide by the whole width."),
    ("== 0", "== 1", "Sine and cosine are swapped: even columns hold the sines."),
    ("torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)",
     "All sines come first and all cosines after them. Other code does that; here they take "
     "turns, column by column."),
    ("column % 2 ==", "position % 2 ==",
     "You give sines to even positions and cosines to odd ones. The 2i of the paper's formula "
     "counts columns: every position has both."),
    ("angles.sin()",
     "All your columns hold sines. The odd ones hold the cosines of the same angles."),
    ("angles.cos()",
     "All your columns hold cosines. The even ones hold the sines of the same angles."),
    *(("10_000", base, "The base is 10000: yours has another number of zeros.")
      for base in ("1_000", "100_000")),
    ("angles[:, ::2]",
     "Those are the angles. Their sines go into the even columns, their cosines into the odd "
     "ones."),
    ("arange(steps,", "arange(1, steps + 1,",
     "Positions count from 0: the first row has all angles 0."),
    ("position /", "position *",
     "You multiply by the powers of 10000. The hands should slow down: divide."),
    *((EVEN, exponent,
       "All your hands have the same speed. The exponent 2j/d makes each one slower than the "
       "one before.") for exponent in ("0 * column", "(0 * column + num_hiddens)")),
    *((f"10_000 ** ({EVEN} / num_hiddens)", power,
       "Brackets: the power is 2j/d; yours is divided by d afterwards.")
      for power in (f"10_000 ** {EVEN} / num_hiddens", f"(10_000 ** {EVEN} / num_hiddens)")),
    *(("angles.sin(), angles.cos()", f"angles.{turned}.sin(), angles.{turned}.cos()",
       "Radians: torch.sin takes no degrees, and the formula gives none.")
      for turned in ("rad2deg()", "deg2rad()")),
    ("position /", "2 * position /",
     "Your positions go in steps of two. The 2 in the formula belongs to the column, not to "
     "the position."),
    ("table.T", "Rows and columns have changed places: a row for each position."),
    ("table[None]",
     "One axis too many: the table is (steps, num_hiddens), the batch comes in when it is added."),
]


# ---- batch-axis ----

def sentence_numbers(batch, steps):
    return [[sentence] * steps for sentence in range(batch)]


BATCH_AXIS = [
    ("[list(range(steps)) for sentence in range(batch)]",
     "Those would be the right positions. But the code takes X.shape[0] rows, one per "
     "sentence, and spreads each over the words."),
    ("[[word] * batch for word in range(steps)]",
     "Your outer list is the words. The rows of P line up with the first axis of X, the "
     "sentences."),
    ("torch.arange(batch * steps).reshape(batch, steps).tolist()",
     "The positions don't run on through the batch: P[:batch] has a row for each sentence, no "
     "more."),
    ("[sentence]", "[0]", "That holds for the first sentence. The second one gets row 1 of P."),
    ("[sentence]", "[sentence + 1]", "Positions count from 0, and so do the rows of P."),
    ("[list(range(batch))] * steps", "Each sentence has one number, the same for all its words."),
    ("torch.arange(batch)[:, None].expand(batch, steps)",
     "Right numbers; return nested lists (`.tolist()`)."),
    ("list(range(batch))", "Right numbers; write one for each word: a list per sentence."),
]


# ---- shift ----

def shift(P, offset):
    sine, cosine = P[:, 0::2].double(), P[:, 1::2].double()
    columns = torch.arange(0, P.shape[1], 2)
    turn = offset / 10_000 ** (columns.double() / P.shape[1])
    new_sine = sine * turn.cos() + cosine * turn.sin()
    new_cosine = cosine * turn.cos() - sine * turn.sin()
    return torch.stack([new_sine, new_cosine], dim=-1).flatten(1)


def shift_inputs():
    return [(sinusoids(50, 6)[[3, 10, 4]], 2), (sinusoids(40, 8)[20:25], 7),
            (sinusoids(30, 4)[10:12], -3)]


SHIFT = [
    ("= offset", "= -offset",
     "You turn the wrong way: these are the rows offset positions before. Look at the signs in "
     "the addition formulas."),
    ("= offset", "= abs(offset)",
     "A negative offset turns the hands back: you turn them on by as much."),
    ("offset /", "offset *",
     "You multiply by 10000^(2j/d). The hands of later columns are slower: divide."),
    ("P + offset",
     "You add the offset to sines and cosines. It is the hands' angles that grow: turn the hands."),
    ("columns.double()", "0 * columns.double()",
     "All your hands turn by the same angle. Each has its own speed: divide the offset by "
     "10000^(2j/d)."),
    ("columns.double()", "columns.double() / 2",
     "Your exponent is j/d; the speed of hand j is 1 / 10000^(2j/d)."),
    ("- sine", "+ sine", "A sign: cos(a + b) = cos a cos b - sin a sin b."),
    ("+ cosine", "- cosine", "A sign: sin(a + b) = sin a cos b + cos a sin b."),
    ("torch.zeros_like(P)",
     "Your rows are all zeros: nothing has been written into the result. Fill the even columns "
     "with the new sines, the odd ones with the new cosines."),
    ("- sine", "- new_sine",
     "You have overwritten the sines before the cosines were computed from them. Keep the old "
     "ones."),
    ("torch.roll(P, -offset, 0)",
     "Rolling only exchanges the rows you were given. The rows further on aren't among them: "
     "turn the hands."),
    ("P + sinusoids(abs(offset) + 1, P.shape[1])[offset]",
     "Encodings don't add up like positions: the hands would leave their circles. Angles add, "
     "so turn them."),
    *((rows,
       "You build rows as if P began at position 0. Nobody said where it begins: start from "
       "the rows themselves.")
      for rows in ("sinusoids(len(P) + abs(offset), P.shape[1])[abs(offset):]",
                   "sinusoids(len(P) + offset, P.shape[1])[offset:]",
                   "sinusoids(99, P.shape[1])[offset:offset + len(P)]",
                   "torch.stack([(a := (torch.arange(len(P))[:, None] + offset) * turn / offset)"
                   ".sin(), a.cos()], -1).flatten(1)")),
]


# ---- read-clock ----

def read(row):
    sine, cosine = row[-2:].tolist()
    angle = math.atan2(sine, cosine)
    position = angle * 10_000 ** ((len(row) - 2) / len(row))
    return round(position)


def read_inputs():
    places = (4, 200), (32, 7), (6, 250), (64, 0), (4, 100), (8, 39)
    return [(sinusoids(251, d)[i],) for d, i in places]


READ_CLOCK = [
    ("row[-2:]", "row[:2]",
     "The first two columns are the fastest hand, which goes round every 6.28 positions. Read "
     "the last two."),
    ("row[-2:]", "row[:2]", "round(position)", "round(angle)",
     "You read the fastest hand. It goes round every 6.28 positions, so it can't tell 1 from "
     "45. Read the slowest."),
    ("atan2(sine, cosine)", "atan2(cosine, sine)",
     "Sine and cosine have changed places: atan2 takes the sine first."),
    ("math.atan2(sine, cosine)", "math.asin(sine)",
     "The sine alone can't tell 100 from 214: it is the same before and after a quarter round. "
     "Use both numbers: atan2."),
    ("math.atan2(sine, cosine)", "math.atan(sine / cosine)",
     "atan of the quotient cannot tell opposite hands apart: use atan2 of both."),
    ("position", "Nearly: round to the nearest whole number."),
    *(("math.atan2(sine, cosine)", angle, "round(", "int(",
       "Nearly: round to the nearest whole number, int() cuts off.")
      for angle in ("math.atan2(sine, cosine)", "float(torch.atan2(row[-2], row[-1]))")),
    (" ** ((len(row) - 2) / len(row))", "",
     "The slowest hand isn't 10000 times slower than the first, but 10000^((d - 2)/d) times."),
    ("- 2) /", "- 1) /",
     "The exponent of the last pair is (d - 2)/d: sine and cosine share that of the even column."),
    ("(len(row) - 2)", "(len(row) / 2 - 1)",
     "The last hand has the number j = d/2 - 1, and its exponent is 2j/d, twice yours."),
    ("round(angle)", "That is the angle. The position is the angle divided by the hand's speed."),
]


EXERCISES = [
    Build("sinusoid-table", waves, SINUSOID_TABLE, lambda: [(3, 4), (5, 6), (9, 4)],
          larger=lambda: [(60, 32)]),
    Build("batch-axis", sentence_numbers, BATCH_AXIS, lambda: [(2, 3), (4, 2), (1, 5)]),
    Build("shift", shift, SHIFT, shift_inputs),
    Build("read-clock", read, READ_CLOCK, read_inputs),
]
