"""What learners answer wrongly in 11, and what they should then read."""
import torch
from torch import nn
from torch.nn import functional as F


def parted(W, axis, heads):
    return torch.stack(W.chunk(heads, axis), axis)


def by_layers(gelu, epsilon, after=lambda X, hidden: X + hidden):
    def answer(X, W_1, W_2):
        norm = nn.LayerNorm(X.shape[-1], eps=epsilon, elementwise_affine=False)
        return norm(after(X, gelu(X @ W_1) @ W_2))
    return answer


tanh = nn.GELU("tanh")
WRONG = {
    "kernel-shape": [("a", "PyTorch's"), ("b", "parts the heads"), ("d", "after the inputs"),
               ("(5, 3, 4)", "letters"), (("b", "c"), "parts the heads")],
    "to-kernel": [
        (lambda q, o, h: (parted(q, 0, h), parted(o, 1, h)), r"Still \(out, in\)"),
        (lambda q, o, h: (q.mT, o.mT), "in one piece"),
        (lambda q, o, h: (parted(q.T, 1, h), parted(o.T, 1, h)), "W_q is right"),
        (lambda q, o, h: (parted(q.T, 1, h), parted(o, 1, h)), "W_q is right"),
        (lambda q, o, h: (torch.stack([q.T[:, i::h] for i in range(h)], 1), parted(o.T, 0, h)),
         "every other column"),
        (lambda q, o, h: (parted(q.T, 1, h).mT, parted(o.T, 0, h).transpose(0, 1)),
         "The shape should be"),
        (lambda q, o, h: (q.mT.reshape(q.shape[1], -1, h), o.mT.reshape(-1, h, len(o))),
         "Heads and head size changed"),
        (lambda q, o, h: (q.reshape(-1, h, len(q) // h), o.reshape(h, -1, len(o))),
         "mixes rows with columns"),
        (lambda q, o, h: (parted(o.T, 0, h), parted(q.T, 1, h)), "First W_q's"),
        (lambda q, o, h: parted(q.T, 1, h), "Return 2 things"),
        (lambda q, o: q, "raises TypeError"),
    ],
    "upside-down": [
        (lambda lens, keys: [i for i, n in enumerate(lens) if n == 0], "softmax over nothing"),
        (lambda lens, keys: [i for i, n in enumerate(lens) if n < keys], "wrong numbers, but"),
        (lambda lens, keys: [i for i, n in enumerate(lens) if n in (0, keys)], "Half of them"),
        (lambda lens, keys: [*range(len(lens))], "Not all"),
        (lambda lens, keys: [i for i, n in enumerate(lens) if n], "some padding left"),
        (lambda lens, keys: list(), "Some do"),
        (lambda lens, keys: [i for i, n in enumerate(lens) if n == max(lens)], "The longest"),
        (lambda lens, keys: [i for i, n in enumerate(lens, 1) if n == keys], "count from 0"),
        (lambda lens, keys: int((lens == keys).sum()), "how many"),
        (lambda lens, keys: [bool(n == keys) for n in lens], "True and False"),
        (lambda lens, keys: (lens == keys).nonzero().flatten(), "Return a list"),
    ],
    "last-digit": [({"a", "b", "c"}, "b is false"), ({"a", "d"}, "d is false"),
                   (set("acef"), "e is false"), ({"a", "c"}, "1 more"), ("f", "2 more")],
    "translate": [
        (by_layers(F.gelu, 1e-5), "hardly vary"),
        (by_layers(tanh, 1e-5), "hardly vary"),
        (by_layers(tanh, 1e-3), "Keras's epsilon"),
        (by_layers(nn.GELU(), 1e-6), "fourth digit"),
        (by_layers(tanh, 1e-6, lambda X, hidden: hidden), "input itself"),
        (lambda X, V, W: X + tanh(X @ V) @ W, "norm is missing"),
        (lambda X, V, W: X + by_layers(tanh, 1e-6, lambda X, hidden: hidden)(X, V, W),
         "not of what is added"),
        (by_layers(torch.relu, 1e-6), "ReLU"),
        (lambda X, V, W: tanh(X @ V.T) @ W.T, "raises RuntimeError"),
    ],
}
