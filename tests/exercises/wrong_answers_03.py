"""What learners answer wrongly in 03, and what they should then read."""
import torch
from rewriting import table, write
from torch.nn import functional as F

import d2l_ext

# ---- self-attention: a right answer, and one thing changed ---------------------------------------

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
HIDDEN = "    scores[~mask] = -1e9\n    weights = F.softmax(scores, dim=-1)\n"
AFTER = "    weights = F.softmax(scores, dim=-1) * mask\n"
SELF_ATTENTIONS = table(SELF_ATTENTION, [
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
    (HIDDEN, AFTER, "no longer sum to 1"),
    ("dim=-1", "dim=0", "goes over the queries"),
    ("-1e9", "-math.inf", "dim=-1", "dim=0", "goes over the queries"),
    (" / math.sqrt(Q.shape[1])", "", "not scaled"),
    ("math.sqrt(Q.shape[1])", "Q.shape[1]", "not by its square root"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(n)", "number of tokens"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(X.shape[1])", "need not be square"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(V.shape[1])", "the values' width"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(4)", "You divide by 2"),
    ("math.sqrt(Q.shape[1])", "math.sqrt(3)", "numbers are not"),
    (" / math.sqrt", " * math.sqrt", "You multiply"),
    ("-1e9", "-1000", "not low enough to hide with"),
    ("-1e9", "-1e6", "not low enough to hide with"),
    ("F.linear(X, W_k)", "F.linear(X, W_q)", "made with W_q"),
    ("F.linear(X, W_k)", "X", "W_k is missing"),
    ("F.linear(X, W_q)", "X", "W_q is missing"),
    ("F.linear(X, W_v)", "F.linear(X, W_k)", "Values are made with W_k"),
    ("F.linear(X, W_v)", "X", "W_v is missing"),
    ("F.linear(X, W_q), F.linear(X, W_k), F.linear(X, W_v)", "X @ W_q, X @ W_k, X @ W_v",
     "turned around"),
    ("weights @ V", "(weights @ V)[:valid_len]", "One row per token, padding included"),
    ("    return", "    weights[valid_len:] = 0\n    return", "padding's own row is zero"),
    ("weights @ V", "weights", r"shape should be \(6, 4\), yours is \(6, 6\)"),
    ("weights @ V", "weights @ V, weights", "Return one tensor, got tuple of 2"),
    ("valid_len:]", "valid_lens:]", "raises NameError"),
])


def by_package(X, W_q, W_k, W_v, valid_len):
    """The package's functions, but the mask as PyTorch's class wants it."""
    mask = d2l_ext.causal() & (lambda query, key: key < valid_len)
    return d2l_ext.dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, ~mask)[0]


def fused(X, W_q, W_k, W_v, valid_len):
    position = torch.arange(len(X))
    keep = (position <= position[:, None]) & (position < valid_len)
    return F.scaled_dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, keep)


# ---- top-left and cross-cost ---------------------------------------------------------------------

def up_to(last):
    return list(range(last + 1))


KEYS_SEEN = [
    (lambda i, m, n: (up_to(i), up_to(n - 1)), "Not every new token"),
    (lambda i, m, n: (up_to(i), up_to(i)), "query's number for its place"),
    (lambda i, m, n: (up_to(n - m + i), up_to(i)), "wrong order"),
    (lambda i, m, n: (up_to(n - m + i), up_to(n - m + i)), "right decoding"),
    (lambda i, m, n: (list(range(i, n)), up_to(n - m + i)),
     r"^Result 1 of 2: Expected \[0\], got \[0, 1, 2, 3\].\n  It was called with 0, 1, 4\.$"),
    (lambda i, m, n: (up_to(i - 1), up_to(n - m + i - 1)), "missing in both"),
    (lambda i, m, n: (up_to(i), up_to(n - m + i - 1)), "its own key is missing"),
    (lambda i, m, n: (up_to(i), list(range(n - m, n - m + i + 1))), "what the cache is for"),
    (lambda i, m, n: (i + 1, n - m + i + 1), "Those are counts"),
    (lambda i, m, n: up_to(i), "Return 2 things"),
    (lambda i, m, n: (up_to(i + 1)[1:], up_to(n - m + i + 1)[1:]), "count from 0"),
    ("0 to i", "Give the function itself"),
]
COSTS = [
    (lambda m, n, d: 4 * m * d * (2 * d + n), "other text: two"),
    (lambda m, n, d: 4 * n * d * (2 * d + n), "^That is self-attention. Here"),
    (lambda m, n, d: 2 * (m + n) * d**2 + 2 * m * n * d, "half of what it should be"),
    (lambda m, n, d: 2 * m * d**2 + 4 * n * d**2 + 4 * m * n * d, "One projection is missing"),
    (lambda m, n, d: 4 * (m + n) * d * d + 4 * (m + n) ** 2 * d, "queries \\* keys pairs"),
    (lambda m, n, d: (4 * d**2 * (m + n), 4 * m * n * d), "Expected"),
    (752, "Give the function itself, got int"),
    (lambda m, n, d: 4 * n * d * (2 * d + m), "Queries and outputs have"),
    (lambda m, n, d: 4 * m * d * (2 * d + m), "of the queries alone"),
    (lambda m, n, d: 2 * d * (m * d + 3 * n * d + 2 * m * n), "one per query, not one per key"),
    (lambda m, n, d: 2 * d * (2 * m * d + 2 * n * d + m * n), "One product is missing"),
    (lambda m, n, d: 2 * m * n * d * 2, "Those are the two products"),
    (lambda m, n, d: 2 * 2 * (m * d * d + n * d * d), "The two products are missing"),
    (lambda m, n, d: 4 * d * (2 * m * d + 2 * n * d + m * n), "not through all"),
]

WRONG = {
    "swapped-end": [("a", "nothing is hidden"), ("c", "man saw all three"), ("d", "still sees"),
                    (("b", "c"), "man saw")],
    "self-attention": [*SELF_ATTENTIONS, (by_package, "mask is upside down")],
    "top-left": KEYS_SEEN,
    "hidden": [({"a", "b", "d", "e"}, "b is false"), ({"a", "c"}, "c is false"),
               ({"a", "d"}, "1 more"), ("a", "2 more"), (set("abcde"), "b is false")],
    "cross-cost": COSTS,
}
RENORMALISED = AFTER + "    weights = weights / weights.sum(-1, keepdim=True)\n"
RIGHT = {
    "self-attention": [fused, write(SELF_ATTENTION, HIDDEN, RENORMALISED),
                       write(SELF_ATTENTION, "-1e9", "-math.inf")],
    "top-left": [lambda i, m, n: [up_to(i), up_to(n - m + i)]],
    "cross-cost": [lambda m, n, d: 4.0 * d * (m * d + n * d + m * n),
                   lambda m, n, d: torch.tensor([4 * d * (m * d + n * d + m * n)])],
}
