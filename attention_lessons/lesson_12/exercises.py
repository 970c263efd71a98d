"""The exercises of lesson 12, a museum of silent bugs. Their code stands in ``museum``."""
import torch

from ..exercises.exhibits import Exhibit, changed_answers
from ..exercises.kinds import Choice
from .museum import CASES


def exhibit(name: str, right: str, reasons: dict[str, str], siblings: list[str],
            hints: list[str], praise: str, **options) -> Exhibit:
    symptom = Choice(f"{name}-symptom", hints[:2], "", right=right, reasons=reasons)
    return Exhibit(name, hints, praise, case=CASES[name], symptom=symptom, siblings=siblings,
                   **options)


def of_finite_values(case):
    """Right code that takes NaN and infinity for 0."""
    return lambda q, k, v, lens: case.code()(q, k, v.nan_to_num(0.0, 0.0, 0.0), lens)


def in_float32(case):
    """Right code whose answers are float32, whatever comes in."""
    return changed_answers(case, torch.Tensor.float)


EXERCISES = [
    exhibit(
        "polarity", "b",
        {"a": "−1e9 is a finite number, and a softmax of finite numbers is finite.",
         "c": "Weights still add up to 1, so answers are means of values, as large as before. "
              "But of which values?",
         "d": "`keep` and `~keep` have the same shape."},
        ["counts hidden keys with a score of 0, which is no weight of 0",
         "lets one key too many through"],
        ["masked_fill writes where its mask is True. Where is `keep` True?",
         "Change what stands at and beyond the lengths, in k and in v. What may change?",
         "Call read twice, before and after k[i, n:] and v[i, n:] are replaced, with lens smaller "
         "than the number of keys, and assert that the answers are close."],
        "Right: padding may hold any finite number, and this test makes it so.",
        careful=(of_finite_values, "it fills the padding of v with nan or infinity, and 0 times "
                 "that is nan. A large number will do.")),
    exhibit(
        "heads", "c",
        {"a": "No number is moved to other heads alone: look at which axis is in front of which.",
         "b": "The softmax comes before the line that goes wrong.",
         "d": "The answers hold b·n·d numbers, whatever their order: the reshape always works."},
        ["splits without a transpose, so that a head gets whole tokens",
         "gives head i every num_heads-th column"],
        ["A reshape keeps the order in which numbers lie in memory. Which axis is second there?",
         "Compute each head from its columns alone, q[..., :d // num_heads] and so on, and join.",
         "Use a batch, queries, keys, heads and a width that all differ; "
         "X.chunk(num_heads, -1) gives the heads' columns."],
        "Right: a loop over heads is slow, and nobody gets its axes wrong."),
    exhibit(
        "axis", "a",
        {"b": "Each column of scores has a number: key j is seen by query j.",
         "c": "Later keys still get weight 0 here. What do the weights get divided by?",
         "d": "Nothing makes them equal: scores differ."},
        ["hides the future after the softmax, whose sum has seen it",
         "sees one token ahead"],
        ["Axis 1 holds the queries. What adds up to 1 then?",
         "The promise has two halves: which tokens are read, and that weights add up to 1. "
         "What may change in token 0's answer if the last token changes?",
         "Call look_back, change the last token in q, k and v, call it again: "
         "all answers but the last must stay."],
        "Right: a future that only enters a sum is still a future."),
    exhibit(
        "scale", "d",
        {"a": "Scores of any finite size give finite weights.",
         "b": "The scores are divided by too large a number. Do they come nearer to each other?",
         "c": "The softmax comes afterwards; its rows add up to 1."},
        ["divides by the width, without a root",
         "doesn't divide at all"],
        ["Score products of d numbers have a spread of √d. Which d is it here?",
         "Shapes, sums of rows, masks: all are right. What is left to look at is the values.",
         "For one head: torch.softmax(q[..., :w] @ k[..., :w].mT / w ** 0.5, -1), "
         "with w = d // num_heads."],
        "Right: only numbers from elsewhere tell a wrong factor."),
    exhibit(
        "dropout", "b",
        {"a": "In training, dropout is as it should be.",
         "c": "What is kept is divided by 1 − p, so the mean stays.",
         "d": "Dropped weights get no gradient, the others do."},
        ["makes a new nn.Dropout in each call, which is in training mode",
         "drops answers in place of weights, in evaluation too"],
        ["F.dropout has a third argument. What is its default?",
         "layer.eval() sets layer.training to False. Who reads it?",
         "Build Reader(8), call eval(), call it twice on the same X."],
        "Right: one line, and it belongs into every layer's tests."),
    exhibit(
        "table", "c",
        {"a": "A tensor that is no nn.Parameter isn't trained.",
         "b": "The rows are computed as they should be.",
         "d": "A sum of float16 and float32 raises nothing. Which type has it?"},
        ["keeps its rows in a list, where no layer looks for them",
         "makes the table a parameter, which is trained"],
        ["Values in float32 on one device are right. What else does the promise say?",
         "layer.half() or layer.bfloat16() changes parameters and buffers. What is the type of the "
         "answer to an input of that type? And what does layer.parameters() hold?",
         "Waves(20, 8).half() must answer a half X by a float16 tensor, and have no parameters. "
         "How its buffer is called is its own affair."],
        "Right: .half() stands in for a GPU here, which fewer tests have at hand.",
        careless=(in_float32, "float64 + float32 is float64, so .double() shows nothing here. "
                  "Try a narrower type.")),
    exhibit(
        "folded", "a",
        {"b": "Each row gets a length of some sentence. Of which?",
         "c": "Folding and unfolding are as they should be.",
         "d": "`repeat` makes b · num_heads lengths, the same number as rows."},
        ["takes the longest length for all",
         "unfolds as if a head's sentences were next to one another"],
        ["Lengths 2, 5, 3 and two heads: write down both lists.",
         "Choose lengths that all differ. What does a sentence answer alone, without padding?",
         "Compare row i with a loop over heads on q[i], k[i, :n], v[i, :n]."],
        "Right: equal lengths would have hidden it."),
    exhibit(
        "positions", "d",
        {"a": "Each sentence takes one row of the table here.",
         "b": "An axis of length 1 stretches to any length.",
         "c": "Rows are counted from 0."},
        ["counts on from one sentence to the next",
         "adds the last row to all steps"],
        ["Which axis of X counts sentences, which counts steps?",
         "with_positions(torch.zeros(b, n, d), table) shows what is added to each step.",
         "Loop over sentences and steps: X[i, t] + table[t]."],
        "Right: with b = n it would even have looked like positions."),
    exhibit(
        "maps", "b",
        {"a": "`output` is made of `hidden`.",
         "c": "They come out of a softmax.",
         "d": "No dropout is here."},
        ["sets the weights of padding to 0, so that rows add up to less than 1",
         "normalises over queries"],
        ["Two things are returned, and they belong together. How?",
         "From weights and values you can compute the output yourself.",
         "assert that maps @ v is close to output, for lengths below the number of keys."],
        "Right: the map shown must be the map used."),
    exhibit(
        "in-place", "c",
        {"a": "That is raised for a leaf that takes gradients. A product of tensors is no leaf.",
         "b": "The first call divides once, as it should.",
         "d": "The mask is right. Whose scores are these, though?"},
        ["writes the mask into the scores that it was given",
         "subtracts the largest score in place"],
        ["a = a / b makes a new tensor. What does a /= b do?",
         "The promise has a last sentence: test that.",
         "Keep scores.clone(), call weigh, compare the two."],
        "Right: what is yours must be yours afterwards."),
    exhibit(
        "half", "a",
        {"b": "Positions up to 65,504 fit float16, and far more fit bfloat16.",
         "c": "In float32 nothing is changed by the line.",
         "d": "Everything is of X's type then, the sum too."},
        ["rounds the angles before their sine",
         "rounds the rates"],
        ["bfloat16 keeps 8 binary digits. What is torch.tensor(257).bfloat16()?",
         "In float32 all is right, and so is it for the first steps. Which input is left?",
         "Compare add_waves of 600 steps in bfloat16 with that in float32, to 0.01."],
        "Right: a test in single precision can't see it, however exact."),
    exhibit(
        "cache", "d",
        {"a": "There is no future to read: the new token is the last.",
         "b": "The cache is as it should be.",
         "c": "Which corner of the (1, m) table does tril() begin in?"},
        ["has no mask, so that new tokens read those after them",
         "puts new tokens before old ones"],
        ["tril() lets query i read keys 0 to i. What is i for a single new token?",
         "Two ways to the same answer: all tokens at once, or some now and some later.",
         "Go on with more than one token: go_on of X[:, :3], then of X[:, 3:] with the cache, "
         "joined, must be go_on of X."],
        "Right: a cache must change the time, and nothing else."),
    exhibit(
        "left", "b",
        {"a": "Row 0 is added to padding in right code, too; nobody reads it.",
         "c": "Rows rise from left to right.",
         "d": "Longer and shorter sentences are shifted by different amounts."},
        ["subtracts the length in place of the padding",
         "is one row late, so that the first two tokens share row 0"],
        ["Where does a sentence of 2 tokens begin in a batch of 5 steps?",
         "The same sentence, once with more padding: what is added to its tokens?",
         "Compare X[i, -n:] + table[:n] with what comes out."],
        "Right: a sentence must not know who else is in its batch."),
    exhibit(
        "loss", "c",
        {"a": "Losses of padding are multiplied by 0.",
         "b": "It is divided by too much, so it isn't larger.",
         "d": "What is multiplied by 0 sends no gradient."},
        ["counts the losses of padding",
         "divides by the number of sentences"],
        ["How many numbers does the mean of the promise have, how many this one?",
         "Pick the real tokens by a loop or by an index, and take the mean.",
         "F.cross_entropy(logits[keep], targets[keep]) is that mean."],
        "Right: with it, losses of different batches can be compared."),
    exhibit(
        "decay", "a",
        {"b": "A norm's weights have one axis.",
         "c": "They have two axes, so they do.",
         "d": "Decay changes no gradient."},
        ["lets biases and norms decay",
         "lets everything decay"],
        ["Which parameters have two axes? Not only those of linear layers.",
         "With gradients of zeros, a step of AdamW is decay alone.",
         "Set every grad to zeros, step, and see which parameters have changed."],
        "Right: whoever isn't in the batch shrinks all the same, so rare words vanish first."),
    exhibit(
        "forcing", "d",
        {"a": "What is read holds the answer: nothing is quicker to learn.",
         "b": "That would be learned from reads shifted twice.",
         "c": "`start` is cut off here, which raises nothing."},
        ["begins with the last token in place of `start`",
         "reads the very token that it must predict, from the second step on"],
        ["At step t the decoder predicts tokens[:, t]. What may it have read?",
         "Write tokens of 5 different numbers, and the two rows that should come out.",
         "reads[:, 0] is start, and reads[:, 1:] is tokens[:, :-1]."],
        "Right: what looks like a miracle in the loss is mostly a leak."),
]
