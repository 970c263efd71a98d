"""Time of lesson 11's layer in four frameworks, compiled where that is the custom.

JAX and TensorFlow compile, PyTorch and MXNet don't. Each counts CPU time in its own process, on
one thread where that can be asked for.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

from .attention import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
LESSON = ROOT / "notebooks/11_other_frameworks.ipynb"
SIZES = [(2, 16, 96, 6), (8, 128, 256, 8), (2, 512, 512, 8)]  # batch, steps, hiddens, heads
QUIET = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
         "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
# `passes` makes two functions: forward, and forward and backward to input and weights.
PREPARE = {
    "torch": """
def passes(X, lens, heads):
    _, n, d = X.shape
    torch.set_num_threads(1)
    layer, keep = MultiHeadAttention(d, heads), visible(lens, n, n, False)
    layer(X, X, X, keep)
    def forward():
        with torch.no_grad():
            layer(X, X, X, keep)
    def both():
        Z = X.clone().requires_grad_()
        layer.zero_grad()
        layer(Z, Z, Z, keep).sum().backward()
    return forward, both
""",
    "jax": """
def passes(X, lens, heads):
    _, n, d = X.shape
    layer = MultiHeadAttention([d] * 3, d, heads, nnx.Rngs(0))
    keep = visible(lens, n, n, False)
    call = lambda layer, X: layer(X, X, X, keep)
    one = nnx.jit(call)
    two = nnx.jit(nnx.grad(lambda layer, X: call(layer, X).sum(), argnums=(0, 1)))
    return lambda: one(layer, X).block_until_ready(), lambda: jax.block_until_ready(two(layer, X))
""",
    "tensorflow": """
def passes(X, lens, heads):
    _, n, d = X.shape
    layer, keep = MultiHeadAttention(d, heads), visible(lens, n, n, False)
    layer(X, X, X, keep)
    @tf.function(autograph=False)
    def forward():
        return layer(X, X, X, keep)
    @tf.function(autograph=False)
    def both():
        with tf.GradientTape() as tape:
            tape.watch(X)
            loss = tf.reduce_sum(layer(X, X, X, keep))
        return tape.gradient(loss, [X, *layer.trainable_variables])
    return forward, both
""",
    "mxnet": """
def passes(X, lens, heads):
    _, n, d = X.shape
    layer, keep = MultiHeadAttention(d, heads), visible(lens, n, n, False)
    layer.initialize()
    X.attach_grad()
    def forward():
        layer(X, X, X, keep).wait_to_read()
    def both():
        with autograd.record():
            loss = layer(X, X, X, keep).sum()
        loss.backward()
        npx.waitall()
    return forward, both
""",
}
TIMED = """
import time
def prepare(X, lens, heads):
    global runs
    runs = passes(X, lens, heads)
    for run in runs:
        run()
    return 0
def timed(which, calls):
    start = time.process_time()
    for _ in range(calls):
        runs[which]()
    return (time.process_time() - start) / calls
"""


def rooms():
    """The lesson's cells, and what is measured, in a room for each framework."""
    from d2l_ext.frameworks import TITLES, mxnet_python
    from d2l_ext.frameworks.rooms import Elsewhere, Room
    made = {name: Elsewhere(name, str(mxnet_python())) if name == "mxnet" else Room(name)
            for name in TITLES}
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]:
        rung, _, name = cell["id"].partition("-")
        if rung in ("sinusoids", "attend", "class") and name in made:
            made[name].run("".join(cell["source"]).partition("\n")[2])
    for name, room in made.items():
        room.run(PREPARE[name] + TIMED)
    return made


def table_of_times(rounds=15):
    """Lines of Markdown: each time as a ratio to PyTorch's, the median over the rounds."""
    import numpy as np
    made, rows = rooms(), []
    for batch, steps, width, heads in SIZES:
        X = np.random.default_rng(0).standard_normal((batch, steps, width), "float32")
        lens = np.linspace(1, steps, batch).astype("int64")
        for room in made.values():
            room.call("prepare", [X, lens, heads])
        calls = max(1, 2 ** 19 // X.size)
        for which, kind in enumerate(("forward", "forward and backward")):
            times = {name: [] for name in made}
            for _ in range(rounds):
                for name, room in made.items():
                    times[name].append(float(room.call("timed", [which, calls])))
            ratios = [statistics.median(a / b for a, b in zip(times[name], times["torch"]))
                      for name in made]
            rows.append([f"{batch} x {steps} x {width}, {heads}", kind,
                         *(f"{ratio:.2f}" for ratio in ratios)])
    return ["With lengths; each time is a ratio to PyTorch's. JAX's is compiled by `nnx.jit`, "
            "which looks into the layer at each call, TensorFlow's by `tf.function`.", "",
            *table(["batch x steps x hiddens, heads", "pass", "PyTorch", "JAX", "TensorFlow",
                    "MXNet"], rows)]


def measured_there():
    """The same, by the interpreter that has the frameworks."""
    there = subprocess.run([sys.executable, "tools/frameworks.py", "python"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()[-1]
    done = subprocess.run([there, "-m", "tools.bench.frameworks"], cwd=ROOT, check=True,
                          stdout=subprocess.PIPE, text=True, env=os.environ | QUIET)
    return done.stdout.splitlines()


if __name__ == "__main__":
    print("\n".join(table_of_times()))
