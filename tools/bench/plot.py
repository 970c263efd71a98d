"""The plot of ratios: one row per case, one mark per rival, the bare call at 1."""
import pathlib

import matplotlib
from matplotlib import pyplot as plt

from .contenders import BARE, D2L, OUR_WEIGHTS, OURS, TORCH, TORCH_WEIGHTS, Case

MARKS = {OURS: ("o", "#0072B2"), TORCH: ("s", "#D55E00"), TORCH_WEIGHTS: ("v", "#D55E00"), OUR_WEIGHTS: ("^", "#0072B2"), D2L: ("D", "#CC79A7")}


def plot(ratios: dict[Case, dict[str, float]], path: pathlib.Path) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "bench"
    cases = [case for case in ratios if case.size[1] >= 128][::-1]
    figure, axes = plt.subplots(figsize=(9, 6.5), layout="constrained")
    axes.axvline(1, color="#595959", linewidth=1)
    for name, (mark, colour) in MARKS.items():
        points = [(ratios[case][name], y) for y, case in enumerate(cases) if name in ratios[case]]
        if points:
            axes.plot(*zip(*points), mark, color=colour, label=name, markersize=7, alpha=0.85)
    axes.set_yticks(range(len(cases)), [f"{case.size[1]} steps, {case.mask}, {case.kind}" for case in cases])
    axes.set_xscale("log")
    ticks = [1, 1.5, 2, 3, 4, 6]
    axes.set_xticks(ticks, [f"{tick:g} x" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"CPU time / {BARE}, one thread")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
