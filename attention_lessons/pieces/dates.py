"""The piece of lesson 09: a date to type, heads to close. The model runs where the piece is."""
import torch

from ..laboratory.dates import DIGITS, LETTERS, LONGEST, STEPS
from d2l_ext.transformer import EncoderDecoder
from ..languages import t
from .base import Explorer, clean, finite, stored

LAYERS = {"encoder": "encoder.0.attention", "decoder": "decoder.0.attention",
          "cross": "decoder.0.cross"}


def dates_explorer(model: EncoderDecoder, text: str = "24/12/1999") -> Explorer:
    """A date reader (``attention_lessons.laboratory.dates``) at work, with heads to close.

    The piece carries the model's weights, as they are now, and reads by itself, without a kernel.
    At the start all heads are open. Its riddle of the day asks for a wrong month.
    Raises ValueError for a model that isn't a date reader with one layer on either side, and for
    weights that aren't finite.
    """
    if (not isinstance(model, EncoderDecoder) or len(model.encoder) != 1
            or len(model.decoder) != 1 or model.scores.out_features != STEPS + 2):
        raise ValueError("the figure needs a model as laboratory.dates.date_reader makes it, with "
                         f"layers=1, got {type(model).__name__}")
    weights = {name: W.cpu().float().flatten() for name, W in model.state_dict().items()}
    flat = torch.cat([*weights.values()])
    finite(weights=flat)
    short = flat.half() if torch.equal(flat.half().float(), flat) else flat  # the same numbers
    heads = {layer: [f"{layer}_{i}" for i in range(model.get_submodule(name).num_heads)]
             for layer, name in LAYERS.items()}
    return Explorer(
        "dates",
        title=t("A date to type, heads to close, what the model then writes, and where its heads "
                "look."),
        data={"weights": stored(short), "precision": 8 * short.element_size(),
              "sizes": [[name, len(W)] for name, W in weights.items()], "heads": heads,
              "letters": "".join(LETTERS), "digits": DIGITS, "longest": LONGEST},
        state={"text": clean(text[:200]), "riddle": False}
        | dict.fromkeys(sum(heads.values(), []), True),
        still="09_explorer")
