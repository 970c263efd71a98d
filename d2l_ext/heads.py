"""Which heads matter: gates on heads, four measures of their worth, and smaller layers.

A head is named by its layer, as in ``model.named_modules()``, and its number:
``("decoder.0.cross", 2)``. Gates and measures work on any model whose attention
``record_attention`` sees; pruning on ``MultiHeadAttention``.
"""
from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .checks import check_integer
from .recording import Unplaced, Watch, eagerly

T = TypeVar("T")
Head = tuple[str, int]
Score = Callable[[], float]  # runs the model; higher is better


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Every ``MultiHeadAttention`` in ``model`` by name (``""`` if the model is one itself)."""
    modules = model.named_modules()
    return {name: layer for name, layer in modules if isinstance(layer, MultiHeadAttention)}


def all_heads(model: nn.Module, run: Callable[[], object] | None = None) -> list[Head]:
    """Every head of every layer, in the model's order; all measures below keep this order.

    run: runs the model, which shows the heads of layers of other classes than
    ``MultiHeadAttention`` and ``nn.MultiheadAttention``. Warns of layers whose heads can't be told.

    >>> all_heads(nn.ModuleDict({"first": MultiHeadAttention(4, 2)}))
    [('first', 0), ('first', 1)]
    """
    watch = Gating(model, {})
    if run is not None:
        with eagerly(), watch:
            run()
        if watch.other:
            name, reason = next(iter(watch.other.items()))
            warnings.warn(f"no head can be closed in {len(watch.other)} layers, the first "
                          f"{name!r}: {reason}", stacklevel=2)
    return [(name, head) for name in watch.names.values()
            for head in range(watch.found.get(name, 0))]


def _check_several(heads: object) -> None:
    if not isinstance(heads, Iterable):
        raise TypeError(f"heads must be several, in brackets, got {heads!r:.60}")


def _as_integer(head: object) -> int:
    """The number of a head, which may be a tensor without axes."""
    number = head.item() if isinstance(head, Tensor) and not head.dim() else head
    check_integer(**{"a head": number})
    return int(number)


def _as_pairs(heads: Iterable[Head], known: list[Head], others: Iterable[str] = ()) -> list[Head]:
    """A list of the heads, each checked to be known, or in one of the ``others``."""
    _check_several(heads)
    pairs = []
    for head in heads:
        match head:
            case [str(name), number]:
                pairs.append((name, _as_integer(number)))
            case _:
                got = f"got {head!r:.60}"
                raise TypeError(f"a head is a pair such as ('decoder.0.cross', 2), {got}")
    unknown = {(name, head) for name, head in pairs
               if (name, head) not in known and (name not in others or head < 0)}
    if unknown:
        raise ValueError(f"there are no heads {sorted(unknown)}: the model has {known}")
    return pairs


# ---- gates ----

Gate = Callable[[int], Tensor]  # for the number of heads: their gates, (heads,) or (batch, heads)


class Gating(Watch):
    """While open, multiplies each head's output by its gate, in attention of any class.

    ``found`` is the number of heads of each layer by name. ``MultiHeadAttention`` and
    ``nn.MultiheadAttention`` say it themselves; others are seen at work.
    """

    def __init__(self, model: nn.Module, gates: dict[str, Gate]):
        super().__init__(model)
        self.gates, self.met = gates, set()
        self.found = {name: module.num_heads for module, name in self.names.items()
                      if isinstance(module, (MultiHeadAttention, nn.MultiheadAttention))}

    def gate(self, heads: int) -> Tensor | None:
        """The gates for the layer that is at work, None where it has none."""
        self.found.setdefault(self.name, heads)
        self.met.add(self.name)
        return self.gates[self.name](heads) if self.name in self.gates else None

    def closing(self, output: Tensor, keys: int) -> Tensor:
        """A head's output or its weights, multiplied."""
        running, wanted = self.running[-1], self.name in self.gates
        running.maps += 1
        if wanted and running.maps > 1:
            raise ValueError(f"{self.name!r} makes several maps in a call, parts or layers: no "
                             "gate on one of them closes a head")
        factors = torch.ones_like(output)
        try:
            arranged = self.arranged(factors, keys)
        except Unplaced as error:
            if wanted:
                raise
            self.other[self.name] = str(error)
            return output
        gate = self.gate(arranged.shape[-3])
        if gate is None:
            return output
        gate = gate[..., None, None]
        arranged *= gate[:, None] if arranged.dim() == 5 and gate.dim() == 4 else gate
        return output * factors

    def fused(self, func, args, kwargs):
        keys = args[1] if len(args) > 1 else kwargs["key"]
        return self.closing(func(*args, **kwargs), keys.shape[-2])

    def softmax(self, func, args, kwargs):
        weights = func(*args, **kwargs)
        return self.closing(weights, weights.shape[-1])

    def packed(self, func, args, kwargs):
        """The heads side by side, multiplied, and only then projected."""
        given = inspect.signature(func).bind(*args, **kwargs).arguments
        gate = self.gate(given["num_heads"])
        if gate is None:
            return func(*args, **kwargs)
        W_o, bias = given["out_proj_weight"], given["out_proj_bias"]
        alone = {"out_proj_weight": torch.eye(len(W_o)).to(W_o), "out_proj_bias": None}
        merged, weights = func(**given | alone)
        wide = gate.repeat_interleave(merged.shape[-1] // gate.shape[-1], dim=-1)
        return F.linear(merged * wide.to(merged), W_o, bias), weights

    def __exit__(self, *error):
        super().__exit__(*error)
        if error == (None, None, None) and (idle := sorted(self.gates.keys() - self.met)):
            raise ValueError(f"no attention ran in {', '.join(map(repr, idle))} while gates were "
                             "open: all_heads(model, run) lists where it does")


@contextmanager
def gates(model: nn.Module, values: dict[str, Tensor]) -> Iterator[None]:
    """While open, each head's output is multiplied by its gate before the heads are joined.

    A gate of 0 closes the head. values: for each layer's name its gates, (heads,), or
    (batch, heads) with gates for each example. Layers left out stay as they are, and so do a
    head's weights, except where a model writes its softmax itself: there they are multiplied. All
    is undone at the end, also after an exception.
    """
    known = Gating(model, {}).found
    for name in values:
        if name not in dict(model.named_modules()):
            listed = ", ".join(map(repr, known))
            raise KeyError(f"there is no attention layer {name!r}, only {listed}")

    def checked(name: str) -> Gate:
        def gate(heads: int) -> Tensor:
            value = values[name]
            if value.shape[-1:] != (heads,) or value.dim() > 2:
                raise ValueError(f"gates of {name!r} have shape {tuple(value.shape)}, "
                                 f"expected ({heads},) or (batch, {heads})")
            return value
        return gate

    made = {name: checked(name) for name in values}
    for name in values.keys() & known.keys():
        made[name](known[name])
    with _gated(model, made):
        yield


@contextmanager
def _gated(model: nn.Module, made: dict[str, Gate]) -> Iterator[None]:
    """``MultiHeadAttention`` has a hook before ``W_o``, so that its weights stay; others a mode."""
    ours = attention_layers(model)
    others = {name: gate for name, gate in made.items() if name not in ours}
    handles = []
    for name in made.keys() & ours.keys():
        hook = _multiply_by(made[name](ours[name].num_heads), ours[name].head_size)
        handles.append(ours[name].W_o.register_forward_pre_hook(hook))
    try:
        with eagerly(), Gating(model, others) if others else nullcontext():
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
    """``gates`` that are 0 for these heads and 1 for all others."""
    known, places = all_heads(model), dict(model.named_modules()).keys()
    heads = _as_pairs(heads, known, places - {name for name, _ in known})

    def gate_for(name: str) -> Gate:
        def gate(count: int) -> Tensor:
            off = [head for where, head in heads if where == name]
            if max(off) >= count:
                last = count - 1
                raise ValueError(f"there is no head {max(off)} in {name!r}: it has 0 to {last}")
            return torch.ones(count).index_fill(0, torch.tensor(off), 0.0)
        return gate

    return _gated(model, {name: gate_for(name) for name, _ in heads})


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


def _counted(model: nn.Module, run: Callable[[], T]) -> tuple[list[Head], T]:
    """The heads of ``model``, and what ``run`` returned."""
    results: list[T] = []
    heads = all_heads(model, lambda: results.append(run()))
    if not heads:
        raise ValueError("no head of this model can be closed: record_attention(model) says why")
    return heads, results[0]


def ablate_one(model: nn.Module, score: Score) -> Tensor:
    """How much the score falls when a head alone is closed (Michel et al. 2019, section 3.2).

    Returns one number per head, (heads,); below 0 where the head did harm.
    """
    with evaluating(model):
        heads, full = _counted(model, score)
        return torch.tensor([full - _score_without(model, score, [head]) for head in heads])


def keep_one(model: nn.Module, score: Score) -> Tensor:
    """The score when a head is the only open one of its layer, one number per head, (heads,).

    The other layers stay as they are (Michel et al. 2019, section 3.3).
    """
    def others(head: Head) -> list[Head]:
        return [other for other in heads if other[0] == head[0] and other != head]

    with evaluating(model):
        heads, _ = _counted(model, score)
        return torch.tensor([_score_without(model, score, others(head)) for head in heads])


def gradient(model: nn.Module, losses: Callable[[], Tensor]) -> Tensor:
    """How much the loss would move with each gate: I_h = E_x |∂L(x) / ∂ξ_h|.

    Each layer is divided by its ℓ2 norm (Michel et al. 2019, section 4.1); a layer that doesn't
    move the loss, for example with ``W_o`` of 0, gets zeros. losses: runs the model and returns the
    loss of each example, (batch,). Returns one number per head, (heads,), from one backward pass:
    every example has gates of its own.
    """
    with evaluating(model), torch.no_grad():
        heads, first = _counted(model, losses)
    if first.dim() != 1:
        got = f"got shape {tuple(first.shape)}"
        raise ValueError(f"losses() must return one loss per example, (batch,), {got}")
    opened = {name: torch.ones(len(first), count, device=first.device, requires_grad=True)
              for name, count in Counter(name for name, _ in heads).items()}
    slopes = [None] * len(opened)
    with evaluating(model), gates(model, opened):
        loss = losses().sum()
        if loss.requires_grad:
            slopes = torch.autograd.grad(loss, list(opened.values()), allow_unused=True)
    for name, slope in zip(opened, slopes):
        if slope is None:
            raise ValueError(f"losses() has no gradient for the heads of {name!r}: it must run the "
                             "layer, with gradients, and before quantize_dynamic")
    return torch.cat([F.normalize(slope.abs().mean(0), dim=0) for slope in slopes]).cpu()


def greedy(model: nn.Module, score: Score) -> tuple[list[Head], list[float]]:
    """Close heads one after the other, each time the one without which the score stays highest.

    Returns the heads in the order of closing, and the scores: one with all heads open, then one
    after each closing.
    """
    order = []
    with evaluating(model):
        remaining, full = _counted(model, score)
        scores = [full]
        while remaining:
            results = {head: _score_without(model, score, [*order, head]) for head in remaining}
            best = max(remaining, key=results.get)
            remaining.remove(best)
            order.append(best)
            scores.append(results[best])
    return order, scores


# ---- do two measures agree? ----

def ranks(values: Sequence[float] | Tensor) -> Tensor:
    """The rank of each value, from 0 for the smallest; equal values share the mean of their ranks.

    >>> ranks([10, 30, 10]).tolist()
    [0.5, 2.0, 0.5]
    """
    values = torch.as_tensor(values, dtype=torch.float64)
    if values.dim() != 1:
        raise ValueError(f"values must have shape (count,), got {tuple(values.shape)}")
    if missing := int(values.isnan().sum()):
        raise ValueError(f"{missing} of {len(values)} values are NaN, and NaN has no rank")
    below, equal = (values[:, None] > values).sum(1), (values[:, None] == values).sum(1)
    return below + (equal.double() - 1) / 2


def rank_correlation(first: Sequence[float] | Tensor, second: Sequence[float] | Tensor) -> float:
    """Spearman's coefficient, the correlation of the ranks.

    1 means the same order, -1 the reverse, and NaN that all values on one side are equal.

    >>> rank_correlation([1, 2, 3], [10, 20, 90])
    1.0
    """
    if len(first) != len(second):
        raise ValueError(f"there are {len(first)} values and {len(second)} values: "
                         "each needs a partner")
    a, b = (ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    return round((a @ b / (a.norm() * b.norm())).item(), 12)


# ---- pruning ----

def prune_heads(attention: MultiHeadAttention, heads: Iterable[int]) -> MultiHeadAttention:
    """A new, smaller layer without these heads.

    Their rows of W_q, W_k, W_v and their columns of W_o are gone; the widths of inputs and outputs
    stay. Its outputs are those of ``attention`` with the heads closed, to within rounding; what was
    frozen stays frozen. Its ``state_dict`` loads into
    ``MultiHeadAttention(num_hiddens, heads left, head_size=...)``. Raises ValueError for layers
    with a position module or with heads that share keys and values, and where W_q, W_k, W_v or W_o
    is not a plain ``nn.Linear``.

    >>> small = prune_heads(MultiHeadAttention(num_hiddens=8, num_heads=4), {0, 2})
    >>> small.num_heads, small.head_size, tuple(small.W_o.weight.shape)
    (2, 2, (8, 4))
    """
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"attention must be a MultiHeadAttention, got {type(attention).__name__}")
    _check_prunable(attention)
    _check_several(heads)
    gone, size = [_as_integer(head) for head in heads], attention.head_size
    if unknown := set(gone) - set(range(attention.num_heads)):
        last = attention.num_heads - 1
        raise ValueError(f"there are no heads {sorted(unknown)}: the layer has 0 to {last}")
    kept = [head for head in range(attention.num_heads) if head not in gone]
    if not kept:
        raise ValueError(f"heads={sorted(gone)} are all there are: a layer needs at least one")
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

    It prunes ``MultiHeadAttention`` alone; for other layers its error says what can be done.
    """
    layers, places = attention_layers(model), dict(model.named_modules())
    known = [(name, head) for name, layer in layers.items() for head in range(layer.num_heads)]
    heads = _as_pairs(heads, known, places.keys() - layers.keys())
    for name, _ in heads:
        if name not in layers:
            raise TypeError(f"prune makes MultiHeadAttention smaller, and {name!r} is a "
                            f"{type(places[name]).__name__}: {_other_way(model, places[name])}")
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


def _other_way(model: nn.Module, layer: nn.Module) -> str:
    """What prunes the heads of a layer that isn't ours, or comes nearest."""
    if isinstance(layer, nn.MultiheadAttention):
        return "MultiHeadAttention.from_torch(layer) is one that can be pruned"
    if callable(getattr(model, "prune_heads", None)):
        return "its library's own way is model.prune_heads({layer's number: [heads]})"
    return "closed(model, heads) closes its heads, which changes the output alike"


# ---- two prompts or models, and all layers ----

def beside(first: Mapping[str, Sequence[Tensor]], second: Mapping[str, Sequence[Tensor]],
           ) -> dict[str, Tensor]:
    """Two recordings, of two prompts or two models: each layer's map in both, and the difference.

    Returns, by the names of ``first``, (3, batch, heads, queries, keys): the first call in
    ``first``, that in ``second``, first − second. Layers are paired in their order. Raises
    ValueError where their numbers or shapes differ.

    >>> both = beside({"layer": [torch.ones(1, 1, 1, 1)]}, {"layer": [torch.zeros(1, 1, 1, 1)]})
    >>> both["layer"].flatten().tolist()
    [1.0, 0.0, 1.0]
    """
    maps = [[calls[0] for calls in seen.values() if calls] for seen in (first, second)]
    shapes = [[tuple(each.shape) for each in side] for side in maps]
    if shapes[0] != shapes[1]:
        raise ValueError("only prompts of as many tokens, and models of as many heads, can be "
                         f"compared: their maps are {shapes[0]} and {shapes[1]}")
    return {name: torch.stack([one, other, one - other])
            for name, one, other in zip(filter(first.get, first), *maps)}


def rollout(maps: Iterable[Tensor]) -> Tensor:
    """How much of each input token stands in each output, by attention alone: (batch, n, n).

    A layer passes on half of what comes and half of the mean of its heads (Abnar & Zuidema 2020,
    section 3). maps: the weights (batch, heads, n, n) of each layer of self-attention, the first
    layer first. What values, W_o and the networks between do with the tokens it can't say.

    >>> rollout([torch.eye(2).expand(1, 3, 2, 2)]).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    shares = [(weights.mean(1) + torch.eye(weights.shape[-1]).to(weights)) / 2 for weights in maps]
    return functools.reduce(lambda below, share: share @ below, shares)


@contextmanager
def patched(projection: nn.Linear, head: int, num_heads: int, run: Callable[[], object],
            ) -> Iterator[None]:
    """While open, a head's output is what it was in ``run()``, on another prompt of equal length.

    projection: what follows the heads side by side, ``W_o`` or another library's. The last call of
    it in ``run()`` counts. Raises ValueError where there is none, as in ``nn.MultiheadAttention``,
    which takes the weights of its projection and doesn't call it.
    """
    size, other = projection.in_features // num_heads, []
    columns = slice(head * size, (head + 1) * size)
    with projection.register_forward_pre_hook(lambda _, inputs: other.append(inputs[0].detach())):
        run()
    if not other:
        raise ValueError("run() never called the projection, so that nothing can be replaced")

    def replace(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        X = inputs[0].clone()
        X[..., columns] = other[-1][..., columns]
        return X, *inputs[1:]

    with projection.register_forward_pre_hook(replace):
        yield
