"""The explorer of any model: all that ``record_attention`` recorded, a map for each head."""
from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from .base import Explorer, choices, clean, plural, some

MOST_TOKENS = 256  # with more, a row of the large map is thinner than a pixel
MOST_WEIGHTS = 650_000  # a byte each: the page stays below a megabyte
SIDE = 128  # the longer side of a picture, in pixels
HINT = "give fewer layers: {name: seen[name] for name in ...}"


def attention_explorer(
    seen: Mapping[str, Sequence[Tensor]], tokens: Sequence[str] = (), *,
    keys: Sequence[str] | None = None, example: int = 0, image: Tensor | None = None,
) -> Explorer:
    """Where all heads of a model look: a grid of small maps, one of them large, its rows in words.

    seen: what ``record_attention`` yields. tokens: the names of the queries, and of the keys,
    unless ``keys`` names these (cross-attention); maps of other sizes are left out. example: its
    place in the batch. image: for a model of images, in place of tokens: the picture, (height,
    width) or (channels, height, width), whose patches are the tokens, after a class token if there
    is one more. Settings: ``layer``, a name or its number; ``head``, a number; ``asks``, a token or
    its position. Weights are shown to the hundredth. Raises ValueError where nothing was recorded
    or fits, for weights outside 0..1, and for more than 256 tokens or 650,000 weights.

    >>> seen = {"layer": [torch.tensor([[[[0.9, 0.1], [0.2, 0.8]]]])]}
    >>> attention_explorer(seen, ["dog", "bites"])
    [explorer] Where heads look over dog, bites: 1 layer, 1 head.
    layer, head 0: bites looks at bites 0.80, dog 0.20.
    """
    calls = {f"{name}, call {i + 1}" if len(each) > 1 else name: weights
             for name, each in seen.items() for i, weights in enumerate(each)}
    if not calls:
        raise ValueError("seen holds no weights: run the model while record_attention is open")
    picture = None
    if image is not None:
        picture, tokens = patches(image, next(iter(calls.values())).shape[-1])
    names = list(tokens), list(tokens if keys is None else keys)
    sizes = [len(each) for each in names]
    fitting = {name: weights for name, weights in calls.items() if [*weights.shape[2:]] == sizes}
    if not fitting:
        shapes = sorted({f"{weights.shape[2]} x {weights.shape[3]}" for weights in calls.values()})
        raise ValueError(f"no map has {sizes[0]} queries and {sizes[1]} keys, as tokens and keys "
                         f"say: seen holds {', '.join(shapes)}")
    maps = [one(weights, example) for weights in fitting.values()]
    check_room(sizes, sum(each.numel() for each in maps))

    rows, columns = ([clean(token) for token in each] for each in names)
    layers = [{"name": clean(name), "heads": len(each)} for name, each in zip(fitting, maps)]
    asks, most = len(rows) - 1, max(map(len, maps))
    percents = torch.cat([each.flatten() for each in maps]).mul(100).round().clamp(0, 100).byte()
    top = maps[0][0, asks].topk(min(3, len(columns)))
    looks = ", ".join(f"{columns[i][:20]} {w:.2f}" for w, i in zip(*map(Tensor.tolist, top)))
    counts = "–".join(str(count) for count in sorted({len(each) for each in maps}))
    left = len(calls) - len(fitting)
    places = {name: i for i, name in enumerate(names[0]) if names[0].count(name) == 1}
    return Explorer(
        "attention",
        title=f"Where heads look over {some([row[:20] for row in rows])}: "
              f"{plural(len(maps), 'layer')}, {plural(counts, 'head')}."
              + f" Left out: {plural(left, 'map')} of other sizes." * bool(left),
        numbers=f"{layers[0]['name']}, head 0: {rows[asks][:20]} looks at {looks}.",
        data={"tokens": rows, "keys": columns, "layers": layers, "image": picture,
              "maps": base64.b64encode(percents.numpy().tobytes()).decode()},
        state={"layer": 0, "head": 0, "asks": asks},
        rules={"layer": {name: i for i, name in enumerate(fitting)} | choices(range(len(maps))),
               "head": choices(range(most)), "asks": places | choices(range(len(rows)))})


def one(weights: Tensor, example: int) -> Tensor:
    """The maps of one example, (heads, queries, keys)."""
    if not -len(weights) <= example < len(weights):
        raise ValueError(f"{example=} is not in the batch, which holds {len(weights)}")
    chosen = weights[example].detach().float().cpu()
    if wrong := chosen[~((chosen >= -1e-3) & (chosen <= 1 + 1e-3))].tolist():
        raise ValueError(f"weights must lie in 0..1, got {wrong[0]:g}")
    return chosen


def check_room(sizes: list[int], weights: int) -> None:
    """Raise ValueError for more than a screen or a page can hold."""
    if not min(sizes):
        raise ValueError(f"there must be tokens and keys, got {sizes[0]} and {sizes[1]}")
    if max(sizes) > MOST_TOKENS:
        raise ValueError(f"shows up to {MOST_TOKENS} tokens, got {max(sizes)}: run the model on "
                         "fewer")
    if weights > MOST_WEIGHTS:
        raise ValueError(f"shows up to {MOST_WEIGHTS:,} weights, got {weights:,}: {HINT}")


def patches(image: Tensor, tokens: int) -> tuple[dict, list[str]]:
    """A picture as bytes with the grid that its patches make, and the tokens' names."""
    if image.dim() not in (2, 3):
        raise ValueError("image must have shape (height, width) or (channels, height, width), got "
                         f"{tuple(image.shape)}")
    high, wide = image.shape[-2:]
    sides = [side for side in range(1, min(high, wide) + 1) if high % side == wide % side == 0
             and 0 <= tokens - high * wide // side ** 2 <= 1]
    if not sides:
        raise ValueError(f"an image of {high} x {wide} has no square patches that make {tokens} "
                         f"tokens, or {tokens - 1} and a class token")
    rows, columns = high // sides[-1], wide // sides[-1]
    names = ["class"] * (tokens - rows * columns)
    names += [f"row {i + 1} column {j + 1}" for i in range(rows) for j in range(columns)]
    X = image.detach().float().cpu().reshape(-1, high, wide)
    X = X.expand(3, -1, -1) if len(X) == 1 else X[:3]
    X = (X - X.min()) / (X.max() - X.min()).clamp(min=1e-12)
    scale = min(1.0, SIDE / max(high, wide))
    shape = max(1, round(high * scale)), max(1, round(wide * scale))
    X = F.adaptive_avg_pool2d(X, shape).mul(255).round().byte().permute(1, 2, 0)
    return {"height": shape[0], "width": shape[1], "rows": rows, "columns": columns,
            "pixels": base64.b64encode(X.contiguous().numpy().tobytes()).decode()}, names
