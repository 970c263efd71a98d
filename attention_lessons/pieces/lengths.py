"""The piece of lesson 05: where each encoding breaks beyond the lengths of training."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
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
    Raises ValueError for a task without ``chance``, for rows whose lengths or stretches differ, for
    lengths that no stretch divides, for accuracies or chances that are no numbers in 0..1.
    """
    runs: dict = {}
    for row in rows:
        encodings = runs.setdefault(clean(row["task"]), {})
        encodings.setdefault(clean(row["encoding"]), []).append(row["accuracy"])
    tasks = list(runs)
    lengths = [int(length) for length in rows[0]["accuracy"]] if len(rows) else []
    if not tasks or max(lengths) < 2 * trained or not set(tasks) <= set(chance):
        raise ValueError(f"needs rows with lengths of {2 * trained} or more, and a chance for "
                         f"each task, got tasks {tasks}, lengths {lengths}, "
                         f"chance {dict(chance)}")
    chance = {task: chance[task] for task in tasks}
    check_shares({f"chance of {task}": [chance[task]] for task in tasks})
    for row in rows:
        check_shares({f"accuracy of {row['encoding']} in {row['task']} at length {length}": parts
                      for length, parts in row["accuracy"].items()})
    stretch = lengths[0] // max(1, len(rows[0]["accuracy"][str(lengths[0])]))
    wanted = {str(length): length / stretch for length in lengths}
    counts = [{length: len(parts) for length, parts in row["accuracy"].items()} for row in rows]
    if trained % stretch or any(count != wanted for count in counts):
        raise ValueError(f"each row needs the lengths {lengths} in stretches of {stretch}, "
                         f"which divide {trained=}")

    mean = {task: {encoding: over_seeds(many) for encoding, many in encodings.items()}
            for task, encodings in runs.items()}
    return Explorer(
        "lengths",
        title=t("Accuracy by position for {0} encodings trained at lengths up to {1}, tried at "
                "{2}; tasks: {3}.", len(mean[tasks[0]]), trained, ", ".join(map(str, lengths)),
                ", ".join(tasks)),
        data={"accuracy": mean, "lengths": lengths, "trained": trained, "stretch": stretch,
              "chance": chance},
        state={"task": tasks[0],
               "length": min(length for length in lengths if length >= 2 * trained),
               "scored": "all"},
        still="05_explorer")


def check_shares(given: Mapping[str, Sequence[float | None]]) -> None:
    """Raise ValueError unless all that is given by name is None or a number in 0..1."""
    for name, shares in given.items():
        for share in shares:
            number = isinstance(share, Real) and not isinstance(share, bool)
            if share is not None and not (number and 0 <= share <= 1):
                raise ValueError(f"{name} must be a number in 0..1, got {share!r:.60}")


def over_seeds(runs: Sequence[Mapping]) -> dict:
    """For each length the mean accuracies of several runs."""
    return {length: [average(parts) for parts in zip(*(run[length] for run in runs))]
            for length in runs[0]}


def average(parts: Sequence[float | None]) -> float | None:
    """The mean of what is scored, None where nothing is."""
    scored = [part for part in parts if part is not None]
    return round(fmean(scored), 4) if scored else None
