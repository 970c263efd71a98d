"""Catalogues in gettext's format (Poedit, Weblate): a file a room, `translations/zh/02.po`."""
import io
import re
from difflib import get_close_matches
from typing import NamedTuple

from babel.messages import Catalog
from babel.messages.pofile import denormalize, normalize, read_po, write_po

from tools import ROOT

FOLDER = ROOT / "translations"
HEAD = """# Attention, head by head, in another language. CC BY 4.0, as LICENSE-text says.
msgid ""
msgstr ""
"Language: {}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
Key = tuple[str, str]  # a context ("02/one-way", "code", or none), and the English text


class Entry(NamedTuple):
    """An English text and its twin, fuzzy where the English has changed since; then ``previous`` is
    the English that the twin belongs to."""

    context: str
    text: str
    twin: str = ""
    fuzzy: bool = False
    previous: str = ""

    @property
    def key(self) -> Key:
        return self.context, self.text

    @property
    def is_done(self) -> bool:
        return bool(self.twin) and not self.fuzzy


def load(language: str) -> dict[str, list[Entry]]:
    """Room -> its entries."""
    return {path.stem: entries(path.read_bytes())
            for path in sorted((FOLDER / language).glob("*.po"))}


def entries(po: bytes) -> list[Entry]:
    """Those of a file, without its head. Babel leaves out the lines `#| `."""
    found = [each for each in read_po(io.BytesIO(po)) if each.id]
    return [Entry(each.context or "", each.id, each.string, each.fuzzy, previous)
            for each, previous in zip(found, previous_of(po), strict=True)]


def previous_of(po: bytes) -> list[str]:
    """What stands in the lines `#| ` of each entry, which Babel doesn't read."""
    _, *blocks = po.decode().split("\n\n")
    lines = [re.findall(r'(?m)^#\| (?:msgid )?(".*")$', block) for block in blocks
             if "msgid" in block]
    return [denormalize("\n".join(found)) for found in lines]


def po(room: list[Entry], language: str) -> bytes:
    """A room's file."""
    made, file = Catalog(), io.BytesIO()
    for entry in room:
        message = made.add(entry.text, entry.twin, context=entry.context or None)
        message.flags = {"fuzzy"} if entry.fuzzy else set()  # no guess at a kind of format
    write_po(file, made, width=0, omit_header=True)
    blocks = file.getvalue().decode().removesuffix("\n").split("\n\n")
    for i, entry in enumerate(room):
        if entry.fuzzy and entry.previous:  # Babel would wrap it, and leave out the quotes
            lines = f"msgid {normalize(entry.previous, width=0)}".replace("\n", "\n#| ")
            blocks[i] = blocks[i].replace("#, fuzzy\n", f"#, fuzzy\n#| {lines}\n", 1)
    return (HEAD.format(language) + "\n\n".join(blocks)).encode()


def merged(old: dict[str, list[Entry]], wanted: dict[str, list[Key]]) -> dict[str, list[Entry]]:
    """The catalogues for ``wanted``: what is known is kept, also from another room; a text that
    has changed keeps its twin, as a fuzzy one."""
    made = {}
    for room, keys in wanted.items():
        own = old.get(room, [])
        known = {entry.key: entry for each in [*old.values(), own] for entry in each if entry.twin}
        gone = [entry for entry in own if entry.key not in keys and entry.twin]
        made[room] = [known.get(key) or renewed(*key, gone) for key in keys]
    return made


def renewed(context: str, text: str, gone: list[Entry]) -> Entry:
    """A new text: with the twin of the same cell, or of words much like these, that nobody wants
    any more."""
    same = [entry for entry in gone if entry.context == context]
    if "/" not in context:
        near = get_close_matches(text, [entry.text for entry in same], 1)
        same = [entry for entry in same if entry.text in near]
    if not same:
        return Entry(context, text)
    return Entry(context, text, same[0].twin, True, same[0].previous or same[0].text)
