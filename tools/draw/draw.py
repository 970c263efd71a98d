"""Draw the pictures of the lessons: `python -m tools.draw.draw [names...]`.

The function split_and_merge draws 03_split_and_merge, as words.toml calls it; without names all are
drawn, in every language.
"""

import sys
from math import cos, exp, sin, sqrt
from pathlib import Path

import torch

from tools import ROOT
from tools.draw import pieces_in_node
from tools.draw._style import (AMBER, BODY, FAINT, HEAD, KEY, LINE, OUTPUT, QUERY, SKY, SMALL,
                               STROKE, STRONG, VALUE, WORDS, Sheet, tint, toward)

from attention_lessons.languages import language, languages, t
from d2l_ext import causal, padding, window

TOKENS = "dog", "bites", "man"
VECTORS = (1, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 3)  # animal, person, action, height
ROLES = {"q": QUERY, "k": KEY, "v": VALUE}
PICTURES = dict(pieces_in_node.PICTURES)  # name -> what makes its SVG
UPRIGHT = {}  # the same for phones


def drawing(height, *rows):
    """The function below draws the picture that words.toml calls like it, on a sheet this high,
    and upright in rows of its parts."""
    def register(function):
        name, = (name for name in WORDS if name[3:] == function.__name__)

        def made(*rows):
            sheet = Sheet(name, height, rows)
            function(sheet)
            return sheet.svg()

        PICTURES[name] = made
        if rows:
            UPRIGHT[name] = lambda: made(*rows)
        return function
    return register


@drawing(412, [(12, 0, 390, 376)], [(474, 0, 406, 412)])
def split_and_merge(s):
    cell, top, gap = 35, 92, 46
    light, dark = 0.13, 0.36
    tall = 3 * cell
    heads_top = (top, top + tall + gap)
    middle = top + tall + gap / 2
    whole_top = middle - tall / 2
    on = 100 * s.upright
    x_whole, x_cut, x_out, x_merged = 68, 324, 474 + on, 628 + on

    def numbers(columns, prime=""):
        return [[f"{4 * i + j}{prime}" for j in columns] for i in range(3)]

    def whole(x, colour, prime=""):
        fills = [[light, light, dark, dark]] * 3
        s.grid(x, whole_top, numbers(range(4), prime), cell, colour, fills)
        cut = x + 2 * cell
        s.line([(cut, whole_top - 9), (cut, whole_top + tall + 9)], STRONG, 2, dash="5 4")

    def heads(x, colour, prime=""):
        for y, columns, amount in zip(heads_top, ((0, 1), (2, 3)), (light, dark)):
            s.grid(x, y, numbers(columns, prime), cell, colour, [[amount] * 2] * 3)

    def follow(x, y):
        s.frame(x, y, cell, cell, STRONG, 3)

    whole(x_whole, VALUE)
    heads(x_cut, VALUE)
    heads(x_out, OUTPUT, "′")
    whole(x_merged, OUTPUT, "′")
    follow(x_whole + 2 * cell, whole_top + cell)
    follow(x_cut, heads_top[1] + cell)
    follow(x_out, heads_top[1] + cell)
    follow(x_merged + 2 * cell, whole_top + cell)

    for i, word in enumerate(TOKENS):
        s.text(x_whole - 12, whole_top + (i + 0.5) * cell, word, "end", BODY)
        for y in heads_top:
            s.text(x_cut - 10, y + (i + 0.5) * cell, word, "end")
    for y, label in zip(heads_top, ("head 1", "head 2")):
        centre = y + tall / 2
        s.arrow([(x_whole + 4 * cell + 10, middle), (x_cut - 60, centre)], curve="h")
        s.arrow([(x_cut + 2 * cell + 10, centre), (x_out - 10, centre)])
        s.arrow([(x_out + 2 * cell + 10, centre), (x_merged - 10, middle)], curve="h")
        s.text(x_cut + cell, y - 14, label, colour=STRONG)
        s.text(x_out + cell, y - 14, label, colour=STRONG)
    for x, label, how in ((243, "split", "reshape, transpose"),
                          (434 + on, "attend", "each head alone"),
                          (588 + on, "merge", "transpose, reshape")):
        s.column(x, label, how)
    bottom = heads_top[1] + tall
    s.lines(x_whole + 2 * cell, whole_top + tall + 28, "tokens × hiddens", "(3, 4)")
    s.lines((x_cut + x_out + 2.5 * on) / 2 + cell, bottom + 20, "heads × tokens × head size",
            "(2, 3, 2)")
    s.lines(x_merged + 2 * cell, whole_top + tall + 28, "tokens × hiddens", "(3, 4)")
    s.lines(x_merged + 2 * cell, bottom + 4, "6′ is a weighted mean", "of 2, 6 and 10")


@drawing(504, [(14, 0, 397, 504)], [(412, 0, 378, 476)])
def multi_head_block(s):
    centres, middle = (128, 252, 428), 278
    x_project, x_attend = ((228, 346), (198, 292))[s.upright]
    x_in, x_stack, x_mix, x_out = 18, 508, 632, 708
    wide, tall, step = 82, 33, 38
    offsets = {"q": -step, "k": 0, "v": step}
    sources = {"q": (centres[1] - step, x_project - 40, "queries"),
               "k": (middle, 168 - 22 * s.upright, "keys"),
               "v": (2 * middle - centres[1] + step, 148 - 15 * s.upright, "values")}

    for centre in centres:
        s.panel(x_project - 10, centre - 59, x_attend + 130 - x_project, 118)
    for role, (y, bus, label) in sources.items():
        s.line([(bus, centres[0] + offsets[role]), (bus, centres[-1] + offsets[role])], ROLES[role])
    for role, (y, bus, label) in sources.items():
        s.line([(x_in + 96, y), (bus, y)], ROLES[role], halo=True)
        s.box(x_in, y - 20, 96, 40, ROLES[role], label)
    for role in "vkq":
        y, bus, label = sources[role]
        for number, centre in zip(("1", "2", "*h*"), centres):
            y_here, colour = centre + offsets[role], ROLES[role]
            s.arrow([(bus + 1, y_here), (x_project, y_here)], colour, halo=True)
            label = f"*W*_{{{number}}}^{{({role})}}"
            s.box(x_project, y_here - tall / 2, wide, tall, colour, label, 17)
            s.arrow([(x_project + wide, y_here), (x_attend, y_here)], colour)
            s.dot(bus, y_here, colour)
        s.dot(bus, y, colour)

    for number, centre, block in zip(("1", "2", "*h*"), centres, (-78, -26, 78)):
        s.box(x_attend, centre - 54, 110, 108, LINE, amount=0)
        s.bold(x_attend + 55, centre - 12, t("head {0}", number))
        s.say(x_attend + 55, centre + 13, "attention")
        s.arrow([(x_attend + 110, centre), (x_stack, middle + block)], OUTPUT, curve="h")
    for x in (x_project + wide / 2, x_attend + 55):
        s.text(x, (centres[1] + centres[2]) / 2, "⋮", size=24, colour=STRONG)
    stack = [["*o*_1"], ["*o*_2"], ["⋮"], ["*o*_{*h*}"]]
    s.grid(x_stack, middle - 104, stack, 52, OUTPUT, text=HEAD)
    s.arrow([(x_stack + 52, middle), (x_mix, middle)], OUTPUT)
    s.box(x_mix, middle - 26, 52, 52, LINE, "*W*_o", HEAD, amount=0.1)
    s.arrow([(x_mix + 52, middle), (x_out, middle)], OUTPUT)
    s.box(x_out, middle - 24, 76, 48, OUTPUT, "output")
    for x, label in ((x_in + 48, "inputs"), (x_project + wide / 2, "project"),
                     (x_attend + 55, "attend"), (x_stack + 26, "concatenate"),
                     (x_mix + 26, "project")):
        s.head(x, 30, label)
    s.text((x_project + x_attend + 110) / 2, 53, "all heads at the same time")


@drawing(366, [(16, 0, 404, 318)], [(430, 0, 358, 366)])
def attention_pooling(s):
    query, scale = (5, 0, 0, 0), sqrt(4)
    scores = [sum(q * k for q, k in zip(query, key)) / scale for key in VECTORS]
    weights = [exp(score) / sum(map(exp, scores)) for score in scores]
    heights = [vector[-1] for vector in VECTORS]
    output = sum(w * v for w, v in zip(weights, heights))
    rows, middle, cell = (128, 204, 280), 204, 28
    x_query, x_key, x_score, x_weight, x_value, x_out = 20, 206, 386, 452, 574, 698

    s.grid(x_query, middle - cell / 2, [query], cell, QUERY)
    s.lines(x_query + 56, middle - 54, "How tall is", "the animal?")
    for y, word, key, score, weight, height in zip(rows, TOKENS, VECTORS, scores, weights, heights):
        s.arrow([(x_query + 4 * cell, middle), (x_key, y)], QUERY, curve="h")
        s.text(x_key + 2 * cell, y - 27, word)
        s.grid(x_key, y - cell / 2, [key], cell, KEY)
        s.arrow([(x_key + 4 * cell, y), (x_score - 20, y)], LINE)
        s.say(x_score, y, f"{score:.1f}")
        s.arrow([(x_score + 20 + 24 * s.upright, y), (x_weight, y)], LINE)
        s.weights(x_weight, y - 18, [[weight]], 60, 36, [[f"{weight:.2f}"]])
        s.text((x_weight + 60 + x_value) / 2, y, "×", size=HEAD)
        s.arrow([(x_value + 36, y), (x_out, middle)], VALUE, 1 + 9 * weight, curve="h")
        s.grid(x_value, y - 18, [[height]], 36, VALUE)
    s.box(x_out, middle - 22, 74, 44, OUTPUT, f"{output:.2f}", HEAD)
    for x, label, how in ((x_query + 56, "query", ""), (x_key + 56, "keys", "compare"),
                          (x_score, "scores", "*q* · *k* / √4"),
                          (x_weight + 30, "weights", "softmax"),
                          (x_value + 18, "values", "heights"),
                          (x_out + 37, "output", "weighted sum")):
        s.column(x, label, how)
    terms = " + ".join(f"{w:.2f} · {v}" for w, v in zip(weights, heights))
    s.say(780, 338, f"{terms} = {output:.2f}", "end")


@drawing(468, [(0, 0, 400, 640)])
def self_attention(s):
    u = s.upright  # then x and y are exchanged
    step, places, curve = ((76, (150, 408, 666), "v"), (54, (115, 287, 459), "h"))[u]
    columns = dict(zip("123", places))
    y_token, start, top, under, y_weight, above, y_out, end = (
        (30, 46, 84, 132, 240, 220, 364, 340), (42, 80, 104, 174, 240, 206, 361, 323))[u]

    def at(x, y):
        return (y, x) if u else (x, y)

    def role(number, kind):
        return columns[number] + {"q": -step, "k": 0, "v": step}[kind]

    for number, word in zip("123", TOKENS):
        x = columns[number]
        for kind, name in zip("qkv", ("query", "key", "value")):
            s.arrow([at(x, start), at(role(number, kind), top)], LINE, curve=curve)
            a, b = at(role(number, kind), (top + under) / 2)
            s.box(a - 35, b - 24, 70, 48, ROLES[kind])
            s.text(a, b - 8, f"*{kind}*_{number}", size=HEAD, colour=STRONG)
            s.text(a, b + 12, name)
        s.token(*at(x, y_token), word, 76)
    weights = 0.67, 0.09, 0.24
    for number, weight in zip("123", weights):
        x, x_value = columns[number], role(number, "v")
        s.arrow([at(x_value, y_weight + 14 * u), at(columns["2"], end)], VALUE, 1 + 9 * weight,
                curve)
        near = (20 - 8 * u) * (1 if number == "1" else -1)
        s.arrow([at(role("2", "q"), under + 1), at(x + near, above)], QUERY, curve=curve)
    for number, word, weight in zip("123", TOKENS, weights):
        x, x_value = columns[number], role(number, "v")
        s.arrow([at(x, under + 1), at(x, above)], KEY, halo=True)
        s.arrow([at(x_value, under + 1), at(x_value, y_weight - 14)], VALUE, halo=True)
        a, b = at(x, y_weight)
        s.weights(a - 34, b - 20, [[weight]], 68, 40)
        s.text(a, b - 8, f"α_{{2{number}}}", size=HEAD, colour=STRONG)
        s.text(a, b + 11, f"{weight}", colour=STRONG)
        s.arrow([at(x + 34 - 14 * u, y_weight), at(x_value - 14, y_weight)])
        s.operator(*at(x_value, y_weight), "×", 14)
        own = number == "2"
        a, b = at(x, y_out)
        s.box(a - 38, b - 24, 76, 48, OUTPUT if own else FAINT, amount=0.3 if own else 0.1)
        s.text(a, b - 8, f"*y*_{number}", size=HEAD, colour=STRONG)
        s.text(a, b + 12, word)
    for y, label in ((y_token, "tokens"), (y_weight, "weights"), (y_out, "outputs")):
        s.text(*at(20, y), label, ("start", "middle")[u])
    x, y, below = ((400, 420, 441.6), (200, 560, 603))[u]
    s.text(x, y, "The query of bites meets every key; its weights mix the values.", size=BODY)
    s.text(x, below, "*y*_1 and *y*_3 are made in the same way, from *q*_1 and *q*_3.", size=BODY)


@drawing(318, [(12, 0, 22, 312), (44, 0, 386, 312)],
         [(12, 0, 22, 312), (44, 0, 42, 312), (438, 0, 346, 312)])
def masks(s):
    words, cell, top, left, pitch = (*TOKENS, "pad"), 40, 122, 92, 176
    earlier, real = causal(), padding(torch.tensor([3]))
    panels = (("nothing hidden", ("each query sees", "every key"), window(4)),
              ("causal", ("no query sees", "a later key"), earlier),
              ("padding", ("no query sees", "the padding"), real),
              ("both", ("neither a later key", "nor the padding"), earlier & real))
    for number, (name, means, mask) in enumerate(panels):
        x = left + number * pitch
        s.head(x + 2 * cell, 30, name)
        s.lines(x + 2 * cell, 54, *means)
        s.weights(x, top, mask.tensor(4, 4).reshape(4, 4).tolist(), cell, cell)
        for j, word in enumerate(words):
            s.text(x + (j + 0.5) * cell, top - 14, word)
    for i, word in enumerate(words):
        s.text(left - 10, top + (i + 0.5) * cell, word, "end")
    s.text(24, top + 2 * cell, "queries", turn=-90, colour=STRONG)
    below = top + 4 * cell + 18
    s.text(left + 2 * cell, below, "keys", colour=STRONG)
    s.text(left + 3 * pitch + 4 * cell, below, "filled: may attend", "end", colour=STRONG)


@drawing(344, [(19, 0, 411, 332)], [(430, 0, 360, 332)])
def encoder(s):
    y, r, mini = 138, 12, (240, 262, 284)
    steps = [(96, 78, ("embed +", "position")), (210, 52, ("norm",)),
             (296, 96, ("self-", "attention")), (444, 52, ("norm",)),
             (518, 78, ("feed-", "forward")), (656, 52, ("norm",))]
    sums, x_out = (416, 618), 732

    s.panel(186, 22, 456, 164)
    s.bold(414 - 106 * s.upright, 44 - 10 * s.upright, "encoder block, as often as you like")
    for i, word in enumerate(TOKENS):
        s.token(46 + 4 * s.upright, y + (i - 1) * 38, word, 68 - 8 * s.upright)
        s.box(x_out, y + (i - 1) * 38 - 16, 50, 32, OUTPUT)
        s.say(x_out + 25, y + (i - 1) * 38, f"*y*_{i + 1}")
    stops = [80, *(x for x, _, _ in steps), x_out]
    ends = [80, *(x + wide for x, wide, _ in steps)]
    for start, stop in zip(ends, stops[1:]):
        if stop != steps[2][0]:
            between = next((x for x in sums if start < x < stop), None)
            s.arrow([(start, y), (between - r if between else stop, y)])
            if between:
                s.arrow([(between + r, y), (stop, y)])
    for dy, colour in ((-16, QUERY), (0, KEY), (16, VALUE)):
        s.arrow([(ends[2], y + dy), (steps[2][0], y + dy)], colour)
    for start, x in zip((198, 436), sums):
        s.arrow([(start, y), (start, 92), (x, 92), (x, y - r)])
        s.dot(start, y)
        s.operator(x, y, "+", r)
        s.text((start + x) / 2, 79, "residual")
    for i, (x, wide, lines) in enumerate(steps):
        meet = i == 2
        s.box(x, y - 28, wide, 56, STRONG if meet else LINE, amount=0 if meet else 0.1)
        for j, line in enumerate(lines):
            height = y + (j - (len(lines) - 1) / 2) * 20
            s.text(x + wide / 2, height, line, size=15, bold=meet, colour=STRONG)
        left, right = x + wide / 2 - 24, x + wide / 2 + 24
        for a, above in enumerate(mini):
            for b, below in enumerate(mini):
                if a == b or meet:
                    s.line([(left, above), (right, below)], STRONG if meet else LINE, 1.6)
        for above in mini:
            s.dot(left, above, STRONG)
            s.dot(right, above, STRONG)
    for x, label in ((135, "lesson 05"), (344, "lesson 02")):
        s.text(x, 208, label, bold=True, colour=STRONG)
    s.bold(344, 316, "all tokens meet")
    s.text(135, 316, "each alone", size=BODY)
    s.text(570, 316, "each alone", size=BODY)
    s.text(46, 262, "tokens")


@drawing(444, [(93, 16, 114, 170), (270, 16, 200, 170), (510, 16, 74, 170)], [(600, 66, 196, 90)],
         [(48, 200, 222, 232)], [(300, 200, 300, 232)], [(600, 200, 180, 232)])
def offsets(s):
    columns = {"yesterday": (150, 110), "dog": (310, 64), "bites": (430, 64), "man": (550, 64)}
    for y, words in ((62, TOKENS), (146, tuple(columns))):
        for position, word in enumerate(words):
            x, width = columns[word]
            s.text(x, y - 30, str(position))
            s.token(x, y, word, width)
        s.arrow([(430, y + 17), (430, y + 34), (310, y + 34), (310, y + 18)], AMBER)
        s.text(370, y + 26, "−1", bold=True, colour=STRONG)
    s.lines(698, 88, "every position", "changes,", "the offset stays", size=BODY)

    top, low, last = 262, 386, 670 + 20 * s.upright
    for centre, name, how in ((126, "Shaw", "in the key"), (386, "T5, ALiBi", "in the score"),
                              (last, "rotary", "in query and key")):
        s.head(centre, 218, name)
        s.text(centre, 240, how)
        q, k = centre - 52, centre + 52
        start = top + 84 if name == "rotary" else top + 34  # below the clocks
        s.arrow([(q, start), (centre - 14, low)], QUERY, curve="v")
        s.arrow([(k, start), (centre + 14, low)], KEY, curve="v")
        s.box(q - 22, top, 44, 34, QUERY, "*q*")
        s.box(k - 22, top, 44, 34, KEY, "*k*")
        s.box(centre - 36, low, 72, 36, LINE, "score", amount=0.1)
    s.text(126 + 84, top + 17, "+", size=HEAD)
    s.box(126 + 94, top, 34, 34, AMBER, "*a*")
    s.text(386 + 48, low + 18, "+", size=HEAD)
    s.box(386 + 60, low + 1, 34, 34, AMBER, "*t*")
    s.text(386 + 104, low + 18, "or", "start")
    s.box(386 + 126, low + 1, 84, 34, AMBER, "−*s* |*j* − *i*|", SMALL)
    for x, position, colour in ((last - 52, 2, QUERY), (last + 52, 1, KEY)):
        s.line([(x, top + 35), (x, top + 43)], colour)
        clock(s, x, top + 63, 20, 0.8 * position, [0])


@drawing(466, [(18, 0, 402, 466)], [(490, 92, 290, 330)])
def clock_hands(s):
    x0, y0, across, down, radius = 180, 124, 180, 92, 36
    for j, (name, turn, frequency) in enumerate((
            ("fast hand", "57° a position", 1), ("slow hand", "0.57° a position", 1 / 100))):
        x = x0 + j * across
        s.head(x, 30, name)
        s.text(x, 54, turn)
        for row, position in enumerate((1, 2, 3, 45)):
            clock(s, x, y0 + row * down, radius, position * frequency)
    s.text(20, 88, "position", "start")
    for row, position in enumerate(("1", "2", "3", "45")):
        s.head(44, y0 + row * down, position)
    s.text(44, y0 + 2.5 * down, "…", size=HEAD)

    x, y, r, angle = 620, 246, 88, 1.0
    tip = x + r * sin(angle), y - r * cos(angle)
    clock(s, x, y, r, angle, sector=True)
    s.line([(x, tip[1]), tip], SKY, 4)
    s.line([(tip[0], y), tip], AMBER, 4)
    s.dot(*tip, STRONG, 4.5)
    s.say(x + r * sin(angle) / 2, tip[1] - 13, "sine")
    s.say(x + r + 8, (y + tip[1]) / 2, "cosine", "start")
    s.lines(x, 112, "each hand is two numbers:", "how far across, how far up")
    s.lines(x, 366, "angle = position × frequency", "one step turns a hand",
            "by the same angle everywhere")


def clock(s, x, y, radius, angle, ghosts=(), sector=False):
    """A clock whose hand has turned by `angle` from upright, clockwise."""
    s.add("circle", cx=x, cy=y, r=radius, fill="#fafafa", stroke=LINE, stroke_width=1.5)
    s.line([(x, y - radius), (x, y - radius + 6)], LINE, 1.5)
    for ghost in ghosts:
        tip = x + 0.86 * radius * sin(ghost), y - 0.86 * radius * cos(ghost)
        s.line([(x, y), tip], FAINT, STROKE)
    if sector:
        s.line([(x, y), (x, y - radius)], LINE, 1.5, dash="4 4")
        s.line([(x, y), (x + radius, y)], LINE, 1.5, dash="4 4")
    tip = x + radius * sin(angle), y - radius * cos(angle)
    s.line([(x, y), tip], STRONG, 4)
    s.dot(x, y, STRONG, 4.5)
    s.dot(*tip, STRONG, 4.5)


@drawing(388, [(8, 0, 286, 376)], [(8, 0, 60, 376), (313, 0, 226, 376)],
         [(8, 0, 60, 376), (561, 0, 226, 376)])
def who_sees_whom(s):
    rows, gap, r, centres = (286, 200, 114), 44, 14, (178, 426, 674)
    edges = {  # ((layer, position) -> (layer, position)), layer 0 being the tokens
        "cnn": [((n, i + k), (n + 1, i)) for n in (0, 1) for i in range(n + 1, 4 - n)
                for k in (-1, 0, 1)],
        "rnn": [((n, i), (n + 1, i)) for n in (0, 1) for i in range(5)]
        + [((n, i), (n, i + 1)) for n in (1, 2) for i in range(4)],
        "att": [((n, i), (n + 1, j)) for n in (0, 1) for i in range(5) for j in range(5)]}
    paths = {"cnn": [((0, 0), (1, 1)), ((1, 1), (2, 2)), ((0, 4), (1, 3)), ((1, 3), (2, 2))],
             "rnn": [((0, 0), (1, 0)), *(((1, i), (1, i + 1)) for i in range(4)), ((0, 4), (1, 4))],
             "att": [((0, 0), (1, 4)), ((0, 4), (1, 4))]}
    meeting = {"cnn": (2, 2), "rnn": (1, 4), "att": (1, 4)}
    panels = {"cnn": ("convolution", "width 3, no padding", "after 2 layers"),
              "rnn": ("recurrence", "left to right", "after 4 steps along"),
              "att": ("self-attention", "everyone to everyone", "in 1 step")}
    for (name, (title, how, verdict)), centre in zip(panels.items(), centres):
        def place(node):
            return centre + (node[1] - 2) * gap, rows[node[0]]

        def draw(edge, colour, width):
            a, b = map(place, edge)
            s.arrow([toward(a, b, r), toward(b, a, r + 1)], colour, width)

        s.column(centre, title, how, 54)
        for edge in edges[name]:
            if edge not in paths[name]:
                draw(edge, "#bdbdbd", 1.2)
        for edge in paths[name]:
            draw(edge, STRONG, 3)
        used = {node for edge in edges[name] for node in edge}
        for node in sorted(used):
            x, y = place(node)
            on_path = any(node in edge for edge in paths[name])
            fill, stroke, thick = "#f2f2f2", LINE, 1.5
            if on_path:
                fill, stroke, thick = "#ffffff", STRONG, STROKE
            if node == meeting[name]:
                fill = tint(OUTPUT, 0.75)
            s.add("circle", cx=x, cy=y, r=r, fill=fill, stroke=stroke, stroke_width=thick)
            if node[0] == 0:
                s.text(x, y, f"*x*_{node[1] + 1}", size=15, colour=STRONG)
        s.say(centre, 330, "*x*_1 meets *x*_5")
        s.bold(centre, 356, verdict)
    for y, label in zip(rows, ("tokens", "layer 1", "layer 2")):
        s.text(14, y, label, "start")


@drawing(330, [(16, 0, 391, 322)], [(408, 0, 351, 322)])
def frameworks(s):
    s.head(330 - 117 * s.upright, 30, "one layer, written four times")
    s.head(690, 30, "its own layer")
    s.box(24, 130, 132, 96, QUERY)
    s.lines(90, 155, "the same", "sentences", "and weights", size=BODY, colour=STRONG)
    s.box(466, 130, 132, 96, OUTPUT)
    s.lines(532, 155, "the same", "output and", "gradients", size=BODY, colour=STRONG)
    for i, (name, layout) in enumerate((("PyTorch", "(out, in)"), ("JAX, Flax", "(in, out)"),
                                        ("TensorFlow, Keras", "(in, out)"),
                                        ("MXNet, Gluon", "(out, in)"))):
        y = 62 + 64 * i
        s.arrow([(156, 178), (214, y + 26)], curve="h")
        s.box(216, y, 190, 52, SKY)
        s.text(311, y + 17, name, size=BODY, bold=True, colour=STRONG)
        s.text(311, y + 38, t("a weight is {0}", layout), colour=STRONG)
        s.arrow([(406, y + 26), (464, 178)], OUTPUT, curve="h")
        s.box(640, y, 100, 52, AMBER, "= ?")


@drawing(372, [(34, 8, 413, 210)], [(447, 84, 319, 156)], [(34, 228, 220, 32)],
         [(34, 260, 292, 100)], [(328, 260, 438, 100)])
def museum(s):
    s.panel(40, 56, 210, 148)
    s.head(145, 30, "an exhibit")
    for i, (indent, length) in enumerate(((0, 150), (18, 120), (18, 142), (18, 108), (18, 150),
                                          (18, 96))):
        y = 76 + 21 * i
        if i == 3:
            s.box(66, y - 10, 170, 20, AMBER, amount=0.4)
        s.line([(58 + indent, y), (58 + indent + length, y)], LINE, 5)
    steps = (("predict", "its symptom"), ("point", "to the line"), ("write", "a test"))
    for i, (label, what) in enumerate(steps):
        x = 320 + 158 * i
        s.box(x, 92, 124, 74, SKY)
        s.bold(x + 62, 116, label)
        s.say(x + 62, 142, what)
        s.arrow([(x - 60 if i == 0 else x - 30, 129), (x - 6, 129)])
    versions = (("right", "code", True), ("right, in", "other words", True),
                ("the", "exhibit", False), ("one", "sibling", False),
                ("another", "sibling", False))
    s.head(40, 244, "Your test is tested", "start")
    s.arrow([(698, 172), (698, 232)] if s.upright else [(698, 172), (698, 244), (240, 244)])
    for i, (one, two, passes) in enumerate(versions):
        x = 40 + 147 * i
        colour, verb = (VALUE, "✓ passes") if passes else (KEY, "✗ fails")
        s.box(x, 268, 132, 84, colour)
        s.lines(x + 66, 288, one, two, size=BODY, colour=STRONG)
        s.bold(x + 66, 334, verb)


@drawing(450, [(0, 14, 410, 708)])
def encoder_decoder(s):
    u = s.upright  # then the decoder goes on below, from right to left
    top, bottom, last, tall, wide = 112, 326, (326, 492)[u], 124, 130
    x_in, x_embed, x_self, x_feed, x_cross, x_forward, x_out, slim, pill, ends = (
        (52, 108, 250, 471, 448, 598, 740, 84, 68, (578, 682)),
        (40, 86, 182, 328, 252, 126, 40, 74, 60, (402, 402)))[u]

    def words(x, y, label, tokens):
        s.text(x, y - 66, label)
        for i, word in enumerate(tokens):
            s.token(x, y + (i - 1) * 38, word, pill)

    def attention(x, y, lines, attends):
        s.box(x, y - tall / 2, wide, tall, LINE, amount=0)
        s.lines(x + wide / 2, y - 43, *lines, size=15, bold=True, colour=STRONG)
        mask = [[attends(i, j) for j in range(3)] for i in range(3)]
        s.weights(x + wide / 2 - 30, y - 7, mask, 20, 20)

    def step(x, y, *lines):
        s.box(x, y - 26, slim, 52, LINE, amount=0.1)
        s.lines(x + slim / 2, y - 10, *lines, size=15, colour=STRONG)

    for y, name, right, low in ((top, "encoder", ends[0], top), (bottom, "decoder", ends[1], last)):
        s.panel(x_embed - 8, y - 92, right - x_embed + 16, low - y + 166)
        s.text(x_embed + 4, y - 74, name, "start", HEAD, bold=True, colour=STRONG)
        s.arrow([(x_in + pill / 2, y), (x_embed, y)])
        step(x_embed, y, "embed +", "position")
        for dy, colour in ((-16, QUERY), (0, KEY), (16, VALUE)):
            s.arrow([(x_embed + slim, y + dy), (x_self, y + dy)], colour)
    words(x_in, top, "read", TOKENS)
    words(x_in, bottom, "said so far", (t("start"), "man", "bites"))
    words(x_out, last, "say next", ("man", "bites", "dog"))
    attention(x_self, top, ("encoder", "self-attention"), lambda i, j: True)
    attention(x_self, bottom, ("causal", "self-attention"), causal().predicate)
    attention(x_cross, last, ("cross-", "attention"), lambda i, j: True)

    s.arrow([(x_self + wide, top), (x_feed, top)])
    step(x_feed, top, "feed-", "forward")
    for side, label, anchor in ((-1, "keys", "end"), (1, "values", "start")):
        x = (513 + side * 18, 345 + side * 8)[u]
        s.arrow([(x, top + 27), (x, last - tall / 2)], ROLES[label[0]])
        s.text(x + side * 10, 210, label, anchor)
    asks, ahead, said, (x, y) = (
        ([(380, 326), (448, 326)], (578, 598), (682, 706), (414, 311)),
        ([(284, 388), (284, 430)], (252, 200), (126, 70), (246, 409)))[u]
    s.arrow(asks, QUERY)
    s.text(x, y, "queries")
    s.arrow([(each, last) for each in ahead])
    step(x_forward, last, "feed-", "forward")
    s.arrow([(each, last) for each in said])
    s.lines(*((694, 74), (205, 592))[u], "in each grid", "rows: queries", "columns: keys",
            "filled: may attend")
    s.text(*((400, 426), (205, 684))[u], "left out: residual connections, layer norm, "
                                         "the last step from vectors to words")


@drawing(396, [(18, 0, 362, 356)], [(420, 0, 362, 396)])
def cache(s):
    words = "dog", "bites", "man", "and", "runs", "far", "away"
    wide, tall, top = 50, 34, 84
    bottom = top + 6 * tall
    for x, label, total, kept in ((24, "without a cache", "27 keys and values computed", False),
                                  (426, "with a cache", "7 computed, 7 kept", True)):
        s.head(x + 3.5 * wide, 30, label)
        for j, word in enumerate(words):
            s.text(x + (j + 0.5) * wide, top - 18, word, colour=STRONG)
        for step in range(6):
            for j in range(step + 2):
                new = j == step + 1 or step == 0
                if new or not kept:
                    s.add("rect", x=x + j * wide + 2, y=top + step * tall + 2, width=wide - 4,
                          height=tall - 4, rx=4, fill=tint(KEY, 0.7) if new else FAINT)
        s.say(x + 3.5 * wide, bottom + (86 if kept else 24), total)
    for j in range(7):
        centre = 426 + (j + 0.5) * wide
        s.arrow([(centre, top + max(j, 1) * tall), (centre, bottom + 20)], FAINT)
        s.box(426 + j * wide + 2, bottom + 22, wide - 4, 38, KEY, "*k v*", SMALL, 0.3)
    s.text(24, bottom + 52, "grey: computed before, and again", "start")


@drawing(258, [(6, 8, 262, 232)], [(268, 8, 264, 232)], [(532, 8, 262, 232)])
def shared_heads(s):
    for panel, (pairs, label, cached) in enumerate((
            (6, "multi-head", "6 pairs in the cache"), (3, "grouped-query", "3 pairs"),
            (1, "multi-query", "1 pair"))):
        left = 24 + 262 * panel
        s.head(left + 114, 30, label)
        for pair in range(pairs):
            x = left + 114 + 38 * (6 / pairs) * (pair - (pairs - 1) / 2)
            for head in range(pair * 6 // pairs, (pair + 1) * 6 // pairs):
                s.line([(left + 19 + 38 * head, 96), (x, 158)], LINE, curve="v")
            s.box(x - 17, 158, 17, 34, KEY, "*k*", SMALL)
            s.box(x, 158, 17, 34, VALUE, "*v*", SMALL)
        for head in range(6):
            s.box(left + 19 + 38 * head - 15, 64, 30, 32, QUERY, "*q*", SMALL)
        s.say(left + 114, 224, cached)


@drawing(412, [(22, 0, 346, 404)], [(388, 0, 388, 404)])
def two_brackets(s):
    cell, small = 42, 20
    left, top, end = 56, 124, 56 + 4 * 42
    s.column(190, "A query meets each key", "(*Q K*^{T} ⊙ *M*) *V*", 56, BODY)
    for i in range(3):
        s.text(left + (i + 0.5) * cell, top - 14, f"*k*_{i + 1}", size=BODY)
        s.text(left - 14, top + (i + 0.5) * cell, f"*q*_{i + 1}", "end", BODY)
        y = top + (i + 0.5) * cell
        s.arrow([(end + 6, y), (end + 28, y)])
        vector(s, end + 34, y - 8, 16, OUTPUT)
        s.text(end + 106, y, f"*y*_{i + 1}", "start", BODY)
    earlier = 0.45 * causal().tensor(3, 3).reshape(3, 3).double()
    s.weights(left, top, earlier.tolist(), cell, cell)
    for x, y, wide, tall in ((left, top + 3 * cell, 4 * cell, cell), (left + 3 * cell, top, cell,
                                                                    4 * cell)):
        s.line([(x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall), (x, y)], LINE, 1.5,
               dash="4 4")
    s.text(end + 8, top + 3.5 * cell, "the next token", "start")
    s.bold(left, 354, "*n* × *n* weights, growing", "start")
    s.text(left, 382, "to go on, all keys and values stay", "start")

    start, grid_top = 424, 156
    s.column(start + 172, "A memory is added to",
             "*S* ← *S* + *k v*^{T}, *y* = *S*^{T} *q*", 56, BODY)
    for i, word in enumerate(TOKENS):
        x, wide = start + i * 126, 4 * small
        s.token(x + wide / 2, 92, word)
        s.text(x - 6, grid_top - 16, f"*v*_{i + 1}", "end")
        vector(s, x, grid_top - 26, small, VALUE)
        s.text(x - 16, grid_top + wide + 14, f"*k*_{i + 1}")
        vector(s, x - 26, grid_top, small, KEY, down=True)
        s.grid(x, grid_top, [[""] * 4] * 4, small, LINE, [[0.12 * (i + 1)] * 4] * 4)
        s.say(x + wide / 2, grid_top + wide / 2, f"*S*_{i + 1}")
        if i < 2:
            s.text(x + wide + 9, grid_top + wide / 2, "+", size=HEAD, colour=STRONG)
        s.arrow([(x + wide / 2, grid_top + wide + 6), (x + wide / 2, grid_top + wide + 40)])
        s.text(x + wide / 2 + 10, grid_top + wide + 22, f"*q*_{i + 1}", "start")
        vector(s, x, grid_top + wide + 46, small, OUTPUT)
        s.text(x + wide / 2, grid_top + wide + 80, f"*y*_{i + 1}", size=BODY)
    s.bold(start - 26, 354, "*d* × *d* numbers, for any *n*", "start")
    s.text(start - 26, 382, "to go on, the memory stays, and no token", "start")
    s.line([(372, 84), (372, 388)], FAINT, 1.5)


@drawing(330)
def arcs(s):
    """README's first picture, as the website's first page begins."""
    places = 150, 400, 650
    for x, word in zip(places, str(t("dog / bites / man")).split(" / ")):
        s.text(x, 170, word, size=52, bold=True, colour=STRONG)
    for weights, colour, y, end, label in zip(pieces_in_node.arcs()[1], (QUERY, KEY), (128, 216),
                                              (8, 336), ("head 1", "head 2")):
        for x, weight in zip(places, weights):
            if weight >= 0.005:
                s.arc(400, x, y, end, colour, 24 * weight)
                s.text((400 + x) / 2, y + (end - y) * 0.42, label, size=HEAD, colour=colour)


def vector(s, x, y, size, colour, down=False):
    """Four cells in a row, or down."""
    s.grid(x, y, [[""]] * 4 if down else [[""] * 4], size, colour)


def main(names, folder=ROOT / "images"):
    for code in languages():
        language(code)
        for name in names or PICTURES:
            path = Path(folder, "" if code == "en" else code, f"{name}.svg")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(PICTURES[name]().encode())
            print(path.relative_to(folder), path.stat().st_size)
    language("en")


if __name__ == "__main__":
    main(sys.argv[1:])
