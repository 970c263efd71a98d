"""What learners answer wrongly in 03, and what they should then read. Written from the exercises' texts, not from their checks."""
import math

import torch
from torch.nn import functional as F

import d2l_ext

# ---- self-attention: a right answer, and one thing changed ------------------------------------------------------------------------------

SELF_ATTENTION = """
def answer(X, W_q, W_k, W_v, valid_len):
    n = X.shape[0]
    Q, K, V = F.linear(X, W_q), F.linear(X, W_k), F.linear(X, W_v)
    scores = Q @ K.transpose(0, 1) / math.sqrt(Q.shape[1])
    mask = torch.ones(n, n).tril().bool()
    mask[:, valid_len:] = False
    scores[~mask] = -1e9
    weights = F.softmax(scores, dim=-1)
    return weights @ V
"""

CHANGES = [
    ("tril()", "triu()", "triangle is the wrong one"),
    ("tril()", "triu(1)", "upside down: each token sees only later"),
    ("tril()", "tril(-1)", "hide the token from itself"),
    ("tril()", "tril(1)", "sees the next one"),
    (".tril()", "", "the future is not"),
    ("    mask[:, valid_len:] = False\n", "", "the padding is not"),
    ("mask[:, valid_len:]", "mask[valid_len:]", "hide the padding as a query"),
    ("mask[:, valid_len:]", "mask[:, valid_len + 1:]", "One key too many"),
    ("mask[:, valid_len:] = False", "mask[:, :valid_len] = True", "when either mask allows it"),
    ("[~mask]", "[mask]", "upside down: you hide what may be seen"),
    ("-1e9", "0", "still counts"),
    ("scores[~mask] = -1e9", "pass", "Neither mask"),
    ("scores[~mask] = -1e9", "scores = scores + (~mask) * -math.inf", "0 times infinity is nan"),
    ("scores[~mask] = -1e9\n    weights = F.softmax(scores, dim=-1)", "weights = F.softmax(scores, dim=-1) * mask", "no longer sum to 1"),
    ("dim=-1", "dim=0", "goes over the queries"),
    ("-1e9\n    weights = F.softmax(scores, dim=-1)", "-math.inf\n    weights = F.softmax(scores, dim=0)", "goes over the queries"),
    (" / math.sqrt(Q.shape[1])", "", "not scaled"),
    ("math.sqrt(Q.shape[1])", "Q.shape[1]", "not by its square root"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(n)", "number of tokens"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(X.shape[1])", "need not be square"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(V.shape[1])", "the values' width"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(4)", "You divide by 2"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(3)", "numbers are not"),
    (" / math.sqrt", " * math.sqrt", "You multiply"),
    ("-1e9", "-100", "not low enough to hide with"),
    ("-1e9", "-1000", "not low enough to hide with"),
    ("F.linear(X, W_k)", "F.linear(X, W_q)", "made with W_q"),
    ("F.linear(X, W_k)", "X", "W_k is missing"),
    ("F.linear(X, W_q)", "X", "W_q is missing"),
    ("F.linear(X, W_v)", "F.linear(X, W_k)", "Values are made with W_k"),
    ("F.linear(X, W_v)", "X", "W_v is missing"),
    ("F.linear(X, W_q), F.linear(X, W_k), F.linear(X, W_v)", "X @ W_q, X @ W_k, X @ W_v", "turned around"),
    ("return weights @ V", "return (weights @ V)[:valid_len]", "One row per token, padding included"),
    ("return weights @ V", "weights[valid_len:] = 0; return weights @ V", "padding's own row is zero"),
    ("return weights @ V", "return weights", r"shape should be \(6, 4\), yours is \(6, 6\)"),
    ("return weights @ V", "return weights @ V, weights", "Return (a|one) tensor, got tuple"),
    ("valid_len:]", "valid_lens:]", "raises NameError"),
]


def self_attention(old, new):
    assert old in SELF_ATTENTION
    space = {"torch": torch, "math": math, "F": F}
    exec(SELF_ATTENTION.replace(old, new), space)
    return space["answer"]


def by_package(X, W_q, W_k, W_v, valid_len):
    """The package's functions, but the mask as PyTorch's class wants it."""
    mask = d2l_ext.causal() & (lambda query, key: key < valid_len)
    return d2l_ext.dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, ~mask)[0]


# ---- top-left and cross-cost ------------------------------------------------------------------------------------------------------------

KEYS_SEEN = [
    (lambda i, queries, keys: (list(range(i + 1)), list(range(keys))), "Not every new token"),
    (lambda i, queries, keys: (list(range(i + 1)), list(range(i + 1))), "query's number for its place"),
    (lambda i, queries, keys: (list(range(keys - queries + i + 1)), list(range(i + 1))), "wrong order"),
    (lambda i, queries, keys: ([*range(keys - queries + i + 1)],) * 2, "right decoding"),
    (lambda i, queries, keys: (list(range(i, keys)), list(range(keys - queries + i + 1))),
     # once: right decoding
     r"^Result 1 of 2: Expected \[0\], got \[0, 1, 2, 3\]. It was called with 0, 1, 4\.$"),
    (lambda i, queries, keys: (list(range(i)), list(range(keys - queries + i))), "missing in both"),
    (lambda i, queries, keys: (list(range(i + 1)), list(range(keys - queries + i))), "its own key is missing"),
    (lambda i, queries, keys: (list(range(i + 1)), list(range(keys - queries, keys - queries + i + 1))), "what the cache is for"),
    (lambda i, queries, keys: (i + 1, keys - queries + i + 1), "Those are counts"),
    (lambda i, queries, keys: list(range(i + 1)), "(?i)return (2|two)"),
    (lambda i, queries, keys: (list(range(1, i + 2)), list(range(1, keys - queries + i + 2))), "(?i)count from 0"),
    ("0 to i", "Give the function itself"),
]

COSTS = [
    (lambda queries, keys, d: 8 * queries * d**2 + 4 * queries * keys * d, "Keys and values are made from the other text"),
    (lambda queries, keys, d: 8 * keys * d**2 + 4 * queries * keys * d, "Queries and outputs have queries rows"),
    (lambda queries, keys, d: 8 * keys * d**2 + 4 * keys**2 * d, "That is self-attention"),
    (lambda queries, keys, d: 8 * queries * d**2 + 4 * queries**2 * d, "self-attention of the queries alone"),
    (lambda queries, keys, d: 2 * (queries + keys) * d**2 + 2 * queries * keys * d, "half of what it should be"),
    (lambda queries, keys, d: 2 * queries * d**2 + 4 * keys * d**2 + 4 * queries * keys * d, "W_o"),
    (lambda queries, keys, d: 2 * queries * d**2 + 6 * keys * d**2 + 4 * queries * keys * d, "one per query"),
    (lambda queries, keys, d: 4 * (queries + keys) * d**2 + 2 * queries * keys * d, "One product is missing"),
    (lambda queries, keys, d: 4 * (queries + keys) * d * d + 4 * queries**2 * d,
     "queries \\* keys pairs"),  # once: W_o
    (lambda queries, keys, d: 4 * (queries + keys) * d * d + 4 * keys**2 * d,
     "queries \\* keys pairs"),
    (lambda queries, keys, d: 4 * (queries + keys) * d * d + 4 * (queries + keys) ** 2 * d,
     "queries \\* keys pairs"),
    (lambda queries, keys, d: 4 * queries * keys * d, "four projections are missing"),
    (lambda queries, keys, d: 8 * (queries + keys) * d**2 + 4 * queries * keys * d, "two of the four matrices"),
    (lambda queries, keys, d: 4 * d**2 * (queries + keys), "(?i)products are missing"),
    (lambda queries, keys, d: (4 * d**2 * (queries + keys), 4 * queries * keys * d), "(?i)one number|Expected"),
    (752, "Give the function itself, got int"),
]

WRONG = {
    "swapped-end": [("a", "nothing is hidden"), ("c", "man saw all three"), ("d", "still sees"), ("both", "letters"), (("b", "c"), "man saw")],
    "self-attention": [(self_attention(old, new), words) for old, new, words in CHANGES]
                      + [(by_package, "mask is upside down")],
    "top-left": KEYS_SEEN,
    "hidden": [({"a", "b", "d", "e"}, "b is false"), ({"a", "c"}, "c is false"), ({"a", "d"}, "1 more"), ("a", "2 more"), ({"a", "b", "c", "d", "e"}, "b is false"), ({"e"}, "2 more")],
    "cross-cost": COSTS,
}


def fused(X, W_q, W_k, W_v, valid_len):
    position = torch.arange(len(X))
    keep = (position <= position[:, None]) & (position < valid_len)
    return F.scaled_dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, keep)


HIDDEN = "    scores[~mask] = -1e9\n    weights = F.softmax(scores, dim=-1)\n"
RENORMALISED = """    weights = F.softmax(scores, dim=-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
"""

# Unusual right answers
RIGHT = {
    "self-attention": [fused, self_attention(HIDDEN, RENORMALISED), self_attention("-1e9", "-1e4"),
                       self_attention("-1e9", "-math.inf")],
    "top-left": [lambda i, m, n: [list(range(i + 1)), list(range(n - m + i + 1))]],
    "cross-cost": [lambda m, n, d: 4.0 * d * (m * d + n * d + m * n),
                   lambda m, n, d: torch.tensor([4 * d * (m * d + n * d + m * n)])],
}
