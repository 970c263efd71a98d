"""Right answers in unusual style, one for each function: by loops, formulas, other libraries.

They use nothing of the package.
"""
import math

import numpy as np
import torch
from torch import einsum
from torch.nn import functional as F


def lengths_by_loop(lens, n, m):
    of = lens[:, None].expand(-1, n) if lens.dim() == 1 else lens
    return torch.tensor([[[j < int(of[b, i]) for j in range(m)] for i in range(n)]
                         for b in range(len(lens))])


def gaussian(x, known_x, known_y, sigma):
    return known_y @ F.softmax(-torch.cdist(known_x[:, None], x[:, None]) ** 2 / 2 / sigma**2, 0)


def head_of(i, n, d, h):
    return range(i * n * d // h, (i + 1) * n * d // h)


def hands(P, offset):
    """Each pair of columns as a complex number."""
    d = P.shape[1]
    turn = torch.exp(1j * offset * 10000 ** -(torch.arange(0, d, 2) / d))
    Z = torch.complex(P[:, 1::2].double(), P[:, ::2].double()) * turn
    return torch.stack([Z.imag, Z.real], 2).reshape(len(P), d)


def spiral(n, d):
    turn = torch.exp(1j * torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))
    return torch.view_as_real(turn).flip(-1).flatten(1)


def slowest(row):
    *_, sine, cosine = row.tolist()
    return np.int64(round(math.atan2(sine, cosine) / 10000 ** (2 / len(row) - 1)))


def meets(gaps, n):
    A = np.eye(n, dtype=int)
    for gap in gaps:
        A = (np.eye(n, dtype=int) + np.eye(n, k=gap, dtype=int) + np.eye(n, k=-gap, dtype=int)) @ A
    return A


def band(n, w):
    return int(np.sum(np.abs(np.subtract.outer(range(n), range(n))) <= w))


def merge(one, other):
    (m, a, p), (n, b, q) = sorted([one, other])
    a = a * math.exp(m - n) if a else 0.0
    return n, a + b, (a * p + b * q) / (a + b)


def merge_tensors(one, other):
    m, s, o = torch.tensor([one, other], dtype=torch.float64).T
    w = s * (m - m.max()).exp()
    return [m.max(), w.sum(), w @ o / w.sum()]


def chunk_by_mask(S, q, k, v, a):
    log = a.log().cumsum(0)
    M = (log[:, None] - log).exp().tril()
    return (q @ k.T * M) @ v + log.exp()[:, None] * (q @ S), log[-1].exp() * S + (M[-1] * k.T) @ v


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def norm_by_hand(X, V, W):
    Y = X + gelu(X @ V) @ W
    return (Y - Y.mean(-1, True)) / (Y.var(-1, keepdim=True, unbiased=False) + 1e-6).sqrt()


RIGHT = {
    "lengths": [lengths_by_loop],
    "kernel": [gaussian],
    "split-heads": [lambda X, h: torch.stack(X.chunk(h, -1), 1)],
    "mixed-up": [lambda *sizes: sorted({k // sizes[2] for k in head_of(*sizes)})],
    "count-parameters": [lambda d, h, p, q, k, v, b: sum((i + b) * o for i, o in (
        (q, h * p), (k, h * p), (v, h * p), (h * p, d)))],
    "top-left": [lambda i, m, n: (torch.ones(m, n).tril()[i].nonzero().flatten().tolist(),
        torch.ones(m, n).tril(n - m)[i].nonzero().flatten().tolist())],
    "cross-cost": [lambda m, n, d: sum(2 * a * b * c for a, b, c in (
        (m, d, d), (n, d, d), (n, d, d), (m, d, n), (m, n, d), (m, d, d)))],
    "sinusoid-table": [spiral],
    "batch-axis": [lambda b, n: torch.arange(b).repeat_interleave(n).view(b, n).tolist()],
    "shift": [hands],
    "read-clock": [slowest],
    "offset-rows": [lambda n, m, c: torch.from_numpy(np.clip(np.subtract.outer(
        np.arange(m), np.arange(m - n, m)).T, -c, c) + c)],
    "untrained": [lambda bucket, count, n: np.setdiff1d(
        range(count), bucket(torch.arange(n)[:, None] - torch.arange(n))).tolist()],
    "receptive-field": [lambda k, gaps: sum((k - 1) * gap for gap in gaps) // 2],
    "work": [lambda n, d, inner: 2 * n * (4 * d * d + 2 * n * d + 2 * d * inner)],
    "unconnected": [lambda gaps, n: list(map(tuple, np.argwhere(meets(gaps, n) == 0).tolist()))],
    "windowed": [lambda n, w: (band(n, w), -(-(n - 1) // w))],
    "head-gates": [lambda X, g: einsum("bnhd,bh->bnhd", X.unflatten(2, (g.shape[1], -1)),
        g).flatten(2)],
    "gradient-importance": [lambda s: F.normalize(s.abs().mean(0), dim=1)],
    "pruned-cost": [lambda n, d, h, k: 4 * n * (d // h * k) * (2 * d + n)],
    "unfold-weights": [lambda W, h: torch.stack([W[i::h] for i in range(h)])],
    "misled": [lambda lens, h: [i for i, row in enumerate(lens.repeat(h).view(-1, h))
        if (row != lens[i]).any()]],
    "pack-weights": [lambda q, k, v, o: (torch.vstack((q, k, v)), o)],
    "merge-states": [merge_tensors],
    "which-head": [lambda h, g: ([*range(g)] * (h // g), sorted([*range(g)] * (h // g)))],
    "window-layers": [lambda n, w: len(range(1, n, w))],
    "share-chunk": [chunk_by_mask],
    "to-kernel": [lambda q, o, h: (einsum("hdi->ihd", q.unflatten(0, (h, -1))),
        einsum("ohd->hdo", o.unflatten(1, (h, -1))))],
    "upside-down": [lambda lens, keys: [i for i, n in enumerate(lens.tolist()) if n >= keys]],
    "translate": [norm_by_hand],
}
