"""Training and scoring: encodings, what seeds decide and what they don't, modes, kept trainings."""
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_lessons.laboratory import (
    ENCODINGS, TRIALS, accuracy, copy_back, dates, encodings, parity, reader, recaller, train,
    training, try_encoding)
from attention_lessons.laboratory.encodings import untrained
from d2l_ext import (ALiBi, LearnedPositionalEncoding, PositionalEncoding, RotaryEmbedding,
                     ShawRelativeKeys, T5RelativeBias)


# ---- encodings ----

ABSOLUTE = {"sinusoidal": PositionalEncoding, "learned": LearnedPositionalEncoding}
RELATIVE = {"Shaw": ShawRelativeKeys, "T5": T5RelativeBias, "ALiBi": ALiBi,
            "rotary": RotaryEmbedding}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding_stands_where_it_should(encoding):
    model = untrained("copy", encoding, layers=2)
    layer, _ = model.layers
    base = encoding.removesuffix(", causal")
    assert type(model.positions) is ABSOLUTE.get(base, nn.Identity)
    assert type(layer.attention.position) is RELATIVE.get(base, type(None))
    assert layer.causal == (base != encoding)
    assert model(torch.zeros(1, 64, dtype=torch.long)).shape == (1, 64, 10)


def test_under_a_mask_for_all_no_form_stands_twice():
    assert TRIALS["copy"].encodings == list(ENCODINGS)
    assert TRIALS["repeat"].encodings == [
        "none, causal", "sinusoidal", "learned", "Shaw", "T5", "ALiBi, causal", "rotary"]
    layers = untrained("repeat", "T5").layers
    assert len(layers) == 2 and all(layer.causal for layer in layers)
    first, second = (layer.attention.position for layer in layers)
    assert first.right == 0 and first is not second


def test_a_trial_is_trained_as_it_says_in_one_thread(monkeypatch):
    calls, made = [], untrained("repeat", "Shaw", 7, layers=3)

    def train(model, task, steps, **options):
        assert all(map(torch.equal, model.parameters(), made.parameters()))
        calls.append((task, steps, options, torch.get_num_threads()))
        raise RuntimeError

    monkeypatch.setattr(encodings, "train", train)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(RuntimeError):
            try_encoding("repeat", "Shaw", seed=7, layers=3)
        assert torch.get_num_threads() == 3, "after an error, too"
    finally:
        torch.set_num_threads(threads)
    assert calls == [(TRIALS["repeat"].task, 600, {"lengths": (6, 16), "rate": 6e-3, "seed": 7}, 1)]


# ---- seeds ----

MADE = {
    "reader": lambda seed: reader("recurrence", 4, 2, seed=seed),
    "recaller": lambda seed: recaller("delta rule", seed=seed),
    "date reader": lambda seed: dates.date_reader(seed=seed),
    "encodings": lambda seed: nn.ModuleDict(
        {name: untrained("copy", name, seed) for name in ENCODINGS}),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_seed_decides_all_weights_and_nothing_else_does(make):
    first = make(3).state_dict()
    torch.rand(5)
    state = torch.get_rng_state()
    again, other = make(3).state_dict(), make(4).state_dict()
    assert torch.equal(torch.get_rng_state(), state), "nothing is drawn that others share"
    assert all(torch.equal(first[name], again[name]) for name in first)
    same = {name for name in first if torch.equal(first[name], other[name])}
    constant = {name for name in first if first[name].unique().numel() == 1}
    tables = {name for name in first if "positions" in name or "slopes" in name}
    assert same <= constant | tables, "random ones all differ"


# ---- training and scoring ----

def test_a_model_trains_in_training_mode_with_a_bar_if_it_has_a_name(monkeypatch):
    """What a step does, 06 and 08 ask: their own loops have the same losses."""
    bar, bars, modes = SimpleNamespace(), [], set()
    model = nn.Linear(4, 1).eval()

    def loss_of_batch():
        modes.add(model.training)
        return model.weight.sum()

    monkeypatch.setattr(training, "progress_bar", lambda *about: bars.append(about) or bar)
    losses = training.fit(model, loss_of_batch, 20, 0.1, progress="name")
    training.fit(model, loss_of_batch, 1, 0.1)
    assert bars == [("name", 20)] and bar.value == 20 and len(losses) == 20
    assert bar.description == f"name, loss {losses[-1]:.3f}"
    assert modes == {True} and not model.training


def test_training_and_scoring_draw_from_their_own_seeds_what_was_asked_for():
    model, drawn = reader("convolution", 2, 2), []

    def task(generator, batch, length):
        drawn.append((generator.initial_seed(), batch, length))
        return parity(generator, batch, length)

    train(model, task, 2, lengths=(5, 5), batch=3, seed=8)
    accuracy(model, task, 4, batch=6)
    train(model, task, 1, lengths=(5, 5))
    accuracy(model, task, 7)
    assert drawn == [(8, 3, 5), (8, 3, 5), (10_000, 6, 4), (0, 64, 5), (10_000, 512, 7)]


def test_only_scored_positions_count():
    echo = lambda inputs: F.one_hot(inputs, 10)  # right where a symbol is that of two places before
    right = accuracy(echo, copy_back, 6, batch=2000)
    assert right[:2].isnan().all() and right[2:].tolist() == pytest.approx([0.1] * 4, abs=0.03)


# ---- trainings that are kept ----

def trained(steps=12, seed=0, rate=3e-3):
    """The model, its losses, how many steps were really made, and what is drawn afterwards."""
    made = []
    torch.manual_seed(seed)
    model = reader("convolution", 2, 2, seed=seed)
    model.norms[0].register_forward_hook(lambda *_: made.append(torch.rand(())))
    losses = train(model, parity, steps, lengths=(6, 9), batch=8, rate=rate)
    return model, losses, len(made), torch.rand(3)


def test_a_stored_training_ends_as_it_did_and_another_one_is_really_made(tmp_path, monkeypatch):
    model, losses, _, drawn = trained()
    monkeypatch.setenv("D2L_EXT_WEIGHTS", str(tmp_path / "new/weights"))
    assert trained()[2] == 12  # the rehearsal
    again, same_losses, count, same_draw = trained()
    assert count == training.STEPS_THAT_IDENTIFY and not again.training
    assert same_losses == losses and torch.equal(same_draw, drawn)
    for name, W in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], W)
    for other in ({"steps": 13}, {"rate": 1e-3}, {"seed": 1}):
        _, losses, count, _ = trained(**other)
        assert count == len(losses) == other.get("steps", 12)
