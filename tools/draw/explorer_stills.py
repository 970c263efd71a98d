"""The interactive pieces as still pictures, for pages that run no scripts: each in its first state.

A picture stands in for its piece only where its description holds the very numbers that the
piece's `repr` lists.
"""
import json
from math import cos, degrees, pi, sin
from pathlib import Path

from tools.draw._style import (AMBER, LINE, QUERY, SKY, SMALL, STRONG,
                               TEXT)
from tools.draw import _style
from attention_lessons.translation import translated


DATA = Path(__file__).parents[2] / "attention_lessons/laboratory/data/05.json"


class Sheet(_style.Sheet):  # until all pieces describe themselves
    def __init__(self, width, height, title, desc):
        super().__init__(width, height, translated(title), translated(desc))

    def text(self, x, y, string, *more, **named):
        super().text(x, y, translated(string), *more, **named)


def written(numbers):
    """To two places."""
    return [f"{number:.2f}" for number in numbers]


def lengths():
    task, length, chance = "copy", 32, 0.1
    runs = {}  # the three seeds' accuracies in stretches of positions, by encoding
    for row in json.loads(DATA.read_bytes())["rows"]:
        if row["task"] == task:
            runs.setdefault(row["encoding"], []).append(row["accuracy"][str(length)])
    strips = {name: [sum(parts) / len(parts) for parts in zip(*of_name)]
              for name, of_name in runs.items()}
    scores = {name: sum(strip) / len(strip) for name, strip in strips.items()}
    ranks = sorted(scores, key=lambda name: -scores[name])
    told = ", ".join(f"{name} {scores[name]:.2f}" for name in ranks)
    numbers = f"{task}, length {length}, all positions: {told}."
    s = Sheet(800, 452, "Accuracy by position for nine encodings", (
        "A strip of accuracies by position for each encoding, best first, and its mean as a bar; "
        f"a line after position 15 marks where training ended. {numbers}"))
    left, top, wide, tall, bar = 130, 84, 52, 36, 586
    s.bold(left, 24, f"copy two back, length {length}, trained at 8 to 16")
    s.bold(bar, 24, "mean of all")
    for position in (0, 8, 16, 24, 32):
        s.text(left + position / 4 * wide, 66, str(position), SMALL)
    for i, name in enumerate(ranks):
        y, score, strip = top + i * tall, scores[name], strips[name]
        s.say(left - 12, y + tall / 2, name, "end")
        s.weights(left, y, [strip], wide, tall, [written(strip)], SMALL)
        s.add("rect", x=bar, y=y + 8, width=130 * score, height=tall - 16, fill=QUERY)
        s.say(bar + 130 * score + 8, y + tall / 2, f"{score:.2f}")
    bottom = top + len(ranks) * tall
    s.line([(left + 4 * wide, top - 8), (left + 4 * wide, bottom + 8)], STRONG, 4)
    s.text(left + 4 * wide + 8, 44, "beyond training", SMALL, "start")
    s.line([(bar + 130 * chance, top), (bar + 130 * chance, bottom + 4)], TEXT, 1.5)
    s.text(bar + 130 * chance, bottom + 18, f"chance {chance:.2f}", SMALL)
    return s


def clock():
    """Width 32: sixteen hands; the waves and the rotation of columns 6 and 7, the fourth hand."""
    width, position, offset, hand = 32, 6, 2, 3
    speeds = [10000 ** (-2 * j / width) for j in range(width // 2)]
    speed, even, odd = speeds[hand], 2 * hand, 2 * hand + 1
    before, after = (f"{sin(place * speed):.2f}, {cos(place * speed):.2f}"
                     for place in (position, position + offset))
    turned = degrees(offset * speed)
    rounds = f"{2 * pi / speed:.3g}"
    similarity = f"{sum(cos(offset * one) for one in speeds) / len(speeds):.2f}"
    numbers = (f"Width {width}, position {position}, {offset} further on: columns {even} and {odd} "
               f"go from {before} to {after}, turned by {turned:.1f} degrees; a round takes "
               f"{rounds} positions. Similarity of the two rows: {similarity}.")
    s = Sheet(800, 500, "Positions as clock hands, turned by an offset", (
        "Sixteen clocks, each with a thin hand at position 6 and a bold one at position 8; below "
        "them the sine and cosine of columns 6 and 7 over positions 0 to 79, marked at both. "
        f"{numbers}"))
    places = (position, STRONG), (position + offset, QUERY)
    s.bold(20, 28, f"Position {position}, and {offset} further on")
    s.say(20, 60, f"A round takes {rounds} positions. Similarity of the two rows: {similarity}")
    for j, one in enumerate(speeds):
        x, y, r = 60 + 97 * (j % 8), 128 + 112 * (j // 8), 36
        ring, thick = (STRONG, 3) if j == hand else (LINE, 1.5)
        s.add("circle", cx=x, cy=y, r=r, fill="#fafafa", stroke=ring, stroke_width=thick)
        for (place, colour), thick in zip(places, (2, 4)):
            tip = x + 0.86 * r * sin(place * one), y - 0.86 * r * cos(place * one)
            s.line([(x, y), tip], colour, thick)
        s.text(x, y + r + 14, f"{2 * j}, {2 * j + 1}", SMALL, bold=j == hand)

    def at(place, value):
        return 40 + 7 * place, 412 - 50 * value

    s.bold(20, 330, f"Columns {even} and {odd}: turned by {turned:.1f}°, from any position")
    for wave, colour, name in ((sin, SKY, f"sine, column {even}"),
                               (cos, AMBER, f"cosine, column {odd}")):
        s.line([at(i / 2, wave(i / 2 * speed)) for i in range(159)], colour, 2.5)
        x, y = at(79, wave(79 * speed))
        s.text(x + 12, y, name, SMALL, "start", colour=STRONG)
    for place, colour in places:
        s.line([at(place, 1), at(place, -1)], colour, 1.5)
        for wave in (sin, cos):
            s.dot(*at(place, wave(place * speed)), colour, 5)
    for place in range(0, 80, 10):
        x, y = at(place, -1)
        s.text(x, y + 16, str(place), SMALL)
    return s


PICTURES = {"04_explorer": clock, "05_explorer": lengths}
