"""The exercises of lesson 05, relative positions."""
import torch

from d2l_ext.relative import T5RelativeBias
from ..exercises.kinds import Build, Choice

EXERCISES = []


EXERCISES.append(Choice(
    "which-orders", right="c",
    praise="Right. Reversing keeps every distance, and distance is all that this form knows.",
    hints=["Write down each word's distances to the other two, in both orders.",
           "Which word stands in the middle? "
           "It has distance 1 to both others, the outer ones have 1 and 2."],
    reasons={
        "a": "Swap dog and bites: dog is now in the middle, one away from man instead of two. "
             "A distance has changed, and ALiBi sees that.",
        "b": "Swap dog and bites: dog is now in the middle, one away from man instead of two.",
        "d": "Reverse the sentence: has the distance between any two words changed?",
    }))


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

EXERCISES.append(Build(
    "offset-rows", reference=rows, inputs=lambda: [(3, 5, 2), (4, 4, 1), (2, 7, 3), (5, 6, 9)],
    slips=OFFSET_ROWS,
    praise="Right: offsets -c to c have rows 0 to 2c, "
           "farther ones share the outermost, and the last query is at the last key.",
    hints=["The queries are the last steps: at which position is query 0?",
           "At keys - queries. The offset is the key's position minus the query's.",
           "Clip to -c..c with clamp, then add c, so that offset -c uses row 0."]))


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

EXERCISES.append(Build(
    "unmask", reference=beyond_training,
    inputs=lambda: [(0.31, 16, 64), (0.53, 16, 32), (0.7, 8, 20)], slips=UNMASK,
    praise="Right. 0.53 at length 32 leaves 0.06 beyond training, 0.31 at 64 leaves 0.08: "
           "both below chance, for ten symbols.",
    hints=["How many positions are right in all? whole * length.",
           "Take away the first `trained`, which are all right. How many positions are left?"]))


EXERCISES.append(Choice(
    "true-of-relative", right="ace",
    praise="Right: what the offset meets makes the difference, "
           "and a rotation needs a second one to cancel it.",
    hints=["Three statements are true. Compare the two maps of Shaw and T5.",
           "On turned values, look at what became of them. On ALiBi, ask what it has learned."],
    reasons={
        "b": "is false: T5 adds the same number whatever the query is, "
             "so all words of a head are drawn to the same side.",
        "d": "is false: in a score the query's rotation meets the key's; "
             "a turned value meets none, and its absolute angle stays.",
    }))


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

EXERCISES.append(Build(
    "untrained", reference=untrained, inputs=untrained_inputs, slips=UNTRAINED,
    praise="Right. T5's standard table, trained at 16, keeps 13 of its 32 "
           "buckets as they were at the start; one of them, bucket 16, no offset ever reaches.",
    hints=["Which offsets occur between 16 positions, 0 to 15?",
           "From -(trained - 1) to trained - 1. "
           "Ask `bucket` for all of them, and see which numbers are missing."]))
