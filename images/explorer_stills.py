"""The interactive pieces as still pictures, for readers whose pages run no scripts: each in its default state.

A picture stands in for its piece only where its description holds the very numbers that the piece's `repr` lists.
"""

from math import exp, sqrt

from _style import BODY, HEAD, OUTPUT, SMALL, STRONG, TEXT, VALUE, Sheet

TOKENS = "dog", "bites", "man"
ANIMAL, PERSON, HEIGHTS = (1, 0, 0), (0, 0, 1), (1, 0, 3)


def heads():
    s = Sheet(800, 452, "Multi-head attention in two heads", (
        "Two heads side by side. In each a map of weights, rows ask, columns are asked, the row of bites outlined; "
        "under it the values of two channels, beside them their weighted sums. "
        "2 heads, bites asks: head 1 takes dog 1.00, bites 0.00, man 0.00; head 2 takes dog 0.00, bites 0.00, man 1.00. "
        "Output: 1.00, 0.00, 3.00, 0.00."))
    wide, tall, top, below = 58, 36, 108, 264
    for number, (x, wanted, feature) in enumerate(((100, "animal", ANIMAL), (484, "person", PERSON))):
        powers = [[exp(20 * (row == 1) * part / sqrt(2)) for part in feature] for row in range(3)]
        weights = [[power / sum(row) for power in row] for row in powers]
        mixed = [sum(w * v for w, v in zip(weights[1], HEIGHTS)), 0]
        right = x + 3 * wide + 16
        s.text(x, 66, f"head {number + 1}", HEAD, "start", bold=True, colour=STRONG)
        s.text(x + 76, 66, f"asks for {wanted}", BODY, "start")
        s.weights(x, top, weights, wide, tall, [[f"{w:.2f}" for w in row] for row in weights])
        for i, word in enumerate(TOKENS):
            s.text(x + (i + 0.5) * wide, top - 13, word, SMALL)
            s.text(x - 10, top + (i + 0.5) * tall, word, SMALL, "end", bold=word == "bites", colour=STRONG if word == "bites" else TEXT)
        s.frame(x, top + tall, 3 * wide, tall, STRONG, 3)
        s.grid(x, below, [HEIGHTS, (0, 0, 0)], wide, VALUE, height=tall)
        s.grid(right, below, [[f"{value:.2f}"] for value in mixed], wide, OUTPUT, height=tall)
        s.text(x - 10, below - 14, "× values", SMALL, "end")
        s.text(right + wide / 2, below - 14, "= output", SMALL)
        for i, name in enumerate(("height", "–")):
            s.text(x - 10, below + (i + 0.5) * tall, f"{2 * number + i} {name}", SMALL, "end")
    s.text(20, 28, "bites asks: the same four matrices, cut into two heads of two channels", BODY, "start", colour=STRONG)
    s.text(20, 392, "output of bites", BODY, "start", bold=True, colour=STRONG)
    for x, name, cells in ((170, "head 1", ("1.00", "0.00")), (420, "head 2", ("3.00", "0.00"))):
        s.text(x, 392, name, SMALL, "start")
        s.grid(x + 56, 374, [cells], wide, OUTPUT, height=tall)
    s.text(20, 428, "head 1 takes dog 1.00; head 2 takes man 1.00", BODY, "start", colour=STRONG)
    return s


PICTURES = {"02_explorer": heads}
