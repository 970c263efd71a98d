"""What all explorers share: their state, their widget, their HTML, and checks of what they show.

``kit.js`` and a piece's own file make its source. Where anywidget is installed, a kernel's explorer
is a widget whose state Python reads and sets. Exported pages carry the same source. Where scripts
don't run, a still picture or its words stand in; tools/draw/_stills.py makes them from the piece's
own description.
"""
from __future__ import annotations

import base64
import hashlib
import html
import json
import pathlib
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from d2l_ext.attention import MultiHeadAttention
from ..plotting import Picture
from ..languages import Message, known, language, t

HERE = pathlib.Path(__file__).parent
VIEW = "application/vnd.jupyter.widget-view+json"
LARGEST = 1e30  # the products of larger numbers may overflow
SWITCH = {True: True, False: False}
PAGE = """<div class="d2l-explorer" data-piece="{piece}">{still}\
<script type="application/json">{values}</script><script type="module">
{source}
revive("{piece}", piece);
</script></div>"""
IMAGE = """<img class="d2l-still" alt="{alt}" style="max-width: 100%; background: white" \
src="data:image/svg+xml;base64,{image}">"""
OWN = "// own\n"  # where a source's own part begins; what is before is the same for all
Rule = Mapping[Hashable, Any] | tuple[float, float] | type[str]


class Explorer:
    """An interactive piece: ``data`` that stays, and a ``state`` of named settings.

    The state is changed by the piece's controls and by Python.
    piece: the name of its JavaScript file. title: what it shows, in words.
    rules: what each setting may be: (lowest, highest), or a mapping from what is accepted to what
    is stored, or ``str`` for any text. still: the picture in ``images/`` that stands in where
    scripts don't run; it is used only if it was made of the same data and state.
    ``widget`` is the anywidget, None where anywidget isn't installed.
    """

    def __init__(self, piece: str, title: str, *, data: dict, state: dict,
                 rules: dict[str, Rule], still: str = ""):
        self.piece, self.title = piece, str(t(title))
        self.data, self.still = data, still
        self._rules, self._state, self._default = rules, dict(state), dict(state)
        self.words = words_of(piece, data)
        self.widget = make_widget(source(piece), data, state, self.words)

    @property
    def state(self) -> dict:
        """A copy of the settings as they are now. Assigning to it checks them as ``set`` does."""
        return dict(self._state if self.widget is None else self.widget.state)

    @state.setter
    def state(self, settings: dict) -> None:
        self.set(**settings)

    def set(self, **settings) -> None:
        """Change some of the settings.

        Raises ValueError, and changes nothing, for an unknown name or an impossible value.
        """
        checked = {name: self._checked(name, value) for name, value in settings.items()}
        self._state = self.state | checked
        if self.widget is not None:
            self.widget.state = self._state

    def _checked(self, name: str, value):
        if name not in self._rules:
            raise ValueError(f"there is no setting {name!r}: choose from {', '.join(self._rules)}")
        rule = self._rules[name]
        if rule is str:
            if not isinstance(value, str):
                raise ValueError(f"{name}={value!r} must be text")
            return clean(value[:200])
        if isinstance(rule, Mapping):
            return one_of(rule, **{name: value})
        if not isinstance(value, Real) or not rule[0] <= value <= rule[1]:
            raise ValueError(f"{name}={value!r} must be a number in {rule[0]:g}..{rule[1]:g}")
        return float(value)

    def html(self) -> str:
        """The piece in its default state as HTML that needs nothing else."""
        given = {"data": self.data, "state": self._default}
        given |= {"words": self.words} if self.words else {}
        values = json.dumps(given).replace("<", "\\u003c")
        return PAGE.format(piece=self.piece, still=self._still(), values=values,
                           source=source(self.piece))

    @property
    def stamp(self) -> str:
        """What data and default state a still is of."""
        values = json.dumps([self.piece, self.data, self._default])
        return hashlib.sha256(values.encode()).hexdigest()[:12]

    def picture(self) -> Picture | None:
        """The still, if there is one of this data."""
        try:
            picture = Picture(self.still)
        except FileNotFoundError:
            return None
        return picture if f'data-of="{self.stamp}' in picture.svg.decode() else None

    def _still(self) -> str:
        """The picture where it shows the default state, else the words."""
        picture = self.picture()
        if picture is None:
            return f'<p class="d2l-still">{html.escape(self.title)}</p>'
        return IMAGE.format(alt=html.escape(picture.alt),
                            image=base64.b64encode(picture.svg).decode())

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle, metadata = {"text/html": self.html(), "text/plain": repr(self)}, {}
        if self.widget is not None:
            view, metadata = self.widget._repr_mimebundle_()
            bundle[VIEW] = view[VIEW]
        return bundle, metadata

    def __repr__(self) -> str:
        picture = self.picture()
        return " ".join(("[explorer]", picture.alt if picture else self.title))


def source(piece: str) -> str:
    """The JavaScript of a piece, after what all pieces share, as one module. Comments and
    indentation stay at home: each page carries it.
    """
    own, palette = read(piece), (HERE.parent / "palette.json").read_text(encoding="utf-8")
    parts = ["const PALETTE=" + palette, read("vendor/preact"), read("kit"), OWN + own]
    parts.append("export default { render: (given) => show(piece, given) };\n")
    whole = re.sub(r"(?ms)^import .*?;\n", "", "\n".join(parts))
    return re.sub(r"(?m)^ *(//(?! preact| own).*|/\*\*(?s:.*?)\*/)\n+|^ +|^\n", "", whole)


def read(name: str) -> str:
    return (HERE / f"{name}.js").read_text(encoding="utf-8")


PLURAL = r"""plural\([^"']*, ["'](\w+)["']\)"""  # "1 head", "2 heads"


def texts(script: str) -> list[str]:
    """What a script says: the keys of its t("...") and of its plurals."""
    strings = r'"(?:[^"\\]|\\.)*"'
    found = ["".join(json.loads(part) for part in re.findall(strings, keys))
             for keys in re.findall(rf"\bt\(\s*({strings}(?:\s*\+\s*{strings})*)", script)]
    for word in re.findall(PLURAL, script):
        found += [f"{{0}} {word}", f"{{0}} {word}s"]
    return found


def words_of(piece: str, data: dict) -> dict[str, str]:
    """What a piece may say, and names in its data -> the language that is spoken, if not English.
    """
    if language() == "en":
        return {}
    keys = [*texts(read("kit")), *texts(read(piece)), *names_in(data)]
    return {key: known(key) for key in keys if known(key) != key}


def names_in(data) -> Iterable[str]:
    """Every string in nested data, keys too."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from (*names_in(key), *names_in(value))
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from names_in(value)


def make_widget(esm: str, data: dict, state: dict, words: dict):
    """An anywidget that synchronises ``data`` and ``state``, or None without anywidget."""
    try:
        import anywidget
        from traitlets import Dict, Unicode
    except ImportError:
        return None

    class Piece(anywidget.AnyWidget):
        _esm = Unicode().tag(sync=True)
        data = Dict().tag(sync=True)
        words = Dict().tag(sync=True)
        # A late echo would undo what was chosen since.
        state = Dict().tag(sync=True, echo_update=False)

    return Piece(_esm=esm, data=data, state=state, words=words)


def choices(values: Iterable) -> dict:
    """A rule that accepts these values and nothing else."""
    return {value: value for value in values}


def one_of(rule: Mapping[Hashable, Any], **given):
    """What a rule stores for the value that is given by its name. Raises ValueError for others."""
    (name, value), = given.items()
    if not isinstance(value, Hashable) or value not in rule:
        possible = some([repr(choice) for choice in rule], 12)
        raise ValueError(f"{name}={value!r} is not possible: choose from {possible}")
    return rule[value]


def by_name(names: Sequence) -> dict:
    """A rule that accepts the places of names, and each name that no other has."""
    single = {name: i for i, name in enumerate(names) if names.count(name) == 1}
    return single | choices(range(len(names)))


def check_tensor(X: Tensor) -> None:
    """Raise TypeError unless ``X`` is a tensor."""
    if not isinstance(X, Tensor):
        raise TypeError(f"X must be a tensor, got {type(X).__name__}: torch.as_tensor(X) makes one")


def check_numbers(name: str, numbers: Tensor) -> None:
    """Raise ValueError for NaN, infinity, and numbers so large that products may overflow."""
    if not numbers.isfinite().all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity")
    largest = numbers.abs().max().item() if numbers.numel() else 0
    if largest > LARGEST:
        raise ValueError(f"{name} must hold numbers of size up to {LARGEST:g}, "
                         f"but holds one of {largest:g}")


def matrices_of(attention: MultiHeadAttention, X: Tensor) -> dict[str, Tensor]:
    """``X`` and the weights of ``attention``, by name, in double precision.

    Raises ValueError for attention with bias or positions, for weights that don't fit ``X``, for
    numbers that aren't finite or above 1e30 in size.
    """
    bias, position = attention.W_q.bias is not None, getattr(attention, "position", None)
    if bias or position is not None:
        raise ValueError("needs attention with bias=False and position=None, "
                         f"got {bias=}, {position=}")
    weights = {name: getattr(attention, name).weight for name in ("W_q", "W_k", "W_v", "W_o")}
    for name, weight in weights.items():
        if name != "W_o" and weight.shape[1] != X.shape[1]:
            raise ValueError(f"{name} takes inputs of width {weight.shape[1]}, "
                             f"X has width {X.shape[1]}")
    matrices = {name: matrix.detach().double().cpu()
                for name, matrix in ({"X": X} | weights).items()}
    for name, matrix in matrices.items():
        check_numbers(name, matrix)
    return matrices


def clean(text: str) -> str:
    """The text on one line, without what can't be stored or printed."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", str(text))


def some(words: list[str], count: int = 8) -> Message:
    """The first ``count`` words, and how many more there are."""
    first, more = t(", ").join(words[:count]), len(words) - count
    return t("{0} and {1} more", first, more) if more > 0 else first


def plural(count: int | str, word: str) -> Message:
    return Message("{0} " + word + "s" * (str(count) != "1"), (count,))


def exact(matrix: Tensor) -> list[list[float]]:
    """Rows of numbers with the digits that float32 has, the same on every machine."""
    return [[float(f"{value:.9g}") for value in row] for row in matrix.tolist()]


def stored(numbers: Tensor) -> str:
    """Their bytes as text, of four bytes five signs (`bytesOf` in kit.js): a tenth shorter than
    base64, with no sign that HTML or JSON must escape."""
    data = bytes(numbers.contiguous().flatten().view(torch.uint8).tolist())
    return base64.b85encode(data, pad=True).decode().replace("<", ",")
