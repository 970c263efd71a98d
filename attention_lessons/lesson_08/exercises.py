"""The exercises of lesson 08, coming from d2l."""
import torch

from ..exercises.kinds import Build, Choice

# ---- unfold-weights ----


def unfold(weights, num_heads):
    return weights.unflatten(0, (-1, num_heads)).transpose(0, 1)


def unfold_inputs():
    generator = torch.Generator().manual_seed(8)
    return [(torch.randn(*shape, generator=generator).softmax(-1), heads)
            for shape, heads in (((6, 4, 5), 2), ((8, 3, 6), 4))]


UNFOLD_WEIGHTS = [
    (lambda W, h: W.reshape(h, -1, *W.shape[1:]),
     "The shape is right and sentences are mixed up: a sentence's heads follow one another, "
     "so the batch is the outer axis. Take it apart as (batch, heads), then swap."),
    (lambda W, h: W.unflatten(0, (-1, h)),
     "Correctly unfolded, but the batch stands in front: result[i] should be head i."),
    (lambda W, h: unfold(W, h).mT, "Queries and keys changed places: rows are queries."),
    (lambda W, h: W[::h],
     "You keep each sentence's first head. All heads are wanted, on an axis of their own."),
    (lambda W, h: W.unflatten(0, (-1, h)).sum(1),
     "You add the heads up. Each should keep its own map."),
    (lambda W, h: W.unflatten(0, (-1, h)).mean(1),
     "You average the heads. Each should keep its own map."),
    (lambda W, h: W, "Still folded: the first axis holds sentences and heads."),
]

# ---- misled ----


def places(mask):
    """Where a mask of one axis is True."""
    return mask.nonzero().flatten().tolist()


def wrong_heads(valid_lens, num_heads):
    """Which folded rows (sentences, heads) get a wrong length from ``repeat``."""
    return valid_lens.repeat(num_heads).reshape(-1, num_heads) != valid_lens[:, None]


def misled_inputs():
    cases = ([2, 2, 2, 5, 5], 2), ([2, 5, 3], 2), ([4, 4, 4], 3), ([1, 3], 4), ([7, 2, 5], 1)
    return [(torch.tensor(lens), num_heads) for lens, num_heads in cases]


def misled(valid_lens, num_heads):
    return places(wrong_heads(valid_lens, num_heads).any(1))


MISLED = [
    (lambda lens, h: [i for i in range(len(lens)) if i not in misled(lens, h)],
     "Those are the sentences that get the right lengths. List the others."),
    (lambda lens, h: places(wrong_heads(lens, h).all(1)),
     "You ask that every head is wrong. One wrong head is enough."),
    (lambda lens, h: places(wrong_heads(lens, h).flatten()),
     "Those are places in the folded batch. Return sentences: place // num_heads, each once."),
    (lambda lens, h: wrong_heads(lens, h).nonzero()[:, 0].tolist(),
     "The right sentences, one time per wrong head: name each once."),
    (lambda lens, h: places(wrong_heads(lens, h).any(0)),
     "Those are heads. Which sentences do they belong to?"),
    (lambda lens, h: places(wrong_heads(lens, h)[:, 0]),
     "You look at each sentence's first head only. The others may be misled too."),
    (lambda lens, h: [],
     "Nobody? That would be so if heads were the outer axis. "
     "In D2L's folding sentences are: reshape to (sentences, num_heads)."),
    (lambda lens, h: list(range(len(lens))) if len(set(lens.tolist())) > 1 else [],
     "Not all of them, even where lengths differ: some sentences get the right length by luck."),
    (lambda lens, h: list(range(1, len(lens) - 1)), lambda lens, h: list(range(1, len(lens))),
     lambda lens, h: list(range(len(lens) - 1)),
     "Neither the first nor the last sentence is always right. With lengths 2, "
     "5, 3 and two heads repeat gives 2, 5, 3, 2, 5, 3: the first gets 2 and 5, the last 5 and 3."),
    (lambda lens, h: list(range(len(lens))),
     "Not all of them: some heads get the right length by luck, and with equal lengths all do."),
    (lambda lens, h: lens[misled(lens, h)].tolist(),
     "Those are lengths. Return the sentences' numbers."),
    (lambda lens, h: len(misled(lens, h)), "That is how many. Return a list of which."),
    (lambda lens, h: [i + 1 for i in misled(lens, h)], "Sentences count from 0."),
]

# ---- pack-weights ----


def pack_inputs():
    """PyTorch's own layout needs square matrices; their width is tried twice."""
    generator = torch.Generator().manual_seed(9)
    return [tuple(torch.randn(4, width, width, generator=generator)) for width in (4, 7)]


def pack(*matrices):
    return torch.cat(matrices[:3]), matrices[3]


PACK_WEIGHTS = [
    (lambda q, k, v, o: pack(k, q, v, o),
     "Keys first is the order of 0.17's arguments. PyTorch wants queries, keys, values."),
    (lambda q, k, v, o: pack(v, k, q, o), "Values come last: queries, keys, values."),
    (lambda q, k, v, o: pack(q, v, k, o), "Keys and values are swapped: queries, keys, values."),
    (lambda q, k, v, o: (torch.cat([q, k, v], 1), o),
     "Yours is d x 3d, side by side. There are more outputs, and outputs are rows."),
    (lambda q, k, v, o: (torch.stack([q, k, v]), o),
     "Three matrices in a stack make three axes. PyTorch wants one tall matrix of 3d rows."),
    (lambda q, k, v, o: (torch.stack([q, k, v], 1).flatten(0, 1), o),
     "Your rows alternate between the three. Each matrix stays in one piece."),
    (lambda q, k, v, o: (torch.cat([q, k, v, o]), o),
     "W_o has a place of its own: only three matrices are packed."),
    (lambda q, k, v, o: (pack(q, k, v, o)[0], o.T),
     "W_o is turned around: both sides hold it as (outputs, inputs)."),
    (lambda q, k, v, o: pack(q.T, k.T, v.T, o), lambda q, k, v, o: pack(q.T, k.T, v.T, o.T),
     "No turning around: both sides hold (outputs, inputs)."),
    (lambda q, k, v, o: pack(q, k, v, o)[::-1],
     "They are in the other order: in_proj_weight is the first."),
]


EXERCISES = [
    Choice(
        "older-order", right="b",
        praise="Right: keys first, then queries, then values; and weights are (outputs, inputs).",
        hints=["The signature is in the table of 'Four matrices, many signatures'.",
               "Which of 6, 4 and 7 belongs to the queries? "
               "And a linear layer's weight is (outputs, inputs)."],
        reasons={
            "a": "In 0.17 the first number is the keys' width, not the queries'.",
            "c": "The right two numbers, turned around: "
                 "a linear layer's weight is (outputs, inputs).",
            "d": "Only W_o is square here: the queries come with a width of their own.",
        },
    ),
    Build(
        "unfold-weights", reference=unfold, inputs=unfold_inputs, misconceptions=UNFOLD_WEIGHTS,
        praise="Right: out of the batch, then to the front.",
        hints=["The first axis counts sentence 0 head 0, sentence 0 head 1, and so on. "
               "Which of the two is the outer one?",
               "weights.unflatten(0, (-1, num_heads)) "
               "gives (batch, heads, queries, keys). What is left to do?"],
    ),
    Build(
        "misled", reference=misled, inputs=misled_inputs, misconceptions=MISLED,
        praise="Right. And with one sentence, or equal lengths, the slip stays hidden: "
               "test with lengths that all differ.",
        hints=["torch.tensor([2, 5]).repeat(3) is 2, 5, 2, 5, 2, 5; "
               "repeat_interleave(3) is 2, 2, 2, 5, 5, 5.",
               "Reshape what repeat gives into (sentences, num_heads): "
               "row i is what the heads of sentence i get.",
               "Compare that with valid_lens[:, None], "
               "and ask for each row whether any entry differs."],
    ),
    Choice(
        "exchange", right="abd",
        praise="Right. What changes is where d2l errs, and what it doesn't check.",
        hints=["Three statements are true.",
               "'Weights move both ways', the table of "
               "three equal training steps and 'Lengths that can't be lengths' decide "
               "three of the statements; the sections on the Transformer and on recording the "
               "others."],
        reasons={
            "c": "is false: it is (batch * heads, queries, keys), as in D2L's code. "
                 "record_attention takes the heads out of the batch.",
            "e": "is false: d2l_1_0 has the names of 11.5 and 11.6. "
                 "For the Transformer, import d2l and put our classes in.",
        },
    ),
    Build(
        "pack-weights", reference=pack, inputs=pack_inputs, misconceptions=PACK_WEIGHTS,
        praise="Right: rows under rows, nothing turned around.",
        hints=["in_proj_weight has 3d rows and d columns: which axis grows?",
               "torch.cat([...]) puts matrices under one another. W_o stays as it is."],
    ),
]
