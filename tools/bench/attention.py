"""`make bench` measures what attention costs, and writes README.md beside this file.

All numbers are ratios to the bare fused call. Times are CPU time on one thread, the median over
rounds in which all candidates took turns; memory is the peak of a process of its own.
"""
import pathlib
import platform
import resource
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


def candidates(case):
    """Self-attention as functions of X, by name, the bare call first; all have the same weights."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(case.width, case.heads)
    theirs, is_causal, lengths, masks = to_torch(ours), case.mask == "causal", None, {}
    if is_causal:
        masks["attn_mask"] = to_torch_mha(causal().tensor(case.steps, case.steps))
    if case.mask == "lengths":  # from all of the steps to half of them
        lengths = torch.linspace(case.steps, case.steps // 2, case.batch).long()
        masks["key_padding_mask"] = ~padding(lengths).tensor(1, case.steps)[:, 0]
    return {
        "bare call": lambda X: bare(ours, X, lengths, is_causal),
        "ours": lambda X: ours(X, X, X, lengths, causal=is_causal, need_weights=False),
        "PyTorch's": lambda X: theirs(
            X, X, X, **masks, is_causal=is_causal, need_weights=False),
        "ours, weights": lambda X: ours(X, X, X, lengths, causal=is_causal, need_weights=True),
        "PyTorch's, weights": lambda X: theirs(X, X, X, **masks, need_weights=True)}


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
    runs = {name: partial(one_pass, attend, X) for name, attend in candidates(case).items()}
    wanted = runs["bare call"]()
    for name, run in runs.items():
        if not torch.allclose(run(), wanted, atol=1e-4, rtol=1e-3):
            raise RuntimeError(f"{case}: {name} has another output than the bare call")
    rounds, end = [], CLOCK() + seconds
    while len(rounds) < 5 or CLOCK() < end:
        took = []
        for run in runs.values():
            start = CLOCK()
            run()
            took.append(CLOCK() - start)
        rounds.append([each / took[0] for each in took])
    return dict(zip(runs, map(statistics.median, zip(*rounds))))


def memory(case):
    """What a pass of each candidate needs at its peak, as a ratio to the bare call."""
    names = [*candidates(case)]
    with get_context("spawn").Pool(1, torch.set_num_threads, [1], maxtasksperchild=1) as processes:
        peaks = processes.map(partial(peak, case), names, chunksize=1)
    return {name: each / peaks[0] for name, each in zip(names, peaks)}


def peak(case, name):
    """What a pass adds to the most memory that this process has had."""
    small = case._replace(batch=1, steps=2)
    one_pass(candidates(small)[name], small.example())  # loads what is loaded once
    attend, X = candidates(case)[name], case.example()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    one_pass(attend, X)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def table(cases, measure):
    """In Markdown: what each case is, and ``measure(case)``."""
    rows = []
    for case in cases:
        batch, steps, width, heads, mask, backward = case
        rows.append({"batch x steps x hiddens, heads": f"{batch} x {steps} x {width}, {heads}",
                     "mask": mask, "pass": "forward and backward" if backward else "forward"})
        rows[-1] |= {name: f"{ratio:.2f}" for name, ratio in measure(case).items()}
        print(*rows[-1].values(), sep=" | ", flush=True)
    lines = [rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    torch.set_num_threads(1)
    README.write_text(PAGE.format(
        torch=torch.__version__, python=platform.python_version(), machine=platform.machine(),
        times=table(SPEED, times), memory=table(MEMORY, memory)), encoding="utf-8")
