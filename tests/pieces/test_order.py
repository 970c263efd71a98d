"""The piece of 03: its weights, outputs and verdicts against the package's."""
import re

import pytest
import torch
from pieces import near
from tools.draw.pieces_in_node import ORDER, PADDED, described, layer, order

import d2l_ext


@pytest.mark.parametrize("words, causal, padding, layers", [
    ("30412", False, False, 1), ("30412", True, False, 1), ("02134", True, False, 1),
    ("30412", True, True, 2), ("41302", False, True, 1)])
def test_weights_outputs_and_verdicts_are_the_packages(words, causal, padding, layers):
    attention, X = d2l_ext.MultiHeadAttention(6, 1), torch.randn(5, 6)
    attention.W_o.weight.data[2] = 0  # one number of six stays the same
    places, names = [*map(int, words)], "abcde"
    place = [words.index(token) for token in "01234"]
    mask = torch.tensor([[j < (3 if padding else 5) and j <= (i if causal else 5)
                          for j in range(5)] for i in range(5)])

    def through(rows):
        for _ in range(layers):
            rows, weights = attention(*[rows] * 3, mask=mask, need_weights=True)
        return rows[0].detach(), weights[0, 0].detach()

    (output, weights), (first, _) = through(X[None, places]), through(X[None])
    output, weights = output[place], weights[place][:, place]  # by word, as `first` is
    same = torch.isclose(output, first, rtol=0, atol=1e-6)
    shown = described(
        order(attention=attention, X=X, tokens=names, features=list("uvwxyz"), valid_len=3),
        width=900, order=words, causal=causal, padding=padding, layers=layers)
    assert [grip["aria-valuenow"] for grip in shown.of("grip")] == place
    near([each["fill-opacity"] for each in shown.of("weight")], 0.85 * weights.flatten(), 1e-3)
    # what travels: the words; each word's row, and its cells; each word's output
    chips = [(name, 27.8 + 76 * i, 10) for name, i in zip(names, place)]
    rows, results = [], []
    for name, i, row, *numbers in zip(names, place, weights, output, first, same):
        cells = [(f"{weight:.2f}" * mask[i, j], 76 * j, 0) for j, weight in zip(place, row)]
        rows += [(name + "".join(cell[0] for cell in cells), 27.8, 58 + 40 * i), *cells]
        said = "".join(f"{new:.2f}" + f"{old:.2f}" * (not alike) for new, old, alike
                       in zip(*numbers)).replace("-0.00", "0.00")
        results += [(name + said + "≠="[numbers[2].all()], 27.8, 58 + 40 * i)]
    assert [(each["name"], *map(float, re.findall(r"-?[\d.]+", each["style"])))
            for each in shown.of("travels")] == chips + rows + results
    kept, moved = ([names[token] for token in places if same[token].all() == wanted]
                   for wanted in (True, False))
    assert ("the same." in shown.sentence, "changed" in shown.sentence) == (kept > [], moved > [])
    told = re.findall(r"\b[a-e]\b", shown.sentence)
    assert told == (moved + kept if moved and kept else [])


def test_a_weight_is_said_where_a_key_or_a_pointer_is():
    weights = layer(ORDER)(*[PADDED[None]] * 3, need_weights=True)[1][0, 0]
    keys = [("weights", "onKeyDown", {"key": key}) for key in ("ArrowRight", "ArrowDown")]
    shown, pointed = described(order(), *keys, order="2103"), described(order(), ui={"at": [0, 2]})
    (chosen,), (other,) = (each.of("press") for each in (shown, pointed))
    assert chosen["aria-valuetext"] == f"bites → man, {weights[1, 2]:.2f}"
    assert other["aria-valuetext"] == f"dog → man, {weights[0, 2]:.2f}"
    assert [frame["y"] for frame in shown.of("lit")] == [58 + 40, 58]
    assert described(order(), order="0123").sentence.endswith("compare with. Move a word.")
