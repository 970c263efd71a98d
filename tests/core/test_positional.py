"""The sinusoidal table equals its formula; both encodings add their table and no more.

The fixed one is computed and not saved; the learned one is trained and saved.
"""
import math

import pytest
import torch
from torch import nn
from slow import name_of, slow_sinusoids

from d2l_ext import LearnedPositionalEncoding, PositionalEncoding, sinusoids

BOTH = PositionalEncoding, LearnedPositionalEncoding
both = pytest.mark.parametrize("layer", BOTH, ids=name_of)


# ---- the table -----------------------------------------------------------------------------------

def is_sinusoidal(make):
    for steps, width in [(5, 6), (5, 7), (3, 1), (1, 2), (20, 3), (0, 4)]:
        expected = slow_sinusoids(steps, width)
        torch.testing.assert_close(make(steps, width), expected, atol=1e-12, rtol=0)


def is_accurate_far_out(make):
    """At position 100,000, against Python's own sine of the same angle."""
    angles = [100_000 / 10_000 ** (pair / 8) for pair in range(8)]
    expected = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    assert make(100_001, 16)[-1].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("claim", [is_sinusoidal, is_accurate_far_out], ids=name_of)
def test_the_table_holds_every_claim(claim):
    claim(sinusoids)


# ---- claims about the layers -----------------------------------------

def rows(encoding, steps):
    """What must be added: the formula, or the rows that are learned."""
    P = encoding.P
    return P[0, :steps] if isinstance(P, nn.Parameter) else slow_sinusoids(steps, P.shape[2]).to(P)


def adds_its_rows(layer):
    for batch, steps, width in [(2, 3, 4), (3, 5, 7), (1, 1, 1), (2, 0, 4), (0, 3, 4), (2, 9, 4)]:
        encoding, X = layer(width, max_len=9), torch.randn(batch, steps, width)
        before = X.clone()
        torch.testing.assert_close(encoding(X), X + rows(encoding, steps))
        encoding(X[:1].expand_as(X))
        assert torch.equal(X, before)


def drops_in_training_only(layer):
    encoding, X = layer(6, dropout=0.5), torch.full((4, 5, 6), 50.0)
    sums = X + rows(encoding, 5)
    torch.testing.assert_close(encoding.eval()(X), sums)
    output = encoding.train()(X)
    assert 0.3 < (output == 0).double().mean() < 0.7, "dropout acts on the sum"
    torch.testing.assert_close(output[output != 0], 2 * sums[output != 0])


def follows_dtype_and_device(layer):
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        X = torch.randn(2, 4, 6).to(dtype)
        for encoding in (layer(6), layer(6).to(dtype)):
            output = encoding(X)
            assert output.dtype == dtype
            torch.testing.assert_close(output, X + rows(encoding, 4).to(dtype))
    assert layer(5).to("meta")(torch.zeros(1, 3, 5, device="meta")).device.type == "meta"


def is_not_saved(layer):
    assert not layer(4).state_dict() and not list(layer(4).parameters())


def is_saved(layer):
    encoding, other, X = layer(4, max_len=6), layer(4, max_len=6), torch.randn(2, 3, 4)
    assert {name: tuple(p.shape) for name, p in encoding.state_dict().items()} == {"P": (1, 6, 4)}
    assert not torch.equal(encoding(X), other(X)), "it starts as noise"
    other.load_state_dict(encoding.state_dict())
    assert torch.equal(encoding(X), other(X))


ALL = [adds_its_rows, drops_in_training_only, follows_dtype_and_device]
CLAIMS = {PositionalEncoding: [*ALL, is_not_saved],
          LearnedPositionalEncoding: [*ALL, is_saved]}


@pytest.mark.parametrize("layer, claim", [(layer, claim) for layer in BOTH
                                          for claim in CLAIMS[layer]], ids=name_of)
def test_the_layers_hold_every_claim(layer, claim):
    claim(layer)


# ---- the layers ----------------------------------------------------------------------------------

def test_the_buffer_is_the_table_from_float64():
    assert PositionalEncoding(2).P.shape == (1, 1000, 2), "unless told"
    P = PositionalEncoding(512, max_len=1001).P
    assert P.dtype == torch.float32 and torch.equal(P[0], sinusoids(1001, 512).float())


@pytest.mark.slow
@both
def test_it_exports_with_any_number_of_steps_and_compiles_in_one_graph(layer):
    encoding, X = layer(4, max_len=32).eval(), torch.randn(2, 5, 4)
    shapes = {"X": {1: torch.export.Dim("steps", min=2, max=32)}}
    program = torch.export.export(encoding, (X,), dynamic_shapes=shapes).module()
    compiled = torch.compile(encoding, fullgraph=True, backend="aot_eager")
    for steps in (2, 32):
        X = torch.randn(2, steps, 4)
        torch.testing.assert_close(program(X), encoding(X))
        torch.testing.assert_close(compiled(X), encoding(X))


# ---- the table is the formula's, wherever the module has been ------------------------------------

def by_way_of_meta(layer):
    with torch.device("meta"):
        encoding = layer(8, max_len=50)
    return encoding.to_empty(device="cpu")


def inside_a_model(layer):
    return nn.Sequential(nn.Linear(8, 8), layer(8, max_len=50)).half().float()[1]


def where_new_tensors_land_elsewhere(layer):
    encoding = layer(8, max_len=50)
    with torch.device("meta"):
        return encoding.half().float()


WAYS = [inside_a_model, where_new_tensors_land_elsewhere]


@pytest.mark.parametrize("way", [by_way_of_meta, *WAYS], ids=name_of)
def test_the_table_survives(way):
    assert torch.equal(way(PositionalEncoding).P[0], sinusoids(50, 8).float())
