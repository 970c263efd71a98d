"""`make bench`: measures all, prints it and writes it into README.md beside this file, with ratios.svg; some parts alone: make bench ARGS="attention memory".

One thread. Numbers are ratios of CPU time, each the median over rounds in which all rivals took turns, or megabytes at the peak of a process of its own.
"""
import pathlib
import platform
import sys

import torch

from . import attention, others, slopes
from .contenders import BARE, NAMES, OURS, PASSES, Case
from .plot import plot

HERE = pathlib.Path(__file__).parent


def row(case: Case, cells: list[str]) -> str:
    batch, n, width, heads = case.size
    return f"| {batch} x {n} x {width}, {heads} | {case.mask} | {case.kind} | {' | '.join(cells)} |"


def compared() -> list[str]:
    """Times of attention, and the plot of them."""
    ratios = {}
    for case in attention.CASES:
        ratios[case] = attention.compare(case)
        print(case, {name: round(value, 3) for name, value in ratios[case].items()}, flush=True)
    return reported(ratios)


def reported(ratios: dict[Case, dict[str, float]]) -> list[str]:
    plot(ratios, HERE / "ratios.svg")
    missed = [f"- {'x'.join(map(str, case.size))}, {case.mask}, {case.kind}: {miss}" for case, one in ratios.items() for miss in attention.misses(case, one)]
    head = ["| batch x steps x hiddens, heads | mask | pass | " + " | ".join(NAMES) + " |", "|---" * (3 + len(NAMES)) + "|"]
    rows = [row(case, [f"{one[name]:.2f}" if name in one else "not here" for name in NAMES]) for case, one in ratios.items()]
    return head + rows + ["", "Goals missed:" if missed else "No goal is missed.", "", *missed]


def remembered() -> list[str]:
    """Peaks of memory."""
    lines = ["| batch x steps x hiddens, heads | mask | pass | " + " | ".join(NAMES) + " | ours / bare |", "|---" * (4 + len(NAMES)) + "|"]
    for case in attention.CASES:
        if case.size[1] < 1024 or case.kind == PASSES[0]:
            continue  # too little to see in a process, or less than what the other pass needs
        peaks = {name: attention.peak(case, name) for name in NAMES}
        cells = ["not here" if peaks[name] is None else f"{peaks[name]:.0f} MB" for name in NAMES]
        lines.append(row(case, cells + [f"{peaks[OURS] / peaks[BARE]:.2f}" if peaks[BARE] else ""]))
        print(lines[-1], flush=True)
    return lines


def encoded() -> list[str]:
    head = ["| position | pass | time / without | explicit path / fused path |", "|---|---|---|---|"]
    return head + [line for kind in PASSES for line in others.encodings(kind)]


def imported() -> list[str]:
    torch_, ours = others.importing()
    return [f"`import torch` takes {torch_:.2f} s of CPU time, `import d2l_ext` {ours:.3f} s beyond it (goal {others.IMPORT_GOAL})."]


def whole() -> list[str]:
    return ["| what | time |", "|---|---|", *others.notebooks(), *others.from_nothing()]


PARTS = {
    "attention": ("CPU time, as ratios to the bare fused call", compared),
    "memory": ("Memory at the peak of a forward and backward pass, median of three", remembered),
    "positions": (f"Positions: {others.BATCH} x {others.STEPS} x {others.WIDTH}, {others.HEADS} heads, causal", encoded),
    "reach": ("Who can influence whom", lambda: [others.reaching()]),
    "slopes": ("Time against length, as in notebook 06", lambda: slopes.table(slopes.attempt())),
    "import": ("The import", imported),
    "whole": ("The whole", whole),
}


def stored() -> dict[str, str]:
    """What README.md beside this file says, by heading."""
    path = HERE / "README.md"
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:] if path.exists() else []
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def main(wanted: list[str]) -> None:
    unknown = set(wanted) - set(PARTS)
    if unknown:
        raise SystemExit(f"make bench knows no {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    torch.set_num_threads(1)
    for name in wanted or PARTS:
        title, measure = PARTS[name]
        print(f"-- {title}", flush=True)
        lines = measure()
        print("\n".join(lines), flush=True)
        sections = stored() | {title: "\n" + "\n".join(lines) + "\n"}
        kept = [f"## {title}\n{sections[title].rstrip()}\n" for title, _ in PARTS.values() if title in sections]
        head = (f"# What things cost\n\nWritten by `make bench`: PyTorch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, one thread. "
                "Ratios are steadier than times,\nand hold for this kind of machine.\n\n![Ratios to the bare fused call](ratios.svg)\n")
        (HERE / "README.md").write_text("\n".join([head, *kept]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
