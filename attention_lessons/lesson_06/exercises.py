"""The exercises of lesson 06, convolution, recurrence and self-attention."""
import math

from ..exercises.kinds import Build, Choice

# ---- receptive-field ----


def receptive_field(kernel_size, dilations):
    return (kernel_size - 1) // 2 * sum(dilations)


RECEPTIVE_FIELD = [
    (lambda k, gaps: (k - 1) * sum(gaps),
     "That is from one side to the other. One side is half of it."),
    (lambda k, gaps: (k - 1) * sum(gaps) + 1,
     "That is how many places lie in the field, both sides and the middle. "
     "The question is how far one side reaches."),
    (lambda k, gaps: k // 2 * len(gaps),
     "That holds without gaps. "
     "A layer reaches its half kernel times its gap: multiply each by its gap."),
    (lambda k, gaps: (k - 1) * len(gaps),
     "That is both sides together, and without gaps: multiply half of k - 1 by each layer's gap."),
    (lambda k, gaps: 2 ** len(gaps) - 1,
     "That holds for kernel 3 and gaps 1, 2, 4 ... Here the kernel and the gaps vary."),
    (lambda k, gaps: k // 2 * max(gaps),
     "That is the widest layer alone. Messages go on from layer to layer: add."),
    (lambda k, gaps: k // 2 * math.prod(gaps),
     "Reaches add from layer to layer, they don't multiply. "
     "With gaps 1, 2, 4 the sum still grows like a power of 2."),
    (lambda k, gaps: k * sum(gaps),
     "A kernel of width k has k // 2 places on one side of its middle, not k."),
    (lambda k, gaps: k // 2 * gaps[-1],
     "That is the last layer alone. Messages go on from layer to layer: add."),
    (lambda k, gaps: k * sum(gaps) // 2, lambda k, gaps: k / 2 * sum(gaps),
     "The middle place is on neither side: half of k - 1, not half of k."),
    (lambda k, gaps: k // 2 * sum(gaps) + 1,
     "You counted the output's own place: distances start at 0."),
    (lambda k, gaps: sum(gaps),
     "That holds for kernel 3. A wider kernel has k // 2 places on one side."),
]

# ---- work ----


def operations(n, d, inner):
    return 8 * n * d**2 + 4 * n**2 * d + 4 * n * d * inner


def with_network(network):
    """The block's operations with another count of its network, per token."""
    return lambda n, d, inner: operations(n, d, 0) + n * network(d, inner)


WORK = [
    (lambda n, d, inner: operations(n, d, inner) // 2,
     "Half of what it should be: a multiply and an add are two operations."),
    (lambda n, d, inner: operations(n, d, inner) - 4 * n * d**2,
     "A projection is 2nd², not nd²: a multiply and an add are two operations there, too."),
    (lambda n, d, inner: operations(n, d, inner) + n * inner,
     "Only matrix products are counted, no ReLU between the two linear layers."),
    (lambda n, d, inner: operations(n, d, inner) - 8 * n * d**2,
     "The four projections are missing: 2nd² each."),
    (lambda n, d, inner: operations(n, d, inner) - 2 * n * d**2,
     "You have three projections: W_q, W_k, W_v. There is a fourth, W_o."),
    (lambda n, d, inner: operations(n, d, inner) - 4 * n**2 * d,
     "The two products, scores and weighted sums, are missing."),
    (lambda n, d, inner: operations(n, d, inner) - 2 * n**2 * d,
     "One product is missing: first the scores, then the weighted sums, 2n²d each."),
    (lambda n, d, inner: operations(n, d, inner) - 2 * n * d * inner,
     "The small network has two layers: to inner, and back."),
    (lambda n, d, inner: operations(n, d, inner) - 4 * n * d * inner,
     "The small network is missing: two linear layers."),
    (with_network(lambda d, inner: 4 * inner**2), with_network(lambda d, inner: 2 * inner**2),
     with_network(lambda d, inner: 2 * d * inner + 2 * inner**2),
     with_network(lambda d, inner: 4 * d * inner + 2 * inner**2),
     with_network(lambda d, inner: 4 * d * inner**2),
     "The small network has two matrices, d to inner and inner to d. None is inner by inner."),
    (lambda n, d, inner: 8 * n * d**2 + 4 * n**2 * d + 16 * n * d**2,
     "That holds for inner = 4d. Here inner is a number of its own."),
    (lambda n, d, inner: 8 * d**2 + 4 * n * d + 4 * d * inner,
     "That is the work per token. Count it for all n tokens."),
]

# ---- unconnected ----


def pairs(n):
    return [(i, j) for i in range(n) for j in range(n)]


def unconnected(dilations, n, *, inside=True, middle=True, fresh=True, wrap=False):
    """The pairs (output, input) that never meet, with one thing to get wrong at a time."""
    known = [{i} for i in range(n)]
    for gap in dilations:
        steps = (-gap, 0, gap) if middle else (-gap, gap)
        after = [set()] * n if fresh else known
        for i in range(n):
            places = [i + step for step in steps if i + step < n and (wrap or i + step >= 0)]
            after[i] = set().union(*(known[place] for place in places))
        known = after
    if not inside:  # paths may leave the sequence and come back
        sums = {0}
        for gap in dilations:
            sums = {total + step for total in sums for step in (-gap, 0, gap)}
        known = [{j for j in range(n) if j - i in sums} for i in range(n)]
    return [(i, j) for i, j in pairs(n) if j not in known[i]]


UNCONNECTED = [
    (lambda gaps, n: unconnected(gaps, n, inside=False),
     "Your messages leave the sequence and come back. "
     "Outside stand zeros: a step to -1 or to n ends there."),
    (lambda gaps, n: unconnected(gaps, n, middle=False),
     "A kernel of width 3 has a middle: place i keeps what it knew before."),
    (lambda gaps, n: unconnected(gaps, n, fresh=False),
     "You changed sets while the layer was still reading them. "
     "Build all new sets from the old ones, then replace them."),
    (lambda gaps, n: unconnected(gaps, n, wrap=True),
     "known[-1] is the last place, not a place outside: leave out i - gap where it is below 0."),
    (lambda gaps, n: [(j, i) for i, j in unconnected(gaps, n)],
     "Right pairs, but written (input, output), and so not sorted. They are (output, input)."),
    (lambda gaps, n: set(unconnected(gaps, n)), "The right pairs, in a set. Return a sorted list."),
    (lambda gaps, n: unconnected(gaps[::-1], n),
     "Either output and input have changed places, or the layers their order: both "
     "mistakes give this list. Pairs are (output, input), the first gap is the first layer's."),
    (lambda gaps, n: [(i, j) for i, j in pairs(n) if abs(i - j) > sum(gaps)],
     "Reach is not enough: a distance must also be a sum of the gaps, on a way that stays inside."),
    (lambda gaps, n: [(i, j) for i, j in unconnected(gaps, n) if i < j],
     "Each direction counts by itself: where i doesn't know j, j may still know i. List both."),
    (lambda gaps, n: [(i + 1, j + 1) for i, j in unconnected(gaps, n)], "Count places from 0."),
    (lambda gaps, n: [pair for pair in pairs(n) if pair not in unconnected(gaps, n)],
     "Those are the pairs that do meet. List the others."),
    (lambda gaps, n: [],
     "An empty list says that every pair meets. "
     "Take gaps 2 and 3 and n = 5: how would input 4 get to output 0?"),
    (lambda gaps, n: unconnected(gaps[-1:], n),
     "That is the last layer alone. What a place knew before must go into the next layer."),
]

# ---- windowed ----


def windowed(n, w):
    return n * (2 * w + 1) - w * (w + 1), math.ceil((n - 1) / w)


def miscounted(pairs):
    """The right path, with another count of pairs."""
    return lambda n, w: (pairs(n, w), windowed(n, w)[1])


def misrouted(path):
    """The right pairs, with another path."""
    return lambda n, w: (windowed(n, w)[0], path(n, w))


WINDOWED = [
    (miscounted(lambda n, w: n * (2 * w + 1)),
     "The path is right. The pairs: "
     "at the two ends part of the window lies outside, where there is no token."),
    (misrouted(lambda n, w: math.ceil((n - 1) / (2 * w))),
     "The pairs are right. After so many layers the middle sees all; "
     "from end to end it takes twice as many."),
    (lambda n, w: (n * (2 * w + 1), math.ceil((n - 1) / (2 * w))),
     "Two things: near the ends the window is cut off, "
     "and a layer moves a message by w, to either side."),
    (misrouted(lambda n, w: (n - 1) // w),
     "The pairs are right. The path has to be rounded up: "
     "what is left of a window needs a layer, too."),
    (misrouted(lambda n, w: math.ceil(n / w)),
     "The pairs are right. From the first to the last token it is n - 1 places, not n; "
     "and where w divides n - 1, no extra layer."),
    (misrouted(lambda n, w: 1),
     "The pairs are right. "
     "But with a window one layer no longer connects all: a message moves by w."),
    (miscounted(lambda n, w: n * w),
     "The path is right. "
     "A token's window has w tokens on each side and itself, less near the ends."),
    (miscounted(lambda n, w: n + n * w - w * (w + 1) // 2),
     "The path is right. You counted each pair once, or only looked back: that i asks j "
     "is one pair, that j asks i another; and the window has w tokens after, too."),
    (miscounted(lambda n, w: 2 * n * w - w * (w + 1)),
     "The path is right. A token attends to itself as well: n pairs are missing."),
    (miscounted(lambda n, w: n * (2 * w + 1) - w * (w + 1) // 2),
     "The path is right. The window is cut off at both ends of the sentence; you took off one."),
    (miscounted(lambda n, w: n * n),
     "The path is right. Only pairs inside the window are scored, that is what it saves."),
    (lambda n, w: windowed(n, w)[::-1],
     "Both numbers are right, in the wrong order: first the pairs, then the layers."),
]


EXERCISES = [
    Choice(
        "cheapest", right="b",
        praise="Right: 236, 249 and 315 million operations.",
        hints=["Put the numbers into 12nd², 16nd² and 8nd² + 4n²d.",
               "Divide by nd²: a GRU takes 12, an LSTM 16, attention 8 + 4n/d."],
        reasons={
            "a": "Its two products alone take fewer than a GRU here. "
                 "But the layer also projects, and so it is cheaper than a GRU only while n < d.",
            "c": "Its work grows with n, but it passes an LSTM's only at n = 2d, here 512.",
            "d": "An LSTM has eight matrices, a GRU six: 16nd² against 12nd².",
        },
    ),
    Build(
        "receptive-field", reference=receptive_field,
        inputs=lambda: [(5, [1, 6, 4]), (3, [1, 2, 4]), (7, [2]), (9, [1, 3, 9, 27])],
        misconceptions=RECEPTIVE_FIELD,
        praise="Right: half of k - 1 times the gap, added up over the layers.",
        hints=["One layer, kernel 3, gap 1: one place. "
               "Kernel 5, gap 1: two places. Kernel 3, gap 4?",
               "Layers add: the message goes on from where the last layer brought it."],
    ),
    Build(
        "work", reference=operations, inputs=lambda: [(7, 5, 11), (60, 16, 64), (3, 2, 1)],
        misconceptions=WORK,
        praise="Right: projections, products, network. "
               "With inner = 4d the network alone takes 16nd².",
        hints=["A matrix product of (n, a) with (a, b) takes 2nab operations. "
               "List all matrices of the block.",
               "Four projections d to d; scores n to n over d; "
               "sums over n of width d; two linear layers d to inner and back."],
    ),
    Build(
        "unconnected", reference=unconnected,
        inputs=lambda: [([2, 3], 5), ([1, 4], 8), ([1, 3, 9], 10), ([1, 1], 5), ([9, 3, 1], 10),
                        ([1, 2, 4, 8], 10)],
        misconceptions=UNCONNECTED,
        praise="Right. Gaps that triple leave one way for each distance, "
               "and near the ends that way leads outside.",
        hints=["For each place keep the set of inputs that it knows. "
               "At first a place knows itself.",
               "A layer with a gap: place i now knows what i - gap, "
               "i and i + gap knew, those of them that are inside 0 to n - 1.",
               "At the end list the pairs (i, j) where j is not in the set of i."],
    ),
    Choice(
        "why-attention", right="bce",
        praise="Right: a short path and no waiting, at a price per token that grows.",
        hints=["Three statements are supported. For one of the others see 'Short sentences: "
               "who is cheaper?'. For the other: can one task show something about every task?",
               "Divide 8nd² + 4n²d by n: does n stay?"],
        reasons={
            "a": "is true of the products alone, or of the layer against a GRU. "
                 "'Short sentences: who is cheaper?' "
                 "found no length at which the layer takes fewer than the plain recurrence.",
            "d": "goes too far: one task says nothing about every task. It "
                 "found the marks sooner; parity, in a deeper section, recurrences learn sooner.",
        },
    ),
    Build(
        "windowed", reference=windowed, inputs=lambda: [(10, 2), (9, 3), (12, 1), (7, 6)],
        misconceptions=WINDOWED,
        praise="Right: with a window, work grows with n alone, as a convolution's does, "
               "and the path is a convolution's.",
        hints=["In the middle of the sentence a token has w + 1 + w partners. "
               "How many are missing at the first token, the second, ...?",
               "A layer moves a message by w places at most. "
               "How far is it from the first token to the last?"],
    ),
]
