"""Gates: each head's output is multiplied by a number before the heads are joined."""
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import MultiHeadAttention
from ..recording import AttentionSpy, eagerly

Head = tuple[str, int]


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


class Gating(AttentionSpy):
    def __init__(self, model: nn.Module, values: Mapping[str, Tensor | list[int]]):
        super().__init__(model)
        counts = Counter(name for name, _ in all_heads(model))
        self.gates = {name: gate_of(name, value, counts[name]) for name, value in values.items()}

    def enters(self, module, args):
        """Before our ``W_o`` the heads stand side by side, (batch, steps, heads * size)."""
        layer = self.running[-1] if self.running else None
        super().enters(module, args)
        gate = self.gates.get(self.names.get(layer))
        if gate is not None and self.is_here(module) and module is getattr(layer, "W_o", None):
            return multiplied(args[0], gate[..., None, :])

    def on_torch_mha(self, given):
        """The heads side by side, multiplied, and only then projected."""
        if self.name not in self.gates:
            return super().on_torch_mha(given)
        W_o, bias = given["out_proj_weight"], given["out_proj_bias"]
        alone = {"out_proj_weight": torch.eye(len(W_o)).to(W_o), "out_proj_bias": None}
        merged, weights = F.multi_head_attention_forward(**given | alone)
        return F.linear(multiplied(merged, self.gates[self.name]), W_o, bias), weights


@contextmanager
def gates(model: nn.Module, values: Mapping[str, Tensor | list[int]]) -> Iterator[None]:
    """While open, each head's output is multiplied by its gate before the heads are joined.

    values: for each layer's name its gates, (heads,), or (batch, heads) with gates for each
    example, or a list of the heads to close, whose gates are 0. Other layers stay as they are.
    """
    with eagerly(), Gating(model, values) as gating:
        yield
    if idle := sorted(gating.gates.keys() - gating.seen):
        raise ValueError(f"no attention ran in {idle} while gates were open")


def closed(model: nn.Module, heads: Iterable[Head]) -> AbstractContextManager[None]:
    """``gates`` that are 0 for these heads and 1 for all others."""
    return gates(model, by_layer(heads))
