"""The exercises of lesson 06, convolution, recurrence and self-attention."""
import math

from ..exercises.kinds import Build

# ---- receptive-field ----

def receptive_field(kernel_size, dilations):
    return (kernel_size - 1) // 2 * sum(dilations)


RECEPTIVE_FIELD = [
    (" // 2", "", "That is from one side to the other. One side is half of it."),
    ("(kernel_size - 1) * sum(dilations) + 1",
     "That is how many places lie in the field, both sides and the middle. "
     "The question is how far one side reaches."),
    ("sum", "len",
     "That holds without gaps. "
     "A layer reaches its half kernel times its gap: multiply each by its gap."),
    ("(kernel_size - 1) * len(dilations)",
     "That is both sides together, and without gaps: multiply half of k - 1 by each layer's gap."),
    ("2 ** len(dilations) - 1",
     "That holds for kernel 3 and gaps 1, 2, 4 ... Here the kernel and the gaps vary."),
    ("sum", "max", "That is the widest layer alone. Messages go on from layer to layer: add."),
    ("sum", "math.prod",
     "Reaches add from layer to layer, they don't multiply. "
     "With gaps 1, 2, 4 the sum still grows like a power of 2."),
    ("(kernel_size - 1) // 2", "kernel_size",
     "A kernel of width k has k // 2 places on one side of its middle, not k."),
    ("sum(dilations)", "dilations[-1]",
     "That is the last layer alone. Messages go on from layer to layer: add."),
    *((new, "The middle place is on neither side: half of k - 1, not half of k.")
      for new in ("kernel_size * sum(dilations) // 2", "kernel_size / 2 * sum(dilations)")),
    ("return ", "return 1 + ", "You counted the output's own place: distances start at 0."),
    ("sum(dilations)", "That holds for kernel 3. A wider kernel has k // 2 places on one side."),
]


# ---- work ----

def operations(n, d, inner):
    projections = 4 * 2 * n * d**2
    products = 2 * 2 * n**2 * d
    network = 2 * n * d * inner + 2 * n * inner * d
    return projections + products + network


NETWORK = "d * inner + 2 * n * inner * d"
WORK = [
    ("2 * n", "n", "Half of what it should be: a multiply and an add are two operations."),
    ("4 * 2", "4",
     "A projection is 2nd², not nd²: a multiply and an add are two operations there, too."),
    ("+ network", "+ network + n * inner",
     "Only matrix products are counted, no ReLU between the two linear layers."),
    ("projections + products", "products", "The four projections are missing: 2nd² each."),
    ("4 * 2", "3 * 2", "You have three projections: W_q, W_k, W_v. There is a fourth, W_o."),
    ("+ products ", "", "The two products, scores and weighted sums, are missing."),
    ("2 * 2 * n**2", "2 * n**2",
     "One product is missing: first the scores, then the weighted sums, 2n²d each."),
    (NETWORK, "d * inner", "The small network has two layers: to inner, and back."),
    (" + network", "", "The small network is missing: two linear layers."),
    *((NETWORK, new, "The small network has two matrices, d to inner and inner to d. None is "
                     "inner by inner.")
      for new in ("2 * inner**2", "inner**2", "d * inner + 2 * n * inner**2",
                  f"{NETWORK} + 2 * n * inner**2", "2 * d * inner**2")),
    (NETWORK, "8 * d**2", "That holds for inner = 4d. Here inner is a number of its own."),
    ("(projections + products + network) / n",
     "That is the work per token. Count it for all n tokens."),
]


# ---- unconnected ----

def unconnected(dilations, n):
    known = [{i} for i in range(n)]
    for gap in dilations:
        after = [set() for i in range(n)]
        for i in range(n):
            for j in (i - gap, i, i + gap):
                if 0 <= j < n:
                    after[i] = after[i] | known[j]
        known = after
    return [(i, j) for i in range(n) for j in range(n) if j not in known[i]]


UNCONNECTED = [
    ("[{i} for i in range(n)]", "{i: {i} for i in range(-99, 99)}",
     "[set() for i in range(n)]", "{i: set() for i in known}",
     "for i in range(n):", "for i in known:", "0 <= j < n", "j in known",
     "Your messages leave the sequence and come back. "
     "Outside stand zeros: a step to -1 or to n ends there."),
    ("(i - gap, i, i + gap)", "(i - gap, i + gap)",
     "A kernel of width 3 has a middle: place i keeps what it knew before."),
    ("[set() for i in range(n)]", "known",
     "You changed sets while the layer was still reading them. "
     "Build all new sets from the old ones, then replace them."),
    ("0 <= j < n", "j < n",
     "known[-1] is the last place, not a place outside: leave out i - gap where it is below 0."),
    ("[(i, j)", "[(j, i)",
     "Right pairs, but written (input, output), and so not sorted. They are (output, input)."),
    ("[(i, j)", "{(i, j)", "known[i]]", "known[i]}",
     "The right pairs, in a set. Return a sorted list."),
    ("in dilations", "in dilations[::-1]",
     "Either output and input have changed places, or the layers their order: both "
     "mistakes give this list. Pairs are (output, input), the first gap is the first layer's."),
    ("j not in known[i]", "abs(i - j) > sum(dilations)",
     "Reach is not enough: a distance must also be a sum of the gaps, on a way that stays inside."),
    ("known[i]]", "known[i] and i < j]",
     "Each direction counts by itself: where i doesn't know j, j may still know i. List both."),
    ("[(i, j)", "[(i + 1, j + 1)", "Count places from 0."),
    ("not in", "in", "Those are the pairs that do meet. List the others."),
    ("j not in known[i]", "False",
     "An empty list says that every pair meets. "
     "Take gaps 2 and 3 and n = 5: how would input 4 get to output 0?"),
    ("in dilations", "in dilations[-1:]",
     "That is the last layer alone. What a place knew before must go into the next layer."),
]


# ---- windowed ----

def windowed(n, w):
    pairs = n * (2 * w + 1) - w * (w + 1)
    layers = math.ceil((n - 1) / w)
    return pairs, layers


PAIRS = "n * (2 * w + 1) - w * (w + 1)"
WINDOWED = [
    (" - w * (w + 1)", "",
     "The path is right. The pairs: "
     "at the two ends part of the window lies outside, where there is no token."),
    ("/ w)", "/ (2 * w))",
     "The pairs are right. After so many layers the middle sees all; "
     "from end to end it takes twice as many."),
    (" - w * (w + 1)", "", "/ w)", "/ (2 * w))",
     "Two things: near the ends the window is cut off, "
     "and a layer moves a message by w, to either side."),
    ("ceil", "floor",
     "The pairs are right. The path has to be rounded up: "
     "what is left of a window needs a layer, too."),
    ("(n - 1)", "n",
     "The pairs are right. From the first to the last token it is n - 1 places, not n; "
     "and where w divides n - 1, no extra layer."),
    ("math.ceil((n - 1) / w)", "1",
     "The pairs are right. "
     "But with a window one layer no longer connects all: a message moves by w."),
    (PAIRS, "n * w",
     "The path is right. "
     "A token's window has w tokens on each side and itself, less near the ends."),
    (PAIRS, "n + n * w - w * (w + 1) // 2",
     "The path is right. You counted each pair once, or only looked back: that i asks j "
     "is one pair, that j asks i another; and the window has w tokens after, too."),
    ("2 * w + 1", "2 * w",
     "The path is right. A token attends to itself as well: n pairs are missing."),
    ("- w * (w + 1)", "- w * (w + 1) // 2",
     "The path is right. The window is cut off at both ends of the sentence; you took off one."),
    (PAIRS, "n**2",
     "The path is right. Only pairs inside the window are scored, that is what it saves."),
    ("layers, pairs",
     "Both numbers are right, in the wrong order: first the pairs, then the layers."),
]


EXERCISES = [
    Build("receptive-field", receptive_field, RECEPTIVE_FIELD,
          lambda: [(5, [1, 6, 4]), (3, [1, 2, 4]), (7, [2]), (9, [1, 3, 9, 27])]),
    Build("work", operations, WORK, lambda: [(7, 5, 11), (60, 16, 64), (3, 2, 1)]),
    Build("unconnected", unconnected, UNCONNECTED,
          lambda: [([2, 3], 5), ([1, 4], 8), ([1, 3, 9], 10), ([1, 1], 5), ([9, 3, 1], 10),
                   ([1, 2, 4, 8], 10)]),
    Build("windowed", windowed, WINDOWED, lambda: [(10, 2), (9, 3), (12, 1), (7, 6)]),
]
