"""The sinusoidal table equals its formula to the last digit that matters, and the layer adds it and no more."""
import copy
import math
import pickle

import pytest
import torch
from wrong import WRONG_TABLES, slow_sinusoids

from d2l_ext import LearnedPositionalEncoding, PositionalEncoding, sinusoids


def is_sinusoidal(factory):
    for steps, width in [(5, 6), (5, 7), (3, 1), (1, 2), (20, 3)]:
        torch.testing.assert_close(factory(steps, width), slow_sinusoids(steps, width), atol=1e-12, rtol=0)


def is_accurate_far_out(factory):
    """At position 100,000, against Python's own sine of the same angle."""
    row = factory(100_001, 16)[-1]
    expected = [(math.cos if c % 2 else math.sin)(100_000 / 10_000 ** ((c - c % 2) / 16)) for c in range(16)]
    torch.testing.assert_close(row, torch.tensor(expected, dtype=torch.float64), atol=1e-9, rtol=0)


CLAIMS = [is_sinusoidal, is_accurate_far_out]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_the_table_holds_every_claim(claim):
    claim(sinusoids)


@pytest.mark.parametrize("claim, mistake", WRONG_TABLES, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_table_is_caught(claim, mistake):
    with pytest.raises(AssertionError):
        globals()[claim](mistake)


@pytest.mark.parametrize("steps, width", [(0, 4), (1, 1), (3, 5), (4, 6)])
def test_the_table_has_a_row_a_step_in_float64(steps, width):
    table = sinusoids(steps, width)
    assert table.shape == (steps, width) and table.dtype == torch.float64


# ---- the layer, and layers that are wrong -----------------------------------------------------------------------------------------------------

class SlicedByBatch(PositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[0, :X.shape[0]][:, None])


class NotAdded(PositionalEncoding):
    def forward(self, X):
        return self.dropout(self.P[:, :X.shape[1]].expand_as(X))


class AddedInPlace(PositionalEncoding):
    def forward(self, X):
        with torch.no_grad():
            X += self.P[:, :X.shape[1]]
        return self.dropout(X)


class DropoutInEvaluation(PositionalEncoding):
    def forward(self, X):
        return torch.nn.functional.dropout(X + self.P[:, :X.shape[1]], self.dropout.p)


class DropoutForgotten(PositionalEncoding):
    def forward(self, X):
        return X + self.P[:, :X.shape[1]]


class FromTheEnd(PositionalEncoding):
    def forward(self, X):
        return self.dropout(X + self.P[:, -X.shape[1]:])


class NoBuffer(PositionalEncoding):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        table = self.P
        del self.P
        self.P = [table]  # .to() passes by

    def forward(self, X):
        return self.dropout(X + self.P[0][:, :X.shape[1]])


class Saved(PositionalEncoding):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.register_buffer("P", self.P, persistent=True)


def adds_the_table(layer):
    for batch, steps, width in [(2, 3, 4), (3, 5, 7), (1, 1, 1), (2, 0, 4), (0, 3, 4), (2, 9, 4)]:
        X = torch.randn(batch, steps, width)
        expected = X.double() + slow_sinusoids(steps, width).reshape(steps, width)
        torch.testing.assert_close(layer(width, max_len=9)(X).double(), expected, atol=1e-6, rtol=1e-6)


def leaves_its_input_alone(layer):
    X = torch.randn(2, 3, 4)
    before = X.clone()
    layer(4)(X), layer(4)(X[:1].expand(2, 3, 4))
    assert torch.equal(X, before)


def drops_in_training_only(layer):
    encoding, X = layer(6, dropout=0.5), torch.full((4, 5, 6), 5.0)
    sums = X + slow_sinusoids(5, 6).float()
    torch.testing.assert_close(encoding.eval()(X), sums)
    output = encoding.train()(X)
    assert 0.3 < (output == 0).double().mean() < 0.7, "dropout acts on the sum"
    torch.testing.assert_close(output[output != 0], 2 * sums[output != 0])


def is_not_saved(layer):
    assert not layer(4).state_dict() and not list(layer(4).parameters())
    layer(4).load_state_dict({})


def follows_dtype_and_device(layer):
    encoding = layer(5).to(torch.float64)
    assert encoding.P.dtype == torch.float64 and encoding(torch.zeros(1, 2, 5).double()).dtype == torch.float64
    assert layer(5).to("meta").P.device.type == "meta"


LAYER_CLAIMS = [adds_the_table, leaves_its_input_alone, drops_in_training_only, is_not_saved, follows_dtype_and_device]
WRONG_LAYERS = [(adds_the_table, SlicedByBatch), (adds_the_table, NotAdded), (adds_the_table, FromTheEnd), (leaves_its_input_alone, AddedInPlace),
                (drops_in_training_only, DropoutInEvaluation), (drops_in_training_only, DropoutForgotten), (follows_dtype_and_device, NoBuffer),
                (is_not_saved, Saved)]


@pytest.mark.parametrize("claim", LAYER_CLAIMS, ids=lambda claim: claim.__name__)
def test_the_layer_holds_every_claim(claim):
    claim(PositionalEncoding)


@pytest.mark.parametrize("claim, mistake", WRONG_LAYERS, ids=lambda x: x.__name__)
def test_a_wrong_layer_is_caught(claim, mistake):
    with pytest.raises((AssertionError, AttributeError, RuntimeError)):
        claim(mistake)


def test_the_buffer_is_the_table_from_float64():
    P = PositionalEncoding(512, max_len=1001).P
    assert P.shape == (1, 1001, 512) and P.dtype == torch.float32
    torch.testing.assert_close(P[0], sinusoids(1001, 512).float(), atol=0, rtol=0)


def test_the_table_has_a_thousand_rows_unless_told():
    assert PositionalEncoding(2).P.shape == (1, 1000, 2) == LearnedPositionalEncoding(2).P.shape


def test_the_buffer_takes_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert PositionalEncoding(4).P.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("moved", [True, False])
def test_half_precision_input_gives_half_precision_output(dtype, moved):
    encoding = PositionalEncoding(6).to(dtype) if moved else PositionalEncoding(6)
    output = encoding(torch.zeros(1, 4, 6, dtype=dtype))
    assert output.dtype == dtype
    torch.testing.assert_close(output[0].double(), slow_sinusoids(4, 6), atol=torch.finfo(dtype).eps, rtol=0)


def test_an_input_as_long_as_the_table_is_served_and_a_longer_one_refused():
    encoding = PositionalEncoding(4, max_len=3)
    assert encoding(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="4 steps.*max_len=3"):
        encoding(torch.zeros(2, 4, 4))


def test_the_gradient_passes_through_unchanged():
    X = torch.randn(2, 3, 4, requires_grad=True)
    (grad,) = torch.autograd.grad(PositionalEncoding(4)(X).sum(), X)
    assert torch.equal(grad, torch.ones_like(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_keep_the_table(copied):
    encoding, X = PositionalEncoding(4), torch.randn(2, 3, 4)
    assert torch.equal(copied(encoding)(X), encoding(X))


@pytest.mark.parametrize("make", [PositionalEncoding, LearnedPositionalEncoding])
def test_it_exports_with_any_number_of_steps_and_compiles_in_one_graph(make):
    encoding, X = make(4, max_len=32).eval(), torch.randn(2, 5, 4)
    program = torch.export.export(encoding, (X,), dynamic_shapes={"X": {1: torch.export.Dim("steps", min=2, max=32)}}).module()
    compiled = torch.compile(encoding, fullgraph=True, backend="aot_eager")
    for steps in (2, 32):
        X = torch.randn(2, steps, 4)
        torch.testing.assert_close(program(X), encoding(X))
        torch.testing.assert_close(compiled(X), encoding(X))


# ---- the table is the formula's, wherever the module has been -----------------------------------

def by_way_of_meta(layer):
    with torch.device("meta"):
        encoding = layer(8, max_len=50)
    encoding = encoding.to_empty(device="cpu")
    encoding.load_state_dict(layer(8, max_len=50).state_dict())
    return encoding


def emptied(layer):
    return layer(8, max_len=50).to_empty(device="cpu")


def by_way_of_half(layer):
    return layer(8, max_len=50).half().float()


def by_way_of_bfloat16(layer):
    return layer(8, max_len=50).bfloat16().half().float()


def inside_a_model(layer):
    return torch.nn.Sequential(torch.nn.Linear(8, 8), layer(8, max_len=50)).half().float()[1]


WAYS = [by_way_of_meta, emptied, by_way_of_half, by_way_of_bfloat16, inside_a_model]


class Forgetful(PositionalEncoding):
    """A buffer as ``nn.Module`` moves it: nothing is made anew."""

    def _apply(self, fn, recurse=True):
        return torch.nn.Module._apply(self, fn, recurse)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_table_survives(way):
    expected = sinusoids(50, 8).float()
    torch.testing.assert_close(way(PositionalEncoding).P[0], expected, atol=0, rtol=0)


@pytest.mark.parametrize("way", WAYS[2:], ids=lambda way: way.__name__)
def test_a_table_that_does_not_survive_is_noticed(way):
    assert not torch.equal(way(Forgetful).P[0], sinusoids(50, 8).float())


def test_the_table_survives_also_where_new_tensors_land_elsewhere():
    encoding = PositionalEncoding(8, max_len=50)
    with torch.device("meta"):
        encoding.half().float()
    assert torch.equal(encoding.P[0], sinusoids(50, 8).float())


def test_a_table_of_ones_own_is_moved_as_it_is():
    encoding = PositionalEncoding(8, max_len=50)
    encoding.P = torch.full_like(encoding.P, 0.1)
    assert torch.equal(encoding.double().P, torch.full((1, 50, 8), 0.1).double())


def test_a_table_that_stays_is_not_written_to():
    encoding = PositionalEncoding(8)
    before, version = encoding.P, encoding.P._version
    assert encoding.float().cpu().share_memory().P is before and before._version == version


def test_a_learned_table_is_moved_as_it_is():
    encoding = LearnedPositionalEncoding(8)
    expected = encoding.P.detach().half().float()
    assert torch.equal(encoding.half().float().P, expected)
