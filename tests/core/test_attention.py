"""Multi-head attention equals its definition, in values and gradients, and keeps its promises on both paths."""
import copy
import math
import pickle

import pytest
import torch
from torch import nn
from torch.func import vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from wrong import (WRONG_ATTENTIONS, WRONG_SOFTMAXES, Steps, assert_same, lengths_mask, outcome, slow_attention, slow_linear, slow_outcome,
                   slow_softmax)

from d2l_ext import (AdditiveAttention, MultiHeadAttention, causal, dot_product_attention, masked_softmax, merge_heads, padding, record_attention,
                     split_heads, to_torch_mha, window)
from d2l_ext.attention import hide_unseen

SIZES = dict(query_size=5, key_size=7, value_size=9, head_size=3)  # batch 2, queries 3, keys 4, heads 2, hiddens 8: no two alike where it matters
LENGTHS, LENGTHS_PER_QUERY = torch.tensor([2, 4]), torch.tensor([[1, 4, 2], [3, 1, 4]])
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def fused(m, *inputs, **options):
    return m(*inputs, **options)


def explicit(m, *inputs, **options):
    return m(*inputs, need_weights=True, **options)[0]


both_paths = pytest.mark.parametrize("attend", [fused, explicit], ids=lambda path: path.__name__)


def cross(dtype=torch.float32, **options):
    """Cross-attention with all sizes different: the module and its three inputs."""
    m = MultiHeadAttention(8, 2, bias=True, **{**SIZES, **options}).eval()
    return m.to(dtype), torch.randn(2, 3, 5, dtype=dtype), torch.randn(2, 4, 7, dtype=dtype), torch.randn(2, 4, 9, dtype=dtype)


def selfish(dtype=torch.float32, steps=4):
    """Self-attention: the module and one input."""
    return MultiHeadAttention(6, 2, bias=True).eval().to(dtype), torch.randn(2, steps, 6, dtype=dtype)


# ---- claims, asked of both paths and of every mistake in the catalogue ---------------------------------------------------------------------

def definition(attend):
    m, *inputs = cross()
    for lengths in (None, LENGTHS):
        keep = None if lengths is None else lengths_mask(lengths, 3, 4)
        assert_same(outcome(lambda m, *X: attend(m, *X, valid_lens=lengths), m, *inputs), slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs))


def definition_of_self_attention(attend):
    m, X = selfish()
    assert_same(outcome(lambda m, X: attend(m, X, X, X), m, X), slow_outcome(lambda m, X: slow_attention(m, X, X, X)[0], m, X))


def lengths_per_query(attend):
    m, *inputs = cross()
    keep = lengths_mask(LENGTHS_PER_QUERY, 3, 4)
    assert_same(outcome(lambda m, *X: attend(m, *X, valid_lens=LENGTHS_PER_QUERY), m, *inputs),
                slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs))


def causal_order(attend):
    m, X = selfish()
    order = torch.tensor([[j <= i for j in range(4)] for i in range(4)])
    for lengths in (None, LENGTHS):
        keep = order if lengths is None else order & lengths_mask(lengths, 4, 4)
        assert_same(outcome(lambda m, X: attend(m, X, X, X, valid_lens=lengths, causal=True), m, X),
                    slow_outcome(lambda m, X: slow_attention(m, X, X, X, keep)[0], m, X))


def quiet_in_evaluation(attend):
    m, *inputs = cross(dropout=0.5)
    torch.testing.assert_close(attend(m, *inputs), m(*inputs))


def drops_weights_in_training(attend):
    """With equal scores and one-hot values the output is the row of weights after dropout: 0 or 1/n/(1 - p)."""
    m = MultiHeadAttention(10, 1, dropout=0.6).train()
    m.load_state_dict({f"W_{name}.weight": torch.eye(10) for name in "qkvo"})
    zeros, one_hot = torch.zeros(8, 10, 10), torch.eye(10).expand(8, 10, 10)
    output = attend(m, zeros, zeros, one_hot)
    dropped = output == 0
    assert 0.5 < dropped.double().mean() < 0.7
    torch.testing.assert_close(output[~dropped], torch.full_like(output[~dropped], 0.1 / 0.4))
    assert len(dropped.reshape(-1, 10).unique(dim=0)) > 8, "each query and sequence draws anew"


def zeros_for_empty_rows(attend, dtype=torch.float32):
    m, queries, keys, values = cross(dtype)
    lengths = torch.tensor([[0, 4, 0], [0, 0, 0]])
    output, *grads = outcome(lambda m, *X: attend(m, *X, valid_lens=lengths), m, queries, keys, values)
    empty = lengths == 0
    torch.testing.assert_close(output[empty], m.W_o.bias.detach().expand_as(output[empty]), atol=0, rtol=0)
    assert all(grad.isfinite().all() for grad in (output, *grads))
    d_queries, d_keys, d_values = grads[:3]
    assert (d_queries[empty] == 0).all() and (d_keys[1] == 0).all() and (d_values[1] == 0).all()
    assert d_queries[0, 1].any() and d_keys[0].any() and d_values[0].any()


def zeros_in_half_precision(attend):
    zeros_for_empty_rows(attend, torch.float16)


def masks_low_scores(attend, position=None):
    """Scores of -1e8, far below the constants that masks are often made of."""
    m = MultiHeadAttention(4, 1, position=position)
    m.load_state_dict({f"W_{name}.weight": torch.eye(4) for name in "qkvo"}, strict=False)
    keys = torch.full((1, 3, 4), -1e4)
    values = torch.randn(1, 3, 4)
    torch.testing.assert_close(attend(m, -keys, keys, values, valid_lens=torch.tensor([2])), values[:, :2].mean(1, keepdim=True).expand(1, 3, 4))


def leaves_inputs_alone(attend):
    m, *inputs = cross()
    lengths, wide = LENGTHS.clone(), [torch.stack([X, X], 2).flatten(2) for X in inputs]
    views = [X[..., :X.shape[2] // 2] for X in wide]  # not contiguous, and part of something larger
    before = copy.deepcopy((inputs, lengths, wide))
    attend(m, *inputs, valid_lens=lengths)
    attend(m, *views, valid_lens=lengths)
    assert_same([*before[0], before[1], *before[2]], [*inputs, lengths, *wide], 0, 0)


def blind_to_padding(attend, poison=math.nan):
    m, *inputs = cross()
    hidden = ~lengths_mask(LENGTHS, 3, 4)[:, 0, 0, :, None]
    poisoned = [inputs[0], inputs[1].masked_fill(hidden, poison), inputs[2].masked_fill(hidden, poison)]
    results = [outcome(lambda m, *X: attend(m, *X, valid_lens=LENGTHS), m, *X) for X in (poisoned, inputs)]
    assert_same(*results, 1e-6, 1e-5)
    assert not results[0][2][hidden.expand(2, 4, 7)].any() and not results[0][3][hidden.expand(2, 4, 9)].any()


CLAIMS = [definition, definition_of_self_attention, lengths_per_query, causal_order, quiet_in_evaluation, drops_weights_in_training, zeros_for_empty_rows,
          zeros_in_half_precision, masks_low_scores, leaves_inputs_alone, blind_to_padding]


@both_paths
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_both_paths_hold_every_claim(claim, attend):
    claim(attend)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_right_steps_hold_every_claim(claim):
    """So what fails below fails by its one wrong step."""
    claim(Steps())


@pytest.mark.parametrize("claim, mistake", WRONG_ATTENTIONS, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_attention_is_caught(claim, mistake):
    with pytest.raises(AssertionError):
        globals()[claim](mistake())


def test_there_are_at_least_forty_mistakes():
    assert len(WRONG_ATTENTIONS) >= 40


# ---- values ----------------------------------------------------------------------------------------------------------------------------------

def test_weights_equal_the_definition_and_their_gradients_too():
    m, *inputs = cross()
    keep = lengths_mask(LENGTHS_PER_QUERY, 3, 4)
    assert_same(outcome(lambda m, *X: m(*X, LENGTHS_PER_QUERY, need_weights=True), m, *inputs), slow_outcome(lambda m, *X: slow_attention(m, *X, keep), m, *inputs))


MASKS = {shape: torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.6
         for shape in [(3, 4), (2, 3, 4), (1, 3, 4), (2, 1, 3, 4), (2, 2, 3, 4), (1, 2, 3, 4), (1, 1, 3, 4)]}


@both_paths
@pytest.mark.parametrize("shape", MASKS)
def test_masks_of_every_shape_equal_the_definition(attend, shape):
    m, *inputs = cross()
    mask = MASKS[shape]
    keep = mask[:, None] if mask.dim() == 3 else mask
    assert_same(outcome(lambda m, *X: attend(m, *X, mask=mask), m, *inputs), slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs))


@both_paths
@pytest.mark.parametrize("mask", [causal(offset=1), window(1), ~window(0), padding(LENGTHS) & window(1), lambda q, k: k % 2 == q % 2])
def test_predicates_equal_their_tensors(attend, mask):
    m, *inputs = cross()
    tensor = mask(torch.arange(3)[:, None], torch.arange(4))
    torch.testing.assert_close(attend(m, *inputs, mask=mask), attend(m, *inputs, mask=tensor))


@both_paths
def test_all_constraints_are_anded(attend):
    m, X = selfish()
    mask = torch.rand(2, 2, 4, 4) < 0.7
    keep = mask & lengths_mask(LENGTHS, 4, 4) & causal().tensor(4, 4)
    torch.testing.assert_close(attend(m, X, X, X, LENGTHS, mask=mask, causal=True), attend(m, X, X, X, mask=keep))
    torch.testing.assert_close(attend(m, X, X, X, mask=mask, causal=True), attend(m, X, X, X, mask=mask & causal().tensor(4, 4)))


@both_paths
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 1, 3, 4), (2, 2, 3, 4)])
def test_equals_torch_multihead_attention_on_ragged_cross_attention(attend, shape):
    """Queries are as wide as the output here, which PyTorch's class needs."""
    m, _, *inputs = cross(query_size=8, head_size=4)
    queries = torch.randn(2, 3, 8)
    theirs, mask = m.to_torch(), MASKS[shape] | (torch.arange(4) == 2)
    output, *grads = outcome(lambda m, *X: attend(m, *X, mask=mask), m, queries, *inputs)
    hidden = to_torch_mha(mask, num_heads=2)
    expected, *their_grads = outcome(lambda m, *X: theirs(*X, attn_mask=hidden)[0], nn.ModuleList(), queries, *inputs)
    assert_same([output, *grads[:3]], [expected, *their_grads])


@both_paths
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_close_to_float64(attend, dtype):
    m, *inputs = cross(dtype)
    keep = lengths_mask(LENGTHS_PER_QUERY, 3, 4)
    output = attend(m, *inputs, LENGTHS_PER_QUERY)
    assert output.dtype == dtype
    tolerance = 20 * torch.finfo(dtype).eps
    assert_same([output], slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs)[:1], tolerance, tolerance)


@pytest.mark.parametrize("options", [dict(), dict(valid_lens=LENGTHS), dict(causal=True), dict(mask=window(1)), dict(valid_lens=torch.tensor([0, 3]), causal=True)],
                         ids=lambda options: "-".join(options) or "free")
def test_both_paths_agree_where_nothing_needs_a_gradient(options):
    m, X = selfish()
    with torch.inference_mode():
        torch.testing.assert_close(fused(m, X, X, X, **options), explicit(m, X, X, X, **options))


def test_a_score_that_overflows_where_it_is_hidden_changes_nothing():
    X = torch.tensor([[[200.0] * 4, [1.0] * 4, [2.0] * 4]], dtype=torch.float16)  # the first times itself is infinite
    m, others = MultiHeadAttention(4, 1).half(), torch.tensor([[False, True, False], [True, False, False], [False, False, True]])
    for linear in (m.W_q, m.W_k, m.W_v, m.W_o):
        nn.init.eye_(linear.weight)
    for output in (explicit(m, X, X, X, mask=others), dot_product_attention(X, X, X, others)[0], masked_softmax(X @ X.mT, mask=others) @ X):
        assert output[0, :, 0].tolist() == [1, 200, 2]


def test_autocast_takes_both_paths():
    m, *inputs = cross()
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(fused(m, *inputs, LENGTHS), explicit(m, *inputs, LENGTHS), atol=0.05, rtol=0.05)


def test_a_decoder_step_with_an_offset_is_the_last_row():
    m, X = selfish()
    torch.testing.assert_close(m(X[:, 3:], X, X, mask=causal(offset=3)), m(X, X, X, causal=True)[:, 3:])


@both_paths
def test_what_comes_later_changes_nothing_before(attend):
    m, X = selfish()
    torch.testing.assert_close(attend(m, X, X, X, causal=True)[:, :2], attend(m, X[:, :2], X[:, :2], X[:, :2], causal=True))


def test_parameters_are_the_four_projections_and_nothing_else():
    m, plain = cross()[0], MultiHeadAttention(8, 2)
    assert {name: tuple(p.shape) for name, p in m.named_parameters()} == {
        "W_q.weight": (6, 5), "W_k.weight": (6, 7), "W_v.weight": (6, 9), "W_o.weight": (8, 6),
        "W_q.bias": (6,), "W_k.bias": (6,), "W_v.bias": (6,), "W_o.bias": (8,)}
    assert list(plain.state_dict()) == [f"W_{name}.weight" for name in "qkvo"] and plain.head_size == 4


def test_positional_arguments_come_in_d2l_order():
    m = MultiHeadAttention(8, 2, 0.25, True)
    assert (m.num_heads, m.dropout.p, m.W_o.bias is not None) == (2, 0.25, True)


# ---- nothing to attend to, and what no one may see ------------------------------------------------------------------------------------------------

@both_paths
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_rows_are_zero_in_every_dtype(attend, dtype):
    zeros_for_empty_rows(attend, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_of_empty_rows_are_zero_and_the_others_sum_to_one(dtype):
    m, *inputs = cross(dtype)
    _, weights = m(*inputs, torch.tensor([[0, 4, 0], [1, 0, 3]]), need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([[0, 1, 0], [1, 0, 1]], dtype=dtype)[:, None].expand(2, 2, 3), atol=0.01, rtol=0)
    assert (weights[1, :, 2, 3] == 0).all()


def naive_kernel(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """As some kernels answer: NaN, values and gradients, where a query sees nothing."""
    scores = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("position", [None, (2, 3, 4)], ids=["mask", "bias"])
def test_it_does_not_matter_what_the_kernel_makes_of_empty_rows(monkeypatch, position):
    m, *inputs = cross(position=position and FakePosition(position))
    attend = lambda m, *X: m(*X, torch.tensor([[0, 4, 0], [0, 0, 0]]))  # noqa: E731
    expected = outcome(attend, m, *inputs)
    monkeypatch.setattr(F, "scaled_dot_product_attention", naive_kernel)
    assert_same(outcome(attend, m, *inputs), expected)


@both_paths
def test_a_head_that_sees_nothing_gives_zeros_before_the_output_weights(attend):
    m, *inputs = cross()
    first_only = torch.tensor([True, False])[None, :, None, None].expand(2, 2, 3, 4)
    expected = slow_outcome(lambda m, *X: slow_attention(m, *X, first_only)[0], m, *inputs)
    assert_same(outcome(lambda m, *X: attend(m, *X, mask=first_only), m, *inputs), expected)


@both_paths
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 3e38])
def test_poison_in_padding_reaches_nothing(attend, poison):
    blind_to_padding(attend, poison)


@both_paths
@pytest.mark.parametrize("options", [dict(valid_lens=torch.tensor([2, 2])), dict(mask=lambda q, k: (k < 2) & (q >= 0)),
                                     dict(mask=(torch.arange(4) < 2).expand(4, 4)),
                                     dict(mask=(torch.arange(4) < 2).expand(2, 2, 4, 4)), dict(valid_lens=torch.tensor([[2, 1, 2, 0]] * 2)),
                                     dict(valid_lens=torch.tensor([2, 2]), causal=True)], ids=lambda options: "-".join(options))
def test_poison_in_self_attention_reaches_nothing(attend, options):
    """There a padded position is a query as well; as one it counts as zeros."""
    m, X = selfish()
    X[:, 2:] = 0
    poisoned = X.clone()
    poisoned[0, 2], poisoned[0, 3], poisoned[1, 2:] = math.nan, math.inf, -math.inf
    results = [outcome(lambda m, X: attend(m, X, X, X, **options), m, Y) for Y in (poisoned, X)]
    output, d_X, *grads = results[0]
    assert_same([output, *grads], [results[1][0], *results[1][2:]], 1e-6, 1e-5)
    torch.testing.assert_close(d_X[:, :2], results[1][1][:, :2])
    assert not d_X[:, 2:].any()


@both_paths
def test_one_poisoned_token_in_the_padding_leaves_the_others_as_they_are(attend):
    """Of a token with one NaN nothing is left; the padding beside it asks with all that it has."""
    m, X = selfish()
    clean, poisoned = X.clone(), X.clone()
    clean[0, 2], poisoned[0, 2, 0] = 0, math.nan
    torch.testing.assert_close(attend(m, *[poisoned] * 3, LENGTHS), attend(m, *[clean] * 3, LENGTHS))


@both_paths
def test_poison_in_a_query_that_sees_nothing_reaches_nothing(attend):
    m, queries, keys, values = cross()
    lengths = torch.tensor([[4, 2, 0], [1, 3, 0]])
    poisoned, clean = queries.clone(), queries.clone()
    poisoned[:, 2], clean[:, 2] = math.nan, 0
    assert_same(*[outcome(lambda m, *X: attend(m, *X, valid_lens=lengths), m, X, keys, values) for X in (poisoned, clean)], 1e-6, 1e-5)


@both_paths
@pytest.mark.parametrize("lengths", [None, torch.tensor([0, 0])])
def test_no_keys_at_all_is_nothing_to_attend_to(attend, lengths):
    m, queries, keys, values = cross()
    output, *grads = outcome(lambda m, *X: attend(m, *X, valid_lens=lengths), m, queries, keys[:, :0], values[:, :0])
    torch.testing.assert_close(output, m.W_o.bias.detach().expand(2, 3, 8))
    assert all(grad.isfinite().all() for grad in grads) and not grads[0].any()


@both_paths
@pytest.mark.parametrize("options", [dict(), dict(valid_lens=torch.zeros(0, dtype=torch.long)), dict(mask=window(1))], ids=lambda options: "-".join(options))
def test_an_empty_batch_gives_an_empty_batch(attend, options):
    m, *inputs = cross()
    output, *grads = outcome(lambda m, *X: attend(m, *X, **options), m, *[X[:0] for X in inputs])
    assert output.shape == (0, 3, 8) and not any(grad.any() for grad in grads)


@both_paths
def test_an_empty_batch_needs_no_keys(attend):
    m, queries, keys, values = cross()
    assert attend(m, queries[:0], keys[:0, :0], values[:0, :0], LENGTHS[:0]).shape == (0, 3, 8)


@both_paths
def test_no_queries_give_no_outputs(attend):
    m, queries, keys, values = cross()
    assert attend(m, queries[:, :0], keys, values, LENGTHS).shape == (2, 0, 8)


@both_paths
def test_one_token_attends_to_itself(attend):
    m, X = selfish(steps=1)
    for options in (dict(), dict(causal=True), dict(valid_lens=torch.tensor([1, 1])), dict(mask=window(0))):
        torch.testing.assert_close(attend(m, X, X, X, **options), m.W_o(m.W_v(X)))


DEVICE_OPTIONS = [dict(valid_lens=LENGTHS), dict(mask=window(1)), dict(causal=True), dict(valid_lens=LENGTHS_PER_QUERY[:, :1].expand(2, 4), causal=True)]


def on_another_default_device(call):
    with torch.device("meta"):
        return call()


@both_paths
@pytest.mark.parametrize("options", DEVICE_OPTIONS, ids=lambda options: "-".join(options))
def test_all_is_made_where_the_inputs_are(attend, options):
    """Also where new tensors would land on another device."""
    m, X = selfish()
    m.position = FakePosition((2, 4, 4))
    call = lambda: attend(m, X, X, X, **options)  # noqa: E731
    torch.testing.assert_close(on_another_default_device(call), call())


@both_paths
@pytest.mark.parametrize("options", [dict(valid_lens=LENGTHS), dict(mask=window(1).tensor(4, 4))], ids=lambda options: "-".join(options))
def test_lengths_and_masks_may_stay_on_the_processor(attend, options):
    m, X = selfish()
    X = X.to("meta")
    assert attend(m.to("meta"), X, X, X, **options).device.type == "meta"


@pytest.mark.parametrize("options", [dict(valid_lens=LENGTHS), dict(mask=window(1))], ids=lambda options: "-".join(options))
def test_the_smaller_pieces_make_all_where_the_inputs_are(options):
    additive, X, scores = AdditiveAttention(6), torch.randn(2, 4, 6), torch.randn(2, 4, 4)
    calls = [lambda: additive(X, X, X, **options), lambda: masked_softmax(scores, **options), lambda: dot_product_attention(X, X, X, window(1))[0]]
    for call in calls:
        torch.testing.assert_close(on_another_default_device(call), call())


# ---- inputs stay as they are --------------------------------------------------------------------------------------------------------------------

@both_paths
def test_expanded_and_transposed_inputs_count_as_their_copies(attend):
    m, queries, keys, values = cross()
    odd = queries[:1].expand(2, 3, 5), keys.mT.contiguous().mT, values.flip(1)[:, torch.arange(3, -1, -1)]
    assert_same([attend(m, *odd, LENGTHS)], [attend(m, *[X.clone(memory_format=torch.contiguous_format) for X in odd], LENGTHS)], 1e-6)
    assert odd[0]._base is queries or odd[0].stride(0) == 0


@both_paths
def test_lengths_and_masks_are_not_modified(attend):
    m, *inputs = cross()
    lengths, mask = LENGTHS_PER_QUERY.clone(), MASKS[3, 4].clone()
    attend(m, *inputs, lengths, mask=mask)
    attend(m, *inputs, lengths.T.contiguous().T, mask=mask[None, None].expand(2, 2, 3, 4))
    assert torch.equal(lengths, LENGTHS_PER_QUERY) and torch.equal(mask, MASKS[3, 4])


def test_inputs_that_autograd_watches_can_be_used_again():
    m, *inputs = cross()
    inputs = [X.requires_grad_() for X in inputs]
    versions = [X._version for X in inputs]
    explicit(m, *inputs, LENGTHS).sum().backward()
    assert [X._version for X in inputs] == versions


# ---- weights and dropout ------------------------------------------------------------------------------------------------------------------------

def test_the_weights_returned_are_those_before_dropout():
    m, *inputs = cross(dropout=0.5)
    _, weights = m.train()(*inputs, LENGTHS, need_weights=True)
    torch.testing.assert_close(weights, m.eval()(*inputs, LENGTHS, need_weights=True)[1])


@both_paths
def test_dropout_zero_in_training_is_evaluation(attend):
    m, *inputs = cross()
    torch.testing.assert_close(attend(m.train(), *inputs), attend(m.eval(), *inputs))


@both_paths
def test_training_draws_anew_each_time(attend):
    m, *inputs = cross(dropout=0.5)
    assert not torch.equal(attend(m.train(), *inputs), attend(m, *inputs))


# ---- position modules -----------------------------------------------------------------------------------------------------------------------------

class FakePosition(nn.Module):
    """Stretches queries and keys by place and adds a learned bias: enough to see that both arrive where they should."""

    def __init__(self, shape=(1, 2, 3, 4)):
        super().__init__()
        self.table = nn.Parameter(torch.randn(shape))

    def turn_q(self, q, i):
        return q * (1 + i)

    def turn_k(self, k, j):
        return k * math.cos(j)

    def transform(self, q, k):
        stretch = torch.arange(k.shape[2], dtype=k.dtype, device=k.device).cos()
        return self.turn_q(q, torch.arange(q.shape[2], device=q.device)[:, None]), k * stretch[:, None]

    def bias(self, q, k):
        return self.table


@both_paths
@pytest.mark.parametrize("lengths", [None, LENGTHS, torch.tensor([[0, 4, 2], [3, 0, 4]])], ids=["none", "batch", "empty-rows"])
def test_a_position_module_turns_queries_and_keys_and_adds_its_bias(attend, lengths):
    m, *inputs = cross(position=FakePosition())
    keep = None if lengths is None else lengths_mask(lengths, 3, 4)
    assert_same(outcome(lambda m, *X: attend(m, *X, valid_lens=lengths), m, *inputs), slow_outcome(lambda m, *X: slow_attention(m, *X, keep)[0], m, *inputs))


@both_paths
def test_a_position_module_works_with_causal(attend):
    m = MultiHeadAttention(6, 2, position=FakePosition((2, 4, 4)))
    X, keep = torch.randn(2, 4, 6), causal().tensor(4, 4)
    assert_same(outcome(lambda m, X: attend(m, X, X, X, causal=True), m, X), slow_outcome(lambda m, X: slow_attention(m, X, X, X, keep)[0], m, X))


@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 1), (2, 3, 4), (1, 4), (1, 2, 1, 4), (2, 2, 3, 4), (3, 1), (1,), (4,), ()], ids=str)
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["free", "lengths"])
@pytest.mark.parametrize("learning", [True, False])
def test_any_bias_that_can_be_added_gives_both_paths_the_same(shape, lengths, learning):
    """PyTorch picks another kernel where nothing needs a gradient."""
    m, *inputs = cross(position=FakePosition(shape))
    m.requires_grad_(learning)
    torch.testing.assert_close(fused(m, *inputs, lengths), explicit(m, *inputs, lengths))


@both_paths
def test_low_scores_stay_hidden_where_there_is_a_bias(attend):
    class Added(FakePosition):
        def transform(self, q, k):
            return q, k

        def bias(self, q, k):
            return torch.zeros(1, 3, 3)
    masks_low_scores(attend, Added())


def test_a_position_module_without_bias_keeps_the_causal_kernel():
    class Turned(FakePosition):
        def bias(self, q, k):
            return None
    m = MultiHeadAttention(6, 2, position=Turned())
    X = torch.randn(2, 4, 6)
    torch.testing.assert_close(fused(m, X, X, X, causal=True), explicit(m, X, X, X, causal=True))


def test_a_transform_may_widen_queries_and_keys():
    """The scale stays that of the head, on both paths."""
    class Widened(FakePosition):
        def transform(self, q, k):
            return F.pad(q, (0, 2), value=1.0), F.pad(k, (0, 2), value=0.5)

        def bias(self, q, k):
            return None
    m, *inputs = cross(position=Widened())
    torch.testing.assert_close(fused(m, *inputs, LENGTHS), explicit(m, *inputs, LENGTHS))


# ---- weights that move -------------------------------------------------------------------------------------------------------------------------------

class Textbook(nn.Module):
    """D2L's arrangement: heads folded into the batch, lengths repeated for each head."""

    def __init__(self, num_hiddens, num_heads, bias):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.LazyLinear(num_hiddens, bias=bias) for _ in "qkvo")

    def forward(self, queries, keys, values, valid_lens):
        folded = (X.reshape(*X.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3) for X in (self.W_q(queries), self.W_k(keys), self.W_v(values)))
        q, k, v = (X.flatten(0, 1) for X in folded)
        hidden = torch.arange(k.shape[1]) >= valid_lens.repeat_interleave(self.num_heads)[:, None, None]
        heads = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -1e6).softmax(-1) @ v
        return self.W_o(heads.unflatten(0, (-1, self.num_heads)).permute(0, 2, 1, 3).flatten(2))


@pytest.mark.parametrize("bias", [False, True])
def test_a_state_dict_moves_to_and_from_the_textbooks_class(bias):
    theirs, *inputs = Textbook(8, 2, bias), torch.randn(2, 3, 5), torch.randn(2, 4, 7), torch.randn(2, 4, 9)
    expected = theirs(*inputs, LENGTHS)
    ours = MultiHeadAttention(8, 2, bias=bias, query_size=5, key_size=7, value_size=9)
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(*inputs, LENGTHS), expected)
    back = Textbook(8, 2, bias)
    back.load_state_dict(ours.state_dict())
    torch.testing.assert_close(back(*inputs, LENGTHS), expected)


SAME_WIDTHS, OTHER_WIDTHS, OTHER_KEYS, OTHER_VALUES = {}, dict(kdim=7, vdim=9), dict(kdim=7), dict(vdim=9)


@pytest.mark.parametrize("widths", [SAME_WIDTHS, OTHER_WIDTHS, OTHER_KEYS, OTHER_VALUES], ids=["same", "other", "keys", "values"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_weights_move_from_torch_and_back(widths, bias, batch_first):
    theirs = nn.MultiheadAttention(8, 2, dropout=0.25, bias=bias, batch_first=batch_first, dtype=torch.float64, **widths).eval()
    if bias:
        nn.init.normal_(theirs.in_proj_bias), nn.init.normal_(theirs.out_proj.bias)
    inputs = torch.randn(2, 3, 8).double(), torch.randn(2, 4, widths.get("kdim", 8)).double(), torch.randn(2, 4, widths.get("vdim", 8)).double()
    ours = MultiHeadAttention.from_torch(theirs)
    back = ours.to_torch()
    turned = inputs if batch_first else [X.transpose(0, 1) for X in inputs]
    expected, weights = theirs(*turned, average_attn_weights=False)
    torch.testing.assert_close(ours(*inputs, need_weights=True), (expected if batch_first else expected.transpose(0, 1), weights))
    torch.testing.assert_close(back(*inputs, average_attn_weights=False), ours(*inputs, need_weights=True))
    assert back.batch_first and back.dropout == ours.dropout.p == 0.25 and not back.training and not ours.training
    assert {name: p.dtype for name, p in back.state_dict().items()} == {name: torch.float64 for name in theirs.state_dict()}


def test_moved_weights_are_copies():
    theirs = nn.MultiheadAttention(8, 2)
    ours = MultiHeadAttention.from_torch(theirs)
    back, before = ours.to_torch(), ours.W_o.weight.detach().clone()
    with torch.no_grad():
        theirs.out_proj.weight.zero_(), back.out_proj.weight.zero_()
    assert torch.equal(ours.W_o.weight, before)


# ---- recording ------------------------------------------------------------------------------------------------------------------------------------------

class Model(nn.Module):
    """Two attentions at different depths; the second is called twice, once by a caller that asks for weights."""

    def __init__(self, fails=False):
        super().__init__()
        self.first, self.deep = MultiHeadAttention(6, 2), nn.ModuleDict({"second": MultiHeadAttention(6, 3, dropout=0.5)})
        self.fails = fails

    def forward(self, X, lengths):
        X = X + self.first(X, X, X, lengths)
        if self.fails:
            raise RuntimeError("broken inside")
        X = X + self.deep["second"](X, X, X, causal=True)
        output, weights = self.deep["second"](X, X, X, need_weights=True)
        return output, weights


def hooks(model):
    return [hook for module in model.modules() for hook in (*module._forward_hooks, *module._forward_pre_hooks)]


def test_recording_names_every_call_and_changes_no_answer():
    model, X = Model().eval(), torch.randn(2, 4, 6)
    expected = model(X, LENGTHS)
    with record_attention(model) as weights:
        torch.testing.assert_close(model(X, LENGTHS), expected)
    assert list(weights) == ["first", "deep.second"] and [len(calls) for calls in weights.values()] == [1, 2]
    torch.testing.assert_close(weights["first"][0], model.first(X, X, X, LENGTHS, need_weights=True)[1])
    assert weights["deep.second"][0].shape == (2, 3, 4, 4) and not weights["deep.second"][0].triu(1).any()
    torch.testing.assert_close(weights["deep.second"][1], expected[1])
    assert not any(W.requires_grad for calls in weights.values() for W in calls) and not hooks(model)


def test_after_recording_calls_are_no_longer_kept():
    model, X = Model(), torch.randn(2, 4, 6)
    with record_attention(model) as weights:
        model(X, LENGTHS)
    model(X, LENGTHS)
    assert len(weights["first"]) == 1


def test_recording_a_single_attention_calls_it_attention():
    m, X = selfish()
    with record_attention(m) as weights:
        output = m(X, X, X)
    assert isinstance(output, torch.Tensor) and [W.shape for W in weights["attention"]] == [(2, 2, 4, 4)]


def test_recording_lets_gradients_through():
    m, X = selfish()
    with record_attention(m):
        recorded = outcome(lambda m, X: m(X, X, X), m, X)
    assert_same(recorded, outcome(lambda m, X: m(X, X, X), m, X))


def test_hooks_are_gone_after_an_exception_in_the_block():
    model = Model()
    with pytest.raises(KeyError), record_attention(model):
        raise KeyError
    assert not hooks(model)


def test_hooks_are_gone_after_an_exception_in_forward():
    model, X = Model(fails=True), torch.randn(2, 4, 6)
    with pytest.raises(RuntimeError, match="broken inside"), record_attention(model) as weights:
        model(X, LENGTHS)
    assert not hooks(model) and len(weights["first"]) == 1 and not weights["deep.second"]
    assert isinstance(model.first(X, X, X), torch.Tensor)


def test_recording_goes_on_after_a_refused_call():
    m, X = selfish()
    with record_attention(m) as weights:
        with pytest.raises(ValueError):
            m(X, X, X[:, :2], need_weights=True)
        assert isinstance(m(X, X, X), torch.Tensor)
    assert len(weights["attention"]) == 1


def test_recordings_can_be_nested():
    m, X = selfish()
    with record_attention(m) as outer:
        with record_attention(m) as inner:
            output = m(X, X, X)
        m(X, X, X)
    assert isinstance(output, torch.Tensor) and (len(outer["attention"]), len(inner["attention"])) == (2, 1)
    torch.testing.assert_close(inner["attention"][0], outer["attention"][0])


def test_the_callers_own_hooks_see_what_they_always_see():
    m, X = selfish()
    kinds = []
    handle = m.register_forward_hook(lambda module, args, output: kinds.append(type(output)))
    with record_attention(m):
        m(X, X, X), m(X, X, X, need_weights=True)
    handle.remove()
    assert kinds == [torch.Tensor, tuple]


# ---- what is harmless isn't copied ------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("number", [0.0, -3.0, 1e9, -1e38, math.inf, -math.inf, math.nan])
def test_what_is_hidden_makes_no_difference(number, dtype):
    m, X = selfish(dtype)
    hidden = X.clone()
    hidden[0, 2:] = number
    for need_weights in (False, True):
        results = []
        for x in (X, hidden):
            m.zero_grad()
            x = x.clone().requires_grad_()
            output = m(x, x, x, torch.tensor([2, 4]), need_weights=need_weights)
            output = output[0] if need_weights else output
            output[0, :2].float().square().sum().backward()
            results.append([output[0, :2], x.grad[0, :2], *(W.grad for W in m.parameters())])
        for a, b in zip(*results):
            assert torch.equal(a, b), (number, dtype, need_weights)


def test_ordinary_numbers_are_not_copied():
    keep, X = lengths_keep(), torch.randn(2, 3, 6)
    assert all(given is X for given in hide_unseen(keep, X, X, X))
    X[0, 2] = math.nan
    assert not any(given is X for given in hide_unseen(keep, X, X, X))


def lengths_keep():
    """(2, 1, 3, 3): the first sentence has two tokens."""
    return (torch.arange(3) < torch.tensor([2, 3])[:, None, None, None]).expand(2, 1, 3, 3)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_trace_of_clean_numbers_hides_others():
    m, X = selfish()
    m.requires_grad_(False)
    lengths = torch.tensor([2, 4])
    traced = torch.jit.trace(lambda X, lengths: m(X, X, X, lengths), (X, lengths), check_trace=False)
    bad = X.clone()
    bad[0, 2:] = math.nan
    for lens in (lengths, torch.tensor([2, 0])):
        torch.testing.assert_close(traced(bad, lens)[0, :2], m(X, X, X, lens)[0, :2])
        assert traced(bad, lens)[1].isfinite().all()


# ---- compile, export, vmap, copies, double backward ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [dict(valid_lens=LENGTHS), dict(causal=True), dict(valid_lens=LENGTHS, mask=window(1), need_weights=True)],
                         ids=lambda options: "-".join(options))
def test_compiles_in_one_graph_with_the_same_results(options):
    m, X = selfish()
    torch.compiler.reset()
    compiled = torch.compile(m, fullgraph=True, backend="aot_eager")
    call = lambda f: outcome(lambda m, X: f(X, X, X, **options), m, X)  # noqa: E731
    assert_same(call(compiled), call(m))


def test_compiles_in_one_graph_also_with_a_default_device():
    m, X = selfish()
    torch.compiler.reset()
    torch.set_default_device("cpu")  # methods that Tensor defines in Python can't be compiled then
    try:
        compiled = torch.compile(m, fullgraph=True, backend="aot_eager")(X, X, X, LENGTHS)
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(compiled, m(X, X, X, LENGTHS))


class SelfAttention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention, self.options = MultiHeadAttention(6, 2), options

    def forward(self, X, lengths):
        return self.attention(X, X, X, lengths, **self.options)


@pytest.mark.parametrize("options", [dict(), dict(causal=True, need_weights=True), dict(mask=window(1))], ids=["plain", "weights", "window"])
def test_exports_with_any_number_of_steps(options):
    model = SelfAttention(**options).eval()
    steps = {0: torch.export.Dim("batch", min=2, max=64), 1: torch.export.Dim("steps", min=2, max=64)}
    program = torch.export.export(model, (torch.randn(3, 5, 6), torch.tensor([2, 0, 5])), dynamic_shapes={"X": steps, "lengths": {0: steps[0]}}).module()
    for n in (2, 7, 11):
        X, lengths = torch.randn(4, n, 6), torch.tensor([0, 1, 2, n])
        X[1, 1:] = math.nan
        torch.testing.assert_close(program(X, lengths), model(X, lengths))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@both_paths
def test_vmap_equals_a_loop(attend):
    m, X = selfish()
    X, lengths = torch.randn(3, 2, 4, 6), torch.tensor([[1, 4], [0, 2], [3, 3]])
    attend_one = lambda X, n: attend(m, X, X, X, n)  # noqa: E731
    torch.testing.assert_close(vmap(attend_one)(X, lengths), torch.stack([attend_one(*pair) for pair in zip(X, lengths)]))


@both_paths
def test_vmap_over_no_keys(attend):
    m, queries, keys, values = cross()
    outputs = vmap(lambda q, n: attend(m, q, keys[:, :0], values[:, :0], n))(torch.stack([queries] * 3), torch.zeros(3, 2, dtype=torch.long))
    torch.testing.assert_close(outputs, m.W_o.bias.detach().expand(3, 2, 3, 8))


@both_paths
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_after_a_training_step_are_the_same_module(attend, copied):
    m, *inputs = cross(dropout=0.1, position=FakePosition())
    optimizer = torch.optim.SGD(m.train().parameters(), 0.1)
    attend(m, *inputs, LENGTHS).square().sum().backward()
    optimizer.step()
    twin = copied(m)
    assert twin.training and twin.W_q.weight is not m.W_q.weight
    torch.testing.assert_close(attend(twin.eval(), *inputs, LENGTHS), attend(m.eval(), *inputs, LENGTHS))


def second_derivatives(attend, m, inputs, keep):
    """Gradients of the squared gradient."""
    inputs = [X.detach().double().requires_grad_() for X in inputs]
    m = copy.deepcopy(m).double()
    first = torch.autograd.grad(attend(m, *inputs, keep).square().sum(), inputs, create_graph=True)
    return torch.autograd.grad(sum(g.square().sum() for g in first), [*inputs, *m.parameters()], allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize("lengths", [LENGTHS_PER_QUERY, torch.tensor([[0, 4, 2], [3, 0, 4]])], ids=["full", "empty-rows"])
def test_double_backward_equals_the_definition(lengths):
    m, *inputs = cross()
    keep = lengths_mask(lengths, 3, 4)
    slow = second_derivatives(lambda m, q, k, v, keep: slow_attention(m, q, k, v, keep)[0], m, inputs, keep)
    assert_same(second_derivatives(lambda m, q, k, v, keep: explicit(m, q, k, v, mask=keep), m, inputs, keep), slow)
    with sdpa_kernel(SDPBackend.MATH):
        assert_same(second_derivatives(lambda m, q, k, v, keep: fused(m, q, k, v, mask=keep), m, inputs, keep), slow)


# ---- masked softmax -----------------------------------------------------------------------------------------------------------------------------------------

def ours(scores, mask):
    return masked_softmax(scores, mask=mask)


def slow_masked(scores, mask):
    rows = []
    for row, keep in zip(scores.reshape(-1, scores.shape[-1]), mask.expand(scores.shape).reshape(-1, scores.shape[-1])):
        seen = slow_softmax([x for x, k in zip(row, keep) if k])
        rows.append(torch.stack([seen.pop(0) if k else torch.zeros(()).double() for k in keep]))
    return torch.stack(rows).reshape(scores.shape)


def matches_slow_softmax(softmax):
    for shape in [(3, 4), (2, 3, 4), (2, 5, 3, 4)]:
        scores, mask = 3 * torch.randn(shape) + 90, torch.rand(shape) < 0.6
        mask[..., 1, :] = False
        weights, grad = outcome(lambda _, S: softmax(S, mask), nn.ModuleList(), scores)
        assert_same([weights, grad], slow_outcome(lambda _, S: slow_masked(S, mask), nn.ModuleList(), scores))
        assert (weights[~mask] == 0).all() and (grad[~mask] == 0).all()


def never_edits_scores(softmax):
    wide = torch.randn(2, 3, 8)
    before = wide.clone()
    softmax(wide[..., :4], torch.rand(2, 3, 4) < 0.5)
    assert torch.equal(wide, before)


def survives_low_scores(softmax):
    scores = torch.tensor([[[-1e8, -1e8, 0.0, -1e8]]])
    torch.testing.assert_close(softmax(scores, torch.tensor([[[True, True, False, False]]])), torch.tensor([[[0.5, 0.5, 0, 0]]]))


def survives_nan_in_hidden_scores(softmax):
    scores = torch.tensor([[[1.0, math.nan, 1.0, math.inf]]])
    mask = torch.tensor([[[True, False, True, False]]])
    weights, grad = outcome(lambda _, S: softmax(S, mask), nn.ModuleList(), scores)
    torch.testing.assert_close(weights, torch.tensor([[[0.5, 0, 0.5, 0]]]))
    assert grad.isfinite().all()


def works_in_half_precision(softmax):
    for dtype in (torch.float16, torch.bfloat16):
        weights = softmax(torch.tensor([[[3.0, 3.0, 5.0], [1.0, 2.0, 3.0]]], dtype=dtype), torch.tensor([[[True, True, False], [False] * 3]]))
        assert weights.dtype == dtype and weights.tolist() == [[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]]


SOFTMAX_CLAIMS = [matches_slow_softmax, never_edits_scores, survives_low_scores, survives_nan_in_hidden_scores, works_in_half_precision]


@pytest.mark.parametrize("claim", SOFTMAX_CLAIMS, ids=lambda claim: claim.__name__)
def test_masked_softmax_holds_every_claim(claim):
    claim(ours)


@pytest.mark.parametrize("claim, mistake", WRONG_SOFTMAXES, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_softmax_is_caught(claim, mistake):
    with pytest.raises(AssertionError):
        globals()[claim](mistake)


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS_PER_QUERY])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 5, 3, 4)])
def test_masked_softmax_takes_lengths(lengths, shape):
    scores, mask = torch.randn(shape), lengths_mask(lengths, 3, 4)
    mask = mask if len(shape) == 4 else mask[:, 0]
    torch.testing.assert_close(masked_softmax(scores, lengths), masked_softmax(scores, mask=mask.expand(shape)))


def test_masked_softmax_ands_lengths_and_mask():
    scores = torch.randn(2, 3, 4)
    torch.testing.assert_close(masked_softmax(scores, LENGTHS, mask=window(1)), masked_softmax(scores, mask=padding(LENGTHS) & window(1)))


def test_masked_softmax_without_a_mask_is_softmax():
    scores = torch.randn(2, 3, 4)
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_sum_to_one_even_near_the_lowest_score_there_is(dtype):
    low = 0.99 * torch.finfo(dtype).min
    scores = torch.tensor([[low, low, low]], dtype=dtype)
    assert masked_softmax(scores, mask=torch.tensor([[True, False, True]])).tolist() == [[0.5, 0.0, 0.5]]


# ---- two ways to score, and the bookkeeping --------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("before", [(), (2,), (2, 5)], ids=["2d", "3d", "4d"])
def test_dot_product_attention_equals_the_fused_kernel_and_the_definition(before):
    q, k, v, mask = torch.randn(*before, 3, 6), torch.randn(*before, 4, 6), torch.randn(*before, 4, 7), MASKS[3, 4] | (torch.arange(4) == 2)
    output, weights = dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(output, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    scores = torch.tensor([[(a @ b).item() / math.sqrt(6) for b in keys] for keys, queries in zip(k.reshape(-1, 4, 6), q.reshape(-1, 3, 6)) for a in queries])
    assert_same([weights], [slow_masked(scores.double().reshape(weights.shape), mask)])
    torch.testing.assert_close(output, weights @ v)


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_dot_product_attention_is_blind_to_what_no_query_may_see(poison):
    q, k, v = torch.randn(2, 5, 3, 6), torch.randn(2, 5, 4, 6), torch.randn(2, 5, 4, 7)
    mask = lengths_mask(torch.tensor([[2, 1, 0], [4, 0, 3]]), 3, 4)
    hidden, idle = ~mask.any(2)[..., None], ~mask.any(3)[..., None]
    q = q.masked_fill(idle, 0.0)
    poisoned = [X.masked_fill(where, poison) for X, where in ((q, idle), (k, hidden), (v, hidden))]
    attend = lambda _, *X: dot_product_attention(*X, mask)  # noqa: E731
    assert_same(*[outcome(attend, nn.ModuleList(), *X) for X in (poisoned, (q, k, v))], 1e-6, 1e-5)
    output, weights = attend(None, q, k, v)
    assert not output[0, :, 2].any() and not weights[0, :, 2].any() and not output[1, :, 1].any()


def slow_additive(m, queries, keys, values, keep):
    result = []
    for b in range(len(queries)):
        for i, x in enumerate(queries[b]):
            seen = [j for j in range(keys.shape[1]) if keep[b, i, j]]
            row = slow_softmax([m.w_v.weight[0] @ torch.tanh(slow_linear(m.W_q, x) + slow_linear(m.W_k, keys[b, j])) for j in seen])
            result.append(sum((w * values[b, j] for w, j in zip(row, seen)), torch.zeros(values.shape[2]).double()))
    return torch.stack(result).reshape(len(queries), queries.shape[1], -1)


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS_PER_QUERY, torch.tensor([0, 3])])
def test_additive_attention_equals_its_definition(lengths):
    m, inputs = AdditiveAttention(8, query_size=5, key_size=7), (torch.randn(2, 3, 5), torch.randn(2, 4, 7), torch.randn(2, 4, 9))
    keep = lengths_mask(lengths, 3, 4).expand(2, 1, 3, 4)[:, 0]
    assert_same(outcome(lambda m, *X: m(*X, lengths), m, *inputs), slow_outcome(lambda m, *X: slow_additive(m, *X, keep), m, *inputs))


def test_additive_attention_returns_weights_before_dropout():
    m, X = AdditiveAttention(8, dropout=0.5), torch.randn(2, 4, 8)
    output, weights = m(X, X, X, LENGTHS, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4))
    assert not torch.allclose(output, weights @ X)
    output, weights = m.eval()(X, X, X, LENGTHS, mask=window(1), need_weights=True)
    torch.testing.assert_close(output, weights @ X)
    assert sorted(m.state_dict()) == ["W_k.weight", "W_q.weight", "w_v.weight"]


def test_a_head_is_a_block_of_columns_and_merging_undoes_splitting():
    X = torch.randn(2, 3, 8)
    heads = split_heads(X, 4)
    assert heads.shape == (2, 4, 3, 2)
    for i in range(4):
        assert torch.equal(heads[:, i], X[..., 2 * i:2 * i + 2])
    assert torch.equal(merge_heads(heads), X)
