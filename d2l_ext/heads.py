"""Which heads matter: gates on heads, four measures of their worth, and smaller layers.

A head is named by its layer, as in ``model.named_modules()``, and its number:
``("decoder.0.cross", 2)``. Layers are ``MultiHeadAttention`` or, except for pruning,
``nn.MultiheadAttention``.
"""
import copy
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .recording import Watch, eagerly

Head = tuple[str, int]
Score = Callable[[], float]  # runs the model; higher is better


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Every ``MultiHeadAttention`` in ``model`` by name (``""`` if the model is one itself)."""
    modules = model.named_modules()
    return {name: layer for name, layer in modules if isinstance(layer, MultiHeadAttention)}


def all_heads(model: nn.Module) -> list[Head]:
    """Every head of every layer, in the model's order; all measures below keep this order."""
    kinds = MultiHeadAttention, nn.MultiheadAttention
    return [(name, head) for name, layer in model.named_modules() if isinstance(layer, kinds)
            for head in range(layer.num_heads)]


def by_layer(heads: Iterable[Head]) -> dict[str, list[int]]:
    """The numbers of the heads, by the names of their layers."""
    found: dict[str, list[int]] = {}
    for head in heads:
        match head:
            case [str(name), number]:
                found.setdefault(name, []).append(operator.index(number))
            case _:
                raise TypeError("a head is a pair such as ('decoder.0.cross', 2), "
                                f"got {head!r:.60}")
    return found


def check_numbers(numbers: Iterable[int], count: int, layer: str = "the layer") -> None:
    """All are numbers of heads in a layer of so many."""
    if unknown := set(numbers) - set(range(count)):
        raise ValueError(f"there are no heads {sorted(unknown)} in {layer}: it has 0 to "
                         f"{count - 1}")


# ---- gates ----

def gate_of(name: str, value: Tensor | list[int], count: int) -> Tensor:
    """The gates of a layer of so many heads, from what ``gates`` takes."""
    if not count:
        raise KeyError(f"{name!r} is no layer with heads: all_heads(model) lists them")
    if isinstance(value, list):
        check_numbers(value, count, repr(name))
        return torch.ones(count).index_fill(0, torch.tensor(value), 0.0)
    if value.shape[-1:] != (count,) or value.dim() > 2:
        raise ValueError(f"gates of {name!r} have shape {tuple(value.shape)}, "
                         f"expected ({count},) or (batch, {count})")
    return value


def multiplied(merged: Tensor, gate: Tensor) -> Tensor:
    """Heads side by side, (..., heads * size), each multiplied by its gate."""
    return merged * gate.repeat_interleave(merged.shape[-1] // gate.shape[-1], -1).to(merged)


class Gating(Watch):
    """What ``gates`` opens."""

    def __init__(self, model: nn.Module, values: Mapping[str, Tensor | list[int]]):
        super().__init__(model)
        counts = Counter(name for name, _ in all_heads(model))
        self.gates = {name: gate_of(name, value, counts[name]) for name, value in values.items()}

    def enters(self, module, args):
        """Before our ``W_o`` the heads stand side by side, (batch, steps, heads * size)."""
        layer = self.running[-1] if self.running else None
        super().enters(module, args)
        if (self.is_here(module) and isinstance(layer, MultiHeadAttention) and module is layer.W_o
                and self.names[layer] in self.gates):
            return multiplied(args[0], self.gates[self.names[layer]][..., None, :])

    def packed(self, given):
        """The heads side by side, multiplied, and only then projected."""
        if self.name not in self.gates:
            return super().packed(given)
        W_o, bias = given["out_proj_weight"], given["out_proj_bias"]
        alone = {"out_proj_weight": torch.eye(len(W_o)).to(W_o), "out_proj_bias": None}
        merged, weights = F.multi_head_attention_forward(**given | alone)
        return F.linear(multiplied(merged, self.gates[self.name]), W_o, bias), weights

    def __exit__(self, *error):
        super().__exit__(*error)
        if error == (None, None, None) and (idle := sorted(self.gates.keys() - self.seen)):
            raise ValueError(f"no attention ran in {idle} while gates were open")


@contextmanager
def gates(model: nn.Module, values: Mapping[str, Tensor | list[int]]) -> Iterator[None]:
    """While open, each head's output is multiplied by its gate before the heads are joined.

    values: for each layer's name its gates, (heads,), or (batch, heads) with gates for each
    example, or a list of the heads to close, whose gates are 0. Other layers stay as they are.
    """
    with eagerly(), Gating(model, values):
        yield


def closed(model: nn.Module, heads: Iterable[Head]) -> AbstractContextManager[None]:
    """``gates`` that are 0 for these heads and 1 for all others."""
    return gates(model, by_layer(heads))


# ---- four measures, in evaluation mode ----

@contextmanager
def measuring(model: nn.Module) -> Iterator[list[Head]]:
    """While open, ``model`` is in evaluation mode. Yields its heads."""
    modes = [(module, module.training) for module in model.modules()]
    heads = all_heads(model)
    if not heads:
        raise ValueError(f"{type(model).__name__} has no head that can be closed: none of its "
                         "layers is a MultiHeadAttention or an nn.MultiheadAttention")
    model.eval()
    try:
        yield heads
    finally:
        for module, training in modes:
            module.training = training


def score_without(model: nn.Module, score: Score, heads: list[Head]) -> float:
    """The score with these heads closed."""
    with closed(model, heads):
        return score()


def ablate_one(model: nn.Module, score: Score) -> Tensor:
    """How much the score falls when a head alone is closed (Michel et al. 2019, section 3.2).

    Returns one number per head, (heads,); below 0 where the head did harm.
    """
    with measuring(model) as heads:
        full = score()
        return torch.tensor([full - score_without(model, score, [head]) for head in heads])


def keep_one(model: nn.Module, score: Score) -> Tensor:
    """The score when a head is the only open one of its layer, one number per head, (heads,).

    From Michel et al. 2019, section 3.3.
    """
    def others(head: Head) -> list[Head]:
        return [other for other in heads if other[0] == head[0] and other != head]

    with measuring(model) as heads:
        return torch.tensor([score_without(model, score, others(head)) for head in heads])


def gradient(model: nn.Module, losses: Callable[[], Tensor]) -> Tensor:
    """How much the loss would move with each gate: I_h = E_x |∂L(x) / ∂ξ_h|.

    Each layer is divided by its ℓ2 norm (Michel et al. 2019, section 4.1), unless that is 0.
    losses: runs the model and returns the loss of each example, (batch,). Returns one number per
    head, (heads,), from one backward pass: every example has gates of its own.
    """
    with measuring(model) as heads:
        first = torch.no_grad()(losses)()
        if first.dim() != 1:
            raise ValueError("losses() must return one loss per example, (batch,), "
                             f"got shape {tuple(first.shape)}")
        opened = {name: torch.ones(len(first), count, device=first.device, requires_grad=True)
                  for name, count in Counter(name for name, _ in heads).items()}
        with gates(model, opened):
            slopes = torch.autograd.grad(losses().sum(), list(opened.values()))
    return torch.cat([F.normalize(slope.abs().mean(0), dim=0) for slope in slopes]).cpu()


def greedy(model: nn.Module, score: Score) -> tuple[list[Head], list[float]]:
    """Close heads one after the other, each time the one without which the score stays highest.

    Returns the heads in the order of closing, and the scores: with all open, then after each.
    """
    order: list[Head] = []
    with measuring(model) as remaining:
        scores = [score()]
        while remaining:
            results = {head: score_without(model, score, [*order, head]) for head in remaining}
            best = max(remaining, key=results.get)
            remaining.remove(best)
            order.append(best)
            scores.append(results[best])
    return order, scores


def rank_correlation(first: Sequence[float] | Tensor, second: Sequence[float] | Tensor) -> float:
    """Spearman's coefficient, the correlation of the ranks; equal values share a rank.

    1 means the same order, -1 the reverse, and NaN that all values on one side are equal.
    """
    both = [torch.as_tensor(values, dtype=torch.float64) for values in (first, second)]
    a, b = ((X[:, None] - X).sign().sum(1) for X in both)  # twice the rank, from the middle
    return round((a @ b / (a.norm() * b.norm())).item(), 12)


# ---- pruning ----

def prune_heads(attention: MultiHeadAttention, heads: Iterable[int]) -> MultiHeadAttention:
    """A copy of a layer without these heads.

    Their rows of W_q, W_k, W_v and their columns of W_o are gone; outputs are those of
    ``attention`` with the heads closed, but for rounding. Its ``state_dict`` loads into
    ``MultiHeadAttention(num_hiddens, heads left, head_size=...)``. Raises ValueError for a position
    module, and for heads that share keys and values.
    """
    position, num_heads, num_kv_heads = (
        attention.position, attention.num_heads, attention.num_kv_heads)
    if position is not None or num_kv_heads != num_heads:
        raise ValueError("can't prune heads with a position module, or that share keys and "
                         f"values, got {position=}, {num_heads=}, {num_kv_heads=}")
    gone, size = {operator.index(head) for head in heads}, attention.head_size
    check_numbers(gone, num_heads)
    kept = torch.tensor([head for head in range(num_heads) if head not in gone])
    if not len(kept):
        raise ValueError(f"heads={sorted(gone)} are all there are: a layer needs at least one")
    small = copy.deepcopy(attention)
    small.num_heads = small.num_kv_heads = len(kept)
    rows = (kept[:, None] * size + torch.arange(size)).flatten()
    for linear in (small.W_q, small.W_k, small.W_v):
        linear.out_features = len(rows)
        for name, parameter in list(linear.named_parameters()):
            setattr(linear, name, nn.Parameter(parameter[rows], parameter.requires_grad))
    small.W_o.in_features, W_o = len(rows), small.W_o.weight
    small.W_o.weight = nn.Parameter(W_o[:, rows], W_o.requires_grad)
    return small


def prune(model: nn.Module, heads: Iterable[Head]) -> nn.Module:
    """A copy of a model without these heads, each layer made smaller by ``prune_heads``."""
    small = {}
    for name, numbers in by_layer(heads).items():
        layer = model.get_submodule(name)
        if not isinstance(layer, MultiHeadAttention):
            raise TypeError(f"prune makes MultiHeadAttention smaller, and {name!r} is a "
                            f"{type(layer).__name__}: closed(model, heads) changes the output "
                            "alike, and MultiHeadAttention.from_torch makes one of PyTorch's")
        small[id(layer)] = prune_heads(layer, numbers)
    return copy.deepcopy(model, small)  # where the copy meets a layer again, it takes the small one


# ---- two prompts or models ----

def beside(first: Mapping[str, Sequence[Tensor]], second: Mapping[str, Sequence[Tensor]],
           ) -> dict[str, Tensor]:
    """Two recordings, of two prompts or two models: each layer's map in both, and the difference.

    Returns, by the names of ``first``, the first calls of both and first − second,
    (3, batch, heads, queries, keys). Layers are paired in their order; ValueError where their
    shapes differ.
    """
    maps = [[calls[0] for calls in seen.values()] for seen in (first, second)]
    shapes = [[tuple(each.shape) for each in side] for side in maps]
    if shapes[0] != shapes[1]:
        raise ValueError("only prompts of as many tokens, and models of as many heads, can be "
                         f"compared: their maps are {shapes[0]} and {shapes[1]}")
    return {name: torch.stack([one, other, one - other])
            for name, one, other in zip(first, *maps)}


@contextmanager
def patched(projection: nn.Linear, head: int, num_heads: int, run: Callable[[], object],
            ) -> Iterator[None]:
    """While open, a head's output is what it was in ``run()``, on another prompt of equal length.

    projection: what follows the heads side by side, such as ``W_o``. Its last call in ``run()``
    counts; ValueError where there is none, as in ``nn.MultiheadAttention``.
    """
    size, other = projection.in_features // num_heads, []
    columns = slice(head * size, (head + 1) * size)
    with projection.register_forward_pre_hook(lambda _, inputs: other.append(inputs[0].detach())):
        run()
    if not other:
        raise ValueError("run() never called the projection, so that nothing can be replaced")

    def replace(_: nn.Module, inputs: tuple[Tensor]) -> Tensor:
        X = inputs[0].clone()
        X[..., columns] = other[-1][..., columns]
        return X

    with projection.register_forward_pre_hook(replace):
        yield
