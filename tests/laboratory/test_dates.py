"""Dates: the table, the split, what can't be read, the shipped weights, and that the code makes a model as good."""
import datetime
import json
import re

import pytest
import safetensors
import torch

from d2l_ext.laboratory import dates
from d2l_ext.laboratory.dates import DATA, LAST, LETTERS, LONGEST, PIECES, TABLE, date_reader, encode, exact, load, losses_of, pairs, read, save, shifted, train, written
from d2l_ext.laboratory import results

MARCH = datetime.date(2021, 3, 5)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# ---- texts ------------------------------------------------------------------------------------------------------------------------------

def test_the_issue_s_ways_of_writing_are_there():
    ways = {written(MARCH, pattern, spelling) for pattern in range(len(PIECES)) for spelling in (0, 1)}
    assert {"march 5, 2021", "05/03/21", "friday, 5 march 2021", "05.03.2021", "2021-03-05", "5 mar 2021"} <= ways
    assert all("".join(pieces) == pattern for pieces, pattern in zip(PIECES, TABLE["patterns"]))


def test_every_text_has_one_meaning():
    meaning = {}
    for ordinal in range(dates.FIRST, LAST + 1, 3):  # every weekday, day and month; all years
        day = datetime.date.fromordinal(ordinal)
        for pattern in range(len(PIECES)):
            text = written(day, pattern)
            assert meaning.setdefault(text, day) == day, text
            assert len(text) <= LONGEST
    assert max(map(len, meaning)) == LONGEST


def test_a_month_first_pattern_would_be_noticed():
    pieces = re.findall(r"[Mdy]+|/", "MM/dd/y")
    us = "".join({"MM": "03", "dd": "05", "y": "2021"}.get(piece, piece) for piece in pieces)
    assert us in {written(datetime.date(2021, 5, 3), pattern) for pattern in range(len(PIECES))} and "MM/dd/y" not in TABLE["patterns"]


def test_training_and_test_share_no_day_and_so_no_text():
    trained, tested = pairs(20_000, generator()), pairs(20_000, generator(1), test=True)
    assert not {text for text, _ in trained} & {text for text, _ in tested}
    days = [{datetime.date.fromisoformat(answer).toordinal() for _, answer in part} for part in (trained, tested)]
    assert all(day % 10 for day in days[0]) and not any(day % 10 for day in days[1])
    assert all(1950 <= datetime.date.fromordinal(day).year <= 2049 for part in days for day in part)
    assert len({text for text, _ in trained}) > 15_000 and len(days[0]) > 13_000


def test_examples_depend_on_the_seed_alone():
    assert pairs(5, generator()) == pairs(5, generator()) != pairs(5, generator(1))


def test_numbers_and_back():
    source, lengths = encode(["5 mar", "march"])
    assert lengths.tolist() == [5, 5] and "".join(LETTERS[i - 1] for i in source[0].tolist()) == "5 mar"
    assert encode(["5", "mar"])[0][0].tolist()[1:] == [0, 0] and 0 not in encode(["05/03/21"])[0]
    answers = dates.encode_answers(["2021-03-05"])
    assert "".join(dates.DIGITS[i] for i in answers[0].tolist()) == "2021-03-05"
    assert shifted(answers).tolist() == [[dates.START, *answers[0].tolist()[:-1]]]
    for nothing in (*encode([]), dates.encode_answers([])):
        assert nothing.dtype == torch.long and len(nothing) == 0


# ---- reading ----------------------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def model():
    return load()


@pytest.mark.parametrize("text", ["march 5, 2021", "05/03/21", "Friday, 5 March 2021", "  5   MARCH 2021 ", "fri, 05.03.2021", "2021/03/05"])
def test_the_shipped_model_reads(model, text):
    reading = read(model, text)
    assert reading.answer == "2021-03-05" and not reading.problem and repr(reading).endswith("-> 2021-03-05")
    steps = len(reading.text)
    assert {name: tuple(weights.shape) for name, weights in reading.weights.items()} == {
        "encoder.0.attention": (4, steps, steps), "decoder.0.attention": (4, 10, 10), "decoder.0.cross": (4, 10, steps)}
    assert all(torch.allclose(weights.sum(-1), torch.tensor(1.0), atol=1e-5) for weights in reading.weights.values())


@pytest.mark.parametrize("text, words", [("", "nothing to read"), (" \n ", "nothing to read"), ("x" * 50, "50 characters"), ("5 mars 2021 à midi", "never met à"),
                                         ("5 марта", "never met"), ("🐕", "never met"), ("\ud800", "never met"), (None, "^none ->|never met|day"), (20210305, "")])
def test_whatever_is_typed_gets_a_sentence(model, text, words):
    reading = read(model, text)
    assert re.search(words, repr(reading)) and (reading.problem or reading.answer)


def test_no_date_is_called_none(model):
    reading = read(model, "may may may")
    assert reading.answer and (reading.problem or datetime.date.fromisoformat(reading.answer))
    assert dates.is_date("2021-03-05") and not any(map(dates.is_date, ("2021-02-30", "20210305", "2021-W09-5", "--", "")))


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_broken_model_is_not_blamed_on_the_date(broken):
    made = date_reader().eval()
    with torch.no_grad():
        made.encoder[0].attention.W_v.weight[0, 0] = broken
    reading = read(made, "5 march 2021")
    assert "scores are not finite" in reading.problem and "calendar" not in reading.problem
    assert not reading.answer and not reading.weights


def test_one_pass_scores_what_writing_writes(model):
    model = date_reader(seed=3).eval()
    train(model, 150)
    examples = pairs(200, generator(5), test=True)
    source, lengths = encode([text for text, _ in examples])
    right = (model.generate(source, dates.STEPS, dates.START, lengths) == dates.encode_answers([answer for _, answer in examples])).all(1).float().mean().item()
    assert exact(model, examples) == right and 0 < right < 1  # half trained, so that both happen
    assert losses_of(model, examples).shape == (200,)


# ---- weights ----------------------------------------------------------------------------------------------------------------------------

def test_the_shipped_weights_are_small_and_good(model):
    path = DATA / "dates.safetensors"
    assert path.stat().st_size < 400_000
    with safetensors.safe_open(path, "pt") as file:
        assert set(file.keys()) == set(model.state_dict())
    assert exact(model, pairs(2000, generator(7), test=True)) >= 0.98


def test_three_seeds_are_in_the_table():
    table = results("07")
    assert [row["seed"] for row in table["rows"]] == [0, 1, 2] == table["seeds"]
    assert all(row["exact on 5000 unseen"] >= 0.98 and row["processor seconds"] < 60 for row in table["rows"])
    assert json.dumps(table)


def test_weights_come_back(tmp_path, model):
    other = date_reader(seed=5).eval()
    save(other, tmp_path / "w.safetensors")
    again = load(tmp_path / "w.safetensors")
    source, lengths = encode(["5 may 2021"])
    given = torch.zeros(1, 3, dtype=torch.long)
    assert torch.allclose(again(source, given, lengths), other(source, given, lengths), atol=0.05) and not again.training
    assert not torch.allclose(again(source, given, lengths), model(source, given, lengths), atol=0.05)


def test_training_is_repeatable_and_learns():
    losses = [train(date_reader(seed=1), 30, seed=1) for _ in range(2)]
    assert losses[0] == losses[1] and losses[0][-1] < 0.75 * losses[0][0]


def test_the_code_makes_a_model_as_good():
    """The very call that made the shipped weights; two thirds of a minute."""
    model = date_reader(seed=0)
    train(model, seed=0)
    assert exact(model, pairs(2000, generator(7), test=True)) >= 0.98
