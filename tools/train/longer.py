"""Train what lessons 06 and 10 show of longer texts and fewer keys, with three seeds: 20 minutes.

`python tools/train/longer.py` writes 10.json into `laboratory/data/`: date readers whose
heads share keys and values, and rotary readers whose angles are stretched beyond training length.
The rows vary a little with the processor and with PyTorch's version.
"""
import copy
import math
from itertools import product

import torch

from d2l_ext import Mask, RotaryEmbedding, record_attention, window
from attention_lessons.laboratory import TRIALS, accuracy, dates, train, try_encoding
from attention_lessons.laboratory.stored import store

SEEDS = 0, 1, 2
WIDER = 327  # units of a feed-forward network, 256 otherwise
LENGTH, FACTOR = 64, 4  # four times the longest in training
STRETCHES = {
    "as trained": {"factor": 1},
    "positions": {},
    "base": {"by": "base"},
    "parts": {"by": "parts"},
    "parts, turns 1/4 to 1": {"by": "parts", "low": 0.25, "high": 1},
}
FIRST, SECOND = Mask(lambda query, key: key == 0), Mask(lambda query, key: key == 1)
SINKS = {
    "3 keys": window(2), "3 keys and the first": window(2) | FIRST,
    "4 keys": window(3), "4 keys and the first": window(3) | FIRST,
    "4 keys and the second": window(3) | SECOND,
}


def dates_row(task, num_kv_heads, seed):
    """A date reader of four heads: the share of unseen dates that it writes without a mistake. In
    the control of equal parameters, "dates, wider", heads share one pair, and the feed-forward
    networks have as many units more as the four matrices lose, to 0.1 %."""
    model = dates.date_reader(seed=seed, num_kv_heads=num_kv_heads)
    if task == "dates, wider":
        torch.manual_seed(seed)
        for block in (*model.encoder, *model.decoder):
            block.network = torch.nn.Sequential(
                torch.nn.Linear(64, WIDER), torch.nn.ReLU(), torch.nn.Linear(WIDER, 64))
    dates.train(model, seed=seed)
    unseen = dates.pairs(5000, torch.Generator().manual_seed(1_000), test=True)
    row = {"task": task, "kv heads": num_kv_heads, "seed": seed,
           "parameters": sum(p.numel() for p in model.parameters()),
           "exact on 5000 unseen": round(dates.exact(model, unseen), 4)}
    return row | (first_key(model, unseen[:1000]) if num_kv_heads == 4 else {})


def first_key(model, unseen):
    """What the decoder makes of its first key, the start symbol: its share of the weight of the
    head that gives it most, for each query; what it is worth to keep it beside a window; and which
    symbols are right in a window of three keys."""
    with torch.no_grad(), record_attention(model) as recorded:
        dates.scores_of(model, unseen)
    first_keys = recorded["decoder.0.attention"][0][..., 0].mean(0)  # (heads, queries)
    right = {name: right_with(model, mask, unseen) for name, mask in SINKS.items()}
    exact = {name: round(each.all(1).float().mean().item(), 3) for name, each in right.items()}
    return {"by query": rounded(first_keys.amax(0)), "exact with": exact,
            "right with 3 keys": rounded(right["3 keys"].float().mean(0))}


def rounded(numbers):
    return [round(number, 3) for number in numbers.tolist()]


@torch.no_grad()
def right_with(model, mask, unseen):
    """Which symbols (dates, 10) are right where the decoder's self-attention has a mask, too."""
    with model.decoder[0].attention.register_forward_pre_hook(
            lambda module, args, options: (args, options | {"mask": mask}), with_kwargs=True):
        scores, answers = dates.scores_of(model, unseen)
    return scores.argmax(-1) == answers


def angles(head_size, factor=FACTOR, by="positions", low=1, high=32):
    """What each pair turns by in a step, for texts ``factor`` times as long as the 16 tokens of
    training: as lesson 06 makes it."""
    pairs = torch.arange(0, head_size, 2, dtype=torch.float64)
    theta = 10_000 ** (-pairs / head_size)
    if by == "base":
        return (10_000 * factor ** (head_size / (head_size - 2))) ** (-pairs / head_size)
    turns = 16 * theta / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1) if by == "parts" else 0
    return kept * theta + (1 - kept) * theta / factor


def stretch_rows(task, seed):
    """A rotary reader, its angles stretched after training: its accuracy beyond the length of
    training, as it is, and after 60 steps more with these angles at the new length."""
    trial, trained = TRIALS[task], try_encoding(task, "rotary", seed)
    for (name, stretch), more_steps in product(STRETCHES.items(), (0, 60)):
        model = copy.deepcopy(trained)
        for layer in model.layers:
            layer.attention.position = RotaryEmbedding(16, periods=1 / angles(16, **stretch))
        train(model, trial.task, more_steps, lengths=(LENGTH, LENGTH), rate=trial.rate / 4,
              seed=seed + 100)
        beyond = accuracy(model, trial.task, LENGTH)[16:].nanmean().item()
        yield {"task": task, "stretch": name, "seed": seed, "more steps": more_steps,
               "beyond 16": round(beyond, 3)}


def rows():
    for task, seed in product(("copy", "repeat"), SEEDS):
        yield from stretch_rows(task, seed)
    for num_kv_heads, seed in product((2, 1, 4), SEEDS):
        yield dates_row("dates", num_kv_heads, seed)
    for seed in SEEDS:
        yield dates_row("dates, wider", 1, seed)


if __name__ == "__main__":
    torch.set_num_threads(1)
    store("10", "python tools/train/longer.py", SEEDS, rows())
