"""The explorer of 09: what it refuses; its words and its walk are those of `d2l_ext.tiles`."""
import math

import pytest
import torch
from javascript import compute, furthest, swap
from pieces import tiles

from d2l_ext import dot_product_attention
from attention_lessons.pieces import source
from d2l_ext.tiles import Traffic, nothing_yet, tiled_attention, update

WALKS = [(5, 7, 2, 3), (3, 8, 1, 4), (8, 2, 4, 1), (6, 5, 6, 2), (2, 3, 2, 3)]  # n, m, tiles


def inputs(n, m):
    torch.manual_seed(10 * n + m)
    return [2 * torch.randn(count, dtype=torch.float64) for count in (n, m, m)]


# ---- what it says and refuses --------------------------------------------------------------------

@pytest.mark.parametrize("query_tile, step, steps", [(4, 2, 8), (5, 1, 4)])
def test_the_words_hold_the_numbers(query_tile, step, steps):
    """At the start all queries have met the first tile of keys: the softmax over these alone."""
    q, k, v = inputs(5, 7)
    words = tiles(queries=q, keys=k, values=v, query_tile=query_tile, key_tile=2).numbers
    scores = q[:, None] * k[:2]
    largest = scores.amax(-1)
    total = (scores - largest[:, None]).exp().sum(-1)
    told = "; ".join(f"{name} {', '.join(f'{number:.2f}' for number in numbers.tolist())}"
                     for name, numbers in (("largest", largest), ("sum", total),
                                           ("output", scores.softmax(-1) @ v[:2])))
    # The first states (3 each), two keys and values, then for each query itself and its state.
    moved, whole = 5 * 3 + 4 + 5 * 7, 5 * 3 + 14 + 4 * 5 * 7
    assert words == (f"In tiles of {query_tile} queries and 2 keys, after {step} of {steps} steps: "
                     f"{told}. Moved: {moved} of {whole} numbers; with a table "
                     f"{2 * (5 + 7) + 4 * 5 * 7}.")


@pytest.mark.parametrize("change, words", [
    ({"queries": [[1.0, 2]]}, r"queries must be \(queries,\), keys and values \(keys,\), "
                              r"got \(1, 2\), \(8,\), \(8,\)"),
    ({"values": [1, 2]}, r".* got \(6,\), \(8,\), \(2,\)"),
    ({"queries": [1]}, "shows 2 to 8 queries and 2 to 8 keys, got 1 and 8"),
    ({"queries": range(9)}, ".* got 9 and 8"),
    ({"keys": [1], "values": [1]}, ".* got 6 and 1"),
    ({"keys": range(9), "values": range(9)}, ".* got 6 and 9"),
    ({"queries": [math.inf] * 6}, "queries must be finite, but holds NaN or infinity"),
    ({"keys": [math.nan] * 8}, "keys must be finite, but holds NaN or infinity"),
    ({"values": [1e31] * 8},
     r"values must hold numbers of size up to 1e\+30, but holds one of 1e\+31"),
    ({"query_tile": 3}, "query_tile=3 is not possible: choose from 1, 2, 4, 6"),
    ({"query_tile": 0}, "query_tile=0 is not possible: .*"),
    ({"key_tile": 6}, "key_tile=6 is not possible: choose from 1, 2, 4, 8"),
])
def test_what_cannot_be_shown_is_refused(change, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        tiles(**change)


@pytest.mark.parametrize("n, m", [(2, 2), (8, 8)])
def test_the_fewest_and_the_most_are_shown(n, m):
    piece = tiles(queries=range(n), keys=range(m), values=range(m), query_tile=2, key_tile=2)
    assert piece.data["sizes"] == {name: [size for size in (1, 2, 4, 8) if size <= count]
                                   for name, count in (("query_tile", n), ("key_tile", m))}


@pytest.mark.parametrize("size", ["2", 2.0, None])
def test_sizes_of_tiles_are_integers(size):
    for name in ("query_tile", "key_tile"):
        with pytest.raises(TypeError, match=f"^{name} must be an integer"):
            tiles(**{name: size})


# ---- the mathematics in JavaScript ---------------------------------------------------------------

WALK = """piece.walk(given, given.rows, given.columns).slice(1).map((frame) => {
    const { states, reads, writes, asking, asked } = frame;
    const of = (some, name) => some.map((state) => state[name] ?? 0);
    const now = asking.map((i) => states[i]);
    return { reads, writes, asking, asked, largest: of(states, "largest"),
      total: of(states, "total"), output: of(states, "output"),
      factors: [of(now, "ofSum"), of(now, "ofOutput")] };
  })"""


def steps(q, k, v, rows, columns):
    """The same walk with the package's `update`; 0 where there is nothing yet."""
    q, k, v = (X[:, None] for X in (q, k, v))
    traffic = Traffic()
    states = [traffic.store(nothing_yet(Q, v)) for Q in q.split(rows)]
    for js in torch.arange(len(k)).split(columns):
        traffic.load(k[js], v[js])
        for i, at in enumerate(torch.arange(len(q)).split(rows)):
            traffic.load(q[at], *states[i])
            before, states[i] = states[i], update(states[i], q[at] @ k[js].mT, v[js])
            traffic.store(states[i])
            factor = (before.total > 0) * (before.largest - states[i].largest).exp()
            largest, total, output = (torch.cat(parts)[:, 0] for parts in zip(*states))
            yield {
                "reads": traffic.reads, "writes": traffic.writes, "asking": at, "asked": js,
                "largest": torch.where(total > 0, largest, 0), "total": total, "output": output,
                "factors": torch.stack([factor, factor * before.total / states[i].total])[..., 0],
            }


def distance(folder, text, walks=WALKS):
    """How far the walk in JavaScript is from the package's, at any step of any walk."""
    worst = 0
    for n, m, rows, columns in walks:
        q, k, v = inputs(n, m)
        sizes = {"rows": rows, "columns": columns}
        given = {"queries": q.tolist(), "keys": k.tolist(), "values": v.tolist()} | sizes
        ours, theirs = compute(folder, text, WALK, given), [*steps(q, k, v, **sizes)]
        if [step["asking"] for step in ours] != [step["asking"].tolist() for step in theirs]:
            return math.inf
        worst = max(worst, *(furthest(*pair) for pair in zip(ours, theirs)))
    return worst


def test_javascript_walks_as_the_package_does(tmp_path):
    assert distance(tmp_path, source("tiles")) < 1e-12


@pytest.mark.parametrize("n, m, rows, columns", WALKS)
def test_the_walk_ends_where_tiled_attention_does(n, m, rows, columns):
    q, k, v = inputs(n, m)
    *_, last = steps(q, k, v, rows, columns)
    X = [X[:, None] for X in (q, k, v)]
    output, traffic = tiled_attention(*X, query_tile=rows, key_tile=columns)
    assert traffic == Traffic(last["reads"], last["writes"])
    torch.testing.assert_close(last["output"], output[:, 0])
    torch.testing.assert_close(output, dot_product_attention(*X)[0])


@pytest.mark.parametrize("right, wrong", [
    ("Math.exp(largest - higher)", "1"),
    ("Math.exp(largest - higher)", "Math.exp(higher - largest)"),
    ("Math.exp(score - higher)", "Math.exp(score)"),
    ("factor * total);", "total);"),
    ("(factor * total) / sum", "total / sum"),
    ("kept * output + added", "output + added"),
    ("dot(powers, values) / sum", "dot(powers, values)"),
    ("Math.max(largest, ...scores)", "Math.max(...scores)"),
    ("reads += 2 * asked.length", "reads += asked.length"),
    ("reads += (1 + KEPT) * asking", "reads += KEPT * asking"),
    ("writes += KEPT * asking", "writes += asking"),
    ("[0, KEPT * queries.length]", "[0, 0]"),
    ("(j) => queries[i] * keys[j]), some", "(j) => queries[0] * keys[j]), some"),
    ("asked.map((j) => values[j])", "asked.map((j) => values[0])"),
    ("cut(keys.length, columns)", "cut(keys.length, rows)"),
    ("Math.ceil(count / size)", "Math.floor(count / size)"),
    ("ofSum: seen ? factor", "ofSum: seen ? kept"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert not distance(tmp_path, swap(source("tiles"), right, wrong), WALKS[:2]) < 1e-3
