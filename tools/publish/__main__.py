"""Publish the lessons: python -m tools.publish KIND [NAME ...], as do `make html` and so on.

    html        pages to read and play with offline, into dist/html
    slides      decks of lessons, to lecture with offline, into dist/slides
    standalone  notebooks that carry the packages with them, into dist/standalone
    site        the website, into dist/site

NAMEs choose some of the notebooks (02, deeper/02, zh/05); the website has all.
"""
import importlib
import sys

from tools import ROOT
from tools.notebooks.nbtext import chosen, is_deeper

MODULES = {"html": "publish.pages", "slides": "publish.slides", "site": "publish.site",
           "standalone": "notebooks.standalone"}


def main(kind="", *words):
    if kind not in MODULES:
        sys.exit(__doc__)
    module = importlib.import_module(f"tools.{MODULES[kind]}")
    target = ROOT / "dist" / kind
    if hasattr(module, "write_all"):
        return module.write_all(words, target)
    for path in chosen(words):
        if kind == "slides" and is_deeper(path):
            continue
        try:
            made = module.write(path, target)
        except ValueError as error:  # of plans, notebooks and formulas
            sys.exit(f"{path.name}: {error}")
        print(f"{made.relative_to(target)}: {made.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
