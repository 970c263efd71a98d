"""`make bench` measures what attention costs, and writes README.md beside this file.

All numbers are ratios to the bare fused call. Times are CPU time on one thread, the median over
rounds in which all candidates took turns; memory is the peak of a process of its own (Linux).
"""
import pathlib
import platform
import re
import statistics
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple

import torch
from torch.nn import functional as F

from d2l_ext import MultiHeadAttention, causal, padding, to_torch, to_torch_mha
from d2l_ext.measurements import CLOCK

README = pathlib.Path(__file__).with_name("README.md")
BARE, OURS, OUR_WEIGHTS = "bare call", "ours", "ours, weights"
TORCH, TORCH_WEIGHTS = "PyTorch's", "PyTorch's, weights"
NAMES = BARE, OURS, TORCH, OUR_WEIGHTS, TORCH_WEIGHTS
# batch, steps, hiddens, heads
SIZES = (2, 4, 100, 5), (8, 128, 256, 8), (2, 1024, 512, 8), (2, 2048, 512, 8)
PAGE = """# What attention costs

Written by `make bench`: PyTorch {torch}, Python {python}, {machine}, one thread.
All numbers are ratios to the bare call: four linear layers around PyTorch's
`scaled_dot_product_attention`. Ours is `MultiHeadAttention`, PyTorch's `nn.MultiheadAttention`.
"weights" asks for the attention weights too, which rules out the fused call. With "lengths", the
longest sentence of the batch fills all steps and the shortest half of them.

## CPU time

{times}

## Memory at the peak of a forward and backward pass

{memory}
"""


class Case(NamedTuple):
    batch: int
    steps: int
    width: int
    heads: int
    mask: str  # "none", "lengths" or "causal"
    backward: bool

    def lengths(self):
        """From all of the steps to half of them."""
        if self.mask == "lengths":
            return torch.linspace(self.steps, self.steps // 2, self.batch).long()

    def example(self):
        generator = torch.Generator().manual_seed(1)
        X = torch.randn(self.batch, self.steps, self.width, generator=generator)
        return X.requires_grad_(self.backward)


SPEED = [Case(*size, mask, backward) for size, mask, backward in product(
    SIZES, ("none", "lengths", "causal"), (False, True))]
MEMORY = [case for case in SPEED if case.steps >= 1024 and case.backward]  # enough to be seen


def bare(layer, X, lengths, is_causal):
    """Four linear layers and PyTorch's fused call: no check, nothing that could be left out."""
    q, k, v = (W(X).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
               for W in (layer.W_q, layer.W_k, layer.W_v))
    mask = None
    if lengths is not None:
        mask = (torch.arange(X.shape[1]) < lengths[:, None])[:, None, None]
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
    return layer.W_o(heads.transpose(1, 2).flatten(2))


def candidate(name, case):
    """Self-attention as a function of X; all candidates have the same weights."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(case.width, case.heads)
    lengths, is_causal = case.lengths(), case.mask == "causal"
    if name == BARE:
        return lambda X: bare(ours, X, lengths, is_causal)
    if name in (OURS, OUR_WEIGHTS):
        weighs = {"causal": is_causal, "need_weights": name == OUR_WEIGHTS}
        return lambda X: ours(X, X, X, lengths, **weighs)
    weights = name == TORCH_WEIGHTS
    options = {"need_weights": weights, "is_causal": is_causal and not weights}
    if is_causal:
        options["attn_mask"] = to_torch_mha(causal().tensor(case.steps, case.steps))
    if lengths is not None:
        options["key_padding_mask"] = ~padding(lengths).tensor(1, case.steps)[:, 0]
    theirs = to_torch(ours)
    return lambda X: theirs(X, X, X, **options)


def one_pass(attend, X):
    """The output on X; where X asks for gradients, all of these are computed too."""
    with torch.set_grad_enabled(X.requires_grad):
        output = attend(X)
        output = output[0] if isinstance(output, tuple) else output  # the weights beside it
    if X.requires_grad:
        output.backward(torch.ones_like(output))
    return output.detach()


def times(case, seconds=5):
    """CPU time of each candidate, as a ratio to the bare call. Each round runs each once, so that
    what slows a round slows all. Raises RuntimeError if they don't compute the same."""
    X = case.example()
    runs = {name: partial(one_pass, candidate(name, case), X) for name in NAMES}
    wanted = runs[BARE]()
    for name, run in runs.items():
        if not torch.allclose(run(), wanted, atol=1e-4, rtol=1e-3):
            raise RuntimeError(f"{case}: {name} has another output than the bare call")
    took, end = {name: [] for name in NAMES}, CLOCK() + seconds
    while len(took[BARE]) < 5 or CLOCK() < end:
        for name, run in runs.items():
            start = CLOCK()
            run()
            took[name].append(CLOCK() - start)
    return [statistics.median(a / b for a, b in zip(took[name], took[BARE])) for name in NAMES]


def memory(case):
    """What a pass of each candidate needs at its peak, as a ratio to the bare call."""
    peaks = []
    for name in NAMES:
        with get_context("spawn").Pool(1, torch.set_num_threads, [1]) as process:
            peaks.append(process.apply(peak, (case, name)))
    return [each / peaks[0] for each in peaks]


def peak(case, name):
    """Kilobytes that a pass adds to this process."""
    small = case._replace(batch=1, steps=2)
    one_pass(candidate(name, small), small.example())  # loads what is loaded once
    attend, X = candidate(name, case), case.example()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    before, _ = memory_now()
    one_pass(attend, X)
    return memory_now()[1] - before


def memory_now():
    """Kilobytes that Linux counts for this process, now and at the peak."""
    status = pathlib.Path("/proc/self/status").read_text()
    return [int(re.search(rf"{field}:\s+(\d+)", status)[1]) for field in ("VmRSS", "VmHWM")]


def table(cases, measure):
    """In Markdown: what each case is, and ``measure(case)``."""
    head = ["batch x steps x hiddens, heads", "mask", "pass", *NAMES]
    rows = [head, ["---"] * len(head)]
    for case in cases:
        batch, steps, width, heads, mask, backward = case
        kind = "forward and backward" if backward else "forward"
        ratios = [f"{ratio:.2f}" for ratio in measure(case)]
        rows.append([f"{batch} x {steps} x {width}, {heads}", mask, kind, *ratios])
        print(*rows[-1], sep=" | ", flush=True)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    torch.set_num_threads(1)
    README.write_text(PAGE.format(
        torch=torch.__version__, python=platform.python_version(), machine=platform.machine(),
        times=table(SPEED, times), memory=table(MEMORY, memory)), encoding="utf-8")
