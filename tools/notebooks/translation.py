"""Keep the other languages' lessons with the English ones: `make translation`.

    python -m tools.notebooks.translation           bring catalogues, words and notebooks up to date
    python -m tools.notebooks.translation --check   change nothing, name what is stale, end with 1

`translations/zh` holds a catalogue a room: `02.po` for lesson 02 with its exercises, `pieces.po`,
`package.po`, and `pages.po` for README, website and drawings. The English text is the key; of a
notebook's cell, the cell (`02/title`, `deeper/02/title`) is the context. A text whose English has
changed keeps its twin, marked fuzzy until someone has looked at it; `git diff translations` shows
what changed. A cell may lag: without a twin, or with a fuzzy one, it shows English, as the title of
its notebook and README say. From the catalogues come `zh.json`, which the package looks up, the
characters that figures need (`zh.otf`), and `notebooks/zh`: the code cells are copies, but for a
line of the set-up, which chooses the language, for titles, comments and docstrings, and for the
labels of figures and tables (the texts with the context `code`; where a text should be one, but
stands elsewhere than in a figure's arguments, add it to the lesson's catalogue by hand). `make
notebooks ARGS=zh` stores their outputs, which another comment leaves as they are.
"""
import ast
import itertools
import json
import re
import sys
import tokenize
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

from tools import ROOT, address, setup
from tools.notebooks.catalogue import FOLDER, load, merged, po
from tools.notebooks.check_translation import faults, lags, links
from tools.notebooks.nbtext import KERNEL, dumps, in_language, inner, place
from tools.notebooks.readme import (
    RAISED, cell_named, message, read, renew, tables, with_counts)
from tools.notebooks.translatable import (
    ALL_BEHIND, BEHIND, CELL_TITLE, NOTEBOOKS, PACKAGE, RUNS, blocks, cells, comments, everything,
    key, keys_of, labels, parsed, strings, tokens, translates)

from attention_lessons.languages import PLACE

NOTO = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")  # Debian's
SET_UP = 'spoken = __import__("attention_lessons").language("{}")'


def spoken(catalogue):
    """What is looked up when a message is spoken, an entry a line."""
    found = sorted(sum(catalogue.values(), []), key=lambda entry: entry.context, reverse=True)
    words = {"name: " * (entry.context == "name") + entry.text: entry.twin for entry in found
             if "/" not in entry.context and entry.context not in ("README", "code", "teaching")
             and entry.is_done}
    return json.dumps(words, ensure_ascii=False, sort_keys=True, indent=0) + "\n"


# ---- the font ----

def characters(catalogue):
    """What figures need beyond matplotlib's own font."""
    drawn = (entry.twin for entries in catalogue.values() for entry in entries
             if entry.context in ("code", "drawing", "name") and entry.text[0] != "#")
    return sorted({letter for text in drawn for letter in text if ord(letter) > 0x2e7f})


def lacking(catalogue, font):
    """The characters that figures need and the package's font has not."""
    have = TTFont(font).getBestCmap() if font.exists() else {}
    return [letter for letter in characters(catalogue) if ord(letter) not in have]


def make_font(catalogue, target):
    """Write the part of Noto Sans CJK SC (SIL Open Font License 1.1) that figures need."""
    if not NOTO.exists():
        sys.exit(f"{target.name} lacks characters, and {NOTO} is missing: Debian's fonts-noto-cjk")
    fonts = TTCollection(NOTO).fonts
    font = next(each for each in fonts if each["name"].getDebugName(1) == "Noto Sans CJK SC")
    options = subset.Options(layout_features=[], name_IDs=[0, 1, 2, 13, 14], desubroutinize=True,
                             drop_tables=["GSUB", "GPOS", "VORG", "vhea", "vmtx", "BASE"])
    part = subset.Subsetter(options)
    part.populate(text="".join(characters(catalogue)))
    part.subset(font)
    font["head"].modified = font["head"].created  # the same bytes from the same catalogue
    font.recalcTimestamp = False
    font["name"].setName("Attention Sans SC", 1, 3, 1, 0x409)
    font.save(target)


# ---- notebooks -----------------------------------------------------------------------------------

def relabelled(cell, twins, own=frozenset()):
    """The code of a cell with other labels: twins are text -> its translation."""
    source = cell["source"]
    for token in reversed(comments(cell)):
        rows = source.splitlines(keepends=True)
        row, column = token.start
        rows[row - 1] = rows[row - 1][:column] + rows[row - 1][column:].replace(
            token.string, twins.get(token.string, token.string))
        source = "".join(rows)
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [0, *itertools.accumulate(map(len, lines))]
    made, end = source.encode(), len(source.encode())
    found = [node for node, text in labels(parsed({"source": source, "metadata": {}}), own)
             if twins.get(text, text) != text]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[node.end_lineno - 1] + node.end_col_offset
        if last <= end:  # not within one that was replaced
            end, literal = first, made[first:last].decode()
            text = written(node, literal, twins)
            made = made[:first] + text.encode() + made[last:]
    title = CELL_TITLE.match(source)
    text = made.decode()
    return text.replace(title[1], twins.get(title[1], title[1]), 1) if title else text


def written(node, literal, twins):
    """The Python of a label in the other language."""
    twin = twins[strings(ast.Expression(node))[node]]
    if isinstance(node, ast.Constant):
        long = literal.startswith('"""')
        return f'"""{twin}"""' if long else json.dumps(twin, ensure_ascii=False)
    parts = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", literal)
    quote = "'" if '"' in twin + "".join(parts) else '"'
    return f"f{quote}{re.sub(PLACE, lambda place: parts[int(place[1])], twin)}{quote}"


def translated(path, language, catalogue):
    """A notebook's cells in another language, their words in English where they have none yet, with
    the outputs that are stored where the code is the same."""
    def say(text):
        return twin(catalogue, "pages", "page", text)

    room, own, target = path.name[:2], keys_of(path), in_language(path, language)
    twins = {entry.text: entry.twin for entry in catalogue.get(room, [])
             if entry.context == "code" and entry.is_done}
    before = {cell["id"]: cell for cell in cells(target)} if target.exists() else {}
    made = cells(path)
    for cell in made:
        if translates(cell):
            cell["source"] = with_links(twin(catalogue, room, *key(path, cell)), language)
        elif cell["cell_type"] == "code":
            cell["source"] = relabelled(cell, twins, own)
            if cell["id"] == "setup":
                start, _, imports = cell["source"].partition("\n\n")
                start = with_refusals(start, catalogue)
                cell["source"] = f"{start}\n{SET_UP.format(language)}\n\n{imports}".strip()
            kept = before.get(cell["id"], {})
            kept = kept if kept and instructions(kept) == instructions(cell) else {}
            cell |= {name: kept.get(name, empty)
                     for name, empty in (("outputs", []), ("execution_count", None))}
    made = with_counts(target, made, cells(path), say)
    if behind := lagging(path, catalogue):
        cell_named(made, "title")["source"] += f"\n\n{say(BEHIND).format(len(behind))}"
    return made


def with_refusals(source, catalogue):
    """What a set-up cell raises, in another language: no line is longer than a projector shows."""
    def refusal(found):
        text, lines = twin(catalogue, "pages", "page", message(found)), [""]
        for part in re.findall(r"\{[^}]*\}|[\w ]+?\b|.", text, re.ASCII):  # a word or a sign
            lines += [""] * (len(lines[-1] + part) > 32)
            lines[-1] += part
        quoted = [f'{"f" * ("{" in line)}"{line}"' for line in lines]
        return f"raise SystemExit({f'{chr(10)}{chr(32) * 21}'.join(quoted)})"

    return RAISED.sub(refusal, source)


def instructions(cell):
    """What a cell's code says to Python: all but its comments."""
    return [token.string for token in tokens(cell)
            if token.type not in (tokenize.COMMENT, tokenize.NL)]


def lagging(path, catalogue):
    """The names of a notebook's cells that show English."""
    late = {entry.key for entry in catalogue[path.name[:2]] if lags(entry)}
    return [cell["id"] for cell in cells(path) if late.intersection(keys(path, cell))]


def keys(path, cell):
    """The keys of what a cell shows in another language: its words, or the labels of its code."""
    if translates(cell):
        return [key(path, cell)]
    shown = [text for _, text in labels(parsed(cell), keys_of(path))]
    shown += [token.string for token in comments(cell)]
    return [("code", text) for text in (*shown, *CELL_TITLE.findall(cell["source"]))]


def twin(catalogue, room, context, text):
    """What the text is called in a catalogue; itself where it has no entry."""
    return next((entry.twin for entry in catalogue[room]
                 if entry.key == (context, text) and entry.is_done), text)


def with_links(text, language):
    """A text with what its readers follow instead, as the glossary says."""
    for link, other in links(language).items():
        text = text.replace(link, other)
    return text


def document(path, language, catalogue=None, lists=None):
    """A page in another language: its words from the catalogue, code and tables as they are, but
    for those tables, ``lists``, that are given by name."""
    guide = path.parent.name == "teaching"
    room, context = ("teaching", "teaching") if guide else ("pages", "README")
    catalogue, made = catalogue or load(language), []
    for kind, text in blocks(read(path)):
        text = (lists or {}).get(kind, text)
        if "(README." in text[:20]:
            text = "[English](README.md)"
        if kind == "versions":
            text = RUNS.sub(lambda words: twin(catalogue, room, context, words[0]), text)
        words = text.strip("\n") if kind in ("words", "code") else ""
        made.append(twin(catalogue, room, context, words) if words else text)
    text = re.sub(r"\n{3,}", "\n\n", "\n\n".join(made)).strip("\n") + "\n"
    for entry in catalogue[room]:
        if entry.text.startswith("## "):  # GitHub's name of a heading
            text = text.replace(f"#{anchor(entry.text)})", f"#{anchor(entry.twin)})")
    text = text.replace("](../notebooks/", f"](../../notebooks/{language}/")
    return with_links(text, language)


def anchor(heading):
    return heading.removeprefix("## ").lower().replace(" ", "-")


def readme(language, catalogue, lists):
    """README in another language, with the addresses of what is in that language."""
    text = document(ROOT / "README.md", language, catalogue, lists)
    text = re.sub(rf'(\(|src=")(images|notebooks|teaching)/(?!{language}/)',
                  rf"\1\2/{language}/", text)
    site = address.forms(setup.address())[1]
    if site.endswith("/"):  # not a list of releases
        text = text.replace(f"({site})", f"({site}{language}/)")
    return text


def all_behind(catalogue, say):
    """What README says of notebooks that show English: how many cells of each."""
    behind = {path: len(lagging(path, catalogue)) for path in NOTEBOOKS}
    found = [f"[{place(path)}](notebooks/{inner(path).as_posix()}) {count}"
             for path, count in behind.items() if count]
    return say(ALL_BEHIND).format(" · ".join(found)) if found else ""


def wanted_files(language, catalogue):
    """What is made from a catalogue: path -> text. (The font is made where characters lack.)"""
    def say(text):
        return twin(catalogue, "pages", "page", text)

    made = {path: translated(path, language, catalogue) for path in NOTEBOOKS}
    lists = tables([(in_language(path, language), cells(path), its)
                    for path, its in made.items()], say, language)
    cell_named(made[NOTEBOOKS[0]], "map")["source"] = lists["map"]
    lists["deeper"] = "\n\n".join(filter(None, [lists["deeper"], all_behind(catalogue, say)]))
    files = {PACKAGE / "languages" / f"{language}.json": spoken(catalogue),
             ROOT / f"README.{language}.md": readme(language, catalogue, lists)}
    about = {"metadata": KERNEL | {"language": language}, "nbformat": 4, "nbformat_minor": 5}
    return files | {in_language(path, language): dumps(about | {"cells": its})
                    for path, its in made.items()}


def main(arguments):
    check, wrong, stale = arguments == ["--check"], [], 0
    wanted = everything()
    for language in sorted(path.name for path in FOLDER.iterdir() if path.is_dir()):
        catalogue = load(language)
        if not check:
            catalogue = merged(catalogue, wanted)
            for room, entries in catalogue.items():
                (FOLDER / language / f"{room}.po").write_bytes(po(entries, language))
        wrong += [f"{language}: {fault}" for fault in faults(catalogue, wanted, language)]
        font = PACKAGE / "languages" / f"{language}.otf"
        if missing := "".join(lacking(catalogue, font)):
            if check:
                wrong.append(f"{language}: {font.name} lacks {missing}")
            else:
                make_font(catalogue, font)
        stale |= renew(wanted_files(language, catalogue), ROOT, check)
    print(*wrong, sep="\n")
    return stale or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
