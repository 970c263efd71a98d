"""The exercises that begin with an empty cell, one each in 02, 03, 04, 05, 07, 09 and 10.

The reader writes a class from nothing but its promise. Here are, for each exercise, a class that
keeps the promise, what is looked at, and the misconceptions: the class with parts of its text
replaced.
"""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ..attention import MultiHeadAttention, merge_heads, split_heads
from ..positional import PositionalEncoding, sinusoids
from ..sequence import flops
from ..transformer import DecoderBlock
from .classes import (
    FromScratch, Trial, Trouble, build, draw, factors_in_words, precision, refusal, refuses, slips,
    trying)

IN_TRAINING = "In training mode with dropout=0.2"

# ---- 02: multi-head attention --------------------------------------------------------------------

AXES = ("Where scores are (batch, heads, queries, keys), lengths need four axes: "
        "valid_lens[:, None, None, None].")
INDEX = ("An index must have the scores' own shape. "
         "masked_fill stretches axes of length 1: scores.masked_fill(~keep, lowest).")


def masked(what, layer, *inputs):
    """Call with lengths; where sizes don't fit, say why if it is known."""
    try:
        return trying(what, layer, *inputs)
    except Trouble as trouble:
        if "shape of the mask" in str(trouble):
            raise Trouble(f"{trouble}\n  {INDEX}") from trouble
        if "must match" not in str(trouble):
            raise
        try:  # a batch of one fits any axis
            layer(*(X[:1] for X in inputs))
        except Exception:
            raise trouble from None
        raise Trouble(f"{trouble}\n  {AXES}") from trouble


LENGTHS = torch.tensor([0, 3, 5])
HEADS = Trial(MultiHeadAttention, (10, 2), options={"dropout": 0.0, "bias": False},
              inputs={"queries": (3, 4, 10), "keys": (3, 7, 10), "values": (3, 7, 10)},
              last="valid_lens", call=masked)
HEADS_REFUSED = refuses("Built with 10 hiddens and 4 heads, which don't divide them", 10, 4)


def heads_output(answer):
    return {"The output": HEADS.output(answer),
            "The output with bias=True": HEADS.output(answer, bias=True)}


def heads_lengths(answer):
    return {"The output with lengths 0, 3, 5": HEADS.output(answer, LENGTHS),
            "The output with lengths 0, 3, 5 and bias=True":
            HEADS.output(answer, LENGTHS, bias=True)}


def heads_loud(answer):
    """Scores of hundreds: far apart, and, with keys that are nearly alike, all far below 0.

    Then scores of millions. In float64, since single precision would not agree on such scores.
    """
    layer = build(answer, MultiHeadAttention, 10, 2).double()
    queries, keys, values = (X.double() for X in draw(*HEADS.inputs.values()))
    what = "forward(queries, keys, values, valid_lens) in float64"
    near = keys[:, :1] + 0.01 * keys
    apart, low, lower = (trying(what, layer, factor * queries, X, values, LENGTHS.clone())
                         for factor, X in ((200, keys), (200, near), (1e6, near)))
    return {"The output with lengths 0, 3, 5 and scores far apart": apart,
            "The output with lengths 0, 3, 5 and scores far below 0": low,
            "The output with lengths 0, 3, 5 and scores far below -1e6": lower}


def heads_dropout(answer):
    """With one key each weight is 1, so a head's output is its value, kept or dropped."""
    layer = build(answer, MultiHeadAttention, 10, 2, dropout=0.2)
    queries, keys, values = draw((3, 40, 10), (3, 1, 10), (3, 1, 10))
    torch.default_generator.manual_seed(7)
    with torch.no_grad():
        layer.W_o.weight.copy_(torch.eye(10))
        output = trying("forward(queries, keys, values)", layer, queries, keys, values)
        factors = output / (values @ layer.W_v.weight.T)
    kept = factors.unflatten(-1, (2, 5)) > 0.5
    whole = (kept == kept[..., :1]).all()
    apart = (kept[:, :, 0] != kept[:, :, 1]).any() and (kept != kept[:, :1]).any()
    start = f"{IN_TRAINING} and a single key, "
    return {start + "a head's answer is multiplied by": factors_in_words(factors),
            start + "a head's answer is kept or dropped as a whole": "yes" if whole else "no",
            start + "heads and queries are dropped independently": "yes" if apart else "no"}


class Heads(nn.Module):
    """Multi-head attention, in parts that misconceptions replace."""

    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads, self.p = num_heads, dropout
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens=None):
        every = torch.ones(1, 1, 1, keys.shape[1], dtype=torch.bool)
        keep = every if valid_lens is None else self.keep(keys, valid_lens)
        return self.attend(queries, keys, values, keep)

    def keep(self, keys, valid_lens):
        return torch.arange(keys.shape[1]) < valid_lens[:, None, None, None]

    def attend(self, queries, keys, values, keep):
        q, k, v = (split_heads(X, self.num_heads) for X in self.project(queries, keys, values))
        scores = q @ k.mT / self.scale(q)
        weights = scores.masked_fill(~keep, -1e9).softmax(-1) * keep
        weights = nn.functional.dropout(weights, self.p, self.training)
        return self.W_o(merge_heads(weights @ v))

    def project(self, queries, keys, values):
        return self.W_q(queries), self.W_k(keys), self.W_v(values)

    def scale(self, q):
        return q.shape[-1] ** 0.5


WEIGHTS = "scores.masked_fill(~keep, -1e9).softmax(-1) * keep"
CUT = "(cut := scores.softmax(-1) * keep) / "
RENORMALISED = f"{CUT}cut.sum(-1, keepdim=True)"
MASKING = [  # 02 and 03 alike
    ("< valid_lens", "< 99 + valid_lens",
     "The lengths have no effect: keys from position valid_lens on must get no weight."),
    ("< valid_lens", ">= valid_lens",
     "The mask of the lengths is upside down: you hide the real tokens and look at the padding."),
    *((WEIGHTS, f"scores.masked_fill({mask}, -1e9).softmax(-1) * keep",
       "masked_fill(keep, ...) overwrites the scores that may be seen. "
       "Hide the others: masked_fill(~keep, ...). Then multiply the weights with keep.")
      for mask in ("keep", "keep & ~keep.all()")),  # the second: where something is hidden
    ("< valid_lens", "<= valid_lens",
     "One key too many: a length of 3 means positions 0, 1 and 2."),
    (WEIGHTS, "scores.masked_fill(~keep, -1e9).softmax(-1)",
     "Where nothing may be seen (length 0), "
     "your weights are spread over the padding. They should all be 0."),
    (WEIGHTS, "scores.masked_fill(~keep, -torch.inf).softmax(-1)",
     "Where nothing may be seen (length 0), your output is NaN: a softmax over minus infinities. "
     "NaN times 0 stays NaN. Fill in the lowest number instead, "
     "torch.finfo(scores.dtype).min, and multiply the weights with keep."),
    (WEIGHTS, RENORMALISED,
     "Where nothing may be seen (length 0), your output is NaN: no weight is left, and you divide "
     "0 by the sum 0. Hide the scores before the softmax, then nothing needs to be divided again."),
    *((WEIGHTS, cut,
       "You hide keys after the softmax and divide by what is left. Where a "
       "hidden score is far above the others, nothing is left. Hide the scores before the softmax.")
      for cut in (f"({RENORMALISED}).nan_to_num()", f"{RENORMALISED}.clamp(min=1e-9)",
                  f"({RENORMALISED}).masked_fill(~keep.any(-1, keepdim=True), 0.0)",
                  f"{CUT}(cut.sum(-1, keepdim=True) + 1e-9)")),
    *((WEIGHTS, f"scores.masked_fill(~keep, 0.0).softmax(-1){cleared}",
       "You hide a key by setting its score to 0, but a score of 0 still weighs e^0 = 1. "
       "Set it to the lowest number there is, torch.finfo(scores.dtype).min.")
      for cleared in ("", " * keep")),
    *(("-1e9", low,
       "Where all scores are low, a hidden key still wins: what you fill in is not below them. "
       "Use the lowest number there is, torch.finfo(scores.dtype).min.")
      for low in ("-100.0", "-1000.0", "-1e4", "-1e6")),
    ("scores.masked_fill(~keep, -1e9)", "(scores - 100.0 * ~keep)",
     "A hidden key still wins where its score was high: what you take off is not enough. "
     "Don't subtract: masked_fill(~keep, torch.finfo(scores.dtype).min)."),
    (WEIGHTS, "scores.softmax(-1) * keep",
     "You hide keys after the softmax, so the weights that are left no longer sum to 1. "
     "Hide the scores before it."),
]
SCALE, SPLIT = "q.shape[-1] ** 0.5", "split_heads(X, self.num_heads)"
MERGE, UNMOVED = "merge_heads(weights @ v)", "(weights @ v).reshape(queries.shape)"
STRETCHES = "X.reshape(X.shape[0], self.num_heads, X.shape[1], -1)"
WEIGHING = [
    (SCALE, "1.0",
     "The scores are not scaled: divide them by the square root of the head's width."),
    (SCALE, "(q.shape[-1] * self.num_heads) ** 0.5",
     "You scale by the width of the model. A dot product within a head has as many "
     "terms as the head has columns: divide by the square root of the head's width, q.shape[-1]."),
    (SCALE, "self.num_heads ** 0.5",
     "You divide by the square root of the number of heads. A dot product has as many "
     "terms as a head has columns: divide by the square root of the head's width, q.shape[-1]."),
    (SCALE, "q.shape[-1]", "You divide by the head's width, not by its square root."),
    (SPLIT, STRETCHES,
     "The heads hold stretches of the sentence. "
     "Cut each token into heads first, then swap the axes."),
    (SPLIT, STRETCHES, MERGE, UNMOVED,
     "The heads hold stretches of the sentence: "
     "splitting needs a transpose after the reshape, and merging one before it."),
    (SPLIT, "X.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)",
     "The columns are dealt out to the heads in turn. A head is a block of neighbouring columns."),
    (MERGE, UNMOVED,
     "Splitting is right, merging is not: "
     "bring the steps before the heads (transpose), then flatten."),
    (f"self.W_o({MERGE})", MERGE,
     "W_o is built and never used: it mixes the heads' answers at the end."),
    ("self.W_k(keys)", "self.W_q(keys)",
     "The keys go through W_q. They have a matrix of their own, W_k."),
    ("self.W_v(values)", "self.W_k(values)",
     "The values go through W_k. They have a matrix of their own, W_v."),
    ("softmax(-1)", "softmax(-2)",
     "Your softmax goes over the queries. "
     "It goes over the keys, the last axis, so that each query's weights sum to 1."),
]
UNCHECKED = ("raise ValueError", "pass",
             "Heads that don't divide the width are accepted: raise a ValueError in __init__.")
DETACHED = ("q @ k.mT", "(q @ k.mT).detach()",
            "No gradient flows through the scores (detach, .data, no_grad or a new torch.tensor): "
            "W_q and W_k would never learn.")
MODE = (", self.training)", ")",
        "In evaluation mode numbers are still dropped. "
        "nn.Dropout knows the mode; F.dropout must be told: training=self.training.")
DROP = "nn.functional.dropout(weights, self.p, self.training)"
DROPPING = [
    MODE,
    (DROP, "weights",
     "Dropout has no effect on the weights. "
     "It belongs after the softmax, before the weights meet the values."),
    (DROP, "weights", MERGE, f"nn.functional.dropout({MERGE}, self.p, self.training)",
     "You drop numbers of the answers. "
     "Here dropout acts on the weights: a head's answer to one key is kept or dropped as a whole."),
    (DROP, "weights * (torch.rand(weights.shape) > self.p) if self.training else weights",
     "What is kept must be divided by 1 - dropout, "
     "so that the mean stays as it is. nn.Dropout does both."),
]

# ---- 03: self-attention --------------------------------------------------------------------------


class SelfAttention(MultiHeadAttention):
    """The package's attention of a sequence to itself, with lengths."""

    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__(num_hiddens, num_heads)
        self.causal = causal

    def forward(self, X, valid_lens=None):
        return super().forward(X, X, X, valid_lens, causal=self.causal)


class SelfHeads(Heads):
    """Heads that attend to their own sequence, causal or not."""

    def __init__(self, num_hiddens, num_heads=1, causal=False):
        super().__init__(num_hiddens, num_heads)
        self.causal = causal

    def forward(self, X, valid_lens=None):
        keep = torch.ones(len(X), 1, *[X.shape[1]] * 2, dtype=torch.bool)
        if self.causal:
            keep = keep.tril()
        if valid_lens is not None:
            past, real = keep, self.keep(X, valid_lens)
            keep = past & real
        return self.attend(X, X, X, keep)


SELF = Trial(SelfAttention, (10, 2), {"X": (3, 7, 10)}, {"causal": False}, "valid_lens", masked)


def self_output(answer):
    return {"The output with one head, nothing hidden": SELF.output(answer, sizes=(10,)),
            "The output with 2 heads, nothing hidden": SELF.output(answer)}


def self_loud(answer):
    """As in 02: scores of thousands, far apart and all far below 0, then of millions."""
    layer = build(answer, SelfAttention, 10, 2, causal=True).double()
    X = draw((3, 7, 10))[0].double()
    near = X[:, :1] + 0.01 * X
    apart, low, lower = (trying("forward(X, valid_lens) in float64", layer, Z, LENGTHS.clone())
                         for Z in (60 * X, 60 * near, 2000 * near))
    return {"The output with both masks and scores far apart": apart,
            "The output with both masks and scores far below 0": low,
            "The output with both masks and scores far below -1e6": lower}


ONE_MASK = "{} if self.causal else past & real"
EITHER = "A key passes if either mask allows it. It must pass both: & instead of |."
CAUSAL = [
    ("keep.tril()", "keep", "causal=True has no effect: a step must not see the steps after it."),
    ("tril()", "tril(-1)",
     "A step doesn't see itself. It sees the steps up to its own, itself included."),
    ("tril()", "triu()",
     "The causal mask looks the wrong way: a step sees the future, not the past."),
    ("tril()", "tril(1)",
     "A step sees one step too many: the next one. Key positions go up to the query's own."),
    ("past & real", ONE_MASK.format("real"),
     "With lengths given, the causal mask is lost. "
     "A key must pass both masks: combine them with &."),
    ("past & real", ONE_MASK.format("past"),
     "With causal=True, the lengths are lost. A key must pass both masks: combine them with &."),
    ("past & real", ONE_MASK.format("past | real"), EITHER),
    ("past & real", "past | real", EITHER),
]
ROWS = [  # whole rows are hidden: they come out as zeros, even, or NaN
    ("past & real", new, WEIGHTS, f"scores.masked_fill(~keep, {fill}", words)
    for new, words in [
        ("past & real.mT",
         "Your lengths hide queries. A length hides keys, the last axis of the scores: "
         "whoever asks, positions from valid_lens on must get no weight."),
        ("past & real & real.mT",
         "The rows of padded queries are lost. A length hides keys, not queries: a padded "
         "query keeps its row, as in PyTorch's nn.MultiheadAttention. Nobody has to read it."),
    ] for fill in ("-1e9).softmax(-1) * keep", "-1e9).softmax(-1)", "-torch.inf).softmax(-1)")]

# ---- 04: positional encoding ---------------------------------------------------------------------

POSITIONS = Trial(PositionalEncoding, (6,), {"X": (3, 5, 6)})
X_AFTERWARDS = "The X that forward was given, afterwards"


def position_output(answer):
    return {"The output for width 6": POSITIONS.output(answer),
            "The output for the odd width 7":
            POSITIONS.output(answer, sizes=(7,), X=draw((3, 5, 6), (2, 4, 7))[1])}


def position_input(answer):
    return {X_AFTERWARDS: POSITIONS.run(answer)[2]["X"]}


def parameters(layer):
    return ", ".join(dict(layer.named_parameters())) or "none"


def position_table(answer):
    layer = build(answer, PositionalEncoding, 6, max_len=9)
    found = {"The parameters": parameters(layer),
             "The buffers": ", ".join(dict(layer.named_buffers())) or "none"}
    table = getattr(layer, "P", None)
    if isinstance(table, Tensor):
        found |= {"The shape and the kind of number of P": f"{tuple(table.shape)} {table.dtype}",
                  "P after .to(torch.float64)": str(layer.to(torch.float64).P.dtype),
                  "P after .to('meta'), a device without numbers": str(layer.to("meta").P.device)}
    return found


def position_far(answer):
    output = POSITIONS.output(answer, X=torch.zeros(1, 20_000, 6), max_len=20_001)
    wanted = sinusoids(20_000, 6).float()[None]
    return {"The output at positions up to 20,000": precision(output, wanted)}


def position_dtype(answer):
    return {f"For X in {dtype}, the kind of number of the output":
            str(POSITIONS.output(answer, X=draw((3, 5, 6))[0].to(dtype)).dtype)
            for dtype in (torch.float16, torch.float64)}


def position_dropout(answer):
    layer = build(answer, PositionalEncoding, 6, dropout=0.2)
    X = draw((3, 200, 6))[0] + 6  # no number near 0
    torch.default_generator.manual_seed(8)
    factors = trying("forward(X)", layer, X.clone()) / (X + sinusoids(200, 6).float())
    return {f"{IN_TRAINING}, numbers of X + P are multiplied by": factors_in_words(factors)}


def position_refusal(answer):
    layer = build(answer, PositionalEncoding, 6, max_len=9)
    fits = trying("With max_len=9 and 9 steps, forward(X)", layer, torch.zeros(2, 9, 6))
    return {"The output of max_len steps": fits,
            "10 steps with max_len=9": refusal(layer, torch.zeros(2, 10, 6)),
            "1 step with max_len=9": refusal(layer, torch.zeros(2, 1, 6))}


class Positions(nn.Module):
    """The sinusoidal encoding, in parts that misconceptions replace."""

    def __init__(self, num_hiddens, dropout=0.0, max_len=1000):
        super().__init__()
        self.p, self.max_len = dropout, max_len
        columns = torch.arange(0, num_hiddens, 2, dtype=torch.float64) / num_hiddens
        angles = torch.arange(max_len, dtype=torch.float64)[:, None] / 10_000 ** columns
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None, :, :num_hiddens]
        self.register_buffer("P", table.float(), persistent=False)

    def forward(self, X):
        if X.shape[1] > self.max_len:
            raise ValueError
        rows = self.P[:, :X.shape[1]].to(X.dtype)
        return nn.functional.dropout(X + rows, self.p, self.training)


DROP_SUM = "nn.functional.dropout(X + rows, self.p, self.training)"
ENCODING = [
    ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()",
     "Sines and cosines have changed places: the even columns are sines."),
    ("stack(", "cat(", "-1).flatten(1)", "1)",
     "All sines stand before all cosines. "
     "They alternate: column 0 is a sine, column 1 the cosine of the same angle."),
    ("[:, None] /", "[:, None].add(1) /",
     "Positions are counted from 1. The first row belongs to position 0: 0, 1, 0, 1, ..."),
    ("/ num_hiddens", "/ num_hiddens * 2",
     "The exponent is twice as large as it should be: "
     "torch.arange(0, d, 2) already holds the 2j of the formula."),
    ("10_000", "1_000", "The base is 10000, not 1000."),
    ("self.P[:, :X.shape[1]]", "self.P[0, :X.shape[0], None]",
     "Each sentence gets the row of its own number. "
     "Rows belong to steps, the second axis of a batch-first X."),
    ("X + rows", "rows.expand_as(X)", "You return the table alone: it is to be added to X."),
    ("X + rows", "X * X.shape[2] ** 0.5 + rows",
     "X is multiplied by the square root of the width first. "
     "A whole Transformer does that elsewhere; here X and P are added as they are."),
    ("X + rows", "X.detach() + rows",
     "X is detached: no gradient reaches what stands before this layer."),
    ("X + rows", "X.add_(rows)",
     "forward changes the X it is given: X += P writes into it. "
     "Write X + P, which is a new tensor."),
    ('self.register_buffer("P", table.float(), persistent=False)', "self.P = table.float()",
     "P is a plain attribute, which .to() leaves behind. "
     'Make it a buffer: register_buffer("P", table, persistent=False).'),
    ("float64", "float32",
     "Far positions are off: you compute the angles in single precision. "
     "Compute in torch.float64 and round the finished table."),
    (".to(X.dtype)", "",
     "The output is not of X's kind: "
     "P in float32 turns a 16-bit X into 32 bits. Add P[...].to(X.dtype)."),
    MODE,
    (DROP_SUM, "X + rows", "In training mode nothing is dropped: dropout acts on the sum X + P."),
    (DROP_SUM, "nn.functional.dropout(X, self.p, self.training) + rows",
     "Dropout acts on X alone. It acts on the sum X + P."),
    ("raise ValueError", "pass",
     "Too long an input fails with a message about shapes. "
     "Raise a ValueError that says what to do: build it with a larger max_len."),
]

# ---- 05: rotary ----------------------------------------------------------------------------------


class Rotary(nn.Module):
    """The package's rotary embedding, from any position on and with any base.

    It is in parts that misconceptions replace.
    """

    def __init__(self, head_size, base=10000.0):
        super().__init__()
        if head_size % 2:
            raise ValueError
        self.base = base

    def forward(self, X, offset=0):
        d, places = X.shape[-1], torch.arange(X.shape[2], dtype=torch.float64) + offset
        speeds = self.base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = (places[:, None] / speeds).to(X.device)
        s, c = angles.sin().float(), angles.cos().float()
        a, b = X[..., 0::2], X[..., 1::2]
        first = a * c - b * s
        second = a * s + b * c
        Y = torch.stack([first, second], -1).flatten(-2)
        return Y.to(X.dtype)


ROTARY = Trial(Rotary, (8,), {"X": (2, 3, 5, 8)}, last="offset")


def narrow():
    return draw((3, 2, 4, 6))[0]


def rotary_output(answer):
    return {"The output": ROTARY.output(answer),
            "The output for head size 6": ROTARY.output(answer, sizes=(6,), X=narrow())}


def rotary_input(answer):
    return {X_AFTERWARDS: ROTARY.run(answer, 3)[2]["X"]}


def rotary_offset(answer):
    return {"The output with offset=3": ROTARY.output(answer, 3),
            "The output with offset=11": ROTARY.output(answer, 11)}


def rotary_far(answer):
    far, wanted = (ROTARY.output(which, 100_000) for which in (answer, Rotary))
    return {"The output with offset=100,000": precision(far, wanted)}


def rotary_modes(answer):
    layer, output, _ = ROTARY.run(answer, 3, mode="eval")
    return {"The parameters": parameters(layer), "The output in evaluation mode": output}


def holds(half, wanted):
    """Whether a 16-bit result has two right digits, in words."""
    right = isinstance(half, Tensor) and torch.allclose(half.float(), wanted, atol=0.02)
    return "yes" if right else "no"


def rotary_half(answer):
    X, = draw((2, 3, 5, 8))
    half, wanted = ROTARY.output(answer, 3000, X=X.half()), ROTARY.output(Rotary, 3000)
    return {"For X in torch.float16, the kind of number of the output": str(half.dtype),
            "For X in torch.float16 and offset=3000, two digits hold": holds(half, wanted)}


def rotary_cast(answer):
    layer = build(answer, Rotary, 6).half()
    half = trying("After .half(), forward(X, offset)", layer, narrow().half(), 100_000)
    return {"After .half(), for X in torch.float16 and offset=100,000, two digits hold":
            holds(half, Rotary(6)(narrow(), 100_000))}


def rotary_device(answer):
    layer = build(answer, Rotary, 8)
    X = torch.zeros(2, 3, 5, 8, device="meta")
    output = trying("On another device ('meta'), forward(X)", layer.to("meta"), X)
    return {"The device of the output for X on 'meta'": str(getattr(output, "device", "none"))}


LAST = "second = a * s + b * c"
JOIN = "torch.stack([first, second], -1).flatten(-2)", "torch.cat([first, second], -1)"
TURNING = [
    ("a * c - b * s", "a * c + b * s", LAST, "second = b * c - a * s",
     "You turn the wrong way: the first of a pair is x cos - y sin, the second x sin + y cos."),
    ("X[..., 0::2], X[..., 1::2]", "X.chunk(2, -1)", *JOIN,
     "You pair the first half with the second. Here neighbours are pairs: (0, 1), (2, 3), ..."),
    (*JOIN,
     "The turning is right, the order is not: "
     "put the two numbers of a pair side by side again (stack, then flatten)."),
    (LAST, "second = first * s + b * c",
     "The second number of a pair is computed from the first after it was turned. "
     "Use the old one in both lines."),
    ("a * c - b * s", "a + s", LAST, "second = b + c",
     "You add sines and cosines. Rotary multiplies: it turns each pair."),
    (" - b * s", "", LAST, "second = b * s",
     "Each number is multiplied alone. A turn mixes the two of a pair."),
    ("+ offset", "+ offset + 1",
     "Positions are counted from 1. "
     "Row 0 stands at position offset: with offset=0 it doesn't turn."),
    ("a * c - b * s", "a", LAST, "second = b", "Nothing is turned: the output is X itself."),
    (" / d", " * 2 / d",
     "The exponent is twice as large as it should be: "
     "torch.arange(0, d, 2) already holds the 2r of the formula."),
    ("self.base ** (", "self.base ** -(",
     "The speeds are upside down: "
     "pair r turns by position / base^(2r/d), the later pairs more slowly."),
    ("+ offset", "+ 0", "offset has no effect: row i stands at position offset + i."),
    ("+ offset", "- offset", "offset is subtracted: row i stands at position offset + i."),
    ("self.base = base", "columns = torch.arange(0, head_size, 2, dtype=torch.float64)\n"
     "        self.register_buffer('speeds', base ** (columns / head_size), persistent=False)",
     "self.base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)", "self.speeds",
     "A buffer is cast with the module: after .half() the speeds have three digits left. "
     "Compute them in forward, in torch.float64."),
    ("self.base **", "10_000.0 **",
     "base has no effect: 10000 is its default, not its only value."),
    ("Y.to(X.dtype)", "X.copy_(Y)",
     "forward changes the X it is given. Put the turned numbers into a new tensor."),
    ("a, b = X", "X = X.detach(); a, b = X",
     "X is detached: no gradient reaches the queries and keys."),
    ("float64", "float32",
     "Far positions are off: you compute the angles in single precision. "
     "Compute them in torch.float64."),
    ("torch.arange(X.shape[2], dtype=torch.float64)", "torch.arange(X.shape[2], dtype=X.dtype)",
     "For a 16-bit X you count positions in 16 bits, which has no odd numbers beyond 2048. "
     "Count in torch.float64, whatever X is."),
    (".to(X.dtype)", "",
     "The output is not of X's kind: a 16-bit X comes back in 32 bits. End with .to(X.dtype)."),
    ("raise ValueError", "pass", "An odd head_size is accepted: raise a ValueError in __init__."),
]

# ---- 07: a decoder block -------------------------------------------------------------------------

BLOCK = Trial(DecoderBlock, (10, 2), {"X": (3, 4, 10), "memory": (3, 7, 10)}, {"dropout": 0.0},
              last="valid_lens")
PARTS = {"attention": "attention.W_o.weight", "cross": "cross.W_o.weight",
         "network": "network.2.weight"}


def alone(layer, part):
    """Silence all parts but one, and the weights of the norms: it adds the same at every step."""
    state = layer.state_dict()
    silent = [name for other, name in PARTS.items() if other != part]
    silent += ["network.2.bias"] * (part != "network") + [f"norms.{i}.weight" for i in range(3)]
    layer.load_state_dict(state | {name: torch.zeros_like(state[name]) for name in silent})
    return layer


def block_dropout(answer):
    """One part at a time speaks; what it adds to X is known, so it shows what was dropped."""
    found = {}
    X, memory = draw((3, 40, 10), (3, 1, 10))
    memory = memory.expand(3, 7, 10)
    for part in PARTS:
        layer = alone(build(answer, DecoderBlock, 10, 2, dropout=0.2), part)
        plain = alone(build(DecoderBlock, DecoderBlock, 10, 2), part)
        torch.default_generator.manual_seed(9)
        with torch.no_grad():
            output = trying("forward(X, memory)", layer, X, memory)
            factors = (output - X) / (plain(X, memory) - X)
        dropped = "yes" if (output == 0).any() else "no"
        found |= {f"{IN_TRAINING}, numbers of X itself are dropped around {part}": dropped,
                  f"{IN_TRAINING}, what {part} adds to X is multiplied by":
                  factors_in_words(factors)}
    return found


class Block(DecoderBlock):
    """The package's decoder block, in parts that misconceptions replace."""

    def forward(self, X, memory, valid_lens=None):
        X = self.add(X, 0, lambda Y: self.attention(Y, Y, Y, causal=True))
        X = self.add(X, 1, lambda Y: self.cross(Y, memory, memory, valid_lens))
        return self.add(X, 2, lambda Y: self.network(Y))

    def add(self, X, i, part):
        return X + self.dropout(part(self.norms[i](X)))


READ, NETWORK = "self.cross(Y, memory, memory, valid_lens)", "self.network(Y)"
FIRST = "self.add(X, 0, lambda Y: self.attention(Y, Y, Y, causal=True))"
SECOND = f"self.add(X, 1, lambda Y: {READ})"
PART, ADDED = "part(self.norms[i](X))", "X + self.dropout(part(self.norms[i](X)))"
SOME = "None if valid_lens is None else valid_lens"
ALIKE = "valid_lens if X.shape[1] == memory.shape[1] else None"
DECODING = [
    (", causal=True", "", "A step sees the steps after it: self-attention in a decoder is causal."),
    ("causal=True", "mask=lambda query, key: key < query",
     "A step doesn't see itself. It sees the steps up to its own, itself included."),
    (ADDED, "self.norms[i](X + self.dropout(part(X)))",
     "You normalise after adding (post-norm). "
     "The promise normalises what goes into each part: X + part(norm(X))."),
    (ADDED, f"self.dropout({PART})",
     "The residual connections are missing: add each part's result to X."),
    (ADDED, f"self.norms[i](X) + self.dropout({PART})",
     "You add to the normalised X. The residual is X itself, as it was before the norm."),
    ("self.norms[i](X)", "X", "The norms are built and never used: each part gets norm(X)."),
    ("norms[i]", "norms[0]",
     "One norm serves all three parts. Each part has its own, norms[0], norms[1], norms[2]."),
    (READ, "self.cross(Y, Y, Y)",
     "Cross-attention never looks at memory: "
     "its queries come from the decoder, its keys and values from memory."),
    (READ, "self.cross(Y, *[self.norms[1](memory)] * 2, valid_lens)",
     "memory is normalised once more. "
     "It comes from the encoder as it should be; the norm is for X."),
    ("self.cross", "self.attention",
     "Both attentions use the same matrices. Cross-attention has its own: self.cross."),
    (FIRST, "HERE", SECOND, FIRST, "HERE", SECOND,
     "Cross-attention comes before self-attention. "
     "The order is: self-attention, cross-attention, network."),
    (f"X = {FIRST}", f"Z = X; X = {FIRST}", "self.add(X, 1", "X - Z + self.add(Z, 1",
     "self.add(X, 2", "X - Z + self.add(Z, 2",
     "All three parts read the same X. Each part reads what the one before it has left."),
    (NETWORK, "self.network[2](self.network[0](Y))",
     "There is no ReLU between the two linear maps of the network."),
    (NETWORK, "self.network[2](nn.functional.gelu(self.network[0](Y)))",
     "Between the linear maps stands a GELU. The promise says ReLU."),
    (READ, "self.cross(Y, memory, memory)",
     "The lengths have no effect: cross-attention must not look at the source's padding."),
    (READ, f"self.cross(Y, memory, memory, {SOME} + 1)",
     "One source step too many: a length of 3 means positions 0, 1 and 2."),
    ("causal=True", f"causal=True, valid_lens={SOME}.clamp(max=4)",
     "The lengths are the source's. In self-attention they hide steps of the target."),
    ("causal=True", f"causal=True, valid_lens={ALIKE}",
     "Self-attention takes the lengths where target and source have as many steps. "
     "They are the source's all the same."),
    ("memory, memory", "memory.detach(), memory.detach()",
     "memory is detached: the encoder would never learn."),
    (f"self.dropout({PART})", f"nn.functional.dropout({PART}, self.dropout.p)", MODE[-1]),
    ("self.dropout(part", "(part",
     "Nothing is dropped in training mode: dropout acts on what each part adds to X."),
    (ADDED, f"self.dropout(X + {PART})",
     "You drop numbers of X itself. Dropout acts on what a part adds, before it is added."),
]

# ---- 09: attention by tiles ----------------------------------------------------------------------

class Tiles(nn.Module):
    """Attention over keys that are taken some at a time, in parts that misconceptions replace."""

    def __init__(self, tile):
        super().__init__()
        if tile < 1:
            raise ValueError
        self.tile = tile

    def forward(self, queries, keys, values):
        largest = torch.full_like(queries[..., :1], -torch.inf)
        total, summed = torch.zeros_like(largest), 0 * queries[..., :1] * values[:, :, :1]
        for K, V in zip(keys.split(self.tile, 2), values.split(self.tile, 2)):
            scores = self.scores(queries, K)
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            factor, powers = (largest - new).exp(), (scores - new).exp()
            total = total * factor + powers.sum(-1, keepdim=True)
            summed = summed * factor + powers @ V
            largest = new
        return summed / total

    def scores(self, queries, K):
        return queries @ K.mT / queries.shape[-1] ** 0.5


TILED = Trial(Tiles, (3,), {"queries": (2, 3, 4, 5), "keys": (2, 3, 7, 5), "values": (2, 3, 7, 6)})


class Largest(TorchDispatchMode):
    """How many numbers the largest result has, and whether PyTorch's own attention was called."""

    numbers, fused = 0, False

    def __torch_dispatch__(self, call, types, args=(), options=None):
        result = call(*args, **(options or {}))
        self.fused |= "scaled_dot_product" in str(call)
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


def tiled_output(answer):
    return {f"The output with tile={tile}": TILED.output(answer, sizes=(tile,))
            for tile in (7, 3, 1)}


def tiled_input(answer):
    inputs = TILED.run(answer)[2]
    return {f"{name} afterwards": X for name, X in inputs.items()}


def tiled_loud(answer):
    """Scores of hundreds, of either sign, in float64."""
    layer = build(answer, Tiles, 2)
    queries, keys, values = (X.double() for X in draw(*TILED.inputs.values()))
    return {f"The output for queries times {factor}, in float64":
            trying("forward(queries, keys, values)", layer, factor * queries, keys, values)
            for factor in (1000, -1000)}


def tiled_memory(answer):
    layer, n = build(answer, Tiles, 4), 64
    inputs = [torch.zeros(1, 1, n, 2) for _ in range(3)]
    with Largest() as seen:
        trying("forward(queries, keys, values)", layer, *inputs)
    return {"A tensor with a number for each query and key is made":
            "yes" if seen.numbers >= n * n else "no",
            "PyTorch's own attention is called": "yes" if seen.fused else "no"}


MORE = "summed = summed * factor + powers @ V"
SUM = "total = total * factor + powers.sum(-1, keepdim=True)"
TILING = [
    (SUM, "total = total + powers.sum(-1, keepdim=True)", MORE, "summed = summed + powers @ V",
     "Nothing is rescaled: when a larger score comes, sum and output so far "
     "must be multiplied by exp(old maximum - new maximum)."),
    (SUM, "total = total + powers.sum(-1, keepdim=True)",
     "The output is rescaled, but not the sum. Both were made with the old maximum."),
    (MORE, "summed = summed + powers @ V",
     "The sum is rescaled, but not the output. Both were made with the old maximum."),
    ("torch.maximum(largest, scores.amax(-1, keepdim=True))", "scores.amax(-1, keepdim=True)",
     "Your maximum is that of the last tile. It is the largest so far, old or new."),
    ("return summed / total", "return summed",
     "Not divided: the output is the weighted sum, divided by the sum of the powers."),
    (" / queries.shape[-1] ** 0.5", "",
     "The scores are not scaled: divide by the square root of the queries' width."),
    ("keys.split(self.tile, 2)", "keys.split(self.tile, 2)[:keys.shape[2] // self.tile or 1]",
     "The last keys are lost where the tiles don't fit: the last tile may be smaller."),
    ("torch.maximum(largest, scores.amax(-1, keepdim=True))", "0 * largest.nan_to_num()",
     "factor, powers = (largest - new).exp(), (scores - new).exp()",
     "factor, powers = 1.0, scores.exp()",
     "Powers of the scores themselves overflow. Take the largest score so far off first."),
    ("keys.split(self.tile, 2), values.split(self.tile, 2)",
     "keys.split(keys.shape[2], 2), values.split(values.shape[2], 2)",
     "The numbers are right, but all scores are made at once. Take `tile` keys at a time."),
    ("return summed / total",
     "return nn.functional.scaled_dot_product_attention(queries, keys, values)",
     "PyTorch's own function does it for you. Take `tile` keys at a time."),
    ("(scores - new).exp()", "(scores - new).exp().detach()",
     "The powers are cut off from the graph: queries and keys get a wrong gradient, or none."),
    ("if tile < 1:", "if False:",
     "A tile of 0 keys passes. The promise asks for a ValueError."),
]


# ---- 10: linear attention ------------------------------------------------------------------------


class Linear(nn.Module):
    """Linear attention token by token, in parts that misconceptions replace."""

    def __init__(self, num_hiddens, num_heads=1):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(self, X):
        q, k, v = (split_heads(W(X), self.num_heads) for W in (self.W_q, self.W_k, self.W_v))
        q, k = self.phi(q), self.phi(k)
        S, z, Y = 0, 0, []
        for t in range(X.shape[1]):
            S = S + k[:, :, t, :, None] * v[:, :, t, None]
            z = z + k[:, :, t]
            y = (q[:, :, t, None] @ S)[:, :, 0]
            Y.append(y / (q[:, :, t] * z).sum(-1, keepdim=True))
        return self.W_o(merge_heads(torch.stack(Y, 2)))

    def phi(self, X):
        return nn.functional.elu(X) + 1


LINEAR = Trial(Linear, (10, 2), {"X": (3, 7, 10)})
READING = "y = (q[:, :, t, None] @ S)[:, :, 0]"
WRITING = "S = S + k[:, :, t, :, None] * v[:, :, t, None]"
RECURRING = [
    ("nn.functional.elu(X) + 1", "X", "There is no feature map: queries and keys get elu + 1."),
    ("nn.functional.elu(X) + 1", "nn.functional.elu(X)",
     "The 1 is missing: elu alone reaches down to -1, and sums of weights may be 0."),
    ("nn.functional.elu(X) + 1", "nn.functional.relu(X) + 1",
     "relu + 1 is 1 for all numbers below 0. The promise says elu + 1."),
    ("self.phi(q), self.phi(k)", "q, self.phi(k)", "Queries need the feature map as well."),
    ("self.phi(q), self.phi(k)", "self.phi(q), k", "Keys need the feature map as well."),
    ("y / (q[:, :, t] * z).sum(-1, keepdim=True)", "y",
     "The outputs are sums. Divide each by the sum of its weights."),
    ("y / (q[:, :, t] * z).sum(-1, keepdim=True)", "y / (t + 1)",
     "You divide by the number of tokens. Divide by the sum of the weights."),
    ("(q[:, :, t] * z).sum(-1, keepdim=True)", "((q[:, :, t] * z).sum(-1, keepdim=True) + 1e-6)",
     "The outputs are right, but an epsilon in the divisor changes gradients. The weights are "
     "positive, so it isn't needed."),
    ("z = z + k[:, :, t]", "z = k.sum(2)",
     "The divisor counts tokens that are still to come: it must grow with the memory."),
    (WRITING, f"{READING} if t else 0 * v[:, :, 0]; {WRITING}", f"            {READING}\n", "",
     "You read before you write: a token sees itself."),
    ("S, z, Y = 0, 0, []", "S, z, Y = 0, 0, []; S = k.mT @ v", WRITING, "S = S",
     "The memory holds all tokens from the start: the first output sees the last token."),
    (WRITING, "S = k[:, :, t, :, None] * v[:, :, t, None]",
     "The memory is replaced at each token. Add to it."),
    ("split_heads(W(X), self.num_heads)", "W(X)[:, None]", "num_heads has no effect: all is one "
     "head. Each head has a memory of its own."),
    ("self.W_o(merge_heads(torch.stack(Y, 2)))", "merge_heads(torch.stack(Y, 2))",
     "The last projection, W_o, is missing."),
    ("S = S + k", "S = (S if t == 0 else S.detach()) + k",
     "The memory is detached: no gradient reaches the tokens before."),
    UNCHECKED,
]


def linear_growth(answer):
    """Matrix products of 128 steps against those of 64."""
    layer = build(answer, Linear, 10, 2)
    work = [trying("forward(X)", flops, layer, n, 10) for n in (64, 128)]
    return {"Twice the steps take this many times the operations": f"{work[1] / work[0]:.1f}"}


# ---- the exercises -------------------------------------------------------------------------------

EXERCISES = [
    FromScratch(
        "multi-head-class", reference=MultiHeadAttention,
        sizes="batch 3, 4 queries, 7 keys, 2 heads of width 5",
        signatures=("__init__(self, num_hiddens, num_heads, dropout=0.0, bias=False)",
                    "forward(self, queries, keys, values, valid_lens=None)"),
        praise="Right: values, gradients, "
               "lengths and dropout are those of the package's class, and the weights fit both.",
        hints=["__init__ checks the sizes and keeps num_heads, four nn.Linear and an nn.Dropout. "
               "forward: project, split, score, hide, weigh, drop, merge, mix.",
               "Split with unflatten(-1, (num_heads, -1)).transpose(1, 2), merge "
               "with transpose(1, 2).flatten(2). After splitting, the last axis is a head's width.",
               "With places = torch.arange(keys.shape[1]), "
               "keep is places < valid_lens[:, None, None, None], and the weights "
               "are scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep. "
               "Where all is hidden, the softmax is even, and the factor keep makes it 0."],
        stages=[heads_output, heads_lengths, heads_loud, HEADS.learns(LENGTHS, bias=True),
                HEADS.evaluates(LENGTHS), heads_dropout, HEADS_REFUSED],
        misconceptions=slips(Heads, [*WEIGHING, *MASKING, DETACHED, *DROPPING, UNCHECKED]),
    ),
    FromScratch(
        "self-attention-class", reference=SelfAttention,
        sizes="batch 3, 7 steps, 2 heads of width 5",
        signatures=("__init__(self, num_hiddens, num_heads=1, causal=False)",
                    "forward(self, X, valid_lens=None)"),
        praise="Right: with both masks, one, "
               "or none, the numbers and gradients are those of the package's class.",
        hints=["Queries, keys and values are three projections of the same X. "
               "First do it without any mask.",
               "position = torch.arange(steps) makes both masks: position <= position[:, None] "
               "for the past, position < valid_lens[:, None, None, None] for the real tokens.",
               "Begin with keep = torch.ones(steps, steps, dtype=torch.bool) and "
               "combine it with the masks that apply: keep & mask. The weights are those of 02: "
               "scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep."],
        stages=[self_output,
                SELF.shows("The output with causal=True", causal=True),
                SELF.shows("The output with lengths 0, 3, 5", LENGTHS),
                SELF.shows("The output with causal=True and lengths 0, 3, 5", LENGTHS, causal=True),
                self_loud,
                SELF.learns(LENGTHS, causal=True),
                SELF.shows("The output in evaluation mode", LENGTHS, causal=True, mode="eval"),
                HEADS_REFUSED],
        misconceptions=slips(SelfHeads, [*WEIGHING, *CAUSAL, *MASKING, *ROWS, DETACHED, UNCHECKED]),
    ),
    FromScratch(
        "positional-class", reference=PositionalEncoding,
        sizes="batch 3, 5 steps, width 6, and batch 2, 4 steps, width 7",
        signatures=("__init__(self, num_hiddens, dropout=0.0, max_len=1000)", "forward(self, X)"),
        praise="Right: the table is a buffer, "
               "exact to its last position, and goes where the module goes.",
        hints=["__init__ makes the table once. "
               "forward checks the length, adds the first rows of the table, and drops.",
               "Angles are positions[:, None] / 10_000 ** (columns / num_hiddens). "
               "Positions 0, 1, 2, ... and columns 0, 2, 4, ... both come from torch.arange(..., "
               "dtype=torch.float64). Sines go to P[:, 0::2], cosines to P[:, 1::2].",
               "For an odd width there is one cosine less: angles[:, :num_hiddens // 2].cos(). "
               'Keep the table with register_buffer("P", P.float()[None], persistent=False).'],
        stages=[position_output, position_input, POSITIONS.learns(), position_table, position_far,
                position_dtype, POSITIONS.evaluates(), position_dropout, position_refusal],
        misconceptions=slips(Positions, ENCODING),
    ),
    FromScratch(
        "rotary-class", reference=Rotary,
        sizes="batch 2, 3 heads, 5 steps, head size 8, and batch 3, 2 heads, 4 steps, head size 6",
        signatures=("__init__(self, head_size, base=10000.0)", "forward(self, X, offset=0)"),
        praise="Right: from any position on, "
               "with any base, and the score of two tokens depends on their offset alone.",
        hints=["One angle for each step and pair. "
               "x is the first number of every pair, X[..., 0::2], y the second.",
               "Angles are positions[:, None] / base ** (columns / head_size), (steps, head_size "
               "/ 2). Positions offset, offset + 1, ... and columns 0, 2, 4, ... both come from "
               "torch.arange(..., dtype=torch.float64). Cosines and sines go where X is: .to(X).",
               "A pair becomes x cos - y sin, x sin + y cos. "
               "torch.stack([...], -1).flatten(-2) puts the two numbers side by side again."],
        stages=[rotary_output, rotary_input, rotary_offset,
                ROTARY.shows("The output with base=100.0", 3, base=100.0),
                ROTARY.learns(3), rotary_far, rotary_modes, rotary_half, rotary_cast,
                rotary_device, refuses("Built with head_size=7, which is odd", 7)],
        misconceptions=slips(Rotary, TURNING),
    ),
    FromScratch(
        "decoder-block-class", reference=DecoderBlock,
        sizes="batch 3, 4 or 7 steps, 7 source steps, 2 heads of width 5",
        signatures=("__init__(self, num_hiddens, num_heads, dropout=0.0)",
                    "forward(self, X, memory, valid_lens=None)"),
        praise="Right: a state_dict moves between yours and the package's block, "
               "and all numbers and gradients are the same.",
        hints=["Three times the same sentence, in this order: X = X + dropout(part(norm(X))).",
               "Self-attention: Y = self.norms[0](X), then self.attention(Y, Y, Y, causal=True). "
               "In cross-attention the queries are the normalised X; "
               "keys and values are memory, as it comes, with valid_lens.",
               "The parts: MultiHeadAttention(num_hiddens, num_heads) twice; "
               "nn.Sequential of Linear, ReLU, Linear with 4 * num_hiddens inside; "
               "nn.ModuleList of three nn.LayerNorm; one nn.Dropout."],
        stages=[BLOCK.shows("The output"),
                BLOCK.shows("The output with source lengths 0, 3, 5", LENGTHS),
                BLOCK.shows("The output with 7 steps and source lengths 0, 3, 5", LENGTHS,
                            X=draw((3, 7, 10))[0]),
                BLOCK.learns(LENGTHS), BLOCK.evaluates(LENGTHS), block_dropout, HEADS_REFUSED],
        misconceptions=slips(Block, DECODING),
    ),
    FromScratch(
        "tiles-class", reference=Tiles,
        sizes="batch 2, 3 heads, 4 queries, 7 keys",
        signatures=("__init__(self, tile)", "forward(self, queries, keys, values)"),
        praise="Right: exact for every tile, and without the table of all weights.",
        hints=["keys.split(tile, 2) and values.split(tile, 2) give the tiles, the last one smaller "
               "if need be.",
               "Keep three things for each query: the largest score so far, "
               "the sum of exp(score - largest), and the same sum with values.",
               "factor = (largest - new).exp() multiplies both sums before a tile is added; "
               "begin with largest = -inf, so that the first factor is 0."],
        stages=[tiled_output,
                TILED.shows("The output with tile=100, more than there are keys", sizes=(100,)),
                tiled_input, tiled_loud, tiled_memory, TILED.learns(),
                TILED.shows("The output in evaluation mode", mode="eval"),
                refuses("Built with tile=0", 0)],
        misconceptions=slips(Tiles, TILING),
    ),
    FromScratch(
        "linear-class", reference=Linear, sizes="batch 3, 7 steps, 2 heads of width 5",
        signatures=("__init__(self, num_hiddens, num_heads=1)", "forward(self, X)"),
        praise="Right: values and gradients are those of the package's class, "
               "and twice the steps take twice the operations.",
        hints=["First one head: project, elu + 1 on queries and keys, then a loop with a memory S "
               "and a sum z of keys.",
               "At each step S = S + k vᵀ and z = z + k, then y = q S / (q·z). "
               "k[:, :, t, :, None] * v[:, :, t, None] is k vᵀ for all heads.",
               "Heads: split before the loop, so that S is (batch, heads, size, size); "
               "stack the outputs along the steps, merge the heads, then W_o."],
        stages=[LINEAR.shows("The output"), LINEAR.learns(), linear_growth,
                LINEAR.shows("The output in evaluation mode", mode="eval"), HEADS_REFUSED],
        misconceptions=slips(Linear, RECURRING),
    ),
]
