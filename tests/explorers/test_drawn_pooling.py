"""What the explorer of 01 shows, without a browser: each row, number, bar and dial against the
package's attention, with widths and numbers that all differ."""
import math

import pytest
import torch
from stage import digits, perform

from d2l_ext.explorers import pooling_explorer

KEYS = torch.tensor([[2., -1, 0.5], [0, 3, 1], [1.5, 1, -2], [-1, 0.5, 2]])
VALUES = torch.tensor([[1., 7], [-3, 40], [25, 0], [9, -6]])
QUERY = [1.5, 2.0, -0.5]


def pooled(query, scale, sees):
    """Scores of all keys, weights and the output over those that are seen."""
    scores = KEYS @ torch.tensor(query) / scale
    hidden = scores.masked_fill(~torch.tensor(sees), -math.inf)
    weights = hidden.softmax(0) if any(sees) else torch.zeros(4)
    return scores.tolist(), weights.tolist(), (weights @ VALUES).tolist()


def numbers(row, kind):
    return row.one(kind=kind).words("span")[1:]


def check(stage, query, scale, sees):
    scores, weights, output = pooled(query, scale, sees)
    rows = stage.one("tbody").parts
    for i, (row, seen) in enumerate(zip(rows[:-1], sees)):
        assert row.one("th").text == f"key {i + 1}" and row.one("input").told["checked"] is seen
        assert row.classes == ([] if seen else ["hidden"])
        assert numbers(row, "key") == [f"{value:g}" for value in KEYS[i].tolist()]
        assert numbers(row, "value") == [f"{value:g}" for value in VALUES[i].tolist()]
        weight = weights[i]
        shown = f"{weight:.1e}".replace("e-0", "e-") if 0 < weight < 0.005 else digits(weight)
        assert row.words(kind="number") == [digits(scores[i]) if seen else "hidden", shown]
        assert row.one(kind="bar").style["width"] == f"{round(weight * 84)}px"
        assert [cell.tag for cell in row.parts] == ["th", *["td"] * 4]
        assert [bool(cell.all(kind=kind)) for cell, kind in
                zip(row.parts[1:], ("key", "number", "bar", "value"))] == [True] * 4
    assert rows[-1].words("th") == ["output"] and rows[-1].one("th").given["colspan"] == "4"
    assert numbers(rows[-1], "output") == [digits(value) for value in output]
    head = stage.one("thead").one("tr")
    assert head.words("th") == ["may attend", "key", f"scorequery · key / {digits(scale)}",
                                "weightsoftmax", "value"]
    assert {cell.given["scope"] for cell in head.parts} == {"col"}
    assert {row.one("th").given["scope"] for row in rows} == {"row"}
    if any(sees):
        assert stage.result.endswith(f"Output: {', '.join(map(digits, output))}.")
        top = max(range(4), key=weights.__getitem__)
        assert f"Of the weight, key {top + 1} gets {digits(weights[top])}" in stage.result
    dials = {part.given["aria-label"]: part for part in stage.all("input")
             if "aria-label" in part.given}
    for i, number in enumerate(query, 1):
        drag, typed = dials[f"query, number {i}"], dials[f"query, number {i}, typed"]
        assert float(drag.told["value"]) == number and drag.given["aria-valuetext"] == f"{number:g}"
        assert typed.told["value"] == f"{number:g}" and typed.given["title"] == "-3 to 3"
    assert float(dials["scale"].told["value"]) == pytest.approx(math.log10(scale))
    assert dials["scale"].given["aria-valuetext"] == f"{round(scale, 2):g}"
    assert dials["scale, typed"].told["value"] == f"{round(scale, 2):g}"
    pressed = [button.text for button in stage.all("button")
               if button.given["aria-pressed"] == "true"]
    assert pressed == [name for number, name in ((1, "1"), (math.sqrt(3), "√3"), (3.7, "3.7"))
                       if abs(number - scale) < 0.01]
    assert [button.given["aria-label"] for button in stage.all("button")] == [
        "scale 1", "scale √3", "scale 3.7"]
    assert stage.state == {"scale": pytest.approx(scale)} | {
        f"q{i + 1}": number for i, number in enumerate(query)} | {
        f"key{i + 1}": seen for i, seen in enumerate(sees)}


def test_every_number_is_the_packages(tmp_path):
    stages = perform(
        tmp_path, pooling_explorer(KEYS, VALUES, QUERY, 3.7), "tick('key 2')",
        "press('scale √3')", "type('query, number 3', 1.2)", "type('query, number 1, typed', -2)",
        "type('scale', 0.1)", "type('scale, typed', 37.5)", "tick('key 2')", "tick('key 1')",
        "tick('key 3')", "tick('key 2')", "tick('key 4')")
    root = math.sqrt(3)
    everything, three = [True] * 4, [True, False, True, True]
    second, third = [1.5, 2.0, 1.2], [-2.0, 2.0, 1.2]
    cases = [(QUERY, 3.7, everything), (QUERY, 3.7, three), (QUERY, root, three),
             (second, root, three), (third, root, three), (third, 1.3, three),
             (third, 37.5, three), (third, 37.5, everything),
             (third, 37.5, [False, True, True, True]), (third, 37.5, [False, True, False, True]),
             (third, 37.5, [False, False, False, True]), (third, 37.5, [False] * 4)]
    for stage, case in zip(stages, cases, strict=True):
        check(stage, *case)
    assert "Every key is hidden" in stages[-1].result
    assert stages[5].saved == 5 and stages[5].waits == [30]  # one by one, after the paint


def test_small_weights_are_powers_of_ten(tmp_path):
    stage, = perform(tmp_path, pooling_explorer(10 * KEYS, VALUES, QUERY, 3.7))
    _, weights, _ = pooled([10 * value for value in QUERY], 3.7, [True] * 4)
    assert [row.words(kind="number")[1] for row in stage.one("tbody").parts[:-1]] == [
        f"{weight:.1e}".replace("e-0", "e-") if weight < 0.005 else f"{weight:.2f}"
        for weight in weights]


def test_what_is_typed_out_of_range_becomes_the_nearest(tmp_path):
    """While it is typed nothing happens; half a number is none."""
    name = "query, number 2, typed"
    stages = perform(tmp_path, pooling_explorer(KEYS, VALUES, QUERY, 3.7), f"focus('{name}')",
                     f"type('{name}', 9)", f"type('{name}', 9, 'change')",
                     f"type('{name}', '-9', 'change')", f"type('{name}', '', 'change')",
                     f"type('{name}', '2.5')", "type('scale, typed', '0.2', 'change')",
                     "type('scale', 1.6)", "type('scale', 0.95)")
    assert [stage.state["q2"] for stage in stages] == [2, 2, 2, 3, -3, -3, 2.5, 2.5, 2.5, 2.5]
    typed = [part.told["value"] for stage in stages for part in stage.all("input")
             if part.given.get("aria-label") == name]
    assert typed[4:7] == ["-3", "-3", "2.5"] and typed[2] == "9"  # what is being typed stays
    assert [stage.state["scale"] for stage in stages[-3:]] == [1, 40, 8.9]


def test_dials_reach_as_far_as_the_numbers(tmp_path):
    stage, = perform(tmp_path, pooling_explorer(KEYS, VALUES, QUERY, 3.7))
    ranges = {part.given["aria-label"]: [float(part.given[end]) for end in ("min", "max", "step")]
              for part in stage.all("input") if part.given["type"] == "range"}
    assert ranges == {**{f"query, number {i}": [-3, 3, pytest.approx(0.15)] for i in (1, 2, 3)},
                      "scale": [0, 2, 0.01]}
    typed = [part.given for part in stage.all("input") if part.given["type"] == "number"]
    assert [(float(given["min"]), float(given["max"]), given["step"]) for given in typed] == [
        (-3, 3, "any")] * 3 + [(1, 100, "any")]
    assert [group.parts[0].text for group in stage.all("fieldset")] == ["query", "scale"]
    assert stage.one(kind="scroll").given["aria-label"] == "keys, scores, weights and values"
