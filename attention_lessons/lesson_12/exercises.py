"""The exercises of lesson 12, a museum of silent bugs: correct code, and what goes wrong in it."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from ..exercises import find
from ..exercises.exhibits import Exhibit

# ---- padding ----

def read(q, k, v, lens):
    """q (b, n, d), k and v (b, m, d); keys from lens (b,) on are padding."""
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1) @ v


# ---- heads ----

def attend_heads(q, k, v, num_heads):
    """q (b, n, d), k and v (b, m, d) -> (b, n, d); head i has columns
    i * d / num_heads to (i + 1) * d / num_heads, in and out."""
    b, n, d = q.shape
    q, k, v = (X.view(b, -1, num_heads, d // num_heads).transpose(1, 2)
               for X in (q, k, v))
    scores = q @ k.mT / math.sqrt(d // num_heads)
    answers = scores.softmax(-1) @ v  # (b, num_heads, n, d / num_heads)
    return answers.transpose(1, 2).reshape(b, n, d)


# ---- the axis ----

def look_back(q, k, v):
    """q, k, v (b, n, d): token i reads tokens 0 to i, with weights that
    add up to 1."""
    n = q.shape[1]
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(later, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v


# ---- the scale ----

def weigh_heads(q, k, num_heads):
    """q (b, n, d), k (b, m, d) -> weights (b, num_heads, n, m).

    Scores are divided by the square root of a query's width in a head."""
    d = q.shape[-1] // num_heads
    q = q.unflatten(-1, (num_heads, d)).transpose(1, 2)
    k = k.unflatten(-1, (num_heads, d)).transpose(1, 2)
    scores = q @ k.mT / math.sqrt(d)
    return scores.softmax(-1)


# ---- dropout ----

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


def reader(code):
    torch.manual_seed(0)
    layer = code(8).eval()
    return lambda X, lens: layer(X)


# ---- the table ----

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


def waves(code):
    layer = code(9, 8)
    return lambda X, lens: layer(X)


# ---- folded heads ----

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


# ---- positions ----

def with_positions(X, table):
    """X (b, n, d); row t of table (longest, d) is added to step t of every
    sentence."""
    rows = table[None, :X.shape[1]]
    return X + rows


def table_of(d):
    return torch.randn(20, d, generator=torch.Generator().manual_seed(3))


# ---- maps ----

def read_and_show(q, k, v, lens):
    """q (b, n, d), k and v (b, m, d); keys from lens (b,) on are padding.

    Returns the output (b, n, d) and the weights (b, n, m) that made it."""
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = scores.masked_fill(~keep, -1e9)
    output = hidden.softmax(-1) @ v
    maps = hidden.softmax(-1)
    return output, maps


def shown(code):
    def answers(X, lens):
        output, maps = code(X, X, X, lens)
        return torch.cat([output, maps @ X], -1)
    return answers


# ---- in place ----

def weigh(scores, lens, d):
    """scores (b, n, m), keys from lens (b,) on are padding -> weights of
    the scores divided by the square root of d. Arguments stay as they are."""
    scores = scores / math.sqrt(d)
    keep = torch.arange(scores.shape[-1]) < lens[:, None, None]
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1)


# ---- half precision ----

def add_waves(X):
    """Adds sinusoids to X (b, n, d), right to the precision of X's type."""
    t = torch.arange(X.shape[1], dtype=torch.float32)
    rates = 10000 ** (-torch.arange(0, X.shape[2], 2) / X.shape[2])
    angles = t[:, None] * rates
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    return X + waves.to(X.dtype)


# ---- a cache ----

def go_on(q, k, v, cache=None):
    """New tokens q, k, v (b, n, d) after those in the cache. Token i reads
    all before it and itself. Returns the output and the new cache."""
    if cache is not None:
        k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
    n, m = q.shape[1], k.shape[1]
    keep = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    return output, (k, v)


def continued(code):
    def answers(X, lens):
        start, rest = X[:, :2], X[:, 2:]
        first, cache = code(start, start, start)
        return torch.cat([first, code(rest, rest, rest, cache)[0]], 1)
    return answers


# ---- padding on the left ----

def place_left(X, lens, table):
    """X (b, n, d) with padding on the left, real tokens are the last
    lens (b,): the first of these gets row 0 of table (longest, d)."""
    n = X.shape[1]
    rows = torch.arange(n) - (n - lens[:, None])
    return X + table[rows.clamp(min=0)]


def left_padded(code):
    def answers(X, lens):
        n = X.shape[1]
        shift = (torch.arange(n) - (n - lens[:, None])) % n
        left = X.gather(1, shift[..., None].expand_as(X))
        placed = code(left, lens, table_of(X.shape[-1]))
        back = (torch.arange(n) + (n - lens[:, None])) % n
        return placed.gather(1, back[..., None].expand_as(X))
    return answers


# ---- the loss ----

def loss_of(logits, targets, lens):
    """The mean loss of real tokens: logits (b, n, classes), targets (b, n),
    of which those from lens (b,) on are padding."""
    losses = F.cross_entropy(logits.mT, targets, reduction="none")  # (b, n)
    keep = torch.arange(targets.shape[1]) < lens[:, None]
    total = (losses * keep).sum()
    return total / keep.sum()


def lost(code):
    def answers(X, lens):
        losses = [code(x[None], x.argmin(-1)[None], n[None]).expand(len(x))
                  for x, n in zip(X, lens)]
        return torch.stack(losses)
    return answers


# ---- weight decay ----

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


def optimized(code):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 6), nn.LayerNorm(6), nn.Linear(6, 4))
    code(model)
    return lambda X, lens: model(X.argmax(-1))


# ---- teacher forcing ----

def training_pair(tokens, start):
    """tokens (b, n): what a decoder reads and what it must predict at each
    step. It starts with `start`, and never reads what it must predict."""
    first = torch.full_like(tokens[:, :1], start)
    reads = torch.cat([first, tokens[:, :-1]], 1)
    return reads, tokens


def forced(code):
    def answers(X, lens):
        reads, _ = code(X.argmax(-1), 0)
        following = torch.cat([reads[:, 1:], reads[:, :1]], 1)  # at t: what t leads to
        return F.one_hot(following, X.shape[-1]).float()
    return answers


EXERCISES = [
    Exhibit("polarity", fine=read, use=lambda code: lambda X, lens: code(X, X, X, lens)),
    Exhibit("heads", fine=attend_heads, use=lambda code: lambda X, lens: code(X, X, X, 2)),
    Exhibit("axis", fine=look_back, use=lambda code: lambda X, lens: code(X, X, X)),
    Exhibit("scale", fine=weigh_heads, use=lambda code: lambda X, lens: (
        code(X, X, 2) @ X[:, None]).transpose(1, 2).flatten(2)),
    Exhibit("dropout", fine=Reader, use=reader),
    Exhibit("table", fine=Waves, use=waves),
    Exhibit("folded", fine=read_folded, use=lambda code: lambda X, lens: code(X, X, X, lens, 2)),
    Exhibit("positions", fine=with_positions,
            use=lambda code: lambda X, lens: code(X, table_of(X.shape[-1]))),
    Exhibit("maps", fine=read_and_show, use=shown),
    Exhibit("in-place", fine=weigh, use=lambda code: lambda X, lens: code(X, lens, 4)),
    Exhibit("half", fine=add_waves, use=lambda code: lambda X, lens: code(X)),
    Exhibit("cache", fine=go_on, use=continued),
    Exhibit("left", fine=place_left, use=left_padded),
    Exhibit("loss", fine=loss_of, use=lost),
    Exhibit("decay", fine=optimizer_of, use=optimized),
    Exhibit("forcing", fine=training_pair, use=forced),
]


def __getattr__(name):
    """CASES: the exhibits by name, with what is said of them."""
    if name == "CASES":
        return {exhibit.name: find(exhibit.name) for exhibit in EXERCISES}
    raise AttributeError(name)
