"""The piece of a model's heads: all that ``record_attention`` recorded, a map for each head."""
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ..languages import t
from .base import Explorer, clean, plural, some, stored

MOST_SIDE = 1500  # queries or keys: as many as Whisper has frames
MOST_WEIGHTS = 650_000  # a byte each: the page stays below a megabyte


def attention_explorer(seen: Mapping[str, Sequence[Tensor]] | Sequence,
                       tokens: Sequence | None = None, keys: Sequence | None = None) -> Explorer:
    """Where all heads of a model look: a grid of small maps, one of them large, its rows in words.

    seen: what ``record_attention`` yields, or the tuple of ``attentions`` of a Hugging Face model,
    of ``generate()`` too; steps with a cache are joined into one map. Of a batch, and of windows,
    the first is shown. tokens: the names of the queries, and of the keys, unless ``keys`` names
    these (cross-attention); maps of other sizes are left out. Without names tokens are numbered.
    Each row's largest weight is kept exactly, the others in 255ths of it. Raises ValueError where
    nothing was recorded or fits, for steps of a batch, for weights outside 0..1, for more than
    1,500 queries or keys or 650,000 weights: the message says how to give fewer.

    >>> seen = {"layer": [torch.tensor([[[[0.9, 0.1], [0.2, 0.8]]]])]}
    >>> attention_explorer(seen, ["dog", "bites"])
    [explorer] Where heads look over dog, bites: 1 layer, 1 head. layer, head 0: bites looks most \
at bites, 0.8.
    """
    calls = recorded(seen, None if tokens is None else len(tokens))
    if tokens is None:
        high, wide = next(iter(calls.values())).shape[-2:]
        tokens, keys = range(high), keys or range(wide)
    queries = [*map(clean, tokens)]
    among = queries if keys is None else [*map(clean, keys)]
    high, wide = sizes = len(queries), len(among)
    if not min(sizes):
        raise ValueError(f"there must be tokens and keys, got {high} and {wide}")
    maps = {clean(name): heads_of(weights) for name, weights in calls.items()
            if weights.shape[-2:] == sizes}
    if not maps:
        shapes = sorted({" x ".join(map(str, weights.shape[-2:])) for weights in calls.values()})
        raise ValueError(f"no map has {high} queries and {wide} keys, as tokens and keys "
                         f"say: seen holds {', '.join(shapes)}")
    heads = [*map(len, maps.values())]
    count = sum(heads) * high * wide
    if max(sizes) > MOST_SIDE or count > MOST_WEIGHTS:
        raise ValueError(f"the figure shows up to {MOST_SIDE:,} queries or keys and "
                         f"{MOST_WEIGHTS:,} weights, got {high} x {wide} in {sum(heads)} maps, "
                         f"{count:,}: give fewer, such as one layer's "
                         "[weights[:1, :8, :280, :280]], and the tokens of these")

    rows = torch.cat([each.flatten(0, 1) for each in maps.values()])
    left = len(calls) - len(maps)
    name, last = next(iter(maps)), rows[high - 1]  # the first head's
    return Explorer(
        "attention",
        title=t("Where heads look over {0}: {1}, {2}.", some(queries),
                plural(len(maps), "{0} layer", "{0} layers"),
                plural("–".join(map(str, sorted({*heads}))), "{0} head", "{0} heads"))
              + (t(" Left out: {0} of other sizes.", plural(left, "{0} map", "{0} maps"))
                 if left else "") + " "
              + t("{0}, head {1}: {2} looks most at {3}, {4}.", name, 0, queries[-1][:20],
                  among[last.argmax()][:20], f"{last.max():.2g}"),
        data={"tokens": queries, "keys": among, "layers": [*zip(maps, heads)], **packed(rows)},
        state={"layer": 0, "head": 0, "asks": high - 1})


def recorded(seen, queries: int | None) -> dict[str, Tensor]:
    """Each map by its name."""
    if not isinstance(seen, Mapping):  # a tensor a layer, or a tuple of them a step
        given = [each for each in seen or () if each is not None]
        steps = [given] if all(isinstance(each, Tensor) for each in given) else given
        seen = {f"layer {i}": each for i, each in enumerate(zip(*steps))}
    calls = {}
    for name, steps in seen.items():
        each = joined(steps, queries)
        calls |= {f"{name}, call {i + 1}" if len(each) > 1 else name: weights
                  for i, weights in enumerate(each)}
    if not calls:
        raise ValueError("seen holds no weights: run the model while record_attention is open")
    return calls


def joined(steps: Sequence[Tensor], queries: int | None) -> Sequence[Tensor]:
    """Steps with a cache as one map, if it has so many queries: each attends to the keys before and
    its own, or, across, to the same keys. Raises ValueError for steps of several sequences: beam
    search moves these between the rows of its batch."""
    sizes = [tuple(step.shape[-2:]) for step in steps]
    pairs = [*zip(sizes, sizes[1:])]
    grown = all(keys == before + new for (_, before), (new, keys) in pairs)
    across = all(new == 1 and keys == before for (_, before), (new, keys) in pairs)
    alike = len({step.shape[:-2] for step in steps}) == 1
    if not (alike and (grown or across) and queries in (None, sum(new for new, _ in sizes))):
        return steps
    if len(steps) > 1 and len(steps[0]) > 1:
        raise ValueError(f"seen holds {len(steps)} steps of a batch of {len(steps[0])}, and beam "
                         "search moves sequences between its rows: run the model once over the "
                         "sequence that was written, and show that")
    return [torch.cat([F.pad(step, (0, sizes[-1][1] - step.shape[-1])) for step in steps], dim=-2)]


def heads_of(weights: Tensor) -> Tensor:
    """The maps of the first example, and of its first window, (heads, queries, keys)."""
    weights = weights.detach().float().cpu().reshape(-1, *weights.shape[-3:])[0]
    if wrong := weights[~((weights >= -1e-3) & (weights <= 1 + 1e-3))].tolist():
        raise ValueError(f"weights must lie in 0..1, got {wrong[0]:g}")
    return weights.clamp(min=0)


def packed(rows: Tensor) -> dict[str, str]:
    """Weights in 255ths of their row's largest, a byte each, and these largest. Nothing else rounds
    to the largest: it stays the row's maximum."""
    top = rows.amax(1, keepdim=True)
    scaled = (rows / top.clamp(min=1e-30)).mul(255).round()
    scaled[(scaled == 255) & (rows < top)] = 254
    return {"maps": stored(scaled.byte()), "tops": stored(top)}
