"""`python -m tools.bench [PART...]` measures, prints and writes README.md beside this file.

Numbers are ratios of CPU time on one thread, each the median over rounds in which all candidates
took turns; or megabytes at the peak of a process of its own. Without names all parts are measured
but `latency`, which needs a browser, and `frameworks`, which needs those.
"""
import pathlib
import platform
import re
import sys

import torch

from . import attention, frameworks, latency, linear, others, slopes

README = pathlib.Path(__file__).with_name("README.md")
PARTS = {
    "attention": ("CPU time, as ratios to the bare fused call", attention.times),
    "memory": ("Memory at the peak of a forward and backward pass", attention.memory),
    "positions": ("Positions", others.positions),
    "grouped": ("Heads that share keys and values", others.grouped),
    "windows": ("Windows", others.windows),
    "reach": ("Who can influence whom", others.reaching),
    "slopes": ("Time against length, as in notebook 06", slopes.table),
    "linear": ("Memories of one size, against attention", linear.table_of_times),
    "frameworks": ("Four frameworks, as in notebook 11", frameworks.measured_there),
    "import": ("The import", others.importing),
    "whole": ("The whole", others.whole),
    "latency": ("Answers of the interactive pieces to a key, in milliseconds", latency.answers),
}
HEAD = """# What things cost

Written by `make bench`: PyTorch {}, Python {}, {}, one thread.
Ratios are steadier than times, and hold for this kind of machine. The bare call is four linear
layers around PyTorch's `scaled_dot_product_attention`; ours is `MultiHeadAttention`, PyTorch's
`nn.MultiheadAttention`. "weights" asks for the attention weights too, which rules out the
fused call.
"""


def store(title, lines):
    """Replace one part of README.md."""
    parts = {}
    if README.exists():
        text = README.read_text(encoding="utf-8")
        parts = dict(re.findall(r"(?ms)^## ([^\n]+)\n\n(.*?)\s*(?=^## |\Z)", text))
    parts[title] = "\n".join(lines).strip()
    head = HEAD.format(torch.__version__, platform.python_version(), platform.machine())
    known = [f"## {title}\n\n{parts[title]}\n" for title, _ in PARTS.values() if title in parts]
    README.write_text("\n".join([head, *known]), encoding="utf-8")


def main(wanted):
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"There is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}.")
    torch.set_num_threads(1)
    for name in wanted or [name for name in PARTS if name not in ("latency", "frameworks")]:
        title, measure = PARTS[name]
        print(f"-- {title}", flush=True)
        lines = measure()
        print("\n".join(lines), flush=True)
        store(title, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
