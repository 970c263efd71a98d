"""Catalogues in gettext's format (Poedit, Weblate): a file a room, `translations/zh/02.po`."""
import json
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "translations"
HEAD = """# Attention, head by head, in another language. CC BY 4.0, as LICENSE-text says.
msgid ""
msgstr ""
"Language: {}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""
FIELD = re.compile(r'^(?:#\| )?(msg\w+) ((?:(?:#\| )?"(?:[^"\\]|\\.)*"\s*)+)', re.M)
Key = tuple[str, str]  # a context ("02/one-way", "code", or none), and the English text


@dataclass(frozen=True)
class Entry:
    """An English text and its twin; ``before`` is the English of a fuzzy twin."""

    context: str
    text: str
    twin: str = ""
    fuzzy: bool = False
    before: str = ""

    @property
    def key(self) -> Key:
        return self.context, self.text


def load(language: str) -> dict[str, list[Entry]]:
    """Room -> its entries."""
    return {path.stem: entries(path.read_text(encoding="utf-8"))
            for path in sorted((FOLDER / language).glob("*.po"))}


def entries(po: str) -> list[Entry]:
    """Those of a file, without its head."""
    found = []
    for block in re.split(r"\n\n+", po):
        before = [unquoted(part) for part in re.findall(r'^#\| msgid ((?:(?:#\| )?".*"\n)+)',
                                                        block, re.M)]
        fields = {name: unquoted(part) for name, part in
                  FIELD.findall(re.sub(r"(?m)^#.*\n", "", block + "\n"))}
        if fields.get("msgid"):
            found.append(Entry(fields.get("msgctxt", ""), fields["msgid"], fields["msgstr"],
                               bool(re.search("^#,.*fuzzy", block, re.M)), "".join(before)))
    return found


def unquoted(text: str) -> str:
    return "".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', text))


def quoted(text: str, begin: str = "") -> str:
    """One line, or several below an empty one."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    lines = lines if len(lines) < 2 else ["", *lines]
    return f"\n{begin}".join(json.dumps(line, ensure_ascii=False) for line in lines or [""])


def po(room: list[Entry], language: str) -> str:
    """The text of a room's file."""
    blocks = [HEAD.format(language)]
    for entry in room:
        lines = ["#, fuzzy"] if entry.fuzzy else []
        lines += [f"#| msgid {quoted(entry.before, '#| ')}"] if entry.fuzzy else []
        lines += [f"msgctxt {quoted(entry.context)}"] if entry.context else []
        lines += [f"msgid {quoted(entry.text)}", f"msgstr {quoted(entry.twin)}", ""]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def merged(old: dict[str, list[Entry]], wanted: dict[str, list[Key]]) -> dict[str, list[Entry]]:
    """The catalogues for ``wanted``: what is known is kept, also from another room; a text that
    has changed keeps its twin, as a fuzzy one."""
    return {room: merged_room(room, keys, old) for room, keys in wanted.items()}


def merged_room(room: str, keys: list[Key], old: dict[str, list[Entry]]) -> list[Entry]:
    own, found = old.get(room, []), []
    known = {entry.key: entry for each in old.values() for entry in each if entry.twin}
    known |= {entry.key: entry for entry in own if entry.twin}
    gone = [entry for entry in own if entry.key not in keys and entry.twin]
    for context, text in keys:
        entry = known.get((context, text))
        if entry is None and (before := resembling(context, text, gone)):
            entry = replace(before, text=text, fuzzy=True, before=before.before or before.text)
        found.append(entry or Entry(context, text))
    return found


def resembling(context: str, text: str, gone: list[Entry]) -> Entry | None:
    """The entry of the same cell, or of words much like these, that nobody wants any more."""
    same = [entry for entry in gone if entry.context == context]
    if "/" not in context:
        near = get_close_matches(text, [entry.text for entry in same], 1)
        same = [entry for entry in same if entry.text in near]
    return same[0] if same else None
