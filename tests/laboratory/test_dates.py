"""Dates: how they are written, which are tested, what a model reads, and what is stored."""
import datetime

import pytest
import torch

from attention_lessons.laboratory import dates, results, stored
from attention_lessons.laboratory.dates import (
    DATA, DIGITS, LAST, LETTERS, LONGEST, PIECES, date_reader, encode, encode_answers, exact, load,
    losses_of, pairs, read, shifted, written)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# ---- texts ----

@pytest.mark.slow
def test_every_text_has_one_meaning():
    meaning = {}
    for ordinal in range(dates.FIRST, LAST + 1, 3):  # every weekday, day and month; all years
        day = datetime.date.fromordinal(ordinal)
        for pattern in range(len(PIECES)):
            text = written(day, pattern)
            assert meaning.setdefault(text, day) == day, text
    assert max(map(len, meaning)) == LONGEST


def test_training_and_test_share_no_day():
    for test, digits in ((False, range(1, 10)), (True, [0])):
        drawn = pairs(20_000, generator(), test=test)
        days = [datetime.date.fromisoformat(answer) for _, answer in drawn]
        assert {day.toordinal() % 10 for day in days} == set(digits)
        assert {day.year for day in days} == set(range(1950, 2050))
        for part in ("sep ", "sept ", "/", ".", ", "):
            assert sum(part in text for text, _ in drawn) > 100
    assert pairs(5, generator()) == pairs(5, generator()) != pairs(5, generator(1))


def test_numbers_and_back():
    source, lengths = encode(["5 mar", "may"])
    assert lengths.tolist() == [5, 3] and source[1, 3:].tolist() == [0, 0]
    assert "".join(LETTERS[i - 1] for i in source[0].tolist()) == "5 mar"
    assert 0 not in encode([" 05/03/21"])[0]
    (answer,) = answers = encode_answers(["2021-03-05"])
    assert "".join(DIGITS[i] for i in answer.tolist()) == "2021-03-05"
    assert shifted(answers).tolist() == [[dates.START, *answer.tolist()[:-1]]]
    for nothing in (*encode([]), encode_answers([])):
        assert nothing.dtype == torch.long and len(nothing) == 0


# ---- reading ----

@pytest.mark.parametrize("text", ["05/03/21", "  Friday, 5   MARCH 2021 ", "2021/03/05"])
def test_the_shipped_model_reads(text):
    reading = read(load(), text)
    assert repr(reading) == f"{' '.join(text.lower().split())} -> 2021-03-05"
    steps = len(reading.text)
    shapes = {name: tuple(weights.shape) for name, weights in reading.weights.items()}
    assert shapes == {"encoder.0.attention": (4, steps, steps),
                      "decoder.0.attention": (4, 10, 10), "decoder.0.cross": (4, 10, steps)}


# ---- scores and what is stored ----

def test_exact_counts_whole_dates(monkeypatch):
    """Of three answers one is right, one lacks a symbol, one lacks all."""
    answers = encode_answers(["2021-03-05", "1999-12-24", "1987-06-15"])
    written = answers.clone()
    written[1, 3], written[2] = 0, dates.START
    scores = torch.nn.functional.one_hot(written, 12).float()
    monkeypatch.setattr(dates, "scores_of", lambda model, examples: (scores, answers))
    assert exact(None, []) == pytest.approx(1 / 3)


def test_padding_changes_no_loss():
    """That of a short text is the same beside a long one."""
    examples = [("5/3/21", "2021-03-05"), ("wednesday, september 30, 2020", "2020-09-30")]
    model = date_reader()
    alone = losses_of(model, examples[:1])
    torch.testing.assert_close(losses_of(model, examples)[:1], alone)


def test_a_table_is_stored_as_it_is_read(monkeypatch, tmp_path, capsys):
    before, kept = (DATA / "09.json").read_text(encoding="utf-8"), results("09")
    monkeypatch.setattr(stored, "DATA", tmp_path)
    stored.store("09", kept["command"], kept["seeds"], iter(kept["rows"]))
    again, after = (tmp_path / "09.json").read_text(encoding="utf-8"), results("09")
    assert again.partition("\n")[2] == before.partition("\n")[2]
    about = {"date": after["date"], "torch": torch.__version__.partition("+")[0]}
    assert after == kept | about and len(about["date"]) == 10
    assert len(capsys.readouterr().out.splitlines()) == len(kept["rows"])
