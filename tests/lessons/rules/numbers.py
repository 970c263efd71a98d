"""Numbers in sentences: each has a source in numbers.csv, so that none changes by itself.

`python -m rules.numbers` in tests/lessons brings the table up to date: what is known stays, a new
number gets the nearest code cell that shows it, or "?", in whose place belongs where it is from.
"""
import csv
import re
import tomllib
from collections import Counter
from functools import cache

from . import outputs
from .notebook import ROOT, all_notebooks, rule

WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
         "fifteen sixteen seventeen eighteen nineteen twenty").split()
ELSEWHERE = {"references", "next", "map", "symbols"}  # other rules' cells
BARE = [r"```.*?```|`[^`]*`",
        r"(?m:^# .*|^## Question \d)|\d+ minutes|level \d|\*\*Minutes:\*\*[^\n]*",
        r"\]\([^)]*\)|\[\d\d[^\]]*\]|(?m:^ *\d+\. )",
        r"\b(?:19|20)\d\d\b", r"(?<!O\()\$\$.*?\$\$|\$(?!\\mathcal O)[^$\n]*\$"]
TOKEN = re.compile(r"(?<![\w.^_{])(?:\d[\d,]*\d|\d)(?:\.\d+)?(?!\w)|[½⅓⅔¼¾]"
                   r"|(?:\\mathcal )?\bO\([^)]*\)|\b(?:" + "|".join(WORDS[2:])
                   + r"|half|twice|third|quarter|dozen|hundred|thousand)\b", re.I)


def said(text):
    """The numbers of a text, outside of code, links, years and formulas."""
    for pattern in BARE:
        text = re.sub(pattern, " ", text, flags=re.S)
    return Counter(token.lower() for token in TOKEN.findall(text))


def value(token):
    return float(WORDS.index(token) if token in WORDS else token.replace(",", ""))


def held(texts):
    """The numbers of code and outputs."""
    bare = re.sub(r"<[^>]*>|(?<=\d)_(?=\d)|(?<=\d),(?=\d{3})", "", "\n".join(texts))
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", bare)}


def holds(texts, token):
    """Whether a number stands there, perhaps with more digits or as a share of 1."""
    if not re.fullmatch(r"[\d.,]+", token) and token not in WORDS:
        return False
    number, digits = value(token), len(token.partition(".")[2])
    return any(abs(round(scale * other, digits) - number) < 1e-9
               for other in held(texts) for scale in (1, 100))


@cache
def sources():
    """(lesson, cell) -> rows of numbers.csv: source, numbers."""
    found = {}
    with open(ROOT / "tests/lessons/numbers.csv", encoding="utf-8", newline="") as file:
        for lesson, cell, source, numbers in csv.reader(file):
            found.setdefault((lesson, cell), []).append((source, numbers.split(" ")))
    return found


def sentences(notebook):
    """Cell -> its numbers; those of alternative texts, too: `alt/two-rows`."""
    for cell in notebook.words:
        if cell.id not in ELSEWHERE:
            yield cell.id, said(cell.text)
    path = outputs.LESSONS / f"lesson_{notebook.name[:2]}/alt.toml"
    for name, entry in tomllib.loads(path.read_text("utf-8") if path.exists() else "").items():
        yield f"alt/{name}", said(entry if isinstance(entry, str) else entry["text"])


@rule()
def numbers_have_sources(notebook):
    """A number in a sentence stands in tests/lessons/numbers.csv with its source: the code cell
    that shows it, or words."""
    listed, code = sources(), {cell.id: cell for cell in notebook.code}
    for cell, found in sentences(notebook):
        rows = listed.get((notebook.name[:2], cell), [])
        known = Counter(number for _, numbers in rows for number in numbers)
        if found != known:
            more, less = dict(found - known), dict(known - found)
            yield cell, f"without a source: {more}; listed, but not said: {less}"
        for source, numbers in rows:
            if " " in source:
                continue
            texts = [code[source].text, *code[source].output_texts] if source in code else []
            for number in numbers:
                if not holds(texts, number):
                    yield cell, f"{source} shows no {number}"


def proposed(notebook):
    """The rows of a lesson: (lesson, cell, source, numbers)."""
    place = {name: i for i, name in enumerate(notebook.ids)}
    code = [cell for cell in notebook.code if "explorer" not in cell.tags]
    texts = {cell.id: [cell.text, *cell.output_texts] for cell in code}
    for cell, found in sentences(notebook):
        here = place.get(cell.removeprefix("alt/"), 0)
        near = sorted(texts, key=lambda name: abs(place[name] - here))
        known = {number: source for source, numbers in sources().get((notebook.name[:2], cell), [])
                 for number in numbers if " " in source or holds(texts.get(source, []), number)}
        rows = {}
        for number in found.elements():
            shows = (name for name in near if holds(texts[name], number))
            rows.setdefault(known.get(number) or next(shows, "?"), []).append(number)
        yield from ((notebook.name[:2], cell, source, " ".join(numbers))
                    for source, numbers in rows.items())


if __name__ == "__main__":
    table = [row for notebook in all_notebooks() for row in proposed(notebook)]
    with open(ROOT / "tests/lessons/numbers.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
