"""The piece of 09: every number in it is that of `d2l_ext.tiles`."""
import re

import pytest
import torch
from pieces import near
from tools.draw.pieces_in_node import described, tiles

from d2l_ext.tiles import Traffic, nothing_yet, update


def steps(q, k, v, rows, columns):
    """The same walk with the package's `update`: what is inside, by what the sums before are
    multiplied, the state after (queries, 3), and what was moved."""
    traffic = Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in q.split(rows)]
    for js in torch.arange(len(k)).split(columns):
        traffic.load(k[js], v[js])
        for i, at in enumerate(torch.arange(len(q)).split(rows)):
            traffic.load(q[at], *states[i])
            before, states[i] = states[i], update(states[i], q[at] @ k[js].mT, v[js])
            traffic.store(states[i])
            factors = (before.largest - states[i].largest).exp().where(before.total > 0, 1)
            yield (at.tolist(), js.tolist(), dict(zip(at.tolist(), factors[:, 0].tolist())),
                   torch.cat([*map(torch.cat, zip(*states))], 1), traffic.reads + traffic.writes)


def two(number):
    return f"{number + 0:.2f}"


def short(*numbers):
    return [f"{float(two(number)):g}" for number in numbers]


@pytest.mark.parametrize("n, m, rows, columns", [
    (5, 7, 2, 4), (3, 8, 1, 4), (8, 2, 4, 1), (6, 5, 6, 2), (2, 3, 2, 3)])
def test_every_number_is_the_packages(n, m, rows, columns):
    inputs = [2 * torch.randn(count, 1, dtype=torch.float64) for count in (n, m, m)]
    q, k, v = (X[:, 0].tolist() for X in inputs)
    piece = tiles(queries=q, keys=k, values=v, query_tile=rows, key_tile=columns)
    given = short(*sum([*zip(range(m), k, v), *enumerate(q)], ()))
    walk = [*steps(*inputs, rows, columns)]
    for step in {1, min(2, len(walk)), len(walk) // 2 + 1, len(walk)}:
        asking, asked, factors, state, moved = walk[step - 1]
        look = described(piece, step=step, width=800)
        assert look.words[5:][:3 * m + 2 * n] == given
        for role, inside in dict(query=asking, key=asked, value=asked, output=asking).items():
            assert [i for i, box in enumerate(look.of(role)) if "tint" in box["class"]] == inside
        assert [(score["name"], score.get("font-weight") == 600) for score in look.of("score")] == [
            (*short(q[i] * k[j]), q[i] * k[j] == state[i, 0]) for i in asking for j in asked]
        (frame,), (paper,), (at,) = map(look.of, ("tile", "table", "travels"))
        across, down = paper["width"] / m, paper["height"] / n
        x, y = map(float, re.findall(r"[\d.]+", at["style"]))
        near([(x - paper["x"]) / across, (y - paper["y"]) / down, frame["width"] / across,
              frame["height"] / down], [asked[0], asking[0], len(asked), len(asking)])
        bars = torch.tensor([bar["width"] for bar in look.of("sum")])
        near(bars / bars.max(), state[:, 1] / state[:, 1].max())
        raised = {i: [f"× {two(factor)}"] for i, factor in factors.items() if factor < 1}
        assert [row["name"] for row in look.of("kept")] == ["".join([
            str(i), *(short(largest) if total else ["none"]), *raised.get(i, []), two(total),
            two(output)]) for i, (largest, total, output) in enumerate(state.tolist())]
        assert f"{moved} of {walk[-1][-1]} numbers" in look.words
        bar, table = (bar["width"] for bar in look.of("moved"))
        assert bar / table == pytest.approx(moved / (2 * (n + m) + 4 * n * m), .01)
        assert len(look.of("used")) == sum(len(i) * len(j) for i, j, *_ in walk[:step - 1])
        assert look.sentence.startswith(f"Step {step} of {len(walk)}: ")
        assert ("Larger scores" in look.sentence, "Nothing was summed" in look.sentence) == (
            raised != {}, asked[0] == 0)


def test_the_ends():
    home = described(tiles(), ("tile", "onKeyDown", {"key": "Home"}))
    first = described(tiles(), step=1)
    assert home.of("waiting")[0]["width"] == first.of("tile")[0]["width"]
    back = described(tiles(), ("‹ back", "onClick", {}), step=48)  # past the last: the last
    assert back.state["step"] == 5
