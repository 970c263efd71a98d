"""A small laboratory: tasks, models that read them, encodings compared, dates to read."""
from .encodings import ENCODINGS, TRIALS, Trial, attention_layer, try_encoding, try_encodings
from .readers import CONTROLS, MAKERS, READERS, Reader, accuracy, reader, train
from .stored import results
from .tasks import Task, copy_back, find_marked, parity, repeat, reverse

__all__ = ["CONTROLS", "ENCODINGS", "MAKERS", "READERS", "TRIALS", "Reader", "Task", "Trial",
           "accuracy", "attention_layer", "copy_back", "find_marked", "parity", "reader", "repeat",
           "results", "reverse", "train", "try_encoding", "try_encodings"]
