"""Which heads matter: gates on heads, four measures of their worth, and layers really made smaller.

A head is named by its layer, as in ``model.named_modules()``, and its number:
``("decoder.0.cross", 2)``.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, eagerly
from ._validate import check_integer
from .progress import progress_bar

Head = tuple[str, int]


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Every ``MultiHeadAttention`` in ``model`` by name (``""`` if the model is one itself)."""
    modules = model.named_modules()
    return {name: layer for name, layer in modules if isinstance(layer, MultiHeadAttention)}


def all_heads(model: nn.Module) -> list[Head]:
    """Every head of every layer, in the model's order; all measures below keep it.

    >>> all_heads(nn.ModuleDict({"first": MultiHeadAttention(4, 2)}))
    [('first', 0), ('first', 1)]
    """
    layers = attention_layers(model)
    return [(name, head) for name in layers for head in range(layers[name].num_heads)]


def numbered(heads: Iterable[int]) -> list[int]:
    """Heads of one layer as Python's integers: those of a set, a generator, a tensor.

    Raises TypeError for what is no integer.
    """
    if not isinstance(heads, Iterable):
        raise TypeError(f"heads must be several, such as [0, 2], got {heads!r:.60}")
    numbers = []
    for head in heads:
        number = head.item() if isinstance(head, Tensor) and not head.dim() else head
        check_integer(**{"a head": number})
        numbers.append(int(number))
    return numbers


def known(model: nn.Module, heads: Iterable[Head]) -> list[Head]:
    """Heads as pairs of a layer's name and one of Python's integers.

    Raises TypeError for what is no such pair, ValueError for heads that ``model`` doesn't have.
    """
    example = "('decoder.0.cross', 2)"
    if not isinstance(heads, Iterable):
        raise TypeError(f"heads must be several, such as [{example}], got {heads!r:.60}")
    pairs = []
    for head in heads:
        match head:
            case [str(name), number]:
                pairs += [(name, *numbered([number]))]
            case _:
                raise TypeError(f"a head is a pair such as {example}, got {head!r:.60}")
    unknown = set(pairs) - set(all_heads(model))
    if unknown:
        raise ValueError(f"there are no heads {sorted(unknown)}: the model has {all_heads(model)}")
    return pairs


@contextmanager
def gates(model: nn.Module, values: dict[str, Tensor]) -> Iterator[None]:
    """While open, each head's output is multiplied by its gate before it enters ``W_o``.

    A gate of 0 closes the head. values: layer -> gates (heads,), or (batch, heads) for one per
    example. Layers left out stay as they are. The hooks are gone afterwards, also after an
    exception. Raises KeyError for an unknown layer, ValueError for gates that don't fit.
    """
    layers = attention_layers(model)
    for name, gate in values.items():
        if name not in layers:
            listed = ", ".join(map(repr, layers))
            raise KeyError(f"there is no attention layer {name!r}, only {listed}")
        heads = layers[name].num_heads
        if gate.shape[-1:] != (heads,) or gate.dim() > 2:
            raise ValueError(f"gates of {name!r} have shape {tuple(gate.shape)}, "
                             f"expected ({heads},) or (batch, {heads})")

    def multiply(gate: Tensor, size: int):
        wide = gate.repeat_interleave(size, dim=-1)  # one gate for all columns of its head
        wide = wide[:, None] if wide.dim() == 2 else wide
        return lambda module, inputs: (inputs[0] * wide.to(inputs[0]),)

    handles = []
    for name, gate in values.items():
        hook = multiply(gate, layers[name].head_size)
        handles.append(layers[name].W_o.register_forward_pre_hook(hook))
    try:
        with eagerly():
            yield
    finally:
        for handle in handles:
            handle.remove()


def closed(model: nn.Module, heads: Iterable[Head]):
    """``gates`` that are 0 for these heads and 1 for all others.

    Raises TypeError for what is no pair of a name and an integer, ValueError for unknown heads.
    """
    heads, layers = known(model, heads), attention_layers(model)

    def left(name: str) -> Tensor:
        every = range(layers[name].num_heads)
        return torch.tensor([float((name, head) not in heads) for head in every])

    return gates(model, {name: left(name) for name, _ in heads})


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """While open, ``model`` is in evaluation mode. Afterwards each module is in its own again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


# ---- four measures -----------------------------------------------------------------------------
# A score is a function without arguments that runs the model; higher is better. The measures put
# the model in evaluation mode meanwhile: dropout would make them vary.

def ablate_one(model: nn.Module, score: Callable[[], float]) -> Tensor:
    """How much the score falls when this head alone is closed (Michel et al. 2019, section 3.2).

    One number per head; below 0: it did harm.
    """
    with evaluating(model):
        full = score()
        left = [score_without(model, score, [head]) for head in all_heads(model)]
    return torch.tensor([full - rest for rest in left])


def keep_one(model: nn.Module, score: Callable[[], float]) -> Tensor:
    """The score when this head is the only open one of its layer, one number per head.

    The other layers stay as they are (Michel et al. 2019, section 3.3).
    """
    heads = all_heads(model)

    def others(head: Head) -> list[Head]:
        return [other for other in heads if other[0] == head[0] and other != head]

    with evaluating(model):
        return torch.tensor([score_without(model, score, others(head)) for head in heads])


def gradient(model: nn.Module, losses: Callable[[], Tensor]) -> Tensor:
    """How much the loss would move with each gate: I_h = E_x |∂L(x) / ∂ξ_h|.

    Each layer is divided by its ℓ2 norm (Michel et al. 2019, section 4.1). losses: runs the model
    and returns the loss of each example, (batch,). One number per head, from one backward pass:
    every example has gates of its own. A layer none of whose heads moves the loss, as where ``W_o``
    is 0, gets zeros.
    """
    with evaluating(model), torch.no_grad():
        first = losses()
    if first.dim() != 1:
        got = f"got shape {tuple(first.shape)}"
        raise ValueError(f"losses() must return one loss per example, (batch,), {got}")
    opened = {}
    for name, layer in attention_layers(model).items():
        sizes, device = (len(first), layer.num_heads), layer.W_o.weight.device
        opened[name] = torch.ones(sizes, device=device, requires_grad=True)
    with evaluating(model), gates(model, opened):
        slopes = torch.autograd.grad(losses().sum(), list(opened.values()))
    means = [slope.abs().mean(0) for slope in slopes]
    norms = [mean.norm() for mean in means]
    safe = [norm.masked_fill(norm == 0, 1) for norm in norms]
    return torch.cat([mean / norm for mean, norm in zip(means, safe)]).cpu()


def greedy(
    model: nn.Module, score: Callable[[], float], progress: str = "",
) -> tuple[list[Head], list[float]]:
    """Close heads one after the other, each time the one without which the score stays highest.

    Returns the heads in the order of closing, and the score before the first and after each: one
    more than heads. progress: shows a bar of this name.
    """
    left, order, scores = all_heads(model), [], []
    bar = progress_bar(progress, len(left)) if progress else None
    with evaluating(model):
        scores.append(score())
        while left:
            results = {head: score_without(model, score, [*order, head]) for head in left}
            best = max(left, key=results.get)
            left.remove(best)
            order.append(best)
            scores.append(results[best])
            if bar is not None:
                bar.value = len(order)
    return order, scores


def score_without(model: nn.Module, score: Callable[[], float], heads: Iterable[Head]) -> float:
    """The score with these heads closed."""
    with closed(model, heads):
        return score()


def ranks(values: Sequence[float] | Tensor) -> Tensor:
    """The place of each value, smallest first; equal values share the mean of their places.

    Raises ValueError for NaN, which has no place.

    >>> ranks([10, 30, 10]).tolist()
    [0.5, 2.0, 0.5]
    """
    values = torch.as_tensor(values, dtype=torch.float64)
    if missing := int(values.isnan().sum()):
        raise ValueError(f"{missing} of {len(values)} values are NaN, and NaN has no rank")
    below, equal = (values[:, None] > values).sum(1), (values[:, None] == values).sum(1)
    return below + (equal.double() - 1) / 2


def rank_correlation(first: Sequence[float] | Tensor, second: Sequence[float] | Tensor) -> float:
    """Spearman's coefficient, the correlation of the ranks.

    1: the same order. -1: the reverse. NaN: all values on one side are equal.

    >>> rank_correlation([1, 2, 3], [10, 20, 90])
    1.0
    """
    if len(first) != len(second):
        counts = f"there are {len(first)} values and {len(second)} values"
        raise ValueError(f"{counts}: each needs a partner")
    a, b = (ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    return round((a @ b / (a.norm() * b.norm())).item(), 12)


# ---- for real ----------------------------------------------------------------------------------

def prune_heads(attention: MultiHeadAttention, heads: Iterable[int]) -> MultiHeadAttention:
    """A new, smaller layer without these heads.

    Their rows of W_q, W_k, W_v and their columns of W_o are gone; all widths outside stay. Its
    outputs are those of ``attention`` with the heads closed, to within rounding; what was frozen
    stays frozen. Its ``state_dict`` loads into
    ``MultiHeadAttention(num_hiddens, heads left, head_size=...)``. Raises TypeError for heads that
    are no integers, ValueError for heads that aren't there, where none would be left, for layers
    with a position module, and where W_q, W_k, W_v or W_o is no plain ``nn.Linear``.

    >>> small = prune_heads(MultiHeadAttention(num_hiddens=8, num_heads=4), {0, 2})
    >>> small.num_heads, small.head_size, tuple(small.W_o.weight.shape)
    (2, 2, (8, 4))
    """
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"attention must be a MultiHeadAttention, got {type(attention).__name__}")
    heads = numbered(heads)
    unknown = set(heads) - set(range(attention.num_heads))
    kept = [head for head in range(attention.num_heads) if head not in heads]
    if unknown:
        last = attention.num_heads - 1
        raise ValueError(f"there are no heads {sorted(unknown)}: the layer has 0 to {last}")
    if not kept:
        raise ValueError(f"heads={sorted(heads)} are all there are: a layer needs at least one")
    if attention.position is not None:
        raise ValueError("can't prune attention with a position module, "
                         f"got {attention.position}: it may hold numbers of each head")
    for name in ("W_q", "W_k", "W_v", "W_o"):
        check_plain(name, getattr(attention, name), bias=isinstance(attention.W_o.bias, Tensor))
    last, size = attention.W_o, attention.head_size
    small = MultiHeadAttention(
        last.out_features, len(kept), attention.dropout.p, last.bias is not None, head_size=size,
        query_size=attention.W_q.in_features, key_size=attention.W_k.in_features,
        value_size=attention.W_v.in_features).to(last.weight)
    rows = torch.cat([torch.arange(size) + head * size for head in kept])
    state = attention.state_dict()
    inputs = [name for name in state if not name.startswith("W_o")]
    state |= {name: state[name][rows] for name in inputs}
    state["W_o.weight"] = state["W_o.weight"][:, rows]
    small.load_state_dict(state)
    for name, parameter in small.named_parameters():
        parameter.requires_grad_(attention.get_parameter(name).requires_grad)
    return small.train(attention.training)


def check_plain(name: str, linear: nn.Module, bias: bool) -> None:
    """Raise ValueError unless this is an ``nn.Linear`` that holds a weight, a bias, and no more."""
    held, wanted = list(linear.state_dict()), ["weight", "bias"] if bias else ["weight"]
    if isinstance(linear, nn.Linear) and sorted(held) == sorted(wanted):
        return
    kind = f"{type(linear).__module__}.{type(linear).__qualname__}"
    raise ValueError(f"can't prune {name}, a {kind} that holds {', '.join(held)}: "
                     f"it must be an nn.Linear that holds {', '.join(wanted)}. Prune before "
                     "quantize_dynamic; take weight_norm off first, and put it on again")


def prune(model: nn.Module, heads: Iterable[Head]) -> nn.Module:
    """A copy of a model without these heads, each layer made smaller by ``prune_heads``.

    Raises as ``closed`` and ``prune_heads`` do.
    """
    heads = known(model, heads)
    model = copy.deepcopy(model)
    for name, layer in attention_layers(model).items():
        gone = {head for where, head in heads if where == name}
        small = prune_heads(layer, gone) if gone else layer
        if layer is model:
            return small
        modules = list(model.named_modules(remove_duplicate=False))  # a shared layer has several
        for place in [place for place, module in modules if module is layer]:
            model.set_submodule(place, small)
    return model
