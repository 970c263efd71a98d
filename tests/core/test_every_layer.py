"""What holds for every layer of the package, wherever a mistake may stand: it computes in the
precision of its inputs, every option acts, its parameters are these, weights are shown before
dropout, formulas of docstrings are what is computed."""
import inspect
import re

import pytest
import torch

from d2l_ext import (GRU, LSTM, AdditiveAttention, ALiBi, Convolution, DeltaRule,
                     LearnedPositionalEncoding, LinearAttention, MultiHeadAttention,
                     PositionalEncoding, Recurrence, RotaryEmbedding, SelfAttention,
                     ShawRelativeKeys, T5RelativeBias, from_torch, record_attention,
                     tiled_attention, to_torch)
from d2l_ext.heads import gradient, patched, prune_heads
from d2l_ext.transformer import DecoderBlock, EncoderBlock, EncoderDecoder

X = torch.randn(2, 12, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SYMBOLS = torch.arange(24).reshape(2, 12) % 7
RELATIVE = ALiBi, RotaryEmbedding, ShawRelativeKeys, T5RelativeBias
# A layer, what its constructor needs, how many inputs it takes, its parameters' shapes, and its
# options: another value of each, which changes what is computed or kept, or "same" where it is only
# another way to compute the same.
LAYERS = [
    (AdditiveAttention, {"num_hiddens": 8}, 3, "W_q 8x8 W_k 8x8 w_v 1x8",
     {"dropout": 0.5, "query_size": 6, "key_size": 6}),
    (MultiHeadAttention, {"num_hiddens": 8, "num_heads": 2}, 3, "W_q 8x8 W_k 8x8 W_v 8x8 W_o 8x8",
     {"num_heads": 4, "dropout": 0.5, "bias": True, "query_size": 6, "key_size": 6,
      "value_size": 6, "head_size": 2, "num_kv_heads": 1, "position": ALiBi(2)}),
    (SelfAttention, {"num_hiddens": 8}, 1, "attention.W_q 8x8 attention.W_k 8x8 attention.W_v 8x8 "
     "attention.W_o 8x8", {"num_heads": 2, "causal": True}),
    (Convolution, {"num_hiddens": 8}, 1, "conv 8x8x3",
     {"kernel_size": 5, "dilation": 2, "causal": True}),
    (Recurrence, {"num_hiddens": 8}, 1, "rnn.ih 8x8 rnn.hh 8x8", {}),
    (GRU, {"num_hiddens": 8}, 1, "rnn.ih 24x8 rnn.hh 24x8", {}),
    (LSTM, {"num_hiddens": 8}, 1, "rnn.ih 32x8 rnn.hh 32x8", {}),
    (LinearAttention, {"num_hiddens": 8}, 1, "W_q 8x8 W_k 8x8 W_v 8x8 W_o 8x8",
     {"num_heads": 2, "feature_map": torch.exp, "normalise": False, "decay": "input",
      "chunk_size": "same"}),
    (DeltaRule, {"num_hiddens": 8}, 1, "W_q 8x8 W_k 8x8 W_v 8x8 W_o 8x8 W_b 1x8 W_b.bias 1",
     {"num_heads": 2, "max_rate": 2.0, "chunk_size": "same"}),
    (LearnedPositionalEncoding, {"num_hiddens": 8}, 1, "P 1x1000x8",
     {"dropout": 0.5, "max_len": 20}),
    (PositionalEncoding, {"num_hiddens": 8}, 1, "", {"dropout": 0.5, "max_len": 20}),
    (ALiBi, {"num_heads": 2}, 3, "", {}),
    (RotaryEmbedding, {"head_size": 4}, 3, "",
     {"interleaved": False, "periods": torch.tensor([1.0, 2.0])}),
    (ShawRelativeKeys, {"head_size": 4, "max_distance": 2}, 3, "table 5x4", {"max_distance": 1}),
    (T5RelativeBias, {"num_heads": 2}, 3, "table 32x2",
     {"num_buckets": 16, "max_distance": 64, "bidirectional": False}),
    (EncoderBlock, {"num_hiddens": 8, "num_heads": 2}, 1, None,
     {"num_heads": 4, "dropout": 0.5, "num_kv_heads": 1}),
    (DecoderBlock, {"num_hiddens": 8, "num_heads": 2}, 2, None,
     {"num_heads": 4, "dropout": 0.5, "num_kv_heads": 1}),
    (EncoderDecoder, {"source_vocab_size": 7, "target_vocab_size": 7, "num_hiddens": 8,
                      "num_heads": 2}, 2, None,
     {"target_vocab_size": 9, "num_hiddens": 12, "num_heads": 4, "layers": 2, "dropout": 0.5,
      "max_len": 20, "num_kv_heads": 1}),
]
each_layer = pytest.mark.parametrize("kind, needs, count, shapes, options", LAYERS,
                                     ids=[kind.__name__ for kind, *_ in LAYERS])


def made(kind, options):
    """A layer in double precision, the same at each call; a relative position in its attention."""
    torch.manual_seed(3)
    layer = kind(**options)
    if kind in RELATIVE:
        layer = MultiHeadAttention(8, 2, position=layer)
    return layer.double()


def answer(layer, count):
    inputs = [SYMBOLS if isinstance(layer, EncoderDecoder) else X] * count
    torch.manual_seed(4)  # of what is dropped
    return layer(*inputs)


def parameters(layer):
    return {name: tuple(each.shape) for name, each in layer.named_parameters()}


def kept(layer):
    return parameters(layer) | {name: tuple(each.shape) for name, each in layer.named_buffers()}


@each_layer
def test_it_computes_in_the_precision_of_its_inputs(kind, needs, count, shapes, options):
    """Slopes from differences of a millionth are as exact as doubles only."""
    layer = made(kind, needs).eval()
    if kind is not EncoderDecoder:
        inputs = [X[:1, :3].clone().requires_grad_() for _ in range(count)]
        torch.autograd.gradcheck(layer, inputs, fast_mode=True)


def test_tiles_compute_in_the_precision_of_their_inputs():
    inputs = [X[:1, :3].clone().requires_grad_() for _ in range(3)]
    torch.autograd.gradcheck(lambda *given: tiled_attention(*given)[0], inputs, fast_mode=True)


@each_layer
def test_every_option_acts(kind, needs, count, shapes, options):
    assert {*inspect.signature(kind).parameters} <= {*needs, *options}, "an option isn't tried"
    usual = made(kind, needs)
    for name, value in options.items():
        other = made(kind, needs | {name: 2 if value == "same" else value})
        if value == "same":
            torch.testing.assert_close(answer(other, count), answer(usual, count))
        else:
            assert kept(other) != kept(usual) or not torch.equal(
                answer(other, count), answer(usual, count)), f"{name} changes nothing"


@each_layer
def test_its_parameters_are_these(kind, needs, count, shapes, options):
    layer = made(kind, needs)
    if shapes is not None:
        layer = layer.position if kind in RELATIVE else layer
        words = [f"{name} {'x'.join(map(str, shape))}" for name, shape in parameters(layer).items()]
        assert re.sub(r"\.weight(_(ih|hh)_l0)?\b", lambda m: f".{m[2]}" * bool(m[2]),
                      " ".join(words)) == shapes


@pytest.mark.parametrize("kind", [AdditiveAttention, MultiHeadAttention])
def test_weights_are_shown_as_they_are_before_dropout(kind):
    layer = made(kind, {"num_hiddens": 8, "dropout": 0.5} | (
        {"num_heads": 2} if kind is MultiHeadAttention else {}))
    output, weights = layer(X, X, X, need_weights=True)
    assert not torch.equal(output, layer.eval()(X, X, X))
    torch.testing.assert_close(weights, layer(X, X, X, need_weights=True)[1])


def test_the_gradient_of_gates_is_a_mean_of_sizes():
    """Slopes of other signs don't cancel."""
    layer = made(MultiHeadAttention, {"num_hiddens": 8, "num_heads": 2})

    def losses(signs):
        return lambda: layer(X, X, X).sum((1, 2)) * torch.tensor(signs)

    assert gradient(layer, losses([1.0, -1.0])).min() > 0.1
    torch.testing.assert_close(gradient(layer, losses([1.0, -1.0])),
                               gradient(layer, losses([1.0, 1.0])))


# ---- formulas ----

PRODUCT = re.compile(r"\b([WU](?:_\w)?) (x_i|y_\{i-1\})")
GATES = {Recurrence: [""], GRU: ["_r", "_z", ""], LSTM: ["_i", "_f", "_g", "_o"]}


@pytest.mark.parametrize("kind", GATES)
def test_a_recurrences_docstring_is_what_it_computes(kind):
    """Step by step, from its own words."""
    layer = made(kind, {"num_hiddens": 8})
    text = " ".join(kind.__doc__.split())
    if kind is LSTM:  # which says a pair of matrices each
        each = "; ".join(f"{gate} = σ(W_{gate} x_i + U_{gate} y_{{i-1}})" for gate in "ifo")
        text = text.replace("i, f, o = σ(W x_i + U y_{i-1}), a pair of matrices each, and",
                            f"{each}; ")
    lines = re.findall(r"(\b[rzifogcy](?:_i)?) = ((?:(?!, \w|[:;.] ).)+)", text)
    W, U = (weight.chunk(len(GATES[kind])) for weight in layer.parameters())
    values = {f"W{name}": each for name, each in zip(GATES[kind], W)}
    values |= {f"U{name}": each for name, each in zip(GATES[kind], U)}
    values |= {"σ": torch.sigmoid, "tanh": torch.tanh, "y_before": X.new_zeros(8),
               "c_before": X.new_zeros(8)}
    for x, wanted in zip(X[0], layer(X)[0]):
        values["x_i"] = x
        for name, formula in lines:
            code = PRODUCT.sub(r"(\1 @ \2)", formula).replace("⊙", "*")
            code = re.sub(r"(\w)_\{i-1\}", r"\1_before", code)
            values[name] = eval(code, values)
        torch.testing.assert_close(values["y_i"], wanted)
        values |= {"y_before": values["y_i"], "c_before": values.get("c_i")}


@pytest.mark.parametrize("kind, count", [(EncoderBlock, 1), (DecoderBlock, 2)])
def test_with_all_of_a_part_dropped_a_block_returns_its_input(kind, count):
    """Dropout acts on each part that is added, in training alone."""
    block = kind(8, 2, dropout=1.0).double()
    assert torch.equal(block.train()(*[X] * count), X)
    assert not torch.allclose(block.eval()(*[X] * count), X)


def frozen_one_at_a_time(layer):
    """The names of a layer's parameters, each frozen alone while it is yielded."""
    for name, parameter in layer.named_parameters():
        parameter.requires_grad_(False)
        yield name
        parameter.requires_grad_(True)


def learns(layer):
    return {name: parameter.requires_grad for name, parameter in layer.named_parameters()}


@pytest.mark.parametrize("training", [True, False])
def test_what_is_made_of_a_layer_learns_and_drops_as_the_layer_does(training):
    ours = MultiHeadAttention(8, 2, dropout=0.5, bias=True).train(training)
    for name in frozen_one_at_a_time(ours):
        small = prune_heads(ours, [1])
        assert learns(small) == learns(ours), name
        assert small.training == training
    theirs = torch.nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).train(training)
    for _ in frozen_one_at_a_time(theirs):
        made = from_torch(theirs)
        assert learns(to_torch(made)) == learns(theirs)
        assert made.training == to_torch(made).training == training and made.dropout.p == 0.5


def test_a_patch_is_of_the_projections_last_call():
    ours, Y = MultiHeadAttention(8, 2).double(), X.flip(1)
    first, last = lambda: ours(X, X, X), lambda: ours(Y, Y, Y)
    found = []
    for run in (last, lambda: (first(), last())):
        with patched(ours.W_o, 0, 2, run):
            found.append(ours(X, X, X))
    assert torch.equal(*found) and not torch.allclose(found[0], first())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_recorded_weights_are_not_rounded_to_the_precision_of_the_model(dtype):
    """As ``fused_weights`` promises: in single precision at least, under autocast as well."""
    class Attends(torch.nn.Module):
        def forward(self, q):
            return torch.nn.functional.scaled_dot_product_attention(q, q, q)

    q = X.reshape(2, 2, 6, 8).to(dtype)
    model = Attends()
    with record_attention(model) as weights, torch.autocast("cpu", dtype=torch.bfloat16):
        model(q)
    found, = weights["attention"]
    q = q.double()
    torch.testing.assert_close(found.double(), (q @ q.mT / 8 ** 0.5).softmax(-1), rtol=1e-4,
                               atol=1e-6)
