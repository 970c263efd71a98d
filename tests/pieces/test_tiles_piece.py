"""The piece of 09: what it refuses; every number in it is that of `d2l_ext.tiles`."""
import math

import pytest
import torch
from pieces import sees
from tools.draw._stills import described, tiles

from attention_lessons.pieces import source
from d2l_ext.tiles import Traffic, nothing_yet, tiled_attention, update

SOURCE = source("tiles")
WALKS = [(5, 7, 2, 4), (3, 8, 1, 4), (8, 2, 4, 1), (6, 5, 6, 2), (2, 3, 2, 3)]  # n, m, tiles


@pytest.mark.parametrize("change, words", [
    ({"queries": [[1.0, 2]]}, r"queries must be \(queries,\), keys and values \(keys,\), "
                              r"got \(1, 2\), \(8,\), \(8,\)"),
    ({"values": [1, 2]}, r".* got \(6,\), \(8,\), \(2,\)"),
    ({"queries": [1]}, "shows 2 to 8 queries and 2 to 8 keys, got 1 and 8"),
    ({"keys": range(9), "values": range(9)}, ".* got 6 and 9"),
    ({"keys": [math.nan] * 8}, "keys must be finite, but holds NaN or infinity"),
    ({"values": [1e31] * 8},
     r"values must hold numbers of size up to 1e\+30, but holds one of 1e\+31"),
    ({"query_tile": 0}, "query_tile=0 is not possible: choose from 1, 2, 4, 6"),
    ({"key_tile": 6}, "key_tile=6 is not possible: choose from 1, 2, 4, 8"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        tiles(**change)
    with pytest.raises(TypeError, match="^key_tile must be an integer"):
        tiles(key_tile=2.0)


def inputs(n, m):
    torch.manual_seed(10 * n + m)
    return [2 * torch.randn(count, dtype=torch.float64) for count in (n, m, m)]


def steps(q, k, v, rows, columns):
    """The same walk with the package's `update`: what is inside, the state before and after, and
    what was moved."""
    q, k, v = (X[:, None] for X in (q, k, v))
    traffic = Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in q.split(rows)]
    for js in torch.arange(len(k)).split(columns):
        traffic.load(k[js], v[js])
        for i, at in enumerate(torch.arange(len(q)).split(rows)):
            traffic.load(q[at], *states[i])
            before, states[i] = states[i], update(states[i], q[at] @ k[js].mT, v[js])
            traffic.store(states[i])
            yield (at.tolist(), js.tolist(), before, [torch.cat(all_) for all_ in zip(*states)],
                   traffic.reads + traffic.writes)


def two(number):
    return f"{number + 0:.2f}"


def check(text, walks=WALKS):
    for n, m, rows, columns in walks:
        q, k, v = inputs(n, m)
        piece = tiles(queries=q, keys=k, values=v, query_tile=rows, key_tile=columns)
        *_, (*_, whole) = walk = [*steps(q, k, v, rows, columns)]
        output, traffic = tiled_attention(*(X[:, None] for X in (q, k, v)), query_tile=rows,
                                          key_tile=columns)
        assert traffic.reads + traffic.writes == whole
        torch.testing.assert_close(walk[-1][3][2], output)
        seen = set()
        for step, (asking, asked, before, state, moved) in enumerate(walk, 1):
            if step in (1, 2, len(walk) // 2 + 1, len(walk)):
                look = described(piece, source=text, step=step, width=800)
                shown(look, q, k, asking, asked, before, state, seen)
                assert f"{moved} of {whole}" in look.words
                bars = [bar["width"] for bar in look.of("moved")]
                assert bars[0] / bars[1] == pytest.approx(moved / (2 * (n + m) + 4 * n * m), .01)
                assert look.sentence.startswith(f"Step {step} of {len(walk)}: ")
            seen |= {(i, j) for i in asking for j in asked}


def shown(look, q, k, asking, asked, before, state, seen):
    """Every number of a step, and what is marked."""
    for role, inside in (("query", asking), ("key", asked), ("value", asked)):
        assert ["fast" in box["class"] for box in look.of(role)] == [
            i in inside for i in range(len(look.of(role)))]
    scores = [f"{float(two(q[i] * k[j])):g}" for i in asking for j in asked]
    assert [score["name"] for score in look.of("score")] == scores
    frame, = look.of("tile")
    unit = look.of("paper")[0]
    cells = unit["width"] / len(k), unit["height"] / len(q)
    assert [(frame[x] - unit[x]) / size for x, size in zip("xy", cells)] + [
        frame[side] / size for side, size in zip(("width", "height"), cells)] == pytest.approx(
            [asked[0], asking[0], len(asked), len(asking)], abs=0.01)
    assert {tuple(int((float(each) - unit[x]) / size) for each, x, size in zip(
        path["d"][1:].split("L")[0].split(), "xy", cells)) for path in look.of("used")} == {
            (j, i) for i, j in seen}
    bars = [bar["width"] for bar in look.of("sum")]
    for i, (row, *kept) in enumerate(zip(look.of("kept"), *(each[:, 0] for each in state))):
        largest, total, output = (float(each) for each in kept)
        words = [f"{float(two(largest)):g}" if total else "none", two(total), two(output)]
        if i in asking and before.total[0] > 0:
            old = before.total[asking.index(i)].item()
            factor = math.exp(before.largest[asking.index(i)].item() - largest)
            words[1:1] = [f"× {two(factor)}"]
            words[3:3] = [f"× {two(factor * old / total)}"]
            assert (f"the sum of query {i} by {two(factor)}" in look.sentence) == (factor < 1)
        assert row["name"] == "".join(words) and ("fast" in row["class"]) == (i in asking)
        assert bars[i] * max(state[1]) == pytest.approx(max(bars) * total, abs=0.2 * total + 0.2)


def test_every_number_is_the_packages():
    check(SOURCE)


@pytest.mark.parametrize("right, wrong", [
    ("Math.exp((largest ?? -Infinity) - higher)", "1"), ("share * output + dot", "output + dot"),
    ("(1 + 2 * KEPT) * asking", "2 * KEPT * asking"),
    ("frames.slice(1, step)", "frames.slice(1, step + 1)"),
    ("[asked[0], asking[0],", "[asking[0], asked[0],"),
    ("most * total / keys, 14", "most * output / keys, 14"),
    ("short(queries[i] * keys[j])", "short(queries[j] * keys[i])"),
])
def test_a_mistake_is_seen(right, wrong):
    sees(lambda text: check(text, WALKS[:2]), SOURCE, right, wrong)


def test_the_ends_and_the_hint():
    home = described(tiles(), ("tile", "onKeyDown", {"key": "Home"}))
    assert home.of("waiting") and "drag me" not in home.words
    assert "drag me" in described(tiles()).words
    back = described(tiles(), ("‹ back", "onClick", {}), step=48)  # past the last: the last
    assert back.state["step"] == 5
