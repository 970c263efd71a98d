"""On an NVIDIA GPU everything gives what it gives on the CPU (`make test-gpu`).

The wrong code that this catches: a tensor left on the CPU; a kernel that gives rows without keys
something else than zeros; a value read from the device more often than is promised, each time of
which the processor waits for the card.
"""
import copy
import warnings

import pytest
import torch
from slow import outcome
from torch import nn

from d2l_ext import (ALiBi, AdditiveAttention, Convolution, DeltaRule, GRU, LSTM,
                     LearnedPositionalEncoding, LinearAttention, MultiHeadAttention,
                     PositionalEncoding, Recurrence, RotaryEmbedding, SelfAttention,
                     ShawRelativeKeys, T5RelativeBias, dot_product_attention, masked_softmax,
                     record_attention, tiled_attention, window)
from d2l_ext.transformer import EncoderDecoder

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(),
                                reason="an NVIDIA GPU is needed: make test-gpu")

DEVICE = "cuda"
LENGTHS, EMPTY = torch.tensor([5, 3]), torch.tensor([5, 0])
LAYERS = [Convolution(16, 3), Recurrence(16), GRU(16), LSTM(16), SelfAttention(16, 4),
          LinearAttention(16, 4), DeltaRule(16, 4), PositionalEncoding(16),
          LearnedPositionalEncoding(16, max_len=8)]
POSITIONS = [None, RotaryEmbedding(4), ALiBi(4), ShawRelativeKeys(4, 3), T5RelativeBias(4)]
OPTIONS = {
    "all": {}, "lengths": {"valid_lens": LENGTHS}, "empty": {"valid_lens": EMPTY},
    "causal": {"causal": True}, "window": {"mask": window(1)},
    "both": {"valid_lens": EMPTY, "causal": True},
}


def moved(thing):
    if isinstance(thing, dict):
        return {name: moved(value) for name, value in thing.items()}
    return thing.to(DEVICE) if isinstance(thing, torch.Tensor) else thing


def fused(m, X, **options):
    return m(X, X, X, **options)


def explicit(m, X, **options):
    return m(X, X, X, need_weights=True, **options)[0]


def name(layer):
    return type(layer).__name__


both_paths = pytest.mark.parametrize("attend", [fused, explicit])


def assert_same(there, here):
    """Two lists of tensors hold the same numbers, the first on the GPU."""
    for other, one in zip(there, here, strict=True):
        assert other.device.type == DEVICE
        torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-9)


def assert_as_on_the_cpu(module, *inputs, attend=nn.Module.__call__, **options):
    """Outputs and all gradients, in double precision."""
    here = copy.deepcopy(module).double()
    there = copy.deepcopy(here).to(DEVICE)
    assert_same(outcome(attend, there, *map(moved, inputs), **moved(options)),
                outcome(attend, here, *inputs, **options))


@pytest.mark.parametrize("layer", LAYERS, ids=name)
def test_a_layer_is_as_on_the_cpu(layer):
    assert_as_on_the_cpu(layer, torch.randn(2, 5, 16, dtype=torch.float64))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("position", POSITIONS, ids=name)
@both_paths
def test_multi_head_attention_is_as_on_the_cpu(position, options, attend):
    m, X = MultiHeadAttention(16, 4, bias=True, position=position), torch.randn(2, 5, 16).double()
    assert_as_on_the_cpu(m, X, attend=attend, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("steps", [5, 128])
def test_fast_kernels_keep_the_promises(dtype, steps):
    """Fast kernels: hidden keys reach nothing, and rows without keys are zeros."""
    m = MultiHeadAttention(64, 4).to(DEVICE).to(dtype)
    X = torch.randn(3, steps, 64, device=DEVICE, dtype=dtype)
    other, lens = X.clone(), torch.tensor([steps, 3, 0], device=DEVICE)
    other[1, 3:], other[2] = 1000.0, -1000.0
    for options in {}, {"causal": True}:
        X.requires_grad_(), other.requires_grad_()
        one, two = (m(q[:, :3], q, q, lens) if not options else m(q, q, q, lens, **options)
                    for q in (X, other))
        assert torch.equal(one[1, :3], two[1, :3]) and not one[2].any() and not two[2].any()
        grad, = torch.autograd.grad(one[:2].float().square().sum(), X)
        assert grad.isfinite().all() and not grad[2].any()
        X, other = X.detach(), other.detach()


def waits(call):
    """How often a call waits for the device."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(each.message) for each in caught)


@pytest.mark.parametrize("options, most", [
    ({}, 0), ({"causal": True}, 0), ({"mask": window(1)}, 0), ({"valid_lens": LENGTHS}, 1),
    ({"valid_lens": LENGTHS, "causal": True}, 1)], ids=["all", "causal", "mask", "lengths", "both"])
@both_paths
def test_lengths_are_read_from_the_device_once_at_most(options, most, attend):
    m, X = MultiHeadAttention(16, 4).to(DEVICE), torch.randn(2, 5, 16, device=DEVICE)
    options = moved(options)
    call = lambda: attend(m, X, **options)
    call()  # what is loaded at first use
    assert waits(call) <= most


def test_functions_are_as_on_the_cpu():
    q, k, v = (torch.randn(2, 3, 5, 4, dtype=torch.float64) for _ in range(3))
    mask = torch.rand(2, 3, 5, 5) > 0.4
    inputs = [moved(X) for X in (q, k, v)]
    assert_same(dot_product_attention(*inputs, mask=moved(mask)),
                dot_product_attention(q, k, v, mask=mask))
    assert_same(tiled_attention(*inputs, mask=moved(mask), key_tile=2)[:1],
                tiled_attention(q, k, v, mask=mask, key_tile=2)[:1])
    scores = q @ k.mT
    assert_same([masked_softmax(moved(scores), moved(EMPTY))], [masked_softmax(scores, EMPTY)])


def test_additive_attention_is_as_on_the_cpu():
    inputs = [torch.randn(2, 5, 16, dtype=torch.float64) for _ in range(3)]
    assert_as_on_the_cpu(AdditiveAttention(16), *inputs, valid_lens=EMPTY)


def test_a_translator_writes_the_same():
    model = EncoderDecoder(7, 9, 16, 4, 2).double().eval()
    source, lens = torch.randint(7, (2, 5)), torch.tensor([5, 3])
    here = model.generate(source, 6, 1, lens)
    there = copy.deepcopy(model).to(DEVICE).generate(moved(source), 6, 1, moved(lens))
    assert torch.equal(here, there.cpu())


def test_what_is_recorded_is_as_on_the_cpu():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
    model, X = model.double().eval(), torch.randn(2, 5, 16, dtype=torch.float64)
    recordings = []
    for device in "cpu", DEVICE:
        model, X = model.to(device), X.to(device)
        with torch.no_grad(), record_attention(model) as record:
            model(X)
        recordings.append([weights for layer in record.values() for weights in layer])
    assert len(recordings[0]) == 2
    assert_same(recordings[1], recordings[0])


def test_the_best_compiled_code_is_the_same():
    m = MultiHeadAttention(32, 4).to(DEVICE).eval()
    X, lens = torch.randn(2, 16, 32, device=DEVICE), torch.tensor([16, 7], device=DEVICE)
    compiled = torch.compile(m, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(X, X, X, lens), m(X, X, X, lens), rtol=1e-4, atol=1e-5)
