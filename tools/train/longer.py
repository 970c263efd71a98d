"""Train what lesson 10 stores, with three seeds: twenty minutes.

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
    first, second = (Mask(lambda query, key, place=place: (key == place) & (query >= 0))
                     for place in (0, 1))
    masks = {"all but the first": lambda query, key: (key > 0) | (query < 1)}
    for size in (3, 4, 6):
        near = window(size - 1)
        masks |= {f"{size} keys": near, f"{size} keys and the first": near | first,
                  f"{size} keys and the second": near | second}
    right = {name: right_with(model, mask, unseen) for name, mask in masks.items()}
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
    training: as lesson 10 makes it."""
    pairs = torch.arange(0, head_size, 2, dtype=torch.float64)
    theta = 10_000 ** (-pairs / head_size)
    if by == "base":
        return (10_000 * factor ** (head_size / (head_size - 2))) ** (-pairs / head_size)
    turns = 16 * theta / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1) if by == "parts" else 0
    return kept * theta + (1 - kept) * theta / factor


def with_angles(model, stretch):
    """The model with these angles in all its layers."""
    for layer in model.modules():
        if isinstance(getattr(layer, "position", None), RotaryEmbedding):
            periods = 1 / angles(layer.head_size, **stretch)
            layer.position = RotaryEmbedding(layer.head_size, periods=periods)
    return model


def scores(model, task):
    """Accuracy within the length of training, None where nothing is scored there, and beyond."""
    near, far = (part.nanmean().item() for part in accuracy(model, task, LENGTH).split((16, 48)))
    return {"first 16": None if near != near else round(near, 3), "beyond 16": round(far, 3)}


def stretch_rows(task, seed):
    """A rotary reader, its angles stretched after training: as it is, and after 60 steps more with
    these angles at the new length."""
    trial, trained = TRIALS[task], try_encoding(task, "rotary", seed)
    yield first_key_row(task, trained, seed)
    for name, stretch in STRETCHES.items():
        for more_steps in (0, 60):
            model = with_angles(copy.deepcopy(trained), stretch)
            if more_steps:
                train(model, trial.task, more_steps, lengths=(LENGTH, LENGTH),
                      rate=trial.rate / 4, seed=seed + 100)
            yield {"task": task, "stretch": name, "seed": seed, "more steps": more_steps,
                   **scores(model, trial.task)}


def first_key_row(task, model, seed):
    """How much of late queries' weight goes to the first key, head by head, at length 16 (a fair
    share is .08)."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad(), record_attention(model) as recorded:
        model(TRIALS[task].task(generator, 64, 16)[0])
    shares = {name: calls[0][:, :, 8:, 0].mean((0, 2)) for name, calls in recorded.items()}
    return {"task": f"first key, {task}", "seed": seed,
            **{name: rounded(each) for name, each in shares.items()}}


def rows():
    for task, seed in product(("copy", "repeat"), SEEDS):
        yield from stretch_rows(task, seed)
    for num_kv_heads, seed in product((2, 1, 4), SEEDS):
        yield dates_row("dates", num_kv_heads, seed)
    for seed in SEEDS:
        yield dates_row("dates, wider", 1, seed)


def main():
    torch.set_num_threads(1)
    store("10", "python tools/train/longer.py", SEEDS, rows())


if __name__ == "__main__":
    main()
