"""What tests of the core share: slow definitions, straight from the formulas, and comparison.

They go one query, one head and one key at a time. That tests can fail is shown by mutmut.
"""
import copy
import math

import torch


def slow_softmax(scores, keep):
    """The softmax of a row of numbers over those that are kept; 0 for the others."""
    largest = max((score.detach() for score, kept in zip(scores, keep) if kept), default=0)
    powers = [(score - largest).exp() if kept else torch.zeros_like(score)
              for score, kept in zip(scores, keep)]
    return torch.stack([power / sum(powers) if kept else power
                        for power, kept in zip(powers, keep)])


def scaled_dot_product(position, at, q, k):
    return q @ k / math.sqrt(len(q))


def slow_attention(m, queries, keys, values, keep=None, score=scaled_dot_product):
    """Output and weights of a ``MultiHeadAttention``.

    keep broadcasts to (batch, heads, queries, keys). score(position, (b, h, i, j), q, k) is that of
    one query and one key.
    """
    (batch, steps, _), count = queries.shape, keys.shape[1]
    keep = torch.tensor(True) if keep is None else keep
    keep = keep.expand(batch, m.num_heads, steps, count)
    outputs, weights = [], []
    for b in range(batch):
        Q, K, V = (linear(X[b]).split(m.head_size, dim=-1) for linear, X in
                   ((m.W_q, queries), (m.W_k, keys), (m.W_v, values)))
        group = m.num_heads // len(K)  # how many heads share a key
        for i in range(steps):
            heads = []
            for h in range(m.num_heads):
                scores = [score(m.position, (b, h, i, j), Q[h][i], K[h // group][j])
                          for j in range(count)]
                row = slow_softmax(scores, keep[b, h, i])
                heads.append(sum(weight * v for weight, v in zip(row, V[h // group])))
                weights.append(row)
            outputs.append(m.W_o(torch.cat(heads)))
    weights = torch.stack(weights).reshape(batch, steps, m.num_heads, count).transpose(1, 2)
    return torch.stack(outputs).reshape(batch, steps, -1), weights


def slow_sinusoids(steps, width):
    rows = [[(math.cos if c % 2 else math.sin)(i / 10_000 ** ((c - c % 2) / width))
             for c in range(width)] for i in range(steps)]
    return torch.tensor(rows, dtype=torch.float64).reshape(steps, width)


def lengths_mask(valid_lens, queries, keys):
    """(batch, 1, queries, keys), one yes or no at a time."""
    rows = [n if isinstance(n, list) else [n] * queries for n in valid_lens.tolist()]
    return torch.tensor([[[j < n for j in range(keys)] for n in row] for row in rows])[:, None]


def outcome(attend, module, *inputs, **options):
    """The results, and the gradients of a fixed mixture of their numbers.

    The gradients are those of the inputs and the parameters.
    """
    inputs = [X.detach().clone().requires_grad_() for X in inputs]
    results = attend(module, *inputs, **options)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum((R.flatten() @ torch.arange(1, R.numel() + 1).to(R).cos()) for R in results)
    watched = [*inputs, *module.parameters()]
    return [*results, *torch.autograd.grad(loss, watched, materialize_grads=True,
                                           allow_unused=True)]


def slow_outcome(attend, module, *inputs, **options):
    """``outcome`` in double precision."""
    exact = copy.deepcopy(module).double()
    return outcome(attend, exact, *[X.double() for X in inputs], **options)


def assert_same(ours, theirs, atol=1e-5, rtol=1e-4):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.double(), b.double(), atol=atol, rtol=rtol)
