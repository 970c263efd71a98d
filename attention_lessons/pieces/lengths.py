"""The piece of lesson 05: where each encoding breaks beyond the lengths of training."""
from collections.abc import Mapping, Sequence
from statistics import fmean

from ..languages import t
from .base import Explorer, clean


def lengths_explorer(rows: Sequence[Mapping], trained: int,
                     chance: Mapping[str, float]) -> Explorer:
    """Accuracy by position, a strip for each encoding, best first.

    rows: as in ``laboratory.results("05")["rows"]``: ``task``, ``encoding``, ``seed``, and
    ``accuracy``, which holds for each length (a string) the accuracies in stretches of positions
    of equal size, None where nothing is scored. Seeds are averaged. trained: the longest length of
    training, a whole number of stretches. chance: for each task, the share right by guessing.
    At the start: the first task, the shortest length at least twice ``trained``, all positions.
    Raises ValueError for a task without a chance in 0..1, for rows whose lengths or stretches
    differ, for stretches that don't divide ``trained``, for accuracies outside 0..1.
    """
    runs: dict = {}
    for row in rows:
        encodings = runs.setdefault(clean(row["task"]), {})
        encodings.setdefault(clean(row["encoding"]), []).append(row["accuracy"])
    tasks, strips = [*runs], [row["accuracy"] for row in rows]
    lengths = sorted({int(length) for strip in strips for length in strip})
    longer = [length for length in lengths if length >= 2 * trained]
    stretches = {int(length) / max(1, len(parts))
                 for strip in strips for length, parts in strip.items()}
    wrong = [part for strip in strips for parts in strip.values() for part in parts
             if part is not None and not 0 <= part <= 1]
    alike = len({tuple(strip) for strip in strips}) == len(stretches) == 1
    if not (alike and longer and max(stretches) % 1 == trained % max(stretches) == 0 and not wrong
            and all(0 <= chance.get(task, -1) <= 1 for task in tasks)):
        raise ValueError(
            f"needs rows that all have the same lengths, one at least of {2 * trained}, in "
            f"stretches of a size that divides {trained=}, accuracies in 0..1, and for each task a "
            f"chance in 0..1, got {tasks=}, {lengths=}, {stretches=}, chance={dict(chance)}, "
            f"accuracies outside: {wrong}")

    mean = {task: {encoding: over_seeds(many) for encoding, many in encodings.items()}
            for task, encodings in runs.items()}
    return Explorer(
        "lengths",
        title=t("Accuracy by position for {0} encodings trained at lengths up to {1}, tried at "
                "{2}; tasks: {3}.", len(mean[tasks[0]]), trained, ", ".join(map(str, lengths)),
                ", ".join(tasks)),
        data={"accuracy": mean, "lengths": lengths, "trained": trained,
              "stretch": int(max(stretches)), "chance": {task: chance[task] for task in tasks}},
        state={"task": tasks[0], "length": min(longer), "scored": "all"},
        still="05_explorer")


def over_seeds(runs: Sequence[Mapping]) -> dict:
    """For each length the mean accuracies of several runs."""
    return {length: [average(parts) for parts in zip(*(run[length] for run in runs))]
            for length in runs[0]}


def average(parts: Sequence[float | None]) -> float | None:
    """The mean of what is scored, None where nothing is."""
    scored = [part for part in parts if part is not None]
    return round(fmean(scored), 4) if scored else None
