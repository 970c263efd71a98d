"""What all explorers share: their HTML, what a page without scripts shows, checks of what is given.

``kit.js`` and a piece's own file make its source. It runs in whatever page shows the piece, without
a kernel. Where scripts don't run, a still picture or its words stand in;
tools/draw/pieces_in_node.py makes them from the piece's own description.
"""
import base64
import hashlib
import html
import json
import pathlib
import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from d2l_ext.attention import MultiHeadAttention
from d2l_ext.checks import check_linear
from ..plotting import Picture
from ..languages import Message, t, translations_in

HERE = pathlib.Path(__file__).parent
LARGEST = 1e30  # the products of larger numbers may overflow
PAGE = """<div class="d2l-explorer" data-piece="{piece}">{still}\
<script type="application/json">{values}</script><script type="module">
{source}
revive("{piece}", piece);
</script></div>"""
IMAGE = """<img class="d2l-still" alt="{alt}" style="max-width: 100%; background: white" \
src="data:image/svg+xml;base64,{image}">"""
OWN = "// own\n"  # where a source's own part begins; what is before is the same for all


class Explorer:
    """An interactive piece: ``data`` that stays, and at the start a ``state`` of named settings.

    piece: the name of its JavaScript file. title: what it shows, in words. still: the picture in
    ``images/`` that stands in where scripts don't run; it is used only if it was made of the same
    data and state.
    """

    def __init__(self, piece: str, title: str, *, data: dict, state: dict, still: str = ""):
        self.piece, self.title = piece, str(t(title))
        self.data, self.state, self.still = data, state, still
        self.words = translations_in(source(piece) + json.dumps(data, ensure_ascii=False))

    def html(self) -> str:
        """The piece as HTML that needs nothing else."""
        given = {"data": self.data, "state": self.state, "words": self.words}
        picture = self.picture()
        still = f'<p class="d2l-still">{html.escape(self.title)}</p>' if picture is None else (
            IMAGE.format(alt=html.escape(picture.alt),
                         image=base64.b64encode(picture.svg).decode()))
        return PAGE.format(piece=self.piece, still=still, source=source(self.piece),
                           values=json.dumps(given).replace("<", "\\u003c"))

    @property
    def stamp(self) -> str:
        """What data and state a still is of."""
        values = json.dumps([self.piece, self.data, self.state])
        return hashlib.sha256(values.encode()).hexdigest()[:12]

    def picture(self) -> Picture | None:
        """The still, if there is one of this data."""
        try:
            picture = Picture(self.still)
        except FileNotFoundError:
            return None
        return picture if f'data-of="{self.stamp}' in picture.svg.decode() else None

    _repr_html_ = html  # for notebooks

    def __repr__(self) -> str:
        picture = self.picture()
        return f"[explorer] {picture.alt if picture else self.title}"


def source(piece: str) -> str:
    """The JavaScript of a piece, after what all pieces share, as one module. Comments and
    indentation are left out, since each page carries it; parts of a text are joined, so that
    ``translations_in`` finds it.
    """
    palette = (HERE.parent / "palette.json").read_text(encoding="utf-8")
    parts = "const PALETTE=" + palette, read("vendor/preact"), read("kit"), OWN + read(piece)
    whole = re.sub(r"(?ms)^import .*?;\n", "", "\n".join(parts))
    bare = re.sub(r"(?m)^ *(//(?! preact| own).*|/\*\*(?s:.*?)\*/)\n+|^ +|^\n", "", whole)
    return bare.replace('" +\n"', "")


def read(name: str) -> str:
    return (HERE / f"{name}.js").read_text(encoding="utf-8")


# ---- what is given ----

def check_choices(choices: Mapping, **given) -> None:
    """Raise ValueError where what is given by its name is none of that name's choices."""
    for name, value in given.items():
        if value not in choices[name]:
            raise ValueError(f"{name}={value!r} is not possible: choose from "
                             + ", ".join(map(repr, choices[name])))


def finite(**given) -> list[Tensor]:
    """All in double precision. Raises ValueError for NaN, infinity, and numbers so large that
    products may overflow.
    """
    parts = [torch.as_tensor(part).detach().double().cpu() for part in given.values()]
    for name, part in zip(given, parts):
        if len(wrong := part[~(part.abs() <= LARGEST)]):
            raise ValueError(f"{name} must hold numbers of size up to {LARGEST:g}, "
                             f"but holds {wrong[0]:g}")
    return parts


def sizes_of(shapes: str, *given, **limits: tuple[int, int]) -> dict[str, int]:
    """The size of each axis that ``shapes`` names, such as "keys (keys, d), values (keys, v)".

    Raises ValueError where what is given (tensors, or sequences of names) has other axes, or one
    name two sizes, and for sizes beyond their limits.
    """
    found: dict = {}
    got = [tuple(part.shape) if isinstance(part, Tensor) else (len(part),) for part in given]
    for axes, sizes in zip(re.findall(r"\((.+?)\)", shapes), got, strict=True):
        names = re.findall(r"\w+", axes)
        if len(names) != len(sizes) or any(
                found.setdefault(name, size) != size for name, size in zip(names, sizes)):
            raise ValueError(f"the figure's inputs must have shapes {shapes}, "
                             f"got {', '.join(map(str, got))}")
    for name, (least, most) in limits.items():
        if not least <= found[name] <= most:
            raise ValueError(f"the figure shows {least} to {most} {name}, got {found[name]}")
    return found


def layer_data(attention: MultiHeadAttention, X: Tensor, tokens: Sequence, features: Sequence,
               outputs: str, counts: tuple[int, int]) -> dict[str, list]:
    """``tokens`` and ``features``, ``X`` and the weights of ``attention``, by name.

    Raises ValueError for attention with bias or positions, for what doesn't fit, for a number of
    tokens beyond ``counts``, for numbers that aren't finite or above 1e30 in size.
    """
    linears = {name: getattr(attention, name) for name in ("W_q", "W_k", "W_v", "W_o")}
    check_linear(**linears)
    bias = any(linear.bias is not None for linear in linears.values())
    position = getattr(attention, "position", None)
    if bias or position is not None:
        raise ValueError("the figure needs attention with bias=False and position=None, "
                         f"got {bias=}, {position=}")
    weights = {name: linear.weight for name, linear in linears.items()}
    matrices = dict(zip(("X", *weights), finite(X=X, **weights)))
    sizes_of("tokens (tokens,), features (features,), X (tokens, features), "
             "W_q (hiddens, features), W_k (hiddens, features), W_v (hiddens, features), "
             f"W_o ({outputs}, hiddens)", tokens, features, *matrices.values(), tokens=counts)
    return {"tokens": [*map(clean, tokens)], "features": [*map(clean, features)]} | {
        name: exact(matrix) for name, matrix in matrices.items()}


def clean(text: str) -> str:
    """The text on one line, without what can't be stored or printed."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", str(text))


def some(words: list[str], count: int = 8) -> Message:
    """The first ``count`` words, of at most 20 letters, and how many more there are."""
    first, more = t(", ").join(word[:20] for word in words[:count]), len(words) - count
    return t("{0} and {1} more", first, more) if more > 0 else first


def plural(count: int | str, one: str, many: str) -> Message:
    return Message(one if str(count) == "1" else many, (count,))


def exact(matrix: Tensor) -> list[list[float]]:
    """Rows of numbers with the digits that float32 has, the same on every machine."""
    return [[float(f"{value:.9g}") for value in row] for row in matrix.tolist()]


def stored(numbers: Tensor) -> str:
    """Their bytes as text (`bytesOf` in kit.js)."""
    return base64.b64encode(numbers.numpy().tobytes()).decode()
