"""A small laboratory: tasks, models that read them, encodings compared, dates to read."""
from . import dates
from .encodings import (ENCODINGS, TRIALS, Trial, attention_layer, trained_repeater, try_encoding,
                        try_encodings)
from .readers import (MAKERS, MEMORIES, READERS, RECALLERS, STACKS, Reader, accuracy, reader,
                      recaller, train)
from .stored import results
from .tasks import Task, copy_back, find_marked, parity, recall, repeat, reverse

__all__ = ["ENCODINGS", "MAKERS", "MEMORIES", "READERS", "RECALLERS", "STACKS", "TRIALS", "Reader",
           "Task", "Trial", "accuracy", "attention_layer", "copy_back", "dates", "find_marked",
           "parity", "reader", "recall", "recaller", "repeat", "results", "reverse", "train",
           "trained_repeater", "try_encoding", "try_encodings"]
