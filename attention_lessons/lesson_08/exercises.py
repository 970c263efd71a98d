"""The exercises of lesson 08, coming from d2l."""
import torch

from ..exercises.kinds import Build, Choice, Slip

# ---- unfold-weights ----


def unfold_inputs():
    generator = torch.Generator().manual_seed(8)
    return [(torch.randn(*shape, generator=generator).softmax(-1), heads)
            for shape, heads in (((6, 4, 5), 2), ((8, 3, 6), 4))]


def unfold(weights, num_heads):
    return weights.unflatten(0, (-1, num_heads)).transpose(0, 1)


UNFOLD_WEIGHTS = [
    Slip("(-1, num_heads)).transpose(0, 1)", "(num_heads, -1))",
         "The shape is right and sentences are mixed up: a sentence's heads follow one another, "
         "so the batch is the outer axis. Take it apart as (batch, heads), then swap."),
    Slip(".transpose(0, 1)", "",
         "Correctly unfolded, but the batch stands in front: result[i] should be head i."),
    Slip("(0, 1)", "(0, 1).mT", "Queries and keys changed places: rows are queries."),
    Slip(".transpose(0, 1)", "[:, 0]",
         "You keep each sentence's first head. All heads are wanted, on an axis of their own."),
    Slip("transpose(0, 1)", "sum(1)", "You add the heads up. Each should keep its own map."),
    Slip("transpose(0, 1)", "mean(1)", "You average the heads. Each should keep its own map."),
    Slip("weights", "Still folded: the first axis holds sentences and heads."),
]

# ---- misled ----


def misled_inputs():
    cases = ([2, 2, 2, 5, 5], 2), ([2, 5, 3], 2), ([4, 4, 4], 3), ([1, 3], 4), ([7, 2, 5], 1)
    return [(torch.tensor(lens), num_heads) for lens, num_heads in cases]


def misled(valid_lens, num_heads):
    given = valid_lens.repeat(num_heads).reshape(-1, num_heads)
    wrong = (given != valid_lens[:, None]).any(1)
    return wrong.nonzero().flatten().tolist()


INDEX = "torch.arange(len(valid_lens))"
MISLED = [
    Slip("!=", "==", "any", "all",
         "Those are the sentences that get the right lengths. List the others."),
    Slip("any", "all", "You ask that every head is wrong. One wrong head is enough."),
    Slip("any(1)", "flatten()",
         "Those are places in the folded batch. Return sentences: place // num_heads, each once."),
    Slip(".any(1)", "", "flatten()", "unbind(1)[0]",
         "The right sentences, one time per wrong head: name each once."),
    Slip("any(1)", "any(0)", "Those are heads. Which sentences do they belong to?"),
    Slip(".any(1)", "[:, 0]",
         "You look at each sentence's first head only. The others may be misled too."),
    Slip("reshape(-1, num_heads)", "reshape(num_heads, -1).T",
         "Nobody? That would be so if heads were the outer axis. "
         "In D2L's folding sentences are: reshape to (sentences, num_heads)."),
    Slip("valid_lens.repeat", f"{INDEX}.repeat", "valid_lens[:, None]", f"{INDEX}[:, None]",
         "You compare whose length it is. Another sentence's may be the same number: compare the "
         "lengths themselves."),
    Slip("(given != valid_lens[:, None]).any(1)", "(valid_lens != valid_lens[0]).any() | (0 > "
                                                  "valid_lens)",
         "Not all of them, even where lengths differ: some sentences get the right length by "
         "luck."),
    *(Slip(f"[*range(len(wrong))][{part}]",
           "Neither the first nor the last sentence is always right. With lengths 2, 5, 3 and two "
           "heads repeat gives 2, 5, 3, 2, 5, 3: the first gets 2 and 5, the last 5 and 3.")
      for part in ("1:-1", "1:", ":-1")),
    Slip("[*range(len(wrong))]",
         "Not all of them: some heads get the right length by luck, and with equal lengths all "
         "do."),
    Slip("wrong.nonzero().flatten()", "valid_lens[wrong]",
         "Those are lengths. Return the sentences' numbers."),
    Slip("int(wrong.sum())", "That is how many. Return a list of which."),
    Slip("flatten()", "flatten().add(1)", "Sentences count from 0."),
]

# ---- pack-weights ----


def pack_inputs():
    """PyTorch's own layout needs square matrices; their width is tried twice."""
    generator = torch.Generator().manual_seed(9)
    return [tuple(torch.randn(4, width, width, generator=generator)) for width in (4, 7)]


def pack(W_q, W_k, W_v, W_o):
    return torch.cat([W_q, W_k, W_v]), W_o


THREE = "[W_q, W_k, W_v]"
PACK_WEIGHTS = [
    Slip("[W_q, W_k", "[W_k, W_q",
         "Keys first is the order of 0.17's arguments. PyTorch wants queries, keys, values."),
    Slip(THREE, "[W_v, W_k, W_q]", "Values come last: queries, keys, values."),
    Slip("W_k, W_v]", "W_v, W_k]", "Keys and values are swapped: queries, keys, values."),
    Slip("W_v])", "W_v], 1)",
         "Yours is d x 3d, side by side. There are more outputs, and outputs are rows."),
    Slip("cat", "stack",
         "Three matrices in a stack make three axes. PyTorch wants one tall matrix of 3d rows."),
    Slip(f"cat({THREE})", f"stack({THREE}, 1).flatten(0, 1)",
         "Your rows alternate between the three. Each matrix stays in one piece."),
    Slip("W_v])", "W_v, W_o])", "W_o has a place of its own: only three matrices are packed."),
    Slip("]), W_o", "]), W_o.T", "W_o is turned around: both sides hold it as (outputs, inputs)."),
    *(Slip(f"torch.cat([W_q.T, W_k.T, W_v.T]), {last}",
           "No turning around: both sides hold (outputs, inputs).") for last in ("W_o", "W_o.T")),
    Slip(f"W_o, torch.cat({THREE})", "They are in the other order: in_proj_weight is the first."),
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
        "unfold-weights", reference=unfold, inputs=unfold_inputs, slips=UNFOLD_WEIGHTS,
        praise="Right: out of the batch, then to the front.",
        hints=["The first axis counts sentence 0 head 0, sentence 0 head 1, and so on. "
               "Which of the two is the outer one?",
               "weights.unflatten(0, (-1, num_heads)) "
               "gives (batch, heads, queries, keys). What is left to do?"],
    ),
    Build(
        "misled", reference=misled, inputs=misled_inputs, slips=MISLED,
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
        "pack-weights", reference=pack, inputs=pack_inputs, slips=PACK_WEIGHTS,
        praise="Right: rows under rows, nothing turned around.",
        hints=["in_proj_weight has 3d rows and d columns: which axis grows?",
               "torch.cat([...]) puts matrices under one another. W_o stays as it is."],
    ),
]
