"""What a notebook has set changes no verdict, no measurement, no memory and no table.

Each setting was left on by somebody: gradients off, inference mode, another default dtype or
device, autocast; a model made on ``meta``, converted, pruned or adapted.
"""
import contextlib
import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from attention_lessons.exercises import all_exercises, check
from d2l_ext import (DeltaRule, LearnedPositionalEncoding, LinearAttention, LSTM,
                     MultiHeadAttention, PositionalEncoding, RotaryEmbedding, SelfAttention,
                     T5RelativeBias, flops, from_torch, influence, to_torch)
from d2l_ext.heads import gradient, prune_heads
from d2l_ext.measurements import longest_chain
from d2l_ext.settings import default_settings


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


SETTINGS = {
    "no gradients": torch.no_grad, "inference": torch.inference_mode,
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16), "meta": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16)}
each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


@each_setting
def test_settings_are_the_usual_ones_while_open_and_come_back(setting):
    def now():
        return (torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
                torch.get_default_dtype(), torch.empty(0).device, torch.is_autocast_enabled("cpu"))

    usual = now()
    with setting():
        changed = now()
        for _ in range(2):  # the second time after an error
            with contextlib.suppress(KeyError), default_settings():
                assert now() == usual
                raise KeyError
            assert now() == changed != usual


@each_setting
@pytest.mark.parametrize("name", ["self-attention-class", "rotary-class", "linear-class",
                                  "pooling"])
def test_a_verdict_is_the_same(name, setting):
    exercise = all_exercises()[name]
    answers = [exercise.reference, *(slip.of(exercise.reference) for slip in exercise.slips[:4])]
    before = [check(name, answer) for answer in answers]
    assert before[0].state == "right" and before[1].state == "wrong"
    with setting():
        assert [check(name, answer) for answer in answers] == before


@each_setting
def test_a_measurement_is_the_same(setting):
    attention, lstm = SelfAttention(8, 2), LSTM(8)
    X = torch.randn(3, 4, 8)

    def measured():
        return [influence(attention, 4), influence(lstm, 4), flops(attention, 4, 8),
                longest_chain(lstm, 4, 8),
                gradient(attention, lambda: attention(X).square().sum((1, 2)))]

    before = measured()
    with setting():
        for one, other in zip(measured(), before):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("layer", [
    lambda: LinearAttention(16, 2, chunk_size=1), lambda: LinearAttention(16, 2, decay="input"),
    lambda: DeltaRule(16, 2, chunk_size=64)])
def test_autocast_leaves_a_memory_in_single_precision(layer):
    layer, X = layer(), torch.randn(1, 1000, 16)
    with torch.no_grad():
        Y, S = layer(X, need_state=True)
        with torch.autocast("cpu", torch.bfloat16):
            output, state = layer(X, need_state=True)
    assert state.dtype == torch.float32
    assert (output.float() - Y).norm() < 0.02 * Y.norm()
    assert (state - S).norm() < 0.02 * S.norm()


MADE = {
    "sinusoids": lambda: PositionalEncoding(8, max_len=30),
    "learned": lambda: LearnedPositionalEncoding(8, max_len=30),
    "T5": lambda: MultiHeadAttention(8, 2, position=T5RelativeBias(2)),
    "rotary": lambda: MultiHeadAttention(8, 2, position=RotaryEmbedding(4))}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_was_made_on_meta_and_filled_is_the_same(make, dtype):
    right = make().to(dtype)
    with torch.device("meta"):
        layer = make().to(dtype)
    torch.full((10_000,), 7.0)  # memory that was used before
    layer.to_empty(device="cpu").load_state_dict(right.state_dict())
    X = torch.randn(1, 20, 8, dtype=dtype)
    inputs = [X] if isinstance(right, PositionalEncoding) else [X, X, X]
    assert torch.equal(layer(*inputs), right(*inputs))


class LoRA(nn.Module):
    """A projection that adds to another, and shows the other's weight."""

    def __init__(self, base):
        super().__init__()
        self.base, self.A, self.B = base, nn.Parameter(torch.ones(2, 8)), nn.Parameter(
            torch.ones(8, 2))

    weight = property(lambda self: self.base.weight)
    bias = property(lambda self: self.base.bias)

    def forward(self, X):
        return self.base(X) + X @ self.A.T @ self.B.T


CHANGES = {  # of a layer's W_v
    "a bias": (lambda m: setattr(m, "W_v", nn.Linear(8, 8)), "W_v has a bias, and others"),
    "adapted": (lambda m: setattr(m, "W_v", LoRA(m.W_v)), "W_v must be .* got LoRA, .* A, B"),
    "pruned": (lambda m: prune.l1_unstructured(m.W_v, "weight", 0.5), "W_v must be .*weight_orig"),
    "normed": (lambda m: parametrizations.weight_norm(m.W_v), "W_v must be .*original0"),
    "in part": (lambda m: m.W_v.requires_grad_(False), "in_proj_weight .* some are frozen")}


@pytest.mark.parametrize("change, words", CHANGES.values(), ids=CHANGES)
def test_what_a_weight_does_not_say_is_refused(change, words):
    layer = MultiHeadAttention(8, 2)
    change(layer)
    with pytest.raises(ValueError, match=words):
        to_torch(layer)
    if "must be" in words:
        with pytest.raises(ValueError, match=words):
            prune_heads(layer, [0])


def test_pytorchs_own_layer_with_more_than_weights_is_refused():
    layer = nn.MultiheadAttention(8, 2, bias=False)
    layer.out_proj = nn.Linear(8, 8)
    with pytest.raises(ValueError, match="either in_proj and out_proj have a bias or neither"):
        from_torch(layer)
    for change in (lambda m: prune.l1_unstructured(m, "in_proj_weight", 0.5),
                   lambda m: parametrizations.weight_norm(m, "in_proj_weight")):
        changed = copy.deepcopy(nn.MultiheadAttention(8, 2))
        change(changed)
        with pytest.raises(ValueError, match="must hold plain weights"):
            from_torch(changed)


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_weights_stay_frozen(frozen):
    theirs = nn.MultiheadAttention(8, 2).requires_grad_(not frozen)
    back = to_torch(from_torch(theirs))
    for part in (*from_torch(theirs).parameters(), *back.parameters()):
        assert part.requires_grad is not frozen
