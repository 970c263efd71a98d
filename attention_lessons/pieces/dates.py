"""The explorer of lesson 07: a date to type, heads to switch off. Here the kernel computes."""
from __future__ import annotations

from collections.abc import Iterable

from d2l_ext.heads import all_heads, closed
from ..laboratory.dates import STEPS, Reading, read
from d2l_ext.transformer import EncoderDecoder
from .base import Explorer, choices, clean

LAYERS = {"encoder": "encoder.0.attention", "decoder": "decoder.0.attention",
          "cross": "decoder.0.cross"}


def dates_explorer(model: EncoderDecoder, text: str = "24/12/1999") -> DatesExplorer:
    """A date reader (``attention_lessons.laboratory.dates``) at work, with heads to switch off.

    Settings: ``text``, any; ``off``, a list of heads such as ``["cross 2", "encoder 0"]``;
    ``layer``, whose maps are shown: encoder, decoder or cross.
    ``reading()`` is what the model makes of the text. Raises ValueError for a model that isn't a
    date reader with one layer on either side.
    """
    if (not isinstance(model, EncoderDecoder) or len(model.encoder) != 1
            or len(model.decoder) != 1 or model.scores.out_features != STEPS + 2):
        raise ValueError("needs a model as laboratory.dates.date_reader makes it, with "
                         f"layers=1, got {type(model).__name__}")
    return DatesExplorer(model, text)


class DatesExplorer(Explorer):
    """An ``Explorer`` whose maps come from the kernel.

    Whenever its ``text`` or its heads ``off`` change, the model reads again. In pages without a
    kernel it shows the text that it began with, all heads on.
    """

    def __init__(self, model: EncoderDecoder, text: str):
        self.model = model
        self._full = None, ""  # the last text read with all heads on, and its answer
        self.heads = [f"{layer} {head}" for layer, name in LAYERS.items()
                      for where, head in all_heads(model) if where == name]
        state = {"text": clean(text), "off": [], "layer": "cross"}
        data = self._read(state)
        said = f"All {len(self.heads)} heads on: {clean(repr(read(model, text)))}."
        super().__init__(
            "dates",
            title="A date to type, heads to switch off, what the model then answers, and where "
                  "its heads look.",
            numbers=said.replace("..", "."), data=data, state=state,
            rules={"text": {}, "off": {}, "layer": choices(LAYERS)}, still="07_explorer")
        if self.widget is not None:
            self.widget.data = data | {"live": True}
            self.widget.observe(self._follow, "state")

    def reading(self) -> Reading:
        """What the model makes of the text as it is set, with the heads that are on."""
        return self._reading(self.state)

    def _reading(self, state: dict) -> Reading:
        off = [name.split() for name in state["off"]]
        with closed(self.model, [(LAYERS[layer], int(head)) for layer, head in off]):
            return read(self.model, state["text"])

    def _read(self, state: dict) -> dict:
        """All that the page draws, for a state."""
        reading = self._reading(state)
        full = self._full_answer(state) if state["off"] else reading.answer
        maps = {name: (reading.weights[where] * 100).round().int().tolist()
                for name, where in LAYERS.items() if reading.weights}
        return {"text": state["text"], "off": state["off"], "heads": self.heads,
                "letters": list(reading.text), "answer": reading.answer, "full": full,
                "problem": reading.problem, "maps": maps, "live": False}

    def _full_answer(self, state: dict) -> str:
        """The answer with all heads on, read again only for another text or other weights."""
        asked = state["text"], [weight._version for weight in self.model.parameters()]
        if asked != self._full[0]:
            self._full = asked, self._reading(state | {"off": []}).answer
        return self._full[1]

    def _follow(self, change) -> None:
        """Read again where text or heads differ from what is shown.

        A kernel only logs the errors of its observers: the piece shows them too.
        """
        state, shown = change["new"], self.widget.data
        if (state["text"], state["off"]) == (shown["text"], shown["off"]):
            return
        try:
            checked = {name: self._checked(name, value) for name, value in state.items()}
            self.widget.data = self._read(checked) | {"live": True}
        except Exception as error:
            what = f"{type(error).__name__}: {clean(error)[:200]}"
            failed = {"text": None, "answer": "", "maps": {},
                      "problem": f"This could not be computed: {what}."}
            self.widget.data = shown | failed
            raise

    def _checked(self, name: str, value):
        if name == "text":
            if not isinstance(value, str):
                raise ValueError(f"text={value!r} must be text")
            return clean(value[:200])
        if name == "off":
            named = isinstance(value, Iterable) and not isinstance(value, str)
            wanted = list(value) if named else [value]
            if unknown := [head for head in wanted if head not in self.heads]:
                possible = ", ".join(self.heads)
                raise ValueError(f"off={unknown!r} is not possible: choose from {possible}")
            return [head for head in self.heads if head in wanted]
        return super()._checked(name, value)
