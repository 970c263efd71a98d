"""The exercises of lesson 10, linear attention."""
import math

import torch

from .kinds import Build, Choice

# ---- share-mask ----


def share_mask(a):
    return mask_of(a, lambda i, j: a[j + 1:i + 1])


def mask_of(a, between, later=0):
    """Products of the shares that ``between(i, j)`` picks."""
    return [[math.prod(between(i, j)) if j <= i else later for j in range(len(a))]
            for i in range(len(a))]


SHARE_MASK = [
    (lambda a: mask_of(a, lambda i, j: a[j:i + 1]),
     "The share of step j itself is in it. A memory lets go before it adds: "
     "what step j stores is touched by steps j + 1 to i."),
    (lambda a: mask_of(a, lambda i, j: a[j:i]),
     "One step early: between storing at j and reading at i lie the steps j + 1 to i."),
    (lambda a: mask_of(a, lambda i, j: a[j + 1:i]),
     "The share of step i is missing: it lets go before it adds and reads."),
    (lambda a: [list(column) for column in zip(*share_mask(a))],
     "Rows and columns are swapped: row i is the step that reads, column j the one that stored."),
    (lambda a: mask_of(a, lambda i, j: a[j + 1:i + 1], later=1),
     "What is stored later than step i isn't there yet: 0."),
    (lambda a: [[a[i] ** (i - j) if j <= i else 0 for j in range(len(a))] for i in range(len(a))],
     "That holds where all shares are equal. Here each step has its own: multiply them."),
    (lambda a: mask_of(a, lambda i, j: [1]),
     "That is the causal mask, in which nothing is forgotten."),
    (lambda a: mask_of(a, lambda i, j: a[1:i + 1]),
     "That is what is left of the first token. What was stored at j has met steps j + 1 to i."),
]

# ---- window-memory ----


def window_memory(q, k, v, w):
    return in_band(q, k, v, lambda age: (age >= 0) & (age < w))


def in_band(q, k, v, sees):
    """Linear attention in which a token sees those whose age ``sees`` allows."""
    steps = torch.arange(len(q))
    return (q @ k.mT * sees(steps[:, None] - steps)) @ v


WINDOW_MEMORY = [
    (lambda q, k, v, w: in_band(q, k, v, lambda age: (age >= 0) & (age <= w)),
     "One token too many: with itself a token sees w tokens, so step t - w has left the window."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: (age >= 0) & (age < w - 1)),
     "One token too few: the token of step t - w + 1 is still inside."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: age >= 0),
     "Nothing leaves the memory: subtract what the token of step t - w had added."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: (age > 0) & (age < w)),
     "A token doesn't see itself: write before you read."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: (age > 0) & (age <= w)),
     "You read before the new token is written and the old one has left."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: age.abs() < w),
     "Tokens see the future. The window lies before a token, itself included."),
    (lambda q, k, v, w: in_band(q, k, v, lambda age: age >= 0)
     - in_band(q, k, v, lambda age: age == w),
     "What has left is back a step later: the subtraction must stay in the memory."),
    (lambda q, k, v, w: window_memory(q, k, v, w) / math.sqrt(q.shape[1]),
     "The scores are divided by √d. Here they are plain products."),
]


def window_inputs():
    generator = torch.Generator().manual_seed(4)
    return [(*torch.randn(3, n, d, generator=generator), w)
            for n, d, w in [(7, 3, 2), (5, 4, 3), (6, 2, 1), (4, 3, 9)]]


EXERCISES = [
    Choice(
        "keeps", right="b",
        praise="Right: 512, 16,384, 65,536 and 2,048,000 numbers.",
        hints=["For each: what must be there when token 4,001 comes?",
               "A head of linear attention keeps (d/h)², and there are h. "
               "Self-attention keeps keys and values of all tokens."],
        reasons={
            "a": "More heads are smaller ones: h memories of (d/h)² cells are d²/h together.",
            "c": "An LSTM keeps a state and a cell of width d: 512 numbers. "
                 "Four memories of 64 x 64 are more.",
            "d": "Keys and values are 2nd numbers. At n = 4,000 that is 31 times d².",
        },
    ),
    Build(
        "share-mask", reference=share_mask,
        inputs=lambda: [([0.5, 0.25, 0.8, 0.4],), ([0.9, 0.3, 0.7],), ([0.6],)],
        misconceptions=SHARE_MASK,
        praise="Right: all shares of 1 give the causal mask, equal ones powers.",
        hints=["What was stored at step 1 and is read at step 3 has met steps 2 and 3.",
               "math.prod(a[j + 1:i + 1]); for i = j the slice is empty, and its product 1."],
    ),
    Choice(
        "brackets", right="abe",
        praise="Right: nothing may stand between the two products.",
        hints=["Three of them are right. What stands between Q Kᵀ and V?",
               "Write each with all its parts. A mask or a softmax acts on single scores; "
               "a number can be moved anywhere."],
        reasons={
            "c": "KᵀV holds all tokens, so the first output would see the last token. "
                 "With a mask the sum must grow token by token.",
            "d": "is the softmax of lesson 01: it takes the exponential of each score, one by "
                 "one, which no moving of brackets gives.",
        },
    ),
    Choice(
        "why-linear", right="ace",
        praise="Right: the same cost per token, a memory that gets full, and forms that agree.",
        hints=["Three statements are supported. One of the others is answered by the table of "
               "'First measurement: work'.",
               "Who paid for the newest pairs in 'The delta rule, from one question'?"],
        reasons={
            "b": "Below n = d it does more: 4nd² against 4n²d.",
            "d": "The memory has as many cells as before. With rate 1 it uses them for the "
                 "newest pairs, and in a crowd it answered fewer questions than a sum.",
        },
    ),
    Build(
        "window-memory", reference=window_memory, inputs=window_inputs,
        misconceptions=WINDOW_MEMORY,
        praise="Right: a sum can be undone. The last w keys and values must be kept for it.",
        hints=["At step t add the outer product of k[t] and v[t]. Which token leaves?",
               "The token of step t - w leaves, if there is one: subtract its outer product from "
               "the memory, then read."],
    ),
]
