"""Write `laboratory/data/date_formats.json`: how English dates are written in the world.

The source is Unicode's locale data as Babel brings it, which is in .venv for the tests. A
maintainer's script: `python tools/train/date_formats.py`. Lessons read the table only.
"""
import json
import pathlib
import re

import babel
from babel import Locale, localedata

TARGET = pathlib.Path(__file__).parents[2] / "attention_lessons/laboratory/data/date_formats.json"
WIDTHS = {"MMM": "abbreviated", "MMMM": "wide", "E": "abbreviated", "EEEE": "wide"}


def english():
    """The English locales in Latin script."""
    names = [name for name in localedata.locale_identifiers()
             if re.fullmatch(r"en(_[A-Z]{2}|_\d{3})?", name)]
    return [Locale.parse(name) for name in sorted(names)]


def patterns(locale):
    """Every pattern of the locale with day, month, year, and at most a weekday besides."""
    found = {str(pattern) for pattern in locale.datetime_skeletons.values()}
    found |= {form.pattern for form in locale.date_formats.values()}
    return {pattern for pattern in found
            if re.fullmatch(r"[EMdy ,./-]+", pattern) and set("Mdy") <= set(pattern)}


def one_meaning(pattern):
    """Whether the text can be read as one date only: 03/05/2021 is day first in all of these, so
    month-first numbers are left out."""
    return bool(re.search(r"MMM|d+[^d]*M|y[^y]*M[^M]*d", pattern))


def spellings(locales, letters):
    """For each month or weekday the ways to spell it, in small letters, without full stops."""
    kind, keys = ("months", range(1, 13)) if "M" in letters else ("days", range(7))
    tables = [getattr(locale, kind)["format"][WIDTHS[letters]] for locale in locales]
    return [sorted({table[key].lower().rstrip(".") for table in tables}) for key in keys]


def main():
    locales = english()
    table = {"source": f"Unicode CLDR, as in Babel {babel.__version__}: {len(locales)} English "
                       "locales; numbers alone are day first or year first",
             "patterns": sorted(filter(one_meaning, set().union(*map(patterns, locales))))}
    for letters in WIDTHS:
        table[letters] = spellings(locales, letters)
    lines = ",\n ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in table.items())
    TARGET.write_text(f"{{{lines}}}\n", encoding="utf-8")
    print(f"{len(table['patterns'])} patterns from {len(locales)} locales")


if __name__ == "__main__":
    main()
