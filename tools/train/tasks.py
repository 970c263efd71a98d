"""Train again what lessons 06, 07 and 11 train, with three seeds: an hour.

`python tools/train/tasks.py`, with 06, 07 or 11 for one lesson alone, writes the rows, the date and
PyTorch's version into `laboratory/data/`. The rows vary a little with the processor and
with PyTorch's version.
"""
import sys
from itertools import product

import torch

from attention_lessons.laboratory import (
    MEMORIES, READERS, RECALLERS, STACKS, TRIALS, accuracy, find_marked, parity, reader, recall,
    recaller, train, try_encoding)
from attention_lessons.laboratory.stored import store

SEEDS = 0, 1, 2
RATE, RATES = 2e-3, (5e-4, 8e-3)  # the usual one, and others for the kinds in VARIED
VARIED = "self-attention", "dilated convolution", "recurrence", "GRU"
DISTANCES = 0, 1, 2, 3, 4, 5, 8, 12, 15, 16, 20, 24, 28, 30, 31


def stretches(right, bounds):
    """Mean accuracy over the positions between one bound and the next: {"16-31": 0.5, ...}."""
    return {f"{a}-{b - 1}": round(right[a:b].mean().item(), 3) for a, b in zip(bounds, bounds[1:])}


def marked_row(kind, seed, steps, rate=RATE):
    """Find the marked token: accuracy at each distance after training."""
    model = reader(kind, vocab_size=16, answers=8, seed=seed)
    train(model, find_marked(), steps, lengths=(32, 32), batch=32, rate=rate, seed=seed)
    found = {str(distance): round(accuracy(model, find_marked(distance), 32)[-1].item(), 3)
             for distance in DISTANCES}
    return {"task": "find the marked token", "reader": kind, "seed": seed, "steps": steps,
            "rate": rate, "accuracy by distance": found}


def parity_row(kind, seed, steps):
    """Running parity, trained at length 16: accuracy in stretches up to length 256."""
    model = reader(kind, vocab_size=2, answers=2, causal=True, seed=seed)
    train(model, parity, steps, lengths=(16, 16), batch=32, rate=RATE, seed=seed)
    right = accuracy(model, parity, 256)
    return {"task": "running parity", "reader": kind, "seed": seed, "steps": steps,
            "accuracy by position": stretches(right, (0, 8, 16, 32, 64, 128, 256))}


def recall_row(kind, seed, steps):
    """Associative recall, trained with 1 to 32 pairs: accuracy by the number of pairs."""
    model = recaller(kind, seed=seed)
    train(model, recall, steps, lengths=(3, 96), batch=32, rate=3e-3, seed=seed)
    right = {str(pairs): round(accuracy(model, recall, 3 * pairs).nanmean().item(), 3)
             for pairs in (4, 8, 16, 32, 64)}
    row = {"task": "recall", "reader": kind, "seed": seed, "steps": steps,
           "accuracy by pairs": right}
    return row | ({"rates": learned_rates(model)} if "delta rule" in kind else {})


def learned_rates(model):
    """The mean rate with which a recaller of the delta rule writes at keys, values, questions."""
    layer, rates, pairs = model.layers[1], [], 16
    watch = lambda _, X: rates.append(layer.gate(X[0]))
    with torch.no_grad(), layer.register_forward_pre_hook(watch):
        model(recall(torch.Generator().manual_seed(10_000), 512, 3 * pairs)[0])
    by_step = rates[0].mean((0, 2))
    parts = {"keys": by_step[0:2 * pairs:2], "values": by_step[1:2 * pairs:2],
             "questions": by_step[2 * pairs:]}
    return {name: round(part.mean().item(), 3) for name, part in parts.items()}


def encoding_row(name, encoding, seed):
    """A small encoder trained at lengths up to 16: accuracy at five lengths, the mean of each four
    positions; None where nothing is scored."""
    model, right = try_encoding(name, encoding, seed), {}
    for length in (16, 24, 32, 48, 64):
        parts = accuracy(model, TRIALS[name].task, length).reshape(-1, 4).nanmean(1)
        right[length] = [None if part != part else round(part, 3) for part in parts.tolist()]
    return {"task": name, "encoding": encoding, "seed": seed, "accuracy": right}


def lesson_06():
    for name, trial in TRIALS.items():
        for encoding, seed in product(trial.encodings, SEEDS):
            yield encoding_row(name, encoding, seed)


def lesson_07():
    for kind, seed in product(READERS, SEEDS):
        for steps in (200, 400, 1600):
            yield marked_row(kind, seed, steps)
        yield parity_row(kind, seed, steps=400)
    for kind, seed, steps in product(STACKS, SEEDS, (200, 400)):
        yield marked_row(kind, seed, steps)
    for kind, seed, rate in product(VARIED, SEEDS, RATES):
        yield marked_row(kind, seed, 400, rate)


def lesson_11():
    for kind, seed in product(RECALLERS, SEEDS):
        yield recall_row(kind, seed, steps=600)
    for seed in SEEDS:
        yield recall_row("delta rule", seed, steps=1800)
    for kind, seed in product(MEMORIES, SEEDS):
        yield marked_row(kind, seed, steps=400)
        yield parity_row(kind, seed, steps=400)


PARTS = {"06": lesson_06, "07": lesson_07, "11": lesson_11}


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or PARTS:
        store(name, "python tools/train/tasks.py", SEEDS, PARTS[name]())
