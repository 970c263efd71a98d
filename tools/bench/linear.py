"""Time of layers whose memory doesn't grow, against causal attention with its fused call."""
from functools import partial

import torch

from d2l_ext.linear import DeltaRule, LinearAttention, SelectiveStateSpace
from d2l_ext.sequence import SelfAttention, slope

from .attention import one_pass, table
from .timing import interleaved, ratio

WIDTH, HEADS, CHUNK, LENGTHS = 256, 4, 64, (256, 512, 1024, 2048)
SOFTMAX = "attention"


def layers():
    """By name. One token at a time, and steps of a scan, are left to Python."""
    linear, delta = partial(LinearAttention, WIDTH, HEADS), partial(DeltaRule, WIDTH, HEADS)
    chunks = f"in chunks of {CHUNK}"
    return {
        SOFTMAX: SelfAttention(WIDTH, HEADS, causal=True),
        "linear, at once": linear(), f"linear, {chunks}": linear(chunk_size=CHUNK),
        "linear, by token": linear(chunk_size=1),
        f"decay of the input, {chunks}": linear(decay="input", chunk_size=CHUNK),
        f"delta rule, {chunks}": delta(chunk_size=CHUNK),
        "state space of 16, parallel scan": SelectiveStateSpace(WIDTH),
    }


def table_of_times():
    """Lines of Markdown: each time as a ratio to attention's, and its power of n."""
    torch.manual_seed(0)
    named, rows = layers(), []
    for kind in ("forward", "forward and backward"):
        times = {}
        for n in LENGTHS:
            X = torch.randn(1, n, WIDTH).requires_grad_(kind != "forward")
            times[n] = interleaved({name: partial(one_pass, layer, X)
                                    for name, layer in named.items()}, 20)
        for name in named:
            power, error = slope(LENGTHS, [min(times[n][name]) for n in LENGTHS])
            ratios = [f"{ratio(times[n], name, SOFTMAX):.2f}" for n in LENGTHS]
            rows.append([name, kind, *ratios, f"{power:.2f} ± {error:.2f}"])
    head = ["time / attention's", "pass", *(f"n = {n}" for n in LENGTHS), "power of n"]
    return [f"1 x n x {WIDTH}, {HEADS} heads, causal.", "", *table(head, rows)]
