"""What long trainings found, as they were stored."""
from __future__ import annotations

import json
import pathlib

from .._validate import check_choice

DATA = pathlib.Path(__file__).with_name("data")


def results(lesson: str) -> dict:
    """The stored results of a lesson, such as "06".

    The command that made them, date, PyTorch's version, seeds, and rows. Raises ValueError for a
    lesson without any.
    """
    stored = {path.stem: path for path in sorted(DATA.glob("??.json"))}
    check_choice("lesson with results", lesson, stored)
    return json.loads(stored[lesson].read_text(encoding="utf-8"))
