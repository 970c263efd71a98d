"""Write `d2l_ext/laboratory/data/date_formats.json`: how English dates are written around the world, from Unicode's locale data as Babel brings it.

A maintainer's script, run once: `pip install babel`, then `python tools/train/date_formats.py`. Lessons read the table and need no Babel.
"""
import json
import pathlib
import re

import babel
from babel import Locale, localedata

TARGET = pathlib.Path(__file__).resolve().parents[2] / "d2l_ext/laboratory/data/date_formats.json"
WIDTHS = {"MMM": "abbreviated", "MMMM": "wide", "E": "abbreviated", "EEEE": "wide"}


def english() -> list[Locale]:
    """The English locales in Latin script."""
    names = sorted(name for name in localedata.locale_identifiers() if re.fullmatch(r"en(_[A-Z]{2}|_\d{3})?", name))
    return [Locale.parse(name) for name in names]


def patterns(locale: Locale) -> set[str]:
    """Every pattern of the locale with day, month and year, and nothing else but a weekday."""
    found = [str(pattern) for pattern in locale.datetime_skeletons.values()] + [form.pattern for form in locale.date_formats.values()]
    return {pattern for pattern in found if re.fullmatch(r"[EMdy ,./-]+", pattern) and all(letter in pattern for letter in "Mdy")}


def one_meaning(pattern: str) -> bool:
    """Whether no other order reads the same text as another date: 03/05/2021 is day first in all of these, so month-first numbers stay out."""
    return bool(re.search(r"MMM|d+[^d]*M|y[^y]*M[^M]*d", pattern))


def spellings(locales: list[Locale], kind: str, width: str, keys) -> list[list[str]]:
    """For each month or weekday the ways to spell it, without full stops, in small letters."""
    return [sorted({getattr(locale, kind)["format"][width][key].lower().rstrip(".") for locale in locales}) for key in keys]


def main() -> None:
    locales = english()
    table = {"source": f"Unicode CLDR, as in Babel {babel.__version__}: {len(locales)} English locales; numbers alone are day first or year first",
             "patterns": sorted(filter(one_meaning, set().union(*map(patterns, locales))))}
    for letters, width in WIDTHS.items():
        table[letters] = spellings(locales, *(("months", width, range(1, 13)) if "M" in letters else ("days", width, range(7))))
    TARGET.parent.mkdir(exist_ok=True)
    lines = ",\n ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in table.items())
    TARGET.write_text(f"{{{lines}}}\n", encoding="utf-8")
    print(f"{len(table['patterns'])} patterns from {len(locales)} locales")


if __name__ == "__main__":
    main()
