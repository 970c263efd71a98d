"""The language of what is shown: messages, hints, alternative texts, pieces.

English stands in the code, as ``t("The shape should be {0}, yours is {1}.", wanted, given)``, and
is the key: ``zh.json`` has the Chinese. It is looked up when the message is spoken, by ``str`` or
``repr`` or in an f-string. What is put in stays as it is, a learner's own words and Python's, but
for what is marked by ``t`` itself.
"""
from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
PLACE = re.compile(r"\{(\d)\}")
chosen = ""


def language(code: str = "") -> str:
    """Speak ``code``, for example ``language("zh")``, from now on; without it, what is spoken.

    Until one is chosen: the environment variable D2L_EXT_LANGUAGE, else the notebook's own
    metadata ("language") in a Jupyter server, else "en". Raises ValueError for a language without
    a catalogue.

    >>> language()
    'en'
    """
    global chosen
    if code:
        check(code, "code")
        chosen = code
    return chosen or outside()


def languages() -> list[str]:
    """All there are."""
    return ["en", *sorted(path.stem for path in HERE.glob("*.json"))]


def check(code: str, name: str) -> None:
    if code not in languages():
        raise ValueError(f"{name}={code!r} has no catalogue: choose from {', '.join(languages())}")


@cache
def outside() -> str:
    """The language that the environment or the notebook's metadata asks for."""
    if code := os.environ.get("D2L_EXT_LANGUAGE", ""):
        check(code, "D2L_EXT_LANGUAGE")
        return code
    try:  # Jupyter Server tells a kernel the path of its notebook
        notebook = json.loads(Path(os.environ["JPY_SESSION_NAME"]).read_text(encoding="utf-8"))
        code = notebook["metadata"]["language"]
        return code if code in languages() else "en"
    except (KeyError, TypeError, ValueError, OSError):
        return "en"


@cache
def catalogue(code: str) -> dict[str, str]:
    """English -> its translation."""
    path = HERE / f"{code}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


class Message(str):
    """Words with values in their places. As a string it is English; spoken, what is spoken."""

    def __new__(cls, text: str, values: tuple = ()):
        english = (value.english if isinstance(value, Message) else str(value) for value in values)
        made = super().__new__(cls, fill(text, [*english]))
        made.text, made.values = text, values
        return made

    @property
    def english(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        text = catalogue(language()).get(self.text, self.text)
        return fill(text, [str(value) for value in self.values])

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: str) -> Message:
        return Message("{0}{1}", (self, other))

    def __radd__(self, other: str) -> Message:
        return Message("{0}{1}", (other, self))

    def join(self, parts: Iterable[str]) -> Message:
        """The parts with this message between them: ``t(", ").join(names)``."""
        first, *rest = [*parts] or [""]
        for part in rest:
            first = Message("{0}{1}{2}", (first, self, part))
        return first if isinstance(first, Message) else Message("{0}", (first,))

    def __reduce__(self):
        return Message, (self.text, self.values)


def t(text: str, *values) -> Message:
    """The message ``text``, with the values at ``{0}``, ``{1}`` ...

    >>> t("The shape should be {0}, yours is {1}.", (2, 3), (3, 2))
    The shape should be (2, 3), yours is (3, 2).
    """
    return text if isinstance(text, Message) else Message(text, values)


def translations_in(page: str) -> dict[str, str]:
    """English -> the language that is spoken, where it differs, for the texts and names that stand
    in a page's script or data in double quotes; the script puts in the values."""
    texts = catalogue(language())
    keys = sorted({key.removeprefix("name: ") for key in texts})
    return {key: twin for key in keys if json.dumps(key, ensure_ascii=False) in page
            and (twin := texts.get(key) or name_of(key)) != key}


def name_of(label: str) -> str:
    """A label as it is spoken: what the packages call layers, tasks and encodings has a name in
    each language; all else, a learner's own words above all, stays as it is."""
    return catalogue(language()).get("name: " + label, label)


def fill(text: str, values: list[str]) -> str:
    return PLACE.sub(lambda place: values[int(place[1])], text) if values else text
