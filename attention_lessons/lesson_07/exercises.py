"""The exercises of lesson 07, what heads learn."""
import torch

from ..exercises.kinds import Build


# ---- head-gates ----

def gates_inputs():
    gates = torch.rand(2, 3)
    gates[0, 1] = 0  # a closed head among open ones
    return [(torch.randn(2, 5, 12), gates), (torch.randn(3, 4, 6), torch.rand(3, 2))]


def gated(merged, gates):
    width = merged.shape[-1] // gates.shape[-1]
    return merged * gates.repeat_interleave(width, -1)[:, None]


HEAD_GATES = [
    ("repeat_interleave(width, -1)", "repeat(1, width)",
     "`repeat` puts the gates end to end, so that columns are dealt out in turn. "
     "A head is a block of neighbouring columns: repeat_interleave."),
    ("gates.repeat", "gates[:1].repeat",
     "All texts get the first one's gates. Each text has a row of its own."),
    ("gates.repeat", "gates.mean(0, True).repeat",
     "You average the gates over the texts. Each text has a row of its own."),
    ("(merged.reshape(*gates.shape, -1, width) * gates[..., None, None]).reshape(merged.shape)",
     "That reshape cuts the sentence into stretches. "
     "A head is a block of neighbouring columns of every token."),
    *(("gates.repeat", f"gates.{switched}().repeat",
       "A gate is a number to multiply with, not a switch: 0.5 halves the head.")
      for switched in ("round", "ceil")),
    *(("repeat_interleave(width, -1)[:, None]", f"{one}(-1)[:, None, None]",
       "All heads are multiplied with the same number. Each head has its own gate.")
      for one in ("mean", "sum", "prod")),
    ("merged * gates", "merged + merged * gates",
     "You add the gated tensor to the one that came. "
     "A gate of 0 should leave nothing of its head."),
    ("gates.repeat", "gates.softmax(-1).repeat",
     "No softmax over gates: they are used as they are, and need not sum to 1."),
    ("merged", "Nothing is gated: this is merged as it came."),
    ("gates.repeat", "(1 - gates).repeat",
     "Upside down: a gate of 1 leaves the head as it is, 0 closes it."),
    ("merged.unflatten(-1, (-1, width)) * gates[:, None, :, None]",
     "The heads are gated; now merge them again: "
     "flatten the last two axes, since W_o takes (batch, steps, heads * head size)."),
]


# ---- gradient-importance ----

def importance(slopes):
    mean = slopes.abs().mean(0)
    return mean / mean.norm(dim=-1, keepdim=True)


GRADIENT_IMPORTANCE = [
    ("abs().mean(0)", "mean(0).abs()",
     "This is the colleague's, scaled: "
     "the mean comes before the absolute value, so opposite texts still cancel."),
    ("abs().mean(0)", "mean(0).abs()", " / mean.norm(dim=-1, keepdim=True)", "",
     "Opposite texts still cancel, and the layers' norms are missing: absolute value, mean, norm."),
    ("mean(0)", "sum(0)", " / mean.norm(dim=-1, keepdim=True)", "",
     "Sums grow with the number of texts: take the mean. "
     "Then divide each layer by its root of summed squares."),
    ("mean.softmax(-1)",
     "Michel takes no softmax: divide each layer by its root of summed squares."),
    ("mean.norm(", "mean.square().sum(",
     "The root is missing: divide by the root of summed squares."),
    ("mean", "The mean is right. Now divide each layer by its root of summed squares."),
    ("dim=-1, keepdim=True", "",
     "You divide by one norm for all layers. Each layer gets its own: norm(dim=-1, keepdim=True)."),
    ("mean.norm(", "mean.sum(",
     "Each layer sums to 1 here. Michel divides by the root of summed squares."),
    ("dim=-1", "dim=0",
     "You divide by norms over the layers. "
     "Each layer is a row: its norm goes over the heads, the last axis."),
    ("abs()", "square()", "You square the slopes. The measure takes their absolute value."),
    ("abs().mean(0)", "square().mean(0).sqrt()",
     "The root of the mean square weighs large slopes more. "
     "The measure is the mean of absolute values."),
    ("abs().", "",
     "Without the absolute value opposite texts cancel, and importances come out negative."),
    (".mean(0)", "", "return mean / mean.norm(dim=-1, keepdim=True)",
     "return (mean / mean.norm(dim=-1, keepdim=True)).mean(0)",
     "You take the norm within each text and then the mean. "
     "First the mean over texts, then the norm."),
    ("mean.norm(", "mean.amax(",
     "You divide by each layer's largest. Michel divides by the root of summed squares."),
]


# ---- pruned-cost ----

def operations(n, d, num_heads, kept):
    inner = kept * d // num_heads
    inwards, back = 3 * 2 * n * d * inner, 2 * n * inner * d
    products = 2 * 2 * n * n * inner
    return inwards + back + products


PRUNED_COST = [
    ("kept * d // num_heads", "d",
     "That is the whole layer: it doesn't depend on how many heads are kept."),
    ("d * inner", "inner * inner", "inner * d\n", "inner * inner\n",
     "The projections don't shrink on both sides: they still lead from width d, and back to it."),
    ("d * inner", "d * d", "inner * d\n", "d * d\n",
     "Only the products shrink in your count. "
     "Rows of W_q, W_k, W_v and columns of W_o are gone too."),
    ("n * n * inner", "n * n * d",
     "Only the projections shrink in your count. "
     "Scores and weighted sums are computed for kept heads alone."),
    ("inner * d\n", "d * d\n", "W_o shrinks too: it has no columns for heads that are gone."),
    ("2 * 2 * n", "2 * n", "One product is missing: scores, then weighted sums, 2 n² inner each."),
    ("kept / num_heads", "That is the share of heads that stays. Count the layer's operations."),
    ("kept * d", "(num_heads - kept) * d",
     "You count what is cut away. `kept` says how many heads stay."),
    ("2 * n", "n", "A multiply and an add count as two operations, as in 02."),
    ("kept * d", "d", "That is a single head. `kept` heads remain."),
    ("+ back ", "", "W_o is missing: there are four projections."),
]


EXERCISES = [
    Build("head-gates", gated, HEAD_GATES, gates_inputs),
    Build("gradient-importance", importance, GRADIENT_IMPORTANCE,
          lambda: [(torch.randn(7, 2, 3),), (torch.randn(4, 3, 5),)]),
    Build("pruned-cost", operations, PRUNED_COST,
          lambda: [(10, 60, 5, 3), (7, 48, 8, 2), (5, 6, 3, 3), (9, 30, 6, 4)]),
]
