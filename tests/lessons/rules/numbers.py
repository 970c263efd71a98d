"""Numbers in sentences: those that aren't small or round have a source.

numbers.csv says of a notebook, "05" or "deeper/05", where a number comes from: the code cell that
shows it, or words. `python -m tests.lessons.rules` brings it up to date; what its diff shows is to
be read. Where no cell shows a number it writes "?", in whose place belongs a source in words.
"""
import csv
import re
from functools import cache

from .notebook import ROOT, all_notebooks, rule

TABLE = ROOT / "tests/lessons/numbers.csv"
ELSEWHERE = {"references", "next", "map", "contents", "symbols"}  # other rules' cells
BARE = [r"```.*?```|`[^`]*`",
        r"(?m:^# .*|^## Question \d)|\d+ minutes?|level \d|\*\*Minutes:\*\*[^\n]*",
        r"\]\([^)]*\)|\[(?:[Ll]esson )?\d\d[^\]]*\]|(?m:^ *\d+\. )",
        r"\b(?:19|20)\d\d\b"]
NUMBER = re.compile(r"(?<![\w.^_{])(?:\d[\d,]*\d|\d)(?:\.\d+)?(?!\w)")
SMALL = {*range(13), *(2**power for power in range(20))}


def said(text):
    """The numbers of a text, outside of code, links and years, that need a source: those that are
    not small, round or a power of two."""
    text = text.replace("{,}", ",")
    for pattern in BARE:
        text = re.sub(pattern, " ", text, flags=re.S)
    return {number for number in NUMBER.findall(text) if value(number) not in SMALL
            and len(re.sub("[.,]", "", number).strip("0")) > 1}


def value(number):
    return float(number.replace(",", ""))


def shows(cell, number):
    """Whether code or outputs of a cell hold a number, perhaps with more digits or as a share of
    1."""
    digits = len(number.partition(".")[2])
    return any(abs(round(scale * other, digits) - value(number)) < 1e-9
               for other in held(cell) for scale in (1, 100))


@cache
def held(cell):
    """The numbers of code and outputs."""
    bare = re.sub(r"<[^>]*>|(?<=\d)_(?=\d)|(?<=\d),(?=\d{3})", "",
                  "\n".join([cell.text, *cell.output_texts]))
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", bare)}


def sentences(notebook):
    """Number -> the first cell that says it; those of alternative texts, too: `alt/two-rows`."""
    alt = {f"alt/{name}": entry if isinstance(entry, str) else entry["text"]
           for name, entry in notebook.alt.items()}
    texts = {cell.id: cell.text for cell in notebook.words if cell.id not in ELSEWHERE} | alt
    return {number: name for name, text in reversed(texts.items()) for number in said(text)}


@cache
def table():
    """(notebook, number) -> its source."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return {(place, number): source for place, number, source in csv.reader(file)}


@rule()
def numbers_have_sources(notebook):
    """Is it true? `python -m tests.lessons.rules` writes numbers.csv, where a number has its
    source: a code cell that shows it, or words."""
    code = {cell.id: cell for cell in notebook.code}
    listed = {number: source for (place, number), source in table().items()
              if place == notebook.place}
    places = sentences(notebook)
    for number in sorted(listed.keys() - places):
        yield notebook.place, f"{number} is listed, and no sentence says it"
    for number, place in sorted(places.items()):
        source = listed.get(number, "?")
        if " " not in source and (source not in code or not shows(code[source], number)):
            yield place, f"{number}: `{source}` shows no such number"


def proposed(notebook):
    """The rows of a notebook: (place, number, source). A known source stays; a new one is the code
    cell nearest to the sentence that shows the number."""
    order = {name: i for i, name in enumerate(notebook.ids)}
    for number, name in sorted(sentences(notebook).items()):
        here = order.get(name.removeprefix("alt/"), 0)
        cells = [cell for cell in notebook.code
                 if "explorer" not in cell.tags and shows(cell, number)]
        ids = sorted((cell.id for cell in cells), key=lambda name: abs(order[name] - here))
        known = table().get((notebook.place, number), "?")
        yield notebook.place, number, known if known in ids or " " in known else [*ids, "?"][0]


def write():
    rows = [row for notebook in all_notebooks() for row in proposed(notebook)]
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
