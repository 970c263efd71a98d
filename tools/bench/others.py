"""Times of the positional encodings, of `reach`, and of `import d2l_ext`; and what the whole costs."""
from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

import torch

from d2l_ext import LearnedPositionalEncoding, MultiHeadAttention, PositionalEncoding
from d2l_ext.relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from d2l_ext.sequence import Convolution, reach

from .attention import interleaved, ratio
from .contenders import PASSES, one_pass

ROOT = pathlib.Path(__file__).parents[2]
BATCH, STEPS, WIDTH, HEADS = 2, 1024, 512, 8
IMPORT_GOAL = 0.15  # seconds of the processor, beyond `import torch`


def encodings(kind: str) -> list[str]:
    """Rows: an encoding, and its time, causal, against attention without one; then its fused path against its explicit path."""
    X = torch.randn(BATCH, STEPS, WIDTH).requires_grad_(kind != PASSES[0])
    head_size = WIDTH // HEADS
    positions = {"none": None, "rotary": RotaryEmbedding(head_size), "ALiBi": ALiBi(HEADS), "T5": T5RelativeBias(HEADS), "Shaw": ShawRelativeKeys(head_size, 32)}
    layers = {name: MultiHeadAttention(WIDTH, HEADS, position=position) for name, position in positions.items()}
    runs = {}
    for name, layer in layers.items():
        runs[name] = partial(one_pass, lambda X, layer=layer: layer(X, X, X, causal=True), X, kind)
        runs[f"{name}, weights"] = partial(one_pass, lambda X, layer=layer: layer(X, X, X, causal=True, need_weights=True)[0], X, kind)
    tables = {"sinusoids added": PositionalEncoding(WIDTH, max_len=STEPS), "learned added": LearnedPositionalEncoding(WIDTH, max_len=STEPS)}
    for name, table in tables.items():
        runs[name] = partial(one_pass, lambda X, table=table: layers["none"](*[table(X)] * 3, causal=True), X, kind)
    times = interleaved(runs, 60)
    lines = [f"| {name} | {kind} | {ratio(times, name, 'none'):.2f} | {ratio(times, f'{name}, weights', name):.2f} |" for name in positions if name != "none"]
    return lines + [f"| {name} | {kind} | {ratio(times, name, 'none'):.2f} | |" for name in tables]


def reach_by_rows(model: torch.nn.Module, n: int, width: int) -> torch.Tensor:
    """What `reach` answers, one backward pass per output."""
    model, rows = model.double(), []
    for i in range(n):
        X = torch.randn(1, n, width, dtype=torch.float64, requires_grad=True)
        model(X)[0, i].sum().backward()
        rows.append(X.grad[0].abs().sum(-1) > 0)
    return torch.stack(rows)


def reaching(n: int = 64, width: int = 32) -> str:
    model = torch.nn.Sequential(*[Convolution(width) for _ in range(4)])
    if not torch.equal(reach(model, n), reach_by_rows(model, n, width)):
        raise RuntimeError("reach and its slow form differ, so the times can't be compared")
    times = interleaved({"reach": partial(reach, model, n), "rows": partial(reach_by_rows, model, n, width)}, 10)
    return f"`reach` of four convolutions over {n} steps takes {ratio(times, 'reach', 'rows'):.2f} times as long as one backward pass per output."


def seconds_to_import(name: str) -> float:
    """CPU seconds of a fresh interpreter that imports ``name``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def importing(rounds: int = 15) -> tuple[float, float]:
    """CPU seconds of `import torch`, and what `import d2l_ext` takes beyond it: the fastest of several, in turn."""
    times = {name: [] for name in ("torch", "d2l_ext")}
    for _ in range(rounds):
        for name, taken in times.items():
            taken.append(seconds_to_import(name))
    return min(times["torch"]), min(times["d2l_ext"]) - min(times["torch"])


# ---- the whole ---------------------------------------------------------------------------------------------------------------------------

def timed(*command: str, cwd: pathlib.Path = ROOT) -> str:
    """Minutes and seconds that a command takes, and its last line."""
    start = time.time()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    minutes, seconds = divmod(round(time.time() - start), 60)
    last = (done.stdout.strip().splitlines() or [""])[-1].strip("= ")
    return f"{minutes} min {seconds:02d} s" + ("" if done.returncode == 0 else f" (failed: {last})")


def notebooks() -> list[str]:
    """Rows: how long each notebook takes from a fresh kernel to its last cell."""
    run = "import sys, nbformat; from nbclient import NotebookClient; NotebookClient(nbformat.read(sys.argv[1], 4), timeout=300).execute()"
    return [f"| {path.stem} | {timed(sys.executable, '-c', run, path.name, cwd=path.parent)} |" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]


def from_nothing() -> list[str]:
    """Rows: set-up and tests in a fresh clone of what is committed."""
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        rows = [f"| `make setup` from nothing | {timed('make', 'setup', cwd=clone)} |", f"| `make test` after that | {timed('make', 'test', cwd=clone)} |",
                f"| the environment it made | {size(clone / '.venv')} |"]
    return rows


def size(folder: pathlib.Path) -> str:
    return f"{sum(path.lstat().st_size for path in folder.rglob('*') if not path.is_dir()) / 1e9:.2f} GB"
