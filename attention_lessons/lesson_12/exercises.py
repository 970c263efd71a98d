"""The exercises of lesson 12, a museum of silent bugs: right code, and what goes wrong in it."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from ..exercises.exhibits import Exhibit

EXERCISES = []


# ---- padding ----

def read(q, k, v, lens):
    """q (b, n, d), k and v (b, m, d); keys from lens (b,) on are padding."""
    keep = torch.arange(k.shape[1]) < lens[:, None, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1) @ v


EXERCISES.append(Exhibit(
    "polarity", fine=read,
    other=("F.scaled_dot_product_attention(q, k, v, keep)", ""),
    use=lambda code: lambda X, lens: code(X, X, X, lens), promises={"padding", "order"},
    slips=[
        ("~keep", "keep", ""),
        ("scores.masked_fill(~keep, -1e9)", "scores * keep",
         "gives hidden keys a score of 0, which still has a weight"),
        (" < lens", " <= lens", "lets one key too many through"),
    ],
    careful=("@ v", "@ v.nan_to_num(0, 0, 0)",
             "it fills the padding of v with nan or infinity, and 0 times that is nan. A large "
             "number will do.")))


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


EXERCISES.append(Exhibit(
    "heads", fine=attend_heads,
    other=("F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).flatten(2)", ""),
    use=lambda code: lambda X, lens: code(X, X, X, 2), promises={"order"},
    slips=[
        ("answers.reshape(b, n, d)", ""),
        ("view(b, -1, num_heads, d // num_heads).transpose(1, 2)",
         "reshape(b, num_heads, -1, d // num_heads)",
         "splits without a transpose, so that a head gets whole tokens"),
        ("num_heads, d // num_heads).transpose(1, 2)",
         "d // num_heads, num_heads).permute(0, 3, 1, 2)",
         "gives head i every num_heads-th column"),
    ]))


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


EXERCISES.append(Exhibit(
    "axis", fine=look_back,
    other=("F.scaled_dot_product_attention(q, k, v, is_causal=True)", ""),
    use=lambda code: lambda X, lens: code(X, X, X), promises={"causal"},
    slips=[
        ("scores.softmax(-1)", "scores.softmax(1)", ""),
        ("scores = scores.masked_fill(later, -math.inf)\n    weights = scores.softmax(-1)",
         "weights = scores.softmax(-1).masked_fill(later, 0.)",
         "hides the future after the softmax, whose sum has seen it"),
        ("triu(1)", "triu(2)", "sees one token ahead"),
    ]))


# ---- the scale ----

def weigh_heads(q, k, num_heads):
    """q (b, n, d), k (b, m, d) -> weights (b, num_heads, n, m).

    Scores are divided by the square root of a query's width in a head."""
    d = q.shape[-1] // num_heads
    q = q.unflatten(-1, (num_heads, d)).transpose(1, 2)
    k = k.unflatten(-1, (num_heads, d)).transpose(1, 2)
    scores = q @ k.mT / math.sqrt(d)
    return scores.softmax(-1)


EXERCISES.append(Exhibit(
    "scale", fine=weigh_heads,
    other=("torch.einsum('bhnd,bhmd->bhnm', q, k).mul(d ** -0.5).softmax(-1)", ""),
    use=lambda code: lambda X, lens: (code(X, X, 2) @ X[:, None]).transpose(1, 2).flatten(2),
    promises={"order"},
    slips=[
        ("math.sqrt(d)", "math.sqrt(d * num_heads)", ""),
        ("math.sqrt(d)", "d", "divides by the width, without a root"),
        ("q @ k.mT / math.sqrt(d)", "q @ k.mT", "doesn't divide at all"),
    ]))


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


EXERCISES.append(Exhibit(
    "dropout", fine=Reader,
    other=("weights @ self.W_v(X)", "F.scaled_dot_product_attention(self.W_q(X), self.W_k(X), "
           "self.W_v(X), dropout_p=self.p * self.training)", ""),
    use=reader, promises={"order"},
    slips=[
        ("self.p, self.training)", "self.p)", ""),
        ("F.dropout(scores.softmax(-1), self.p, self.training)",
         "nn.Dropout(self.p)(scores.softmax(-1))",
         "makes a new nn.Dropout in each call, which is in training mode"),
        ("F.dropout(scores.softmax(-1), self.p, self.training)", "scores.softmax(-1)",
         "weights @ self.W_v(X)", "F.dropout(weights @ self.W_v(X), self.p)",
         "drops answers in place of weights, in evaluation too"),
    ]))


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


EXERCISES.append(Exhibit(
    "table", fine=Waves,
    other=('register_buffer("table", table)', 'register_buffer("P", table[None], persistent=False)',
           "self.table[:X.shape[1]]", "self.P[:, :X.shape[1]]",
           "10000 ** (-torch.arange(0, d, 2) / d)", "1 / 10000 ** (torch.arange(0, d, 2) / d)", ""),
    use=waves,
    slips=[
        ('register_buffer("table", table)', "table = table", ""),
        ('register_buffer("table", table)', "rows = list(table)",
         "self.table[:X.shape[1]]", "torch.stack(self.rows[:X.shape[1]])",
         "keeps its rows in a list, where no layer looks for them"),
        ('register_buffer("table", table)', "table = nn.Parameter(table)",
         "makes the table a parameter, which is trained"),
    ],
    careless=("X + self.table[:X.shape[1]]", "(X + self.table[:X.shape[1]]).float()",
              "float64 + float32 is float64, so .double() shows nothing here. Try a narrower "
              "type.")))


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


EXERCISES.append(Exhibit(
    "folded", fine=read_folded,
    other=("scores.masked_fill(~keep, -1e9).softmax(-1) @ v",
           "F.scaled_dot_product_attention(q, k, v, keep)", ""),
    use=lambda code: lambda X, lens: code(X, X, X, lens, 2), promises={"padding", "order"},
    slips=[
        ("repeat_interleave", "repeat", ""),
        ("lens.repeat_interleave(num_heads)", "lens.max().repeat(len(q))",
         "takes the longest length for all"),
        ("answers.unflatten(0, (num_heads, -1)).permute(1, 2, 0, 3).flatten(2)",
         "unfolds as if a head's sentences were next to one another"),
    ]))


# ---- positions ----

def with_positions(X, table):
    """X (b, n, d); row t of table (longest, d) is added to step t of every
    sentence."""
    rows = table[None, :X.shape[1]]
    return X + rows


LONGEST = 20  # rows of the table that positions are looked up in


def table_of(d):
    return torch.randn(LONGEST, d, generator=torch.Generator().manual_seed(3))


EXERCISES.append(Exhibit(
    "positions", fine=with_positions,
    other=("X.add(torch.stack([*table][:X.shape[1]]))", ""),
    use=lambda code: lambda X, lens: code(X, table_of(X.shape[-1])), promises={"causal"},
    slips=[
        ("table[None, :X.shape[1]]", "table[:X.shape[0], None]", ""),
        ("table[None, :X.shape[1]]",
         "table[torch.arange(X.shape[0] * X.shape[1])].unflatten(0, X.shape[:2])",
         "counts on from one sentence to the next"),
        ("table[None, :X.shape[1]]", "table[X.shape[1] - 1]", "adds the last row to all steps"),
    ]))


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


EXERCISES.append(Exhibit(
    "maps", fine=read_and_show,
    other=("hidden.softmax(-1) @ v", "F.scaled_dot_product_attention(q, k, v, keep)",
           "hidden.softmax(-1)",
           "scores.sub(scores.amax()).masked_fill(~keep, -99).softmax(-1)", ""),
    use=shown, promises={"padding", "order"},
    slips=[
        ("maps = hidden", "maps = scores", ""),
        ("maps = hidden.softmax(-1)", "maps = scores.softmax(-1) * keep",
         "sets the weights of padding to 0, so that rows add up to less than 1"),
        ("maps = hidden.softmax(-1)", "maps = hidden.softmax(1)", "normalises over queries"),
    ]))


# ---- in place ----

def weigh(scores, lens, d):
    """scores (b, n, m), keys from lens (b,) on are padding -> weights of
    the scores divided by the square root of d. Arguments stay as they are."""
    scores = scores / math.sqrt(d)
    keep = torch.arange(scores.shape[-1]) < lens[:, None, None]
    scores = scores.masked_fill(~keep, -1e9)
    return scores.softmax(-1)


EXERCISES.append(Exhibit(
    "in-place", fine=weigh,
    other=("scores / math.sqrt(d)", "scores.mul(d ** -0.5)", "-1e9", "-1e30", ""),
    use=lambda code: lambda X, lens: code(X, lens, 4),
    slips=[
        ("scores = scores / math.sqrt(d)", "scores /= math.sqrt(d)", ""),
        ("scores = scores / math.sqrt(d)\n", "", "scores.masked_fill(~keep, -1e9)",
         "scores.masked_fill_(~keep, -1e9) / math.sqrt(d)", "    keep =", "keep =",
         "writes the mask into the scores that it was given"),
        ("scores = scores / math.sqrt(d)",
         "scores = scores.sub_(scores.amax(-1, keepdim=True)) / math.sqrt(d)",
         "subtracts the largest score in place"),
    ]))


# ---- half precision ----

def add_waves(X):
    """Adds sinusoids to X (b, n, d), right to the precision of X's type."""
    t = torch.arange(X.shape[1], dtype=torch.float32)
    rates = 10000 ** (-torch.arange(0, X.shape[2], 2) / X.shape[2])
    angles = t[:, None] * rates
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    return X + waves.to(X.dtype)


EXERCISES.append(Exhibit(
    "half", fine=add_waves,
    other=("dtype=torch.float32", "dtype=torch.float64",
           "torch.arange(0, X.shape[2], 2)", "torch.arange(0, X.shape[2], 2).double()", ""),
    use=lambda code: lambda X, lens: code(X), promises={"causal"},
    slips=[
        ("dtype=torch.float32", "dtype=X.dtype", ""),
        ("t[:, None] * rates", "(t[:, None] * rates).to(X.dtype)",
         "rounds the angles before their sine"),
        ("X.shape[2], 2) / X.shape[2])", "X.shape[2], 2) / X.shape[2]).to(X.dtype)",
         "rounds the rates"),
    ]))


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


EXERCISES.append(Exhibit(
    "cache", fine=go_on,
    other=("F.scaled_dot_product_attention(q, k, v, attn_mask=keep)",
           "(q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, -1e9).softmax(-1) @ v", ""),
    use=continued, promises={"causal"},
    slips=[
        ("tril(m - n)", "tril()", ""),
        ("attn_mask=keep", "", "has no mask, so that new tokens read those after them"),
        ("torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)",
         "torch.cat([k, cache[0]], 1), torch.cat([v, cache[1]], 1)",
         "puts new tokens before old ones"),
    ]))


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


EXERCISES.append(Exhibit(
    "left", fine=place_left,
    other=("X + F.embedding(rows.clamp(min=0), table)", ""),
    use=left_padded, promises={"padding"},
    slips=[
        ("lens[:, None]", "lens.max()", ""),
        ("(n - lens[:, None])", "lens[:, None]", "subtracts the length in place of the padding"),
        ("(n - lens[:, None])", "(n - lens[:, None] + 1)",
         "is one row late, so that the first two tokens share row 0"),
    ]))


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


EXERCISES.append(Exhibit(
    "loss", fine=loss_of,
    other=("F.cross_entropy(logits[keep], targets[keep])", ""),
    use=lost, promises={"padding"},
    slips=[
        ("total / keep.sum()", "total / keep.numel()", ""),
        ("(losses * keep).sum()", "losses.sum()", "counts the losses of padding"),
        ("total / keep.sum()", "total / len(keep)", "divides by the number of sentences"),
    ]))


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


EXERCISES.append(Exhibit(
    "decay", fine=optimizer_of,
    other=("torch.optim.AdamW([{'params': [weight], 'weight_decay': decay * decays} "
           "for decays, group in groups.items() for weight in group], lr=lr)", ""),
    use=optimized,
    slips=[
        ("id(part.weight)", "id(part)", ""),
        ("weight.dim() == 2 and ", "", "lets biases and norms decay"),
        ("weight.dim() == 2 and id(weight) not in tables", "True", "lets everything decay"),
    ]))


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


EXERCISES.append(Exhibit(
    "forcing", fine=training_pair,
    other=("F.pad(tokens[:, :-1], (1, 0), value=start), tokens.clone()", ""),
    use=forced, promises={"causal"},
    slips=[
        ("tokens[:, :-1]], 1)", "tokens], 1)[:, 1:]", ""),
        ("torch.cat([first, tokens[:, :-1]], 1)", "tokens.roll(1, dims=1)",
         "begins with the last token in place of `start`"),
        ("tokens[:, :-1]", "tokens[:, 1:]",
         "reads the very token that it must predict, from the second step on"),
    ]))


CASES = {exhibit.name: exhibit for exhibit in EXERCISES}
