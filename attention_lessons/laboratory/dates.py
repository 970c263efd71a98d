"""Dates as people write them, turned into ISO form: "friday, 5 march 2021" -> "2021-03-05".

How dates are written is locale data for English around the world, ``data/date_formats.json``.
Numbers alone are day first (05/03/21) or year first, and years lie in 1950..2049, so that a text
has one meaning. Every tenth day is kept for testing: training sees no text for it.
"""
from __future__ import annotations

import datetime
import json
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2l_ext.checks import check_size
from d2l_ext.recording import record_attention
from d2l_ext.transformer import EncoderDecoder
from .stored import DATA, load_weights, save_weights as save  # noqa: F401
from .training import fit

TABLE = json.loads((DATA / "date_formats.json").read_text(encoding="utf-8"))
PIECES = [re.findall(r"E+|M+|d+|y+|[ ,./-]", pattern) for pattern in TABLE["patterns"]]
NAMES = {name: TABLE[name] for name in ("MMM", "MMMM", "E", "EEEE")}  # of months and weekdays
FIRST, LAST = datetime.date(1950, 1, 1).toordinal(), datetime.date(2049, 12, 31).toordinal()
SPELLINGS = [spelling for names in NAMES.values() for spellings in names for spelling in spellings]
LETTERS = sorted(set("".join(["0123456789 ,./-", *SPELLINGS])))
LONGEST = len("wednesday, september 30, 2020")
DIGITS = "0123456789-"
START = len(DIGITS)  # the symbol before the first digit
STEPS = 10  # symbols in every answer, so none is needed for its end

Pair = tuple[str, str]


# ---- texts and answers ----

def written(day: datetime.date, pattern: int, spelling: int = 0) -> str:
    """A date in words.

    pattern: a place in the table of patterns. spelling: 0 or 1, for names with two: sep and sept.

    >>> written(datetime.date(2021, 3, 5), TABLE["patterns"].index("EEEE, d MMMM y"))
    'friday, 5 march 2021'
    """
    parts = {"d": f"{day.day}", "dd": f"{day.day:02}", "M": f"{day.month}", "MM": f"{day.month:02}",
             "y": f"{day.year}", "yy": f"{day.year % 100:02}"}
    for name, names in NAMES.items():
        spellings = names[day.month - 1 if "M" in name else day.weekday()]
        parts[name] = spellings[spelling % len(spellings)]
    return "".join(parts.get(piece, piece) for piece in PIECES[pattern])


def pairs(count: int, generator: torch.Generator, *, test: bool = False) -> list[Pair]:
    """``count`` random dates, each as (text, ISO form).

    Days for training, or with ``test=True`` every tenth day, which training never sees.
    """
    tens = torch.randint(-(-FIRST // 10), (LAST - 9) // 10 + 1, (count,), generator=generator) * 10
    days = tens if test else tens + torch.randint(1, 10, (count,), generator=generator)
    patterns = torch.randint(len(PIECES), (count,), generator=generator).tolist()
    spellings = torch.randint(2, (count,), generator=generator).tolist()
    dates = map(datetime.date.fromordinal, days.tolist())
    return [(written(day, pattern, spelling), day.isoformat())
            for day, pattern, spelling in zip(dates, patterns, spellings)]


def day_month_year(answers: Sequence[str]) -> tuple[list[Pair], Tensor]:
    """Dates written like "5 march 2021", as pairs, and which letters tell each symbol.

    The second is (batch, 10, letters of the longest), True where a letter belongs to the part, day,
    month or year, that the symbol writes; nothing tells a hyphen.

    >>> examples, part = day_month_year(["2021-03-05"])
    >>> examples, part[0, 5].nonzero().flatten().tolist()
    ([('5 march 2021', '2021-03-05')], [2, 3, 4, 5, 6])
    """
    pattern = TABLE["patterns"].index("d MMMM y")
    texts = [written(datetime.date.fromisoformat(answer), pattern) for answer in answers]
    part = torch.zeros(len(texts), STEPS, max(map(len, texts)), dtype=torch.bool)
    for letters, text in zip(part, texts):
        day, month, year = map(len, text.split())
        letters[:4, len(text) - year:len(text)] = True
        letters[5:7, day + 1:day + 1 + month] = True
        letters[8:, :day] = True
    return list(zip(texts, answers)), part


def encode(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Texts as integers, padded with 0 to (batch, longest), and their lengths (batch,).

    Raises ValueError for a text that is empty or has letters outside ``LETTERS``.
    """
    for text in texts:
        if not text:
            raise ValueError("a text is empty: write a date, such as 5 march 2021")
        if unknown := " ".join(sorted(set(text) - set(LETTERS))):
            raise ValueError(f"{text!r:.60} has letters that the model never met: {unknown!r:.40}")
    lengths = torch.tensor([len(text) for text in texts], dtype=torch.long)
    source = torch.zeros(len(texts), max(lengths.tolist(), default=0), dtype=torch.long)
    for row, text in zip(source, texts):
        row[:len(text)] = torch.tensor([LETTERS.index(letter) + 1 for letter in text])
    return source, lengths


def encode_answers(answers: Sequence[str]) -> Tensor:
    """Dates in ISO form as integers, (batch, 10). Raises ValueError for other texts."""
    for answer in answers:
        if len(answer) != STEPS or not set(answer) <= set(DIGITS):
            raise ValueError(f"{answer!r:.60} must be {STEPS} symbols, digits and hyphens, "
                             "as in '2021-03-05'")
    rows = [[DIGITS.index(symbol) for symbol in answer] for answer in answers]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, STEPS)


def shifted(answers: Tensor) -> Tensor:
    """What the decoder is given in training (teacher forcing), (batch, 10).

    The right answers, one step late, after the start symbol.
    """
    return F.pad(answers[:, :-1], (1, 0), value=START)


# ---- the model and its training ----

def date_reader(
    layers: int = 1, seed: int = 0, *, num_kv_heads: int | None = None,
) -> EncoderDecoder:
    """An untrained model of width 64 with four heads. Its weights depend on the arguments alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderDecoder(len(LETTERS) + 1, len(DIGITS) + 1, 64, 4, layers,
                              num_kv_heads=num_kv_heads)


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def scores_of(model: EncoderDecoder, examples: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """The scores of every symbol, given the right answers, and those answers.

    Shapes: (batch, 10, symbols) and (batch, 10).
    """
    device = device_of(model)
    source, lengths = (part.to(device) for part in encode([text for text, _ in examples]))
    answers = encode_answers([answer for _, answer in examples]).to(device)
    return model(source, shifted(answers), lengths), answers


def train(model: EncoderDecoder, steps: int = 1200, *, seed: int = 0) -> list[float]:
    """Train with ``fit`` on ``steps`` batches of 64 fresh examples, one cycle of the learning rate.

    Returns the loss of each step, the mean cross-entropy of a symbol. The model stays on its
    device; examples are drawn on the CPU, the same for the same seed. Raises ValueError for fewer
    than 1 step.
    """
    check_size(steps=steps)
    generator = torch.Generator().manual_seed(seed)

    def loss_of_batch() -> Tensor:
        scores, answers = scores_of(model, pairs(64, generator))
        return F.cross_entropy(scores.flatten(0, 1), answers.flatten())

    return fit(model, loss_of_batch, steps, 5e-3, one_cycle=True)


def losses_of(model: EncoderDecoder, examples: Sequence[Pair]) -> Tensor:
    """The loss of each example, (batch,): the mean cross-entropy of its ten symbols."""
    scores, answers = scores_of(model, examples)
    return F.cross_entropy(scores.mT, answers, reduction="none").mean(1)


@torch.no_grad()
def exact(model: EncoderDecoder, examples: Sequence[Pair]) -> float:
    """The share of examples that the model writes without any mistake.

    One pass with the right answers is enough: as long as all symbols so far are right, writing
    symbol by symbol makes the same choices.
    """
    scores, answers = scores_of(model, examples)
    return (scores.argmax(-1) == answers).all(1).float().mean().item()


# ---- reading ----

@dataclass
class Reading:
    """What a model made of a text. weights: of each attention layer, (heads, queries, keys)."""

    text: str
    answer: str
    weights: dict[str, Tensor]

    def __repr__(self) -> str:
        return f"{self.text} -> {self.answer}"


@torch.no_grad()
def read(model: EncoderDecoder, text: str) -> Reading:
    """Read one date, with capitals or extra blanks if need be.

    Raises ValueError for a text that ``encode`` can't take.
    """
    text = " ".join(text.lower().split())
    source, lengths = (part.to(device_of(model)) for part in encode([text]))
    answer = model.generate(source, STEPS, START, lengths)
    with record_attention(model) as recorded:
        model(source, shifted(answer), lengths)
    said = "".join((DIGITS + "?")[symbol] for symbol in answer[0].tolist())  # ?: the start symbol
    return Reading(text, said, {name: calls[0][0].cpu() for name, calls in recorded.items()})


# ---- stored weights ----

def load(path: str | pathlib.Path = DATA / "dates.safetensors") -> EncoderDecoder:
    """A ``date_reader`` with stored weights, on the CPU, in evaluation mode.

    Without a path, with the weights that come with the package. Raises FileNotFoundError where
    there is no such file.
    """
    model = date_reader()
    load_weights(model, path)
    return model
