"""Numbers in sentences: none changes by itself, and those that aren't small have a source.

numbers.csv says how often a notebook, "05" or "deeper/05", says a number, and where one that is
neither small nor round comes from: the code cell that shows it, or words. `python -m
tests.lessons.rules` brings it up to date; what its diff shows is to be read. Where no cell shows a
number it writes "?", in whose place belongs where the number is from.
"""
import csv
import re
from collections import Counter
from functools import cache

from tools.notebooks.check_translation import WORDS

from .notebook import ROOT, all_notebooks, rule

TABLE = ROOT / "tests/lessons/numbers.csv"
ELSEWHERE = {"references", "next", "map", "contents", "symbols"}  # other rules' cells
BARE = [r"```.*?```|`[^`]*`",
        r"(?m:^# .*|^## Question \d)|\d+ minutes?|level \d|\*\*Minutes:\*\*[^\n]*",
        r"\]\([^)]*\)|\[(?:[Ll]esson )?\d\d[^\]]*\]|(?m:^ *\d+\. )",
        r"\b(?:19|20)\d\d\b"]
TOKEN = re.compile(r"(?<![\w.^_{])(?:\d[\d,]*\d|\d)(?:\.\d+)?(?!\w)|[½⅓⅔¼¾]"
                   r"|(?:\\mathcal )?\bO\([^)]*\)|\b(?:" + "|".join(WORDS)
                   + r"|half|twice|third|quarter|dozen|hundred|thousand)\b", re.I)
SMALL = {*range(13), *(2**power for power in range(20))}


def said(text):
    """The numbers of a text, outside of code, links and years."""
    text = text.replace("{,}", ",")
    for pattern in BARE:
        text = re.sub(pattern, " ", text, flags=re.S)
    return Counter(token.lower() for token in TOKEN.findall(text))


def telling(token):
    """Whether a number needs a source: it isn't small, round or a power of two."""
    if not token[0].isdigit():
        return False
    digits = re.sub("[.,]", "", token).strip("0")
    return len(digits) > 1 and float(token.replace(",", "")) not in SMALL


def shows(cell, token):
    """Whether code or outputs of a cell hold a number, perhaps with more digits or as a share of
    1."""
    number, digits = float(token.replace(",", "")), len(token.partition(".")[2])
    return any(abs(round(scale * other, digits) - number) < 1e-9
               for other in held(cell) for scale in (1, 100))


@cache
def held(cell):
    """The numbers of code and outputs."""
    bare = re.sub(r"<[^>]*>|(?<=\d)_(?=\d)|(?<=\d),(?=\d{3})", "",
                  "\n".join([cell.text, *cell.output_texts]))
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", bare)}


def sentences(notebook):
    """Cell -> its numbers; those of alternative texts, too: `alt/two-rows`."""
    for cell in notebook.words:
        if cell.id not in ELSEWHERE:
            yield cell.id, said(cell.text)
    for name, entry in notebook.alt.items():
        yield f"alt/{name}", said(entry if isinstance(entry, str) else entry["text"])


@cache
def table():
    """(notebook, number) -> how often it is said, its source."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return {(place, number): (int(times), source)
                for place, number, times, source in csv.reader(file)}


@rule()
def numbers_have_sources(notebook):
    """Is it true? `python -m tests.lessons.rules` writes numbers.csv, where a number has its
    source: a code cell that shows it, or words."""
    code = {cell.id: cell for cell in notebook.code}
    listed = {number: row for (other, number), row in table().items() if other == notebook.place}
    places = dict(sentences(notebook))
    counted = sum(places.values(), Counter())
    for number in sorted(counted.keys() | listed):
        times, source = listed.get(number, (0, ""))
        if counted[number] != times:
            where = ", ".join(cell for cell in places if number in places[cell]) or notebook.place
            yield where, f"{number}: {counted[number]} in sentences, {times} listed"
        elif telling(number) and " " not in source and (
                source not in code or not shows(code[source], number)):
            yield source, f"it shows no {number}"


def proposed(notebook):
    """The rows of a notebook: (place, number, how often, source). A known source stays; a new one
    is the code cell nearest to the sentence that shows the number."""
    order = {name: i for i, name in enumerate(notebook.ids)}
    counted, first = Counter(), {}
    for cell, found in sentences(notebook):
        counted += found
        here = order.get(cell.removeprefix("alt/"), 0)
        first = dict.fromkeys(found, here) | first
    for number, times in sorted(counted.items()):
        known = table().get((notebook.place, number), (0, "?"))[1]
        cells = [cell for cell in notebook.code
                 if telling(number) and "explorer" not in cell.tags and shows(cell, number)]
        ids = sorted((cell.id for cell in cells), key=lambda name: abs(order[name] - first[number]))
        source = known if known in ids or " " in known else [*ids, "?"][0]
        yield notebook.place, number, times, source if telling(number) else ""


def write():
    rows = [row for notebook in all_notebooks() for row in proposed(notebook)]
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
