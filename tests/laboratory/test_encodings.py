"""The laboratory of 06: each encoding stands where it should."""
import pytest
import torch
from torch import nn

from attention_lessons.laboratory import (
    ENCODINGS, TRIALS, encodings, try_encoding)
from attention_lessons.laboratory.encodings import untrained
from d2l_ext import (ALiBi, LearnedPositionalEncoding, PositionalEncoding, RotaryEmbedding,
                     ShawRelativeKeys, T5RelativeBias)


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
