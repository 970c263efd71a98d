"""Two recordings side by side, and one head's output in place of another's."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def compare_recordings(
    first: Mapping[str, Sequence[Tensor]], second: Mapping[str, Sequence[Tensor]],
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
