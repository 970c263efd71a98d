"""What learners answer wrongly in 10, and what they should then read."""
import torch


def steps(S, q, k, v, a, *, late=False, fresh=False, blind=False):
    """Token by token; late: adds, then lets go; fresh: reads, then lets go of the old."""
    Y, old, new = [], S, torch.zeros_like(S)
    for t in range(len(q)):
        read = old
        old = a[t] * old
        new = a[t] * (new + torch.outer(k[t], v[t])) if late else (
            a[t] * new + torch.outer(k[t], v[t]))
        Y.append(q[t] @ new + (0 if blind else q[t] @ (read if fresh else old)))
    return torch.stack(Y), old + new


def right(*given):
    return steps(*given)[0]


def all_tokens(q, k, v, a):
    """What each step reads of all tokens, those to come included."""
    left = a.cumprod(0)
    return torch.stack([sum(q[i] @ k[j] * left[i] / left[j] * v[j] for j in range(len(k)))
                        for i in range(len(q))])


def masked(mask):
    """The solution's way, with a function of rows' and columns' shares in place of its mask."""
    def answer(S, q, k, v, a):
        s = a.log().cumsum(0)
        M = mask(s[:, None].expand(-1, len(s)), s.expand(len(s), -1))
        return (q @ k.T * M) @ v + s.exp()[:, None] * (q @ S), s[-1].exp() * S + (M[-1] * k.T) @ v
    return answer


CHUNKS = [
    (masked(lambda row, column: (row - column).exp().tril(-1)), "reads what it stored itself"),
    (lambda S, q, k, v, a: (masked(lambda row, column: (row - column).exp().tril(-1))(
        S, q, k, v, a)[0], steps(S, q, k, v, a)[1]), "reads what it stored itself"),
    (masked(lambda row, column: (column - row).exp().tril()), "upside down"),
    (lambda S, q, k, v, a: (masked(lambda row, column: (column - row).exp().tril())(
        S, q, k, v, a)[0], steps(S, q, k, v, a)[1]), "upside down"),
    (lambda S, q, k, v, a: (right(S, q, k, v, a), steps(S, q, k, v, a)[1].T), "rows belong"),
    (lambda S, q, k, v, a: (right(S, q, k, v, a),
                            a.prod() * S + steps(0 * S, q, k, v, a)[1].T), "rows belong"),
    (lambda S, q, k, v, a: (steps(0 * S, q, k, v, a)[0] + q @ S, steps(S, q, k, v, a)[1]),
     "as it was before the chunk"),
    (lambda *given: steps(*given, fresh=True), "keeps its share before it reads"),
    (lambda *given: steps(*given, late=True), "lets go before it adds"),
    (lambda S, q, k, v, a: (right(S, q, k, v, a), a.prod() * S + k.T @ v), "before the chunk ends"),
    (lambda *given: steps(*given, blind=True), "before the chunk: S"),
    (lambda S, q, k, v, a: (right(S, q, k, v, a), steps(0 * S, q, k, v, a)[1]), "chunk alone"),
    (lambda S, q, k, v, a: (right(S, q, k, v, a), steps(0 * S, q, k, v, a)[1] + S),
     "met all shares"),
    (lambda S, q, k, v, a: steps(S, q, k, v, 0 * a + 1), "Nothing is let go of"),
    (right, "Return 2 things"),
    (lambda S, q, k, v, a: (steps(S, q, 0 * k, v, a)[0] + all_tokens(q, k, v, a),
                            steps(S, q, k, v, a)[1]), "see the future"),
]

WRONG = {
    "keeps": [("a", "More heads"), ("c", "a state and a cell"), ("d", "2nd numbers"),
              (("b", "a"), "More heads")],
    "share-chunk": CHUNKS,
    "brackets": [({"a", "b", "c", "e"}, "the first output would see"), ({"a", "b", "d"}, "softmax"),
                 ({"a", "b"}, "1 more"), ("e", "2 more")],
    "why-linear": [({"a", "b", "c", "e"}, "below n = d"), ({"a", "c", "d"}, "as many cells"),
                   ({"a", "c"}, "1 more"), ("c", "2 more")],
}
