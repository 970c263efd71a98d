"""Gates, the four measures and pruning, each against a slow definition; wrong ones are noticed."""
import copy
import math

import pytest
import torch
from test_bad_input import assert_refused
from torch import nn

from d2l_ext import MultiHeadAttention, RotaryEmbedding, record_attention, to_torch
from d2l_ext.heads import ablate_one, all_heads, attention_layers, closed, compare_recordings, gates
from d2l_ext.heads import gradient, greedy, keep_one, patched, prune, prune_heads
from d2l_ext.heads import rank_correlation
from d2l_ext.transformer import EncoderDecoder

SOURCE, TARGET = torch.arange(12).reshape(2, 6) % 7, torch.arange(8).reshape(2, 4) % 5
LENGTHS = torch.tensor([6, 3])
GIVEN = SOURCE, TARGET, LENGTHS
CROSS = "decoder.0.cross"


def model(**options):
    torch.manual_seed(3)
    made = EncoderDecoder(7, 5, num_hiddens=12, num_heads=3, **options).eval()
    for layer in attention_layers(made).values():  # heads that matter, and differ
        nn.init.normal_(layer.W_o.weight)
    return made


def layer(**change):
    return MultiHeadAttention(**dict(num_hiddens=12, num_heads=4) | change).eval()


def unused():
    with closed(layer(), [("", 0)]):
        pass


def losses(made):
    return made(*GIVEN).square().mean((1, 2))


# ---- gates ----

@pytest.mark.parametrize("gate", [torch.tensor([0.5, 2, -1, 0]), torch.arange(8.).reshape(2, 4)],
                         ids=["for all", "per example"])
@pytest.mark.parametrize("sizes", [dict(bias=True, head_size=5), dict(num_kv_heads=2)], ids=str)
def test_gates_multiply_heads(gate, sizes):
    """As if the columns of the output projection were multiplied, for each example."""
    attention, X = layer(**sizes), torch.randn(2, 5, 12)
    with gates(attention, {"": gate}):
        outputs = attention(X, X, X), attention(X, X, X, need_weights=True)[0]
    for i, numbers in enumerate(gate.expand(2, 4)):
        scaled = copy.deepcopy(attention)
        scaled.W_o.weight.data *= numbers.repeat_interleave(attention.head_size)
        for output in outputs:
            torch.testing.assert_close(output[i], scaled(*[X[i:i + 1]] * 3)[0])


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [
    lambda made: torch.compile(made, backend="eager"),
    lambda made: made.compile(backend="eager") or made], ids=["wrapped", "in place"])
def test_heads_of_a_compiled_model_close_and_are_recorded(compiled):
    made = compiled(model())
    before = made(*GIVEN)
    with closed(made, [all_heads(made)[0]]), record_attention(made) as recorded:
        assert not torch.allclose(made(*GIVEN), before)
    assert [len(calls) for calls in recorded.values()] == [1, 1, 1]
    assert torch.equal(made(*GIVEN), before)


@pytest.mark.parametrize("row", [
    (lambda: gates(model(), {"cross": torch.zeros(3)}).__enter__(),
     "'cross' is no layer with heads: all_heads(model) lists them", KeyError),
    (lambda: gates(model(), {CROSS: torch.zeros(4)}).__enter__(),
     "gates of 'decoder.0.cross' have shape (4,), expected (3,) or (batch, 3)"),
    (lambda: gates(model(), {CROSS: torch.zeros(1, 1, 3)}).__enter__(), "(1, 1, 3)"),
    (lambda: closed(model(), [(CROSS, 3)]).__enter__(),
     "there are no heads [3] in 'decoder.0.cross': it has 0 to 2"),
    (unused, "no attention ran in [''] while gates were open"),
    (lambda: prune(model(), [0]),
     "a head is a pair such as ('decoder.0.cross', 2), got 0", TypeError),
    (lambda: closed(model(), (CROSS, 0)), "is a pair ... , got 'decoder.0.cross'", TypeError),
    (lambda: closed(model(), [(CROSS, 0.0)]), "'float' object cannot", TypeError),
    (lambda: prune_heads(layer(), [1.0]), "'float' object cannot", TypeError),
    (lambda: prune_heads(layer(), [0, 1, 2, 3]),
     "heads=[0, 1, 2, 3] are all there are"),
    (lambda: prune_heads(layer(), [4, 1]), "there are no heads [4] in the layer: ... 0 to 3"),
    (lambda: prune_heads(layer(position=RotaryEmbedding(4), head_size=4), [0]),
     "can't prune heads with ... position=RotaryEmbedding(), num_heads=4, num_kv_heads=4"),
    (lambda: prune_heads(layer(num_kv_heads=2), [0]), "num_heads=4, num_kv_heads=2"),
    (lambda: prune(to_torch(layer()), [("", 0)]),
     "and '' is a MultiheadAttention: ... from_torch", TypeError),
    (lambda: gradient(model(), lambda: torch.tensor(1.0)),
     "losses() must return ... , got shape ()"),
    (lambda: ablate_one(nn.Linear(1, 1), lambda: 1.0), "Linear has no head that can be closed"),
    (lambda: patched(layer().W_o, 0, 4, lambda: None).__enter__(),
     "run() never called the projection"),
    (lambda: compare_recordings({"a": [torch.ones(1, 3, 4, 4)]}, {"a": [torch.ones(1, 3, 4, 3)]}),
     "their maps are [(1, 3, 4, 4)] and [(1, 3, 4, 3)]"),
])
def test_what_does_not_fit_is_refused(row):
    assert_refused(*row)


# ---- measures: on scores that can be worked out by hand ----

class Gated(nn.Module):
    """Layers of heads that each return a constant: the output is the sum of the gated constants."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(
            MultiHeadAttention(1, len(constants), head_size=1) for constants in layers)
        for layer, constants in zip(self.layers, layers):
            nn.init.ones_(layer.W_o.weight)
            layer.W_v.weight.data[:, 0] = torch.tensor(constants)

    def forward(self):
        X = torch.ones(1, 1, 1)
        return sum(layer(X, X, X)[:, 0, 0] for layer in self.layers)


def test_measures_by_hand():
    """A head that matters, one that matters less, one that does harm, an idle one; idle layers."""
    made = Gated([5.0, 1.0, -2.0, 0.0], [3.0], [0.0])
    score = lambda: made().item()
    assert ablate_one(made, score).tolist() == [5, 1, -2, 0, 3, 0]
    assert keep_one(made, score).tolist() == [8, 4, 1, 3, 7, 7]
    order, scores = greedy(made, score)
    assert [all_heads(made).index(head) for head in order] == [2, 3, 5, 1, 4, 0]
    assert scores == [7, 9, 9, 9, 8, 5, 0]
    wanted = torch.tensor([5.0, 1.0, 2.0, 0.0])
    wanted = torch.tensor([*wanted / wanted.norm(), 1, 0])
    torch.testing.assert_close(gradient(made, made), wanted)


def scoring(made):
    return lambda: -losses(made).mean().item()


@pytest.mark.parametrize("measure", [
    lambda made: ablate_one(made, scoring(made)), lambda made: keep_one(made, scoring(made)),
    lambda made: gradient(made, lambda: losses(made)),
    lambda made: torch.tensor(greedy(made, scoring(made))[1])],
    ids=["ablate_one", "keep_one", "gradient", "greedy"])
def test_a_measure_of_a_model_in_training_mode_is_that_in_evaluation_mode(measure):
    made = model(dropout=0.5)
    wanted = measure(made)
    made.train().decoder.eval()
    modes = [module.training for module in made.modules()]
    assert torch.equal(measure(made), wanted)
    assert [module.training for module in made.modules()] == modes and len(set(modes)) == 2
    assert not torch.equal(losses(made), losses(made)), "dropout is at work outside"


def test_rank_correlation_is_spearmans():
    """Ranks of equal values are their mean, as in scipy.stats.spearmanr, whose number this is."""
    assert rank_correlation([3, 0, 5, 5, 1, 0], [2, 2, 4, 0, 3, 1]) == 0.134343322656
    assert math.isnan(rank_correlation([1, 1], [1, 2]))


# ---- pruning ----

@pytest.mark.parametrize("heads", [{1, 2}, set()])
@pytest.mark.parametrize("sizes", [
    dict(head_size=5), dict(query_size=7, key_size=8, value_size=9, bias=True)], ids=str)
def test_pruned_is_closed(sizes, heads):
    attention = layer(**sizes)
    inputs = [torch.randn(2, steps, linear.in_features) for steps, linear in
              ((4, attention.W_q), (6, attention.W_k), (6, attention.W_v))]
    small = prune_heads(attention, heads)
    with closed(attention, [("", head) for head in heads]):
        wanted = attention(*inputs, LENGTHS)
    torch.testing.assert_close(small(*inputs, LENGTHS), wanted)
    assert small.num_heads == 4 - len(heads) and small.head_size == attention.head_size
    assert small.W_q.out_features == small.num_heads * small.head_size


def test_pruned_layers_are_as_the_original_was_and_leave_it_alone():
    attention = layer(dropout=0.25).train()
    attention.W_q.weight.requires_grad_(False)
    before = [weight.clone() for weight in attention.parameters()]
    small = prune_heads(attention, [2])
    assert small.training and small.dropout.p == 0.25
    assert [W.requires_grad for W in small.parameters()] == [False, True, True, True]
    assert not prune_heads(layer().eval(), [2]).training
    nn.init.zeros_(small.W_q.weight)
    assert all(map(torch.equal, before, attention.parameters()))
    assert prune_heads(layer().double(), [0]).W_q.weight.dtype == torch.float64


def test_a_layer_in_two_places_is_pruned_in_both_and_a_layer_alone_too():
    shared = layer()
    small = prune(made := nn.ModuleList([shared, shared]), [("0", 1)])
    assert small[0] is small[1] and small[0].num_heads == 3
    assert made[0] is shared and shared.num_heads == 4 == 1 + prune(shared, [("", 1)]).num_heads


# ---- two prompts or models ----

def test_two_recordings_side_by_side_have_their_difference():
    first, second = torch.rand(2, 1, 3, 4, 4)
    both = compare_recordings({"a": [first]}, {"b": [second, first]})
    assert list(both) == ["a"]
    assert torch.equal(both["a"], torch.stack([first, second, first - second]))


def test_a_patched_head_is_that_of_the_other_prompt_and_no_other_changes():
    attention, X, Y = layer(), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
    with patched(attention.W_o, 2, 4, lambda: attention(Y, Y, Y)):
        found = attention(X, X, X)
    with closed(attention, [("", 2)]):
        others = attention(X, X, X)
    with closed(attention, [("", head) for head in (0, 1, 3)]):
        theirs = attention(Y, Y, Y)
    torch.testing.assert_close(found, others + theirs)
    assert not attention.W_o._forward_pre_hooks
