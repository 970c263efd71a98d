"""The code behind lesson 12: each exhibit, right versions of it, and siblings of its mistake.

An exhibit is right code of which a line is replaced, so the two never drift apart. ``use`` puts
code, right or wrong, into one form, so that one set of checks can try all of it.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NAMES = {"math": math, "torch": torch, "nn": nn, "F": F}  # what exhibits may use
Answers = Callable[[Tensor, Tensor], Tensor]
source = cache(inspect.getsource)


@dataclass(frozen=True)
class Case:
    """Right code, and what goes wrong in it.

    right, other: functions or classes that do the same, written in two ways.
    slips: changes of the text of ``right``, each old, new, old, new, ...; first that of the
    exhibit, then those of two siblings of its mistake.
    use: code -> a function of X (batch, steps, hiddens), whose answers are (batch, steps, ...), and
    lengths (batch,), through which the lesson's five checks see it.
    promises: which of "padding", "order" (of steps) and "causal" the right code keeps.
    """

    right: Callable
    other: Callable
    slips: tuple[tuple[str, ...], ...]
    use: Callable[[Callable], Answers]
    promises: frozenset = field(default_factory=frozenset)

    @property
    def name(self) -> str:
        """The name of the function or class."""
        return self.right.__name__

    def text(self, slip: int | None = None) -> str:
        """The right code, or with ``slip=0`` the exhibit, with 1 and 2 its siblings.

        Raises ValueError where the right code lacks what a slip replaces.

        >>> print(CASES["positions"].text(0).splitlines()[3].strip())
        rows = table[:X.shape[0], None]
        """
        text = source(self.right)
        changes = () if slip is None else self.slips[slip]
        for old, new in zip(changes[::2], changes[1::2]):
            if text.count(old) != 1:
                raise ValueError(f"{self.name} has {old!r} {text.count(old)} times, not once")
            text = text.replace(old, new)
        return text

    def code(self, slip: int | None = None) -> Callable:
        """The same as objects of their own: what a test does to them changes no others."""
        names = dict(NAMES)
        exec(self.text(slip), names)
        return names[self.name]

    def second(self) -> Callable:
        """The other right version, with the same name."""
        names = dict(NAMES)
        exec(source(self.other), names)
        made = names[self.other.__name__]
        made.__name__ = self.name
        return made


# ---- 1: padding ----------------------------------------------------------------------------------

def read(q, k, v, lens):
    """q (b, n, d), k and v (b, m, d); keys from lens (b,) on are padding."""
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1) @ v


def read_again(q, k, v, lens):
    answers = [F.scaled_dot_product_attention(q[i], k[i, :n], v[i, :n])
               for i, n in enumerate(lens.tolist())]
    return torch.stack(answers)


POLARITY = Case(read, read_again, (
    ("masked_fill(~keep, -1e9)", "masked_fill(keep, -1e9)"),
    ("scores.masked_fill(~keep, -1e9)", "scores * keep"),
    (" < lens", " <= lens")),
    lambda code: lambda X, lens: code(X, X, X, lens), frozenset({"padding", "order"}))


# ---- 2: heads ------------------------------------------------------------------------------------

def attend_heads(q, k, v, num_heads):
    """q (b, n, d), k and v (b, m, d) -> (b, n, d); head i has columns
    i * d / num_heads to (i + 1) * d / num_heads, in and out."""
    b, n, d = q.shape
    q, k, v = (X.view(b, -1, num_heads, d // num_heads).transpose(1, 2)
               for X in (q, k, v))
    scores = q @ k.mT / math.sqrt(d // num_heads)
    answers = scores.softmax(-1) @ v  # (b, num_heads, n, d / num_heads)
    return answers.transpose(1, 2).reshape(b, n, d)


def attend_heads_again(q, k, v, num_heads):
    parts = zip(*(X.chunk(num_heads, -1) for X in (q, k, v)))
    return torch.cat([F.scaled_dot_product_attention(*part) for part in parts], -1)


HEADS = Case(attend_heads, attend_heads_again, (
    ("answers.transpose(1, 2).reshape(b, n, d)", "answers.reshape(b, n, d)"),
    ("X.view(b, -1, num_heads, d // num_heads).transpose(1, 2)",
     "X.reshape(b, num_heads, -1, d // num_heads)"),
    ("X.view(b, -1, num_heads, d // num_heads).transpose(1, 2)",
     "X.view(b, -1, d // num_heads, num_heads).permute(0, 3, 1, 2)")),
    lambda code: lambda X, lens: code(X, X, X, 2), frozenset({"order"}))


# ---- 3: the axis ---------------------------------------------------------------------------------

def look_back(q, k, v):
    """q, k, v (b, n, d): token i reads tokens 0 to i, with weights that
    add up to 1."""
    n = q.shape[1]
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(later, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v


def look_back_again(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


AXIS = Case(look_back, look_back_again, (
    ("scores.softmax(-1)", "scores.softmax(1)"),
    ("scores = scores.masked_fill(later, -math.inf)\n    weights = scores.softmax(-1)",
     "weights = scores.softmax(-1).masked_fill(later, 0.)"),
    ("triu(1)", "triu(2)")),
    lambda code: lambda X, lens: code(X, X, X), frozenset({"causal"}))


# ---- 4: the scale --------------------------------------------------------------------------------

def weigh_heads(q, k, num_heads):
    """q (b, n, d), k (b, m, d) -> weights (b, num_heads, n, m).

    Scores are divided by the square root of a query's width in a head."""
    d = q.shape[-1] // num_heads
    q = q.unflatten(-1, (num_heads, d)).transpose(1, 2)
    k = k.unflatten(-1, (num_heads, d)).transpose(1, 2)
    scores = q @ k.mT / math.sqrt(d)
    return scores.softmax(-1)


def weigh_heads_again(q, k, num_heads):
    maps = []
    for a, b in zip(q.chunk(num_heads, -1), k.chunk(num_heads, -1)):
        maps.append((torch.einsum("bnd,bmd->bnm", a, b) * a.shape[-1] ** -0.5).softmax(-1))
    return torch.stack(maps, 1)


SCALE = Case(weigh_heads, weigh_heads_again, (
    ("math.sqrt(d)", "math.sqrt(d * num_heads)"),
    ("math.sqrt(d)", "d"),
    ("q @ k.mT / math.sqrt(d)", "q @ k.mT")),
    lambda code: lambda X, lens: (code(X, X, 2) @ X[:, None]).transpose(1, 2).flatten(2),
    frozenset({"order"}))


# ---- 5: dropout ----------------------------------------------------------------------------------

class Reader(nn.Module):
    """Self-attention over X (b, n, d), with dropout of weights."""

    def __init__(self, d, p=0.2):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d, d) for _ in range(3))
        self.p = p

    def forward(self, X):
        scores = self.W_q(X) @ self.W_k(X).mT / math.sqrt(X.shape[-1])
        weights = F.dropout(scores.softmax(-1), self.p, self.training)
        return weights @ self.W_v(X)


class ReaderAgain(nn.Module):
    def __init__(self, d, p=0.2):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d, d) for _ in range(3))
        self.p = p

    def forward(self, X):
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(
            self.W_q(X), self.W_k(X), self.W_v(X), dropout_p=p)


def reader(code):
    torch.manual_seed(0)
    layer = code(8).eval()
    return lambda X, lens: layer(X)


DROPOUT = Case(Reader, ReaderAgain, (
    ("self.p, self.training)", "self.p)"),
    ("F.dropout(scores.softmax(-1), self.p, self.training)",
     "nn.Dropout(self.p)(scores.softmax(-1))"),
    ("F.dropout(scores.softmax(-1), self.p, self.training)", "scores.softmax(-1)",
     "weights @ self.W_v(X)", "F.dropout(weights @ self.W_v(X), self.p)")),
    reader, frozenset({"order"}))


# ---- 6: the table --------------------------------------------------------------------------------

class Waves(nn.Module):
    """Adds sinusoids to X (b, n, d). They belong to the layer: they move
    and change type with it, and aren't trained."""

    def __init__(self, steps, d):
        super().__init__()
        rates = 10000 ** (-torch.arange(0, d, 2) / d)
        angles = torch.arange(steps)[:, None] * rates
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        self.register_buffer("table", table)

    def forward(self, X):
        return X + self.table[:X.shape[1]]


class WavesAgain(nn.Module):
    def __init__(self, steps, d):
        super().__init__()
        column = torch.arange(d)
        angles = torch.arange(steps)[:, None] / 10000 ** (column // 2 * 2 / d)
        P = torch.where(column % 2 == 0, angles.sin(), angles.cos())
        self.register_buffer("P", P[None], persistent=False)

    def forward(self, X):
        return X + self.P[:, :X.shape[1]]


def waves(code):
    layer = code(9, 8)
    return lambda X, lens: layer(X)


TABLE = Case(Waves, WavesAgain, (
    ('self.register_buffer("table", table)', "self.table = table"),
    ('self.register_buffer("table", table)', "self.rows = list(table)",
     "self.table[:X.shape[1]]", "torch.stack(self.rows[:X.shape[1]])"),
    ('self.register_buffer("table", table)', "self.table = nn.Parameter(table)")),
    waves, frozenset())


# ---- 7: folded heads -----------------------------------------------------------------------------

def read_folded(q, k, v, lens, num_heads):
    """q (b, n, d), k and v (b, m, d), lens (b,): heads in the batch,
    those of a sentence next to one another. -> (b, n, d)"""
    q, k, v = (X.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)
               for X in (q, k, v))  # (b * num_heads, n or m, d / num_heads)
    lens = lens.repeat_interleave(num_heads)
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    answers = scores.masked_fill(~keep, -1e9).softmax(-1) @ v
    return answers.unflatten(0, (-1, num_heads)).transpose(1, 2).flatten(2)


def read_folded_again(q, k, v, lens, num_heads):
    answers = torch.zeros_like(q)
    for i, n in enumerate(lens.tolist()):
        parts = zip(*(X.chunk(num_heads, -1) for X in (q[i], k[i, :n], v[i, :n])))
        answers[i] = torch.cat([F.scaled_dot_product_attention(*part) for part in parts], -1)
    return answers


FOLDED = Case(read_folded, read_folded_again, (
    ("lens.repeat_interleave(num_heads)", "lens.repeat(num_heads)"),
    ("lens.repeat_interleave(num_heads)", "lens.max().repeat(len(q))"),
    ("answers.unflatten(0, (-1, num_heads)).transpose(1, 2).flatten(2)",
     "answers.unflatten(0, (num_heads, -1)).permute(1, 2, 0, 3).flatten(2)")),
    lambda code: lambda X, lens: code(X, X, X, lens, 2), frozenset({"padding", "order"}))


# ---- 8: positions --------------------------------------------------------------------------------

def with_positions(X, table):
    """X (b, n, d); row t of table (longest, d) is added to step t of every
    sentence."""
    rows = table[None, :X.shape[1]]
    return X + rows


def with_positions_again(X, table):
    answers = X.clone()
    for t in range(X.shape[1]):
        answers[:, t] += table[t]
    return answers


LONGEST = 20  # rows of the table that positions are looked up in


def table_of(d):
    return torch.randn(LONGEST, d, generator=torch.Generator().manual_seed(3))


POSITIONS = Case(with_positions, with_positions_again, (
    ("table[None, :X.shape[1]]", "table[:X.shape[0], None]"),
    ("table[None, :X.shape[1]]",
     "table[torch.arange(X.shape[0] * X.shape[1])].unflatten(0, X.shape[:2])"),
    ("table[None, :X.shape[1]]", "table[X.shape[1] - 1]")),
    lambda code: lambda X, lens: code(X, table_of(X.shape[-1])), frozenset({"causal"}))


# ---- 9: maps -------------------------------------------------------------------------------------

def read_and_show(q, k, v, lens):
    """q (b, n, d), k and v (b, m, d); keys from lens (b,) on are padding.

    Returns the output (b, n, d) and the weights (b, n, m) that made it."""
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = scores.masked_fill(~keep, -1e9)
    output = hidden.softmax(-1) @ v
    maps = hidden.softmax(-1)
    return output, maps


def read_and_show_again(q, k, v, lens):
    maps = torch.zeros(*q.shape[:2], k.shape[1])
    for i, n in enumerate(lens.tolist()):
        maps[i, :, :n] = torch.softmax(q[i] @ k[i, :n].T * q.shape[-1] ** -0.5, 1)
    return torch.einsum("bnm,bmd->bnd", maps, v), maps


def shown(code):
    def answers(X, lens):
        output, maps = code(X, X, X, lens)
        return torch.cat([output, maps @ X], -1)
    return answers


MAPS = Case(read_and_show, read_and_show_again, (
    ("maps = hidden.softmax(-1)", "maps = scores.softmax(-1)"),
    ("maps = hidden.softmax(-1)", "maps = scores.softmax(-1) * keep"),
    ("maps = hidden.softmax(-1)", "maps = hidden.softmax(1)")),
    shown, frozenset({"padding", "order"}))


# ---- 10: in place --------------------------------------------------------------------------------

def weigh(scores, lens, d):
    """scores (b, n, m), keys from lens (b,) on are padding -> weights of
    the scores divided by the square root of d. Arguments stay as they are."""
    scores = scores / math.sqrt(d)
    keep = torch.arange(scores.shape[-1]) < lens[:, None, None]
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1)


def weigh_again(scores, lens, d):
    weights = torch.zeros_like(scores)
    for i, n in enumerate(lens.tolist()):
        weights[i, :, :n] = F.softmax(scores[i, :, :n] * d ** -0.5, -1)
    return weights


IN_PLACE = Case(weigh, weigh_again, (
    ("scores = scores / math.sqrt(d)", "scores /= math.sqrt(d)"),
    ("scores = scores / math.sqrt(d)\n", "", "scores.masked_fill(~keep, -1e9)",
     "scores.masked_fill_(~keep, -1e9) / math.sqrt(d)", "    keep =", "keep ="),
    ("scores = scores / math.sqrt(d)",
     "scores = scores.sub_(scores.amax(-1, keepdim=True)) / math.sqrt(d)")),
    lambda code: lambda X, lens: code(X, lens, 4), frozenset())


# ---- 11: half precision --------------------------------------------------------------------------

def add_waves(X):
    """Adds sinusoids to X (b, n, d), right to the precision of X's type."""
    t = torch.arange(X.shape[1], dtype=torch.float32)
    rates = 10000 ** (-torch.arange(0, X.shape[2], 2) / X.shape[2])
    angles = t[:, None] * rates
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    return X + waves.to(X.dtype)


def add_waves_again(X):
    n, d = X.shape[1:]
    waves = torch.zeros(n, d, dtype=torch.float64)
    for i in range(0, d, 2):
        angles = torch.arange(n, dtype=torch.float64) / 10000 ** (i / d)
        waves[:, i], waves[:, i + 1] = angles.sin(), angles.cos()
    return X + waves.to(X.dtype)


HALF = Case(add_waves, add_waves_again, (
    ("dtype=torch.float32", "dtype=X.dtype"),
    ("t[:, None] * rates", "(t[:, None] * rates).to(X.dtype)"),
    ("X.shape[2], 2) / X.shape[2])", "X.shape[2], 2) / X.shape[2]).to(X.dtype)")),
    lambda code: lambda X, lens: code(X), frozenset({"causal"}))


# ---- 12: a cache ---------------------------------------------------------------------------------

def go_on(q, k, v, cache=None):
    """New tokens q, k, v (b, n, d) after those in the cache. Token i reads
    all before it and itself. Returns the output and the new cache."""
    if cache is not None:
        k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
    n, m = q.shape[1], k.shape[1]
    keep = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    return output, (k, v)


def go_on_again(q, k, v, cache=None):
    start = 0 if cache is None else cache[0].shape[1]
    if cache is not None:
        k, v = (torch.cat(pair, 1) for pair in zip(cache, (k, v)))
    rows = []
    for i in range(q.shape[1]):
        past = start + i + 1
        scores = q[:, i, None] @ k[:, :past].mT / math.sqrt(q.shape[-1])
        rows.append(scores.softmax(-1) @ v[:, :past])
    return torch.cat(rows, 1), (k, v)


def continued(code):
    def answers(X, lens):
        start, rest = X[:, :2], X[:, 2:]
        first, cache = code(start, start, start)
        return torch.cat([first, code(rest, rest, rest, cache)[0]], 1)
    return answers


CACHE = Case(go_on, go_on_again, (
    ("tril(m - n)", "tril()"),
    ("attn_mask=keep", ""),
    ("torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)",
     "torch.cat([k, cache[0]], 1), torch.cat([v, cache[1]], 1)")),
    continued, frozenset({"causal"}))


# ---- 13: padding on the left ---------------------------------------------------------------------

def place_left(X, lens, table):
    """X (b, n, d) with padding on the left, real tokens are the last
    lens (b,): the first of these gets row 0 of table (longest, d)."""
    n = X.shape[1]
    rows = torch.arange(n) - (n - lens[:, None])
    return X + table[rows.clamp(min=0)]


def place_left_again(X, lens, table):
    answers = X + table[0]
    for i, n in enumerate(lens.tolist()):
        answers[i, -n:] = X[i, -n:] + table[:n]
    return answers


def left_padded(code):
    def answers(X, lens):
        n = X.shape[1]
        shift = (torch.arange(n) - (n - lens[:, None])) % n
        left = X.gather(1, shift[..., None].expand_as(X))
        placed = code(left, lens, table_of(X.shape[-1]))
        back = (torch.arange(n) + (n - lens[:, None])) % n
        return placed.gather(1, back[..., None].expand_as(X))
    return answers


LEFT = Case(place_left, place_left_again, (
    ("lens[:, None]", "lens.max()"),
    ("(n - lens[:, None])", "lens[:, None]"),
    ("(n - lens[:, None])", "(n - lens[:, None] + 1)")),
    left_padded, frozenset({"padding"}))


# ---- 14: the loss --------------------------------------------------------------------------------

def loss_of(logits, targets, lens):
    """The mean loss of real tokens: logits (b, n, classes), targets (b, n),
    of which those from lens (b,) on are padding."""
    losses = F.cross_entropy(logits.mT, targets, reduction="none")  # (b, n)
    keep = torch.arange(targets.shape[1]) < lens[:, None]
    total = (losses * keep).sum()
    return total / keep.sum()


def loss_of_again(logits, targets, lens):
    real = [(logits[i, :n], targets[i, :n]) for i, n in enumerate(lens.tolist())]
    return F.cross_entropy(*(torch.cat(part) for part in zip(*real)))


def lost(code):
    def answers(X, lens):
        losses = [code(x[None], x.argmin(-1)[None], n[None]).expand(len(x))
                  for x, n in zip(X, lens)]
        return torch.stack(losses)
    return answers


LOSS = Case(loss_of, loss_of_again, (
    ("total / keep.sum()", "total / keep.numel()"),
    ("(losses * keep).sum()", "losses.sum()"),
    ("total / keep.sum()", "total / len(keep)")),
    lost, frozenset({"padding"}))


# ---- 15: weight decay ----------------------------------------------------------------------------

def optimizer_of(model, lr=0.1, decay=0.5):
    """AdamW, in which the weights of linear layers decay and nothing else:
    no biases, no norms, no tables of embeddings."""
    tables = {id(part.weight) for part in model.modules()
              if isinstance(part, nn.Embedding)}
    groups = {True: [], False: []}
    for weight in model.parameters():
        groups[weight.dim() == 2 and id(weight) not in tables].append(weight)
    return torch.optim.AdamW(
        [{"params": groups[True], "weight_decay": decay},
         {"params": groups[False], "weight_decay": 0.0}], lr=lr)


def optimizer_of_again(model, lr=0.1, decay=0.5):
    groups = []
    for part in model.modules():
        for name, weight in part.named_parameters(recurse=False):
            decays = isinstance(part, nn.Linear) and name == "weight"
            groups.append({"params": [weight], "weight_decay": decay * decays})
    return torch.optim.AdamW(groups, lr=lr)


def optimized(code):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 6), nn.LayerNorm(6), nn.Linear(6, 4))
    code(model)
    return lambda X, lens: model(X.argmax(-1))


DECAY = Case(optimizer_of, optimizer_of_again, (
    ("id(part.weight)", "id(part)"),
    ("weight.dim() == 2 and id(weight) not in tables", "id(weight) not in tables"),
    ("weight.dim() == 2 and id(weight) not in tables", "True")),
    optimized, frozenset())


# ---- 16: teacher forcing -------------------------------------------------------------------------

def training_pair(tokens, start):
    """tokens (b, n): what a decoder reads and what it must predict at each
    step. It starts with `start`, and never reads what it must predict."""
    first = torch.full_like(tokens[:, :1], start)
    reads = torch.cat([first, tokens[:, :-1]], 1)
    return reads, tokens


def training_pair_again(tokens, start):
    reads = tokens.clone()
    reads[:, 0] = start
    reads[:, 1:] = tokens[:, :-1]
    return reads, tokens.clone()


def forced(code):
    def answers(X, lens):
        reads, _ = code(X.argmax(-1), 0)
        following = torch.cat([reads[:, 1:], reads[:, :1]], 1)  # at t: what t leads to
        return F.one_hot(following, X.shape[-1]).float()
    return answers


FORCING = Case(training_pair, training_pair_again, (
    ("torch.cat([first, tokens[:, :-1]], 1)", "torch.cat([first, tokens], 1)[:, 1:]"),
    ("torch.cat([first, tokens[:, :-1]], 1)", "tokens.roll(1, dims=1)"),
    ("torch.cat([first, tokens[:, :-1]], 1)", "torch.cat([first, tokens[:, 1:]], 1)")),
    forced, frozenset({"causal"}))


CASES = {
    "polarity": POLARITY, "heads": HEADS, "axis": AXIS, "scale": SCALE, "dropout": DROPOUT,
    "table": TABLE, "folded": FOLDED, "positions": POSITIONS, "maps": MAPS, "in-place": IN_PLACE,
    "half": HALF, "cache": CACHE, "left": LEFT, "loss": LOSS, "decay": DECAY, "forcing": FORCING,
}
