"""Which heads matter: gates on heads, four measures of their worth, and smaller layers.

A head is named by its layer, as in ``model.named_modules()``, and its number:
``("decoder.0.cross", 2)``.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, eagerly
from ._validate import check_integer
from .progress import progress_bar

Head = tuple[str, int]
Score = Callable[[], float]  # runs the model; higher is better


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Every ``MultiHeadAttention`` in ``model`` by name (``""`` if the model is one itself)."""
    modules = model.named_modules()
    return {name: layer for name, layer in modules if isinstance(layer, MultiHeadAttention)}


def all_heads(model: nn.Module) -> list[Head]:
    """Every head of every layer, in the model's order; all measures below keep this order.

    >>> all_heads(nn.ModuleDict({"first": MultiHeadAttention(4, 2)}))
    [('first', 0), ('first', 1)]
    """
    layers = attention_layers(model)
    return [(name, head) for name in layers for head in range(layers[name].num_heads)]


def _check_iterable(heads: object, example: str) -> None:
    if not isinstance(heads, Iterable):
        raise TypeError(f"heads must be several, such as [{example}], got {heads!r:.60}")


def _as_integer(head: object) -> int:
    """The number of a head, which may be a tensor without axes or one of NumPy's integers."""
    number = head.item() if isinstance(head, Tensor) and not head.dim() else head
    check_integer(**{"a head": number})
    return int(number)


def _as_pairs(model: nn.Module, heads: Iterable[Head]) -> list[Head]:
    """A list of the heads, each checked to be a head of ``model``."""
    example = "('decoder.0.cross', 2)"
    _check_iterable(heads, example)
    pairs = []
    for head in heads:
        match head:
            case [str(name), number]:
                pairs.append((name, _as_integer(number)))
            case _:
                raise TypeError(f"a head is a pair such as {example}, got {head!r:.60}")
    unknown = set(pairs) - set(all_heads(model))
    if unknown:
        raise ValueError(f"there are no heads {sorted(unknown)}: the model has {all_heads(model)}")
    return pairs


# ---- gates ----

@contextmanager
def gates(model: nn.Module, values: dict[str, Tensor]) -> Iterator[None]:
    """While open, each head's output is multiplied by its gate before it enters ``W_o``.

    A gate of 0 closes the head. values: for each layer's name its gates, (heads,), or
    (batch, heads) with gates for each example. Layers left out stay as they are. The hooks are
    removed at the end, also after an exception. Raises KeyError for an unknown layer, ValueError
    for gates of another shape.
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
    handles = []
    for name, gate in values.items():
        hook = _multiply_by(gate, layers[name].head_size)
        handles.append(layers[name].W_o.register_forward_pre_hook(hook))
    try:
        with eagerly():
            yield
    finally:
        for handle in handles:
            handle.remove()


def _multiply_by(gate: Tensor, size: int) -> Callable:
    """A hook before ``W_o``: the ``size`` columns of each head are multiplied by its gate."""
    wide = gate.repeat_interleave(size, dim=-1)
    wide = wide[:, None] if wide.dim() == 2 else wide  # one row of gates for all queries
    return lambda module, inputs: (inputs[0] * wide.to(inputs[0]),)


def closed(model: nn.Module, heads: Iterable[Head]) -> AbstractContextManager[None]:
    """``gates`` that are 0 for these heads and 1 for all others.

    Raises TypeError for heads that are not pairs of a name and an integer, ValueError for heads
    that ``model`` doesn't have.
    """
    heads, layers = _as_pairs(model, heads), attention_layers(model)

    def left(name: str) -> Tensor:
        every = range(layers[name].num_heads)
        return torch.tensor([float((name, head) not in heads) for head in every])

    return gates(model, {name: left(name) for name, _ in heads})


# ---- four measures ----
# Dropout would make them vary, so each puts the model in evaluation mode for as long as it runs.

@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """While open, ``model`` is in evaluation mode. Afterwards each module has its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _score_without(model: nn.Module, score: Score, heads: list[Head]) -> float:
    with closed(model, heads):
        return score()


def ablate_one(model: nn.Module, score: Score) -> Tensor:
    """How much the score falls when a head alone is closed (Michel et al. 2019, section 3.2).

    Returns one number per head, (heads,); below 0 where the head did harm.
    """
    with evaluating(model):
        full = score()
        return torch.tensor([full - _score_without(model, score, [head])
                             for head in all_heads(model)])


def keep_one(model: nn.Module, score: Score) -> Tensor:
    """The score when a head is the only open one of its layer, one number per head, (heads,).

    The other layers stay as they are (Michel et al. 2019, section 3.3).
    """
    heads = all_heads(model)

    def others(head: Head) -> list[Head]:
        return [other for other in heads if other[0] == head[0] and other != head]

    with evaluating(model):
        return torch.tensor([_score_without(model, score, others(head)) for head in heads])


def gradient(model: nn.Module, losses: Callable[[], Tensor]) -> Tensor:
    """How much the loss would move with each gate: I_h = E_x |∂L(x) / ∂ξ_h|.

    Each layer is divided by its ℓ2 norm (Michel et al. 2019, section 4.1); a layer that doesn't
    move the loss, for example with ``W_o`` of 0, gets zeros. losses: runs the model and returns the
    loss of each example, (batch,). Returns one number per head, (heads,), from one backward pass:
    every example has gates of its own. Raises ValueError where ``losses()`` has another shape, or
    no gradient for a gate.
    """
    with evaluating(model), torch.no_grad():
        first = losses()
    if first.dim() != 1:
        got = f"got shape {tuple(first.shape)}"
        raise ValueError(f"losses() must return one loss per example, (batch,), {got}")
    batch, device = len(first), first.device
    opened = {name: torch.ones(batch, layer.num_heads, device=device, requires_grad=True)
              for name, layer in attention_layers(model).items()}
    with evaluating(model), gates(model, opened):
        slopes = _slopes(losses().sum(), opened)
    means = [slope.abs().mean(0) for slope in slopes]
    norms = [mean.norm() for mean in means]
    safe = [norm.masked_fill(norm == 0, 1) for norm in norms]
    return torch.cat([mean / norm for mean, norm in zip(means, safe)]).cpu()


def _slopes(loss: Tensor, opened: dict[str, Tensor]) -> list[Tensor]:
    """The gradient of the loss with respect to each layer's gates."""
    slopes = [None] * len(opened)
    if loss.requires_grad:
        slopes = torch.autograd.grad(loss, list(opened.values()), allow_unused=True)
    for name, slope in zip(opened, slopes):
        if slope is None:
            raise ValueError(f"losses() has no gradient for the heads of {name!r}: it must run the "
                             "layer, with gradients, and before quantize_dynamic")
    return slopes


def greedy(model: nn.Module, score: Score, progress: str = "") -> tuple[list[Head], list[float]]:
    """Close heads one after the other, each time the one without which the score stays highest.

    Returns the heads in the order of closing, and the scores: one with all heads open, then one
    after each closing. progress: the name of a progress bar; none is shown where it is empty.
    """
    left, order, scores = all_heads(model), [], []
    bar = progress_bar(progress, len(left)) if progress else None
    with evaluating(model):
        scores.append(score())
        while left:
            results = {head: _score_without(model, score, [*order, head]) for head in left}
            best = max(left, key=results.get)
            left.remove(best)
            order.append(best)
            scores.append(results[best])
            if bar is not None:
                bar.value = len(order)
    return order, scores


# ---- do two measures agree? ----
# Ours, as PyTorch has no rank correlation, and SciPy would be needed for nothing else.

def ranks(values: Sequence[float] | Tensor) -> Tensor:
    """The rank of each value, from 0 for the smallest; equal values share the mean of their ranks.

    Raises ValueError for NaN, which has no rank.

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

    1 means the same order, -1 the reverse, and NaN that all values on one side are equal. Raises
    ValueError where one side has more values, or NaN among them.

    >>> rank_correlation([1, 2, 3], [10, 20, 90])
    1.0
    """
    if len(first) != len(second):
        counts = f"there are {len(first)} values and {len(second)} values"
        raise ValueError(f"{counts}: each needs a partner")
    a, b = (ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    return round((a @ b / (a.norm() * b.norm())).item(), 12)


# ---- pruning ----

def prune_heads(attention: MultiHeadAttention, heads: Iterable[int]) -> MultiHeadAttention:
    """A new, smaller layer without these heads.

    Their rows of W_q, W_k, W_v and their columns of W_o are gone; the widths of inputs and outputs
    stay. Its outputs are those of ``attention`` with the heads closed, to within rounding; what was
    frozen stays frozen. Its ``state_dict`` loads into
    ``MultiHeadAttention(num_hiddens, heads left, head_size=...)``. Raises TypeError for heads that
    are not integers, ValueError for heads that aren't there, where none would be left, for layers
    with a position module or with heads that share keys and values, and where W_q, W_k, W_v or W_o
    is not a plain ``nn.Linear``.

    >>> small = prune_heads(MultiHeadAttention(num_hiddens=8, num_heads=4), {0, 2})
    >>> small.num_heads, small.head_size, tuple(small.W_o.weight.shape)
    (2, 2, (8, 4))
    """
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"attention must be a MultiHeadAttention, got {type(attention).__name__}")
    kept, size = _heads_left(attention.num_heads, heads), attention.head_size
    _check_prunable(attention)
    small = MultiHeadAttention(
        attention.W_o.out_features, len(kept), attention.dropout.p,
        bias=attention.W_o.bias is not None, head_size=size,
        query_size=attention.W_q.in_features, key_size=attention.W_k.in_features,
        value_size=attention.W_v.in_features).to(attention.W_o.weight)
    rows = torch.cat([torch.arange(size) + head * size for head in kept])
    state = attention.state_dict()
    state |= {name: W[rows] for name, W in state.items() if not name.startswith("W_o")}
    state["W_o.weight"] = state["W_o.weight"][:, rows]
    small.load_state_dict(state)
    for name, parameter in small.named_parameters():
        parameter.requires_grad_(attention.get_parameter(name).requires_grad)
    return small.train(attention.training)


def _heads_left(num_heads: int, heads: Iterable[int]) -> list[int]:
    """The heads of a layer but for these. Raises unless these are heads of it, and not all."""
    _check_iterable(heads, "0, 2")
    gone = [_as_integer(head) for head in heads]
    unknown = set(gone) - set(range(num_heads))
    if unknown:
        last = num_heads - 1
        raise ValueError(f"there are no heads {sorted(unknown)}: the layer has 0 to {last}")
    kept = [head for head in range(num_heads) if head not in gone]
    if not kept:
        raise ValueError(f"heads={sorted(gone)} are all there are: a layer needs at least one")
    return kept


def _check_prunable(attention: MultiHeadAttention) -> None:
    """Raise ValueError where cutting rows and columns would not be the same as closing heads."""
    if attention.position is not None:
        raise ValueError("can't prune attention with a position module, "
                         f"got {attention.position}: it may hold numbers of each head")
    if attention.num_kv_heads != attention.num_heads:
        raise ValueError("can't prune heads that share keys and values, got num_kv_heads="
                         f"{attention.num_kv_heads} for num_heads={attention.num_heads}: groups "
                         "would be left with different numbers of heads")
    has_bias = isinstance(attention.W_o.bias, Tensor)  # quantized layers have a method there
    wanted = ["weight", "bias"] if has_bias else ["weight"]
    for name in ("W_q", "W_k", "W_v", "W_o"):
        linear = getattr(attention, name)
        held = list(linear.state_dict())
        if isinstance(linear, nn.Linear) and sorted(held) == sorted(wanted):
            continue
        kind = f"{type(linear).__module__}.{type(linear).__qualname__}"
        raise ValueError(f"can't prune {name}, a {kind} that holds {', '.join(held)}: "
                         f"it must be an nn.Linear that holds {', '.join(wanted)}. Prune before "
                         "quantize_dynamic; take weight_norm off first, and put it on again")


def prune(model: nn.Module, heads: Iterable[Head]) -> nn.Module:
    """A copy of a model without these heads, each layer made smaller by ``prune_heads``.

    Raises as ``closed`` and ``prune_heads`` do.
    """
    heads = _as_pairs(model, heads)
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
