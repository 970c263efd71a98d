"""The interactive pieces as still pictures, for readers whose pages run no scripts: each in its default state.

A picture stands in for its piece only where its description holds the very numbers that the piece's `repr` lists.
"""

import json
from math import cos, degrees, exp, pi, sin, sqrt
from pathlib import Path

from _style import AMBER, BODY, FAINT, HEAD, KEY, LINE, OUTPUT, QUERY, SKY, SMALL, STRONG, TEXT, VALUE, Sheet

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


def pooling():
    keys, values = ((10, 0, 0), (0, 10, 0), (0, 0, 10), (0, 0, 10)), ((1, 0, 0), (10, 0, 0), (100, 5, 0), (1000, 6, 0))
    query, scale = (0, 10, 9), 8
    scores = [sum(q * k for q, k in zip(query, key)) / scale for key in keys]
    weights = [exp(score) / sum(map(exp, scores)) for score in scores]
    output = [sum(w * v for w, v in zip(weights, column)) for column in zip(*values)]
    said = (", ".join(f"{number:.2f}" for number in numbers) for numbers in (scores, weights, output))
    s = Sheet(800, 396, "Attention pooling over a soft dictionary", (
        "Four keys in rows, each with its score, a bar for its weight and its value; below them the output. "
        "Query 0, 10, 9, scale 8: scores {}; weights {}. Output: {}.".format(*said)))
    tall, step, top = 36, 54, 104
    x_key, x_score, x_weight, x_value, wide = 98, 296, 366, 552, 46
    s.text(20, 30, "query", BODY, "start", bold=True, colour=STRONG)
    s.grid(x_key, 12, [query], wide, QUERY, height=tall)
    s.text(x_score - 30, 30, "scale 8", BODY, "start", colour=STRONG)
    for x, name in ((x_key, "key"), (x_score - 22, "score"), (x_weight, "weight"), (x_value, "value")):
        s.text(x, 78, name, BODY, "start", bold=True, colour=STRONG)
    for i, (key, score, weight, value) in enumerate(zip(keys, scores, weights, values)):
        y = top + i * step
        s.text(20, y + tall / 2 - 8, f"key {i + 1}", BODY, "start")
        s.grid(x_key, y - 8, [key], wide, KEY, height=tall)
        s.text(x_score, y + 10, f"{score:.2f}", BODY, colour=STRONG)
        if weight > 0.005:
            s.add("rect", x=x_weight, y=y, width=120 * weight, height=20, rx=2, fill=QUERY)
        s.text(x_weight + 120 * weight + 10, y + 10, f"{weight:.2f}", BODY, "start", colour=STRONG)
        s.grid(x_value, y - 8, [value], 74, VALUE, height=tall)
    s.text(x_value - 16, 338, "output", BODY, "end", bold=True, colour=STRONG)
    s.grid(x_value, 320, [[f"{number:.2f}" for number in output]], 74, OUTPUT, height=tall)
    s.text(20, 374, "Key 2 gets 0.64 of the weight, keys 3 and 4 get 0.18 each", BODY, "start", colour=STRONG)
    return s


def order():
    words, features, start = (*TOKENS, "pad"), ("animal", "person", "action", "height"), (2, 1, 0, 3)
    vectors = (1, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 3), (1, 1, 1, 1)
    asked = [(0, 0, 2 * height) if not action else (4 * action, 2 * action, 0) for *_, action, height in vectors]
    asked[3] = 4, 2, 2  # the filler asks for everything
    powers = [[exp(sum(q * k for q, k in zip(query, key)) / 2) for key in vectors] for query in asked]
    weights = [[power / sum(row) for power in row] for row in powers]
    outputs = [[f"{sum(w * vector[i] for w, vector in zip(row, vectors)):.2f}" for i in range(4)] for row in weights]
    said = "; ".join(f"{words[i]} {', '.join(outputs[i])}" for i in start)
    s = Sheet(800, 330, "Self-attention over words that can be moved", (
        "The words man, bites, dog and pad in a row; under them a map of their weights, and each word's output. "
        f"Said as man bites dog pad, one layer, nothing hidden, each word has the output that it has in dog bites man pad: {said}."))
    wide, tall, left, right, top = 58, 36, 76, 340, 132
    for place, word in enumerate(words[i] for i in start):
        s.token(52 + 90 * place, 36, word, 78)
        s.text(left + (place + 0.5) * wide, top - 13, word, SMALL)
        s.text(left - 10, top + (place + 0.5) * tall, word, BODY, "end", colour=STRONG)
        s.text(right + 4 * wide + 14, top + (place + 0.5) * tall, "= the same", BODY, "start")
        s.text(right + (place + 0.5) * wide, top - 13, features[place], SMALL)
    shown = [[weights[i][j] for j in start] for i in start]
    s.weights(left, top, shown, wide, tall, [[f"{w:.2f}" for w in row] for row in shown])
    s.grid(right, top, [outputs[i] for i in start], wide, OUTPUT, height=tall)
    for x, name in ((left, "weights"), (right, "output")):
        s.text(x, top - 36, name, BODY, "start", bold=True, colour=STRONG)
    s.lines(right + 4 * wide + 14, top - 31, "compared with", "dog bites man pad", anchor="start")
    s.text(20, 306, "Nothing hidden: another order, and every word’s output is the same", BODY, "start", colour=STRONG)
    return s


def compare():
    """What it costs at n = 64, d = 512, k = 3, and who sees whom after one layer."""
    n, d, k, m, products = 64, 512, 3, 9, 4 * 64 * 64 * 512
    rows = {"convolution": (2 * k * n * d * d, 1, 2 * (n - 1) // (k - 1)),
            "recurrence": (4 * n * d * d, n, n - 1), "GRU": (12 * n * d * d, n, n - 1),
            "LSTM": (16 * n * d * d, n, n - 1), "attention products": (products, 2, 1),
            "attention layer": (8 * n * d * d + products, 4, 1)}
    words, costs, part = tuple(rows), tuple(rows.values()), 4
    whole = [i for i in range(len(rows)) if i != part]
    told = (f"{word} {work:,} operations, {steps} {'step' if steps == 1 else 'steps'}, longest path {path}" for word, (work, steps, path) in zip(words, costs))
    s = Sheet(800, 476, "Convolution, recurrence and self-attention, compared", (
        "A table of work, steps and longest path; below, what the last of nine outputs knows: "
        "two inputs in a convolution, all in a recurrence and in self-attention. "
        f"n = {n}, d = {d}, k = {k}, 8 heads: {'; '.join(told)}."))
    columns, top = (24, 300, 490, 660), 66
    s.text(24, 26, f"n = {n} tokens, width d = {d}, kernel k = {k}, 8 heads", BODY, "start", bold=True, colour=STRONG)
    for x, name in zip(columns, ("one layer", "operations", "sequential steps", "longest path")):
        s.text(x, top, name, BODY, "start", bold=True, colour=STRONG)
    for i, (word, (work, *rest)) in enumerate(zip(words, costs)):
        y = top + 30 * (i + 1)
        cells = f"{work / 1e6:.3g} million", *map(str, rest)
        best = [j for j in range(3) if i != part and costs[i][j] == min(costs[o][j] for o in whole)]
        s.text(columns[0] + 22 * (i == part), y, word + " (a part)" * (i == part), BODY, "start", colour=STRONG)
        for j, (x, cell) in enumerate(zip(columns[1:], cells)):
            s.text(x, y, cell + "  – least" * (j in best), BODY, "start", bold=j in best, colour=STRONG if j in best else TEXT)
    for panel, (word, colour) in enumerate((("convolution", QUERY), ("recurrence", KEY), ("self-attention", OUTPUT))):
        x, low, high = 40 + 260 * panel, 418, 342
        known = (m - 2, m - 1) if word == "convolution" else range(m)
        s.text(x - 8, 302, word, BODY, "start", bold=True, colour=STRONG)
        for i in known:
            ends = (x + 25 * i, high) if word == "recurrence" else (x + 25 * (m - 1), high)
            s.line([(x + 25 * i, low), ends], colour, 1.2)
        if word == "recurrence":
            s.line([(x, high), (x + 25 * (m - 1), high)], colour, 1.2)
        for i in range(m):
            s.dot(x + 25 * i, low, colour if i in known else FAINT, 5)
            s.dot(x + 25 * i, high, colour if i == m - 1 or word == "recurrence" else FAINT, 7 if i == m - 1 else 5)
        s.text(x - 8, 450, f"the last output knows {len(known)} of {m}", SMALL, "start")
    return s


def lengths():
    stored = Path(__file__).parents[2] / "d2l_ext/laboratory/data/05.json"
    stored = json.loads(stored.read_text(encoding="utf-8"))
    strips = {}
    for row in stored["rows"]:
        if row["task"] == "copy":
            strips.setdefault(row["encoding"], []).append(row["accuracy"]["32"])
    strips = {encoding: [sum(parts) / len(parts) for parts in zip(*runs)] for encoding, runs in strips.items()}
    ranks = sorted(((sum(strip) / len(strip), encoding) for encoding, strip in strips.items()), key=lambda pair: -pair[0])
    s = Sheet(800, 452, "Accuracy by position for nine encodings", (
        "A strip of accuracies by position for each encoding, best first, and its mean as a bar; a line after position 15 marks where training ended. "
        f"copy, length 32, all positions: {', '.join(f'{encoding} {score:.2f}' for score, encoding in ranks)}."))
    left, top, wide, tall, bar = 130, 84, 52, 36, 586
    s.text(left, 24, "copy two back, length 32, trained at 8 to 16", BODY, "start", bold=True, colour=STRONG)
    s.text(bar, 24, "mean of all", BODY, "start", bold=True, colour=STRONG)
    for position in (0, 8, 16, 24, 32):
        s.text(left + position / 4 * wide, 66, str(position), SMALL)
    for i, (score, encoding) in enumerate(ranks):
        y = top + i * tall
        s.text(left - 12, y + tall / 2, encoding, BODY, "end", colour=STRONG)
        s.weights(left, y, [strips[encoding]], wide, tall, [[f"{part:.2f}" for part in strips[encoding]]], SMALL)
        s.add("rect", x=bar, y=y + 8, width=130 * score, height=tall - 16, fill=QUERY)
        s.text(bar + 130 * score + 8, y + tall / 2, f"{score:.2f}", BODY, "start", colour=STRONG)
    bottom = top + len(ranks) * tall
    s.line([(left + 4 * wide, top - 8), (left + 4 * wide, bottom + 8)], STRONG, 4)
    s.text(left + 4 * wide + 8, 44, "beyond training", SMALL, "start")
    s.line([(bar + 13, top), (bar + 13, bottom + 4)], TEXT, 1.5)
    s.text(bar + 13, bottom + 18, "chance 0.10", SMALL)
    return s


def clock():
    """Width 32, position 6 and offset 2: sixteen hands, and the waves and the rotation of columns 6 and 7."""
    width, position, offset, hand = 32, 6, 2, 3
    steps = [10000 ** (-2 * j / width) for j in range(width // 2)]
    (a, b), turned = ([(sin(place * steps[hand]), cos(place * steps[hand])) for place in (position, position + offset)], offset * steps[hand])
    similarity = sum(cos(offset * step) for step in steps) / len(steps)
    s = Sheet(800, 500, "Positions as clock hands, turned by an offset", (
        "Sixteen clocks, each with a thin hand at position 6 and a bold one at position 8; below them the sine and cosine of columns 6 and 7 over positions "
        f"0 to 79, marked at both. Width {width}, position {position}, {offset} further on: columns {2 * hand} and {2 * hand + 1} go from {a[0]:.2f}, {a[1]:.2f} to "
        f"{b[0]:.2f}, {b[1]:.2f}, turned by {degrees(turned):.1f} degrees; a round takes {2 * pi / steps[hand]:.3g} positions. Similarity of the two rows: {similarity:.2f}."))
    s.text(20, 28, "Position 6, and 2 further on", BODY, "start", bold=True, colour=STRONG)
    for j, step in enumerate(steps):
        x, y, r = 60 + 97 * (j % 8), 92 + 112 * (j // 8), 36
        s.add("circle", cx=x, cy=y, r=r, fill="#fafafa", stroke=STRONG if j == hand else LINE, stroke_width=3 if j == hand else 1.5)
        for angle, colour, thick in ((position * step, STRONG, 2), ((position + offset) * step, QUERY, 4)):
            s.line([(x, y), (x + 0.86 * r * sin(angle), y - 0.86 * r * cos(angle))], colour, thick)
        s.text(x, y + r + 14, f"{2 * j}, {2 * j + 1}", SMALL, bold=j == hand)
    x, y = (lambda place: 40 + 7 * place), (lambda value: 376 - 50 * value)
    s.text(20, 294, f"Columns 6 and 7: turned by {degrees(turned):.1f}°, from any position", BODY, "start", bold=True, colour=STRONG)
    for wave, colour, name in ((sin, SKY, "sine, column 6"), (cos, AMBER, "cosine, column 7")):
        s.line([(x(i / 2), y(wave(i / 2 * steps[hand]))) for i in range(159)], colour, 2.5)
        s.text(x(79) + 12, y(wave(79 * steps[hand])), name, SMALL, "start", colour=STRONG)
    for place, colour in ((position, STRONG), (position + offset, QUERY)):
        s.line([(x(place), y(1)), (x(place), y(-1))], colour, 1.5)
        for wave in (sin, cos):
            s.dot(x(place), y(wave(place * steps[hand])), colour, 5)
    for place in range(0, 80, 10):
        s.text(x(place), y(-1) + 16, str(place), SMALL)
    s.text(20, 476, f"A round takes {2 * pi / steps[hand]:.3g} positions. Similarity of the two rows: {similarity:.2f}", BODY, "start", colour=STRONG)
    return s


def dates():
    """A date read with all heads on. Where each symbol looks most is read off the weights that the package ships; a test compares."""
    text, answer, most = "24/12/1999", "1999-12-24", {0: 5, 1: 7, 2: 8, 3: 9, 5: 3, 6: 4, 8: 0, 9: 1}
    s = Sheet(800, 372, "A date reader with heads to switch off", (
        "The letters of 24/12/1999 in a row, below them the answer. Lines lead from each symbol of the answer to the letter at which the four heads of "
        "cross-attention look most: the year's symbols to the year and the stroke before it, the month's to the month, the day's to the day. "
        f"All 12 heads on: {text} -> {answer}."))
    wide, tall, left, over, under = 56, 40, 150, 70, 208
    s.text(20, over + tall / 2, "your date", BODY, "start", bold=True, colour=STRONG)
    s.text(20, under + tall / 2, "answer", BODY, "start", bold=True, colour=STRONG)
    s.text(20, 32, "Where the heads of cross-attention look while each symbol is written", BODY, "start", colour=STRONG)
    for symbol, letter in most.items():
        s.line([(left + (symbol + 0.5) * wide, under), (left + (letter + 0.5) * wide, over + tall)], QUERY, 2)
    s.grid(left, over, [list(text)], wide, KEY, height=tall)
    s.grid(left, under, [list(answer)], wide, OUTPUT, height=tall)
    for i, layer in enumerate(("encoder", "decoder", "cross")):
        s.text(20 + 260 * i, 292, layer, BODY, "start", bold=True, colour=STRONG)
        for head in range(4):
            s.token(124 + 260 * i + 38 * head, 292, str(head), 32, 30)
    s.text(20, 344, "All twelve heads on: 24/12/1999 is read as 1999-12-24", BODY, "start", colour=STRONG)
    return s


PICTURES = {"01_explorer": pooling, "02_explorer": heads, "03_explorer": order, "04_explorer": clock, "05_explorer": lengths, "06_explorer": compare, "07_explorer": dates}
