"""The language of what is shown: titles, tables, alternative texts, messages, explorers.

English stands in the code and is the key; ``languages/zh.json``
has the others' words. They are looked up where something is shown, so that no code says it twice:
in an entry, ``{0}``, ``{1}`` ... stand for what the code puts in, ``{=0}`` for names and Python's
own words, which stay as they are.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from .languages import catalogue, language

PLACE = re.compile(r"\{=?(\d)\}")
# Where a text falls into parts: lines, sentences, after a sign, between a list's items, at a sign.
BETWEEN = (r"\n\s*", r"(?<=[.!?]) ", r"(?<=[:;,]) ", r"(?<=\d)[;,] (?=[A-Za-z])", r"[:;,] ")


@cache
def entries(code: str) -> dict[str, str]:
    """The catalogue: English -> its translation."""
    return {key.strip().removeprefix("name: "): text.strip()
            for key, text in catalogue(code).items()
            if key != " Output: {0}."}  # a script's


def pages(code: str) -> dict[str, str]:
    """What the frames of pages say: those of the website, those of lessons to read offline."""
    return entries(code)


@cache
def patterns(code: str) -> list[tuple[re.Pattern, str]]:
    """The entries with places."""
    found = []
    for key, text in entries(code).items():
        if said := PLACE.search(key) and letters(key):
            place = ".+?" if said > 2 else r"-?[\d.,]+"  # "{0} to {1}": numbers alone
            parts = PLACE.split(key)  # literal, number, literal ...
            literal = "".join(f"(?P<p{part}>{place})" if i % 2 else re.escape(part)
                              for i, part in enumerate(parts))
            found.append((re.compile(literal, re.S), text))
    return found


def known(key: str) -> str:
    """The entry of a key in the language that is spoken, places and all, or the key."""
    words = catalogue(language())
    return words.get(key) or words.get("name: " + key, key)


def translated(text: str) -> str:
    """The text in the language that is spoken, or as it is where the catalogue has no entry.

    A text that has no entry is looked up in parts: lines, sentences, what stands in an entry's
    places.
    """
    code = language()
    return text if code == "en" else look_up(text, code)


def look_up(text: str, code: str) -> str:
    """The text, or of all ways to put it together from entries the one that leaves least English,
    with the longest entries."""
    return put_together(text, code)[0]


@cache
def put_together(text: str, code: str) -> tuple[str, int, int]:
    """The text as ``look_up`` has it, how many of its letters shall stay, its entries' length."""
    if said := entries(code).get(text):
        return said, letters(said), len(text)
    if not re.search("[A-Za-z]{2}", text) or re.fullmatch(r"[\w.]+\([^()]*\)", text):  # a call
        return text, letters(text), 0
    if quoted := re.fullmatch(r"(['\"])(.+)\1", text, re.S):
        said, *rest = put_together(quoted[2], code)
        return quoted[1] + said + quoted[1], *rest
    ways = [(text, 0, 0)]
    for pattern, words in patterns(code):
        if found := pattern.fullmatch(text):
            ways.append(filled(words, found.groupdict(), len(text), code))
    if named := re.fullmatch(r"(.*[A-Za-z]) (-?\d+[.,][\d.,: -]*)", text):  # "bites 0.88, 0.73"
        said, *rest = put_together(named[1], code)
        ways.append((joined([said, " ", named[2]]), *rest))
    for between in BETWEEN:
        parts = re.split(f"({between})", text)
        if len(parts) > 1:
            said, stay, own = zip(*(put_together(part, code) for part in parts))
            ways.append((joined(said), sum(stay), sum(own)))
    return min(ways, key=lambda way: (letters(way[0]) - way[1], -way[2]))


def filled(words: str, found: dict[str, str], length: int, code: str) -> tuple[str, int, int]:
    """An entry's words with what stands in its places, as ``put_together`` has it."""
    parts, stays = {name[1:]: part for name, part in found.items()}, re.findall(r"\{=(\d)\}", words)
    made = {place: (part, letters(part)) if place in stays else put_together(part, code)[:2]
            for place, part in parts.items()}
    said = PLACE.sub(lambda place: made[place[1]][0], words)
    if "} {" in words:
        said = re.sub(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff\d-])", "", said)
    own = length - sum(map(len, parts.values()))
    stay = letters(PLACE.sub("", words)) + sum(stay for _, stay in made.values())
    return said, stay, own


def letters(text: str) -> int:
    return len(re.findall("[A-Za-z]", text))


def joined(parts: Sequence[str]) -> str:
    """Parts and what stands between: a sign beside a character is full-width, and no space is."""
    text = "".join(parts)
    beside = r"(?<=[\u4e00-\u9fff])([:;,]) |([:;,]) (?=[\u4e00-\u9fff])"
    text = re.sub(beside, lambda sign: chr(ord(sign[1] or sign[2]) + 0xfee0), text)
    return re.sub(r"(?<=[，。：；？！]) |(?<=[\u4e00-\u9fff]) (?=-?\d)", "", text)
