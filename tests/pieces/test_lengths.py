"""The piece of 05: strips, means and words are those of the stored runs."""
import re

import numpy as np
import pytest
import torch
from pieces import near
from tools.draw.pieces_in_node import CHANCE, described, lengths

from attention_lessons.laboratory import results


@pytest.mark.parametrize("task, length, scored, words", [
    ("copy", 32, "all", "all positions: Shaw (a vector for each offset) leads with 1.00, then "
     "rotary with 0.72. Good only up to 16, as trained: learned and sinusoidal."),
    ("reverse", 64, "all", "all positions: nobody is ahead: the best, Shaw, gets 0.16."),
    ("repeat", 24, "beyond", "only beyond 16: ALiBi, causal (nearer keys score more) leads with "
     "0.74, then rotary with 0.40."),
    ("copy", 16, "beyond", "only beyond 16: no position is scored there. Choose a longer input."),
])
def test_strips_and_bars_best_first_are_means_over_seeds(task, length, scored, words):
    shown = described(lengths(), task=task, length=length, scored=scored)
    assert shown.sentence == f"{task}, length {length}, {words}"
    runs = {}
    for row in results("06")["rows"]:
        if row["task"] == task:
            runs.setdefault(row["encoding"], []).append(row["accuracy"][str(length)])
    strips = {name: torch.tensor(np.array(many, float)).nanmean(0) for name, many in runs.items()}
    trained = 4 if scored == "beyond" else 0
    means = {name: float(strip[trained:].nanmean()) for name, strip in strips.items()}
    ranks = sorted(means, key=lambda name: -means[name])
    assert [each["name"] for each in shown.of("encoding")] == ranks
    rows = [int(each["style"].split()[-1][:-3]) for each in shown.of("travels")]
    assert rows == sorted(rows)
    cells = torch.stack([strips[name] for name in ranks])
    near([float(word) for word in shown.words if re.fullmatch(r"1|\.\d\d", word)],
         cells[~cells.isnan()], 0.006)
    cells = cells.nan_to_num(1)
    cells[:, :trained] *= 0.3
    near([each["fill-opacity"] for each in shown.of("cell")], 0.85 * cells.flatten(), 0.001)
    assert f"chance {CHANCE[task]:.2f}" in shown.words
    scale = {each["name"]: each["x"] for each in shown.of("scale")}
    assert [each["x1"] for each in shown.of("boundary")] == [scale["16"]] * (length > 16)
    bars = shown.of("bar")
    assert [each["name"] for each in shown.of("grade")] == [
        f"{means[name]:.2f}" for name in ranks if bars]
    if bars:
        wide = (shown.of("chance")[0]["x1"] - bars[0]["x"]) / CHANCE[task]
        near([bar["width"] / wide for bar in bars], [means[name] for name in ranks])
