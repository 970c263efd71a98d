"""Attention seen from outside: weights, names, bits of the outputs; and gates on any heads."""
import copy
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


def test_heads_that_transformers_packs_as_queries_are_heads_again():
    """With one query, where heads share keys and a mask is given."""
    q, k, v = torch.randn(2, 6, 1, 8), torch.randn(2, 2, 5, 8), torch.randn(2, 2, 5, 8)
    model = Calls(F.scaled_dot_product_attention, num_key_value_groups=3,
                  config=SimpleNamespace(num_attention_heads=6))
    wanted, gate, packed = alone(model, q, k, v, enable_gqa=True), DRAWN[0, :2, 0, :6], q.reshape(
        2, 2, 3, 8)
    torch.testing.assert_close(alone(model, packed, k, v), wanted)
    with measures.gates(model, {"": gate}):
        gated = model(packed, k, v)
    wanted = model(q, k, v, enable_gqa=True) * gate[..., None, None]
    torch.testing.assert_close(gated, wanted.reshape(packed.shape))
    model.config.num_attention_heads = 2  # then these are three queries
    assert alone(model, packed, k, v).shape == (2, 2, 3, 5)
    model.config.num_attention_heads = [6, 2]
    words = r"these are 2 heads of 3 queries, or 6 of one, and config.num_attention_heads is \[6, 2"
    with pytest.raises(ValueError, match=words), record_attention(model):
        model(packed, k, v)


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


def test_packed_attention_without_a_batch_has_a_batch_of_one():
    model, X = packed(), torch.randn(5, 12)
    torch.testing.assert_close(alone(model, X, X, X), theirs(model, X)[None])


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
    with torch.no_grad(), record_attention(model), torch.device("cpu"):
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


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("broken", [packed, lambda: Calls(None)], ids=["fast", "plain"])
def test_nothing_stays_after_an_error_but_what_came_before(error, broken):
    def fail(*args, **kwargs):
        raise error

    model, X = Blocks(Calls(attend), broken()), torch.randn(2, 3, 4, 5)
    model.blocks[1].forward = fail
    with pytest.raises(error), record_attention(model) as before:
        model(X)
    assert {name: len(calls) for name, calls in before.items() if calls} == {"blocks.0": 1}
    assert not modules._global_forward_hooks and not modules._global_forward_pre_hooks
    assert model.blocks[1].forward is fail
    with record_attention(works := Calls(attend)) as seen:  # torch functions are seen again
        works(X)
    assert len(seen["attention"]) == 1


def test_beyond_the_limit_calls_are_left_out_and_named():
    model, X = Blocks(Calls(attend), Calls(attend)), torch.randn(2, 3, 4, 5)
    words = ("^record_attention left out 'blocks.0', 'blocks.1': maps are missing, beyond "
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


def with_a_sink(X):
    """Attention whose softmax is over the keys and one more."""
    return F.pad(X @ X.mT, (0, 1)).softmax(-1)[..., :-1] @ X


HOW = (r"attention is computed there without d2l_ext's MultiHeadAttention, nn.MultiheadAttention "
       "or F.scaled_dot_product_attention. A model of transformers calls the last if it is made "
       'with attn_implementation="sdpa", one of timm if it is made after timm.layers.set_fused')
OTHERS = {  # a module that attends in a way that is not seen for sure, and why
    "written out": (lambda: Calls(written_out), HOW),
    "functional": (lambda: Calls(lambda X: F.softmax(X @ X.mT, dim=3) @ X), HOW),
    "special": (lambda: Calls(lambda X: torch.special.softmax(X @ X.mT, -1) @ X), HOW),
    "a sink": (lambda: Calls(with_a_sink), HOW),
    "named so": (lambda: SomeAttention(lambda X: X.exp() / X.exp().sum()), HOW),
    "windows": (lambda: Calls(lambda X: attend(X[:, None])[:, 0]),
                r"queries of shape \(2, 1, 3, 4, 4\), expected \(batch, heads, queries, size\)"),
    "no heads": (lambda: Calls(lambda X: attend(X.flatten(0, 1)).reshape(X.shape)),
                 r"got queries of shape \(6, 4, 4\), expected"),
}


@pytest.mark.parametrize("make, why", OTHERS.values(), ids=OTHERS)
def test_what_is_not_seen_for_sure_is_refused_or_said_where_the_block_stands(make, why):
    """Alone it is refused, beside others it is named; no bit changes."""
    X, model, both = torch.randn(2, 3, 4, 4), make(), Blocks(Calls(attend), make())
    with pytest.raises(ValueError, match=f"^record_attention recorded nothing: 'model': .*{why}"):
        with record_attention(model):
            model(X)
    wanted = both(X)
    words = f"^record_attention left out 'blocks.1': .*{why}"
    with pytest.warns(UserWarning, match=words) as warned, record_attention(both) as seen:
        assert torch.equal(both(X), wanted)
    assert warned[-1].filename == __file__ and [*seen] == ["blocks.0"]


@pytest.mark.parametrize("make, words", [
    (lambda: SomeAttention(Blocks(SomeAttention(lambda X: X))), "'attend.blocks.0': "),
    (lambda: Blocks(*(SomeAttention(lambda X: X) for _ in "abcd")),
     "'blocks.3', 'blocks.2', 'blocks.1' and 1 more: "),
    (lambda: Calls(lambda X: X.softmax(1) + X[0].softmax(-1) + X[..., None].softmax(3)[..., 0]),
     "Calls ran without d2l_ext's MultiHeadAttention, "),
    (lambda: Blocks(Calls(lambda X: X)), "Blocks, Calls ran without"),
    (lambda: Calls(lambda X: flex_attention(X, X, X)), "'model': attention is computed"),
], ids=["parts", "four alike", "other axes", "nothing", "flex, other bits"])
def test_what_attends_unseen_is_named_once(make, words):
    model, X = make(), torch.randn(2, 3, 4, 4)
    with pytest.raises(ValueError, match=f"^record_attention recorded nothing: {words}"):
        with record_attention(model):
            model(X)


def test_attention_around_what_was_recorded_is_not_missing():
    alone(SomeAttention(Blocks(Calls(attend))), torch.randn(2, 3, 4, 4))
    alone(Calls(lambda X: attend(X.softmax(-1))), torch.randn(2, 3, 4, 4))


def test_a_subclass_with_a_signature_of_its_own_is_recorded():
    model, X, plain = OneInput(12, 4, batch_first=True).eval(), torch.randn(2, 5, 12), packed()
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(alone(model, X), theirs(plain, X))


def test_another_thread_runs_unwatched_and_is_said():
    model, X = MultiHeadAttention(4, 2), torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match="no module of the model ran in this thread while it was"):
        with record_attention(model):
            thread = threading.Thread(target=model, args=[X, X, X])
            thread.start(), thread.join()


# ---- gates and measures --------------------------------------------------------------------------

class Fused(nn.Module):
    """``MultiHeadAttention``'s weights around a call of PyTorch's function."""

    def __init__(self, ours):
        super().__init__()
        self.ours, self.attend = ours, Calls(F.scaled_dot_product_attention)

    def forward(self, X):
        return self.ours.W_o(merge_heads(self.attend(*(split_heads(linear(X), 3) for linear in (
            self.ours.W_q, self.ours.W_k, self.ours.W_v)))))


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
            "fused": (Fused(ours), "attend"),
            "called": (Same(Calls(ours.to_torch().forward)), "layer")}


@pytest.mark.parametrize("kind", ["packed", "fused", "called"])
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


@pytest.mark.parametrize("make", [
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 4, 20, batch_first=True), 2),
    lambda: Blocks(Same(MultiHeadAttention(12, 4)), Same(MultiHeadAttention(12, 4))),
    lambda: Blocks(Fused(MultiHeadAttention(12, 3)), Fused(MultiHeadAttention(12, 3)))],
    ids=["PyTorch's", "ours", "fused"])
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
        with measures.closed(model, [(below, 1)]):
            wanted = model(X)
            with record_attention(model) as within:
                assert torch.equal(model(X), wanted) and not torch.allclose(wanted, plain)
        with record_attention(model) as around, measures.closed(model, [(below, 1)]):
            assert torch.equal(model(X), wanted)
    for seen in (within, around):
        torch.testing.assert_close(seen[below], [first])
        torch.testing.assert_close(seen[above], within[above])
        assert not torch.allclose(seen[above][0], second)


def test_heads_of_any_model_are_listed_in_its_order_and_what_has_none_is_named():
    X = torch.randn(2, 3, 4, 4)
    model = Blocks(Calls(attend), Calls(lambda X: attend(X[0])[None] + X), Calls(attend))
    model.last = packed(num_heads=2)
    assert measures.all_heads(model) == [("last", 0), ("last", 1)]
    words = r"^no head can be closed in 'blocks.1': F.scaled_dot_product_attention got queries of"
    with pytest.warns(UserWarning, match=words) as warned:
        found = measures.all_heads(model, lambda: model(X))
    assert warned[0].filename == __file__
    assert found == [*[(f"blocks.{i}", head) for i in (0, 2) for head in range(3)],
                     ("last", 0), ("last", 1)]


@pytest.mark.parametrize("values, words", [
    ({"blocks.0": [3]}, r"^there are no heads \[3\] in 'blocks.0': it has 0 to 2$"),
    ({"blocks.1": [0]}, r"^no attention ran in 'blocks.1' while gates were open: all_heads"),
    ({"blocks.2": [0]}, r"^'blocks.2': F.scaled_dot_product_attention got queries of shape"),
    ({"blocks.0": torch.ones(4, 3)},
     "^gates of 'blocks.0' are for 4 examples, and the batch of its heads is 2: give the same"),
])
def test_gates_that_fit_no_heads_are_refused(values, words):
    model = Blocks(Calls(attend), Calls(written_out), Calls(lambda X: attend(X[0])))
    with pytest.raises(ValueError, match=words), measures.gates(model, values):
        model(torch.randn(2, 3, 4, 5))
