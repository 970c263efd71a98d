"""The explorer of 03: its numbers are the package's, its settings are checked, its still picture agrees, and in a browser keys and dragging do the same."""
import itertools

import pytest
import torch
from javascript import compute, furthest
from pieces import FEATURES, ORDER, PADDED, TOKENS, layer
from pieces import order as sentence
from screen import result, show

import d2l_ext
from d2l_ext.explorers import source
from d2l_ext.plotting import Picture

WORDS = [*TOKENS, "pad"]


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

def test_the_words_hold_the_numbers():
    output = layer(ORDER)(*[PADDED[None]] * 3)[0]
    for word, row in zip(WORDS, output.tolist()):
        assert f"{word} {', '.join(f'{value:.2f}' for value in row)}" in repr(sentence())


def test_the_still_picture_shows_the_default_state():
    assert sentence().numbers in Picture("03_explorer").alt and '<img class="d2l-still"' in sentence().html()
    assert '<p class="d2l-still">' in sentence(valid_len=2).html()  # another state: words, not a wrong picture


def test_settings_are_checked():
    explorer = sentence()
    assert explorer.state == {"order": "2103", "causal": False, "padding": False, "layers": 1}
    explorer.set(order="pad dog bites man", causal=True, layers=2)
    assert explorer.state == {"order": "3012", "causal": True, "padding": False, "layers": 2}
    explorer.state = sentence().state
    assert explorer.state["order"] == "2103"
    for wrong in ({"order": "dog dog man pad"}, {"order": [2, 1, 0, 3]}, {"causal": "yes"}, {"layers": 3}, {"mask": True}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explorer.set(**wrong)
    assert explorer.state["order"] == "2103"


@pytest.mark.parametrize("change, words", [
    ({"attention": layer(ORDER, num_heads=2)}, "num_heads=2"), ({"attention": layer(ORDER, bias=True)}, "bias=True"), ({"tokens": WORDS[:3]}, "3 tokens|dog"),
    ({"tokens": ["dog", "dog", "man", "pad"]}, "all different"), ({"features": FEATURES[:2]}, "2 features"), ({"valid_len": 0}, "valid_len=0"), ({"valid_len": 5}, "valid_len=5"),
    ({"X": PADDED * float("nan")}, "finite"), ({"X": PADDED.double() * 1e160}, "size up to"),
    ({"X": PADDED[:, :3], "features": FEATURES[:3]}, "width 3"),
    ({"X": torch.zeros(6, 4), "tokens": list("abcdef")}, "2 to 5")], ids=str)
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        sentence(**change)


# ---- the mathematics in JavaScript ------------------------------------------------------------------------------------------------------

def said(folder, text):
    """How far two orders' outputs and the weights in JavaScript are from the package's, over masks and layers; infinite where the verdicts differ."""
    worst = 0
    for causal, padding, layers in itertools.product((False, True), (False, True), (1, 2)):
        attention, x, places = d2l_ext.MultiHeadAttention(6, 1).double(), torch.randn(5, 6).double(), torch.tensor([3, 0, 4, 1, 2])
        mask = (d2l_ext.causal() if causal else d2l_ext.window(5)) & d2l_ext.padding(torch.tensor([3 if padding else 5]))
        outputs = []
        for rows in (x[places], x):
            for _ in range(layers):
                rows, weights = (part[0].detach() for part in attention(*[rows[None]] * 3, mask=mask, need_weights=True))
            outputs.append((rows, weights[0]))
        matrices = {name: getattr(attention, name).weight.tolist() for name in ("W_q", "W_k", "W_v", "W_o")}
        given = [{"X": x.tolist(), "validLen": 3} | matrices, {"order": places.tolist(), "causal": causal, "padding": padding, "layers": layers}]
        found = compute(folder, text, "piece.say(...given)", given)
        (output, weights), before = outputs[0], outputs[1][0][places]
        worst = max(worst, furthest(found, {"output": output, "weights": weights, "before": before}))
        if found["same"] != torch.isclose(output, before, rtol=0, atol=1e-6).all(1).tolist():
            return torch.inf
    return worst


def test_javascript_agrees_with_the_package(tmp_path):
    assert said(tmp_path, source("order")) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("causal && key > query", "causal && key >= query + 2"),  # one later word is seen
    ("padding && key >= validLen", "padding && key > validLen"),
    ("padding && key >= validLen", "padding && query >= validLen"),  # queries hidden for keys
    ("times(Q, K)", "transpose(times(Q, K))"),
    ("Math.sqrt(W_q.length)", "W_q.length"),
    ("transpose(V)), W_o)", "transpose(V)), transpose(W_o))"),
    ("order.map((token) => first[token])", "first"),  # compared by place, not by word
    ("layer < layers", "layer < 1"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    text = source("order")
    assert text.count(right) == 1
    assert said(tmp_path, text.replace(right, wrong)) > 1e-3


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    yield show(page, sentence())
    assert page.errors == []


def order(piece):
    result(piece)
    return " ".join(piece.locator(".chip").all_inner_texts())


def drag(piece, word, to):
    start, end = (piece.locator(".chip", has_text=name).bounding_box() for name in (word, to))
    mouse = piece.page.mouse
    mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    mouse.down()
    mouse.move(end["x"] + (4 if end["x"] < start["x"] else end["width"] - 4), end["y"] + end["height"] / 2, steps=25)
    mouse.up()


def test_it_opens_with_the_default_state(piece):
    assert order(piece) == "man bites dog pad" and piece.locator(".d2l-still").is_hidden()
    assert result(piece) == "1 layer, nothing hidden: another order, and every word's output is the same."
    assert piece.locator("tbody tr").first.inner_text().split("\t")[:5] == ["man", "0.02", "0.48", "0.02", "0.48"]


def test_arrow_keys_move_a_word_and_it_keeps_the_focus(piece):
    piece.locator(".chip", has_text="dog").focus()
    for key, wanted in (("ArrowLeft", "man dog bites pad"), ("ArrowLeft", "dog man bites pad"), ("ArrowLeft", "dog man bites pad"), ("End", "man bites pad dog"),
                        ("ArrowRight", "man bites pad dog"), ("Home", "dog man bites pad"), ("ArrowRight", "man dog bites pad")):
        piece.page.keyboard.press(key)
        assert order(piece) == wanted
        assert piece.page.evaluate("document.activeElement.textContent") == "dog"
    assert piece.locator(".chip", has_text="dog").get_attribute("aria-label") == "dog, place 2 of 4"


def test_dragging_moves_a_word(piece):
    drag(piece, "pad", "man")
    assert order(piece) == "pad man bites dog"
    drag(piece, "pad", "bites")
    assert order(piece) == "man bites pad dog"
    assert piece.locator(".held").count() == 0


def test_what_the_masks_hide_and_what_stays(piece):
    piece.get_by_label("causal").check()
    assert result(piece) == "1 layer, later words hidden: the output of man, bites and dog has changed, that of pad is the same."
    assert piece.locator("td.hidden").count() == 6
    piece.get_by_label("2", exact=True).check()
    assert result(piece) == "2 layers, later words hidden: every output has changed."
    piece.get_by_label("causal").uncheck()
    assert result(piece).endswith("every word's output is the same.")
    piece.get_by_label("padding").check()
    assert piece.locator("td.hidden").count() == 4 and result(piece).endswith("every word's output is the same.")
    drag(piece, "pad", "man")  # a length counts places, not words
    assert result(piece) == "2 layers, places after the third hidden: every output has changed."


def test_the_first_order_is_what_all_is_compared_with(piece):
    piece.locator(".chip", has_text="dog").focus()
    piece.page.keyboard.press("Home")
    piece.locator(".chip", has_text="bites").focus()
    piece.page.keyboard.press("ArrowLeft")
    assert order(piece) == "dog bites man pad" and result(piece).endswith("these are the outputs to compare with. Move a word.")
