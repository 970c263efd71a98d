"""The exercises of lesson 11, other frameworks. All are checked in PyTorch alone."""
import torch
from torch.nn import functional as F

from ..exercises.kinds import Build


# ---- to-kernel ----

def kernels(W_q, W_o, num_heads):
    entering = W_q.T.unflatten(1, (num_heads, -1))
    leaving = W_o.T.unflatten(0, (num_heads, -1))
    return entering, leaving


ENTERING, LEAVING = "W_q.T.unflatten(1, (num_heads, -1))", "W_o.T.unflatten(0, (num_heads, -1))"
DEALT = "W_q.T.unflatten(1, (-1, num_heads)).transpose(1, 2)"
TO_KERNEL = [
    ("W_q.T.unflatten(1", "W_q.unflatten(0", "W_o.T.unflatten(0", "W_o.unflatten(1",
     "Still (out, in): Flax and Keras put a layer's inputs first. Turn each matrix, then part it."),
    (ENTERING, "W_q.T", LEAVING, "W_o.T",
     "Turned, but the heads are in one piece. Part the axis of hiddens into (heads, head size)."),
    *(("W_o.T.unflatten(0", new, "W_q is right. In W_o the heads are on the side of the "
                                 "inputs: turn it, then part its first axis.")
      for new in ("W_o.T.unflatten(1", "W_o.unflatten(0", "W_o.unflatten(1")),
    *((ENTERING, DEALT, LEAVING, new,
       "The shapes are right, but each head gets every other column. "
       "A head is a block of columns: heads are the outer axis.")
      for new in (LEAVING, "W_o.T.unflatten(0, (-1, num_heads)).transpose(0, 1)")),
    ("(num_heads, -1)", "(-1, num_heads)",
     "Heads and head size changed places: (in, heads, head size)."),
    (ENTERING, "W_q.reshape(W_q.shape[1], num_heads, -1)",
     LEAVING, "W_o.reshape(num_heads, -1, W_o.shape[0])",
     "A reshape gives the shape and mixes rows with columns: turn the matrix first."),
    ("leaving, entering", "First W_q's kernel, then W_o's."),
]


# ---- upside-down ----

def upside_down_inputs():
    cases = ([2, 6, 0, 6], 6), ([4, 3, 4, 1, 2], 4), ([1, 2], 3)
    return [(torch.tensor(lens), keys) for lens, keys in cases]


def upside_down(valid_lens, num_keys):
    nothing_left = valid_lens == num_keys
    return nothing_left.nonzero().flatten().tolist()


UPSIDE_DOWN = [
    ("== num_keys", "== 0",
     "With length 0, `keep` hides no key when it is read upside down: that sentence reads all "
     "of its padding. NaN needs a softmax over nothing."),
    ("== num_keys", "< num_keys",
     "Those have padding, and upside down they read it: wrong numbers, but numbers. "
     "Which sentences have no key left?"),
    ("== num_keys", "% num_keys == 0",
     "Half of them: upside down, a sentence of length 0 sees every key."),
    ("== num_keys", "> 0",
     "Upside down, a sentence with some padding left still has keys to read."),
    ("== num_keys", ">= 0",
     "Not all: a sentence with padding has keys left to read, the wrong ones."),
    ("== num_keys", "< 0", "Some do: where every key was valid, every key is hidden."),
    ("num_keys\n", "valid_lens.max()\n",
     "The longest of the batch need not fill all keys: compare with num_keys."),
    ("flatten()", "flatten().add(1)", "Sentences count from 0."),
    ("int(nothing_left.sum())", "That is how many. Return a list of which."),
    ("nothing_left.tolist()",
     "True and False for each sentence; return the numbers of those with True."),
]


# ---- translate ----

def block_inputs():
    return [(scale * torch.randn(3, 4, 5), torch.randn(5, 12) / 2, torch.randn(12, 5) / 3)
            for scale in (2.0, 0.001)]


def block(X, W_1, W_2):
    """Flax: nnx.LayerNorm(X + gelu(X W_1) W_2), with its epsilon and JAX's GELU."""
    Y = X + F.gelu(X @ W_1, approximate="tanh") @ W_2
    return F.layer_norm(Y, Y.shape[-1:], eps=1e-6)


VARIES = ("Inputs that hardly vary come out too small: PyTorch's layer norm adds 0.00001 to the "
          "variance. How much does Flax's? The table of habits has a column for GELU as well.")
TRANSLATE = [
    ("1e-6", "1e-5", VARIES), ("1e-6", "1e-5", '"tanh"', '"none"', VARIES),
    ("1e-6", "1e-3", "0.001 is Keras's epsilon. How much does Flax's layer norm add?"),
    ('"tanh"', '"none"',
     "Off in the fourth digit: jax.nn.gelu is the approximation by tanh, unless told otherwise."),
    ("Y = X + ", "Y = ", "The input itself is missing from the sum: X + ..."),
    ("Y", "The norm is missing: it comes last, over the sum."),
    ("Y = X + ", "Y = ", "return ", "return X + ",
     "The norm is taken of the sum, not of what is added."),
    ("F.layer_norm(Y, Y.shape[-1:], eps=1e-6)", "Y",
     "X @", "F.layer_norm(X, X.shape[-1:], eps=1e-6) @",
     "You normalise what goes into the network. Here the norm comes last, over the sum."),
    ("(Y - Y.mean(-1, True)) / (Y.var(-1, keepdim=True) + 1e-6).sqrt()",
     "Your variance divides by one less than the width. A layer norm's divides by the width: "
     "unbiased=False."),
    ("(Y - Y.mean(-1, True)) / (Y.var(-1, False, keepdim=True).sqrt() + 1e-6)",
     "You add epsilon to the root. It belongs in the root, added to the variance."),
    ('F.gelu(X @ W_1, approximate="tanh")', "F.relu(X @ W_1)", "ReLU in GELU's place."),
]


EXERCISES = [
    Build("to-kernel", kernels, TO_KERNEL,
          lambda: [(torch.randn(12, 5), torch.randn(9, 12), 3),
                   (torch.randn(8, 10), torch.randn(6, 8), 2)]),
    Build("upside-down", upside_down, UPSIDE_DOWN, upside_down_inputs),
    Build("translate", block, TRANSLATE, block_inputs),
]
