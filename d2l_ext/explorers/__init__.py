"""Pieces to play with: computed and drawn in the browser, by the same small ES module with a kernel and without.

``shared.js`` and a piece's own file make its source. Where anywidget is installed, a kernel's explorer is a widget whose state Python reads and
sets; in exported pages, and wherever scripts run, the same source inlined; elsewhere a still picture, or its words.
"""
from __future__ import annotations

import base64
import html
import itertools
import json
import math
import pathlib
import re
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from ..attention import MultiHeadAttention, dot_product_attention, merge_heads, split_heads
from ..plotting import Picture
from ..sequence import FORMULAS, cost

HERE = pathlib.Path(__file__).parent
VIEW = "application/vnd.jupyter.widget-view+json"
MOST_TOKENS = 64  # with more, a key is answered late, and a cell of the map is a speck
LARGEST = 1e30  # the products of larger numbers may overflow
Rule = Mapping[Hashable, Any] | tuple[float, float]


class Explorer:
    """An interactive piece: ``data`` that stays, and a ``state`` of named settings that its controls and Python change.

    piece: the name of its JavaScript file. title, numbers: what it shows, in words. rules: for each setting what may be set, a mapping from what is
    accepted to what is stored, or (lowest, highest). still: the picture in ``images/`` that shows the default state; it stands in where
    scripts don't run, if its description has the same ``numbers``.
    ``widget`` is the anywidget, None where anywidget isn't installed.
    """

    def __init__(self, piece: str, title: str, numbers: str, data: dict, state: dict, rules: dict[str, Rule], still: str = ""):
        self.piece, self.title, self.numbers, self.data, self.still = piece, title, numbers, data, still
        self._rules, self._state, self._default = rules, dict(state), dict(state)
        self.widget = make_widget(source(piece), data, state)

    @property
    def state(self) -> dict:
        """The settings as they are now, a copy. Assigning checks them as ``set`` does."""
        return dict(self._state if self.widget is None else self.widget.state)

    @state.setter
    def state(self, settings: dict) -> None:
        self.set(**settings)

    def set(self, **settings) -> None:
        """Change some of the settings. Raises ValueError, and changes nothing, for a name or value that isn't among the possible ones."""
        changed = self.state | {name: self._checked(name, value) for name, value in settings.items()}
        self._state = changed
        if self.widget is not None:
            self.widget.state = changed

    def _checked(self, name: str, value):
        if name not in self._rules:
            raise ValueError(f"there is no setting {name!r}: choose from {', '.join(self._rules)}")
        rule = self._rules[name]
        if isinstance(rule, Mapping):
            if not isinstance(value, Hashable) or value not in rule:
                raise ValueError(f"{name}={value!r} is not possible: choose from {some([repr(choice) for choice in rule], 12)}")
            return rule[value]
        if not isinstance(value, Real) or not rule[0] <= value <= rule[1]:
            raise ValueError(f"{name}={value!r} must be a number in {rule[0]:g}..{rule[1]:g}")
        return float(value)

    def html(self) -> str:
        """The piece in its default state as HTML that needs nothing else; the same on every run."""
        alt = html.escape(f"{self.title} {self.numbers}")
        picture = Picture(self.still) if self.still else None
        if picture is not None and self.numbers in picture.alt:
            image = base64.b64encode(picture.svg).decode()
            still = f'<img class="d2l-still" alt="{html.escape(picture.alt)}" style="max-width: 100%; background: white" src="data:image/svg+xml;base64,{image}">'
        else:
            still = f'<p class="d2l-still">{alt}</p>'
        values = json.dumps({"data": self.data, "state": self._default}).replace("<", "\\u003c")
        return (f'<div class="d2l-explorer" data-piece="{self.piece}">{still}<script type="application/json">{values}</script>'
                f'<script type="module">\n{source(self.piece)}\nrevive("{self.piece}", render);\n</script></div>')

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle, metadata = {"text/html": self.html(), "text/plain": repr(self)}, {}
        if self.widget is not None:
            view, metadata = self.widget._repr_mimebundle_()
            bundle[VIEW] = view[VIEW]
        return bundle, metadata

    def __repr__(self) -> str:
        return f"[explorer] {self.title}\n{self.numbers}"


def source(piece: str) -> str:
    """The JavaScript of a piece, behind what all pieces share."""
    return "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in ("shared", piece))


def make_widget(esm: str, data: dict, state: dict):
    """An anywidget with ``data`` and ``state`` synchronised, None where anywidget isn't installed."""
    try:
        import anywidget
        from traitlets import Dict, Unicode
    except ImportError:
        return None

    class Piece(anywidget.AnyWidget):
        _esm = Unicode().tag(sync=True)
        data = Dict().tag(sync=True)
        state = Dict().tag(sync=True, echo_update=False)  # a late echo would undo what was chosen since

    return Piece(_esm=esm, data=data, state=state)


def heads_explorer(attention: MultiHeadAttention, X: Tensor, tokens: Sequence[str], features: Sequence[str]) -> Explorer:
    """The matrices of ``attention`` cut into more or fewer heads: who attends to whom, and what comes out.

    X (tokens, features), its rows named by ``tokens``, its columns by ``features``. Settings: ``num_heads``, a divisor of the channels;
    ``asks``, a token or its position; ``sharpness``, a factor on the scores in 0..2. The piece starts with the attention's own heads and
    the token whose weights are most decided.
    Raises TypeError where ``X`` is no tensor, ValueError for attention with bias or positions, for
    shapes that don't fit, more than 64 tokens, numbers that aren't finite or above 1e30 in size.
    """
    check_tensor(X)
    if attention.W_q.bias is not None or attention.position is not None:
        raise ValueError(f"needs attention with bias=False and position=None, got bias={attention.W_q.bias is not None}, position={attention.position}")
    if not len(tokens) or tuple(X.shape) != (len(tokens), len(features)):
        raise ValueError(f"X must have shape (tokens, features), at least one token, got {tuple(X.shape)} with {len(tokens)} tokens and {len(features)} features")
    if len(tokens) > MOST_TOKENS:
        part = f"X[:{MOST_TOKENS}] and tokens[:{MOST_TOKENS}]"
        raise ValueError(f"shows up to {MOST_TOKENS} tokens, got {len(tokens)}: give {part}, say")
    matrices = {"X": X} | {name: getattr(attention, name).weight for name in ("W_q", "W_k", "W_v", "W_o")}
    matrices = {name: matrix.detach().double().cpu() for name, matrix in matrices.items()}
    for name, matrix in matrices.items():
        if name != "W_o" and matrix.shape[1] != len(features):
            raise ValueError(f"{name} takes inputs of width {matrix.shape[1]}, X has width {len(features)}")
        check_numbers(name, matrix)

    tokens, labels = list(tokens), [clean(token) for token in tokens]
    heads, (X, W_q, W_k, W_v, W_o) = attention.num_heads, matrices.values()
    mixed, weights = dot_product_attention(*(split_heads(X[None] @ W.mT, heads) for W in (W_q, W_k, W_v)))
    output = (merge_heads(mixed) @ W_o.mT)[0]
    decided = [round(value, 4) for value in weights.square().sum((0, 1, 3)).tolist()]
    asks = decided.index(max(decided))
    takes = (f"head {i + 1} takes " + some([f"{label[:20]} {weight:.2f}" for label, weight in zip(labels, row)])
             for i, row in enumerate(weights[0, :4, asks].tolist()))
    result = [f"{value + 0:.2f}" for value in output[asks].round(decimals=2).tolist()]
    divisors = [i for i in range(1, len(W_q) + 1) if len(W_q) % i == 0 and (i <= 16 or i == heads)]
    return Explorer(
        "heads",
        title=f"Multi-head attention over {some([label[:20] for label in labels])}: the same matrices, cut into {', '.join(map(str, divisors))} heads.",
        numbers=f"{heads} heads, {labels[asks][:20]} asks: {'; '.join(takes)}. Output: {some(result)}.",
        data={"tokens": labels, "features": [clean(feature) for feature in features], "divisors": divisors}
        | {name: exact(matrix) for name, matrix in matrices.items()},
        state={"num_heads": heads, "asks": asks, "sharpness": 1.0},
        rules={"num_heads": {i: i for i in divisors}, "sharpness": (0, 2),
               "asks": {token: i for i, token in enumerate(tokens) if tokens.count(token) == 1} | {i: i for i in range(len(tokens))}},
        still="02_explorer")


def pooling_explorer(keys: Tensor, values: Tensor, query: Sequence[float], scale: float = 1.0) -> Explorer:
    """One query over ``keys`` (keys, d) and ``values`` (keys, v): the query's numbers, the scale and the mask give scores, weights and output.

    Settings: ``q1``, ``q2`` ..., the query's d numbers, each within the largest size of any in keys and query; ``scale``, which divides the scores,
    in 1..100; ``key1``, ``key2`` ..., True where the query may attend. At the start it may attend to every key.
    Raises ValueError for shapes that don't fit, more than 12 keys, widths above 6, numbers that
    aren't finite or above 1e30 in size.
    """
    query, keys, values = (torch.as_tensor(part).detach().double().cpu() for part in (query, keys, values))
    if keys.dim() != 2 or values.dim() != 2 or len(keys) != len(values) or query.shape != keys.shape[1:]:
        raise ValueError(f"keys must be (keys, d), values (keys, v), query (d,), got {tuple(keys.shape)}, {tuple(values.shape)}, {tuple(query.shape)}")
    if not 1 <= len(keys) <= 12 or not 1 <= keys.shape[1] <= 6 or not 1 <= values.shape[1] <= 6:
        raise ValueError(f"shows 1 to 12 keys and widths 1 to 6, got {len(keys)} keys of width {keys.shape[1]}, values of width {values.shape[1]}")
    for name, part in (("query", query), ("keys", keys), ("values", values)):
        check_numbers(name, part)

    scores = keys @ query / scale
    weights = scores.softmax(-1)
    limit = max(1.0, keys.abs().max().item(), query.abs().max().item())
    presets = {1.0: "1", math.sqrt(keys.shape[1]): f"√{keys.shape[1]}", float(scale): f"{scale:g}"}
    numbers = {name: ", ".join(f"{number + 0:.2f}" for number in row.round(decimals=2).tolist())
               for name, row in (("scores", scores), ("weights", weights), ("output", weights @ values))}
    state = {f"q{i}": number for i, number in enumerate(query.tolist(), 1)} | {"scale": float(scale)}
    rules = {name: (1, 100) if name == "scale" else (-limit, limit) for name in state}
    marks = {f"key{i}": True for i in range(1, len(keys) + 1)}
    explorer = Explorer(
        "pooling",
        title=f"Attention pooling over {len(keys)} keys: a query, a scale and a mask give scores, weights and one mixed value.",
        numbers=f"Query {', '.join(f'{number:g}' for number in query.tolist())}, scale {scale:g}: scores {numbers['scores']}; "
                f"weights {numbers['weights']}. Output: {numbers['output']}.",
        data={"keys": exact(keys), "values": exact(values), "limit": limit, "presets": list(presets.items())}, state=state | marks,
        rules=rules | {name: {True: True, False: False} for name in marks}, still="01_explorer")
    explorer.set(scale=scale)
    return explorer


def order_explorer(attention: MultiHeadAttention, X: Tensor, tokens: Sequence[str], features: Sequence[str], valid_len: int) -> Explorer:
    """Self-attention over 2 to 5 words that can be moved and hidden: each one's output, and whether it is as in the first order.

    attention: one head, no bias, no positions. X (tokens, features), its rows named by ``tokens``, its columns by ``features``. valid_len: how many
    places count under the padding mask. Settings: ``order``, the tokens joined by blanks or their numbers, "2103"; ``causal`` and ``padding``,
    whether that mask is on; ``layers``, 1 or 2 times the same layer. At the start the first ``valid_len`` words stand in reverse, and nothing is hidden.
    Raises TypeError where ``X`` is no tensor, ValueError for attention or shapes that don't fit,
    for equal tokens, for numbers that aren't finite or above 1e30 in size.
    """
    check_tensor(X)
    if attention.W_q.bias is not None or attention.position is not None or attention.num_heads != 1:
        raise ValueError(f"needs attention with num_heads=1, bias=False and position=None, got num_heads={attention.num_heads}, "
                         f"bias={attention.W_q.bias is not None}, position={attention.position}")
    labels = [clean(token) for token in tokens]
    if not 2 <= len(set(labels)) == len(labels) <= 5 or tuple(X.shape) != (len(labels), len(features)):
        raise ValueError(f"X must have shape (tokens, features), its 2 to 5 tokens all different, got {tuple(X.shape)}, tokens {labels} and {len(features)} features")
    if not 1 <= valid_len <= len(labels):
        raise ValueError(f"valid_len={valid_len} must lie in 1..{len(labels)}")
    matrices = {"X": X} | {name: getattr(attention, name).weight for name in ("W_q", "W_k", "W_v", "W_o")}
    matrices = {name: matrix.detach().double().cpu() for name, matrix in matrices.items()}
    for name, matrix in matrices.items():
        if matrix.shape[0 if name == "W_o" else 1] != len(features):
            raise ValueError(f"{name} has shape {tuple(matrix.shape)}, X has width {len(features)}: both layers need this width")
        check_numbers(name, matrix)

    X, W_q, W_k, W_v, W_o = matrices.values()
    output = dot_product_attention(X @ W_q.mT, X @ W_k.mT, X @ W_v.mT)[0] @ W_o.mT
    start = [*reversed(range(valid_len)), *range(valid_len, len(labels))]
    said = (f"{labels[i][:20]} {', '.join(f'{value + 0:.2f}' for value in output[i].round(decimals=2).tolist())}" for i in start)
    orders = {"".join(map(str, order)): " ".join(tokens[i] for i in order) for order in itertools.permutations(range(len(labels)))}
    yes_no = {True: True, False: False}
    return Explorer(
        "order",
        title=f"Self-attention over {some([label[:20] for label in labels])}: words to move, masks to switch on.",
        numbers=f"Said as {' '.join(labels[i][:20] for i in start)}, one layer, nothing hidden, each word has the output that it has in "
                f"{' '.join(label[:20] for label in labels)}: {'; '.join(said)}.",
        data={"tokens": labels, "features": [clean(feature) for feature in features], "validLen": valid_len} | {name: exact(matrix) for name, matrix in matrices.items()},
        state={"order": "".join(map(str, start)), "causal": False, "padding": False, "layers": 1},
        rules={"order": {words: code for code, words in orders.items()} | {code: code for code in orders}, "causal": yes_no, "padding": yes_no, "layers": {1: 1, 2: 2}},
        still="03_explorer")


def compare_explorer(n: int = 64, d: int = 512, k: int = 3, num_heads: int = 8) -> Explorer:
    """What a layer of convolution, recurrence and self-attention costs at any size, as ``d2l_ext.cost`` has it, and who sees whom layer by layer.

    Settings: ``n`` tokens, 16 to 65,536, and the width ``d``, 16 to 4,096, both powers of 2; ``k``, the kernel, 3, 5, 7 or 9; ``num_heads``, 1, 2, 4, 8 or 16;
    ``layers`` in the picture of who sees whom, 1 to 8; it starts with 1.
    Raises ValueError for sizes that aren't among these.
    """
    choices = {"n": [2**i for i in range(4, 17)], "d": [2**i for i in range(4, 13)], "k": [3, 5, 7, 9], "num_heads": [1, 2, 4, 8, 16], "layers": list(range(1, 9))}
    told = (f"{kind} {c.operations:,} operations, {c.sequential} {'step' if c.sequential == 1 else 'steps'}, longest path {c.path}"
            for kind in FORMULAS for c in [cost(kind, n, d, k)])
    explorer = Explorer(
        "compare", title="Convolution, recurrence and self-attention: work, sequential steps and longest path at any size.",
        numbers=f"n = {n}, d = {d}, k = {k}, {num_heads} {'head' if num_heads == 1 else 'heads'}: {'; '.join(told)}.",
        data={"choices": choices}, state={"n": n, "d": d, "k": k, "num_heads": num_heads, "layers": 1},
        rules={name: {value: value for value in values} for name, values in choices.items()}, still="06_explorer")
    explorer.set(n=n, d=d, k=k, num_heads=num_heads)
    return explorer


def check_tensor(X: Tensor) -> None:
    """Raise TypeError unless ``X`` is a tensor."""
    if not isinstance(X, Tensor):
        raise TypeError(f"X must be a tensor, got {type(X).__name__}: torch.as_tensor(X) makes one")


def check_numbers(name: str, numbers: Tensor) -> None:
    """Raise ValueError unless all are finite, and none so large that products may overflow."""
    if not numbers.isfinite().all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity")
    largest = numbers.abs().max().item() if numbers.numel() else 0
    if largest > LARGEST:
        limit = f"numbers of size up to {LARGEST:g}"
        raise ValueError(f"{name} must hold {limit}, but holds one of {largest:g}")


def clean(text: str) -> str:
    """Text on one line, without what can't be stored or printed."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", str(text))


def some(words: list[str], count: int = 8) -> str:
    """The first ``count``, and how many more."""
    return ", ".join(words[:count]) + (f" and {len(words) - count} more" if len(words) > count else "")


def exact(matrix: Tensor) -> list[list[float]]:
    """Rows of numbers in as many digits as float32 has, so that they read the same on every machine."""
    return [[float(f"{value:.9g}") for value in row] for row in matrix.tolist()]


from .dates import dates_explorer  # noqa: E402, F401: they build on what stands above
from .lengths import lengths_explorer  # noqa: E402, F401
from .positions import clock_explorer  # noqa: E402, F401
