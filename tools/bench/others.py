"""What positions, shared heads, windows, `reach` and `import d2l_ext` cost; and the whole."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

import torch
from torch.nn import functional as F

from d2l_ext import LearnedPositionalEncoding, MultiHeadAttention, PositionalEncoding, causal
from d2l_ext import window
from d2l_ext.attention import for_each_head
from d2l_ext.relative import ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from d2l_ext.sequence import Convolution, reach
from d2l_ext.tiles import tiled_attention

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


# ---- heads that share, and windows ----

KV_HEADS = 4, 2, 1
# batch, queries, keys
CALLS = {"the whole": (2, 1024, 1024), "one token at a time": (1, 1, 4096)}


def grouped():
    """Heads that share keys and values: against repeating these, and against heads that don't."""
    rows = []
    for call, sizes in CALLS.items():
        for learning in (False, True) if sizes[1] > 1 else (False,):
            kind = "forward and backward" if learning else "forward"
            rows += [[f"{num_kv_heads} for {HEADS}", call, kind,
                      *shared_against(*sizes, num_kv_heads, learning)] for num_kv_heads in KV_HEADS]
    sizes = ", ".join(f"{batch} x {queries} queries and {keys} keys for {call}"
                      for call, (batch, queries, keys) in CALLS.items())
    return [f"{HEADS} heads of {WIDTH // HEADS}, from projected queries, keys and values to the "
            f"heads' outputs: {sizes}.", "",
            *table(["keys and values", "call", "pass", "time / repeating them",
                    "time / a pair for each head"], rows)]


def shared_against(batch, queries, keys, num_kv_heads, learning):
    """Two ratios, from what `MultiHeadAttention` does between its projections."""
    sizes = (HEADS, queries), (num_kv_heads, keys), (HEADS, keys)
    q, few, many = (torch.randn(batch, heads, steps, WIDTH // HEADS).requires_grad_(learning)
                    for heads, steps in sizes)
    layer = MultiHeadAttention(WIDTH, HEADS, num_kv_heads=num_kv_heads)
    attend = F.scaled_dot_product_attention
    calls = {"ours": lambda q: layer._fused(q, few, few, None, None, False),
             "repeated": lambda q: attend(q, *[for_each_head(X, HEADS) for X in (few, few)]),
             "own": lambda q: attend(q, many, many)}
    if not torch.allclose(calls["ours"](q), calls["repeated"](q), atol=1e-4):
        raise RuntimeError(f"{num_kv_heads} shared heads are not what repeating them gives")
    times = interleaved({name: partial(one_pass, call, q) for name, call in calls.items()})
    return [f"{ratio(times, 'ours', other):.2f}" for other in ("repeated", "own")]


def windows(n=2048, size=64):
    """What a window saves: nothing where it is a mask, whole tiles where these are left out."""
    X, near = torch.randn(1, n, WIDTH), window(size) & causal()
    layer = MultiHeadAttention(WIDTH, HEADS)
    q = torch.randn(1, HEADS, n, WIDTH // HEADS)
    runs = {"full": lambda X: layer(X, X, X, causal=True),
            "masked": lambda X: layer(X, X, X, mask=near),
            "tiles": lambda X: tiled_attention(q, q, q, causal(), query_tile=256, key_tile=256)[0],
            "near": lambda X: tiled_attention(q, q, q, near, query_tile=256, key_tile=256)[0]}
    times = interleaved({name: partial(one_pass, run, X) for name, run in runs.items()}, 30)
    rows = [["`MultiHeadAttention`, the fused call", f"{ratio(times, 'masked', 'full'):.2f}"],
            ["`tiled_attention`, in Python", f"{ratio(times, 'near', 'tiles'):.2f}"]]
    return [f"1 x {n} x {WIDTH}, {HEADS} heads, forward: each query sees its own and the {size} "
            "keys before it.", "", *table(["", "time / causal alone"], rows)]


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
