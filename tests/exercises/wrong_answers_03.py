"""Answers to 03 that no slip makes, and what their writers should then read."""
import d2l_ext


def with_the_mask_of_pytorch(X, W_q, W_k, W_v, valid_len):
    mask = d2l_ext.causal() & (lambda query, key: key < valid_len)
    return d2l_ext.dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, ~mask)[0]


WRONG = {
    "self-attention": [(with_the_mask_of_pytorch, "mask is upside down"),
                       (lambda X, *rest: (X, X), "Return one tensor, got tuple of 2")],
    "top-left": [(lambda i, m, n: ([*range(i, n)], [*range(n - m + i + 1)]),
                  r"^Result 1 of 2: Expected \[0\], got \[0, 1, 2, 3\].\n  It was called with 0,")],
    "cross-cost": [(lambda m, n, d: (4 * d**2 * (m + n), 4 * m * n * d), "Expected")],
}
