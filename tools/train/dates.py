"""Train the models of lesson 09: date readers with three seeds, and the repeater. Some minutes.

`python tools/train/dates.py` writes into `laboratory/data/` the weights of the first date reader
and of the repeater, and a table of how good the readers are and what their heads do, 09.json.
"""
import torch

from d2l_ext import heads, record_attention
from attention_lessons.laboratory import dates, try_encoding
from attention_lessons.laboratory.stored import DATA, save_weights, store

SEEDS = 0, 1, 2


def unseen(count, seed):
    """Dates that training does not see."""
    return dates.pairs(count, torch.Generator().manual_seed(seed), test=True)


def agreement(model, few):
    """The rank correlation of mask one with keep one, over all heads and within each layer."""
    measures = [measure(model, lambda: dates.exact(model, few))
                for measure in (heads.ablate_one, heads.keep_one)]
    layers = zip(*(measure.reshape(3, 4) for measure in measures))
    within = [round(heads.rank_correlation(*layer), 2) for layer in layers]
    return {"pooled": round(heads.rank_correlation(*measures), 2), "within": within}


def looks(model, few):
    """For texts such as "5 march 2021" two heads of cross-attention: the one that looks most at the
    part of the text that is being written, and the one whose closing costs most."""
    same, part = dates.day_month_year([answer for _, answer in few])
    with torch.no_grad(), record_attention(model) as recorded:
        dates.scores_of(model, same)
    on_part = (recorded["decoder.0.cross"][0] * part[:, None]).sum(-1).mean(0)
    share = on_part[:, part[0].any(-1)].mean(1)  # but for the hyphens
    lost = heads.ablate_one(model, lambda: dates.exact(model, same))[8:]
    return {kind: {"head": int(chosen.argmax()), "on the right part": best(share, chosen),
                   "lost": best(lost, chosen)}
            for kind, chosen in (("looks most", share), ("missed most", lost))}


def best(numbers, chosen):
    return round(numbers[chosen.argmax()].item(), 2)


def rows():
    few, tested = unseen(400, 7), unseen(5000, 1_000)
    for seed in SEEDS:
        model = dates.date_reader(seed=seed)
        dates.train(model, seed=seed)
        if seed == SEEDS[0]:
            save_weights(model, DATA / "dates.safetensors")
        yield {"seed": seed, "exact on 5000 unseen": round(dates.exact(model, tested), 4),
               "mask one with keep one": agreement(model, few), **looks(model, few)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    repeater = try_encoding("repeat", "rotary", layers=2)
    save_weights(repeater, DATA / "repeater.safetensors")
    store("09", "python tools/train/dates.py", SEEDS, rows())
