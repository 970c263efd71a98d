"""The exercises of lesson 11, linear attention."""
import torch
from torch import nn

from d2l_ext.attention import merge_heads, split_heads
from ..exercises.classes import FromScratch, ClassTrial, TensorCounter, build, trying
from ..exercises.heads import REFUSES
from ..exercises.kinds import Build
from ..languages import t


def chunk_inputs():
    for c, d in ((4, 3), (5, 2), (1, 4)):
        yield torch.randn(d, d), *torch.randn(3, c, d), 0.3 + 0.6 * torch.rand(c)


def chunk(S, q, k, v, a):
    since = a.cumprod(0)
    M = (since[:, None] / since).tril()
    Y = (q @ k.T * M) @ v + since[:, None] * (q @ S)
    return Y, since[-1] * S + (k * M[-1][:, None]).T @ v


class Linear(nn.Module):
    def __init__(self, num_hiddens, num_heads=1):
        super().__init__()
        if num_hiddens % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(self, X):
        q, k, v = (split_heads(W(X), self.num_heads) for W in (self.W_q, self.W_k, self.W_v))
        q, k = self.phi(q), self.phi(k)
        S, z, Y = 0, 0, []
        for i in range(X.shape[1]):
            S = S + k[:, :, i, :, None] * v[:, :, i, None]
            z = z + k[:, :, i]
            y = (q[:, :, i, None] @ S)[:, :, 0]
            Y.append(y / (q[:, :, i] * z).sum(-1, keepdim=True))
        return self.W_o(merge_heads(torch.stack(Y, 2)))

    def phi(self, X):
        return nn.functional.elu(X) + 1


TRIAL = ClassTrial(Linear, (10, 2), {"X": (3, 7, 10)})


def growth(answer):
    layer, made = build(answer, Linear, 10, 2), []
    for steps in (200, 400):
        with TensorCounter() as seen:
            trying("forward(X)", layer, torch.zeros(1, steps, 10))
        made.append(seen.total)
    return {t("Twice the steps make this many times the numbers"): f"{made[1] / made[0]:.0f}"}


EXERCISES = [
    Build("share-chunk", chunk, chunk_inputs),
    FromScratch("linear-class", Linear, stages=[
        TRIAL.shows("The output"), TRIAL.learns(), growth, REFUSES]),
]
