"""Attention seen from outside: weights, names, bits of the outputs; and gates on any heads."""
import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.modules import module as modules

from d2l_ext import MultiHeadAttention, record_attention, to_torch
from d2l_ext.heads import closed, gates

LENGTHS = torch.tensor([5, 2])
PADDING = torch.arange(5) >= LENGTHS[:, None]  # True = hidden, as PyTorch's modules want it
DRAWN = torch.rand(2, 3, 9, 9, generator=torch.Generator().manual_seed(0))  # in 0..1


class Calls(nn.Module):
    """Runs ``attend`` on its inputs: whatever a model may do."""

    def __init__(self, attend):
        super().__init__()
        self.attend = attend

    def forward(self, *args, **kwargs):
        return self.attend(*args, **kwargs)


class SomeAttention(Calls):
    """A class that is called attention."""


def attend(X):
    return F.scaled_dot_product_attention(X, X, X)


def written_out(X):
    return (X @ X.mT).softmax(-1) @ X


def alone(model, *args, **kwargs):
    """The one recorded call; output and next random number must be the same, and nothing warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.manual_seed(1)
        wanted, then = model(*args, **kwargs), torch.rand(1)
        torch.manual_seed(1)
        with record_attention(model) as seen:
            output = model(*args, **kwargs)
    first = [each[0] if isinstance(each, tuple) else each for each in (output, wanted)]
    assert torch.equal(*first) and torch.rand(1) == then
    (weights,), = seen.values()
    assert not weights.requires_grad
    return weights


# ---- fused calls: their output is the weights where values are rows of an identity ----

FUSED = {
    "scale": ((2, 3, 4, 6), (2, 3, 5, 6), {"scale": 0.9}),
    "booleans": ((2, 3, 4, 6), (2, 3, 5, 6), {"attn_mask": DRAWN[:, :1, :4, :5] > 0.4}),
    "numbers": ((2, 3, 4, 6), (2, 3, 5, 6), {"attn_mask": DRAWN[0, :, :4, :5]}),
    "causal": ((2, 3, 4, 6), (2, 3, 5, 6), {"is_causal": True}),
    "causal groups": ((2, 4, 5, 8), (2, 2, 5, 8), {"is_causal": True, "enable_gqa": True}),
    "one key for all heads": ((2, 3, 4, 6), (2, 1, 5, 6), {}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", FUSED)
def test_fused_calls(case, dtype):
    queries, keys, options = FUSED[case]
    q, k = torch.randn(queries).to(dtype), torch.randn(keys).to(dtype)
    v = torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1).to(dtype)
    recorded = alone(Calls(F.scaled_dot_product_attention), q, k, v, **options)
    applied = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), **options)
    assert recorded.dtype == torch.float32
    torch.testing.assert_close(recorded, applied, atol=1e-6, rtol=0)


def test_dropout_and_empty_rows_of_fused_calls():
    """Dropout isn't in the weights; a query that sees nothing has zeros."""
    q, k, v = torch.randn(3, 2, 3, 4, 6)
    model, mask = Calls(F.scaled_dot_product_attention), torch.ones(4, 4).tril(-1) > 0
    weights = alone(model, q, k, value=v, attn_mask=mask, dropout_p=0.5)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float().expand(2, 3, 4))


# ---- PyTorch's own modules ----

def packed(**change):
    sizes = dict(embed_dim=12, num_heads=4, batch_first=True) | change
    return nn.MultiheadAttention(**sizes).eval()


PACKED = {  # how it differs, its masks, and its inputs
    "fast path": ({}, {}, (2, 5, 12)),
    "padding": ({}, {"key_padding_mask": PADDING}, (2, 5, 12)),
    "causal": ({}, {"attn_mask": nn.Transformer.generate_square_subsequent_mask(5),
                    "is_causal": True}, (2, 5, 12)),
    "steps first": ({"batch_first": False}, {}, (5, 2, 12)),
    "dropout": ({"dropout": 0.5}, {}, (2, 5, 12)),
    "without a batch": ({}, {}, (5, 12)),
}


def theirs(model, X, **masks):
    """What ``nn.MultiheadAttention`` returns for each head, without dropout."""
    quiet = copy.deepcopy(model).eval()
    weights = quiet(X, X, X, need_weights=True, average_attn_weights=False, **masks)[1]
    return weights if X.dim() == 3 else weights[None]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("case", PACKED)
def test_packed_attention(case, asks, grad):
    change, masks, shape = PACKED[case]
    model, X = packed(**change).train("dropout" in change), torch.randn(shape)
    with torch.set_grad_enabled(grad):
        weights = alone(model, X, X, X, need_weights=asks, **masks)
    torch.testing.assert_close(weights, theirs(model, X, **masks), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("padding", [None, PADDING], ids=["all", "padding"])
def test_encoders_with_and_without_their_fast_path(padding, grad):
    """Outputs to the bit; weights as on the slow path, where neither key nor query is padding."""
    layer = nn.TransformerEncoderLayer(12, 4, 20, batch_first=True)
    model, X = nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, 5, 12)
    with torch.set_grad_enabled(grad):
        wanted = model(X, src_key_padding_mask=padding)
        with record_attention(model) as seen:
            output = model(X, src_key_padding_mask=padding)
        assert torch.equal(output, wanted)
    rows = slice(None) if padding is None else ~padding
    for i, layer in enumerate(model.layers):
        wanted = theirs(layer.self_attn, X, key_padding_mask=padding)
        (weights,), X = seen[f"layers.{i}.self_attn"], layer(X, src_key_padding_mask=padding)
        assert weights.isfinite().all()  # where padding asks, too
        weights, wanted = (each.transpose(1, 2)[rows] for each in (weights, wanted))
        torch.testing.assert_close(weights, wanted, atol=1e-6, rtol=1e-5)


def test_other_modes_stay_on():
    model, X = nn.TransformerEncoderLayer(12, 4, 20, batch_first=True).eval(), torch.randn(2, 5, 12)
    with torch.no_grad(), torch.device("cpu"):
        wanted = model(X, src_key_padding_mask=PADDING)
        with record_attention(model):
            assert torch.equal(model(X, src_key_padding_mask=PADDING), wanted)
    with torch.no_grad(), record_attention(model), torch.device("cpu"):
        assert torch.equal(model(X, src_key_padding_mask=PADDING), wanted)


# ---- ours ----

@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"valid_lens": torch.tensor([3, 0])}],
                         ids=lambda options: "-".join(options))
def test_ours(options, asks):
    model, X = MultiHeadAttention(12, 3, dropout=0.5, num_kv_heads=1), torch.randn(2, 9, 12)
    weights = alone(model, X, X, X, need_weights=asks, **options)
    torch.testing.assert_close(weights, model(X, X, X, need_weights=True, **options)[1])


# ---- names, limits, and what can't be seen ----

class Blocks(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        return X


def test_each_call_stands_under_the_name_of_its_innermost_module():
    plain = Calls(attend)
    model, X = Blocks(plain, Blocks(Calls(attend)), plain), torch.randn(2, 3, 4, 5)
    with record_attention(model) as seen:
        model(X), model(X)
        attend(X)
        Calls(attend)(X)  # not of this model
    assert {name: len(calls) for name, calls in seen.items()} == {"blocks.0": 4,
                                                                  "blocks.1.blocks.0": 2}
    model(X)
    assert len(seen["blocks.0"]) == 4


@pytest.mark.parametrize("broken", [packed, lambda: Calls(None)], ids=["fast", "plain"])
def test_nothing_stays_after_an_error_but_what_came_before(broken):
    def fail(*args, **kwargs):
        raise RuntimeError

    model, X = Blocks(Calls(attend), broken()), torch.randn(2, 3, 4, 5)
    model.blocks[1].forward = fail
    with pytest.raises(RuntimeError), record_attention(model) as before:
        try:
            model(X)
        finally:
            attend(X)  # of no module
    assert {name: len(calls) for name, calls in before.items()} == {"blocks.0": 1}
    assert not modules._global_forward_hooks and not modules._global_forward_pre_hooks
    assert model.blocks[1].forward is fail
    alone(Calls(attend), X)  # torch functions are seen again


def test_a_copy_that_is_made_meanwhile_has_its_own_weights():
    model, X = MultiHeadAttention(4, 2), torch.randn(2, 3, 4)
    with record_attention(model) as seen:
        made = copy.deepcopy(model)
        nn.init.zeros_(made.W_o.weight)
        assert model(X, X, X).any() and not made(X, X, X).any()
    assert not made(X, X, X).any() and len(seen["attention"]) == 1


WRITTEN_OUT, WINDOWS = SomeAttention(written_out), Calls(lambda X: attend(X[:, None])[:, 0])


@pytest.mark.parametrize("unseen", [WRITTEN_OUT, WINDOWS], ids=["written out", "windows"])
def test_what_is_not_seen_beside_others_is_named_where_the_block_stands(unseen):
    X, both = torch.randn(2, 3, 4, 4), Blocks(Calls(attend), unseen)
    wanted = both(X)
    words = "^record_attention saw no attention in 'blocks.1': it sees d2l_ext's MultiHeadAttention"
    with pytest.warns(UserWarning, match=words) as warned, record_attention(both) as seen:
        assert torch.equal(both(X), wanted)
    assert warned[-1].filename == __file__ and [*seen] == ["blocks.0"]


@pytest.mark.parametrize("model, words", [
    (WRITTEN_OUT, "'model': it sees "), (WINDOWS, "'model': it sees "),
    (SomeAttention(Blocks(WRITTEN_OUT)), "'attend.blocks.0': "),
    (Blocks(*(SomeAttention(written_out) for _ in "abcd")),
     "'blocks.3', 'blocks.2', 'blocks.1', ...: "),
    (SomeAttention(lambda X: flex_attention(X, X, X)), "'model': "),
    (Blocks(Calls(written_out)), "Blocks: "),
], ids=["written out", "windows", "parts", "four alike", "flex, other bits", "nothing"])
def test_what_attends_unseen_alone_is_refused_and_named_once(model, words):
    with pytest.raises(ValueError, match=f"^record_attention saw no attention in {words}"):
        with record_attention(model):
            model(torch.randn(2, 3, 4, 4))


def test_attention_around_what_was_recorded_is_not_missing():
    alone(SomeAttention(Blocks(Calls(attend))), torch.randn(2, 3, 4, 4))


# ---- gates ----

class Same(nn.Module):
    """Self-attention by a layer that takes queries, keys and values."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, X):
        output = self.layer(X, X, X)
        return output[0] if isinstance(output, tuple) else output


@pytest.mark.parametrize("gate", [torch.tensor([1.0, 0, -0.5]), DRAWN[:, 0, 0, :3]],
                         ids=["for all", "per example"])
def test_gates_on_pytorchs_class_are_those_on_ours(gate):
    """Outputs, and the gradients of gates, on which all measures rest."""
    ours, X, found = MultiHeadAttention(12, 3, bias=True).eval(), torch.randn(2, 5, 12), []
    for model in (Same(ours), Same(to_torch(ours))):
        opened = gate.clone().requires_grad_()
        before = model(X)
        with gates(model, {"layer": opened}):
            output = model(X)
        slope, = torch.autograd.grad(output.square().sum(), opened)
        found.append((output, slope))
        assert torch.equal(model(X), before) and not torch.allclose(before, output)
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", [
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 4, 20, batch_first=True), 2),
    lambda: Blocks(Same(MultiHeadAttention(12, 4)), Same(MultiHeadAttention(12, 4)))],
    ids=["PyTorch's", "ours"])
def test_recorders_and_gates_in_one_another(make):
    """Each recorder keeps a call once, and gates reach the layers above and no map of their own."""
    model, X = make().eval(), torch.randn(2, 5, 12)
    with torch.no_grad():
        plain = model(X)
        with record_attention(model) as outer, record_attention(model) as inner:
            assert torch.equal(model(X), plain)
        (below, (first,)), (above, (second,)) = outer.items()
        assert [len(calls) for calls in inner.values()] == [1, 1]
        part = model.get_submodule(below.rsplit(".", 1)[0])
        with record_attention(model) as outer, record_attention(part) as inner:
            torch.testing.assert_close(model(X), plain)  # the inner one ends the model's fast path
        assert [len(calls) for calls in (*outer.values(), *inner.values())] == [1, 1, 1]
        with closed(model, [(below, 1)]):
            wanted = model(X)
            with record_attention(model) as within:
                assert torch.equal(model(X), wanted) and not torch.allclose(wanted, plain)
        with record_attention(model) as around, closed(model, [(below, 1)]):
            assert torch.equal(model(X), wanted)
    for seen in (within, around):
        torch.testing.assert_close(seen[below], [first])
        torch.testing.assert_close(seen[above], within[above])
        assert not torch.allclose(seen[above][0], second)
