"""Right code hears that it is right in every order of its operations, and in both types.

Where scores are loud, or sums are long, the last digits depend on both.
"""
from itertools import chain

import pytest
import torch

from attention_lessons.exercises import check, find
from attention_lessons.exercises.kinds import Slip

SCORES = [  # scaled scores of queries q and keys k, which are transposed already
    "{q} @ {k} / {d}", "({q} / {d}) @ {k}", "{q} @ {k} * (1 / {d})",
    "({q} / ({d}) ** 0.5) @ ({k} / ({d}) ** 0.5)", "({q}.flip(-1) @ {k}.flip(-2)) / {d}",
    "({q}[..., None] * {k}[..., None, :, :]).sum(-2) / {d}"]
ATTENTION = {
    "attend": ("queries", "keys.mT", "math.sqrt(queries.shape[-1])"),
    "pooling": ("queries", "keys.T", "math.sqrt(queries.shape[-1])"),
    "self-attention": ("queries", "keys.T", "math.sqrt(queries.shape[-1])"),
    "multi-head-class": ("q", "k.mT", "q.shape[-1] ** 0.5"),
    "self-attention-class": ("q", "k.mT", "q.shape[-1] ** 0.5"),
    "tiles-class": ("queries", "K.mT", "queries.shape[-1] ** 0.5"),
}
MIX = "(a * x + b * y) / (a + b)"
READ = "(q[:, :, i] * z).sum(-1, keepdim=True)"
NORM, WIDTH = "F.layer_norm(Y, Y.shape[-1:], eps=1e-6)", "Y.shape[-1]"
PAST, LEFT = "(q @ k.T * M) @ v + since[:, None] * (q @ S)", "(k * M[-1][:, None]).T @ v"
RIGHT = {  # changes of correct code that keep it right: old, new, old, new, ...
    "merge-states": [
        (MIX, "a / (a + b) * x + b / (a + b) * y"), (MIX, "x + (y - x) * b / (a + b)"),
        ("s * math.exp(m - new)", "math.exp(m - new + math.log(s)) if s else 0.0")],
    "gradient-importance": [
        ("abs().mean(0)", "flip(0).square().sqrt().mean(0)"),
        ("mean.norm(dim=-1, keepdim=True)", "(mean @ mean.T).diag()[:, None] ** 0.5"),
        ("slopes.abs().mean(0)", "slopes.abs().sum(0)")],
    "linear-class": [
        (f"y / {READ}", f"y * (1 / {READ})"), (READ, "(q[:, :, i, None] @ z[..., None])[:, :, 0]"),
        ("(q[:, :, i, None] @ S)[:, :, 0]", "(q[:, :, i, :, None] * S).sum(-2)"),
        ("nn.functional.elu(X) + 1", "torch.where(X > 0, X + 1, X.clamp(max=0).exp())")],
    "share-chunk": [
        (PAST, PAST.replace("since[:, None] * (q @ S)", "(since[:, None] * q) @ S")),
        ("(since[:, None] / since).tril()", "(since.log()[:, None] - since.log()).exp().tril()"),
        ("a.cumprod(0)", "a.log().cumsum(0).exp()"), (LEFT, "k.T @ (v * M[-1][:, None])")],
    "translate": [
        (NORM, "(Y - Y.mean(-1, True)) * (Y.var(-1, False, keepdim=True) + 1e-6) ** -0.5"),
        (NORM, f"(Z := Y - Y.sum(-1, True) / {WIDTH}) / (Z.square().mean(-1, True) + 1e-6).sqrt()"),
        ('F.gelu(X @ W_1, approximate="tanh")', "0.5 * (H := X @ W_1) * (1 + torch.tanh("
         "(2 / torch.pi) ** 0.5 * (H + 0.044715 * H ** 3)))")],
}
WAYS = [*((name, (SCORES[0].format(q=q, k=k, d=d), order.format(q=q, k=k, d=d)))
          for name, (q, k, d) in ATTENTION.items() for order in SCORES),
        *chain(*([(name, change) for change in changes] for name, changes in RIGHT.items()))]


def double(X):
    return X.double() if isinstance(X, torch.Tensor) and X.is_floating_point() else X


def wide(right):
    """A function, or a class, that computes in float64 whatever it is given."""
    if not isinstance(right, type):
        return lambda *arguments: right(*map(double, arguments))

    class Wide(right):
        def forward(self, *inputs):
            return right.forward(self.double(), *map(double, inputs)).to(inputs[0].dtype)

    return Wide


@pytest.mark.parametrize("dtype", [lambda right: right, wide], ids=["float32", "float64"])
@pytest.mark.parametrize("name, change", WAYS)
def test_every_order_of_right_code_is_right(name, change, dtype):
    exercise = find(name)
    right = Slip((*change, "")).of(exercise.reference)
    result = check(name, dtype(right))
    assert result.state == "right", result
