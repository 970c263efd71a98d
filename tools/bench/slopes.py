"""Whether time follows the formulas on this machine: fitted powers of n with their errors.

One thread of the CPU, the fastest of several runs; busy machines give useless numbers, so three attempts are made, and the best counts.
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
    layers = {"convolution": Convolution(WIDTH), "recurrence": Recurrence(WIDTH), "attention products": products, "attention layer": SelfAttention(WIDTH)}
    times = fastest([(layer, n, WIDTH) for layer in layers.values() for n in LENGTHS], repeats=7)
    return {kind: times[i * len(LENGTHS):(i + 1) * len(LENGTHS)] for i, kind in enumerate(layers)}


def wrong(times):
    """The kinds whose power of n is off."""
    return [kind for kind, power in EXPECTED.items() if abs(slope(LENGTHS, times[kind])[0] - power) > TOLERANCE]


def table(times):
    """Lines of Markdown: kind, power, and times against the recurrence's."""
    lines = [f"| d = {WIDTH} | power of n | expected | time / recurrence's, at n = {', '.join(map(str, LENGTHS))} |", "|---|---|---|---|"]
    for kind, seconds in times.items():
        power, error = slope(LENGTHS, seconds)
        ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(seconds, times["recurrence"]))
        lines.append(f"| {kind} | {power:.2f} ± {error:.2f} | {EXPECTED.get(kind, 'between 1 and 2')} | {ratios} |")
    return lines


def attempt():
    """Times that follow the formulas, or those of the last attempt."""
    for _ in range(ATTEMPTS):
        times = measure()
        if not wrong(times):
            break
    return times
