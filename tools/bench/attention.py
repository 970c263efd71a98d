"""Time and memory of `MultiHeadAttention` against the bare fused call, PyTorch's class and D2L's."""
from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
from functools import partial

import torch

from d2l_ext.sequence import CLOCK

from .contenders import BARE, D2L, MASKS, NAMES, OUR_WEIGHTS, OURS, PASSES, SIZES, TORCH, TORCH_WEIGHTS, Case, agree, contender, example, one_pass

CASES = [Case(size, mask, kind) for size in SIZES for mask in MASKS for kind in PASSES]
SECONDS = 20.0  # of measuring per case, at least three rounds, at most 200
GOALS = [(OURS, BARE, 1.05), (OURS, TORCH, 1.0), (OUR_WEIGHTS, TORCH_WEIGHTS, 1.0)]  # the first at most so many times as long as the second, from 128 steps on
MEMORY_GOAL = 1.1


def interleaved(runs: dict[str, object], seconds: float = SECONDS) -> dict[str, list[float]]:
    """CPU seconds of each run, round after round in changing order, so that whatever slows a round slows all of it."""
    times = {name: [] for name in runs}
    names = list(runs)
    for name in names:
        runs[name]()  # warm up
    while len(times[names[0]]) < 3 or len(times[names[0]]) < 200 and sum(map(sum, times.values())) < seconds:
        names = names[1:] + names[:1]
        for name in names:
            start = CLOCK()
            runs[name]()
            times[name].append(CLOCK() - start)
    return times


def ratio(times: dict[str, list[float]], name: str, to: str) -> float:
    """How many times as long: the median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(times[name], times[to]))


def compare(case: Case, seconds: float = SECONDS) -> dict[str, float]:
    """Ratios of CPU time to the bare call, one thread, of all who can be had."""
    X, attends = example(case), {name: contender(name, case) for name in NAMES}
    attends = {name: attend for name, attend in attends.items() if attend is not None}
    outputs = [one_pass(attend, X, "forward") for attend in attends.values()]
    if not agree(outputs, case):
        raise RuntimeError(f"{case}: the outputs differ, so the times can't be compared")
    del outputs
    times = interleaved({name: partial(one_pass, attend, X, case.kind) for name, attend in attends.items()}, seconds)
    return {name: ratio(times, name, BARE) for name in attends}


def peak(case: Case, name: str) -> float | None:
    """Megabytes at the peak above what was there before, the median of three processes; None where d2l, or Linux's account of it, can't be had."""
    command = [sys.executable, "-m", "tools.bench.attention", json.dumps([case, name])]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, cwd=pathlib.Path(__file__).parents[2]) for _ in range(3)]
    found = [json.loads(run.stdout) for run in runs]
    return None if None in found else statistics.median(found)


def peak_here(case: Case, name: str) -> float | None:
    attend = contender(name, case)
    if attend is None or not pathlib.Path("/proc/self/clear_refs").exists():
        return None
    small = case._replace(size=(1, 2, *case.size[2:]))
    one_pass(contender(name, small), example(small), case.kind)  # loads what is loaded once
    X = example(case)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = status("VmRSS")
    one_pass(attend, X, case.kind)
    return (status("VmHWM") - before) / 1024


def status(field: str) -> int:
    """Kilobytes, from Linux's account of this process."""
    return next(int(line.split()[1]) for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(field))


def misses(case: Case, ratios: dict[str, float]) -> list[str]:
    """The goals that these ratios miss; none are set for the toy size."""
    missed = []
    if case.size[1] < 128:
        return missed
    for name, rival, goal in GOALS:
        if round(ratios[name] / ratios[rival], 2) > goal:
            missed.append(f"{name} takes {ratios[name] / ratios[rival]:.2f} times as long as {rival}, goal {goal}")
    if case.size[1] == 4096 and case.mask == "causal" and D2L in ratios and ratios[D2L] / ratios[OURS] < 3:
        missed.append(f"{ratios[D2L] / ratios[OURS]:.1f} times faster than d2l, goal 3")
    return missed


if __name__ == "__main__":
    given, name = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    print(json.dumps(peak_here(Case(tuple(given[0]), *given[1:]), name)))
