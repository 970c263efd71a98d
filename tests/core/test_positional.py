"""The sinusoidal table equals its formula; both encodings add their table and no more."""
import pytest
import torch
from torch import nn
from slow import slow_sinusoids

from d2l_ext import LearnedPositionalEncoding, PositionalEncoding, sinusoids
from d2l_ext.positional import sines_and_cosines

both = pytest.mark.parametrize("layer", [PositionalEncoding, LearnedPositionalEncoding])


@pytest.mark.parametrize("steps, width", [(5, 6), (5, 7), (3, 1), (1, 2), (20, 3), (0, 4),
                                          (100_001, 1)])
def test_the_table_is_its_formula(steps, width):
    torch.testing.assert_close(sinusoids(steps, width), slow_sinusoids(steps, width),
                               atol=1e-9, rtol=0)
    assert sines_and_cosines(steps, torch.ones(2, device="meta")).is_meta


def rows(encoding, steps):
    """What must be added: the formula, or the rows that are learned."""
    P = encoding.P
    return P[0, :steps] if isinstance(P, nn.Parameter) else slow_sinusoids(steps, P.shape[2]).to(P)


@both
def test_it_adds_its_rows_in_any_dtype(layer):
    for batch, steps, width in [(2, 3, 4), (3, 5, 7), (1, 1, 1), (2, 0, 4), (0, 3, 4), (2, 9, 12)]:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            X = torch.randn(batch, steps, width, dtype=dtype)
            before = X.clone()
            for encoding in (layer(width, max_len=9), layer(width, max_len=9).to(dtype)):
                output = encoding(X)
                torch.testing.assert_close(output, X + rows(encoding, steps).to(dtype))
                assert output.dtype == dtype and torch.equal(X, before)
    assert layer(5).to("meta")(torch.zeros(1, 3, 5, device="meta")).device.type == "meta"


@both
def test_dropout_acts_on_the_sum_in_training_alone(layer):
    encoding, X = layer(6, dropout=0.5), torch.full((4, 5, 6), 50.0)
    sums = X + rows(encoding, 5)
    torch.testing.assert_close(encoding.eval()(X), sums)
    output = encoding.train()(X)
    assert 0.3 < (output == 0).double().mean() < 0.7
    torch.testing.assert_close(output[output != 0], 2 * sums[output != 0])


def test_the_fixed_table_is_not_saved_and_the_learned_one_is_saved_and_starts_as_noise():
    fixed, learned = PositionalEncoding(4), LearnedPositionalEncoding(4, max_len=6)
    assert LearnedPositionalEncoding(4).P.shape == fixed.P.shape
    assert not fixed.state_dict() and not list(fixed.parameters())
    assert fixed.P.shape == (1, 1000, 4) and fixed.P.dtype == torch.float32
    assert {name: tuple(P.shape) for name, P in learned.state_dict().items()} == {"P": (1, 6, 4)}
    assert len(learned.P.unique()) == 24
