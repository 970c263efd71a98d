"""Whether time follows the formulas on this machine: `make bench`. Prints fitted powers of n with their errors, and ratios; fails where a power is off.

One thread of the CPU, the fastest of several runs; busy machines give useless numbers, so three attempts are made, and the best counts.
"""
import pathlib
import sys

import torch
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from d2l_ext.sequence import Convolution, Recurrence, SelfAttention, fastest, slope  # noqa: E402

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


def main():
    for attempt in range(1, ATTEMPTS + 1):
        times = measure()
        print(f"attempt {attempt}: d = {WIDTH}, one thread, PyTorch {torch.__version__}")
        print(f"{'':20}{'power of n':>16}   time / recurrence's at n = {', '.join(map(str, LENGTHS))}")
        for kind, seconds in times.items():
            power, error = slope(LENGTHS, seconds)
            ratios = "  ".join(f"{a / b:6.2f}" for a, b in zip(seconds, times["recurrence"]))
            print(f"{kind:20}{power:8.2f} ± {error:.2f}    {ratios}")
        off = wrong(times)
        if not off:
            return 0
        print(f"off by more than {TOLERANCE}: {', '.join(off)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
