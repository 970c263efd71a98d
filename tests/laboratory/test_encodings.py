"""The laboratory of 05: tasks ask what they say, each encoding stands where it should, and rows of the committed table can be made again."""
import pytest
import torch
from test_tasks import generator, script

from d2l_ext import ALiBi, LearnedPositionalEncoding, PositionalEncoding, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
from d2l_ext.laboratory import ENCODINGS, TRIALS, Trial, accuracy, copy_back, repeat, results, reverse, try_encoding

STORED = results("05")


# ---- claims about a task; each is asked of ours, and of wrong ones ----------------------------------------------------------------------

def asks_for(target, task, length=9):
    """``target(inputs, i)`` is the answer at position i, None where nothing is scored."""
    inputs, targets, scored = task(generator(), 20, length)
    for row, answers, counts in zip(inputs.tolist(), targets.tolist(), scored.tolist()):
        for i, (answer, counted) in enumerate(zip(answers, counts, strict=True)):
            wanted = target(row, i)
            assert counted == (wanted is not None) and (not counted or answer == wanted)
    return inputs


def copies_two_back(task):
    assert set(asks_for(lambda row, i: row[i - 2] if i >= 2 else None, task).flatten().tolist()) == set(range(10))


def reverses(task):
    assert set(asks_for(lambda row, i: row[8 - i], task).flatten().tolist()) == set(range(10))


def repeats(task):
    for length in (8, 9):
        inputs = asks_for(lambda row, i: row[i - 3] if 4 <= i < 7 else None, task, length)
        assert inputs.shape == (20, 8) and torch.equal(inputs[:, :4], inputs[:, 4:]) and inputs.max() > 20


CLAIMS = [(copies_two_back, copy_back), (reverses, reverse), (repeats, repeat)]


def changed(task, inputs=lambda X: X, targets=lambda Y: Y, scored=lambda S: S):
    return lambda *arguments: tuple(change(part) for change, part in zip((inputs, targets, scored), task(*arguments)))


MISTAKES = [(copies_two_back, changed(copy_back, targets=lambda Y: Y.roll(1, 1))), (copies_two_back, changed(copy_back, targets=lambda Y: Y.roll(-4, 1))),
            (copies_two_back, changed(copy_back, scored=torch.ones_like)), (reverses, changed(reverse, targets=lambda Y: Y.flip(1))), (reverses, changed(reverse, targets=lambda Y: Y.roll(1, 1))),
            (repeats, changed(repeat, inputs=lambda X: X.flip(1))), (repeats, changed(repeat, targets=lambda Y: Y.roll(1, 1))), (repeats, changed(repeat, scored=torch.ones_like))]


@pytest.mark.parametrize("claim, task", CLAIMS, ids=lambda x: getattr(x, "__name__", None))
def test_tasks_hold_every_claim(claim, task):
    claim(task)


@pytest.mark.parametrize("claim, task", MISTAKES)
def test_a_wrong_task_is_caught(claim, task):
    with pytest.raises(AssertionError):
        claim(task)


def test_a_causal_reader_of_repeat_cannot_see_its_answer():
    inputs, targets, scored = repeat(generator(), 1, 12)
    for i in range(12):
        if scored[0, i]:
            assert targets[0, i] == inputs[0, i + 1], "the answer is the next input: without a causal mask it could be read off"
    assert TRIALS["repeat"].causal and not TRIALS["copy"].causal


# ---- encodings ----------------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def untrained(monkeypatch):
    for name, trial in TRIALS.items():
        monkeypatch.setitem(TRIALS, name, trial._replace(steps=0))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding_stands_where_it_should(encoding, untrained):
    kinds = {"Shaw": ShawRelativeKeys, "T5": T5RelativeBias, "ALiBi": ALiBi, "ALiBi, causal": ALiBi, "rotary": RotaryEmbedding}
    absolute = {"sinusoidal": PositionalEncoding, "learned": LearnedPositionalEncoding}
    model = try_encoding("copy", encoding)
    (layer,) = model.layers
    assert type(layer.attention.position) is kinds.get(encoding, type(None)) and type(model.positions) is absolute.get(encoding, torch.nn.Identity)
    assert layer.causal == encoding.endswith("causal")
    assert model(torch.zeros(1, 64, dtype=torch.long)).shape == (1, 64, 10)


def test_under_a_mask_for_all_no_form_stands_twice(untrained):
    assert TRIALS["copy"].encodings == list(ENCODINGS)
    assert TRIALS["repeat"].encodings == ["none, causal", "sinusoidal", "learned", "Shaw", "T5", "ALiBi, causal", "rotary"]
    for encoding in TRIALS["repeat"].encodings:
        layers = try_encoding("repeat", encoding).layers
        assert len(layers) == 2 and all(layer.causal for layer in layers)
    first, second = (layer.attention.position for layer in try_encoding("repeat", "T5").layers)
    assert first.right == 0 and first is not second


def test_only_the_arguments_decide(untrained):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one, other, third = try_encoding("copy", "Shaw", 0), try_encoding("copy", "Shaw", 0), try_encoding("copy", "Shaw", 1)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(map(torch.equal, one.parameters(), other.parameters())) and not torch.equal(one.embedding.weight, third.embedding.weight)
    assert try_encoding("copy", "T5", position=lambda: ALiBi(4)).layers[0].attention.position.slopes == ALiBi(4).slopes


def test_training_sees_no_more_than_sixteen_positions():
    assert all(max(trial.lengths) == 16 and isinstance(trial, Trial) for trial in TRIALS.values())


# ---- the committed table --------------------------------------------------------------------------------------------------------------------

def furthest(row, other):
    """The largest difference between two rows of the table, in accuracy."""
    pairs = [(a, b) for length in row["accuracy"] for a, b in zip(row["accuracy"][length], other["accuracy"][str(length)], strict=True)]
    assert all((a is None) == (b is None) for a, b in pairs)
    return max(abs(a - b) for a, b in pairs if a is not None)


def stored(task, encoding, seed=0):
    return next(row for row in STORED["rows"] if (row["task"], row["encoding"], row["seed"]) == (task, encoding, seed))


def test_every_task_encoding_and_seed_has_its_row():
    assert [(row["task"], row["encoding"], row["seed"]) for row in STORED["rows"]] == [
        (task, encoding, seed) for task, trial in TRIALS.items() for encoding in trial.encodings for seed in (0, 1, 2)]
    assert STORED["command"] == "make laboratory" and STORED["seeds"] == [0, 1, 2] and len(STORED["date"]) == 10


@pytest.mark.parametrize("encoding", ["Shaw", "learned"])
def test_a_row_can_be_made_again(encoding):
    row = script.encoding_row("copy", encoding, 0)
    again = row | {"accuracy": {str(length): parts for length, parts in row["accuracy"].items()}}
    assert furthest(again, stored("copy", encoding)) < 0.05
    assert furthest(again, stored("copy", "rotary")) > 0.2, "another encoding's row would be noticed"


def test_the_same_numbers_as_position_by_position():
    model = try_encoding("copy", "ALiBi", 0)
    right = accuracy(model, copy_back, 64)
    parts = [right[i:i + 4].nanmean().item() for i in range(0, 64, 4)]
    assert max(abs(a - b) for a, b in zip(parts, stored("copy", "ALiBi")["accuracy"]["64"])) < 0.06
