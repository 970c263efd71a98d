"""What the explorer of 06 and 10 draws, without a browser: its table, each curve, crossing and
label, and who sees whom, against the package's costs and matrices of who takes from whom."""
import math

import pytest
import torch
from stage import DARK, LIGHT, SIZE, check_picture, expected, numbers, perform

from d2l_ext import cost, state_size
from d2l_ext.explorers import compare_explorer
from d2l_ext.explorers.compare import BESIDE, SIZES
from d2l_ext.sequence import FORMULAS

AMOUNTS = {1e15: "quadrillion", 1e12: "trillion", 1e9: "billion", 1e6: "million", 1e3: "thousand"}
TITLES = ["one layer", "operations", "sequential steps", "longest path", "keeps"]
POWERS = {digit: str(i) for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
PART = "attention products"


def three(number):
    """In three digits, as JavaScript writes them."""
    rounded = float(f"{number:.2e}")
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(rounded)))}f}"


def amount(number):
    return next((f"{three(number / size)} {name}" for size, name in AMOUNTS.items()
                 if number >= size), str(number))


def count(number):
    return f"{number:,}" if number < 1e6 else amount(number)


def numbers_of(kind, *, n, d, k, num_heads, c=64, layers=None):
    operations, sequential, path = cost(kind, n, d, k, c, num_heads)[:3]
    return [operations, sequential, path, state_size(kind, n, d, k, num_heads)]


def looks(stage, kinds):
    """The colour and dashes of each kind, as its row in the table shows them."""
    found = {}
    for kind, line in zip(kinds, stage.one("table").all("i"), strict=True):
        paint = line.given["style"]
        assert line.classes == ["drawn"]
        assert paint.startswith("background: repeating-linear-gradient(90deg, rgb(")
        colour = numbers(paint[paint.index("rgb"):paint.index(")")])
        on, start, end = (int(part) for part in
                          paint.split(") ")[1].replace("px", "").replace(", transparent", "")
                          .rstrip(")").split()[1:4])
        assert on == start and paint.count(" 0 ") == 1
        found[kind] = colour, [] if end == on + 0 or end - on == 0 else [on, end - on]
    assert len({str(look) for look in found.values()}) == len(found)  # no two look alike
    return found


def check_table(stage, kinds, sizes):
    columns = 4 if "c" in sizes else 3
    rows = stage.one("table").rows()
    assert rows[0] == TITLES[:columns + 1]
    values = {kind: numbers_of(kind, **sizes) for kind in kinds}
    for row, part, kind in zip(rows[1:], stage.one("tbody").parts, kinds, strict=True):
        more = {PART: ", part of the layer", "attention layer": f", {sizes['num_heads']} head"
                + "s" * (sizes["num_heads"] > 1)}
        assert row[0] == kind + more.get(kind, "")
        assert part.one("th").given == {"scope": "row", "class": "part" if kind == PART else ""}
        assert [cell.tag for cell in part.parts] == ["th", *["td"] * columns]
        for column, (cell, number) in enumerate(zip(row[1:], values[kind][:columns], strict=True)):
            whole = [values[other][column] for other in kinds if other != PART]
            best = kind != PART and number == min(whole)
            shown = count(number) if column else amount(number)
            assert cell == shown + " ◂ least" * best, (kind, column)
            assert part.parts[column + 1].classes == ["least"] * best
    assert {cell.given["scope"] for cell in stage.one("thead").one("tr").parts} == {"col"}
    assert stage.one("table").classes == ["table", "costs"]


def check_words(stage, kinds, sizes):
    n, d, k, heads = (sizes[name] for name in ("n", "d", "k", "num_heads"))
    costs = {kind: numbers_of(kind, **sizes) for kind in kinds}
    layer = costs["attention layer"]
    if "c" in sizes:
        chunks = costs["linear attention, in chunks"]
        assert stage.result == (
            f"n = {n}, d = {d}, k = {k}, {heads} head{'s' * (heads > 1)}: in chunks of "
            f"{sizes['c']}, linear attention takes {three(chunks[0] / layer[0])} times the "
            f"operations of self-attention, {chunks[1]} steps against {layer[1]}. It keeps "
            f"{count(chunks[3])} numbers, self-attention {count(layer[3])}; they keep the same at "
            f"n = {d / 2 / heads:g}.")
        return
    least = min((kind for kind in kinds if kind != PART), key=lambda kind: costs[kind][0])

    def against(other, limit):
        verdict = "as many as" if n == limit else "less than" if n < limit else "more than"
        return f"{verdict} the {other} (they cross at n = {limit:g})"

    assert stage.result == (
        f"n = {n}, d = {d}, k = {k}: of the whole layers the {least} takes the fewest operations, "
        f"{amount(costs[least][0])}; self-attention {three(layer[0] / costs[least][0])} times as "
        f"many, with a longest path of {layer[2]} against {n - 1}. It takes {against('GRU', d)} "
        f"and {against('LSTM', 2 * d)}. Its products alone take {against('recurrence', d)} and "
        f"{against('convolution', k * d / 2)}.")


def described(what, sizes):
    d, k, heads = (sizes[name] for name in ("d", "k", "num_heads"))
    if what == "keeps":
        return ("What a layer keeps against n on logarithmic axes: attention's line rises with n "
                f"and crosses at n = {d / 2 / heads:g} the level line of the memories; the "
                "convolution's and the recurrence's lie level below.")
    start = f"Operations against n on logarithmic axes, d = {d}, k = {k}. The attention "
    if "c" in sizes:
        return (f"{start}layer and linear attention at once are one line, which bends upwards; "
                "linear attention by token is straight, and below it from n = "
                f"{d / heads:g} on.")
    return (f"{start}products, a steeper line, cross the recurrence at n = {d} and the convolution "
            f"at n = {k * d / 2:g}; the whole attention layer stays above both, and crosses the "
            f"GRU at n = {d} and the LSTM at n = {2 * d}.")


def axes(picture, theme):
    """From places on a plot to n, and to numbers; both axes are logarithmic."""
    left = [text for text in picture.texts if text.text.startswith("10") and text.align == "right"]
    powers = [int("".join(POWERS[digit] for digit in text.text[2:])) for text in left]
    assert powers == list(range(powers[0], powers[-1] + 1, 2))
    rate = (left[-1].y - left[0].y) / (powers[-1] - powers[0])
    assert rate < 0
    rules = {block.y for block in picture.blocks}
    assert rules == {text.y for text in left} and len(picture.blocks) == len(left)
    below = [text for text in picture.texts if text.text.isdecimal() and text.align == "center"]
    start, wide = picture.blocks[0].x, picture.blocks[0].wide
    assert {block[:1] + block[2:] for block in picture.blocks} == {
        (start, wide, 1, expected("faint", theme), 0, 1)}
    assert {text.x for text in left} == {start - 8}
    frame, = picture.frames
    bottom = frame.y + frame.high
    assert (frame.y, frame.high, picture.high) == (18, 180, bottom + 44)
    assert {text.y for text in below} == {bottom + 14}
    step, free = wide / (len(SIZES["n"]) - 1), 0
    for i in range(0, len(SIZES["n"]), 3):  # each that is clear of the one before
        x, half = start + i * step, len(str(SIZES["n"][i])) * 0.55 * SIZE / 2
        if x - half >= free:
            text, *below = below
            assert (text.text, text.x) == (str(SIZES["n"][i]), pytest.approx(x))
            free = x + half + 6
    assert not below
    return (lambda x: 16 * 2 ** ((x - start) / step),
            lambda y: 10 ** (powers[0] + (y - left[0].y) / rate))


def check_plot(picture, theme, what, kinds, sizes, look):
    check_picture(picture)
    at_n, at_number = axes(picture, theme)
    column = {"operations": 0, "keeps": 3}[what]

    def worth(kind, n):
        return numbers_of(kind, **sizes | {"n": n})[column]

    left, wide = picture.blocks[0].x, picture.blocks[0].wide
    ends = [worth(kind, n) for kind in kinds for n in (SIZES["n"][0], SIZES["n"][-1])]
    assert [math.log10(at_number(y)) for y in (198, 18)] == pytest.approx(
        [math.floor(math.log10(min(ends))), math.ceil(math.log10(max(ends)))])
    delta, token = "delta rule, by token", "linear attention, by token"
    drawn = [kind for kind in kinds if (kind != delta if what == "operations" else
                                        "," not in kind or kind == token)]
    lines = {(line.colour, tuple(line.dash)): line for line in picture.lines}
    assert len(lines) == len(picture.lines) == len(drawn)
    names = []
    for kind in drawn:
        colour, dash = look[kind]
        line = lines[colour, tuple(dash)]
        assert [at_n(x) for x, _ in line.points] == pytest.approx(SIZES["n"])
        values = [worth(kind, n) for n in SIZES["n"]]
        assert [at_number(y) for _, y in line.points] == pytest.approx(values), kind
        name = (kind.replace(" attention,", ",") if what == "operations"
                else "linear, delta rule" if kind == token else kind)
        text = picture.text(name)
        assert text.x == pytest.approx(left + wide + 8) and text.align == "left"
        assert line.points[-1][0] == pytest.approx(left + wide) and line.width == 2.5
        names.append((line.points[-1][1], text.y))
    names.sort()  # each stands at its line's end, or as near as those above and below let it
    y, apart = 0, SIZE + 4
    for i, (end, found) in enumerate(names):
        y = max(end, y + apart)
        assert found == pytest.approx(min(y, 198 - (len(names) - 1 - i) * apart))

    n, d, k, heads = (sizes[name] for name in ("n", "d", "k", "num_heads"))
    crossings = ([(PART, "recurrence", d), (PART, "convolution", k * d / 2),
                  ("attention layer", "GRU", d), ("attention layer", "LSTM", 2 * d)]
                 if "c" not in sizes else
                 [("attention layer", token, d / heads)] if what == "operations" else
                 [("attention layer", token, d / 2 / heads)])
    inside = [one for one in crossings if 16 <= one[2] <= SIZES["n"][-1]]
    for (kind, other, at), disc in zip(inside, picture.rounds, strict=True):
        assert at_n(disc.x) == pytest.approx(at) and disc.colour == expected("ink", theme)
        assert disc.radius == 4.5
        value = at_number(disc.y)
        assert value == pytest.approx(worth_at(kind, what, sizes, at), rel=1e-4)
        if what == "keeps" or "c" not in sizes:
            assert value == pytest.approx(worth_at(other, what, sizes, at), rel=1e-4)
    frame, = picture.frames
    assert at_n(frame.x) == pytest.approx(n) and frame.wide == 0
    assert frame.colour == expected("ink", theme)
    chosen = picture.text(f"n = {n}")
    needs = (chosen.box[2] - chosen.box[0]) / 1.08 * 1.1 + 5  # bold is wider
    assert chosen[1:5] == ((frame.x + 5, 26, "left", True) if frame.x + needs < left + wide else
                           (frame.x - 5, 26, "right", True))
    assert frame.width == 1 and [text for text in picture.texts if text.bold] == [chosen]
    title = {"operations": "operations of one layer", "keeps": "numbers that one layer keeps"}[what]
    assert picture.text(f"{title}, against n")[1:4] == (left, 232, "left")
    assert picture.alt == described(what, sizes)


def worth_at(kind, what, sizes, n):
    """As `numbers_of`, also between whole numbers."""
    first, second = math.floor(n), math.ceil(n)
    column = {"operations": 0, "keeps": 3}[what]
    low, high = (numbers_of(kind, **sizes | {"n": at})[column] for at in (first, second))
    if first == second:
        return low
    return low + (high - low) * (n - first)


# ---- who sees whom ----

def taking(kind, k):
    """Which places of the layer below each of nine takes from."""
    i, j = torch.arange(9)[:, None], torch.arange(9)
    return {"convolution": (i - j).abs() <= (k - 1) / 2, "recurrence": j <= i,
            "self-attention": (i - j) ** 2 >= 0}[kind]


def check_stack(host, picture, theme, k, layers):
    kind = host.one("b").text
    check_picture(picture)
    takes = taking(kind, k)
    needed = [{8}]
    for _ in range(layers):
        needed.insert(0, {j for i in needed[0] for j in range(9) if takes[i, j]})
    colour = expected({"convolution": "query", "recurrence": "key",
                       "self-attention": "output"}[kind], theme)
    assert len(picture.rounds) == 9 * (layers + 1)
    places = {}
    for number, disc in enumerate(picture.rounds):
        layer, i = divmod(number, 9)
        places[round(disc.x, 3), round(disc.y, 3)] = layer, i
        states = needed[layer]
        if kind == "recurrence" and layer:
            states = states | needed[layer - 1]
        assert disc.colour == (colour if i in states else expected("faint", theme)), (layer, i)
        assert disc.radius == (8 if (layer, i) == (layers, 8) else 5.5)
        assert disc.x - disc.radius >= 0 and disc.x + disc.radius <= picture.wide
        assert disc.y - disc.radius >= 0 and disc.y + disc.radius <= picture.high
    assert len(places) == 9 * (layers + 1)
    up, across = min(30, 150 / layers), picture.rounds[1].x - picture.rounds[0].x
    assert places == {(14 + i * across, round(14 + up * (layers - layer), 3)): (layer, i)
                      for layer in range(layers + 1) for i in range(9)}
    assert (picture.wide, picture.high) == (28 + 8 * across, 28 + up * layers)
    found = {tuple(places[round(x, 3), round(y, 3)] for x, y in line.points)
             for line in picture.lines}
    if kind == "recurrence":  # up from each input, then along the states
        wanted = {((layer - 1, j), (layer, j)) for layer in range(1, layers + 1)
                  for j in needed[layer - 1]}
        wanted |= {((layer, j - 1), (layer, j)) for layer in range(1, layers + 1)
                   for j in needed[layer - 1] if j}
    else:
        wanted = {((layer - 1, j), (layer, i)) for layer in range(1, layers + 1)
                  for i in needed[layer] for j in range(9) if takes[i, j]}
    assert found == wanted
    assert {(line.colour, line.width) for line in picture.lines} == {
        (colour, 0.7 if kind == "self-attention" else 1.2)}
    reach = torch.linalg.matrix_power(takes.double(), layers) > 0
    counts = reach.sum(1).tolist()
    assert host.one("p").text == (
        f"The last output knows {counts[8]} of 9 inputs, the middle one {counts[4]}. Pairs: "
        f"{sum(counts)} of 81.")
    assert picture.alt == (f"{kind}, {layers} layer{'s' * (layers > 1)}: lines lead from the "
                           "inputs that the last output knows up to it.")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_costs_and_who_sees_whom(tmp_path, theme):
    stages = perform(
        tmp_path, compare_explorer(256, 32, 5, 4), "type('tokens n', 9)", "type('width d', 7)",
        "pick('kernel k', '7')", "pick('heads', '1')", "type('layers, in the picture below', 3)",
        "pick('kernel k', '3')", colours=theme)
    changes = [{}, {"n": 8192}, {"d": 2048}, {"k": 7}, {"num_heads": 1}, {"layers": 4}, {"k": 3}]
    sizes, kinds = {"n": 256, "d": 32, "k": 5, "num_heads": 4, "layers": 1}, [*FORMULAS]
    for stage, change in zip(stages, changes, strict=True):
        sizes |= change
        assert stage.state == sizes
        n, d = sizes["n"], sizes["d"]
        assert stage.chosen() == {
            "tokens n": (str(n.bit_length() - 5), str(n)), "kernel k": [str(sizes["k"])],
            "width d": (str(d.bit_length() - 5), str(d)), "heads": [str(sizes["num_heads"])],
            "layers, in the picture below": (str(sizes["layers"] - 1), str(sizes["layers"]))}
        check_table(stage, kinds, sizes)
        plot, *stacks = stage.pictures
        check_plot(plot, theme, "operations", kinds, sizes, looks(stage, kinds))
        hosts = stage.one(kind="stacks").parts
        assert [host.one("b").text for host in hosts] == [
            "convolution", "recurrence", "self-attention"]
        for host, picture in zip(hosts, stacks, strict=True):
            check_stack(host, picture, theme, sizes["k"], sizes["layers"])
        check_words(stage, kinds, sizes)
    assert stages[0].one(kind="own").all(kind="title")[0].text == (
        "Who sees whom, for nine tokens: what the last output knows, layer by layer")
    assert stages[0].one(kind="scroll").given["aria-label"] == "costs"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_costs_and_what_is_kept(tmp_path, theme):
    stages = perform(
        tmp_path, compare_explorer(512, 128, 3, 4, c=64), "pick('chunk c', '16')",
        "pick('heads', '8')", "type('tokens n', 0)", "type('width d', 8)", "type('tokens n', 12)",
        "pick('heads', '16')", "type('width d', 0)", "type('tokens n', 0)", colours=theme)
    changes = [{}, {"c": 16}, {"num_heads": 8}, {"n": 16}, {"d": 4096}, {"n": 65536},
               {"num_heads": 16}, {"d": 16}, {"n": 16}]
    sizes = {"n": 512, "d": 128, "k": 3, "num_heads": 4, "c": 64}
    for stage, change in zip(stages, changes, strict=True):
        sizes |= change
        assert stage.state == sizes
        check_table(stage, BESIDE, sizes)
        check_words(stage, BESIDE, sizes)
        look = looks(stage, BESIDE)
        for what, picture in zip(("operations", "keeps"), stage.pictures, strict=True):
            check_plot(picture, theme, what, BESIDE, sizes, look)
    assert not stages[0].all(kind="stacks") and stages[0].chosen()["chunk c"] == ["64"]


@pytest.mark.parametrize("c", [None, 64])
def test_plots_fit_any_page(tmp_path, c):
    """On narrow ones some numbers have no room, nor has the chosen n at its line's right."""
    sizes = {"n": 8192, "d": 256, "k": 5, "num_heads": 4} | ({"c": c} if c else {"layers": 1})
    kinds = BESIDE if c else [*FORMULAS]
    pages = [(320, 308, 20), (420, 408, 20), (700, 688, 22), (1099, 760, 29), (1100, 500, 29)]
    explorer = compare_explorer(8192, 256, 5, 4, c=c)
    steps = [f"resize({width})" for width, _, _ in pages]
    stages = perform(tmp_path, explorer, *steps, width=2000)[1:]
    for stage, (width, wide, across) in zip(stages, pages, strict=True):
        look = looks(stage, kinds)
        plots = stage.pictures[:2 if c else 1]
        for what, picture in zip(("operations", "keeps"), plots):
            assert picture.wide == wide <= width
            check_plot(picture, LIGHT, what, kinds, sizes, look)
        for picture in stage.pictures[len(plots):]:
            check_picture(picture, width)
            assert picture.rounds[1].x - picture.rounds[0].x == across
    assert ["8192" in stage.pictures[0].said() for stage in stages] == [False] + 4 * [True]
