"""What the explorer of 09 shows at each step, without a browser: what is in fast memory, every
number that is kept, and how much was moved, against the package's tiled attention."""
import pytest
import torch
from stage import DARK, LIGHT, digits, expected, perform

from attention_lessons.pieces import tiles_explorer
from attention_lessons.pieces.tiles import after

QUERIES, KEYS, VALUES = [1.5, -2, 0.5], [0.5, 2, -1, 1, 3], [10, 20, 35, -40, 50]


def short(number):
    return f"{float(digits(number)):g}"


def tiles_at(step, rows, columns):
    """Queries and keys in fast memory at a step; nothing before the first."""
    pairs = [(list(range(i, min(i + rows, 3))), list(range(j, min(j + columns, 5))))
             for j in range(0, 5, columns) for i in range(0, 3, rows)]
    return [([], []), *pairs][step], pairs


def check_headings(scores, kept):
    """Which cells are headings, of what, and over how many columns."""
    col, row = {"scope": "col"}, {"scope": "row"}
    end = row | {"colspan": "2", "class": "end"}
    assert [[cell.given for cell in line.parts if cell.tag == "th"] for line in scores.all("tr")] \
        == [[end, *[col] * 5], [end], [end], [col | {"colspan": "2"}, col | {"colspan": "5"}],
            *[[row]] * 3]
    many = col | {"class": "many"}
    assert [[cell.given for cell in line.parts if cell.tag == "th"] for line in kept.all("tr")] \
        == [[many | {"class": "many again"}, *[many] * 5], *[[row | {"class": "again"}]] * 3]
    for table, spans in ((scores, []), (kept, ["query", "0", "1", "2"])):
        assert table.classes == ["table", "tiles"] and table.words("span") == spans
        assert [part.tag for part in table.parts] == ["thead", "tbody"]
        assert {part.tag for part in table.one("tbody").parts} == {"tr"}


def some(one, several, places):
    """"query 3", "queries 0 and 1", "queries 0 to 3"."""
    if len(places) == 1:
        return f"{one} {places[0]}"
    return f"{several} {places[0]} {'and' if len(places) == 2 else 'to'} {places[-1]}"


def told(step, last, asking, asked, before, state):
    if not step:
        return f"Step 0 of {last}: nothing is in fast memory, and no query has met a key."
    factors = (before.largest - state.largest).exp().flatten().tolist()
    by = [f"the sum of query {i} by {digits(factors[i])}" for i in asking if factors[i] < 1]
    done = ("Nothing was summed before: nothing is rescaled." if not before.total[asking[0]] else
            f"Larger scores: first multiply {' and '.join(by)}." if by else
            "No larger score: no sum is rescaled, all are added to.")
    end = " Every output is now attention over all keys, exactly." * (step == last)
    return (f"Step {step} of {last}: {some('query', 'queries', asking)} and "
            f"{some('key', 'keys', asked)} are in fast memory. {done}{end}")


def check(stage, rows, columns, step):
    q, k, v = (torch.tensor(part, dtype=torch.float64)[:, None]
               for part in (QUERIES, KEYS, VALUES))
    (asking, asked), pairs = tiles_at(step, rows, columns)
    assert stage.state == {"query_tile": rows, "key_tile": columns, "step": step}
    assert stage.chosen() == {"queries in a tile": [str(rows)], "keys in a tile": [str(columns)],
                              "step": (str(step), f"{step} of {len(pairs)}")}
    assert [part for part in stage.all("input") if part.given["type"] == "range"][0].given[
        "max"] == str(len(pairs))
    buttons = {button.text: button.given["aria-disabled"] for button in stage.all("button")}
    assert buttons == {"‹ back": str(step == 0).lower(),
                       "next ›": str(step == len(pairs)).lower()}
    scores, kept = stage.all("table")
    head, *body = scores.all("tr")[:3], *scores.one("tbody").parts
    names = [["key", *map(str, range(5))], ["k", *map(short, KEYS)], ["v", *map(short, VALUES)]]
    assert [[cell.text for cell in row.parts] for row in head] == names
    for row, kind in zip(head[1:], ("k", "v")):
        assert [kind in cell.classes for cell in row.parts] == [False] + [True] * 5
        assert ["fast" in cell.classes for cell in row.parts[1:]] == [j in asked for j in range(5)]
    titles = scores.all("tr")[3].parts
    assert [(cell.text, cell.given["colspan"]) for cell in titles] == [
        ("query, q", "2"), ("score = q · k", "5")]
    check_headings(scores, kept)
    state, moved = after(step, q, k, v, rows, columns)
    before, _ = after(max(step - 1, 0), q, k, v, rows, columns)
    for i, row in enumerate(body):
        name, query, *cells = row.parts
        assert (name.text, query.text) == (str(i), short(QUERIES[i]))
        assert query.classes == ["q", "fast"] if i in asking else query.classes == ["q"]
        for j, cell in enumerate(cells):
            here, score = i in asking and j in asked, QUERIES[i] * KEYS[j]
            used = any(i in rows_ and j in columns_ for rows_, columns_ in pairs[:max(step - 1, 0)])
            best = here and score == state.largest[i].item()
            assert cell.text == (short(score) if here else "")
            assert cell.classes == ["score"] + ["fast"] * here + ["used"] * used + [
                "highest"] * best, (i, j)
    top, *lines = kept.rows()
    assert top == ["query", "largest so far", "old sum times", "sum so far", "old output times",
                   "output so far"]
    for i, line in enumerate(lines):
        seen = before.total[i].item() > 0
        factor = float((before.largest[i] - state.largest[i]).exp()) if seen else None
        share = factor * before.total[i].item() / state.total[i].item() if seen else None
        inside = i in asking
        words = [str(i), short(state.largest[i].item()) if state.total[i] > 0 else "none",
                 digits(factor) if inside and seen else "", digits(state.total[i].item()),
                 digits(share) if inside and seen else "", digits(state.output[i].item())]
        assert line == words, (step, i)
        cells = kept.one("tbody").parts[i].parts[1:]
        for j, cell in enumerate(cells):
            less = inside and j == 1 and seen and factor < 1
            assert cell.classes == ["kept"] + ["fast"] * inside + ["less"] * less
    all_moved = after(len(pairs), q, k, v, rows, columns)[1]
    now, end = moved.reads + moved.writes, all_moved.reads + all_moved.writes
    plain = 2 * (3 + 5) + 4 * 3 * 5
    bars = stage.one(kind="moved").all(kind="bar")
    assert [bar.text for bar in bars] == [
        f"{now} of {end}", str(plain)]
    assert [part.text for part in stage.one(kind="moved").parts][::2] == [
        "moved, by tiles", "with a table"]
    most = max(plain, end)
    for bar, number in zip(bars, (now, plain)):
        style = bar.one("i").style["cssText"]
        assert style == f"width: {int(65 * number / most + 0.5)}%; background: var(--query)"
    assert "Filled: in fast memory. Striped: used, forgotten." in stage.text
    assert stage.result == told(step, len(pairs), asking, asked, before, state)


def test_each_step_is_the_packages(tmp_path):
    explorer = tiles_explorer(QUERIES, KEYS, VALUES)
    steps = ["press('next ›')"] * 3 + ["press('‹ back')"] * 5 + [
        "type('step', 3)", "pick('queries in a tile', '1')", "press('next ›')", "press('next ›')",
        "press('next ›')", "press('next ›')", "pick('keys in a tile', '2')", "press('next ›')",
        "type('step', 9)", "press('next ›')"]
    stages = perform(tmp_path, explorer, *steps)
    wanted = [(2, 4, step) for step in (2, 3, 4, 4, 3, 2, 1, 0, 0, 3)] + [
        (1, 4, step) for step in (1, 2, 3, 4, 5)] + [(1, 2, step) for step in (1, 2, 9, 9)]
    for stage, case in zip(stages, wanted, strict=True):
        check(stage, *case)


def test_a_step_beyond_the_last_is_the_last(tmp_path):
    explorer = tiles_explorer(QUERIES, KEYS, VALUES)
    explorer.set(step=15)
    start, back = perform(tmp_path, explorer, "press('‹ back')")
    assert start.result.startswith("Step 4 of 4") and back.state["step"] == 3


@pytest.mark.parametrize("width, theme", [(670, LIGHT), (671, DARK)])
def test_tables_stand_side_by_side_where_there_is_room(tmp_path, width, theme):
    stage, = perform(tmp_path, tiles_explorer(QUERIES, KEYS, VALUES), width=width, colours=theme)
    assert stage.one(kind="walk").classes == ["walk"] + ["beside"] * (width > 670)
    root = stage.one(kind="d2l-piece")
    for role in ("query", "key", "value", "output"):
        assert root.style[f"--{role}"] == "rgb({} {} {})".format(*expected(role, theme))
    assert root.style["--scheme"] == ("dark" if theme is DARK else "light")
