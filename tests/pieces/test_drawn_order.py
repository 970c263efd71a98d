"""What the explorer of 03 shows, without a browser: the words' places, each weight, output, verdict
and key, against the package's attention."""
import pytest
import torch
from stage import DARK, LIGHT, digits, numbers, perform, shade
from torch import nn

import d2l_ext
from d2l_ext import MultiHeadAttention
from attention_lessons.pieces import order_explorer

TOKENS, FEATURES = ["ash", "birch", "cedar", "elm"], ["leaf", "bark", "root"]
START = [2, 1, 0, 3]


def layer():
    """Three features, of which five numbers are made."""
    torch.manual_seed(11)
    attention = MultiHeadAttention(5, 1)
    for name, shape in {"W_q": (3, 5), "W_k": (3, 5), "W_v": (3, 5), "W_o": (5, 3)}.items():
        linear = nn.Linear(*shape, bias=False)
        linear.weight.data = torch.randn(linear.weight.shape)
        setattr(attention, name, linear)
    return attention, torch.randn(4, 3)


def computed(order, causal=False, padding=False, layers=1):
    """Weights and outputs for an order of words, and the places that each may attend to."""
    attention, X = layer()
    mask = d2l_ext.padding(torch.tensor([3 if padding else 4]))
    mask = d2l_ext.causal() & mask if causal else mask
    rows = X[order][None]
    with torch.no_grad():
        for _ in range(layers):
            rows, weights = attention(*[rows] * 3, mask=mask, need_weights=True)
    may = [[(not causal or j <= i) and (not padding or j < 3) for j in range(4)]
           for i in range(4)]
    return weights[0, 0], rows[0], may


def check(stage, theme, order, causal=False, padding=False, layers=1):
    assert stage.state == {"order": "".join(map(str, order)), "causal": causal,
                           "padding": padding, "layers": layers}
    weights, output, may = computed(order, causal, padding, layers)
    before = computed([0, 1, 2, 3], causal, padding, layers)[1][order]
    words = [TOKENS[token] for token in order]
    chips = stage.all("button", "chip")
    assert [chip.text for chip in chips] == words
    assert [chip.given["aria-label"] for chip in chips] == [
        f"{word}, place {place} of 4" for place, word in enumerate(words, 1)]
    shown = {part.given["aria-label"]: part.told["checked"] for part in stage.all("input")
             if part.given["type"] == "checkbox"}
    assert shown == {"causal": causal, "padding, length 3": padding}
    assert stage.chosen() == {"masks": [word for word, on in shown.items() if on],
                              "layers": [str(layers)]}
    groups, heads = stage.one("thead").all("tr")
    weighed = "weights" if layers == 1 else "weights in layer 2"
    assert [(cell.text, cell.given.get("colspan")) for cell in groups.parts] == [
        ("", None), (weighed, "4"), ("", None), ("output", "3"), ("", None)]
    assert [cell.text for cell in heads.parts] == [
        "", *words, "", *FEATURES, f"compared with {' '.join(TOKENS)}"]
    assert heads.parts[-1].classes == ["verdict"]
    same = []
    for i, row in enumerate(stage.one("tbody").parts):
        cells = row.parts
        assert (cells[0].text, cells[0].given["scope"]) == (words[i], "row")
        for j, cell in enumerate(cells[1:5]):
            if may[i][j]:
                assert cell.text == digits(weights[i, j].item())
                paint, ink = cell.given["style"].split("; ")
                near = shade(weights[i, j].item(), theme)
                assert max(abs(a - b) for a, b in zip(numbers(paint), near)) <= 1
                assert ink in ("color: rgb(0 0 0)", "color: rgb(255 255 255)")
                assert cell.classes == ["weight", "drawn"]
            else:
                assert (cell.text, cell.given["title"]) == ("–", "hidden")
                assert cell.classes == ["weight", "hidden"]
        assert cells[5].classes == ["gap"]
        for cell, value in zip(cells[6:9], output[i].tolist()):
            assert cell.text == digits(value) and cell.classes == ["output"]
            assert numbers(cell.given["style"]) == shade(0.2, theme, "output")
        same.append(torch.allclose(output[i], before[i], atol=1e-5))
        there = "  ".join(map(digits, before[i].tolist()))
        assert cells[9].text == ("= the same" if same[i] else f"≠ there {there}")
        assert cells[9].classes == (["verdict"] if same[i] else ["verdict", "changed"])
        assert len(cells) == 10
    moved = [word for word, kept in zip(words, same) if not kept]
    if order != [0, 1, 2, 3]:
        assert ("every output has changed" if len(moved) == 4 else
                "every word's output is the same" if not moved else
                f"{moved[-1]} has changed") in stage.result


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_each_cell_is_the_packages(tmp_path, theme):
    attention, X = layer()
    explorer = order_explorer(attention, X, TOKENS, FEATURES, 3)
    stages = perform(tmp_path, explorer, "tick('causal')", "key('elm', 'Home')",
                     "tick('padding, length 3')", "pick('layers', '2')", "tick('causal')",
                     "pick('layers', '1')", "tick('padding, length 3')", colours=theme)
    moved = [3, 2, 1, 0]
    cases = [(START,), (START, True), (moved, True), (moved, True, True), (moved, True, True, 2),
             (moved, False, True, 2), (moved, False, True), (moved,)]
    for stage, case in zip(stages, cases, strict=True):
        check(stage, theme, *case)
    chips = stages[0].one(kind="chips")
    assert (chips.given["role"], chips.given["aria-label"]) == ("group", "the words in their order")
    assert stages[0].one("small").text == "drag a word, or choose it and press ← or →"


def test_keys_move_a_word_one_place_and_to_the_ends(tmp_path):
    attention, X = layer()
    explorer = order_explorer(attention, X, TOKENS, FEATURES, 3)
    moves = [("'birch', 'ArrowRight'", [2, 0, 1, 3]), ("'birch', 'ArrowRight'", [2, 0, 3, 1]),
             ("'birch', 'ArrowRight'", [2, 0, 3, 1]), ("'birch', 'ArrowLeft'", [2, 0, 1, 3]),
             ("'cedar', 'ArrowLeft'", [2, 0, 1, 3]), ("'elm', 'Home'", [3, 2, 0, 1]),
             ("'elm', 'Home'", [3, 2, 0, 1]),
             ("'cedar', 'End'", [3, 0, 1, 2]), ("'elm', 'a'", [3, 0, 1, 2]),
             *((f"'ash', 'Home', {{ {key}: true }}", [3, 0, 1, 2])
               for key in ("altKey", "ctrlKey", "metaKey"))]
    stages = perform(tmp_path, explorer, *[f"key({move}, h.focus({move.split(',')[0]}))"
                                           if move.count(",") == 1 else f"key({move})"
                                           for move, _ in moves])
    before, saved = START, 0
    for stage, (move, order) in zip(stages[1:], moves, strict=True):
        check(stage, LIGHT, order)
        saved += order != before
        assert stage.saved == saved, move  # the kernel hears of what has changed alone
        before = order
        ours = move.count(",") == 1 and "'a'" not in move
        assert (stage.prevented, stage.stopped) == (ours, ours), move  # the page keeps its keys
        if ours:
            assert stage.one(kind="chips").all("button")[
                order.index(TOKENS.index(move.split("'")[1]))].told["focused"]


def over(x, y=35):
    return f"send('pointermove', {{ clientX: {x}, clientY: {y} }})"


def drag(folder, steps, **settings):
    """steps: each with the order after it, and whether a word is held."""
    explorer = order_explorer(*layer(), TOKENS, FEATURES, 3)
    stages = perform(folder, explorer, *[step for step, _, _ in steps], **settings)
    for stage, (step, order, held) in zip(stages[1:], steps, strict=True):
        assert stage.state["order"] == "".join(map(str, order)), step
        assert [chip.text for chip in stage.all("button", "chip")] == [TOKENS[i] for i in order]
        assert bool(stage.all(kind="held")) == held, step


def test_dragging(tmp_path):
    """A word takes the place of one that the pointer lies on, once it fits there."""
    one, two, three = [2, 1, 3, 0], [2, 3, 1, 0], [3, 1, 2, 0]
    four, five = [3, 1, 0, 2], [1, 3, 0, 2]
    drag(tmp_path, [  # cedar reaches from 0 to 80, birch to 160, ash to 220, elm to 280
        ("point('elm')", START, True), (over(230), START, True), (over(160), one, True),
        (over(140), one, True),  # not far enough
        (over(139, 65), one, True), (over(139, 5), one, True),  # below and above
        (over(139, 64), two, True), ("send('pointerup')", two, False), (over(10), two, False),
        ("point('cedar', { button: 2 })", two, False), (over(250), two, False),
        ("point('cedar')", two, True),  # elm now reaches from 80 to 140, birch to 220
        (over(140), three, True), ("send('pointercancel')", three, False),
        ("point('ash')", three, True),  # elm reaches from 0 to 60, birch to 140, cedar to 220
        (over(140), four, True), ("send('pointerup')", four, False), ("point('elm')", four, True),
        (over(79), four, True), (over(80), five, True), ("send('blur')", five, False),
        (over(2), five, False),
    ])


def test_dragging_to_another_line(tmp_path):
    """There is no width to wait for: the pointer alone decides."""
    up, down = [2, 3, 1, 0], [2, 1, 3, 0]
    drag(tmp_path, [  # cedar and birch, below them ash and elm
        ("point('elm')", START, True), (over(159, 35), up, True),
        ("send('pointerup')", up, False),  # cedar and elm, below them birch and ash
        ("point('elm')", up, True), (over(1, 75), down, True),
    ], width=170)
