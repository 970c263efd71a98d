"""What long trainings found, as they were stored."""
from __future__ import annotations

import json
import pathlib

from .._validate import check_choice

DATA = pathlib.Path(__file__).with_name("data")


def results(lesson: str) -> dict:
    """What `make laboratory`, or for 07 tools/train/dates.py, stored for a lesson, such as "06": command, date, PyTorch's version, seeds, and rows."""
    stored = {path.stem: path for path in sorted(DATA.glob("??.json"))}
    check_choice("lesson with results", lesson, stored)
    return json.loads(stored[lesson].read_text(encoding="utf-8"))
