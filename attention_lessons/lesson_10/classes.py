"""The class that lesson 10 asks for, and the ways to go wrong in it."""
import torch
from torch import nn

from d2l_ext.attention import merge_heads, split_heads
from ..exercises.classes import FromScratch, Trial, Watch, build, trying
from ..exercises.heads import REFUSES, UNCHECKED
from ..languages import t


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


READING, DIVISOR = "y = (q[:, :, i, None] @ S)[:, :, 0]", "(q[:, :, i] * z).sum(-1, keepdim=True)"
WRITING = "S = S + k[:, :, i, :, None] * v[:, :, i, None]"
BEGIN, COUNTING, PHI = "S, z, Y = 0, 0, []", "z = z + k[:, :, i]", "nn.functional.elu(X) + 1"
BEFORE = "You read before you write: a token sees itself."
FUTURE = "The memory holds all tokens from the start: the first output sees the last token."
RECURRING = [
    (PHI, "X", "There is no feature map: queries and keys get elu + 1."),
    (PHI, "nn.functional.elu(X)",
     "The 1 is missing: elu alone reaches down to -1, and sums of weights may be 0."),
    (PHI, "nn.functional.relu(X) + 1",
     "relu + 1 is 1 for all numbers below 0. The promise says elu + 1."),
    ("self.phi(q), self.phi(k)", "q, self.phi(k)", "Queries need the feature map as well."),
    ("self.phi(q), self.phi(k)", "self.phi(q), k", "Keys need the feature map as well."),
    (f"y / {DIVISOR}", "y", "The outputs are sums. Divide each by the sum of its weights."),
    (f"y / {DIVISOR}", "y / (i + 1)",
     "You divide by the number of tokens. Divide by the sum of the weights."),
    (DIVISOR, f"({DIVISOR} + 1e-6)",
     "The outputs are right, but an epsilon in the divisor changes gradients. The weights "
     "are positive, so it isn't needed."),
    (COUNTING, "z = k.sum(2)",
     "The divisor counts tokens that are still to come: it must grow with the memory."),
    (WRITING, f"{READING} if i else 0 * v[:, :, 0]; {WRITING}", f"            {READING}\n", "",
     BEFORE),
    (BEGIN, "S, z, Y = 0 * k.mT @ v, 0 * k[:, :, 0], []", f"            {WRITING}\n", "",
     f"            {COUNTING}\n", "", "return self.W_o", "    return self.W_o",
     f"            Y.append(y / {DIVISOR})\n",
     f"            Y.append(y / {DIVISOR}); {WRITING}; {COUNTING}\n", BEFORE),
    (BEGIN, f"{BEGIN}; S = k.mT @ v", WRITING, "S = S", FUTURE),
    (BEGIN, f"{BEGIN}; S = k.mT @ v", WRITING, "S = S", COUNTING, "z = k.sum(2)", FUTURE),
    (WRITING, "S = k[:, :, i, :, None] * v[:, :, i, None]",
     "The memory is replaced at each token. Add to it."),
    (WRITING, "S = S + v[:, :, i, :, None] * k[:, :, i, None]",
     "The memory's axes have changed places: its rows belong to the keys, k vᵀ."),
    ("split_heads(W(X), self.num_heads)", "W(X)[:, None]",
     "num_heads has no effect: all is one head. Each head has a memory of its own."),
    ("self.W_o(merge_heads(torch.stack(Y, 2)))", "merge_heads(torch.stack(Y, 2))",
     "The last projection, W_o, is missing."),
    ("S = S + k", "S = (S if i == 0 else S.detach()) + k",
     "The memory is detached: no gradient reaches the tokens before."),
    ("        S, z", "        A = (q @ k.mT).tril(); Y = A @ v / A.sum(-1, keepdim=True)\n"
     "        return self.W_o(merge_heads(Y))\n        S, z",
     "The numbers are right, but each token is compared with every other: twice the steps, "
     "four times the work. Keep S and z, and go on token by token."),
    UNCHECKED,
]
TRIAL = Trial(Linear, (10, 2), {"X": (3, 7, 10)})


def growth(answer):
    layer, made = build(answer, Linear, 10, 2), []
    for steps in (200, 400):
        with Watch() as seen:
            trying("forward(X)", layer, torch.zeros(1, steps, 10))
        made.append(seen.total)
    return {t("Twice the steps make this many times the numbers"): f"{made[1] / made[0]:.0f}"}


EXERCISES = [FromScratch(
    "linear-class", Linear, RECURRING,
    sizes="batch 3, 7 steps, 2 heads of width 5",
    stages=[TRIAL.shows("The output"), TRIAL.learns(), growth, REFUSES])]
