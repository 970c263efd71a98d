"""The piece of 03: what it refuses, and its weights, outputs and verdicts against the package's."""
import re

import pytest
import torch
from pieces import sees
from tools.draw._stills import ORDER, PADDED, TOKENS, described, features, layer, order

import d2l_ext
from attention_lessons.pieces import source

SOURCE, WORDS = source("order"), [*TOKENS, "pad"]
NARROW = layer(ORDER)
NARROW.W_o = torch.nn.Linear(4, 3, bias=False)


@pytest.mark.parametrize("change, words", [
    ({"attention": layer(ORDER, 2)},
     "needs attention with num_heads=1, got num_heads=2"),
    ({"attention": NARROW}, "W_o gives outputs of width 3, X has width 4: a second layer needs the "
                            "same width"),
    ({"tokens": WORDS[:3]}, r"X must have shape \(tokens, features\), its 2 to 5 tokens all "
     r"different, got \(4, 4\), tokens \['dog', 'bites', 'man'\] and 4 features"),
    ({"tokens": ["dog", "dog", "man", "pad"]}, ".* all different, got .*'dog', 'dog', .*"),
    ({"features": features()[:2]}, ".* and 2 features"),
    ({"valid_len": 5}, "valid_len=5 must lie in 1..4"),
    ({"X": PADDED[:, :3], "features": features()[:3]},
     "W_q takes inputs of width 4, X has width 3"),
    ({"X": torch.zeros(6, 4), "tokens": list("abcdef")}, ".* its 2 to 5 tokens .*"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        order(**change)


def check(text):
    """Each weight, output and verdict is the package's, wherever the words lie."""
    attention, X = d2l_ext.MultiHeadAttention(6, 1), torch.randn(5, 6)
    attention.W_o.weight.data[2] = 0  # one number of six stays the same
    names, features = list("abcde"), list("uvwxyz")
    piece = order(attention=attention, X=X, tokens=names, features=features, valid_len=3)
    for words, causal, padding, layers in (
            ("30412", False, False, 1), ("30412", True, False, 1), ("02134", True, False, 1),
            ("30412", True, True, 2), ("41302", False, True, 1)):
        places = torch.tensor(list(map(int, words)))
        mask = d2l_ext.padding(torch.tensor([3 if padding else 5]))
        mask = d2l_ext.causal() & mask if causal else mask

        def through(rows):
            for _ in range(layers):
                rows, weights = attention(*[rows] * 3, mask=mask, need_weights=True)
            return rows[0].detach(), weights[0, 0].detach()

        (output, weights), (first, _) = through(X[places][None]), through(X[None])
        shown = described(piece, source=text, width=900, order=words, causal=causal,
                          padding=padding, layers=layers)
        where = {token: place for place, token in enumerate(places.tolist())}
        assert [grip["aria-valuenow"] for grip in shown.of("grip")] == [
            where[token] + 1 for token in range(5)]
        groups = [(each["name"], *map(float, re.findall(r"-?[\d.]+", each["style"])))
                  for each in shown.of("travels")]
        rows = {name: y for name, _, y in groups[:5]}
        heads = {name: x for name, x, _ in groups[30:35]}
        assert [sorted(at, key=at.get) for at in (rows, heads)] == 2 * [
            [names[token] for token in places]]
        found = iter(groups[5:30])
        inks = iter(shown.of("weight"))
        for query in range(5):
            for key in range(5):
                i, j = where[query], where[key]
                hidden = causal and j > i or padding and j >= 3
                assert next(found) == ("" if hidden else f"{weights[i, j]:.2f}",
                                       heads[names[key]], rows[names[query]])
                assert next(inks)["fill-opacity"] == pytest.approx(
                    0.85 * weights[i, j].item(), abs=0.001)
        before, kept = first[places], []
        for token, (said, x, y) in enumerate(groups[35:]):
            i = where[token]
            same = torch.isclose(output[i], before[i], rtol=0, atol=1e-6)
            numbers = "".join(f"{new:.2f}" + f"{old:.2f}" * (not alike) for new, old, alike
                              in zip(output[i], before[i], same)).replace("-0.00", "0.00")
            assert said == numbers + ("= the same" if same.all() else "≠")
            assert y == rows[names[token]]
            kept += [i] * bool(same.all())
        assert ("the same." in shown.sentence, "changed" in shown.sentence) == (
            len(kept) > 0, len(kept) < 5)
        told = re.findall(r"\b[a-e]\b", shown.sentence.partition("that of")[2])
        assert len(kept) in (0, 5) or told == [names[places[i]] for i in sorted(kept)]


def test_every_number_shown_is_the_packages():
    check(SOURCE)


@pytest.mark.parametrize("right, wrong", [
    ("padding && key >= validLen", "padding && key > validLen"),
    ("Math.sqrt(W_q.length)", "W_q.length"), ("order.map((token) => first[token])", "first"),
    ("left + across * j, TOP + ROW * i", "left + across * key, TOP + ROW * i"),
    ("may(i, j) ? weights[i][j] : null", "may(i, j) ? weights[j][i] : null"),
    ("same[place] === wanted", "same[place] !== wanted"),
])
def test_a_mistake_is_seen(right, wrong):
    sees(check, SOURCE, right, wrong)


def test_pointing_says_a_weight():
    start = described(order(), ui={"at": [0, 2]})
    weights = layer(ORDER)(*[PADDED[None]] * 3, need_weights=True)[1][0, 0]
    assert f"dog → man, {weights[0, 2]:.2f}" in start.words
    assert start.sentence == "1 layer, nothing hidden: another order, and every word's output is " \
                             "the same."
    assert described(order(), order="0123").sentence.endswith("compare with. Move a word.")
