"""Gates, the four measures and pruning, each against a slow definition; what a wrong one would do is seen."""
import pytest
import scipy.stats
import torch
from torch import nn

from d2l_ext import MultiHeadAttention, RotaryEmbedding, merge_heads, record_attention, split_heads
from d2l_ext.heads import (all_heads, attention_layers, closed, evaluating, gates, gradient, greedy,
                           keep_one, ablate_one, prune, prune_heads, rank_correlation, ranks)
from d2l_ext.transformer import EncoderDecoder

SOURCE, TARGET = torch.arange(12).reshape(2, 6) % 7, torch.arange(8).reshape(2, 4) % 5
LENGTHS = torch.tensor([6, 3])


def model():
    torch.manual_seed(3)
    made = EncoderDecoder(source_vocab_size=7, target_vocab_size=5, num_hiddens=12, num_heads=3).eval()
    for layer in attention_layers(made).values():  # heads that matter, and differ
        nn.init.normal_(layer.W_o.weight)
    return made


def layer(**change):
    return MultiHeadAttention(**{"num_hiddens": 12, "num_heads": 4} | change).eval()


def by_hand(attention, X, gate):
    """The layer with gates, from its parts."""
    q, k, v = (split_heads(linear(X), attention.num_heads) for linear in (attention.W_q, attention.W_k, attention.W_v))
    heads = (q @ k.mT / attention.head_size ** 0.5).softmax(-1) @ v
    return attention.W_o(merge_heads(heads * gate[..., None, None]))


# ---- gates ------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("gate", [torch.tensor([1.0, 0, 1, 1]), torch.tensor([0.5, 2, -1, 0]), torch.rand(2, 4)], ids=["closed", "any", "per example"])
@pytest.mark.parametrize("attention", [layer(), layer(bias=True), layer(head_size=5)], ids=["plain", "bias", "head_size"])
def test_gates_multiply_heads(gate, attention):
    X = torch.randn(2, 5, 12)
    for need_weights in (False, True):
        with gates(attention, {"": gate}):
            output = attention(X, X, X, need_weights=need_weights)
        assert torch.allclose(output[0] if need_weights else output, by_hand(attention, X, gate), atol=1e-5)


def test_gates_are_gone_afterwards():
    attention, X = layer(), torch.randn(2, 5, 12)
    before = attention(X, X, X)
    with pytest.raises(KeyError, match="nothing"), closed(attention, [("", 1)]):
        raise KeyError("nothing")
    assert torch.equal(attention(X, X, X), before)
    assert not attention.W_o._forward_pre_hooks


@pytest.mark.parametrize("compiled", [lambda made: torch.compile(made, backend="eager"), lambda made: made.compile(backend="eager") or made], ids=["wrapped", "in place"])
def test_heads_of_a_compiled_model_close_and_are_recorded(compiled):
    made = compiled(model())
    before = made(SOURCE, TARGET, LENGTHS)
    with closed(made, [all_heads(made)[0]]), record_attention(made) as recorded:
        assert not torch.allclose(made(SOURCE, TARGET, LENGTHS), before)
    assert [len(calls) for calls in recorded.values()] == [1, 1, 1]
    assert torch.equal(made(SOURCE, TARGET, LENGTHS), before)


def test_gates_go_with_recording():
    made = model()
    with record_attention(made) as free:
        made(SOURCE, TARGET, LENGTHS)
    with closed(made, [("encoder.0.attention", 0)]), record_attention(made) as recorded:
        made(SOURCE, TARGET, LENGTHS)
    assert torch.equal(free["encoder.0.attention"][0], recorded["encoder.0.attention"][0])  # a closed head still looks; nothing listens
    assert not torch.allclose(free["decoder.0.cross"][0], recorded["decoder.0.cross"][0])


def test_heads_have_names():
    assert all_heads(model()) == [(name, head) for name in ("encoder.0.attention", "decoder.0.attention", "decoder.0.cross") for head in range(3)]


@pytest.mark.parametrize("values, error, words", [
    ({"cross": torch.zeros(3)}, KeyError, "decoder.0.cross"), ({"decoder.0.cross": torch.zeros(4)}, ValueError, r"\(4,\), expected \(3,\)"),
    ({"decoder.0.cross": torch.zeros(1, 1, 3)}, ValueError, r"\(1, 1, 3\)")])
def test_gates_that_do_not_fit(values, error, words):
    with pytest.raises(error, match=words), gates(model(), values):
        pass


@pytest.mark.parametrize("heads", [[("decoder.0.cross", 3)], [("cross", 0)], [("decoder.0.cross", -1)]])
def test_heads_that_are_not_there(heads):
    with pytest.raises(ValueError, match="there are no heads"):
        closed(model(), heads)
    with pytest.raises(ValueError, match="there are no heads"):
        prune(model(), heads)


SEVERAL = {"list": list, "generator": iter, "tensor": torch.tensor,
           "array": lambda heads: torch.tensor(heads).numpy()}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
def test_heads_may_be_anything_that_yields_integers(several):
    small = prune_heads(layer(), several([0, 2]))
    assert small.num_heads == 2


NUMBER = {"int": int, "tensor": torch.tensor, "array": lambda head: torch.tensor(head).numpy()[()]}


@pytest.mark.parametrize("number", NUMBER.values(), ids=NUMBER)
@pytest.mark.parametrize("several", [list, iter], ids=["list", "generator"])
def test_heads_of_a_model_may_come_from_a_generator(several, number):
    def heads():
        return several([("encoder.0.attention", number(1)), ("decoder.0.cross", number(0))])

    made = model()
    before = made(SOURCE, TARGET, LENGTHS)
    with closed(made, heads()):
        wanted = made(SOURCE, TARGET, LENGTHS)
    assert (wanted - before).abs().max() > 0.1
    small = prune(made, heads())
    assert len(all_heads(small)) == 7
    assert torch.allclose(small(SOURCE, TARGET, LENGTHS), wanted, atol=1e-5)


@pytest.mark.parametrize("heads, words", [
    (0, "heads must be several, such as \\[0, 2\\], got 0"), ("0", "must be an integer, got '0'"),
    ([1.0], "a head must be an integer, got 1.0"), ([True], "must be an integer, got True"),
    (torch.tensor([True, False, False, False]), "must be an integer, got True"),
    (torch.tensor([[0, 1]]), "must be an integer, got tensor"), ([None], "integer, got None")])
def test_heads_that_are_no_integers(heads, words):
    with pytest.raises(TypeError, match=words):
        prune_heads(layer(), heads)


@pytest.mark.parametrize("heads, words", [
    (0, "heads must be several.* got 0"), ([0], "a head is a pair such as .*, got 0"),
    (("decoder.0.cross", 0), "a head is a pair such as .*, got 'decoder.0.cross'"),
    ([("decoder.0.cross", 0, 1)], "is a pair"), ([(0, "decoder.0.cross")], "is a pair"),
    ([("decoder.0.cross", 0.0)], "a head must be an integer, got 0.0")])
@pytest.mark.parametrize("call", [closed, prune])
def test_heads_that_are_no_pairs(call, heads, words):
    with pytest.raises(TypeError, match=words):
        call(model(), heads)


# ---- measures: on scores that can be worked out by hand -----------------------------------------------------------------------------------

class Gated(nn.Module):
    """A layer of four heads of width 1 that each return a constant: the output is the sum of the gated constants."""

    def __init__(self, *constants):
        super().__init__()
        self.layer = MultiHeadAttention(1, len(constants), head_size=1)
        self.layer.load_state_dict({"W_q.weight": torch.zeros(len(constants), 1), "W_k.weight": torch.zeros(len(constants), 1),
                                    "W_v.weight": torch.tensor(constants)[:, None], "W_o.weight": torch.tensor([[1.0] * len(constants)])})

    def forward(self):
        X = torch.tensor([[[1.0]]])
        return self.layer(X, X, X)[0, 0, 0]


def test_measures_by_hand():
    made = Gated(5.0, 1.0, -2.0, 0.0)  # a head that matters, one that matters less, one that does harm, an idle one
    with torch.no_grad():
        assert ablate_one(made, lambda: made().item()).tolist() == [5, 1, -2, 0]
        assert keep_one(made, lambda: made().item()).tolist() == [5, 1, -2, 0]
        order, scores = greedy(made, lambda: made().item())
    assert [head for _, head in order] == [2, 3, 1, 0] and scores == [4, 6, 6, 5, 0]
    wanted = torch.tensor([5.0, 1.0, 2.0, 0.0])
    assert torch.allclose(gradient(made, lambda: made()[None]), wanted / wanted.norm())


def test_twins_fool_masking_one_at_a_time():
    made = Gated(5.0, 5.0, 1.0)
    score = lambda: min(made().item(), 5.0)  # noqa: E731  either twin is enough
    assert ablate_one(made, score).tolist() == [0, 0, 0]
    assert keep_one(made, score).tolist() == [5, 5, 1]
    order, scores = greedy(made, score)
    assert scores == [5, 5, 5, 0] and order[-1][1] in (0, 1)


def test_gradient_is_michel_s_definition():
    made = model()

    def losses():
        return made(SOURCE, TARGET, LENGTHS).square().mean((1, 2))

    found = dict(zip(all_heads(made), gradient(made, losses).tolist()))
    for name, attention in attention_layers(made).items():
        wanted = []
        for head in range(3):
            slopes = []
            for example in range(2):  # finite differences, one example and one gate at a time
                up, down = torch.tensor([1.0] * 3), torch.tensor([1.0] * 3)
                up[head], down[head] = 1.01, 0.99
                with torch.no_grad():
                    made.double()
                    values = []
                    for gate in (up, down):
                        with gates(made, {name: gate}):
                            values.append(losses()[example].item())
                    made.float()
                slopes.append(abs(values[0] - values[1]) / 0.02)
            wanted.append(sum(slopes) / 2)
        wanted = torch.tensor(wanted) / torch.tensor(wanted).norm()
        assert torch.allclose(torch.tensor([found[name, head] for head in range(3)]), wanted, atol=2e-3)


def test_the_absolute_value_comes_before_the_mean():
    made = Gated(1.0, 1.0)
    signs = torch.tensor([1.0, -1.0])

    def losses():
        X = torch.tensor([[[1.0]], [[1.0]]])
        return made.layer(X, X, X)[:, 0, 0] * signs

    assert torch.allclose(gradient(made, losses), torch.tensor([0.5, 0.5]).sqrt())  # the mean alone would be 0


def test_losses_are_one_per_example():
    made = Gated(1.0, 2.0)
    with pytest.raises(ValueError, match=r"^losses\(\) must return one loss per example, \(batch,\), got shape \(\)$"):
        gradient(made, lambda: made())


def test_gradient_leaves_the_model_as_it_was():
    made = model()
    gradient(made, lambda: made(SOURCE, TARGET, LENGTHS).square().mean((1, 2)))
    assert all(weight.grad is None for weight in made.parameters()) and not made.decoder[0].cross.W_o._forward_pre_hooks


def test_a_layer_that_moves_nothing_has_no_slope_instead_of_nan():
    made = model()
    nn.init.zeros_(made.decoder[0].attention.W_o.weight)
    found = gradient(made, lambda: made(SOURCE, TARGET, LENGTHS).square().mean((1, 2)))
    of = dict(zip(all_heads(made), found.tolist()))
    assert all((value == 0) == (name == "decoder.0.attention") for (name, _), value in of.items())
    assert not found.isnan().any()


def test_nan_has_no_rank():
    for call in (ranks, lambda values: rank_correlation([1, 2, 3], values)):
        with pytest.raises(ValueError, match="1 of 3 values are NaN"):
            call([1, float("nan"), 2])


def losing(made):
    return lambda: made(SOURCE, TARGET, LENGTHS).square().mean((1, 2))


def scoring(made):
    return lambda: -losing(made)().mean().item()


MEASURES = {"ablate_one": lambda made: ablate_one(made, scoring(made)),
            "keep_one": lambda made: keep_one(made, scoring(made)),
            "gradient": lambda made: gradient(made, losing(made)),
            "greedy": lambda made: torch.tensor(greedy(made, scoring(made))[1])}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_measure_of_a_model_in_training_mode_is_that_in_evaluation_mode(measure):
    made = EncoderDecoder(7, 5, 12, 3, dropout=0.5)
    wanted = measure(made.eval())
    made.train().decoder.eval()
    modes = [module.training for module in made.modules()]
    assert torch.equal(measure(made), wanted)
    assert [module.training for module in made.modules()] == modes and len(set(modes)) == 2
    assert not torch.equal(losing(made)(), losing(made)()), "dropout is at work outside"


def test_a_mode_comes_back_also_after_an_exception():
    made = model().train()
    with pytest.raises(KeyError, match="nothing"), evaluating(made):
        assert not any(module.training for module in made.modules())
        raise KeyError("nothing")
    assert all(module.training for module in made.modules())


def test_rank_correlation_is_spearman_s():
    for _ in range(20):
        a, b = torch.randint(6, (2, 9)).tolist()
        assert rank_correlation(a, b) == pytest.approx(scipy.stats.spearmanr(a, b).statistic)
    assert rank_correlation([3, 1, 2], [30.0, -1.0, 2.5]) == 1 and rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    assert torch.equal(ranks([5, 5, 1]), torch.tensor([1.5, 1.5, 0], dtype=torch.float64))
    assert rank_correlation([1, 1], [1, 2]) != rank_correlation([1, 1], [1, 2])  # NaN
    with pytest.raises(ValueError, match="2 values and 3"):
        rank_correlation([1, 2], [1, 2, 3])
    assert ranks([1.0, 1 + 1e-9]).tolist() == [0, 1]  # close scores are no equal ones
    assert rank_correlation([1, 1, 2], [1, 2, 3]) == 0.866025403784  # twelve digits, no noise behind them


def test_a_bar_counts_the_heads_as_they_close(monkeypatch):
    class Bar:
        values = []
        value = property(fset=lambda self, value: self.values.append(value))

    shown = []
    monkeypatch.setattr("d2l_ext.heads.progress_bar", lambda name, steps: shown.append((name, steps)) or Bar())
    made = Gated(2.0, 1.0, 0.0)
    greedy(made, lambda: made().item())
    assert shown == []
    greedy(made, lambda: made().item(), progress="pruning")
    assert shown == [("pruning", 3)] and Bar.values == [1, 2, 3]


def test_gates_are_made_where_the_model_is():
    made = Gated(3.0, 4.0)
    with torch.device("meta"):
        found = gradient(made, lambda: made.layer(*[torch.ones(1, 1, 1, device="cpu")] * 3)[:, 0, 0])
    assert found.device.type == "cpu" and torch.allclose(found, torch.tensor([0.6, 0.8], device="cpu"))


# ---- pruning ----------------------------------------------------------------------------------------------------------------------------

SIZES = [{}, {"bias": True}, {"head_size": 5}, {"query_size": 7, "key_size": 8, "value_size": 9, "bias": True}]


@pytest.mark.parametrize("heads", [{0}, {3}, {1, 2}, {0, 1, 3}, set()])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_pruned_is_closed(sizes, heads):
    attention = layer(**sizes)
    queries, keys, values = torch.randn(2, 4, sizes.get("query_size", 12)), torch.randn(2, 6, sizes.get("key_size", 12)), torch.randn(2, 6, sizes.get("value_size", 12))
    small = prune_heads(attention, heads)
    with closed(attention, [("", head) for head in heads]):
        wanted = attention(queries, keys, values, LENGTHS)
    assert torch.allclose(small(queries, keys, values, LENGTHS), wanted, atol=1e-5)
    assert small.num_heads == 4 - len(heads) and small.head_size == attention.head_size
    if heads:
        assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in attention.parameters())


@pytest.mark.parametrize("frozen", [(), ("W_q.weight",), ("W_o.weight", "W_o.bias"), None], ids=str)
def test_what_is_frozen_stays_frozen(frozen):
    attention = layer(bias=True)
    for name, weight in attention.named_parameters():
        weight.requires_grad_(frozen is not None and name not in frozen)
    wanted = {name: weight.requires_grad for name, weight in attention.named_parameters()}
    small = prune_heads(attention, [1])
    assert {name: weight.requires_grad for name, weight in small.named_parameters()} == wanted


def quantized():
    attention = layer()
    attention.W_v = torch.ao.nn.quantized.dynamic.Linear(12, 12)
    return attention


def normed(norm, name):
    attention = layer()
    norm(getattr(attention, name))
    return attention


def with_one_bias():
    attention = layer()
    attention.W_k = nn.Linear(12, 12)
    return attention


NOT_PLAIN = {
    "weight_norm": (lambda: normed(nn.utils.parametrizations.weight_norm, "W_q"),
                    "W_q, a .*ParametrizedLinear that holds parametrizations.weight.orig"),
    "spectral_norm": (lambda: normed(nn.utils.spectral_norm, "W_o"),
                      "W_o, a .*Linear that holds weight_orig"),
    "quantize_dynamic": (quantized, "W_v, a torch.*quantized.*Linear that holds scale"),
    "one bias": (with_one_bias, "W_k, a .*Linear that holds weight, bias: .* holds weight\\."),
}


@pytest.mark.filterwarnings("ignore")  # PyTorch gives weight_norm and quantization up
@pytest.mark.parametrize("make, words", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_no_plain_linear_layer_is_not_pruned(make, words):
    with pytest.raises(ValueError, match=f"^can't prune {words}"):
        prune_heads(make(), [0])


def test_weight_norm_taken_off_can_be_pruned():
    attention = normed(nn.utils.parametrizations.weight_norm, "W_q")
    nn.utils.parametrize.remove_parametrizations(attention.W_q, "weight")
    assert prune_heads(attention, [0]).num_heads == 3


def test_a_slip_in_pruning_is_noticed():
    attention, X = layer(), torch.randn(2, 4, 12)
    with closed(attention, [("", 1)]):
        wanted = attention(X, X, X)
    right = prune_heads(attention, {1})
    for name in ("W_q", "W_k", "W_v"):
        wrong = prune_heads(attention, {1})
        getattr(wrong, name).load_state_dict({"weight": getattr(attention, name).weight[:9]})  # the last head cut off, not the second
        assert not torch.allclose(wrong(X, X, X), wanted, atol=1e-3)
    other = MultiHeadAttention(12, 3)  # heads of width 4, not 3: head_size left out
    with pytest.raises(RuntimeError, match="size mismatch"):
        other.load_state_dict(right.state_dict())


def test_pruned_layers_load_and_leave_the_original_alone():
    attention, X = layer(dropout=0.25).train(), torch.randn(2, 4, 12)
    before = [weight.clone() for weight in attention.parameters()]
    small = prune_heads(attention, [2])
    assert small.training and small.dropout.p == 0.25
    again = MultiHeadAttention(12, small.num_heads, head_size=small.head_size)
    again.load_state_dict(small.state_dict())
    assert torch.equal(again.eval()(X, X, X), small.eval()(X, X, X))
    nn.init.zeros_(small.W_q.weight)
    assert all(torch.equal(*pair) for pair in zip(before, attention.parameters()))
    assert prune_heads(layer().double(), [0]).W_q.weight.dtype == torch.float64


@pytest.mark.parametrize("attention, heads, words", [(layer(), {0, 1, 2, 3}, r"^heads=\[0, 1, 2, 3\] are all there are"), (layer(), {4, 1}, r"^there are no heads \[4\]: the layer has 0 to 3$"),
                                                     (layer(), {-1}, r"no heads \[-1\]: the layer has 0 to 3$"),
                                                     (layer(position=RotaryEmbedding(3 + 1), head_size=4), {0}, r"^can't prune attention with a position module, got RotaryEmbedding\(\)")])
def test_what_cannot_be_pruned(attention, heads, words):
    with pytest.raises(ValueError, match=words):
        prune_heads(attention, heads)


def test_only_attention_can_be_pruned():
    with pytest.raises(TypeError, match="^attention must be a MultiHeadAttention, got Linear$"):
        prune_heads(nn.Linear(4, 4), [0])


def test_a_layer_in_two_places_is_pruned_in_both_and_a_layer_alone_too():
    attention, X = layer(), torch.randn(2, 4, 12)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = self.second = attention

        def forward(self, X):
            X = self.first(X, X, X)
            return self.second(X, X, X)

    small = prune(Twice(), [("first", 1)])
    with closed(Twice(), [("first", 1)]):
        assert torch.allclose(small(X), Twice()(X), atol=1e-5)
    assert small.first is small.second and small.first.num_heads == 3
    alone = prune(attention, [("", 1)])
    assert torch.equal(alone(X, X, X), small.first(X, X, X)) and attention.num_heads == 4


def test_a_layer_that_keeps_its_heads_may_have_positions():
    made = nn.ModuleList([layer(), layer(position=RotaryEmbedding(4), head_size=4)])
    assert [part.num_heads for part in prune(made, [("0", 2)])] == [3, 4]


def test_a_model_is_pruned_as_a_copy():
    made, heads = model(), [("encoder.0.attention", 0), ("decoder.0.cross", 2), ("decoder.0.cross", 0)]
    small = prune(made, heads)
    with closed(made, heads):
        wanted = made(SOURCE, TARGET, LENGTHS)
    assert torch.allclose(small(SOURCE, TARGET, LENGTHS), wanted, atol=1e-5)
    assert len(all_heads(small)) == 6 and len(all_heads(made)) == 9
