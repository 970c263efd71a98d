"""The exercises of lesson 05, relative positions."""
import torch

from d2l_ext.relative import T5RelativeBias
from ..exercises.kinds import Build


# ---- offset-rows ----

def rows(queries, keys, c):
    first = keys - queries
    query = first + torch.arange(queries)[:, None]
    offset = torch.arange(keys) - query
    row = offset.clamp(-c, c) + c
    return row


CLIPPED = "offset.clamp(-c, c)"
OFFSET_ROWS = [
    ("= keys - queries", "= 0",
     "Your query 0 is at position 0, as if all keys were new. The last query is at the last "
     "key, so query 0 is at keys - queries."),
    *(("= keys - queries", f"= keys - queries {one}",
       "Your last query is one away from the last key. Query 0 is at keys - queries.")
      for one in ("- 1", "+ 1")),
    ("= keys - queries", "= queries - keys",
     "The difference has the wrong sign: there are more keys than queries, so query 0 is at "
     "keys - queries."),
    ("row.T", "Rows are queries, columns keys. Yours are the other way round."),
    ("torch.arange(keys) - query", "query - torch.arange(keys)",
     "Left and right are swapped: an offset is the key's position minus the query's, so keys "
     "to the left have negative ones."),
    (CLIPPED,
     "Clipped, but not shifted: a negative number as a row counts from the table's end. Add c."),
    ("offset + c",
     "Shifted, but not clipped: far offsets fall off the table, or wrap round to its end. Clip "
     "to -c..c first."),
    ("(offset + c).clamp(-c, c)",
     "You shift before you clip, and clip to -c..c. After the shift the table's rows are 0 to 2c."),
    ("row + 1",
     "Off by one: offset -c should use row 0, and yours uses row 1. The last row would not exist."),
    ("row - 1", "Off by one: offset -c should use row 0, and yours uses -1, which is the last."),
    *(("-c, c", ends,
       "Off by one at the clip: offsets -c and c have rows of their own, 0 and 2c. Python's "
       "ranges leave out the end, clamp doesn't.")
      for ends in ("1 - c, c - 1", "-c, c - 1", "1 - c, c")),
    *(("-c, c", ends,
       "Off by one at the clip: the rows are 0 to 2c, so there is no row -1 and no row 2c + 1. "
       "clamp includes both ends.")
      for ends in ("-c, c + 1", "-c - 1, c", "-c - 1, c + 1")),
    ("offset.clamp(1 - c, c - 1) + c - 1",
     "Off by one: a table for distances up to c - 1. Offsets -c and c have rows of their own, "
     "0 and 2c."),
    ("offset.clamp(-c - 1, c + 1) + c + 1",
     "Off by one: a table for distances up to c + 1. Offset -c and all beyond it use row 0."),
    ("offset.abs().clamp(max=c)",
     "That is the distance: left and right share a row. An offset keeps its sign."),
    ("offset % (2 * c + 1)",
     "A remainder wraps round: a far offset would use the row of a near one. Clip instead."),
]


# ---- unmask ----

def beyond_training(whole, trained, length):
    beyond = (whole * length - trained) / (length - trained)
    return beyond


UNMASK = [
    ("whole", "That is the flattering number: it counts the positions that training has seen."),
    ("trained / length", "That is the share of positions that training has seen."),
    ("whole * length - trained",
     "You count right answers beyond training. Divide by how many positions there are: length "
     "- trained."),
    ("whole - trained / length",
     "Nearly: you divide by all positions. Divide by those beyond training alone, length - "
     "trained."),
    ("whole * length / (length - trained)",
     "The right answers among the first `trained` positions are still in it. Take them away."),
    ("2 * whole - 1",
     "That holds where exactly half of the positions are beyond training. Count positions "
     "instead."),
    ("whole * (length - trained) / length",
     "You scale the average. It has two parts: 1.0 for the first positions, and what you look "
     "for."),
    ("1 - beyond", "That is the share of wrong answers beyond training."),
]


# ---- untrained ----

def untrained(bucket, num_buckets, trained):
    reached = bucket(torch.arange(1 - trained, trained)).unique().tolist()
    return sorted({*range(num_buckets)} - {*reached})


def untrained_inputs():
    standard, small = T5RelativeBias(1), T5RelativeBias(1, 8, 6)
    return [(standard.bucket, 32, 16), (small.bucket, 8, 4), (standard.bucket, 32, 9)]


UNTRAINED = [
    ("1 - trained, trained", "-trained, trained + 1",
     "One too far: between 9 positions the largest offset is 8."),
    ("1 - trained", "-trained",
     "One too far on the left: between 9 positions offsets go from -8 to 8."),
    ("1 - trained, ", "", "Those are offsets to the right alone. A key can stand on the left too."),
    ("1 - trained, trained", "1 - trained, 1",
     "Those are offsets to the left alone. A key can stand on the right too."),
    ("reached", "These are the buckets that training reaches. Which are left?"),
    ("list(range(trained, num_buckets))",
     "A bucket's number isn't an offset: far offsets share buckets. Ask `bucket`."),
    ("len({*range(num_buckets)} - {*reached})",
     "That is how many there are. Return the list of their numbers."),
]


EXERCISES = [
    Build("offset-rows", rows, OFFSET_ROWS, lambda: [(3, 5, 2), (4, 4, 1), (2, 7, 3), (5, 6, 9)]),
    Build("unmask", beyond_training, UNMASK,
          lambda: [(0.31, 16, 64), (0.53, 16, 32), (0.7, 8, 20)]),
    Build("untrained", untrained, UNTRAINED, untrained_inputs),
]
