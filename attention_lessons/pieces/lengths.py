"""The piece of lesson 06: where each encoding breaks beyond the lengths of training."""
from collections.abc import Mapping, Sequence
from statistics import fmean

from ..languages import t
from .base import Explorer, clean


def lengths_explorer(rows: Sequence[Mapping], trained: int,
                     chance: Mapping[str, float]) -> Explorer:
    """Accuracy by position, a strip for each encoding, best first.

    rows: as in ``laboratory.results("06")["rows"]``: ``task``, ``encoding``, and ``accuracy``,
    which holds for each length (a string) the accuracies in stretches of positions of equal size,
    None where nothing is scored. Seeds are averaged. trained: the longest length of training, a
    whole number of stretches. chance: for each task, the share right by guessing.
    At the start: the first task, the shortest length at least twice ``trained``, all positions.
    Raises ValueError where rows differ in lengths or stretches, or numbers lie outside 0..1.
    """
    runs: dict = {}
    for row in rows:
        for length, strip in row["accuracy"].items():
            run = clean(row["task"]), clean(row["encoding"]), int(length)
            runs.setdefault(run, []).append(strip)
    mean: dict = {}
    for (task, encoding, length), seeds in runs.items():
        mean.setdefault(task, {}).setdefault(encoding, {})[length] = [*map(average, zip(*seeds))]

    strips = [(length, strip) for (*_, length), seeds in runs.items() for strip in seeds]
    tasks, lengths = [*mean], sorted({length for length, _ in strips})
    longer = [length for length in lengths if length >= 2 * trained]
    stretches = {length / max(1, len(strip)) for length, strip in strips}
    stretch = max(stretches, default=0)
    wrong = [part for _, strip in strips for part in strip if not 0 <= (part or 0) <= 1]
    if not (longer and len(strips) == len(rows) * len(lengths) and len(stretches) == 1
            and stretch % 1 == trained % stretch == 0 and not wrong
            and all(0 <= chance.get(task, -1) <= 1 for task in tasks)):
        raise ValueError(
            f"needs rows that all have the same lengths, one at least of {2 * trained}, in "
            f"stretches of a size that divides {trained=}, accuracies in 0..1, and for each task a "
            f"chance in 0..1, got {tasks=}, {lengths=}, {stretches=}, chance={dict(chance)}, "
            f"accuracies outside: {wrong}")
    return Explorer(
        "lengths",
        title=t("Accuracy by position for {0} encodings trained at lengths up to {1}, tried at "
                "{2}; tasks: {3}.", len(mean[tasks[0]]), trained, ", ".join(map(str, lengths)),
                ", ".join(tasks)),
        data={"accuracy": mean, "lengths": lengths, "trained": trained,
              "stretch": int(stretch), "chance": {task: chance[task] for task in tasks}},
        state={"task": tasks[0], "length": longer[0], "scored": "all"},
        still="06_explorer")


def average(parts: Sequence[float | None]) -> float | None:
    """The mean of what is scored, None where nothing is."""
    scored = [part for part in parts if part is not None]
    return round(fmean(scored), 4) if scored else None
