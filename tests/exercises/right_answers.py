"""Right answers in unusual style, three for each function: by loops, formulas, other libraries.

They use nothing of the package. Those made from a wrong answer's text stand in wrong_answers_NN.py.
"""
import math
from itertools import product

import numpy as np
import torch
from torch import einsum
from torch.nn import functional as F


def by_rows(row):
    """``row(i)`` for each row of the first argument, stacked."""
    return lambda first, *rest: torch.stack([row(i, first, *rest) for i in range(len(first))])


def lengths_by_loop(lens, n, m):
    of = lens[:, None].expand(-1, n) if lens.dim() == 1 else lens
    return torch.tensor([[[j < int(of[b, i]) for j in range(m)] for i in range(n)]
                         for b in range(len(lens))])


def padding(lens, n, m):
    return (torch.ones(len(lens), n, m).cumsum(-1) - 1 < lens.reshape(len(lens), -1, 1)).bool()


def kernel_row(i, x, known_x, known_y, sigma):
    power = (-((x[i] - known_x) / sigma) ** 2 / 2).exp()
    return (power * known_y).sum() / power.sum()


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


def matrices(P, offset):
    blocks = [torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
              for a in (offset / 10000 ** (j / P.shape[1]) for j in range(0, P.shape[1], 2))]
    return P @ torch.block_diag(*blocks).to(P)


def shift_by_loop(P, offset):
    Q = P.tolist()
    for row, c in product(Q, range(0, P.shape[1], 2)):
        a = math.atan2(row[c], row[c + 1]) + offset / 10000 ** (c / P.shape[1])
        row[c:c + 2] = math.sin(a), math.cos(a)
    return torch.tensor(Q)


def waves(n, d):
    angles = np.outer(np.arange(n), 10000.0 ** -(np.arange(d) // 2 * 2 / d))
    return torch.from_numpy(np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles)))


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


def first_way(gaps, i, j, n):
    if not gaps:
        return i == j
    return any(0 <= k < n and first_way(gaps[:-1], k, j, n)
               for k in (i - gaps[-1], i, i + gaps[-1]))


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


def chunk_by_loop(S, q, k, v, a):
    rows = []
    for t in range(len(q)):
        S = a[t] * S + einsum("d,v->dv", k[t], v[t])
        rows.append(einsum("d,dv->v", q[t], S))
    return torch.stack(rows), S


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
    "lengths": [lengths_by_loop, padding, lambda lens, n, m: torch.lt(
        torch.arange(m), lens.view(len(lens), -1, 1)).repeat(1, n if lens.dim() == 1 else 1, 1)],
    "kernel": [by_rows(kernel_row), gaussian, lambda x, X, Y, s: torch.tensor(
        [np.average(Y.numpy(), weights=np.exp(-(X - z).numpy() ** 2 / (2 * s * s))) for z in x])],
    "split-heads": [lambda X, h: torch.stack(X.chunk(h, -1), 1),
                    lambda X, h: X.unfold(2, X.shape[2] // h, X.shape[2] // h).transpose(1, 2),
                    lambda X, h: torch.cat([part[:, None] for part in X.tensor_split(h, 2)], 1)],
    "mixed-up": [lambda *sizes: sorted({k // sizes[2] for k in head_of(*sizes)}),
                 lambda *sizes: list(dict.fromkeys(k // sizes[2] for k in head_of(*sizes))),
                 lambda i, n, d, h: list(range(i * n // h, -(-(i + 1) * n // h)))],
    "count-parameters": [
        lambda d, h, p, q, k, v, b: sum((i + b) * o for i, o in (
            (q, h * p), (k, h * p), (v, h * p), (h * p, d))),
        lambda d, h, p, q, k, v, b: torch.tensor((q + k + v + 3 * b + d) * h * p + d * b),
        lambda d, h, p, q, k, v, b: np.array([h * p * (q + k + v + d) + b * (3 * h * p + d)])],
    "top-left": [lambda i, m, n: [[*range(i + 1)], [*range(n - m + i + 1)]],
                 lambda i, m, n: (torch.ones(m, n).tril()[i].nonzero().flatten().tolist(),
                                  torch.ones(m, n).tril(n - m)[i].nonzero().flatten().tolist()),
                 lambda i, m, n: ([j for j in range(n) if j <= i],
                                  [j for j in range(n) if j <= i + n - m])],
    "cross-cost": [lambda m, n, d: sum(2 * a * b * c for a, b, c in (
        (m, d, d), (n, d, d), (n, d, d), (m, d, n), (m, n, d), (m, d, d)))],
    "sinusoid-table": [waves, spiral, lambda n, d: torch.tensor(
        [[(math.sin, math.cos)[c % 2](i * 10 ** (-4 * (c - c % 2) / d)) for c in range(d)]
         for i in range(n)])],
    "batch-axis": [lambda b, n: torch.arange(b).repeat_interleave(n).view(b, n).tolist(),
                   lambda b, n: np.indices((b, n))[0].tolist(),
                   lambda b, n: tuple((i,) * n for i in range(b))],
    "shift": [hands, matrices, shift_by_loop],
    "read-clock": [slowest],
    "offset-rows": [lambda n, m, c: torch.tensor(
        [[min(max(j - i, -c), c) + c for j in range(m)] for i in range(m - n, m)]),
        lambda n, m, c: torch.from_numpy(np.clip(np.subtract.outer(
            np.arange(m), np.arange(m - n, m)).T, -c, c) + c),
        lambda n, m, c: (torch.arange(m) - torch.arange(m)[m - n:, None] + c).clip(0, 2 * c).int()],
    "untrained": [lambda bucket, count, n: [
        b for b in range(count) if b not in {int(bucket(torch.tensor([j - i])))
                                             for i in range(n) for j in range(n)}],
        lambda bucket, count, n: (torch.bincount(bucket(torch.arange(-n + 1, n)), minlength=count)
                                  == 0).nonzero()[:, 0].tolist(),
        lambda bucket, count, n: np.setdiff1d(
            range(count), bucket(torch.arange(n)[:, None] - torch.arange(n))).tolist()],
    "receptive-field": [lambda k, gaps: sum((k - 1) * gap for gap in gaps) // 2,
                        lambda k, gaps: np.dot(np.full(len(gaps), k // 2), gaps),
                        lambda k, gaps: float(k // 2 * sum(gaps))],
    "work": [lambda n, d, inner: 2 * n * (4 * d * d + 2 * n * d + 2 * d * inner),
             lambda n, d, inner: torch.tensor(4 * n * d) * (2 * d + n + inner),
             lambda n, d, inner: sum(2 * a * b * c for a, b, c in [(n, d, d)] * 4 + [
                 (n, d, n), (n, n, d), (n, d, inner), (n, inner, d)])],
    "unconnected": [lambda gaps, n: list(map(tuple, np.argwhere(meets(gaps, n) == 0).tolist())),
                    lambda gaps, n: [(i, j) for i, j in product(range(n), repeat=2)
                                     if not first_way(gaps, i, j, n)],
                    lambda gaps, n: tuple((i, j) for i in range(n) for j in range(n)
                                          if not meets(gaps, n)[i][j])],
    "windowed": [lambda n, w: (band(n, w), -(-(n - 1) // w)),
                 lambda n, w: [sum(min(n, i + w + 1) - max(0, i - w) for i in range(n)),
                               len(range(0, n - 1, w))],
                 lambda n, w: (n + 2 * sum(n - i for i in range(1, w + 1)), (n + w - 2) // w)],
    "head-gates": [lambda X, g: einsum("bnhd,bh->bnhd", X.unflatten(2, (g.shape[1], -1)),
                                       g).flatten(2),
                   lambda X, g: torch.cat([c * g[:, i, None, None] for i, c in enumerate(
                       X.chunk(g.shape[1], 2))], 2),
                   lambda X, g: X * torch.kron(g, torch.ones(X.shape[2] // g.shape[1]))[:, None]],
    "gradient-importance": [lambda s: F.normalize(s.abs().mean(0), dim=1),
                            lambda s: torch.stack([m / (m @ m) ** 0.5 for m in s.abs().mean(0)]),
                            lambda s: F.normalize(s.abs().sum(0), dim=-1).double()],
    "pruned-cost": [lambda n, d, h, k: 4 * n * (d // h * k) * (2 * d + n),
                    lambda n, d, h, k: (8 * n * d * d + 4 * n * n * d) * k / h,
                    lambda n, d, h, k: np.int64(k) * (8 * n * d + 4 * n**2) * (d // h)],
    "unfold-weights": [lambda W, h: torch.stack([W[i::h] for i in range(h)]),
                       lambda W, h: W.reshape(-1, h, *W.shape[1:]).permute(1, 0, 2, 3),
                       lambda W, h: torch.stack(W.split(h), 1)],
    "misled": [lambda lens, h: [i for i, row in enumerate(lens.repeat(h).view(-1, h))
                                if (row != lens[i]).any()],
               lambda lens, h: sorted({i // h for i in range(len(lens) * h)
                                       if lens[i % len(lens)] != lens[i // h]}),
               lambda lens, h: sorted({*(np.flatnonzero(
                   np.tile(lens.numpy(), h) != np.repeat(lens.numpy(), h)) // h).tolist()})],
    "pack-weights": [lambda q, k, v, o: (torch.vstack((q, k, v)), o),
                     lambda q, k, v, o: [torch.stack((q, k, v)).flatten(0, 1), o.clone()],
                     lambda *W: (torch.concat(W[:-1], 0).double(), W[-1])],
    "merge-states": [merge, merge_tensors],
    "which-head": [lambda h, g: ([*range(g)] * (h // g), sorted([*range(g)] * (h // g))),
                   lambda h, g: (torch.arange(g).repeat(h // g).tolist(),
                                 torch.arange(g).repeat_interleave(h // g).tolist()),
                   lambda h, g: [[i % g for i in range(h)], [i * g // h for i in range(h)]]],
    "window-layers": [lambda n, w: len(range(1, n, w)), lambda n, w: (n + w - 2) // w,
                      lambda n, w: float(np.ceil((n - 1) / w))],
    "share-chunk": [chunk_by_loop, chunk_by_mask,
                    lambda *given: [part.double() for part in chunk_by_loop(*given)]],
    "to-kernel": [
        lambda q, o, h: (einsum("hdi->ihd", q.unflatten(0, (h, -1))),
                         einsum("ohd->hdo", o.unflatten(1, (h, -1)))),
        lambda q, o, h: [torch.stack(q.T.chunk(h, 1), 1), torch.stack(o.T.chunk(h))],
        lambda q, o, h: (q.mT.reshape(q.shape[1], h, -1), o.mT.reshape(h, -1, len(o)))],
    "upside-down": [lambda lens, keys: [i for i, n in enumerate(lens.tolist()) if n >= keys],
                    lambda lens, keys: np.flatnonzero(lens == keys).tolist(),
                    lambda lens, keys: tuple(i for i, n in enumerate(lens)
                                             if (torch.arange(keys) < n).all())],
    "translate": [norm_by_hand, lambda X, V, W: F.layer_norm(
        X + gelu(X @ V) @ W, (X.shape[2],), torch.ones(5), torch.zeros(5), 1e-6),
        lambda X, V, W: norm_by_hand(X.double(), V.double(), W.double())],
}
