"""Dates as people write them, turned into ISO form: "friday, 5 march 2021" -> "2021-03-05". The task, a model for it, its training, its weights.

How dates are written comes from ``data/date_formats.json``, locale data for English around the world. Numbers alone are day first
(05/03/21) or year first, years lie in 1950..2049, so a text has one meaning. Every tenth day is kept for testing: no text for it is trained on.
"""
from __future__ import annotations

import datetime
import json
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import record_attention
from .._validate import check_size
from ..progress import progress_bar
from ..transformer import EncoderDecoder

DATA = pathlib.Path(__file__).with_name("data")
TABLE = json.loads((DATA / "date_formats.json").read_text(encoding="utf-8"))
PIECES = [re.findall(r"E+|M+|d+|y+|[ ,./-]", pattern) for pattern in TABLE["patterns"]]
FIRST, LAST = datetime.date(1950, 1, 1).toordinal(), datetime.date(2049, 12, 31).toordinal()
LETTERS = sorted({*"0123456789 ,./-", *(letter for name in ("MMM", "MMMM", "E", "EEEE") for spelled in TABLE[name] for letter in "".join(spelled))})
LONGEST = 29  # letters in "wednesday, september 30, 2020", the longest there is
DIGITS = "0123456789-"
START, STEPS = len(DIGITS), 10  # the symbol before the first digit; every answer has ten symbols, so none is needed for its end

BROKEN = ("The model can't answer: its scores are not finite. "
          "Look for NaN or infinity among its weights.")

Pair = tuple[str, str]


def written(day: datetime.date, pattern: int, spelling: int = 0) -> str:
    """A date in words: ``pattern`` is a place in the table of patterns; ``spelling`` chooses among sep and sept.

    >>> written(datetime.date(2021, 3, 5), TABLE["patterns"].index("EEEE, d MMMM y"))
    'friday, 5 march 2021'
    """
    parts = {"d": str(day.day), "dd": f"{day.day:02}", "M": str(day.month), "MM": f"{day.month:02}", "y": str(day.year), "yy": f"{day.year % 100:02}"}
    for name, place in (("MMM", day.month - 1), ("MMMM", day.month - 1), ("E", day.weekday()), ("EEEE", day.weekday())):
        parts[name] = TABLE[name][place][spelling % len(TABLE[name][place])]
    return "".join(parts.get(piece, piece) for piece in PIECES[pattern])


def pairs(count: int, generator: torch.Generator, *, test: bool = False) -> list[Pair]:
    """So many random dates, as (text, ISO form): days for training, or with ``test=True`` the tenth of all days that training never sees."""
    tens = torch.randint(-(-FIRST // 10), (LAST - 9) // 10 + 1, (count,), generator=generator) * 10
    ordinals = tens if test else tens + torch.randint(1, 10, (count,), generator=generator)
    patterns = torch.randint(len(PIECES), (count,), generator=generator)
    spellings = torch.randint(2, (count,), generator=generator)
    days = [datetime.date.fromordinal(ordinal) for ordinal in ordinals.tolist()]
    return [(written(*parts), parts[0].isoformat()) for parts in zip(days, patterns.tolist(), spellings.tolist())]


def encode(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Texts as numbers, padded with 0 to (batch, longest), and their lengths (batch,)."""
    for text in texts:
        if not set(text) <= set(LETTERS):
            raise ValueError(f"{text!r:.60} has letters that the model never met: {' '.join(sorted(set(text) - set(LETTERS)))!r:.40}")
    lengths = torch.tensor([len(text) for text in texts], dtype=torch.long)
    source = torch.zeros(len(texts), max(lengths.tolist(), default=0), dtype=torch.long)
    for row, text in zip(source, texts):
        row[:len(text)] = torch.tensor([LETTERS.index(letter) + 1 for letter in text])
    return source, lengths


def encode_answers(answers: Sequence[str]) -> Tensor:
    """Dates in ISO form as numbers, (batch, 10)."""
    for answer in answers:
        if len(answer) != STEPS or not set(answer) <= set(DIGITS):
            raise ValueError(f"{answer!r:.60} must be {STEPS} symbols, digits and hyphens, as in '2021-03-05'")
    return torch.tensor([[DIGITS.index(symbol) for symbol in answer] for answer in answers], dtype=torch.long).reshape(-1, STEPS)


def shifted(answers: Tensor) -> Tensor:
    """What the decoder is given while it learns (teacher forcing): the right answer, one step late, behind the start symbol."""
    return F.pad(answers[:, :-1], (1, 0), value=START)


def date_reader(num_hiddens: int = 64, num_heads: int = 4, layers: int = 1, seed: int = 0) -> EncoderDecoder:
    """An untrained model for the task. Its weights depend on the sizes and ``seed`` alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderDecoder(len(LETTERS) + 1, len(DIGITS) + 1, num_hiddens, num_heads, layers)


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def scores_of(model: EncoderDecoder, examples: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """The model's scores for every symbol of the right answers (batch, 10, symbols), and those answers (batch, 10)."""
    device = device_of(model)
    source, lengths = (part.to(device) for part in encode([text for text, _ in examples]))
    answers = encode_answers([answer for _, answer in examples]).to(device)
    return model(source, shifted(answers), lengths), answers


def train(model: EncoderDecoder, steps: int = 1200, *, batch: int = 64, rate: float = 5e-3, seed: int = 0, progress: str = "") -> list[float]:
    """Train on fresh examples, ``steps`` times ``batch`` of them: Adam, the rate rising to ``rate`` and falling to 0, gradients clipped to 1.

    Returns the loss of each step, the mean cross-entropy of a symbol. The model stays on its device, examples are drawn on the CPU; the same
    seed gives the same examples. progress: shows a bar of this name, with the loss.
    """
    check_size(steps=steps, batch=batch)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.15)
    bar = progress_bar(progress, steps) if progress else None
    losses = []
    model.train()
    for step in range(1, steps + 1):
        scores, answers = scores_of(model, pairs(batch, generator))
        loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if bar is not None and step % 20 == 0:
            bar.value, bar.description = step, f"{progress}, loss {losses[-1]:.3f}"
    model.eval()
    return losses


def losses_of(model: EncoderDecoder, examples: Sequence[Pair]) -> Tensor:
    """The loss of each example, (batch,): the mean cross-entropy of its ten symbols. Differentiable."""
    scores, answers = scores_of(model, examples)
    return F.cross_entropy(scores.mT, answers, reduction="none").mean(1)


@torch.no_grad()
def exact(model: EncoderDecoder, examples: Sequence[Pair]) -> float:
    """The share of examples that the model writes without any mistake.

    One pass with the right answers is enough: where each next symbol is right, writing symbol by symbol makes the same choices.
    """
    scores, answers = scores_of(model, examples)
    return (scores.argmax(-1) == answers).all(1).float().mean().item()


@dataclass
class Reading:
    """What a model made of a text: its ``answer``, or the ``problem`` in a sentence; ``weights`` of every layer, (heads, queries, keys)."""

    text: str
    answer: str = ""
    problem: str = ""
    weights: dict[str, Tensor] = field(default_factory=dict)

    def __repr__(self) -> str:
        return " ".join([f"{self.text} -> {self.answer}" if self.answer else "", self.problem]).strip()


def problem_with(text: str) -> str:
    """Why a text can't be read, as a sentence; nothing where it can."""
    if not text:
        return "There is nothing to read: type a date, such as 5 march 2021."
    if len(text) > LONGEST:
        return f"These are {len(text)} characters; the model was trained on up to {LONGEST}. Type a shorter date."
    strange = sorted({letter for letter in text if letter not in LETTERS})
    if strange:
        return f"The model never met {' '.join(strange)[:40]}: it knows digits, the letters of English months and weekdays, and , . / -"
    return ""


def is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@torch.no_grad()
def read(model: EncoderDecoder, text: str) -> Reading:
    """Read one date, as typed by anyone. Never raises for the text's sake: what can't be read has a ``problem``.

    Capitals and blanks too many don't matter. A model whose scores aren't finite, as with NaN among
    its weights, answers nothing: that is the ``problem``.
    """
    text = " ".join(str(text).lower().split())
    if problem := problem_with(text):
        return Reading(text, problem=problem)
    source, lengths = (part.to(device_of(model)) for part in encode([text]))
    answer = model.generate(source, STEPS, START, lengths)
    with record_attention(model) as recorded:
        scores = model(source, shifted(answer), lengths)
    if not scores.isfinite().all():
        return Reading(text, problem=BROKEN)
    said = "".join((DIGITS + "?")[symbol] for symbol in answer[0].tolist())
    problem = "" if is_date(said) else "That is no day of the calendar."
    return Reading(text, said, problem, {name: calls[0][0].cpu() for name, calls in recorded.items()})


def save(model: EncoderDecoder, path: str | pathlib.Path) -> None:
    """Store the weights as safetensors, in half precision."""
    from safetensors.torch import save_file
    save_file({name: weight.half().contiguous() for name, weight in model.state_dict().items()}, path)


def load(path: str | pathlib.Path = DATA / "dates.safetensors") -> EncoderDecoder:
    """A ``date_reader`` with stored weights, on the CPU, ready to read; left out, with those that come with the package."""
    from safetensors.torch import load_file
    model = date_reader()
    model.load_state_dict({name: weight.float() for name, weight in load_file(path).items()})
    return model.eval()
