"""What the explorer of 02 draws, without a browser: each map, table, label, outline and word
against the package's attention, with sizes that all differ."""
import pytest
import torch
from stage import (DARK, LIGHT, SIZE, check_map, check_picture, digits, expected, perform,
                   shade, takes)
from torch import nn

from d2l_ext import MultiHeadAttention, dot_product_attention, merge_heads, split_heads
from attention_lessons.pieces import heads_explorer

TOKENS = ["ash", "birch", "cedar", "elm"]
FEATURES = ["leaf", "bark", "root", "seed", "twig"]
ASKS = 2


def wooden(hiddens=6, outputs=3, heads=2, tokens=TOKENS, **matrices):
    """Attention over 5 features, whose widths all differ."""
    attention = MultiHeadAttention(hiddens, heads)
    torch.manual_seed(3)
    for name, shape in {"W_q": (5, hiddens), "W_k": (5, hiddens), "W_v": (5, hiddens),
                        "W_o": (hiddens, outputs)}.items():
        linear = nn.Linear(*shape, bias=False)
        linear.weight.data = matrices.get(name, torch.randn(linear.weight.shape)).float()
        setattr(attention, name, linear)
    X = torch.randn(len(tokens), 5)
    return attention, X, heads_explorer(attention, X, tokens, FEATURES)


def computed(attention, X, heads, factor=1.0):
    """Each head's weights, all channels of the values, their mixtures, the outputs."""
    with torch.no_grad():
        Q, K, V = (split_heads(W(X)[None], heads)
                   for W in (attention.W_q, attention.W_k, attention.W_v))
        mixed, weights = dot_product_attention(factor * Q, K, V)
        mixed = merge_heads(mixed)[0]
        return weights[0], attention.W_v(X), mixed, attention.W_o(mixed)


def card(stage, head):
    return stage.one(kind="heads").parts[head]


def check_head(stage, theme, attention, X, heads, head, asks, factor=1.0):
    weights, values, mixtures, _ = computed(attention, X, heads, factor)
    size = mixtures.shape[1] // heads
    own = slice(head * size, (head + 1) * size)
    picture = stage.pictures[head]
    check_picture(picture, 1000)
    big, = picture.maps
    across, down = big.wide / 4, big.high / 4
    check_map(big, weights[head], theme)
    numbers = [[digits(weight) for weight in row] for row in weights[head].tolist()]
    assert picture.grid(big.x, big.y, across, down, 4, 4) == numbers
    assert picture.grid(big.x, big.y - SIZE - 10, across, SIZE + 10 - 1, 1, 4) == [TOKENS]

    whole, row, value, output = picture.frames
    assert whole[:5] == (big.x, big.y, big.wide, big.high, expected("query", theme))
    assert row[:5] == (big.x, big.y + asks * down, big.wide, down, expected("ink", theme))
    channels = mixtures[asks, own]
    names = [f"channel {i}" for i in range(own.start, own.stop)]
    assert value[0] == big.x and value[2] == big.wide and value[3] == size * down
    assert value[1] > big.y + big.high and output[1] == value[1] and output[3] == value[3]
    assert output[0] > value[0] + value[2]
    table = picture.grid(*value[:2], across, down, size, 4)
    assert table == [[digits(v) for v in row] for row in values[:, own].T.tolist()]
    assert picture.grid(*output[:2], output[2], down, size, 1) == [
        [digits(v)] for v in channels.tolist()]
    for frame, role in ((value, "value"), (output, "output")):
        assert frame.colour == expected(role, theme)
        tint = next(block for block in picture.blocks if block[:4] == frame[:4])
        assert tint.colour == shade(0.2, theme, role)

    left = [text for text in picture.texts if text.align == "right"]
    middle = [*(big.y + (i + 0.5) * down for i in range(4)),
              *(value.y + (i + 0.5) * down for i in range(size))]
    assert [text.text for text in left if text.text[0] not in "w×"] == TOKENS + names
    assert [text.y for text in left if text.text[0] not in "w×"] == pytest.approx(middle)
    assert {text.x for text in left} == {big.x - 8}
    assert [text.text for text in picture.texts if text.bold] == [TOKENS[asks]]
    assert big.y - SIZE - 10 <= picture.text("weights").y < big.y
    for text, frame in (("× values", value), ("= output", output)):
        assert big.y + big.high < picture.text(text).y < frame.y
    assert picture.text("= output").x == output.x
    said = takes(weights[head, asks].tolist(), TOKENS)
    fills = (f"channel {own.start}" if size == 1 else f"channels {own.start} "
             f"{'and' if size == 2 else 'to'} {own.stop - 1}")
    assert card(stage, head).words("p")[-1] == f"takes {said} → {fills}"
    assert picture.alt == (f"Head {head + 1}, a map of weights: rows ask, columns are asked. "
                           f"{TOKENS[asks]} takes {said}. It fills {fills}: "
                           f"{', '.join(digits(v) for v in channels.tolist())}.")
    assert card(stage, head).one("b").text == f"head {head + 1}"


def outputs(stage):
    """The lines of output cells: their title, then their cells by groups."""
    return [[line.parts[0].text, *[[cell.text for cell in group.all(kind="cell")]
                                   for group in line.all(kind="group")]]
            for line in stage.all(kind="line")]


def cells(row, start=0):
    return [f"channel {i} {digits(value)}" for i, value in enumerate(row.tolist(), start)]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_head_is_drawn_as_the_package_computes_it(tmp_path, theme):
    attention, X, explorer = wooden()
    start, three, sharp, other = perform(
        tmp_path, explorer, "pick('heads', '3')", "type('inverse temperature', 1.7)",
        "pick('asking token', 'birch')", colours=theme)
    asks = explorer.state["asks"]
    cases = ((start, 2, asks, 1), (three, 3, asks, 1), (sharp, 3, asks, 1.7), (other, 3, 1, 1.7))
    for stage, heads, asks, factor in cases:
        assert stage.state == {"num_heads": heads, "asks": asks, "inverse_temperature": factor}
        assert stage.chosen() == {"heads": [str(heads)], "asking token": [TOKENS[asks]],
                                  "inverse temperature": (str(factor), f"× {factor:.1f}")}
        assert len(stage.pictures) == heads
        for head in range(heads):
            check_head(stage, theme, attention, X, heads, head, asks, factor)
        _, _, mixtures, output = computed(attention, X, heads, factor)
        size = 6 // heads
        groups = [[f"head {i // size + 1}", *cells(mixtures[asks])[i:i + size]]
                  for i in range(0, 6, size)]
        found = outputs(stage)
        assert found[0][0] == "side by side" and len(found) == 2
        lines = stage.all(kind="line")
        said = [[part if isinstance(part, str) else part.text for part in group.parts]
                for group in lines[0].all(kind="group")]
        assert said == groups
        assert found[1] == [f"output of {TOKENS[asks]}", cells(output[asks])]
        assert lines[1].text == "".join([found[1][0], *found[1][1]])
        cut = stage.one(kind="body").parts[0].text
        assert cut == (f"The same four matrices, cut into {heads} heads of {size} "
                       f"channel{'s' * (size > 1)}.")
        assert stage.result.endswith(f"Output: {', '.join(map(digits, output[asks].tolist()))}.")


def test_one_head_is_uncut(tmp_path):
    attention, X, explorer = wooden()
    stage = perform(tmp_path, explorer, "pick('heads', '1')")[1]
    check_head(stage, LIGHT, attention, X, 1, 0, explorer.state["asks"])
    assert "The same four matrices, uncut: 1 head of 6 channels." in stage.text
    assert stage.one(kind="heads").style["gridTemplateColumns"] == "repeat(1, fit-content(100%))"
    assert card(stage, 0).style["width"] == ""


def test_a_click_chooses_the_row_under_it(tmp_path):
    _, _, explorer = wooden()
    start, = perform(tmp_path, explorer)
    top, down = start.pictures[0].maps[0].y, start.pictures[0].maps[0].high / 4
    places = [(top + share * down, asks) for share, asks in
              ((0.1, 0), (0.9, 0), (1.1, 1), (3.9, 3), (4.1, 3), (-0.1, 3))]
    clicks = [f"click(h.canvas(1), {{ offsetY: {y} }})" for y, _ in places]
    stages = perform(tmp_path, explorer, *clicks, f"click(h.tagged('b', 1), {{ offsetY: {top} }})",
                     brief=True)
    assert [stage.state["asks"] for stage in stages[1:]] == [asks for _, asks in places] + [3]


def test_what_a_head_wants_and_what_its_channels_carry(tmp_path):
    """Each feature goes to one channel; queries ask for a feature."""
    W_v = torch.zeros(6, 5)
    for channel, (feature, part) in enumerate(((1, 1), (0, 1), (3, 2), (4, 1), (2, 1))):
        W_v[channel, feature] = part
    W_k = torch.zeros(6, 5)
    W_k[1, 2] = W_k[4, 3] = W_k[5, 0] = 1
    W_q = torch.ones(6, 5)
    attention, X, explorer = wooden(W_v=W_v, W_k=W_k, W_q=W_q, W_o=torch.eye(6), outputs=6,
                                    heads=2)
    X.abs_()
    explorer = heads_explorer(attention, X, TOKENS, FEATURES)
    stage, = perform(tmp_path, explorer)
    assert [card(stage, head).words("p")[0] for head in (0, 1)] == [
        "head 1 asks for root", "head 2 asks for leaf and seed"]
    names = ["bark", "leaf", "2.00 seed", "twig", "root", "unused"]
    mixtures = computed(attention, X, 2)[2][explorer.state["asks"]]
    wanted = [f"channel {i}{name if name != 'unused' else ''} {digits(value)}" for i, (name, value)
              in enumerate(zip(names, mixtures.tolist()))]
    (title, *groups), = outputs(stage)  # W_o changes nothing: one line
    assert (title, groups) == (f"output of {TOKENS[explorer.state['asks']]}",
                               [wanted[:3], wanted[3:]])
    for head, picture in enumerate(stage.pictures):
        beside = [text.text for text in picture.texts if text.align == "right"]
        assert beside[-3:] == names[3 * head:3 * head + 3]


def test_whole_numbers_are_written_whole(tmp_path):
    W_v = torch.arange(30.).reshape(6, 5) - 11
    attention, _, _ = wooden(W_v=W_v)
    X = torch.tensor([[1., 0, 2, 0, 0], [0, 1, 0, 3, 0], [0, 0, 1, 0, 1], [2, 0, 0, 0, 1]])
    stage, = perform(tmp_path, heads_explorer(attention, X, TOKENS, FEATURES))
    picture = stage.pictures[1]
    value = picture.frames[2]
    table = picture.grid(*value[:2], value.wide / 4, value.high / 3, 3, 4)
    assert table == [[str(int(v)) for v in row] for row in (X @ W_v.T).T[3:].tolist()]


MANY = [f"word {i}" for i in range(11)]


@pytest.mark.parametrize("width", [330, 700, 1300])
def test_many_tokens_have_a_map_alone(tmp_path, width):
    attention, X, explorer = wooden(18, 17, 9, MANY)
    stages = perform(tmp_path, explorer, "pick('asking token', 'word 4')", width=width)
    for asks, stage in ((explorer.state["asks"], stages[0]), (4, stages[1])):
        weights, _, mixtures, output = computed(attention, X, 9)
        columns = int(stage.one(kind="heads").style["gridTemplateColumns"].split(",")[0][7:])
        assert columns == {330: 3, 700: 6, 1300: 8}[width]
        for head, picture in enumerate(stage.pictures):
            check_picture(picture, width / columns)
            big, = picture.maps
            check_map(big, weights[head])
            assert big.wide == big.high <= 24 * 11
            whole, row = picture.frames
            assert whole[:5] == (*big[:4], expected("query"))
            cell = big.high / 11
            assert row.colour == expected("ink")
            assert row[:4] == pytest.approx((big.x, big.y + asks * cell - 1, big.wide, cell + 2))
            triangle, = picture.shapes
            assert triangle.colour == expected("ink")
            (x0, y0), (x1, y1), (x2, y2) = triangle.points
            assert x0 == x2 < x1 <= big.x and y1 == pytest.approx(big.y + (asks + 0.5) * cell)
            assert y0 < y1 < y2 and not picture.texts
            most = takes(weights[head, asks].tolist(), MANY, 1)
            assert card(stage, head).words("p")[-1] == f"takes {most}"
            assert picture.alt.endswith(", ".join(
                map(digits, mixtures[asks, 2 * head:2 * head + 2].tolist())) + ".")
            width_of_card = float(card(stage, head).style["width"][:-2])
            assert picture.wide == width_of_card
        (title, shown), = outputs(stage)  # 18 channels: too many for a line side by side
        assert (title, shown) == (f"output of {MANY[asks]}", cells(output[asks])[:16])
        assert stage.all(kind="group")[0].text.endswith("…")
        assert "Output" not in stage.result and "and so on" in stage.result


@pytest.mark.parametrize("width, tokens, columns, figures", [
    (280, 4, 2, False), (300, 4, 1, True), (320, 4, 1, True), (600, 4, 1, True), (630, 4, 1, True),
    (650, 4, 2, True), (720, 4, 2, True), (1300, 4, 2, True), (1300, 2, 4, True),
])
def test_heads_stand_side_by_side_where_their_figures_fit(tmp_path, width, tokens, columns,
                                                          figures):
    explorer = wooden(8, 3, 4, TOKENS[:tokens])[2]
    stage, = perform(tmp_path, explorer, width=width)
    grid = stage.one(kind="heads").style["gridTemplateColumns"]
    assert grid == f"repeat({columns}, fit-content(100%))"
    wide, = {picture.wide for picture in stage.pictures}
    assert columns * (wide + 20) - 20 <= width - 12
    for picture in stage.pictures:
        check_picture(picture)
        assert bool(picture.texts) == figures


def test_figures_fit_where_a_number_is_long(tmp_path):
    """In the first channel alone."""
    W_v = torch.tensor([100., 1, 1, 1, 1, 1])[:, None] * torch.randn(6, 5)
    attention, X, explorer = wooden(W_v=W_v)
    for width, fits in ((300, False), (360, True)):
        stage, = perform(tmp_path, explorer, width=width)
        assert bool(stage.pictures[0].texts) == fits
    for head in range(2):
        check_head(stage, LIGHT, attention, X, 2, head, explorer.state["asks"])


def test_figures_fit_where_the_weights_are_longer_than_the_values(tmp_path):
    W_v = torch.eye(6)[:, :5]
    X = torch.tensor([[1., 0, 2, 0, 0], [0, 1, 0, 3, 0], [0, 0, 1, 0, 1], [2, 0, 0, 0, 1]])
    widths = range(240, 321, 5)
    stages = perform(tmp_path, heads_explorer(wooden(W_v=W_v)[0], X, TOKENS, FEATURES),
                     *[f"resize({width})" for width in widths])
    drawn = [bool(stage.pictures[0].texts) for stage in stages[1:]]
    assert drawn == sorted(drawn) and drawn[0] < drawn[-1]  # from a width on
    for stage in stages[1:]:
        big = stage.pictures[0].maps[0]
        stage.pictures[0].grid(*big[:2], big.wide / 4, big.high / 4, 4, 4)  # each fits its cell


def test_two_maps_without_figures_stand_two_in_a_row(tmp_path):
    stage, = perform(tmp_path, wooden(6, 3, 2, MANY)[2], width=1300)
    assert stage.one(kind="heads").style["gridTemplateColumns"] == "repeat(2, fit-content(100%))"


def test_a_narrow_identity_leaves_something_out(tmp_path):
    """Six channels, of which W_o keeps three: the output is not what the heads mixed."""
    attention, X, explorer = wooden(W_o=torch.eye(6)[:3])
    stage, = perform(tmp_path, explorer)
    asks = explorer.state["asks"]
    assert [line[0] for line in outputs(stage)] == ["side by side", f"output of {TOKENS[asks]}"]
    assert outputs(stage)[1][1] == cells(computed(attention, X, 2)[3][asks])


def test_the_longest_token_is_whole_in_bold_too(tmp_path):
    """Longer than all that stands below it; bold is wider."""
    tokens = ["ash", "oak", "wild service"]
    stage, = perform(tmp_path, wooden(tokens=tokens)[2])
    bold = [text for text in stage.pictures[0].texts if text.bold]
    assert [(text.text, text.box[0] >= 0) for text in bold] == [("wild service", True)]
