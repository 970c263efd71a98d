"""Attention seen from outside: weights, names, bits of the outputs; and gates on any heads."""
import copy
import math
import re
import threading
import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.modules import module as modules

from d2l_ext import MultiHeadAttention, merge_heads, record_attention, split_heads
from d2l_ext import heads as measures

LENGTHS = torch.tensor([5, 2])
PADDING = torch.arange(5) >= LENGTHS[:, None]  # True = hidden, as PyTorch's modules want it
DRAWN = torch.rand(2, 3, 9, 9, generator=torch.Generator().manual_seed(0))  # in 0..1


class Calls(nn.Module):
    """Runs ``attend`` on its inputs: whatever a model may do."""

    def __init__(self, attend, **facts):
        super().__init__()
        self.attend = attend
        for name, fact in facts.items():
            setattr(self, name, fact)

    def forward(self, *args, **kwargs):
        return self.attend(*args, **kwargs)


class SomeAttention(Calls):
    """A class that is called attention."""


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
    (weights,), = (calls for calls in seen.values() if calls)
    return weights


# ---- fused calls: their output is the weights where values are rows of an identity ---------------

FUSED = {
    "scale": ((2, 3, 4, 6), (2, 3, 5, 6), {"scale": 0.9}),
    "booleans": ((2, 3, 4, 6), (2, 3, 5, 6), {"attn_mask": DRAWN[:, :1, :4, :5] > 0.4}),
    "numbers": ((2, 3, 4, 6), (2, 3, 5, 6), {"attn_mask": DRAWN[0, :, :4, :5]}),
    "causal": ((2, 3, 4, 6), (2, 3, 5, 6), {"is_causal": True}),
    "causal groups": ((2, 4, 5, 8), (2, 2, 5, 8), {"is_causal": True, "enable_gqa": True}),
    "one query, a cache": ((2, 3, 1, 6), (2, 3, 7, 6), {}),
    "no heads": ((2, 4, 6), (2, 5, 6), {}),
    "no batch": ((4, 6), (5, 6), {}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", FUSED)
def test_fused_calls(case, dtype):
    queries, keys, options = FUSED[case]
    q, k = torch.randn(queries).to(dtype), torch.randn(keys).to(dtype)
    v = torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1).to(dtype)
    recorded = alone(Calls(F.scaled_dot_product_attention), q, k, v, **options)
    applied = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), **options)
    assert recorded.dim() == 4 and recorded.dtype == torch.float32
    torch.testing.assert_close(recorded, applied.reshape(recorded.shape), atol=1e-6, rtol=0)


def test_dropout_and_empty_rows_of_fused_calls():
    """Dropout isn't in the weights; a query that sees nothing has zeros."""
    q, k, v = torch.randn(3, 2, 3, 4, 6)
    model, mask = Calls(F.scaled_dot_product_attention), torch.ones(4, 4).tril(-1) > 0
    weights = alone(model, q, k, value=v, attn_mask=mask, dropout_p=0.5)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float().expand(2, 3, 4))


def test_grouped_heads_that_come_as_queries_are_heads_again():
    """As some models do while they write: one query, and heads that share keys side by side."""
    q, k, v = torch.randn(2, 6, 1, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    model = Calls(F.scaled_dot_product_attention, num_heads=6)
    wanted, packed = alone(model, q, k, v, enable_gqa=True), q.reshape(2, 3, 2, 8)
    gate = DRAWN[0, :2, 0, :6]
    by_settings = Calls(F.scaled_dot_product_attention, config=SimpleNamespace(n_head=6), n_head=3)
    around = Calls(by_settings, config=SimpleNamespace(n_head=3))  # whose number isn't meant
    for each in (model, by_settings, around):
        torch.testing.assert_close(alone(each, packed, k, v), wanted)
    with measures.gates(model, {"": gate}):
        gated = model(packed, k, v).reshape(2, 6, 1, 8)
    torch.testing.assert_close(gated, model(q, k, v, enable_gqa=True) * gate[..., None, None])


# ---- softmaxes -----------------------------------------------------------------------------------

@pytest.mark.parametrize("softmax", [
    F.softmax, torch.softmax, torch.special.softmax, torch.Tensor.softmax,
    lambda X, dim: X.softmax(dim=3), lambda X, dim: F.softmax(X, dim=dim, dtype=torch.float64)])
def test_softmaxes_over_the_last_of_four_axes(softmax):
    scores = torch.randn(2, 3, 4, 5)
    assert torch.equal(alone(Calls(softmax), scores, -1), softmax(scores, -1))


@pytest.mark.parametrize("count", ["num_heads", "num_attention_heads", "n_heads", "n_head"])
def test_heads_folded_into_the_batch_are_unfolded(count):
    """And kept as they were, though they are changed in place afterwards."""
    scores, softmax = torch.randn(6, 4, 5), lambda X: X.softmax(-1).mul_(0.5)
    weights = alone(SomeAttention(softmax, **{count: 3}), scores)
    assert torch.equal(weights, scores.softmax(-1).reshape(2, 3, 4, 5))
    assert torch.equal(alone(SomeAttention(softmax, **{count: 3}), scores[:, None]), weights)
    assert alone(SomeAttention(softmax), scores).shape == (6, 1, 4, 5)


# ---- PyTorch's own modules -----------------------------------------------------------------------

def packed(**change):
    sizes = dict(embed_dim=12, num_heads=4, batch_first=True) | change
    return nn.MultiheadAttention(**sizes).eval()


PACKED = {  # how it differs, and its masks
    "fast path": ({}, {}),
    "odd heads": ({"num_heads": 3}, {}),
    "padding": ({}, {"key_padding_mask": PADDING}),
    "causal": ({}, {"attn_mask": nn.Transformer.generate_square_subsequent_mask(5),
                    "is_causal": True}),
    "steps first": ({"batch_first": False}, {}),
    "one more key": ({"add_bias_kv": True}, {}),
    "dropout": ({"dropout": 0.5}, {}),
}


def theirs(model, X, **masks):
    """What ``nn.MultiheadAttention`` returns for each head, without dropout."""
    quiet = copy.deepcopy(model).eval()
    return quiet(X, X, X, need_weights=True, average_attn_weights=False, **masks)[1]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("case", PACKED)
def test_packed_attention(case, asks, grad):
    (change, masks), X = PACKED[case], torch.randn(2, 5, 12)
    model = packed(**change).train("dropout" in change)
    X = X if model.batch_first else X.transpose(0, 1)
    with torch.set_grad_enabled(grad):
        weights = alone(model, X, X, X, need_weights=asks, **masks)
    torch.testing.assert_close(weights, theirs(model, X, **masks), atol=1e-6, rtol=1e-5)


MINE = [type("Mine", (kind,), {}) for kind in (nn.TransformerEncoder, nn.TransformerEncoderLayer)]


@pytest.mark.filterwarnings("ignore")  # PyTorch says which layers have no fast path
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("change", [{}, {"norm_first": True}, {"batch_first": False}], ids=str)
@pytest.mark.parametrize("padding", [None, PADDING, PADDING.flip(1)], ids=["all", "right", "left"])
@pytest.mark.parametrize("stack, kind", [(nn.TransformerEncoder, nn.TransformerEncoderLayer), MINE],
                         ids=["PyTorch's", "subclasses"])
def test_encoders_with_and_without_their_fast_path(stack, kind, padding, change, grad):
    """Outputs to the bit; weights as on the slow path, where neither key nor query is padding."""
    torch.manual_seed(0)
    options = dict(d_model=12, nhead=4, dim_feedforward=20, batch_first=True) | change
    model, X = stack(kind(**options), 2).eval(), torch.randn(2, 5, 12)
    X = X if options["batch_first"] else X.transpose(0, 1)
    with torch.set_grad_enabled(grad):
        wanted = model(X, src_key_padding_mask=padding)
        with record_attention(model) as seen:
            output = model(X, src_key_padding_mask=padding)
        assert torch.equal(output, wanted)
    rows = slice(None) if padding is None else ~padding
    for i, layer in enumerate(model.layers):
        Y = layer.norm1(X) if layer.norm_first else X
        wanted = theirs(layer.self_attn, Y, key_padding_mask=padding)
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


# ---- ours ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"valid_lens": torch.tensor([3, 0])}],
                         ids=lambda options: "-".join(options))
def test_ours(options, asks):
    model, X = MultiHeadAttention(12, 3, dropout=0.5, num_kv_heads=1), torch.randn(2, 9, 12)
    weights = alone(model, X, X, X, need_weights=asks, **options)
    torch.testing.assert_close(weights, model(X, X, X, need_weights=True, **options)[1])


# ---- names, limits, and what can't be seen -------------------------------------------------------

class Blocks(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        return X


def test_each_call_stands_under_the_name_of_its_innermost_module():
    plain = Calls(lambda X: X.softmax(-1))
    model, X = Blocks(plain, Blocks(Calls(lambda X: X.softmax(-1))), plain), torch.randn(2, 3, 4, 5)
    with record_attention(model) as seen:
        model(X), model(X)
        X.softmax(-1)
        Calls(lambda X: X.softmax(-1))(X)  # not of this model
    assert {name: len(calls) for name, calls in seen.items()} == {"blocks.0": 4,
                                                                  "blocks.1.blocks.0": 2}
    model(X)
    assert len(seen["blocks.0"]) == 4


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("broken", [packed, lambda: Calls(None)], ids=["fast", "plain"])
def test_nothing_stays_after_an_error_but_what_came_before(error, broken):
    def fail(*args, **kwargs):
        raise error

    model, X = Blocks(Calls(lambda X: X.softmax(-1)), broken()), torch.randn(2, 3, 4, 5)
    model.blocks[1].forward = fail
    with pytest.raises(error), record_attention(model) as before:
        model(X)
    assert {name: len(calls) for name, calls in before.items() if calls} == {"blocks.0": 1}
    assert not modules._global_forward_hooks and not modules._global_forward_pre_hooks
    assert model.blocks[1].forward is fail
    with record_attention(works := Calls(F.softmax)) as seen:  # torch functions are seen again
        works(X, -1)
    assert len(seen["attention"]) == 1


def test_beyond_the_limit_calls_are_counted_and_named():
    model, X = Blocks(*(Calls(lambda X: X.softmax(-1)) for _ in "ab")), torch.randn(2, 3, 4, 5)
    words = ("^record_attention: 'blocks.0', 'blocks.1': maps are missing, beyond "
             "most_bytes=1,000$")
    with pytest.warns(UserWarning, match=words), record_attention(model, most_bytes=1000) as seen:
        model(X), model(X)
    assert [len(calls) for calls in seen.values()] == [1, 1]


def test_a_copy_that_is_made_meanwhile_has_its_own_weights():
    model, X = MultiHeadAttention(4, 2), torch.randn(2, 3, 4)
    with record_attention(model) as seen:
        made = copy.deepcopy(model)
        nn.init.zeros_(made.W_o.weight)
        assert model(X, X, X).any() and not made(X, X, X).any()
    assert not made(X, X, X).any() and len(seen["attention"]) == 1


class OneInput(nn.MultiheadAttention):
    def forward(self, X):
        return super().forward(X, X, X, need_weights=False)[0]


LAYERS = nn.ModuleList(Calls(each) for each in [lambda X: X.softmax(-1), lambda X: X])
SAID = {  # a model, its input, and what the warning says
    "no softmax": (lambda: Blocks(Blocks(SomeAttention(lambda X: X.exp() / X.exp().sum()))),
                   "^record_attention: 'blocks.0.blocks.0': calls neither"),
    "four alike": (lambda: Blocks(*(SomeAttention(lambda X: X) for _ in "abcd")),
                   "'blocks.3', 'blocks.2', 'blocks.1' and 1 more: calls neither"),
    "another axis": (lambda: SomeAttention(lambda X: X[..., None].softmax(-2)),
                     "'model': calls neither"),
    "several maps": (lambda: Calls(lambda X: X.softmax(-1).softmax(-1)),
                     "'model': 2 maps in one call"),
    "a layer without": (lambda: Calls(lambda X: [layer(X) for layer in LAYERS], layers=LAYERS),
                        "'layers.1': shows no attention, though"),
    "nothing": (lambda: Calls(lambda X: X), "'model': nothing was recorded: Calls ran without"),
    "three axes": (lambda: Calls(lambda X: X[0].softmax(-1)), "nothing was recorded"),
    "compiled": (lambda: torch.compile(LAYERS[0], backend="eager"), "ran uncompiled"),
    "flex": (lambda: Calls(lambda X: flex_attention(X, X, X)), "flex_attention shows no weights"),
}


@pytest.mark.parametrize("make, words", SAID.values(), ids=SAID)
def test_what_is_not_seen_is_said_where_the_block_stands(make, words):
    model, X = make(), torch.randn(2, 3, 4, 4)
    with pytest.warns(UserWarning, match=words) as warned, record_attention(model):
        model(X)
    assert warned[-1].filename == __file__


def test_a_subclass_with_a_signature_of_its_own_is_recorded():
    model, X, plain = OneInput(12, 4, batch_first=True).eval(), torch.randn(2, 5, 12), packed()
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(alone(model, X), theirs(plain, X))


def test_another_thread_runs_unwatched_and_is_said():
    model, X = MultiHeadAttention(4, 2), torch.randn(2, 3, 4)
    with pytest.warns(UserWarning, match="and other threads, show neither$"):
        with record_attention(model):
            thread = threading.Thread(target=model, args=[X, X, X])
            thread.start(), thread.join()


# ---- never changes, never breaks, never mislabels ------------------------------------------------

ARRANGED = {  # shapes of scores and input, number of heads -> shape of what is recorded, or why not
    "five axes": ((2, 3, 7, 4, 5), (), 3, (2, 7, 3, 4, 5)),
    "windows first": ((2, 7, 3, 4, 5), (), 3, (2, 7, 3, 4, 5)),
    "heads in the batch": ((6, 7, 4, 5), (), 3, (2, 7, 3, 4, 5)),
    "after the queries": ((2, 5, 3, 5), (2, 5, 12), 3, (2, 3, 5, 5)),
    "which is heads?": ((2, 3, 3, 4, 5), (), 3, r"of \(2, 3, 3, 4, 5\) not exactly one axis fits"),
    "no number": ((2, 3, 7, 4, 5), (), 0, "not exactly one axis fits"),
    "six axes": ((2, 3, 7, 1, 4, 5), (), 3, "not exactly one axis fits"),
    "neighbours": ((1, 16, 6, 5), (), 6, r"neighbours\) \(1, 16, 6, 5\): its last axis is not"),
    "channels": ((2, 3, 4, 4), (2, 9, 12), 3, "join 4 x 4 channels, not tokens"),
    "another number": ((2, 5, 4, 4), (), 3, "it has 5 heads and names 3$"),
}


@pytest.mark.parametrize("case", ARRANGED)
def test_heads_are_on_their_axis_or_refused(case):
    shape, given, heads, wanted = ARRANGED[case]
    model, X = Calls(lambda X: torch.randn(shape).softmax(-1), num_heads=heads), torch.ones(given)
    with warnings.catch_warnings(record=True) as warned, record_attention(model) as seen:
        warnings.simplefilter("always")
        model(X)
    if isinstance(wanted, tuple):
        assert seen["attention"][0].shape == wanted and not warned
        return
    assert re.search(wanted, str(warned[0].message))
    if "names 3" not in wanted:
        with pytest.raises(ValueError), measures.closed(model, [("", 0)]):
            model(X)


@pytest.mark.parametrize("shape", [(8, 3, 5, 5), (2, 4, 3, 5, 5)])
def test_windows_have_the_gates_of_their_example(shape):
    weights, gate = torch.rand(shape).softmax(-1), DRAWN[:, 0, 0, :3]
    model = Calls(lambda: weights.log().softmax(-1), num_heads=3)
    with measures.gates(model, {"": gate}):
        found = model().reshape(2, 4, 3, 5, 5)
    torch.testing.assert_close(found, weights.reshape_as(found) * gate[:, None, :, None, None])


# ---- gates and measures --------------------------------------------------------------------------

class Folded(nn.Module):
    """Multi-head attention with ``MultiHeadAttention``'s weights that writes out its softmax."""

    def __init__(self, ours):
        super().__init__()
        self.ours, self.softmax = ours, SomeAttention(F.softmax, num_heads=ours.num_heads)

    def forward(self, X):
        q, k, v = (split_heads(linear(X), 3).flatten(0, 1)
                   for linear in (self.ours.W_q, self.ours.W_k, self.ours.W_v))
        mixed = self.softmax(q @ k.mT / math.sqrt(self.ours.head_size), dim=-1) @ v
        return self.ours.W_o(merge_heads(mixed.unflatten(0, (len(X), 3))))


class Same(nn.Module):
    """Self-attention by a layer that takes queries, keys and values."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, X):
        output = self.layer(X, X, X)
        return output[0] if isinstance(output, tuple) else output


def siblings():
    """The same function in four ways, and the name of the layer in each."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, 3, bias=True).eval()
    nn.init.normal_(ours.W_o.weight)
    return {"ours": (Same(ours), "layer"), "packed": (Same(ours.to_torch()), "layer"),
            "folded": (Folded(ours), "softmax"),
            "called": (Same(Calls(ours.to_torch().forward)), "layer")}


@pytest.mark.parametrize("kind", ["packed", "folded", "called"])
@pytest.mark.parametrize("gate", [torch.tensor([1.0, 0, -0.5]), DRAWN[:, 0, 0, :3]],
                         ids=["for all", "per example"])
def test_gates_on_any_model_are_those_on_ours(kind, gate):
    """Outputs, and the gradients of gates, on which all measures rest."""
    X, both, found = torch.randn(2, 5, 12), siblings(), []
    for model, name in (both["ours"], both[kind]):
        opened = gate.clone().requires_grad_()
        with measures.gates(model, {}):
            before = model(X)
        with measures.gates(model, {name: opened}):
            output = model(X)
        slope, = torch.autograd.grad(output.square().sum(), opened)
        found.append((output, slope))
        assert torch.equal(model(X), before) and not torch.allclose(before, output)
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-5)


def test_heads_of_any_model_are_listed_in_its_order_and_what_has_none_is_named():
    X = torch.randn(2, 3, 4, 4)
    folded = Calls(lambda X: torch.randn(1, 16, 6, 5).softmax(-1).sum() + X, num_heads=6)
    model = Blocks(Calls(lambda X: X.softmax(-1)), folded,
                   Calls(lambda X: F.scaled_dot_product_attention(X, X, X)))
    model.last = packed(num_heads=2)
    assert measures.all_heads(model) == [("last", 0), ("last", 1)]
    words = r"^no head can be closed in 1 layers, the first 'blocks.1': \(batch, queries, heads, "
    with pytest.warns(UserWarning, match=words) as warned:
        found = measures.all_heads(model, lambda: model(X))
    assert warned[0].filename == __file__
    assert found == [*[(f"blocks.{i}", head) for i in (0, 2) for head in range(3)],
                     ("last", 0), ("last", 1)]


@pytest.mark.parametrize("heads, words", [
    ([("blocks.0", 3)], r"^there are no heads \[3\] in 'blocks.0': it has 0 to 2$"),
    ([("blocks.2", 0)], "^'blocks.2' makes several maps in a call"),
    ([("blocks.1", 0)], r"^no attention ran in 'blocks.1' while gates were open: all_heads"),
])
def test_heads_that_are_not_there_are_refused(heads, words):
    model = Blocks(Calls(lambda X: X.softmax(-1)), Calls(lambda X: X),
                   Calls(lambda X: X.softmax(-1).softmax(-1)))
    with pytest.raises(ValueError, match=words), measures.closed(model, heads):
        model(torch.randn(2, 3, 4, 5))
