"""The exercises of lesson 08, the Transformer."""
from functools import partial, reduce

import torch

from d2l_ext.transformer import DecoderBlock
from ..exercises.classes import FromScratch, ClassTrial, build, draw, trying
from ..exercises.compare import copies, differs
from ..exercises.heads import LENGTHS, REFUSES
from ..exercises.kinds import Build
from ..languages import t


def dropped(X, kept, p):
    return X * kept / (1 - p)


def dropped_inputs():
    return [(torch.randn(2, 5, 12), torch.rand(2, 5, 12) < 0.8, 0.2),
            (torch.randn(3, 4), torch.rand(3, 4) < 0.25, 0.75)]


class Block(DecoderBlock):
    def __init__(self, num_hiddens, num_heads, dropout=0.0):
        super().__init__(num_hiddens, num_heads, dropout)

    def forward(self, X, memory, valid_lens=None):
        X = self.add(X, 0, lambda Y: self.attention(Y, Y, Y, causal=True))
        X = self.add(X, 1, lambda Y: self.cross(Y, memory, memory, valid_lens))
        return self.add(X, 2, lambda Y: self.network(Y))

    def add(self, X, i, part):
        return X + self.dropout(part(self.norms[i](X)))


THEIRS = "The lengths are the source's. In self-attention they hide steps of the target."
TRIAL = ClassTrial(Block, (10, 2), {"X": (3, 4, 10), "memory": (3, 7, 10)}, last="valid_lens",
              known={"valid_lens contains 5": THEIRS})
PARTS = {"attention": "attention.W_o.weight", "cross": "cross.W_o.weight",
         "network": "network.2.weight"}


def evaluating(answer):
    """Where two calls differ, their numbers say nothing."""
    first, second = (TRIAL.run(answer, LENGTHS, mode="eval", dropout=0.2)[1] for _ in range(2))
    return {t("The output with dropout=0.2 in evaluation mode"):
            None if differs(second, first) else first}


def dropping(answer):
    """One part at a time speaks, by norms without weights: it adds the same at every step."""
    found = {}
    X, memory = draw((3, 40, 10), (3, 1, 10))
    inputs = X, memory.expand(3, 7, 10)
    for part in PARTS:
        layer = build(answer, Block, 10, 2, dropout=0.2).requires_grad_(False)
        silent = [name for other, name in PARTS.items() if other != part]
        silent += ["network.2.bias"] * (part != "network") + [f"norms.{i}.weight" for i in range(3)]
        for name in silent:
            layer.get_parameter(name).zero_()
        torch.default_generator.manual_seed(7)
        dropped = trying("In training mode, forward", layer.train(), *copies(inputs))
        factors = (dropped - X) / (layer.eval()(*copies(inputs)) - X)
        found[t("In training mode with dropout=0.2, what {0} adds to X is multiplied by",
                part)] = in_words(factors)
    return found


def in_words(numbers):
    """The different numbers in a tensor, to three digits."""
    found = numbers.mul(1000).round().div(1000).unique().tolist()
    if len(found) > 4:
        return t("many different numbers")
    return reduce(partial(t, "{0} or {1}"), [f"{number + 0.0:g}" for number in found])


EXERCISES = [
    Build("drop-numbers", dropped, dropped_inputs),
    FromScratch("decoder-block-class", Block, stages=[
        TRIAL.shows("The output"),
        TRIAL.shows("The output with source lengths 0, 3, 5", LENGTHS),
        TRIAL.shows("The output with 7 steps and source lengths 0, 3, 5", LENGTHS,
                    change=lambda X, memory: (*draw((3, 7, 10)), memory)),
        TRIAL.learns(LENGTHS), evaluating, dropping, REFUSES]),
]
