"""Time and memory of `MultiHeadAttention` against the bare fused call and PyTorch's class."""
import json
import pathlib
import subprocess
import sys
from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from d2l_ext import MultiHeadAttention, causal, padding, to_torch_mha

from .timing import interleaved, ratio

ROOT = pathlib.Path(__file__).parents[2]
BARE, OURS, OUR_WEIGHTS = "bare call", "ours", "ours, weights"
TORCH, TORCH_WEIGHTS = "PyTorch's", "PyTorch's, weights"
NAMES = BARE, OURS, TORCH, OUR_WEIGHTS, TORCH_WEIGHTS
# batch, steps, hiddens, heads
SIZES = (2, 4, 100, 5), (8, 128, 256, 8), (2, 1024, 512, 8), (1, 4096, 512, 8)


class Case(NamedTuple):
    """One comparison: a size, a mask, and whether gradients are computed too."""

    size: tuple[int, int, int, int]
    mask: str  # "none", "lengths" or "causal"
    backward: bool

    def lengths(self):
        """From half of the steps to all of them."""
        batch, n = self.size[:2]
        if self.mask == "lengths":
            return torch.linspace(n, n // 2, batch + 1)[1:].long()

    def example(self):
        generator = torch.Generator().manual_seed(1)
        return torch.randn(*self.size[:3], generator=generator).requires_grad_(self.backward)

    def cells(self):
        """The first cells of this case's row in a table."""
        batch, n, width, heads = self.size
        kind = "forward and backward" if self.backward else "forward"
        return [f"{batch} x {n} x {width}, {heads}", self.mask, kind]


CASES = [Case(size, mask, backward)
         for size in SIZES for mask in ("none", "lengths", "causal") for backward in (False, True)]
HEAD = ["batch x steps x hiddens, heads", "mask", "pass"]


class Bare(nn.Module):
    """Four linear layers and PyTorch's fused call: no check, nothing that could be left out."""

    def __init__(self, attention):
        super().__init__()
        self.heads = attention.num_heads
        self.inputs = nn.ModuleList([attention.W_q, attention.W_k, attention.W_v])
        self.output = attention.W_o

    def forward(self, X, lengths, is_causal):
        q, k, v = (layer(X).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer in self.inputs)
        mask = None
        if lengths is not None:
            mask = (torch.arange(X.shape[1]) < lengths[:, None])[:, None, None]
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
        return self.output(heads.transpose(1, 2).flatten(2))


def candidate(name, case):
    """Self-attention as a function of X; all candidates have the same weights."""
    _, n, width, heads = case.size
    torch.manual_seed(0)
    ours = MultiHeadAttention(width, heads)
    lengths, is_causal = case.lengths(), case.mask == "causal"
    if name == BARE:
        return partial(Bare(ours), lengths=lengths, is_causal=is_causal)
    if name == OURS:
        return lambda X: ours(X, X, X, lengths, causal=is_causal)
    if name == OUR_WEIGHTS:
        return lambda X: ours(X, X, X, lengths, causal=is_causal, need_weights=True)[0]
    weights = name == TORCH_WEIGHTS
    options = {"need_weights": weights, "is_causal": is_causal and not weights}
    if is_causal:
        options["attn_mask"] = to_torch_mha(causal().tensor(n, n))
    if lengths is not None:
        options["key_padding_mask"] = ~padding(lengths).tensor(1, n)[:, 0]
    theirs = ours.to_torch()
    return lambda X: theirs(X, X, X, **options)[0]


def one_pass(attend, X):
    """The output on X; where X asks for gradients, all of these are computed too."""
    with torch.set_grad_enabled(X.requires_grad):
        output = attend(X)
    if X.requires_grad:
        output.backward(torch.ones_like(output))
    return output.detach()


def compare(case):
    """CPU time of each candidate, as a ratio to the bare call. Raises RuntimeError if the
    candidates don't compute the same."""
    X = case.example()
    runs = {name: partial(one_pass, candidate(name, case), X) for name in NAMES}
    wanted = runs[BARE]()
    for name, run in runs.items():
        if not torch.allclose(run(), wanted, atol=1e-4, rtol=1e-3):
            raise RuntimeError(f"{case}: {name} has another output than the bare call")
    times = interleaved(runs)
    return {name: ratio(times, name, BARE) for name in NAMES}


def times():
    """The table of times, and the largest ratios."""
    rows, ratios = [], {}
    for case in CASES:
        ratios[case] = compare(case)
        rows.append(case.cells() + [f"{ratios[case][name]:.2f}" for name in NAMES])
    lines = table(HEAD + list(NAMES), rows)
    for name, other in ((OURS, BARE), (OURS, TORCH), (OUR_WEIGHTS, TORCH_WEIGHTS)):
        most = max(one[name] / one[other] for case, one in ratios.items() if case.size[1] >= 128)
        lines.append(f"- {name} / {other}: {most:.2f} at most, from 128 steps on")
    return lines


def table(head, rows):
    """Lines of Markdown."""
    rule = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in [head, rule, *rows]] + [""]


# ---- memory ----

def memory():
    """The table of peaks, for what needs enough memory to be seen in a process."""
    rows = []
    for case in CASES:
        if case.size[1] >= 1024 and case.backward:
            peaks = [peak(case, name) for name in NAMES]
            rows.append([*case.cells(), *(f"{megabytes:.0f} MB" for megabytes in peaks),
                         f"{peaks[1] / peaks[0]:.2f}"])
    return table([*HEAD, *NAMES, f"{OURS} / {BARE}"], rows)


def peak(case, name):
    """Megabytes that a pass needs at its peak, measured in a process of its own."""
    command = [sys.executable, "-m", "tools.bench.attention", json.dumps([case, name])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return float(done.stdout)


def peak_here(case, name):
    small = case._replace(size=(1, 2, *case.size[2:]))
    one_pass(candidate(name, small), small.example())  # loads what is loaded once
    attend, X = candidate(name, case), case.example()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    before = process_memory("VmRSS")
    one_pass(attend, X)
    return (process_memory("VmHWM") - before) / 1024


def process_memory(field):
    """Kilobytes, from Linux's account of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])


if __name__ == "__main__":
    torch.set_num_threads(1)
    (size, mask, backward), name = json.loads(sys.argv[1])
    print(peak_here(Case(tuple(size), mask, backward), name))
