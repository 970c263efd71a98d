"""Dates: how they are written, which are tested, what can't be read, and the shipped weights."""
import datetime
import pathlib
import re

import pytest
import torch

from attention_lessons.laboratory import dates, results
from attention_lessons.laboratory.dates import (
    DATA, DIGITS, LAST, LETTERS, LONGEST, PIECES, date_reader, encode, encode_answers, exact, load,
    losses_of, pairs, read, save, shifted, train, written)
from attention_lessons.laboratory.stored import store

ROOT = pathlib.Path(__file__).parents[2]


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


def test_training_and_test_share_no_day_and_so_no_text():
    trained, tested = pairs(20_000, generator()), pairs(20_000, generator(1), test=True)
    assert not {text for text, _ in trained} & {text for text, _ in tested}
    days, test_days = ({datetime.date.fromisoformat(answer) for _, answer in part}
                       for part in (trained, tested))
    assert {day.toordinal() % 10 for day in days} == set(range(1, 10))
    assert {day.toordinal() % 10 for day in test_days} == {0}
    assert {day.year for day in days} == {day.year for day in test_days} == set(range(1950, 2050))
    texts = {text for text, _ in trained}
    assert len(texts) > 15_000 and len(days) > 13_000
    for part in ("sep ", "sept ", "/", ".", ", "):
        assert sum(part in text for text in texts) > 100
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

@pytest.fixture(scope="module")
def model():
    return load()


@pytest.mark.parametrize("text", [
    "march 5, 2021", "05/03/21", "Friday, 5 March 2021", "  5   MARCH 2021 ", "fri, 05.03.2021",
    "2021/03/05"])
def test_the_shipped_model_reads(model, text):
    reading = read(model, text)
    assert reading.answer == "2021-03-05" and not reading.problem
    assert repr(reading) == f"{' '.join(text.lower().split())} -> 2021-03-05"
    steps = len(reading.text)
    shapes = {name: tuple(weights.shape) for name, weights in reading.weights.items()}
    assert shapes == {"encoder.0.attention": (4, steps, steps),
                      "decoder.0.attention": (4, 10, 10), "decoder.0.cross": (4, 10, steps)}
    for weights in reading.weights.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


@pytest.mark.parametrize("text, words", [
    ("", r"^There is nothing to read: type a date, such as 5 march 2021\.$"),
    (" \n ", "nothing to read"), ("x" * 50, r"^These are 50 characters.* Type a shorter date\.$"),
    ("5 mars 2021 à midi", "never met à: .* English months and weekdays, and , . / -$"),
    ("5 марта", "never met а м р т:"),
    ("ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "🐕", "never met k q x z 🐕:"), ("\ud800", "never met"),
    (None, "^none ->"), ("9" * LONGEST, "->")])
def test_whatever_is_typed_gets_an_answer_or_a_sentence(model, text, words):
    reading = read(model, text)
    assert re.search(words, repr(reading)) and (reading.problem or reading.answer)


def test_no_date_is_called_none(model):
    reading = read(model, "may may may")
    assert reading.answer
    assert reading.problem == ("" if dates.is_date(reading.answer)
                               else "That is not a real date.")
    assert dates.is_date("2021-03-05")
    for text in ("2021-02-30", "20210305", "2021-W09-5", "--", ""):
        assert not dates.is_date(text)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_broken_model_is_not_blamed_on_the_date(broken):
    made = date_reader().eval()
    with torch.no_grad():
        made.encoder[0].attention.W_v.weight[0, 0] = broken
    reading = read(made, "5 march 2021")
    assert "scores are not finite" in reading.problem and "calendar" not in reading.problem
    assert not reading.answer and not reading.weights


# ---- weights ----

@pytest.mark.slow
def test_the_shipped_weights_are_small_and_good(model):
    assert (DATA / "dates.safetensors").stat().st_size < 400_000
    assert exact(model, pairs(2000, generator(7), test=True)) >= 0.98


def test_weights_come_back(tmp_path):
    other = date_reader(seed=5).eval()
    save(other, tmp_path / "w.safetensors")
    again = load(tmp_path / "w.safetensors")
    assert not again.training
    for stored, W in zip(again.parameters(), other.parameters(), strict=True):
        assert stored.dtype == torch.float32
        torch.testing.assert_close(stored, W, atol=1e-3, rtol=1e-3)  # half precision between


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
    before = (DATA / "07.json").read_text(encoding="utf-8")
    kept = results("07")
    monkeypatch.setattr("attention_lessons.laboratory.stored.DATA", tmp_path)
    store("07", kept["command"], kept["seeds"], iter(kept["rows"]))
    again = (tmp_path / "07.json").read_text(encoding="utf-8")
    assert again.partition("\n")[2] == before.partition("\n")[2]
    about = {"date": results("07")["date"], "torch": torch.__version__.partition("+")[0]}
    assert results("07") == kept | about and len(about["date"]) == 10
    assert len(capsys.readouterr().out.splitlines()) == len(kept["rows"])


@pytest.mark.parametrize("seed", [0, 5])
def test_training_takes_1200_batches_of_fresh_examples(monkeypatch, seed):
    model, calls = date_reader(), []
    monkeypatch.setattr(dates, "fit", lambda *about, **how: calls.append((about, how)) or [])
    train(model, **{"seed": seed} if seed else {})
    [((trained, loss_of_batch, *about), how)] = calls
    assert trained is model and about == [1200, 5e-3]
    assert how == {"one_cycle": True, "progress": ""}
    same = generator(seed)
    for _ in range(2):
        wanted = losses_of(model, pairs(64, same)).mean()
        torch.testing.assert_close(loss_of_batch(), wanted)
    for wrong in ({"steps": 0}, {"batch": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            train(model, **wrong)
