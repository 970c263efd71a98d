"""What positions, `reach` and `import d2l_ext` cost in time; and what the whole costs."""
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

from .attention import ROOT, one_pass, table
from .timing import interleaved, ratio

BATCH, STEPS, WIDTH, HEADS = 2, 1024, 512, 8


def positions():
    """Each position's time against attention without one; its explicit path against its fused."""
    relative = {"rotary": RotaryEmbedding(WIDTH // HEADS), "ALiBi": ALiBi(HEADS),
                "T5": T5RelativeBias(HEADS), "Shaw": ShawRelativeKeys(WIDTH // HEADS, 32)}
    added = {"sinusoids added": PositionalEncoding(WIDTH, max_len=STEPS),
             "learned added": LearnedPositionalEncoding(WIDTH, max_len=STEPS)}
    plain = MultiHeadAttention(WIDTH, HEADS)
    calls = {"none": lambda X: plain(X, X, X, causal=True)}
    for name, position in relative.items():
        layer = MultiHeadAttention(WIDTH, HEADS, position=position)
        calls[name] = lambda X, layer=layer: layer(X, X, X, causal=True)
        calls[f"{name}, weights"] = (
            lambda X, layer=layer: layer(X, X, X, causal=True, need_weights=True)[0])
    for name, encoding in added.items():
        calls[name] = lambda X, encoding=encoding: calls["none"](encoding(X))

    rows = []
    for kind in ("forward", "forward and backward"):
        X = torch.randn(BATCH, STEPS, WIDTH).requires_grad_(kind != "forward")
        times = interleaved({name: partial(one_pass, call, X) for name, call in calls.items()}, 60)
        for name in (*relative, *added):
            paths = f"{ratio(times, f'{name}, weights', name):.2f}" if name in relative else ""
            rows.append([name, kind, f"{ratio(times, name, 'none'):.2f}", paths])
    size = f"{BATCH} x {STEPS} x {WIDTH}, {HEADS} heads, causal"
    return [f"{size}.", "", *table(["position", "pass", "time / without",
                                    "explicit path / fused path"], rows)]


def reach_by_rows(model, n, width):
    """What `reach` answers, by one backward pass per output."""
    rows = []
    for i in range(n):
        X = torch.randn(1, n, width, dtype=torch.float64, requires_grad=True)
        model.double()(X)[0, i].sum().backward()
        rows.append(X.grad[0].abs().sum(-1) > 0)
    return torch.stack(rows)


def reaching(n=64, width=32):
    model = torch.nn.Sequential(*[Convolution(width) for _ in range(4)])
    if not torch.equal(reach(model, n), reach_by_rows(model, n, width)):
        raise RuntimeError("reach and one backward pass per output give different answers")
    times = interleaved({"reach": partial(reach, model, n),
                         "rows": partial(reach_by_rows, model, n, width)}, 10)
    return [f"`reach` of four convolutions over {n} steps takes {ratio(times, 'reach', 'rows'):.2f}"
            " times as long as one backward pass per output."]


def seconds_to_import(name):
    """CPU seconds of a fresh interpreter that imports ``name``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def importing(rounds=15):
    """The fastest of several imports, torch and d2l_ext in turn."""
    times = [(seconds_to_import("torch"), seconds_to_import("d2l_ext")) for _ in range(rounds)]
    torch_, ours = map(min, zip(*times))
    return [f"`import torch` takes {torch_:.2f} s of CPU time, `import d2l_ext` "
            f"{ours - torch_:.2f} s more (goal: at most 0.15)."]


# ---- the whole ----

def timed(*command, cwd=ROOT):
    """Minutes and seconds that a command takes; with its last line if it fails."""
    start = time.time()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    minutes, seconds = divmod(round(time.time() - start), 60)
    last = (done.stdout.strip().splitlines() or [""])[-1].strip("= ")
    return f"{minutes} min {seconds:02d} s" + (f" (failed: {last})" if done.returncode else "")


def whole():
    """Each notebook in a fresh kernel; set-up and tests in a fresh clone of what is committed."""
    run = ("import sys, nbformat; from nbclient import NotebookClient; "
           "NotebookClient(nbformat.read(sys.argv[1], 4), timeout=300).execute()")
    rows = [[path.stem, timed(sys.executable, "-c", run, path.name, cwd=path.parent)]
            for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        rows.append(["`make setup` from nothing", timed("make", "setup", cwd=clone)])
        rows.append(["`make test` after that", timed("make", "test", cwd=clone)])
        files = [path for path in (clone / ".venv").rglob("*") if not path.is_dir()]
        gigabytes = sum(path.lstat().st_size for path in files) / 1e9
    return table(["what", "time"], rows + [["the environment it made", f"{gigabytes:.2f} GB"]])
