"""Slow definitions to compare with, and a catalogue of plausible mistakes that the tests must catch.

The slow ones work in float64, one query at a time, straight from the formulas. Each mistake names the claim that catches it: a function of that name
in the tests, which the package passes and the mistake fails.
"""
import copy
import math

import torch

# ---- slow and right ----------------------------------------------------------------------------------------------------------------


def slow_linear(linear, x):
    return linear.weight @ x + (0 if linear.bias is None else linear.bias)


def slow_softmax(scores):
    """The softmax of a list of numbers."""
    powers = [torch.exp(score - max(scores).detach()) for score in scores]
    return [power / sum(powers) for power in powers]


def slow_attention(m, queries, keys, values, keep=None):
    """Output and weights of a ``MultiHeadAttention``: loops over batch, queries and heads. keep broadcasts to (batch, heads, queries, keys)."""
    batch, heads, size = len(queries), m.num_heads, m.W_q.out_features // m.num_heads
    shape = (batch, heads, queries.shape[1], keys.shape[1])
    keep = torch.ones(shape, dtype=torch.bool) if keep is None else keep.expand(shape)
    bias = torch.zeros(shape).double() if m.position is None else m.position.bias(None, None).expand(shape)
    turn_q, turn_k = ((lambda x, i: x),) * 2 if m.position is None else (m.position.turn_q, m.position.turn_k)
    output, weights = [], torch.zeros(shape).double()
    for b in range(batch):
        k_all = [slow_linear(m.W_k, x) for x in keys[b]]
        v_all = [slow_linear(m.W_v, x) for x in values[b]]
        for i, x in enumerate(queries[b]):
            q_all, parts = slow_linear(m.W_q, x), []
            for h in range(heads):
                block = slice(h * size, (h + 1) * size)
                q = turn_q(q_all[block], i)
                seen = [j for j in range(shape[3]) if keep[b, h, i, j]]
                row = slow_softmax([q @ turn_k(k_all[j][block], j) / math.sqrt(size) + bias[b, h, i, j] for j in seen])
                parts.append(sum((w * v_all[j][block] for w, j in zip(row, seen)), torch.zeros(size).double()))
                for w, j in zip(row, seen):
                    weights = weights.index_put((torch.tensor(b), torch.tensor(h), torch.tensor(i), torch.tensor(j)), w)
            output.append(slow_linear(m.W_o, torch.cat(parts)))
    return torch.stack(output).reshape(batch, shape[2], -1), weights


def slow_sinusoids(steps, width):
    return torch.tensor([[(math.cos if c % 2 else math.sin)(i / 10_000 ** ((c - c % 2) / width)) for c in range(width)] for i in range(steps)],
                        dtype=torch.float64)


def lengths_mask(valid_lens, queries, keys):
    """(batch, 1, queries, keys), one yes or no at a time."""
    rows = [n if isinstance(n, list) else [n] * queries for n in valid_lens.tolist()]
    return torch.tensor([[[j < n for j in range(keys)] for n in row] for row in rows])[:, None]


def outcome(attend, module, *inputs):
    """The output and the gradients of a fixed mixture of its numbers, with respect to inputs and parameters."""
    inputs = [X.detach().clone().requires_grad_() for X in inputs]
    result = attend(module, *inputs)
    results = result if isinstance(result, tuple) else (result,)
    loss = sum((R * torch.arange(1., R.numel() + 1, dtype=R.dtype).cos().reshape(R.shape)).sum() for R in results)
    return [*results, *torch.autograd.grad(loss, [*inputs, *module.parameters()], allow_unused=True, materialize_grads=True)]


def slow_outcome(attend, module, *inputs):
    return outcome(attend, copy.deepcopy(module).double(), *[X.double() for X in inputs])


def assert_same(ours, theirs, atol=1e-5, rtol=1e-4):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.double(), b.double(), atol=atol, rtol=rtol)


# ---- multi-head attention: right in steps, wrong in one of them ----------------------------------------------------------------------

WRONG_ATTENTIONS, WRONG_SOFTMAXES, WRONG_MASKS, WRONG_TABLES = [], [], [], []


def caught_by(claim, catalogue=WRONG_ATTENTIONS):
    def enter(mistake):
        catalogue.append((claim, mistake))
        return mistake
    return enter


class Steps:
    """Right multi-head attention, a method a step."""

    def __call__(self, m, queries, keys, values, valid_lens=None, causal=False):
        keep = self.keep(len(queries), queries.shape[1], keys.shape[1], valid_lens, causal)
        q, k, v = (self.split(X, m.num_heads) for X in self.project(m, *self.hide(keep, queries, keys, values)))
        weights = self.softmax(self.score(m, q, k), keep)
        return self.output(m, self.merge(self.drop(m, weights) @ v))

    def keep(self, batch, queries, keys, valid_lens, causal):
        keep = torch.ones(batch, 1, queries, keys, dtype=torch.bool)
        if valid_lens is not None:
            keep = keep & self.padding(valid_lens, queries, keys)
        return keep & self.causal(queries, keys) if causal else keep

    def padding(self, valid_lens, queries, keys):
        lengths = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
        return (torch.arange(keys) < lengths[..., None])[:, None]

    def causal(self, queries, keys):
        return torch.ones(queries, keys, dtype=torch.bool).tril()

    def hide(self, keep, queries, keys, values):
        seen = keep.any(2).any(1)[..., None]
        return queries, torch.where(seen, keys, 0.0), torch.where(seen, values, 0.0)

    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_k(keys), m.W_v(values)

    def split(self, X, heads):
        return X.unflatten(-1, (heads, -1)).transpose(1, 2)

    def score(self, m, q, k):
        return q / math.sqrt(m.head_size) @ k.mT

    def softmax(self, scores, keep):
        return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep

    def drop(self, m, weights):
        return m.dropout(weights)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def output(self, m, heads):
        return m.W_o(heads)


@caught_by("definition")
class MaskPolaritySwapped(Steps):
    def softmax(self, scores, keep):
        return super().softmax(scores, ~keep)


@caught_by("definition")
class MaskIgnored(Steps):
    def keep(self, batch, queries, keys, valid_lens, causal):
        return super().keep(batch, queries, keys, None, causal)


@caught_by("definition_of_self_attention")
class QueryWeightsForAll(Steps):
    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_q(keys), m.W_q(values)


@caught_by("definition_of_self_attention")
class QueryWeightsForKeys(Steps):
    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_q(keys), m.W_v(values)


@caught_by("definition_of_self_attention")
class KeyWeightsForValues(Steps):
    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_k(keys), m.W_k(values)


@caught_by("definition_of_self_attention")
class KeysAndQueriesExchanged(Steps):
    def score(self, m, q, k):
        return super().score(m, k, q)


@caught_by("definition")
class KeysTakenAsValues(Steps):
    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_k(keys), m.W_k(keys)


@caught_by("definition")
class ScaledByModelWidth(Steps):
    def score(self, m, q, k):
        return q @ k.mT / math.sqrt(m.W_o.out_features)


@caught_by("definition")
class NotScaled(Steps):
    def score(self, m, q, k):
        return q @ k.mT


@caught_by("definition")
class ScaledTwice(Steps):
    def score(self, m, q, k):
        return q @ k.mT / m.head_size


@caught_by("definition")
class ScaledByNumberOfHeads(Steps):
    def score(self, m, q, k):
        return q @ k.mT / math.sqrt(m.num_heads)


@caught_by("definition")
class SplitWithoutTranspose(Steps):
    def split(self, X, heads):
        return X.reshape(len(X), heads, X.shape[1], -1)


@caught_by("definition")
class HeadsInterleaved(Steps):
    def split(self, X, heads):
        return X.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)


@caught_by("definition")
class MergedWithoutTranspose(Steps):
    def merge(self, heads):
        return heads.reshape(len(heads), heads.shape[2], -1)


@caught_by("definition")
class MergedFeatureByFeature(Steps):
    def merge(self, heads):
        return heads.permute(0, 2, 3, 1).flatten(2)


@caught_by("definition")
class SoftmaxOverQueries(Steps):
    def softmax(self, scores, keep):
        return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-2) * keep


@caught_by("definition")
class SoftmaxOverHeads(Steps):
    def softmax(self, scores, keep):
        return scores.softmax(1) * keep


@caught_by("definition")
class MaskedAfterSoftmax(Steps):
    def softmax(self, scores, keep):
        return scores.softmax(-1) * keep


@caught_by("definition")
class LengthsRepeatedInsteadOfInterleaved(Steps):
    def softmax(self, scores, keep):
        folded = keep.expand(-1, *scores.shape[1:]).repeat(scores.shape[1], 1, 1, 1)[:, 0]  # should be repeat_interleave
        return super().softmax(scores, folded.reshape(scores.shape))


@caught_by("definition")
class LengthsFromTheFirstSequence(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens[:1], queries, keys)


@caught_by("definition")
class OneKeyTooMany(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens + 1, queries, keys)


@caught_by("definition")
class OneKeyTooFew(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens - 1, queries, keys)


@caught_by("lengths_per_query")
class LengthsOfTheFirstQuery(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens[:, 0] if valid_lens.dim() == 2 else valid_lens, queries, keys)


@caught_by("definition")
class QueriesMaskedInsteadOfKeys(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens if valid_lens.dim() == 1 else valid_lens[:, 0], keys, queries).mT


@caught_by("definition")
class OutputWeightsMissing(Steps):
    def output(self, m, heads):
        return heads if heads.shape[-1] == m.W_o.out_features else heads[..., :1].expand(*heads.shape[:2], m.W_o.out_features)


@caught_by("definition")
class OutputBiasForgotten(Steps):
    def output(self, m, heads):
        return heads @ m.W_o.weight.T


@caught_by("definition")
class ValueBiasForgotten(Steps):
    def project(self, m, queries, keys, values):
        return m.W_q(queries), m.W_k(keys), values @ m.W_v.weight.T


@caught_by("definition")
class QueryBiasForgotten(Steps):
    def project(self, m, queries, keys, values):
        return queries @ m.W_q.weight.T, m.W_k(keys), m.W_v(values)


@caught_by("definition")
class ScoresDetached(Steps):
    """Right values, wrong gradients."""

    def score(self, m, q, k):
        return super().score(m, q, k).detach()


@caught_by("causal_order")
class CausalStrict(Steps):
    def causal(self, queries, keys):
        return super().causal(queries, keys).tril(-1)


@caught_by("causal_order")
class CausalReversed(Steps):
    def causal(self, queries, keys):
        return super().causal(queries, keys).T


@caught_by("causal_order")
class CausalReplacesLengths(Steps):
    def keep(self, batch, queries, keys, valid_lens, causal):
        return super().keep(batch, queries, keys, None if causal else valid_lens, causal)


@caught_by("causal_order")
class CausalOrLengths(Steps):
    def keep(self, batch, queries, keys, valid_lens, causal):
        if causal and valid_lens is not None:
            return self.padding(valid_lens, queries, keys) | self.causal(queries, keys)
        return super().keep(batch, queries, keys, valid_lens, causal)


@caught_by("quiet_in_evaluation")
class DropoutInEvaluation(Steps):
    def drop(self, m, weights):
        return torch.nn.functional.dropout(weights, m.dropout.p, training=True)


@caught_by("drops_weights_in_training")
class DropoutForgotten(Steps):
    def drop(self, m, weights):
        return weights


@caught_by("drops_weights_in_training")
class DropoutNotRescaled(Steps):
    def drop(self, m, weights):
        return m.dropout(weights) * (1 - m.dropout.p if m.training else 1)


@caught_by("drops_weights_in_training")
class DropoutOnTheOutput(Steps):
    def drop(self, m, weights):
        return weights

    def output(self, m, heads):
        return m.dropout(m.W_o(heads)) * (1 - m.dropout.p)


@caught_by("zeros_for_empty_rows")
class NaNForEmptyRows(Steps):
    def softmax(self, scores, keep):
        return scores.masked_fill(~keep, -math.inf).softmax(-1)


@caught_by("zeros_for_empty_rows")
class UniformForEmptyRows(Steps):
    def softmax(self, scores, keep):
        return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1)


@caught_by("zeros_for_empty_rows")
class EmptyRowsSeeTheFirstKey(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens.clamp(min=1), queries, keys)


@caught_by("zeros_in_half_precision")
class ConstantThatOverflowsHalf(Steps):
    def softmax(self, scores, keep):
        return (scores + (~keep).to(scores.dtype) * -1e9).softmax(-1)


@caught_by("masks_low_scores")
class ConstantAboveTheScores(Steps):
    def softmax(self, scores, keep):
        return scores.masked_fill(~keep, -1e6).softmax(-1)


@caught_by("leaves_inputs_alone")
class QueriesScaledInPlace(Steps):
    def project(self, m, queries, keys, values):
        with torch.no_grad():
            queries /= math.sqrt(m.head_size)
        return m.W_q(queries), m.W_k(keys), m.W_v(values)


@caught_by("leaves_inputs_alone")
class PaddingZeroedInPlace(Steps):
    def hide(self, keep, queries, keys, values):
        with torch.no_grad():
            keys.masked_fill_(~keep.any(2).any(1)[..., None], 0)
        return queries, keys, values


@caught_by("leaves_inputs_alone")
class LengthsClampedInPlace(Steps):
    def padding(self, valid_lens, queries, keys):
        return super().padding(valid_lens.sub_(1).add_(1).clamp_(max=keys - 1), queries, keys)


@caught_by("blind_to_padding")
class NaNThroughValues(Steps):
    def hide(self, keep, queries, keys, values):
        return queries, super().hide(keep, queries, keys, values)[1], values


@caught_by("blind_to_padding")
class NaNThroughKeyGradients(Steps):
    def hide(self, keep, queries, keys, values):
        return queries, keys, super().hide(keep, queries, keys, values)[2]


@caught_by("blind_to_padding")
class PaddingMultipliedByZero(Steps):
    def hide(self, keep, queries, keys, values):
        seen = keep.any(2).any(1)[..., None]
        return queries, keys * seen, values * seen


# ---- masked softmax ------------------------------------------------------------------------------------------------------------------

def fill(scores, keep, value, axis=-1):
    return scores.masked_fill(~keep, value).softmax(axis)


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def over_queries(scores, mask):
    return fill(scores, mask, torch.finfo(scores.dtype).min, -2) * mask


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def polarity_swapped(scores, mask):
    return fill(scores, ~mask, torch.finfo(scores.dtype).min) * ~mask


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def not_renormalised(scores, mask):
    return scores.softmax(-1) * mask


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def nan_rows(scores, mask):
    return fill(scores, mask, -math.inf)


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def zero_scores_instead_of_none(scores, mask):
    return (scores * mask).softmax(-1)


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def not_shifted(scores, mask):
    powers = scores.exp() * mask  # overflows
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)


@caught_by("matches_slow_softmax", WRONG_SOFTMAXES)
def shifted_with_gradient_cut(scores, mask):
    return (fill(scores, mask, torch.finfo(scores.dtype).min) * mask).detach() + 0 * scores


@caught_by("never_edits_scores", WRONG_SOFTMAXES)
def in_place(scores, mask):
    with torch.no_grad():
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * mask


@caught_by("survives_low_scores", WRONG_SOFTMAXES)
def minus_a_million(scores, mask):
    return fill(scores, mask, -1e6) * mask


@caught_by("survives_nan_in_hidden_scores", WRONG_SOFTMAXES)
def minus_infinity_added(scores, mask):
    return (scores + torch.zeros_like(scores).masked_fill(~mask, torch.finfo(scores.dtype).min)).softmax(-1) * mask


@caught_by("works_in_half_precision", WRONG_SOFTMAXES)
def minus_a_billion(scores, mask):
    return (scores + (~mask).to(scores.dtype) * -1e9).softmax(-1) * mask


# ---- masks ---------------------------------------------------------------------------------------------------------------------------

@caught_by("is_causal", WRONG_MASKS)
def causal_strict(offset=0):
    return lambda q, k: k < q + offset


@caught_by("is_causal", WRONG_MASKS)
def causal_reversed(offset=0):
    return lambda q, k: k >= q + offset


@caught_by("is_causal", WRONG_MASKS)
def causal_offset_subtracted(offset=0):
    return lambda q, k: k <= q - offset


@caught_by("is_causal", WRONG_MASKS)
def causal_offset_ignored(offset=0):
    return lambda q, k: k <= q


@caught_by("is_window", WRONG_MASKS)
def window_open(size):
    return lambda q, k: (q - k).abs() < size


@caught_by("is_window", WRONG_MASKS)
def window_to_the_left(size):
    return lambda q, k: (q - k <= size) & (k <= q)


@caught_by("is_window", WRONG_MASKS)
def window_of_total_size(size):
    return lambda q, k: 2 * (q - k).abs() <= size


@caught_by("is_padding", WRONG_MASKS)
def padding_one_more(valid_lens):
    return lambda q, k: k <= valid_lens.reshape(len(valid_lens), -1, 1)


@caught_by("is_padding", WRONG_MASKS)
def padding_polarity(valid_lens):
    return lambda q, k: k >= valid_lens.reshape(len(valid_lens), -1, 1)


@caught_by("is_padding", WRONG_MASKS)
def padding_from_the_left(valid_lens):
    return lambda q, k: k >= k.numel() - valid_lens.reshape(len(valid_lens), -1, 1)


@caught_by("is_padding", WRONG_MASKS)
def padding_of_queries(valid_lens):
    return lambda q, k: (q < valid_lens.reshape(len(valid_lens), 1, -1)[..., :1]).expand(-1, -1, k.numel())


@caught_by("is_padding", WRONG_MASKS)
def padding_of_first_query(valid_lens):
    return lambda q, k: k < valid_lens.reshape(len(valid_lens), -1, 1)[:, :1]


# ---- sinusoidal tables -----------------------------------------------------------------------------------------------------------------

def table(steps, width, first=torch.sin, second=torch.cos, start=0, base=10_000, per_column=False, dtype=torch.float64):
    columns = torch.arange(0, width, 2, dtype=dtype) / (2 if per_column else 1)
    angles = torch.arange(start, start + steps, dtype=dtype)[:, None] / base ** (columns / width)
    return torch.stack([first(angles), second(angles)], -1).flatten(1)[:, :width].double()


@caught_by("is_sinusoidal", WRONG_TABLES)
def sine_and_cosine_exchanged(steps, width):
    return table(steps, width, torch.cos, torch.sin)


@caught_by("is_sinusoidal", WRONG_TABLES)
def counted_from_one(steps, width):
    return table(steps, width, start=1)


@caught_by("is_sinusoidal", WRONG_TABLES)
def base_1000(steps, width):
    return table(steps, width, base=1000)


@caught_by("is_sinusoidal", WRONG_TABLES)
def exponent_halved(steps, width):
    return table(steps, width, per_column=True)


@caught_by("is_sinusoidal", WRONG_TABLES)
def halves_side_by_side(steps, width):
    right = table(steps, width)
    return torch.cat([right[:, ::2], right[:, 1::2]], 1)


@caught_by("is_sinusoidal", WRONG_TABLES)
def odd_width_rounded_up(steps, width):
    return table(steps, width + width % 2)[:, :width]


@caught_by("is_accurate_far_out", WRONG_TABLES)
def single_precision(steps, width):
    return table(steps, width, dtype=torch.float32)
