"""What long trainings found, as they were stored."""
from __future__ import annotations

import datetime
import json
import pathlib
from collections.abc import Iterable, Sequence

import torch
from torch import nn

from d2l_ext.checks import check_choice

DATA = pathlib.Path(__file__).with_name("data")


def results(lesson: str) -> dict:
    """The stored results of a lesson, such as "06".

    The command that made them, date, PyTorch's version, seeds, and rows. Raises ValueError for a
    lesson without any.
    """
    stored = {path.stem: path for path in sorted(DATA.glob("??.json"))}
    check_choice("lesson with results", lesson, stored)
    return json.loads(stored[lesson].read_text(encoding="utf-8"))


def store(lesson: str, command: str, seeds: Sequence[int], rows: Iterable[dict]) -> None:
    """Store what ``results`` returns, a row a line. Each row is printed as soon as it is there."""
    lines = []
    for row in rows:
        lines.append(json.dumps(row))
        print(lines[-1], flush=True)
    about = {"command": command, "date": datetime.date.today().isoformat(),
             "torch": torch.__version__.split("+")[0], "seeds": list(seeds)}
    found = ",\n  ".join(lines)
    text = json.dumps(about)[:-1] + f',\n "rows": [\n  {found}\n]}}\n'
    (DATA / f"{lesson}.json").write_text(text, encoding="utf-8")


def save_weights(model: nn.Module, path: str | pathlib.Path) -> None:
    """Store the weights as safetensors, in half precision."""
    from safetensors.torch import save_file
    save_file({name: W.half().contiguous() for name, W in model.state_dict().items()}, path)


def load_weights(model: nn.Module, path: str | pathlib.Path) -> None:
    """Give a model the weights that ``save_weights`` stored, and put it into evaluation mode.

    Raises FileNotFoundError where there is no such file.
    """
    from safetensors.torch import load_file
    model.load_state_dict({name: W.float() for name, W in load_file(path).items()})
    model.eval()
