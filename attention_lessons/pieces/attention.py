"""The piece of a model's heads: all that ``record_attention`` recorded, a map for each head."""
from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence

import torch
from matplotlib.image import imsave
from torch import Tensor
from torch.nn import functional as F

from ..languages import t
from .base import Explorer, choices, clean, plural, some

MOST_SIDE = 1500  # queries or keys: as many as Whisper has frames
MOST_WEIGHTS = 650_000  # a byte each: the page stays below a megabyte
MOST_EXTRA = 8  # tokens before the patches of an image: class, distillation, registers
SIDE = 128  # the longer side of a picture, in pixels


def attention_explorer(
    seen: Mapping[str, Sequence[Tensor]] | Sequence, tokens: Sequence | None = None, *,
    keys: Sequence | None = None, example: int = 0, window: int = 0, image: Tensor | None = None,
    layers: Iterable | None = None, heads: Iterable[int] | None = None,
    rows: Iterable[int] | None = None, columns: Iterable[int] | None = None,
) -> Explorer:
    """Where all heads of a model look: a grid of small maps, one of them large, its rows in words.

    seen: what ``record_attention`` yields, or the tuple of ``attentions`` of a Hugging Face model,
    of ``generate()`` too; steps with a cache are joined into one map. tokens: the names of the
    queries, and of the keys, unless ``keys`` names these (cross-attention); maps of other sizes are
    left out. Without names tokens are numbered. example: its place in the batch. window: its place
    where windows attend each for itself. image: for a model of images, in place of tokens: the
    picture, (height, width) or (channels, height, width), whose patches are the last tokens.

    What is shown can be chosen, and keeps its numbers: ``layers`` by name or number, ``heads``, and
    the places of queries, ``rows``, and of keys, ``columns``, such as range(100, 200). Settings:
    ``layer``, a name or its number; ``head``, a number; ``asks``, a token or its place. Each row's
    largest weight is kept exactly, the others in 255ths of it. Raises ValueError where nothing was
    recorded or fits, for weights outside 0..1, for more than 1,500 queries or keys or 650,000
    weights: the message says what to choose.

    >>> seen = {"layer": [torch.tensor([[[[0.9, 0.1], [0.2, 0.8]]]])]}
    >>> attention_explorer(seen, ["dog", "bites"])
    [explorer] Where heads look over dog, bites: 1 layer, 1 head. layer, head 0: bites looks most \
at bites, 0.80.
    """
    calls = recorded(seen, None if tokens is None else len(tokens))
    picture, first = None, next(iter(calls.values()))
    if image is not None:
        if first.dim() == 5:
            raise ValueError("image= shows the patches of one whole image, but windows of this "
                             "model attend each for itself: choose one with window=")
        if rows is not None or columns is not None:
            raise ValueError("image= shows all patches: choose layers= and heads= alone")
        picture, tokens = patches(image, first.shape[-1])
    if tokens is None:
        tokens, keys = range(first.shape[-2]), keys or range(first.shape[-1])
    names = list(tokens), list(tokens if keys is None else keys)
    sizes = [len(each) for each in names]
    fitting = {name: weights for name, weights in calls.items() if [*weights.shape[-2:]] == sizes}
    if not fitting:
        shapes = sorted({" x ".join(map(str, weights.shape[-2:])) for weights in calls.values()})
        raise ValueError(f"no map has {sizes[0]} queries and {sizes[1]} keys, as tokens and keys "
                         f"say: seen holds {', '.join(shapes)}")
    if not min(sizes):
        raise ValueError(f"there must be tokens and keys, got {sizes[0]} and {sizes[1]}")
    numbers = {name: i for i, name in enumerate(calls) if name in fitting}
    layers = [*numbers] if layers is None else [*layers]
    for layer in layers:
        if layer not in numbers and layer not in numbers.values():
            raise ValueError(f"there is no layer {layer!r}: choose from "
                             f"{some([f'{name!r} ({i})' for name, i in numbers.items()], 12)}")
    places = [[*range(size)] if chosen is None else [*chosen]
              for size, chosen in zip(sizes, (rows, columns))]
    for name, size, chosen in zip(("rows", "columns"), sizes, places):
        if not chosen or not all(0 <= i < size for i in chosen):
            raise ValueError(f"{name}= must be places in 0..{size - 1}")
    heads = None if heads is None else [*heads]
    maps, shown = [], []
    for name, number in numbers.items():
        weights = one(fitting[name], example, window)
        kept = [i for i in range(len(weights)) if heads is None or i in heads]
        if kept and {name, number} & {*layers}:
            maps.append(weights[kept][:, places[0]][:, :, places[1]])
            shown.append({"name": clean(name), "number": number, "heads": kept})
    if not shown:
        raise ValueError(f"no layer has a head among heads={heads}")
    check_room(maps, shown)

    labels = [[clean(names[side][i]) for i in places[side]] for side in (0, 1)]
    bytes_, tops = packed(maps)
    counts = "–".join(str(count) for count in sorted({len(each) for each in maps}))
    left = len(calls) - len(fitting)
    asked = {name: i for i, name in enumerate(names[0])
             if names[0].count(name) == 1 and i in places[0] and not isinstance(name, int)}
    return Explorer(
        "attention",
        title=t("Where heads look over {0}: {1}, {2}.", some([row[:20] for row in labels[0]]),
                plural(len(maps), "layer"), plural(counts, "head"))
              + (t(" Left out: {0} of other sizes.", plural(left, "map")) if left else "")
              + " " + looks(shown[0], maps[0][0, -1].tolist(), labels),
        data={"tokens": labels[0], "keys": labels[1], "rows": places[0], "layers": shown,
              "image": picture, "maps": bytes_, "tops": tops},
        state={"layer": shown[0]["number"], "head": shown[0]["heads"][0], "asks": places[0][-1]},
        rules={"layer": {layer["name"]: layer["number"] for layer in shown}
               | choices(layer["number"] for layer in shown),
               "head": choices(sorted({head for layer in shown for head in layer["heads"]})),
               "asks": asked | choices(places[0])})


def recorded(seen, queries: int | None) -> dict[str, Tensor]:
    """Each map by its name. The steps of a ``generate()`` are one, where they have so many queries.
    """
    if not isinstance(seen, Mapping):  # a tensor a layer, or a tuple of them a step
        given = [each for each in seen or () if each is not None]
        steps = [given] if all(isinstance(each, Tensor) for each in given) else given
        seen = {f"layer {i}": each for i, each in enumerate(zip(*steps))}
    calls = {}
    for name, each in seen.items():
        whole = joined(each)
        if whole is not None and queries in (None, whole.shape[-2]):
            each = [whole]
        calls |= {f"{name}, call {i + 1}" if len(each) > 1 else name: weights
                  for i, weights in enumerate(each)}
    if not calls:
        raise ValueError("seen holds no weights: run the model while record_attention is open")
    return calls


def joined(steps: Sequence[Tensor]) -> Tensor | None:
    """Steps with a cache as one map: each attends to the keys before and its own, or, across, to
    the same keys. None where they are no such steps."""
    sizes = [tuple(step.shape[-2:]) for step in steps]
    pairs = [*zip(sizes, sizes[1:])]
    if not pairs or len({tuple(step.shape[:-2]) for step in steps}) > 1:
        return None
    grown = all(keys == before + queries for (_, before), (queries, keys) in pairs)
    across = all(queries == 1 and keys == before for (_, before), (queries, keys) in pairs)
    if not grown and not across:
        return None
    return torch.cat([F.pad(step, (0, sizes[-1][1] - step.shape[-1])) for step in steps], dim=-2)


def one(weights: Tensor, example: int, window: int) -> Tensor:
    """The maps of one example, and of one of its windows, (heads, queries, keys)."""
    for name, place in (("example", example), ("window", window))[:weights.dim() - 3]:
        if not -len(weights) <= place < len(weights):
            place_of = "the batch" if name == "example" else "the image"
            raise ValueError(f"{name}={place} is not in {place_of}, which holds {len(weights)}")
        weights = weights[place]
    chosen = weights.detach().float().cpu()
    if wrong := chosen[~((chosen >= -1e-3) & (chosen <= 1 + 1e-3))].tolist():
        raise ValueError(f"weights must lie in 0..1, got {wrong[0]:g}")
    return chosen.clamp(min=0)


def check_room(maps: list[Tensor], shown: list[dict]) -> None:
    """Raise ValueError for more than a screen or a page can hold, with what to choose."""
    high, wide = maps[0].shape[1:]
    count, weights = sum(map(len, maps)), sum(each.numel() for each in maps)
    if max(high, wide) <= MOST_SIDE and weights <= MOST_WEIGHTS:
        return
    columns = min(wide, MOST_SIDE)
    rows = min(high, MOST_SIDE, MOST_WEIGHTS // columns)
    room, heads = MOST_WEIGHTS // (rows * columns), max(map(len, maps))
    hints = [f"rows=range({rows})"] * (rows < high) + [f"columns=range({columns})"] * (
        columns < wide)
    if room < count:
        few = room // heads or 1
        hints += [f"layers={[layer['number'] for layer in shown[:few]]}"]
        hints += [f"heads={shown[0]['heads'][:room]}"] * (room < heads)
    raise ValueError(f"shows up to {MOST_SIDE:,} queries or keys and {MOST_WEIGHTS:,} weights, got "
                     f"{high} x {wide} in {count} maps, {weights:,}: choose, say, "
                     f"{', '.join(hints)}")


def packed(maps: list[Tensor]) -> tuple[str, str]:
    """Weights in 255ths of their row's largest, a byte each, and these largest; in base64. Nothing
    else rounds to the largest: it stays the row's maximum."""
    rows = torch.cat([each.flatten(0, 1) for each in maps])
    top = rows.max(1, keepdim=True).values
    scaled = (rows / top.clamp(min=1e-30)).mul(255).round()
    scaled[(scaled == 255) & (rows < top)] = 254
    return tuple(base64.b64encode(each.contiguous().numpy().tobytes()).decode()
                 for each in (scaled.byte(), top))


def looks(layer: dict, row: list[float], labels: list[list[str]]) -> str:
    """The first row in words, as the page has it."""
    most, token = max(row), labels[0][-1][:20]
    number = f"{most:#.2g}" if 0 < most < 0.02 else f"{most:.2f}"
    if len(row) > 1 and most - min(row) < 0.01 * most:
        return t("{0}, head {1}: {2} looks at all {3} alike, {4}.", layer["name"],
                 layer["heads"][0], token, len(row), number)
    return t("{0}, head {1}: {2} looks most at {3}, {4}.", layer["name"], layer["heads"][0], token,
             labels[1][row.index(most)][:20], number)


def patches(image: Tensor, tokens: int) -> tuple[dict, list[str]]:
    """A picture with the grid that its patches make, and the tokens' names."""
    if image.dim() not in (2, 3):
        raise ValueError("image must have shape (height, width) or (channels, height, width), got "
                         f"{tuple(image.shape)}")
    high, wide = image.shape[-2:]
    sides = [side for side in range(1, min(high, wide) + 1) if high % side == wide % side == 0
             and 0 <= tokens - high * wide // side ** 2 <= MOST_EXTRA]
    if not sides:
        raise ValueError(f"an image of {high} x {wide} has no square patches that make {tokens} "
                         f"tokens, or up to {MOST_EXTRA} less, for a class token or registers")
    rows, columns = high // sides[0], wide // sides[0]
    extra = range(tokens - rows * columns)
    names = ["class" if i == 0 else f"extra {i}" for i in extra]
    names += [f"row {i + 1} column {j + 1}" for i in range(rows) for j in range(columns)]
    X = image.detach().float().cpu().reshape(-1, high, wide)
    X = X.expand(3, -1, -1) if len(X) == 1 else X[:3]
    X = (X - X.min()) / (X.max() - X.min()).clamp(min=1e-12)
    scale = min(1.0, SIDE / max(high, wide))
    shape = max(1, round(high * scale)), max(1, round(wide * scale))
    X, png = F.adaptive_avg_pool2d(X, shape).permute(1, 2, 0), io.BytesIO()
    imsave(png, X.numpy(), format="png", metadata={"Software": None})  # the same in any version
    source = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
    return {"rows": rows, "columns": columns, "source": source}, names
