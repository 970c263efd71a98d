"""The class that lesson 07 asks for, and the ways to go wrong in it."""
import torch

from d2l_ext.transformer import DecoderBlock
from ..exercises.classes import FromScratch, Trial, build, draw, factors, in_words
from ..exercises.heads import LENGTHS, MODE, REFUSES
from ..languages import t


class Block(DecoderBlock):
    def __init__(self, num_hiddens, num_heads, dropout=0.0):
        super().__init__(num_hiddens, num_heads, dropout)

    def forward(self, X, memory, valid_lens=None):
        X = self.add(X, 0, lambda Y: self.attention(Y, Y, Y, causal=True))
        X = self.add(X, 1, lambda Y: self.cross(Y, memory, memory, valid_lens))
        return self.add(X, 2, lambda Y: self.network(Y))

    def add(self, X, i, part):
        return X + self.dropout(part(self.norms[i](X)))


READ, NETWORK = "self.cross(Y, memory, memory, valid_lens)", "self.network(Y)"
FIRST = "self.add(X, 0, lambda Y: self.attention(Y, Y, Y, causal=True))"
SECOND = f"self.add(X, 1, lambda Y: {READ})"
PART, ADDED = "part(self.norms[i](X))", "X + self.dropout(part(self.norms[i](X)))"
SOME = "None if valid_lens is None else valid_lens"
ALIKE = "valid_lens if X.shape[1] == memory.shape[1] else None"
THEIRS = "The lengths are the source's. In self-attention they hide steps of the target."
DECODING = [
    (", causal=True", "", "A step sees the steps after it: self-attention in a decoder is causal."),
    ("causal=True", "mask=lambda query, key: key < query",
     "A step doesn't see itself. It sees the steps up to its own, itself included."),
    (ADDED, "self.norms[i](X + self.dropout(part(X)))",
     "You normalise after adding (post-norm). The promise normalises what goes into each "
     "part: X + part(norm(X))."),
    (ADDED, f"self.dropout({PART})",
     "The residual connections are missing: add each part's result to X."),
    *((ADDED, f"(self.norms[i](X) if {where} else X) + self.dropout({PART})",
       "You add to the normalised X. The residual is X itself, as it was before the norm.")
      for where in ("True", "i == 0", "i == 1", "i == 2")),
    ("self.norms[i](X)", "X", "The norms are built and never used: each part gets norm(X)."),
    ("norms[i]", "norms[0]",
     "One norm serves all three parts. Each part has its own, norms[0], norms[1], norms[2]."),
    (READ, "self.cross(Y, Y, Y)",
     "Cross-attention never looks at memory: its queries come from the decoder, its keys and "
     "values from memory."),
    (READ, "self.cross(Y, *[self.norms[1](memory)] * 2, valid_lens)",
     "memory is normalised once more. It comes from the encoder as it should be; the norm is "
     "for X."),
    ("self.cross", "self.attention",
     "Both attentions use the same matrices. Cross-attention has its own: self.cross."),
    (FIRST, "HERE", SECOND, FIRST, "HERE", SECOND,
     "Cross-attention comes before self-attention. The order is: self-attention, "
     "cross-attention, network."),
    (f"X = {FIRST}", f"Z = X; X = {FIRST}", "self.add(X, 1", "X - Z + self.add(Z, 1",
     "self.add(X, 2", "X - Z + self.add(Z, 2",
     "All three parts read the same X. Each part reads what the one before it has left."),
    (NETWORK, "self.network[2](self.network[0](Y))",
     "There is no ReLU between the two linear maps of the network."),
    (NETWORK, "self.network[2](torch.nn.functional.gelu(self.network[0](Y)))",
     "Between the linear maps stands a GELU. The promise says ReLU."),
    (READ, "self.cross(Y, memory, memory)",
     "The lengths have no effect: cross-attention must not look at the source's padding."),
    (READ, f"self.cross(Y, memory, memory, {SOME} + 1)",
     "One source step too many: a length of 3 means positions 0, 1 and 2."),
    ("causal=True", f"causal=True, valid_lens={SOME}.clamp(max=4)", THEIRS),
    ("causal=True", f"causal=True, valid_lens={ALIKE}",
     "Self-attention takes the lengths where target and source have as many steps. They are "
     "the source's all the same."),
    ("memory, memory", "memory.detach(), memory.detach()",
     "memory is detached: the encoder would never learn."),
    (f"self.dropout({PART})", f"torch.nn.functional.dropout({PART}, self.dropout.p)", MODE[-1]),
    *((ADDED, f"X + ({PART} if i == {i} else self.dropout({PART}))", words)
      for i, words in enumerate([
          "No dropout after self-attention: it acts on what each of the three parts adds to X.",
          "No dropout after cross-attention: it acts on what each of the three parts adds to X.",
          "No dropout after the network: it acts on what each of the three parts adds to X."])),
    ("self.dropout(part", "(part",
     "Nothing is dropped in training mode: dropout acts on what each part adds to X."),
    (ADDED, f"self.dropout(X + {PART})",
     "You drop numbers of X itself. Dropout acts on what a part adds, before it is added."),
]
TRIAL = Trial(Block, (10, 2), {"X": (3, 4, 10), "memory": (3, 7, 10)}, {"dropout": 0.0},
              last="valid_lens", known={"valid_lens contains 5": THEIRS})
PARTS = {"attention": "attention.W_o.weight", "cross": "cross.W_o.weight",
         "network": "network.2.weight"}


def dropping(answer):
    """One part at a time speaks, by norms without weights: it adds the same at every step."""
    found = {}
    X, memory = draw((3, 40, 10), (3, 1, 10))
    for part in PARTS:
        layer = build(answer, Block, 10, 2, dropout=0.2)
        silent = [name for other, name in PARTS.items() if other != part]
        silent += ["network.2.bias"] * (part != "network") + [f"norms.{i}.weight" for i in range(3)]
        with torch.no_grad():
            for name in silent:
                layer.get_parameter(name).zero_()
        kept = factors(layer, (X, memory.expand(3, 7, 10)), X)
        whole = not (layer.train()(X, memory) == 0).any()
        found |= {t("In training mode with dropout=0.2, numbers of X itself are dropped around "
                    "{0}", part): t("no") if whole else t("yes"),
                  t("In training mode with dropout=0.2, what {0} adds to X is multiplied by",
                    part): in_words(kept)}
    return found


EXERCISES = [FromScratch(
    "decoder-block-class", Block, DECODING,
    sizes="batch 3, 4 or 7 steps, 7 source steps, 2 heads of width 5",
    stages=[TRIAL.shows("The output"),
            TRIAL.shows("The output with source lengths 0, 3, 5", LENGTHS),
            TRIAL.shows("The output with 7 steps and source lengths 0, 3, 5", LENGTHS,
                        change=lambda X, memory: (*draw((3, 7, 10)), memory)),
            TRIAL.learns(LENGTHS), TRIAL.evaluates(LENGTHS), dropping, REFUSES])]
