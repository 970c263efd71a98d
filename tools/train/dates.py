"""Train the date readers of lesson 07 with three seeds: ship the first one's weights, and a table of
how good all are and what their heads do.

A maintainer's script: `python tools/train/dates.py` writes `d2l_ext/laboratory/data/dates.safetensors` and `d2l_ext/laboratory/data/07.json`. It takes some minutes.
"""
import datetime
import json
import pathlib
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from d2l_ext import heads, record_attention  # noqa: E402
from d2l_ext.laboratory import dates  # noqa: E402

SEEDS = 0, 1, 2


def agreement(model) -> dict:
    """The rank correlation of mask one with keep one, over all heads and within each layer."""
    unseen = dates.pairs(400, torch.Generator().manual_seed(7), test=True)
    measures = [measure(model, lambda: dates.exact(model, unseen))
                for measure in (heads.ablate_one, heads.keep_one)]
    layers = zip(*(measure.reshape(3, 4) for measure in measures))
    within = [round(heads.rank_correlation(*layer), 2) for layer in layers]
    return {"pooled": round(heads.rank_correlation(*measures), 2), "within": within}


def on_hyphens(model) -> list:
    """The weight of each head of the decoder's self-attention on hyphens, from the first one on."""
    unseen = dates.pairs(400, torch.Generator().manual_seed(7), test=True)
    with torch.no_grad(), record_attention(model) as recorded:
        dates.scores_of(model, unseen)
    weights = recorded["decoder.0.attention"][0][:, :, 5:, [5, 8]]  # given there: hyphens
    return [round(share, 2) for share in weights.sum(-1).mean((0, 2)).tolist()]


def looks(model) -> dict:
    """For texts such as "5 march 2021" two heads of cross-attention: the one that looks most at the part
    of the text that is being written, and the one that is missed most when closed.
    """
    unseen = dates.pairs(400, torch.Generator().manual_seed(7), test=True)
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


def main() -> None:
    torch.set_num_threads(1)
    unseen = dates.pairs(5000, torch.Generator().manual_seed(1_000), test=True)
    rows = []
    for seed in SEEDS:
        model, start = dates.date_reader(seed=seed), time.process_time()
        dates.train(model, seed=seed)
        seconds, exact = time.process_time() - start, dates.exact(model, unseen)
        rows.append({"seed": seed, "exact on 5000 unseen": round(exact, 4),
                     "processor seconds": round(seconds), "on hyphens": on_hyphens(model),
                     "mask one with keep one": agreement(model), **looks(model)})
        if seed == SEEDS[0]:
            dates.save(model, dates.DATA / "dates.safetensors")
        print(json.dumps(rows[-1]), flush=True)
    about = {"command": "python tools/train/dates.py", "date": datetime.date.today().isoformat(), "torch": torch.__version__.split("+")[0], "seeds": list(SEEDS)}
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    (ROOT / "d2l_ext/laboratory/data/07.json").write_text(json.dumps(about)[:-1] + f',\n "rows": [\n  {lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
