"""`python -m tools.bench [attention|memory|latency ...]` measures, and writes README.md beside it.

Times are ratios of CPU time on one thread, the median over rounds in which all candidates took
turns; memory is the peak of a process of its own. Latency needs a browser.
"""
import pathlib
import platform
import re
import statistics
import sys
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple

import torch
from torch.nn import functional as F

from d2l_ext import MultiHeadAttention, causal, padding, to_torch_mha
from d2l_ext.sequence import CLOCK
from tools.bench import latency

README = pathlib.Path(__file__).with_name("README.md")
BARE, OURS, OUR_WEIGHTS = "bare call", "ours", "ours, weights"
TORCH, TORCH_WEIGHTS = "PyTorch's", "PyTorch's, weights"
NAMES = BARE, OURS, TORCH, OUR_WEIGHTS, TORCH_WEIGHTS
# batch, steps, hiddens, heads
SIZES = (2, 4, 100, 5), (8, 128, 256, 8), (2, 1024, 512, 8), (1, 4096, 512, 8)
HEAD = """# What things cost

Written by `make bench`: PyTorch {}, Python {}, {}, one thread.
Ratios are steadier than times, and hold for this kind of machine. The bare call is four linear
layers around PyTorch's `scaled_dot_product_attention`; ours is `MultiHeadAttention`, PyTorch's
`nn.MultiheadAttention`. "weights" asks for the attention weights too, which rules out the
fused call.
"""


class Case(NamedTuple):
    batch: int
    steps: int
    width: int
    heads: int
    mask: str  # "none", "lengths" or "causal"
    backward: bool

    def lengths(self):
        """From half of the steps to all of them."""
        if self.mask == "lengths":
            return torch.linspace(self.steps, self.steps // 2, self.batch + 1)[1:].long()

    def example(self):
        generator = torch.Generator().manual_seed(1)
        X = torch.randn(self.batch, self.steps, self.width, generator=generator)
        return X.requires_grad_(self.backward)


CASES = [Case(*size, mask, backward) for size, mask, backward in product(
    SIZES, ("none", "lengths", "causal"), (False, True))]


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
    theirs = ours.to_torch()
    return lambda X: theirs(X, X, X, **options)


def one_pass(attend, X):
    """The output on X; where X asks for gradients, all of these are computed too."""
    with torch.set_grad_enabled(X.requires_grad):
        output = attend(X)
        output = output[0] if isinstance(output, tuple) else output  # the weights beside it
    if X.requires_grad:
        output.backward(torch.ones_like(output))
    return output.detach()


def ratios(case, seconds=20):
    """CPU time of each candidate, as a ratio to the bare call. Each round runs each once, so that
    what slows a round slows all. Raises RuntimeError if they don't compute the same."""
    X = case.example()
    runs = {name: partial(one_pass, candidate(name, case), X) for name in NAMES}
    wanted = runs[BARE]()
    for name, run in runs.items():
        if not torch.allclose(run(), wanted, atol=1e-4, rtol=1e-3):
            raise RuntimeError(f"{case}: {name} has another output than the bare call")
    times, end = {name: [] for name in NAMES}, CLOCK() + seconds
    for done in range(200):
        if done >= 5 and CLOCK() > end:
            break
        for name, run in runs.items():
            start = CLOCK()
            run()
            times[name].append(CLOCK() - start)
    return [statistics.median(a / b for a, b in zip(times[name], times[BARE])) for name in NAMES]


def table(cases, cells):
    """A row for each case: what it is, and ``cells(case)``."""
    yield ["batch x steps x hiddens, heads", "mask", "pass", *NAMES]
    for case in cases:
        batch, steps, width, heads, mask, backward = case
        kind = "forward and backward" if backward else "forward"
        yield [f"{batch} x {steps} x {width}, {heads}", mask, kind, *cells(case)]


def attention():
    return table(CASES, lambda case: [f"{ratio:.2f}" for ratio in ratios(case)])


def memory():
    """Peaks of what needs enough memory to be seen in a process."""
    large = [case for case in CASES if case.steps >= 1024 and case.backward]
    return table(large, lambda case: [f"{peak(case, name):.0f} MB" for name in NAMES])


def peak(case, name):
    """Megabytes that a pass needs at its peak, measured in a process of its own."""
    with get_context("spawn").Pool(1, torch.set_num_threads, [1]) as process:
        return process.apply(peak_here, (case, name))


def peak_here(case, name):
    small = case._replace(batch=1, steps=2)
    one_pass(candidate(name, small), small.example())  # loads what is loaded once
    attend, X = candidate(name, case), case.example()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    before, _ = memory_now()
    one_pass(attend, X)
    return (memory_now()[1] - before) / 1024


def memory_now():
    """Kilobytes that Linux counts for this process, now and at the peak."""
    status = pathlib.Path("/proc/self/status").read_text()
    return [int(re.search(rf"{field}:\s+(\d+)", status)[1]) for field in ("VmRSS", "VmHWM")]


PARTS = {"attention": ("CPU time, as ratios to the bare fused call", attention),
         "memory": ("Memory at the peak of a forward and backward pass", memory),
         "latency": ("From a key to the frame that shows what it changed", latency.table)}


def store(title, rows):
    """Replace one part of README.md."""
    head, *rows = rows
    lines = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    print(f"{title}\n\n{lines}\n", flush=True)
    text = README.read_text(encoding="utf-8")
    parts = dict(re.findall(r"(?ms)^## ([^\n]+)\n\n(.*?)\s*(?=^## |\Z)", text)) | {title: lines}
    about = HEAD.format(torch.__version__, platform.python_version(), platform.machine())
    known = [f"## {title}\n\n{parts[title]}\n" for title, _ in PARTS.values() if title in parts]
    README.write_text("\n".join([about, *known]), encoding="utf-8")


def main(names):
    torch.set_num_threads(1)
    if wrong := set(names) - set(PARTS):
        sys.exit(f"There is no part {', '.join(sorted(wrong))}: choose from {', '.join(PARTS)}.")
    for name in names or ("attention", "memory"):
        title, measure = PARTS[name]
        store(title, measure())


if __name__ == "__main__":
    main(sys.argv[1:])
