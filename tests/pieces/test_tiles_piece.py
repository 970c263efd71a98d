"""The piece of 09: every number in it is that of `d2l_ext.tiles`."""
import math
import re

import pytest
import torch
from pieces import near
from tools.draw._stills import described, tiles

from d2l_ext.tiles import Traffic, nothing_yet, tiled_traffic, update


def steps(q, k, v, rows, columns):
    """The same walk with the package's `update`: what is inside, the sums before, the state after,
    and what was moved."""
    traffic = Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in q.split(rows)]
    for js in torch.arange(len(k)).split(columns):
        traffic.load(k[js], v[js])
        for i, at in enumerate(torch.arange(len(q)).split(rows)):
            traffic.load(q[at], *states[i])
            before, states[i] = states[i], update(states[i], q[at] @ k[js].mT, v[js])
            traffic.store(states[i])
            yield (at.tolist(), js.tolist(), before, torch.cat([*map(torch.cat, zip(*states))], 1),
                   traffic.reads + traffic.writes)


def two(number):
    return f"{number + 0:.2f}"


def short(*numbers):
    return [f"{float(two(number)):g}" for number in numbers]


@pytest.mark.parametrize("n, m, rows, columns", [
    (5, 7, 2, 4), (3, 8, 1, 4), (8, 2, 4, 1), (6, 5, 6, 2), (2, 3, 2, 3)])
def test_every_number_is_the_packages(n, m, rows, columns):
    q, k, v = inputs = [2 * torch.randn(count, 1, dtype=torch.float64) for count in (n, m, m)]
    given = dict(zip(("queries", "keys", "values"), (X[:, 0].tolist() for X in inputs)))
    piece = tiles(**given, query_tile=rows, key_tile=columns)
    *_, (*_, whole) = walk = [*steps(*inputs, rows, columns)]
    traffic = tiled_traffic(n, m, 1, 1, columns)
    assert traffic.reads + traffic.writes == whole
    words = [short(*row) for row in zip(range(m), *list(given.values())[1:])]
    words += [short(*row) for row in enumerate(given["queries"])]
    for step in {1, min(2, len(walk)), len(walk) // 2 + 1, len(walk)}:
        asking, asked, before, state, moved = walk[step - 1]
        look = described(piece, step=step, width=800)
        assert look.words[5:][:3 * m + 2 * n] == sum(words, [])
        check(look, (q @ k.mT).tolist(), asking, asked, before, state)
        assert f"{moved} of {whole} numbers" in look.words
        bar, table = (bar["width"] for bar in look.of("moved"))
        assert bar / table == pytest.approx(moved / (2 * (n + m) + 4 * n * m), .01)
        assert len(look.of("used")) == sum(len(i) * len(j) for i, j, *_ in walk[:step - 1])
        assert look.sentence.startswith(f"Step {step} of {len(walk)}: ")
        assert ("Nothing was summed" in look.sentence) == (asked[0] == 0)


def check(look, scores, asking, asked, before, state):
    """Every score and state, and what is marked."""
    for role, inside in zip(("query", "key", "value", "output"), (asking, asked, asked, asking)):
        assert [i for i, box in enumerate(look.of(role)) if "tint" in box["class"]] == inside
    assert [(score["name"], score.get("font-weight") == 600) for score in look.of("score")] == [
        (*short(scores[i][j]), scores[i][j] == state[i, 0]) for i in asking for j in asked]
    (frame,), (paper,), (at,) = map(look.of, ("tile", "table", "travels"))
    across, down = paper["width"] / len(scores[0]), paper["height"] / len(scores)
    x, y = map(float, re.findall(r"[\d.]+", at["style"]))
    near([(x - paper["x"]) / across, (y - paper["y"]) / down, frame["width"] / across,
          frame["height"] / down], [asked[0], asking[0], len(asked), len(asking)])
    bars = torch.tensor([bar["width"] for bar in look.of("sum")])
    near(bars / bars.max(), state[:, 1] / state[:, 1].max())
    for i, (row, (largest, total, output)) in enumerate(zip(look.of("kept"), state.tolist())):
        words = [str(i), *(short(largest) if total else ["none"]), two(total), two(output)]
        if i in asking and before.total[0] > 0:
            factor = math.exp(before.largest[asking.index(i)].item() - largest)
            if factor < 1:
                words.insert(2, f"× {two(factor)}")
            assert (f"the sum of query {i} by {two(factor)}" in look.sentence) == (factor < 1)
        assert row["name"] == "".join(words)


def test_the_ends_and_the_hint():
    home = described(tiles(), ("tile", "onKeyDown", {"key": "Home"}))
    first = described(tiles(), step=1)
    assert home.of("waiting")[0]["width"] == first.of("tile")[0]["width"]
    assert "drag to resize" not in home.words and "drag to resize" in first.words
    back = described(tiles(), ("‹ back", "onClick", {}), step=48)  # past the last: the last
    assert back.state["step"] == 5
