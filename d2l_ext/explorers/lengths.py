"""Where each encoding breaks as inputs grow beyond the lengths of training."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from statistics import fmean

from . import Explorer, clean

SCOPES = {"all positions": "all", "only beyond training": "beyond"}


def lengths_explorer(rows: Sequence[Mapping], trained: int, chance: Mapping[str, float]) -> Explorer:
    """Accuracy by position, a strip for each encoding, best first, at the task, length and scoring that one chooses.

    rows: as ``d2l_ext.laboratory.results("05")["rows"]`` has them: ``task``, ``encoding``, ``seed``, and ``accuracy``, which holds for each length (a
    string) the accuracies in stretches of positions of equal size, None where nothing is scored; seeds are averaged. trained: the longest length of
    training, a whole number of stretches. chance: for each task, the share right by guessing. Settings: ``task``; ``length``; ``scored``, "all positions" or
    "only beyond training". At the start: the first task, the shortest length at least twice ``trained``, all positions.
    Raises ValueError for a task without ``chance``, for rows whose lengths or stretches differ, for
    lengths that no stretch divides, for accuracies or chances that are no numbers in 0..1.
    """
    runs: dict = {}
    for row in rows:
        runs.setdefault(clean(row["task"]), {}).setdefault(clean(row["encoding"]), []).append(row["accuracy"])
    tasks = list(runs)
    lengths = [int(length) for length in rows[0]["accuracy"]] if len(rows) else []
    if not tasks or max(lengths) < 2 * trained or not set(tasks) <= set(chance):
        raise ValueError(f"needs rows with lengths of {2 * trained} or more, and a chance for each task, got tasks {tasks}, lengths {lengths}, chance {dict(chance)}")
    for task in tasks:
        check_share("chance", chance[task], f"of {task}")
    for row in rows:
        for length, parts in row["accuracy"].items():
            where = f"of {row['encoding']} in {row['task']} at length {length}"
            for part in parts:
                check_share("accuracy", 0 if part is None else part, where)
    stretch = lengths[0] // max(1, len(rows[0]["accuracy"][str(lengths[0])]))
    wanted = {str(length): length / stretch for length in lengths}
    if trained % stretch or any({length: len(parts) for length, parts in row["accuracy"].items()} != wanted for row in rows):
        raise ValueError(f"each row needs the lengths {lengths} in stretches of {stretch}, which divide {trained=}")
    mean = {task: {encoding: {length: [average(parts) for parts in zip(*(run[length] for run in many))] for length in wanted} for encoding, many in some.items()}
            for task, some in runs.items()}
    start = {"task": tasks[0], "length": min(length for length in lengths if length >= 2 * trained), "scored": "all"}
    scores = sorted(((average(strips[str(start["length"])]), encoding) for encoding, strips in mean[tasks[0]].items()), key=lambda pair: -pair[0])
    return Explorer(
        "lengths",
        title=f"Accuracy by position for {len(mean[tasks[0]])} encodings trained at lengths up to {trained}, tried at {', '.join(map(str, lengths))}; tasks: {', '.join(tasks)}.",
        numbers=f"{tasks[0]}, length {start['length']}, all positions: {', '.join(f'{encoding} {score:.2f}' for score, encoding in scores)}.",
        data={"accuracy": mean, "lengths": lengths, "trained": trained, "stretch": stretch, "chance": {task: chance[task] for task in tasks}},
        state=start,
        rules={"task": {task: task for task in tasks}, "length": {length: length for length in lengths}, "scored": SCOPES | {scope: scope for scope in SCOPES.values()}},
        still="05_explorer")


def check_share(name: str, share: float, where: str) -> None:
    """Raise ValueError unless ``share`` is a number in 0..1."""
    if not isinstance(share, Real) or isinstance(share, bool) or not 0 <= share <= 1:
        raise ValueError(f"{name} {where} must be a number in 0..1, got {share!r:.60}")


def average(parts: Sequence[float | None]) -> float | None:
    """The mean of what is scored, None where nothing is."""
    scored = [part for part in parts if part is not None]
    return round(fmean(scored), 4) if scored else None
