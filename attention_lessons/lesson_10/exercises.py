"""The exercises of lesson 10, linear attention."""
import torch

from ..exercises.kinds import Build


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


EXERCISES = [Build("share-chunk", chunk, SHARE_CHUNK, chunk_inputs)]
