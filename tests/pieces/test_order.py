"""The piece of 03: its weights, outputs and verdicts against the package's."""
import re

import pytest
import torch
from tools.draw._stills import ORDER, PADDED, described, layer, order

import d2l_ext


@pytest.mark.parametrize("words, causal, padding, layers", [
    ("30412", False, False, 1), ("30412", True, False, 1), ("02134", True, False, 1),
    ("30412", True, True, 2), ("41302", False, True, 1)])
def test_weights_outputs_and_verdicts_are_the_packages(words, causal, padding, layers):
    """Wherever the words lie."""
    attention, X = d2l_ext.MultiHeadAttention(6, 1), torch.randn(5, 6)
    attention.W_o.weight.data[2] = 0  # one number of six stays the same
    names, places = list("abcde"), torch.tensor(list(map(int, words)))
    mask = d2l_ext.padding(torch.tensor([3 if padding else 5]))
    mask = d2l_ext.causal() & mask if causal else mask

    def through(rows):
        for _ in range(layers):
            rows, weights = attention(*[rows] * 3, mask=mask, need_weights=True)
        return rows[0].detach(), weights[0, 0].detach()

    (output, weights), (first, _) = through(X[places][None]), through(X[None])
    before = first[places]
    same = torch.isclose(output, before, rtol=0, atol=1e-6)
    shown = described(
        order(attention=attention, X=X, tokens=names, features=list("uvwxyz"), valid_len=3),
        width=900, order=words, causal=causal, padding=padding, layers=layers)
    place = places.argsort().tolist()  # of each word
    assert [grip["aria-valuenow"] for grip in shown.of("grip")] == [i + 1 for i in place]
    groups = [(each["name"], *map(float, re.findall(r"-?[\d.]+", each["style"])))
              for each in shown.of("travels")]
    # each word's row, which holds its cells; the words themselves; each word's output
    rows, words, results = groups[:30], groups[30:35], groups[35:]
    hidden = [[causal and j > i or padding and j >= 3 for j in place] for i in place]
    for token, i in enumerate(place):
        name, *cells = rows[6 * token:6 * token + 6]
        assert name[2] == results[token][2] == 58 + 40 * i
        assert words[token][1] == name[1] + cells[token][1]
        assert [(said, x) for said, x, _ in cells] == [
            ("" if hidden[token][key] else f"{weights[i, j]:.2f}", words[key][1] - name[1])
            for key, j in enumerate(place)]
        numbers = "".join(f"{new:.2f}" + f"{old:.2f}" * (not alike) for new, old, alike
                          in zip(output[i], before[i], same[i])).replace("-0.00", "0.00")
        verdict = "= the same" if same[i].all() else "≠"
        assert results[token][0] == names[token] + numbers + verdict
    across = [x for _, x, _ in words]
    assert sorted(range(5), key=across.__getitem__) == places.tolist()
    assert [each["fill-opacity"] for each in shown.of("weight")] == pytest.approx(
        (0.85 * weights[place][:, place]).flatten().tolist(), abs=0.001)
    kept = [names[places[i]] for i in range(5) if same[i].all()]
    assert ("the same." in shown.sentence, "changed" in shown.sentence) == (
        len(kept) > 0, len(kept) < 5)
    told = re.findall(r"\b[a-e]\b", shown.sentence.partition("that of")[2])
    assert len(kept) in (0, 5) or told == kept


def test_pointing_says_a_weight():
    start = described(order(), ui={"at": [0, 2]})
    weights = layer(ORDER)(*[PADDED[None]] * 3, need_weights=True)[1][0, 0]
    assert f"dog → man, {weights[0, 2]:.2f}" in start.words
    assert described(order(), order="0123").sentence.endswith("compare with. Move a word.")
