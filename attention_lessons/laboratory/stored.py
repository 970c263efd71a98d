"""What long trainings found, as they were stored."""
from __future__ import annotations

import datetime
import json
import pathlib
from collections.abc import Iterable, Sequence

import torch

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
