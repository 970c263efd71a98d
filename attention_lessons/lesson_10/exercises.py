"""The exercises of lesson 10, linear attention."""
import torch

from ..exercises.kinds import Build, Choice

EXERCISES = []


EXERCISES.append(Choice(
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
    }))


EXERCISES.append(Choice(
    "brackets", right="abe",
    praise="Right: nothing may stand between the two products.",
    hints=["Three of them are right. What stands between Q Kᵀ and V?",
           "Write each with all its parts. A mask or a softmax acts on single scores; "
           "a number can be moved anywhere."],
    reasons={
        "c": "is false: KᵀV holds all tokens, so the first output would see the last "
             "token. With a mask the sum must grow token by token.",
        "d": "is the softmax of lesson 01: it takes the exponential of each score, one by "
             "one, which no moving of brackets gives.",
    }))


EXERCISES.append(Choice(
    "why-linear", right="ace",
    praise="Right: the same cost per token, a memory that gets full, and forms that agree.",
    hints=["Three statements are supported. One of the others is answered by the table of "
           "'First measurement: work'.",
           "Who paid for the newest pairs in 'The delta rule, from one question'?"],
    reasons={
        "b": "is false: below n = d it does more: 4nd² against 4n²d.",
        "d": "is false: the memory has as many cells as before. With rate 1 it uses them "
             "for the newest pairs, and in a crowd it answered fewer questions than a sum.",
    }))


# ---- share-chunk ----


def chunk_inputs():
    for c, d in ((4, 3), (5, 2), (1, 4)):
        yield torch.randn(d, d), *torch.randn(3, c, d), 0.3 + 0.6 * torch.rand(c)


def chunk(S, q, k, v, a):
    since = a.cumprod(0)
    M = (since[:, None] / since).tril()
    Y = (q @ k.T * M) @ v + since[:, None] * (q @ S)
    return Y, since[-1] * S + (k * M[-1][:, None]).T @ v


READ, STORED = "since[:, None] * (q @ S)", "(k * M[-1][:, None]).T @ v"
SHARE_CHUNK = [
    *((old, new, "A step reads what it stored itself, too: tril(), not tril(-1).")
      for old, new in (("tril()", "tril(-1)"), ("k.T * M", "k.T * M.tril(-1)"))),
    *((old, new, "The ratio is upside down: of what step j stored, since[i] / since[j] is left "
                 "at step i.")
      for old, new in (("since[:, None] / since", "since / since[:, None]"),
                       ("k.T * M", "k.T * (1 / M).tril()"))),
    *(("* S +", f"* {old} +", STORED, "v.T @ (k * M[-1][:, None])",
       "The outputs are right. But the memory's rows belong to keys, its columns to values: "
       "add k vᵀ, not v kᵀ.") for old in ("S", "S.T")),
    (READ, "q @ S",
     "The outputs read the memory as it was before the chunk. At step t the shares a[0] to "
     "a[t] have been let go of it."),
    (READ, f"{READ} / a[:, None]",
     "A step keeps its share before it reads: at step t the memory has met a[0] to a[t]."),
    ("/ since)", "* a / since)",
     "What step j stores has not met a[j]: a memory lets go before it adds."),
    (STORED, "k.T @ v",
     "The outputs are right. But what step j stored meets a[j + 1] and all later shares before "
     "the chunk ends."),
    (f" + {READ}", "", "The outputs don't read what was stored before the chunk: S is missing."),
    ("since[-1] * S + ", "",
     "The outputs are right. But the memory after the chunk holds the chunk alone: S is missing."),
    ("since[-1] * S", "S",
     "The outputs are right. But the memory from before has met all shares of the chunk when "
     "it ends."),
    (".tril()", "", "Tokens see the future: step i has nothing of what is stored later."),
    ("a.cumprod(0)", "torch.ones_like(a)", "Nothing is let go of: the shares are missing."),
]

EXERCISES.append(Build(
    "share-chunk", reference=chunk, inputs=chunk_inputs, slips=SHARE_CHUNK,
    praise="Right: the shares go along from chunk to chunk, and through each of them.",
    hints=["a.cumprod(0) holds a[0], a[0] a[1], ...: what is left of the memory at each step.",
           "Of what step j stored, since[i] / since[j] is left at step i: a mask with tril().",
           "The memory after it: since[-1] * S, and each key times since[-1] / since[j]."]))
