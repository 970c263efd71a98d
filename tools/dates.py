"""Train the date readers of lesson 07 with three seeds; ship the first one's weights and a table of how good all are.

A maintainer's script: `python tools/dates.py` writes `d2l_ext/data/dates.safetensors` and `d2l_ext/laboratory_07.json`. It takes some minutes.
"""
import datetime
import json
import pathlib
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from d2l_ext import dates  # noqa: E402

SEEDS = 0, 1, 2


def main() -> None:
    torch.set_num_threads(1)
    unseen = dates.pairs(5000, torch.Generator().manual_seed(1_000), test=True)
    rows = []
    for seed in SEEDS:
        model, start = dates.date_reader(seed=seed), time.process_time()
        dates.train(model, seed=seed)
        rows.append({"seed": seed, "exact on 5000 unseen": round(dates.exact(model, unseen), 4), "processor seconds": round(time.process_time() - start)})
        if seed == SEEDS[0]:
            dates.save(model, dates.DATA / "dates.safetensors")
        print(json.dumps(rows[-1]), flush=True)
    about = {"command": "python tools/dates.py", "date": datetime.date.today().isoformat(), "torch": torch.__version__.split("+")[0], "seeds": list(SEEDS)}
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    (ROOT / "d2l_ext/laboratory_07.json").write_text(json.dumps(about)[:-1] + f',\n "rows": [\n  {lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
