"""The exercises of lesson 05, relative positions."""
import torch

from d2l_ext.relative import T5RelativeBias, offsets
from ..exercises.kinds import Build, Choice

# ---- offset-rows ----


def rows(queries, keys, max_distance):
    return offsets(queries, keys).clamp(-max_distance, max_distance) + max_distance


def changed(change):
    """Wrong rows, made from the right offsets and the clip."""
    return lambda queries, keys, c: change(offsets(queries, keys), c)


def misplaced(first):
    """Wrong rows: query 0 is at position ``first(queries, keys)``."""
    def wrong(queries, keys, c):
        query = torch.arange(queries)[:, None] + first(queries, keys)
        return (torch.arange(keys) - query).clamp(-c, c) + c
    return wrong


OFFSET_ROWS = [
    (misplaced(lambda queries, keys: 0),
     "Your query 0 is at position 0, as if all keys were new. "
     "The last query is at the last key, so query 0 is at keys - queries."),
    (misplaced(lambda queries, keys: keys - queries - 1),
     misplaced(lambda queries, keys: keys - queries + 1),
     "Your last query is one away from the last key. Query 0 is at keys - queries."),
    (misplaced(lambda queries, keys: queries - keys),
     "The difference has the wrong sign: "
     "there are more keys than queries, so query 0 is at keys - queries."),
    (lambda queries, keys, c: rows(queries, keys, c).T,
     "Rows are queries, columns keys. Yours are the other way round."),
    (changed(lambda o, c: (-o).clamp(-c, c) + c),
     "Left and right are swapped: "
     "an offset is the key's position minus the query's, so keys to the left have negative ones."),
    (changed(lambda o, c: o.clamp(-c, c)),
     "Clipped, but not shifted: a negative number as a row counts from the table's end. Add c."),
    (changed(lambda o, c: o + c),
     "Shifted, but not clipped: "
     "far offsets fall off the table, or wrap round to its end. Clip to -c..c first."),
    (changed(lambda o, c: (o + c).clamp(-c, c)),
     "You shift before you clip, and clip to -c..c. After the shift the table's rows are 0 to 2c."),
    (changed(lambda o, c: o.clamp(-c, c) + c + 1),
     "Off by one: offset -c should use row 0, and yours uses row 1. The last row would not exist."),
    (changed(lambda o, c: o.clamp(-c, c) + c - 1),
     "Off by one: offset -c should use row 0, and yours uses -1, which is the last."),
    (changed(lambda o, c: o.clamp(1 - c, c - 1) + c), changed(lambda o, c: o.clamp(-c, c - 1) + c),
     changed(lambda o, c: o.clamp(1 - c, c) + c),
     "Off by one at the clip: offsets -c and c have rows of their own, 0 and 2c. "
     "Python's ranges leave out the end, clamp doesn't."),
    (changed(lambda o, c: o.clamp(-c, c + 1) + c), changed(lambda o, c: o.clamp(-c - 1, c) + c),
     changed(lambda o, c: o.clamp(-c - 1, c + 1) + c),
     "Off by one at the clip: the rows are 0 to 2c, so there is no row -1 and no row 2c + 1. "
     "clamp includes both ends."),
    (changed(lambda o, c: o.clamp(1 - c, c - 1) + c - 1),
     "Off by one: a table for distances up to c - 1. "
     "Offsets -c and c have rows of their own, 0 and 2c."),
    (changed(lambda o, c: o.clamp(-c - 1, c + 1) + c + 1),
     "Off by one: a table for distances up to c + 1. Offset -c and all beyond it use row 0."),
    (changed(lambda o, c: o.abs().clamp(max=c)),
     "That is the distance: left and right share a row. An offset keeps its sign."),
    (changed(lambda o, c: o % (2 * c + 1)),
     "A remainder wraps round: a far offset would use the row of a near one. Clip instead."),
]

# ---- unmask ----


def beyond_training(whole, trained, length):
    return (whole * length - trained) / (length - trained)


UNMASK = [
    (lambda whole, trained, length: whole,
     "That is the flattering number: it counts the positions that training has seen."),
    (lambda whole, trained, length: trained / length,
     "That is the share of positions that training has seen."),
    (lambda whole, trained, length: whole * length - trained,
     "You count right answers beyond training. "
     "Divide by how many positions there are: length - trained."),
    (lambda whole, trained, length: (whole * length - trained) / length,
     lambda whole, trained, length: whole - trained / length,
     "Nearly: you divide by all positions. "
     "Divide by those beyond training alone, length - trained."),
    (lambda whole, trained, length: whole * length / (length - trained),
     "The right answers among the first `trained` positions are still in it. Take them away."),
    (lambda whole, trained, length: 2 * whole - 1,
     "That holds where exactly half of the positions are beyond training. "
     "Count positions instead."),
    (lambda whole, trained, length: whole * (length - trained) / length,
     "You scale the average. It has two parts: "
     "1.0 for the first positions, and what you look for."),
    (lambda whole, trained, length: 1 - beyond_training(whole, trained, length),
     "That is the share of wrong answers beyond training."),
]

# ---- untrained ----


def untrained(bucket, num_buckets, trained):
    return unreached(lambda n: torch.arange(1 - n, n))(bucket, num_buckets, trained)


def untrained_inputs():
    with torch.random.fork_rng(devices=[]):  # the tables start as noise
        standard, small = T5RelativeBias(1), T5RelativeBias(1, 8, 6)
    return [(standard.bucket, 32, 16), (small.bucket, 8, 4), (standard.bucket, 32, 9)]


def unreached(offsets):
    """The buckets that ``offsets(trained)`` don't reach."""
    def answer(bucket, num_buckets, trained):
        return sorted({*range(num_buckets)} - {*bucket(offsets(trained)).tolist()})
    return answer


UNTRAINED = [
    (unreached(lambda n: torch.arange(-n, n + 1)),
     "One too far: between 9 positions the largest offset is 8."),
    (unreached(lambda n: torch.arange(-n, n)),
     "One too far on the left: between 9 positions offsets go from -8 to 8."),
    (unreached(lambda n: torch.arange(n)),
     "Those are offsets to the right alone. A key can stand on the left too."),
    (unreached(lambda n: torch.arange(1 - n, 1)),
     "Those are offsets to the left alone. A key can stand on the right too."),
    (lambda bucket, num_buckets, n: bucket(torch.arange(1 - n, n)).unique().tolist(),
     "These are the buckets that training reaches. Which are left?"),
    (lambda bucket, num_buckets, trained: list(range(trained, num_buckets)),
     "A bucket's number is no offset: far offsets share buckets. Ask `bucket`."),
    (lambda bucket, num_buckets, trained: len(untrained(bucket, num_buckets, trained)),
     "That is how many there are. Return the list of their numbers."),
]


EXERCISES = [
    Choice(
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
        },
    ),
    Build(
        "offset-rows", reference=rows, inputs=lambda: [(3, 5, 2), (4, 4, 1), (2, 7, 3), (5, 6, 9)],
        misconceptions=OFFSET_ROWS,
        praise="Right: offsets -c to c have rows 0 to 2c, "
               "farther ones share the outermost, and the last query is at the last key.",
        hints=["The queries are the last steps: at which position is query 0?",
               "At keys - queries. The offset is the key's position minus the query's.",
               "Clip to -c..c with clamp, then add c, so that offset -c uses row 0."],
    ),
    Build(
        "unmask", reference=beyond_training,
        inputs=lambda: [(0.31, 16, 64), (0.53, 16, 32), (0.7, 8, 20)], misconceptions=UNMASK,
        praise="Right. 0.53 at length 32 leaves 0.06 beyond training, 0.31 at 64 leaves 0.08: "
               "both below chance, for ten symbols.",
        hints=["How many positions are right in all? whole * length.",
               "Take away the first `trained`, which are all right. How many positions are left?"],
    ),
    Choice(
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
        },
    ),
    Build(
        "untrained", reference=untrained, inputs=untrained_inputs, misconceptions=UNTRAINED,
        praise="Right. T5's standard table, trained at 16, keeps 13 of its 32 "
               "buckets as they were at the start; one of them, bucket 16, no offset ever reaches.",
        hints=["Which offsets occur between 16 positions, 0 to 15?",
               "From -(trained - 1) to trained - 1. "
               "Ask `bucket` for all of them, and see which numbers are missing."],
    ),
]
