"""What the explorer of any model draws, without a browser: each small map, the large one, labels,
outlines, words and the veiled image against the weights that were recorded."""
import pytest
import torch
from stage import (DARK, LIGHT, SIZE, check_map, check_picture, expected, perform,
                   shade, takes)

from attention_lessons.pieces import attention_explorer

TOKENS, KEYS = ["ash", "birch", "cedar"], ["un", "deux", "trois", "quatre", "cinq"]
HEADS = {"encoder.cross": 3, "decoder.cross": 2, "last": 4}


def recorded(queries, keys, counts=HEADS):
    """Weights of a batch of one, to the hundredth, as the piece shows them."""
    torch.manual_seed(7)
    weights = {name: (2 * torch.randn(1, heads, queries, keys)).softmax(-1).mul(100).round() / 100
               for name, heads in counts.items()}
    return weights, {name: [each] for name, each in weights.items()}


def check_grid(grid, heads, layer, head, theme):
    """Where the small maps stand, their frames and numbers. heads: of each layer."""
    side, first, second = grid.maps[0].wide, *grid.maps[:2]
    step = second.x - first.x
    assert step == pytest.approx(side + 3)
    corners = [(20 + j * step, 20 + i * step) for i, each in enumerate(heads) for j in range(each)]
    *faint, frame = grid.frames
    for corner, found, box in zip(corners, grid.maps, faint, strict=True):
        assert found[:4] == pytest.approx((*corner, side, side)) == box[:4]
        assert box[4:6] == (expected("faint", theme), 1)
    assert frame[:4] == pytest.approx((19 + head * step, 19 + layer * step, side + 2, side + 2))
    assert frame[4:6] == (expected("key", theme), 2.5)
    assert (grid.wide, grid.high) == pytest.approx((20 + max(heads) * step, 20 + len(heads) * step))
    apart = 1 if step >= 2 * 0.55 * SIZE + 2 else 2  # numbers of two digits don't touch
    lines = range(0, len(heads), 1 if side >= 12 else 2)
    middle = 20 + side / 2
    wanted = [(8, middle + i * step, str(i)) for i in lines]
    wanted += [(middle + j * step, 9, str(j)) for j in range(0, max(heads), apart)]
    texts = sorted(text[1:3] + text[:1] for text in grid.texts)
    for (x, y, words), text in zip(sorted(wanted), texts, strict=True):
        assert text == (pytest.approx(x), pytest.approx(y), words)
    assert {text.align for text in grid.texts} == {"center"}


def check_large(large, weights, asks, theme):
    """The large map's frames and the canvas about it."""
    big, = large.maps
    check_map(big, weights, theme)
    down = big.high / len(weights)
    whole, row = large.frames
    assert whole[:6] == (*big[:4], expected("query", theme), 1.5)
    assert row[:4] == pytest.approx((big.x, big.y + asks * down, big.wide, max(down, 2)))
    assert row[4:6] == (expected("ink", theme), 2)
    assert (large.wide, large.high) == pytest.approx((big.x + big.wide + 4, big.y + big.high + 4))


def check(stage, theme, weights, tokens, keys, layer, head, asks):
    """The grid, the large map and the line of words for a layer, head and asking token."""
    names = list(weights)
    maps = [each[0] for each in weights.values()]
    chosen = maps[layer][head]
    assert stage.chosen() == {"layer": [names[layer]], "head": [str(head)],
                              "asking token": [tokens[asks]]}
    sentence = (f"{names[layer]}, head {head}: {tokens[asks]} looks at "
                f"{takes(chosen[asks].tolist(), keys)}.")
    assert stage.result == sentence
    grid, large = stage.pictures[:2]
    check_picture(grid, 1000)
    check_picture(large, 1000)
    assert grid.alt == (f"{len(maps)} layers, a row of small maps each, one for each head. "
                        f"{names[layer]}, head {head} is framed.")
    assert large.alt == f"A map of weights: rows ask, columns are asked. {sentence}"

    check_grid(grid, [len(each) for each in maps], layer, head, theme)
    for small, found in zip([small for each in maps for small in each], grid.maps, strict=True):
        check_map(found, small, theme)

    check_large(large, chosen, asks, theme)
    big, = large.maps
    across, down = big.wide / len(keys), big.high / len(tokens)
    above = [text for text in large.texts if text.align == "center"]
    assert [text[:1] + text[2:3] for text in above] == [(key, big.y / 2 - 1) for key in keys]
    assert [text.x for text in above] == pytest.approx(
        [big.x + (i + 0.5) * across for i in range(len(keys))])
    assert large.grid(big.x, big.y - SIZE - 8, across, SIZE + 7, 1, len(keys)) == [keys]
    left = [text for text in large.texts if text.align == "right"]
    assert [text.text for text in left] == tokens
    assert [text.y for text in left] == pytest.approx(
        [big.y + (i + 0.5) * down for i in range(len(tokens))])
    assert {text.x for text in left} == {big.x - 8}
    assert [text.text for text in large.texts if text.bold] == [tokens[asks]]

    line = stage.one(kind="line").parts
    assert [word.text for word in line] == keys
    for i, (word, weight) in enumerate(zip(line, chosen[asks].tolist())):
        found = [int(part) for part in word.style["background"][4:-1].split()]
        assert max(abs(a - b) for a, b in zip(found, shade(weight, theme))) <= 1
        assert word.style["color"] in ("rgb(0 0 0)", "rgb(255 255 255)")
        assert word.classes == (["asks"] if tokens == keys and i == asks else [])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_map_is_what_was_recorded(tmp_path, theme):
    weights, seen = recorded(3, 5)
    stages = perform(tmp_path, attention_explorer(seen, TOKENS, keys=KEYS),
                     "pick('head', '3')", "pick('asking token', 'birch')",
                     "pick('layer', 'decoder.cross')", "pick('layer', 'last')", colours=theme)
    for stage, case in zip(stages, [(0, 0, 2), (0, 2, 2), (0, 2, 1), (1, 1, 1), (2, 3, 1)],
                           strict=True):
        check(stage, theme, weights, TOKENS, KEYS, *case)


def test_clicks_choose_what_lies_under_them(tmp_path):
    weights, seen = recorded(5, 5)
    explorer = attention_explorer(seen, KEYS)
    start, = perform(tmp_path, explorer)
    grid, large = start.pictures[:2]
    first, big = grid.maps[0], large.maps[0]
    step, down = grid.maps[1].x - first.x, big.high / 5

    def grid_click(head, layer, share=0.5):
        x, y = (at + (i + share) * step for at, i in ((first.x, head), (first.y, layer)))
        return f"click(h.canvas(0), {{ offsetX: {x}, offsetY: {y} }})"

    def row_click(row):
        return f"click(h.canvas(1), {{ offsetX: {big.x}, offsetY: {big.y + row * down} }})"

    steps = [(grid_click(3, 2), (2, 3, 4)), (grid_click(0, 2, 0.1), (2, 0, 4)),
             (grid_click(1, 1, 0.9), (1, 1, 4)), (grid_click(2, 1), (1, 1, 4)),  # no such head
             (grid_click(0, 3), (1, 1, 4)), (grid_click(-1, 0), (1, 1, 4)),
             (row_click(1.9), (1, 1, 1)), (row_click(0.1), (1, 1, 0)), (row_click(5.1), (1, 1, 0)),
             (row_click(-0.2), (1, 1, 0)),
             ("click([...h.tagged('div', 0)].findLast((one) => one.textContent === 'trois'))",
              (1, 1, 2)),
             ("click([...h.tagged('div', 0)].findLast((one) => one.textContent === 'un'))",
              (1, 1, 0)),
             ("click([...h.tagged('div', 0)].findLast((one) => one.className === 'line drawn'))",
              (1, 1, 0))]  # beside the words
    stages = perform(tmp_path, explorer, *[step for step, _ in steps])
    for stage, (step, (layer, head, asks)) in zip(stages[1:], steps, strict=True):
        assert (stage.state["layer"], stage.state["head"], stage.state["asks"]) == (
            layer, head, asks), step
        check(stage, LIGHT, weights, KEYS, KEYS, layer, head, asks)


def test_keys_are_no_queries(tmp_path):
    """A click on a word of the keys asks nothing where other words ask."""
    explorer = attention_explorer(recorded(3, 5)[1], TOKENS, keys=KEYS)
    click = "click([...h.tagged('div', 0)].findLast((one) => one.textContent === 'deux'))"
    assert perform(tmp_path, explorer, click)[1].state["asks"] == 2


def test_a_row_without_weights_looks_at_nothing(tmp_path):
    explorer = attention_explorer({"layer": [torch.zeros(1, 2, 3, 5)]}, TOKENS, keys=KEYS)
    assert perform(tmp_path, explorer)[0].result == "layer, head 0: cedar looks at nothing."


def test_equal_tokens_are_numbered(tmp_path):
    explorer = attention_explorer(recorded(3, 3)[1], ["the", "dog", "the"])
    stage = perform(tmp_path, explorer, "pick('asking token', '0: the')")[1]
    assert stage.state["asks"] == 0
    assert stage.all("fieldset")[-1].words(kind="pill") == ["0: the", "1: dog", "2: the"]


@pytest.mark.parametrize("width, queries, heads, layers", [
    (340, 40, 12, 13), (1000, 40, 12, 13), (1000, 40, 4, 18), (340, 140, 24, 3)])
def test_many_tokens_and_heads(tmp_path, width, queries, heads, layers):
    """Names stand where they fit; small maps hold each largest weight of what they shrink."""
    tokens, keys = ([f"{letter}{i}" for i in range(count)]
                    for letter, count in (("q", queries), ("k", 40)))
    weights, seen = recorded(queries, 40, {f"layer {i}": heads for i in range(layers)})
    stages = perform(tmp_path, attention_explorer(seen, tokens, keys=keys),
                     "pick('asking token', 'q4')", "pick('layer', 'layer 1')", width=width)
    for stage, (layer, asks) in zip(stages, [(0, queries - 1), (0, 4), (1, 4)], strict=True):
        grid, large = stage.pictures[:2]
        check_picture(grid, width)
        check_picture(large, width)
        check_grid(grid, [heads] * layers, layer, 0, LIGHT)
        check_large(large, weights[f"layer {layer}"][0, 0], asks, LIGHT)
        big, = large.maps
        triangle, = large.shapes
        y = big.y + (asks + 0.5) * big.high / queries
        assert triangle.points == [(2, pytest.approx(y - 4.5)), (10, pytest.approx(y)),
                                   (2, pytest.approx(y + 4.5))]
        assert triangle.colour == expected("ink") and big.x == 14 and not large.texts
    side = int(grid.maps[0].wide)
    down, across = ([i * count // side for i in range(side + 1)] for count in (queries, 40))
    for found, name in ((grid.maps[0], "layer 0"), (grid.maps[heads], "layer 1")):
        first = weights[name][0, 0]
        check_map(found, torch.stack([torch.stack([
            first[top:bottom, left:right].max() for left, right in zip(across, across[1:])])
            for top, bottom in zip(down, down[1:])]))
    assert stages[0].one(kind="line").words("span") == keys


def wide(words):
    """The widest of words, as stage.mjs measures them."""
    return max(sum(0.3 if letter in "-. ,:;|ilftrj" else 0.55 for letter in word) * SIZE
               for word in words)


def check_room(stage, width, tokens, keys, heads, layers):
    """The small maps have two fifths of a wide page, the image its part of a wider one, the large
    map the rest; names and titles stand where they have room."""
    grid, large = stage.pictures[:2]
    beside, small, big = width >= 560, grid.maps[0], large.maps[0]
    share = 0.4 * width if beside else width - 8
    side = max(6, min(76, (share - 20) / heads - 3, max(12, 244 / layers - 3)))
    assert small.wide == pytest.approx(side)
    rest = width - 8
    if beside:
        third = [picture.wide + 26 for picture in stage.pictures[2:] if width >= 860]
        rest = width - grid.wide - 48 - sum(third)
    named = 264 / len(tokens) >= SIZE
    assert big.x == pytest.approx(min(1.1 * wide(tokens), 0.35 * rest) + 14 if named else 14)
    assert named == bool(large.texts and large.texts[0].align == "right") == (not large.shapes)
    room = min(64, (rest - big.x - 4) / len(keys))
    titled = wide(keys) + 6 <= room
    assert titled == ("center" in {text.align for text in large.texts})
    assert big.y == (SIZE + 8 if titled else 4)
    down = min(room, (264 - big.y) / len(tokens))
    across = room if titled else min(room, 2 * down)
    assert (big.wide, big.high) == pytest.approx((across * len(keys), down * len(tokens)))
    for picture in stage.pictures:
        check_picture(picture, width)
    if beside:  # with 6 about the page, and 24 between them
        assert grid.wide + 24 + large.wide + 24 * len(third) + sum(
            picture.wide for picture in stage.pictures[2:] if third) <= width - 12


@pytest.mark.parametrize("queries, keys, heads, layers, image", [
    (3, 5, 2, 2, None), (18, 4, 5, 7, None), (19, 30, 12, 3, None), (6, 6, 3, 2, (2, 3)),
    (25, 25, 4, 9, (4, 6)), (12, 12, 4, 3, (4, 3))])
def test_the_pictures_share_the_page(tmp_path, queries, keys, heads, layers, image):
    _, seen = recorded(queries, keys, {f"layer {i}": heads for i in range(layers)})
    torch.manual_seed(7)
    picture = torch.rand(3, *(5 * side for side in image)) if image else None
    tokens, names = ([f"{word} {i}" for i in range(count)]
                     for word, count in (("asks much", queries), ("key", keys)))
    explorer = attention_explorer(seen, tokens, keys=None if image else names, image=picture)
    if image:
        tokens = names = explorer.data["tokens"]
    widths = [330, 559, 560, 859, 860, 1100]
    stages = perform(tmp_path, explorer, *[f"resize({width})" for width in widths])[1:]
    for stage, width in zip(stages, widths, strict=True):
        check_room(stage, width, tokens, names, heads, layers)


def test_an_image_is_veiled_where_nobody_looks(tmp_path):
    """12 patches in 3 rows of 4, and a class token."""
    weights, seen = recorded(13, 13, {"layer": 3})
    torch.manual_seed(7)
    image = torch.rand(3, 6, 8)
    image[0, 0, 0], image[0, 0, 1] = 0, 1
    explorer = attention_explorer(seen, image=image)
    stages = perform(tmp_path, explorer, "pick('asking token', 'row 2 column 3')",
                     "pick('asking token', 'row 1 column 1')", "pick('asking token', 'class')",
                     "pick('head', '2')")
    names = ["class"] + [f"row {i} column {j}" for i in (1, 2, 3) for j in (1, 2, 3, 4)]
    for stage, (head, asks) in zip(stages, [(0, 12), (0, 7), (0, 1), (0, 0), (2, 0)], strict=True):
        assert len(stage.pictures) == 3
        seen_image = stage.pictures[2]
        check_picture(seen_image, 1000)
        assert seen_image.alt == f"The image, bright where {names[asks]} looks."
        picture, = seen_image.maps
        wanted = image.mul(255).round().permute(1, 2, 0)
        assert (picture.pixels[..., :3] - wanted).abs().max() <= 1 and picture.smooth
        assert (picture.pixels[..., 3] == 255).all()
        cell = picture.wide / 4
        assert picture.high == pytest.approx(3 * cell)
        row = weights["layer"][0, head, asks]
        for patch, veil in enumerate(seen_image.blocks):
            assert veil.colour == expected("paper")
            assert veil[:4] == pytest.approx((picture.x + patch % 4 * cell,
                                              picture.y + patch // 4 * cell, cell, cell))
            assert veil.alpha == pytest.approx(0.85 * (1 - float(row[patch + 1] / row.max())))
        assert len(seen_image.blocks) == 12
        if asks == 0:
            assert not seen_image.frames
        else:
            frame, = seen_image.frames
            assert frame[:4] == pytest.approx((picture.x + (asks - 1) % 4 * cell,
                                               picture.y + (asks - 1) // 4 * cell, cell, cell))
            assert frame.colour == expected("key") and frame.alpha == 1
        assert stage.one(kind="line").parts == []
