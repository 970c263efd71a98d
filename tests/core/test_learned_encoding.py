"""The learned encoding adds one trained row per position, refuses what it has no row for, and is saved with the model."""
import copy
import pickle

import pytest
import torch
from torch import nn

from d2l_ext import LearnedPositionalEncoding, PositionalEncoding


# ---- claims, and layers that break them -------------------------------------------------------------------------------------------------------------

def adds_its_rows(layer):
    for batch, steps, width in [(2, 3, 4), (3, 5, 7), (1, 1, 1), (2, 0, 4), (0, 3, 4), (2, 9, 4)]:
        encoding, X = layer(width, max_len=9), torch.randn(batch, steps, width)
        before, P = X.clone(), encoding.P.detach()
        expected = [[[X[b, i, c] + P[0, i, c] for c in range(width)] for i in range(steps)] for b in range(batch)]
        torch.testing.assert_close(encoding(X), torch.tensor(expected).reshape(X.shape))
        assert torch.equal(X, before)


def learns_a_row_from_its_own_position(layer):
    """The gradient of a row is the sum over the batch at that position; rows beyond the input get none."""
    encoding, X, weight = layer(4, max_len=6), torch.randn(3, 5, 4), torch.randn(3, 5, 4)
    (encoding(X) * weight).sum().backward()
    expected = torch.cat([weight.sum(0), torch.zeros(1, 4)])[None]
    assert encoding.P.grad is not None, "the table must learn"
    torch.testing.assert_close(encoding.P.grad, expected)


def is_saved(layer):
    encoding, other, X = layer(4, max_len=6), layer(4, max_len=6), torch.randn(2, 3, 4)
    assert {name: tuple(value.shape) for name, value in encoding.state_dict().items()} == {"P": (1, 6, 4)}
    assert not torch.equal(encoding(X), other(X)), "it starts as noise"
    other.load_state_dict(encoding.state_dict())
    assert torch.equal(encoding(X), other(X))


def drops_in_training_only(layer):
    encoding, X = layer(6, dropout=0.5), torch.full((4, 5, 6), 50.0)
    sums = X + encoding.P[:, :5]
    torch.testing.assert_close(encoding.eval()(X), sums)
    output = encoding.train()(X)
    assert 0.3 < (output == 0).double().mean() < 0.7, "dropout acts on the sum"
    torch.testing.assert_close(output[output != 0], 2 * sums[output != 0])


def refuses_longer_inputs(layer):
    encoding = layer(4, max_len=3)
    assert encoding(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    try:
        encoding(torch.zeros(2, 4, 4))
    except ValueError as error:
        assert "4 steps" in str(error) and "max_len=3" in str(error) and type(encoding).__name__ in str(error)
    else:
        raise AssertionError("4 steps, 3 rows")


CLAIMS = [adds_its_rows, learns_a_row_from_its_own_position, is_saved, drops_in_training_only, refuses_longer_inputs]


class OneRowForAll(LearnedPositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[:, :1])


class SlicedByBatch(LearnedPositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[0, :X.shape[0]][:, None])


class FromTheEnd(LearnedPositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[:, self.P.shape[1] - X.shape[1]:])


class AddedInPlace(LearnedPositionalEncoding):
    def forward(self, X):
        with torch.no_grad():
            X += self.P[:, :X.shape[1]]
        return self.dropout(X)


class Frozen(LearnedPositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[:, :X.shape[1]].detach() + 0 * self.P.sum())


class NotSaved(LearnedPositionalEncoding):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        table = self.P.detach()
        del self.P
        self.register_buffer("P", table, persistent=False)


class StartsAtZero(LearnedPositionalEncoding):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        nn.init.zeros_(self.P)


class DropoutForgotten(LearnedPositionalEncoding):
    def forward(self, X):
        return X + self.P[:, :X.shape[1]]


class RepeatsTheLastRow(LearnedPositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[:, torch.arange(X.shape[1]).clamp(max=self.P.shape[1] - 1)])


WRONG = [(adds_its_rows, OneRowForAll), (adds_its_rows, SlicedByBatch), (adds_its_rows, FromTheEnd), (adds_its_rows, AddedInPlace),
         (learns_a_row_from_its_own_position, Frozen), (is_saved, NotSaved), (is_saved, StartsAtZero), (is_saved, PositionalEncoding),
         (drops_in_training_only, DropoutForgotten), (refuses_longer_inputs, RepeatsTheLastRow)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_the_layer_holds_every_claim(claim):
    claim(LearnedPositionalEncoding)


@pytest.mark.parametrize("claim, mistake", WRONG, ids=lambda x: x.__name__)
def test_a_wrong_layer_is_caught(claim, mistake):
    with pytest.raises((AssertionError, RuntimeError)):
        claim(mistake)


# ---- the rest ---------------------------------------------------------------------------------------------------------------------------------------

def test_its_signature_is_that_of_the_sinusoidal_one():
    encoding = LearnedPositionalEncoding(4, 0.25, 7)
    assert encoding.dropout.p == 0.25 and encoding.P.shape == (1, 7, 4)
    assert LearnedPositionalEncoding(4).P.shape == PositionalEncoding(4).P.shape == (1, 1000, 4)
    assert [name for name, _ in encoding.named_parameters()] == ["P"] and not list(encoding.buffers())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("moved", [True, False])
def test_it_follows_dtype_and_device(dtype, moved):
    encoding = LearnedPositionalEncoding(6).to(dtype) if moved else LearnedPositionalEncoding(6)
    X = torch.randn(2, 4, 6).to(dtype)
    output = encoding(X)
    assert output.dtype == dtype
    torch.testing.assert_close(output, X + encoding.P[:, :4].to(dtype))
    assert encoding.to("meta")(X.to("meta")).device.type == "meta"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_have_a_table_of_their_own(copied):
    encoding, X = LearnedPositionalEncoding(4), torch.randn(2, 3, 4)
    encoding(X).sum().backward()
    other = copied(encoding)
    assert torch.equal(other(X), encoding(X)) and other.P.requires_grad
    with torch.no_grad():
        other.P.zero_()
    assert encoding.P.any()


def test_it_learns_where_the_sinusoids_are():
    """Asked for the sinusoidal sum, it becomes the sinusoidal table where it was trained, and stays as it was beyond."""
    encoding, target = LearnedPositionalEncoding(4, max_len=8), PositionalEncoding(4, max_len=8)
    start, optimizer = encoding.P.detach().clone(), torch.optim.SGD(encoding.parameters(), lr=0.1)
    for _ in range(50):
        X = torch.randn(4, 5, 4)
        optimizer.zero_grad()
        (encoding(X) - target(X)).square().sum().backward()
        optimizer.step()
    torch.testing.assert_close(encoding.P[:, :5].detach(), target.P[:, :5], atol=1e-3, rtol=0)
    assert torch.equal(encoding.P[:, 5:].detach(), start[:, 5:])


BAD = [
    (lambda: LearnedPositionalEncoding(0), ValueError, "num_hiddens=0"),
    (lambda: LearnedPositionalEncoding(4, max_len=0), ValueError, "max_len=0"),
    (lambda: LearnedPositionalEncoding(4, dropout=1.0), ValueError, "dropout=1.0"),
    (lambda: LearnedPositionalEncoding(4)(torch.zeros(3, 4)), ValueError, r"\(batch, steps, hiddens\).*\(3, 4\)"),
    (lambda: LearnedPositionalEncoding(4)(torch.zeros(1, 3, 5)), ValueError, "width 5, expected 4"),
    (lambda: LearnedPositionalEncoding(4)(torch.zeros(1, 3, 4, dtype=torch.int64)), TypeError, "floating-point.*int64"),
    (lambda: LearnedPositionalEncoding(4)([[1.0]]), TypeError, "list"),
    (lambda: LearnedPositionalEncoding(4, max_len=3)(torch.zeros(1, 4, 4)), ValueError, "4 steps.*max_len=3.*LearnedPositionalEncoding with a larger max_len"),
]


@pytest.mark.parametrize("call, error, message", BAD, ids=lambda x: x if isinstance(x, str) else None)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()
