"""Whether time follows the formulas on this machine: fitted powers of n with their errors.

One thread of the CPU, the fastest of several runs. A busy machine spoils the numbers, so there are
up to three attempts, until one agrees with the formulas.
"""
import torch
from torch.nn import functional as F

from d2l_ext.sequence import Convolution, Recurrence, SelfAttention, fastest, slope

WIDTH, LENGTHS = 256, (512, 861, 1448, 2435, 4096)  # the window that lesson 06 names
EXPECTED = {"convolution": 1, "recurrence": 1, "attention products": 2}
TOLERANCE, ATTEMPTS = 0.15, 3


def products(X):
    return F.scaled_dot_product_attention(X[:, None], X[:, None], X[:, None])


def measure():
    """Seconds by kind, for each of the lengths."""
    torch.manual_seed(0)
    layers = {"convolution": Convolution(WIDTH), "recurrence": Recurrence(WIDTH),
              "attention products": products, "attention layer": SelfAttention(WIDTH)}
    runs = [(layer, n, WIDTH) for layer in layers.values() for n in LENGTHS]
    times = iter(fastest(runs, repeats=7))
    return {kind: [next(times) for _ in LENGTHS] for kind in layers}


def wrong(times):
    """The kinds whose power of n differs from the formula's."""
    return [kind for kind, power in EXPECTED.items()
            if abs(slope(LENGTHS, times[kind])[0] - power) > TOLERANCE]


def table():
    """Lines of Markdown: kind, power, and times against the recurrence's."""
    for _ in range(ATTEMPTS):
        times = measure()
        if not wrong(times):
            break
    lengths = ", ".join(map(str, LENGTHS))
    lines = [f"| d = {WIDTH} | power of n | expected | time / recurrence's, at n = {lengths} |",
             "|---|---|---|---|"]
    for kind, seconds in times.items():
        power, error = slope(LENGTHS, seconds)
        ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(seconds, times["recurrence"]))
        expected = EXPECTED.get(kind, "between 1 and 2")
        lines.append(f"| {kind} | {power:.2f} ± {error:.2f} | {expected} | {ratios} |")
    return lines
