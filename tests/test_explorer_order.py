"""The explorer of 03: its numbers are the package's, its settings are checked, its still picture agrees, and in a browser keys and dragging do the same."""
import itertools
import json

import pytest
import torch

import d2l_ext
from d2l_ext.explorers import order_explorer, source
from d2l_ext.plotting import Picture

WORDS, FEATURES = ["dog", "bites", "man", "pad"], ["animal", "person", "action", "height"]
X = torch.tensor([[1., 0., 0., 1.], [0., 0., 1., 0.], [0., 1., 0., 3.], [1., 1., 1., 1.]])
MATRICES = {"W_q": torch.tensor([[0., 0., 4., 0.], [0., 0., 2., 0.], [0., 0., 0., 2.], [0., 0., 0., 0.]]),
            "W_k": torch.diag(torch.tensor([1., 1., 1., 0.])), "W_v": torch.eye(4), "W_o": torch.eye(4)}


def layer(**change):
    attention = d2l_ext.MultiHeadAttention(4, **{"num_heads": 1} | change)
    attention.load_state_dict({f"{name}.weight": matrix for name, matrix in MATRICES.items()}, strict=False)
    return attention


def sentence(**change):
    return order_explorer(**{"attention": layer(), "X": X, "tokens": WORDS, "features": FEATURES, "valid_len": 3} | change)


# ---- in Python --------------------------------------------------------------------------------------------------------------------------

def test_the_words_hold_the_numbers():
    output = layer()(X[None], X[None], X[None])[0]
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
    ({"attention": layer(num_heads=2)}, "num_heads=2"), ({"attention": layer(bias=True)}, "bias=True"), ({"tokens": WORDS[:3]}, "3 tokens|dog"),
    ({"tokens": ["dog", "dog", "man", "pad"]}, "all different"), ({"features": FEATURES[:2]}, "2 features"), ({"valid_len": 0}, "valid_len=0"), ({"valid_len": 5}, "valid_len=5"),
    ({"X": X * float("nan")}, "finite"), ({"X": X[:, :3], "features": FEATURES[:3]}, "width 3"),
    ({"X": torch.zeros(6, 4), "tokens": list("abcdef")}, "2 to 5")], ids=str)
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        sentence(**change)


# ---- in a browser -----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def piece(page):
    page.errors.clear()
    page.set_content(f'<!doctype html><html lang="en"><title>piece</title>{sentence().html()}')
    page.wait_for_selector("table.order")
    yield page
    assert page.errors == []


def result(piece):
    return piece.locator(".result").inner_text()


def order(piece):
    return " ".join(piece.locator(".chip").all_inner_texts())


def drag(piece, word, to):
    start, end = (piece.locator(".chip", has_text=name).bounding_box() for name in (word, to))
    piece.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    piece.mouse.down()
    piece.mouse.move(end["x"] + (4 if end["x"] < start["x"] else end["width"] - 4), end["y"] + end["height"] / 2, steps=25)
    piece.mouse.up()


def test_the_browser_computes_what_the_package_does(page):
    page.set_content("<!doctype html>")
    for causal, padding, layers in itertools.product((False, True), (False, True), (1, 2)):
        attention, x, places = d2l_ext.MultiHeadAttention(6, 1), torch.randn(5, 6), torch.randperm(5)
        mask = (d2l_ext.causal() if causal else d2l_ext.window(5)) & d2l_ext.padding(torch.tensor([3 if padding else 5]))
        outputs = []
        for rows in (x[places], x):
            for _ in range(layers):
                rows, weights = (part[0].detach() for part in attention(*[rows[None]] * 3, mask=mask, need_weights=True))
            outputs.append((rows, weights[0]))
        matrices = {name: getattr(attention, name).weight.tolist() for name in ("W_q", "W_k", "W_v", "W_o")}
        given = json.dumps([{"X": x.tolist(), "validLen": 3} | matrices, {"order": places.tolist(), "causal": causal, "padding": padding, "layers": layers}])
        found = page.evaluate(f"import('data:text/javascript,' + encodeURIComponent({json.dumps(source('order'))})).then((piece) => {{ "
                              f"const {{ weights, output, before, same }} = piece.say(...{given}); return {{ weights, output, before, same }}; }})")
        assert torch.allclose(torch.tensor(found["output"]), outputs[0][0], atol=1e-5)
        assert torch.allclose(torch.tensor(found["weights"]), outputs[0][1], atol=1e-5)
        assert torch.allclose(torch.tensor(found["before"]), outputs[1][0][places], atol=1e-5)
        assert found["same"] == torch.isclose(outputs[0][0], outputs[1][0][places], atol=1e-5).all(1).tolist()
        assert all(found["same"]) or causal or padding


def test_it_opens_with_the_default_state(piece):
    assert order(piece) == "man bites dog pad" and piece.locator(".d2l-still").is_hidden()
    assert result(piece) == "1 layer, nothing hidden: another order, and every word's output is the same."
    assert piece.locator("tbody tr").first.inner_text().split("\t")[:5] == ["man", "0.02", "0.48", "0.02", "0.48"]


def test_arrow_keys_move_a_word_and_it_keeps_the_focus(piece):
    piece.locator(".chip", has_text="dog").focus()
    for key, wanted in (("ArrowLeft", "man dog bites pad"), ("ArrowLeft", "dog man bites pad"), ("ArrowLeft", "dog man bites pad"), ("End", "man bites pad dog"),
                        ("ArrowRight", "man bites pad dog"), ("Home", "dog man bites pad"), ("ArrowRight", "man dog bites pad")):
        piece.keyboard.press(key)
        assert order(piece) == wanted
        assert piece.evaluate("document.activeElement.textContent") == "dog"
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
    piece.keyboard.press("Home")
    piece.locator(".chip", has_text="bites").focus()
    piece.keyboard.press("ArrowLeft")
    assert order(piece) == "dog bites man pad" and result(piece).endswith("these are the outputs to compare with. Move a word.")
