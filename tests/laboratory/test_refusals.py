"""Bad calls to the laboratory, its dates, and the explorer that compares."""
import pytest
import torch
from test_bad_input import assert_refused

from attention_lessons import laboratory as lab
from attention_lessons.laboratory import dates
from attention_lessons.pieces import compare_explorer

READER, ANY = lab.reader("recurrence", 8, 8), torch.Generator()
BAD = [
    (lambda: lab.find_marked(1.5), "distance must be an integer, got 1.5", TypeError),
    (lambda: lab.find_marked(20)(ANY, 2, 8), "distance=20 must lie in 0..7 when length=8"),
    (lambda: lab.reader("transformer", 9, 9), "no kind 'transformer' ... 'self-attention'"),
    (lambda: lab.recaller("linear"), "no kind 'linear': choose from 'softmax'"),
    (lambda: lab.train(READER, lab.parity, -1, lengths=(4, 8)), "steps=-1 must be at least 0"),
    (lambda: lab.train(READER, lab.copy_back, 5, lengths=(1, 2)),
     "scores nothing at length ... , one of lengths=(1, 2): its loss would be NaN"),
    (lambda: lab.train(READER, lab.parity, 5, lengths=(9, 2)),
     "lengths=(9, 2) must be the shortest and the longest, at least 1"),
    (lambda: lab.train(READER, lab.parity, 5, lengths=(4, 8), batch=0), "batch=0"),
    (lambda: lab.accuracy(READER, lab.parity, 4, batch=0), "batch=0"),
    (lambda: lab.accuracy(READER, lab.parity, 0), "length=0"),
    (lambda: lab.recall(ANY, 2, 387), "length=387 makes 129 pairs"),
    (lambda: lab.try_encoding("sort", "none"), "no task 'sort' ... 'copy'"),
    (lambda: lab.try_encoding("copy", "RoPE"), "no encoding 'RoPE' ... 'rotary'"),
    (lambda: lab.try_encoding("copy", "none", layers=0), "layers=0 must be at least 1"),
    (lambda: lab.results("6"), "no lesson with results '6' ... '06'"),
    (lambda: dates.encode(["5 märz 2021"]), "'5 märz 2021' ... 'z ä'"),
    (lambda: dates.read(dates.date_reader(), " \n "), "a text is empty"),
    (lambda: dates.encode_answers(["2021-3-5"]), "'2021-3-5' must be 10 symbols"),
    (lambda: dates.train(dates.date_reader(), 0), "steps=0"),
    (lambda: dates.load("no.safetensors"), "no.safetensors", FileNotFoundError),
    (lambda: compare_explorer(num_heads=3), "num_heads=3 is not possible: choose from 1, 2, 4"),
]


@pytest.mark.parametrize("row", BAD)
def test_a_bad_call_is_refused_by_name_and_number(row):
    assert_refused(*row)
