"""A small laboratory: tasks, models that read them, encodings compared, dates to read."""
# ruff: noqa: F401
from . import dates
from .encodings import ENCODINGS, TRIALS, Trial, attention_layer, trained_repeater, try_encoding
from .readers import (
    MAKERS, MEMORIES, READERS, RECALLERS, STACKS, Reader, accuracy, reader, recaller, train)
from .stored import results
from .tasks import Task, copy_back, find_marked, parity, recall, repeat, reverse
