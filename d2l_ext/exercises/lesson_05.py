"""The exercises of lesson 05, relative positions."""
import torch

from ..relative import RotaryEmbedding, T5RelativeBias
from . import Build, Choice


def rows(steps, max_distance):
    offset = torch.arange(steps) - torch.arange(steps)[:, None]
    return offset.clamp(-max_distance, max_distance) + max_distance


def offset_variant(change):
    """Wrong rows, made from the right offsets and the clip."""
    return lambda steps, c: change(torch.arange(steps) - torch.arange(steps)[:, None], c)


def beyond_training(whole, trained, length):
    return (whole * length - trained) / (length - trained)


def rotate(X, *, first=0, sign=1, double=1, base=10_000, halves=False, width=0, inverse=False):
    """Rotary for the rows of X, with one thing to get wrong at a time."""
    steps, d = X.shape
    columns = torch.arange(0, d, 2) * double / (width or d)
    angles = sign * (torch.arange(steps)[:, None] + first) * (base ** columns if inverse else base ** -columns)
    x, y = X.chunk(2, 1) if halves else (X[:, 0::2], X[:, 1::2])
    turned = [x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()]
    return torch.cat(turned, 1) if halves else torch.stack(turned, -1).flatten(1)


def rotate_inputs():
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn(*shape, generator=generator),) for shape in ((5, 6), (3, 8), (9, 4))]


def variant(**choices):
    return lambda X: rotate(X, **choices)


def rotated(turn):
    """Rotary's pairs and angles, with ``turn(x, y, cos, sin)`` for what becomes of a pair."""
    def wrong(X):
        steps, d = X.shape
        angles = torch.arange(steps)[:, None] / 10_000 ** (torch.arange(0, d, 2) / d)
        pair = turn(X[:, 0::2], X[:, 1::2], angles.cos(), angles.sin())
        return torch.stack(pair, -1).flatten(1)
    return wrong


def overwritten(X):
    X, angles = X.clone(), torch.arange(len(X))[:, None] / 10_000 ** (torch.arange(0, X.shape[1], 2) / X.shape[1])
    x, y = X[:, 0::2], X[:, 1::2]
    X[:, 0::2] = x * angles.cos() - y * angles.sin()
    X[:, 1::2] = x * angles.sin() + y * angles.cos()
    return X


def right_rotate(X):
    return RotaryEmbedding(X.shape[1]).transform(X[None, None], X[None, None])[0][0, 0]


def untrained(bucket, num_buckets, trained):
    return sorted(set(range(num_buckets)) - set(bucket(torch.arange(1 - trained, trained)).tolist()))


def untrained_inputs():
    with torch.random.fork_rng(devices=[]):  # the tables start as noise
        standard, small = T5RelativeBias(1), T5RelativeBias(1, 8, 6)
    return [(standard.bucket, 32, 16), (small.bucket, 8, 4), (standard.bucket, 32, 9)]


def untrained_variant(offsets):
    return lambda bucket, num_buckets, trained: sorted(set(range(num_buckets)) - set(bucket(offsets(trained)).tolist()))


EXERCISES = [
    Choice("which-orders", right="b", praise="Right. Reversing keeps every distance, and distance is all that this form knows.",
           hints=["Write down each word's distances to the other two, in both orders.", "Which word stands in the middle? It has distance 1 to both others, the outer ones have 1 and 2."],
           reasons={"a": "Reverse the sentence: is any two words' distance another one than before?",
                    "c": "Swap dog and bites: dog now stands in the middle, one away from man instead of two.",
                    "d": "Swap dog and bites: dog now stands in the middle, one away from man instead of two. A distance has changed, and ALiBi sees that."}),
    Build("offset-rows", praise="Right: offsets -c to c have rows 0 to 2c, and farther ones share the outermost.",
          hints=["The offset is the key's position minus the query's; rows are queries, columns keys.", "torch.arange(steps)[None, :] - torch.arange(steps)[:, None] has all offsets.",
                 "Clip to -c..c with clamp, then add c, so that offset -c uses row 0."],
          reference=rows, inputs=lambda: [(5, 2), (4, 1), (3, 6)], misconceptions=[
              (offset_variant(lambda o, c: (-o).clamp(-c, c) + c), "Left and right are swapped: an offset is the key's position minus the query's, so keys to the left have negative ones."),
              (offset_variant(lambda o, c: o.clamp(-c, c)), "Clipped, but not shifted: a negative number as a row counts from the table's end. Add c."),
              (offset_variant(lambda o, c: o + c), "Shifted, but not clipped: far offsets fall off the table, or wrap round to its end. Clip to -c..c first."),
              (offset_variant(lambda o, c: (o + c).clamp(-c, c)), "You shift before you clip, and clip to -c..c. After the shift the table's rows are 0 to 2c."),
              (offset_variant(lambda o, c: o.clamp(-c, c) + c + 1), "Off by one: offset -c should use row 0, and yours uses row 1. The last row would not exist."),
              (offset_variant(lambda o, c: o.clamp(-c, c) + c - 1), "Off by one: offset -c should use row 0, and yours uses -1, which is the last."),
              (offset_variant(lambda o, c: o.clamp(-c + 1, c - 1) + c), "Off by one at the clip: offsets -c and c have rows of their own, the outermost; you clip them away."),
              (offset_variant(lambda o, c: o.clamp(-c, c - 1) + c), "Off by one at the clip: offset c has a row of its own, number 2c. Python's ranges leave out the end, clamp doesn't."),
              (offset_variant(lambda o, c: o.abs().clamp(max=c)), "That is the distance: left and right share a row. An offset keeps its sign."),
              (offset_variant(lambda o, c: o % (2 * c + 1)), "A remainder wraps round: a far offset would use the row of a near one. Clip instead."),
          ]),
    Build("unmask", praise="Right. 0.53 at length 32 leaves 0.06 beyond training, 0.31 at 64 leaves 0.08: both below chance, for ten symbols.",
          hints=["How many positions are right in all? whole * length.", "Take away the first `trained`, which are all right. How many positions are left?"],
          reference=beyond_training, inputs=lambda: [(0.31, 16, 64), (0.53, 16, 32), (0.7, 8, 20)], misconceptions=[
              (lambda whole, trained, length: whole, "That is the flattering number: it counts the positions that training has seen."),
              (lambda whole, trained, length: trained / length,
               "That is the share of positions that training has seen."),
              (lambda whole, trained, length: whole - trained / length,
               "Nearly: you divide by all positions. Divide by those beyond training alone, length "
               "- trained."),
              (lambda whole, trained, length: whole * length - trained, "You count right answers beyond training. Divide by how many positions there are: length - trained."),
              (lambda whole, trained, length: (whole * length - trained) / length, "Nearly: you divide by all positions. Divide by those beyond training alone, length - trained."),
              (lambda whole, trained, length: whole * length / (length - trained), "The right answers among the first `trained` positions are still in it. Take them away."),
              (lambda whole, trained, length: 2 * whole - 1, "That holds where exactly half of the positions are beyond training. Count positions instead."),
              (lambda whole, trained, length: whole * (length - trained) / length, "You scale the average. It is made of two parts: 1.0 for the first positions, and what you look for."),
              (lambda whole, trained, length: 1 - beyond_training(whole, trained, length), "That is the share of wrong answers beyond training."),
          ]),
    Build("rotate", praise="Right: the class's numbers. Do the same to queries and keys, and never to values.",
          hints=["The first numbers of all pairs are X[:, 0::2], the second ones X[:, 1::2].", "Angles have shape (steps, d / 2): torch.arange(steps)[:, None] / 10_000 ** (torch.arange(0, d, 2) / d).",
                 "Turned, a pair (x, y) is (x cos - y sin, x sin + y cos). torch.stack([...], -1).flatten(1) puts the pairs side by side again."],
          reference=right_rotate, inputs=rotate_inputs, misconceptions=[
              (lambda X: X, "Nothing is turned: X comes back as it was. Row 0 alone should."),
              (rotated(lambda x, y, cos, sin: (x * cos + y * sin, x * sin + y * cos)),
               "A sign: the first number of a pair is x cos - y sin."),
              (rotated(lambda x, y, cos, sin: (x * cos - y * sin, x * sin - y * cos)),
               "A sign: the second number of a pair is x sin + y cos."),
              (rotated(lambda x, y, cos, sin: (x * cos, y * cos)),
               "You scale each number by itself. Turning mixes the two of a pair: (x cos - y sin, "
               "x sin + y cos)."),
              (rotated(lambda x, y, cos, sin: (x * sin + y * cos, x * cos - y * sin)),
               "The two numbers of each pair have changed places."),
              (variant(halves=True), "You pair the first half with the second, as GPT-NeoX does. Here neighbours are pairs: (0, 1), (2, 3)."),
              (lambda X: torch.cat([rotate(X)[:, 0::2], rotate(X)[:, 1::2]], 1), "Rotated rightly, put back wrongly: all first numbers, then all second ones. The pairs should stand side by side again."),
              (variant(sign=-1), "You turn the other way: (x cos - y sin, x sin + y cos) turns forward."),
              (variant(first=1), "You count from 1: the row at position 0 is not turned at all."),
              (variant(double=2), "Pair r turns by i / 10000^(2r/d). Your exponent is twice that: 2r has been doubled once more."),
              (variant(double=0.5), "Pair r turns by i / 10000^(2r/d). Your exponent has r where 2r should stand."),
              (variant(inverse=True), "You multiply by 10000^(2r/d). Later pairs should turn more slowly: divide."),
              (variant(base=1), "All pairs turn alike. Pair r turns by i / 10000^(2r/d), so later ones are slower."),
              (overwritten, "You have overwritten the first numbers of the pairs before the second were computed from them. Keep the old ones."),
              (lambda X: X + rotate(torch.tensor([0.0, 1.0]).repeat(len(X), X.shape[1] // 2), sign=-1), "You add the clock hands, as in lesson 04. Rotary turns the numbers that are there."),
          ]),
    Choice("true-of-relative", right=frozenset("ace"), options="abcde", praise="Right: what the offset meets makes the difference, and a rotation needs a second one to cancel it.",
           hints=["Three statements are true. Compare the two maps of Shaw and T5.", "For d, look at what became of turned values. For e, ask what ALiBi has learned."],
           reasons={"b": "Statement b is false: T5 adds the same number whatever the query is, so all words of a head are drawn to the same side.",
                    "d": "Statement d is false: in a score the query's rotation meets the key's; a turned value meets none, and its absolute angle stays: the lesson turned values to show it."}),
    Build("untrained", praise="Right. T5's standard table, trained at 16, keeps 13 of its 32 buckets as they were at the start; one of them, bucket 16, no offset ever reaches.",
          hints=["Which offsets occur between 16 positions, 0 to 15?", "From -(trained - 1) to trained - 1. Ask `bucket` for all of them, and see which numbers are missing."],
          reference=untrained, inputs=untrained_inputs, misconceptions=[
              (untrained_variant(lambda n: torch.arange(-n, n + 1)), "One too far: between 9 positions the largest offset is 8."),
              (untrained_variant(lambda n: torch.arange(-n, n)), "One too far on the left: between 9 positions offsets go from -8 to 8."),
              (untrained_variant(lambda n: torch.arange(n)), "Those are offsets to the right alone. A key can stand on the left too."),
              (untrained_variant(lambda n: torch.arange(1 - n, 1)), "Those are offsets to the left alone. A key can stand on the right too."),
              (lambda bucket, num_buckets, trained: sorted(set(bucket(torch.arange(1 - trained, trained)).tolist())), "These are the buckets that training reaches. Which are left?"),
              (lambda bucket, num_buckets, trained: list(range(trained, num_buckets)), "A bucket's number is no offset: far offsets share buckets. Ask `bucket`."),
              (lambda bucket, num_buckets, trained: len(untrained(bucket, num_buckets, trained)), "That is how many there are. Return the list of their numbers."),
          ]),
]
