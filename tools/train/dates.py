"""Train the date readers of lesson 07 with three seeds: some minutes.

`python tools/train/dates.py` writes into `laboratory/data/` the first one's weights,
dates.safetensors, and a table of how good all are and what their heads do, 07.json.
"""
import datetime
import time

import torch

from d2l_ext import heads, record_attention
from attention_lessons.laboratory import dates
from attention_lessons.laboratory.stored import store

SEEDS = 0, 1, 2


def examples(count, seed):
    """Dates that training does not see."""
    return dates.pairs(count, torch.Generator().manual_seed(seed), test=True)


def agreement(model):
    """The rank correlation of mask one with keep one, over all heads and within each layer."""
    unseen = examples(400, 7)
    measures = [measure(model, lambda: dates.exact(model, unseen))
                for measure in (heads.ablate_one, heads.keep_one)]
    layers = zip(*(measure.reshape(3, 4) for measure in measures))
    within = [round(heads.rank_correlation(*layer), 2) for layer in layers]
    return {"pooled": round(heads.rank_correlation(*measures), 2), "within": within}


def on_hyphens(model):
    """The mean weight on hyphens of each head of the decoder's self-attention, from the first
    hyphen on."""
    unseen = examples(400, 7)
    with torch.no_grad(), record_attention(model) as recorded:
        dates.scores_of(model, unseen)
    weights = recorded["decoder.0.attention"][0][:, :, 5:, [5, 8]]  # given there: hyphens
    return [round(share, 2) for share in weights.sum(-1).mean((0, 2)).tolist()]


def looks(model):
    """For texts such as "5 march 2021" two heads of cross-attention: the one that looks most at the
    part of the text that is being written, and the one whose closing costs most."""
    unseen = examples(400, 7)
    days = [datetime.date.fromisoformat(answer) for _, answer in unseen]
    pattern = dates.TABLE["patterns"].index("d MMMM y")
    same = [(dates.written(day, pattern), day.isoformat()) for day in days]
    with torch.no_grad(), record_attention(model) as recorded:
        dates.scores_of(model, same)
    shares = []
    for maps, (text, _) in zip(recorded["decoder.0.cross"][0], same):
        day, month, _ = map(len, text.split())
        year = maps[:, :4, day + month + 2:len(text)].sum(-1)
        name = maps[:, 5:7, day + 1:day + 1 + month].sum(-1)
        shares.append(torch.cat([year, name, maps[:, 8:, :day].sum(-1)], dim=1).mean(1))
    share = torch.stack(shares).mean(0)
    lost = heads.ablate_one(model, lambda: dates.exact(model, same))[8:]
    chosen = {"looks most": int(share.argmax()), "missed most": int(lost.argmax())}
    numbers = {"on the right part": share, "lost": lost}
    return {kind: {"head": head} | {what: round(values[head].item(), 2)
                                    for what, values in numbers.items()}
            for kind, head in chosen.items()}


def rows():
    unseen = examples(5000, 1_000)
    for seed in SEEDS:
        model, start = dates.date_reader(seed=seed), time.process_time()
        dates.train(model, seed=seed)
        seconds, exact = time.process_time() - start, dates.exact(model, unseen)
        if seed == SEEDS[0]:
            dates.save(model, dates.DATA / "dates.safetensors")
        yield {"seed": seed, "exact on 5000 unseen": round(exact, 4),
               "processor seconds": round(seconds), "on hyphens": on_hyphens(model),
               "mask one with keep one": agreement(model), **looks(model)}


def main():
    torch.set_num_threads(1)
    store("07", "python tools/train/dates.py", SEEDS, rows())


if __name__ == "__main__":
    main()
