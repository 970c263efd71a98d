"""The interactive pieces as still pictures, each in its default state, for readers whose pages run no scripts.

A picture stands in for its piece only where its description holds the very numbers that the piece's `repr` lists.
"""

from math import exp, sqrt

from _style import BODY, HEAD, OUTPUT, SMALL, STRONG, TEXT, VALUE, Sheet

TOKENS = "dog", "bites", "man"
HEIGHTS = 1, 0, 3


def heads():
    s = Sheet(800, 462, "Multi-head attention in two heads", (
        "Two maps of weights, one a head; rows ask, columns are asked, the row of bites is outlined. Under each "
        "map the values of two channels, beside them what the outlined weights make of them. "
        "2 heads, bites asks: head 1 takes dog 1.00, bites 0.00, man 0.00; "
        "head 2 takes dog 0.00, bites 0.00, man 1.00. Output: 1.00, 0.00, 3.00, 0.00."))
    wide, tall, top, below = 58, 36, 112, 268
    s.text(20, 28, "The same four matrices, cut into two heads of two channels", BODY, "start", colour=STRONG)
    s.text(20, 424, "output of bites", BODY, "start", bold=True, colour=STRONG)
    for x, head, wanted, has in ((98, "head 1", "animal", (1, 0, 0)), (490, "head 2", "person", (0, 0, 1))):
        powers = [[exp(20 * asks * part / sqrt(2)) for part in has] for asks in (0, 1, 0)]
        weights = [[power / sum(row) for power in row] for row in powers]
        mixed = [sum(weight * height for weight, height in zip(weights[1], HEIGHTS)), 0]
        right, channel = x + 3 * wide + 18, 0 if head == "head 1" else 2
        s.text(x - 78, 68, head, HEAD, "start", bold=True, colour=STRONG)
        s.text(x - 4, 68, f"asks for {wanted}", BODY, "start")
        s.text(x - 10, top - 14, "weights", SMALL, "end")
        s.weights(x, top, weights, wide, tall, [[f"{weight:.2f}" for weight in row] for row in weights])
        for i, word in enumerate(TOKENS):
            own = {"bold": True, "colour": STRONG} if word == "bites" else {"colour": TEXT}
            s.text(x + (i + 0.5) * wide, top - 14, word, SMALL)
            s.text(x - 10, top + (i + 0.5) * tall, word, SMALL, "end", **own)
        s.frame(x, top + tall, 3 * wide, tall, STRONG, 3)
        s.text(x - 10, below - 15, "× values", SMALL, "end")
        s.text(right + wide / 2, below - 15, "= output", SMALL)
        s.grid(x, below, [HEIGHTS, (0, 0, 0)], wide, VALUE, height=tall)
        s.grid(right, below, [[f"{value:.2f}"] for value in mixed], wide, OUTPUT, height=tall)
        for i, name in enumerate(("height", "unused")):
            s.text(x - 10, below + (i + 0.5) * tall, name, SMALL, "end")
        place = 180 if channel == 0 else 490
        s.grid(place, 406, [[f"{value:.2f}" for value in mixed]], 76, OUTPUT, height=tall)
        for i in range(2):
            s.text(place + (i + 0.5) * 76, 390, f"channel {channel + i}", SMALL)
        s.text(place + 164, 424, head, SMALL, "start")
    return s


PICTURES = {"02_explorer": heads}
