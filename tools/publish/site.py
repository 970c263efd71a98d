"""Write the website into dist/site, its other languages into dist/site/zh: `make site`.

It is made from the stored notebooks alone: no kernel, no network. nbconvert gives each lesson's
cells (Sphinx with myst-nb replaces alternative texts by file names, Jupyter Book and Quarto can't
build without a network), pagefind the search.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import nbformat
from markupsafe import Markup

from tools import ROOT, setup
from tools.draw import _stills
from tools.publish import slides
from tools.publish.pages import body, frame, headings, letters_of, style, text_of
from tools.notebooks.nbtext import chosen
from tools.notebooks.readme import opening

from attention_lessons.languages import languages

REPOSITORY = setup.address()
HAN = r"[\u4e00-\u9fff]"
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.S)
NAMES = {"en": "English", "zh": "中文"}  # of languages, each in its own


def text(lesson: dict, name: str) -> str:
    """What a lesson's cell says."""
    return {cell["id"]: cell["source"] for cell in lesson["cells"]}[name]


def read(path: pathlib.Path) -> dict:
    """A lesson: what its title says, its name and place, and its cells with their outputs."""
    notebook = nbformat.read(path, as_version=4)
    place = path.relative_to(ROOT / "notebooks").with_suffix("").as_posix()
    texts = {cell.id: cell.source for cell in notebook.cells}
    return opening(texts.get).groupdict() | {
        "name": path.stem, "place": place, "cells": notebook.cells, "notebook": notebook}


def drawing(lesson: dict) -> str | None:
    """The address of a lesson's first drawing or, without one, of its piece's picture."""
    folder, text = ROOT / "images" / lesson["place"].rpartition("/")[0], str(lesson["cells"])
    found = sorted(folder.glob(f"{lesson['name'][:2]}_*.svg"),
                   key=lambda path: (path.stem not in text, text.find(path.stem)))
    return found[0].relative_to(ROOT).as_posix() if found else None


# ---- symbols and references ---------------------------------------------------------------------

def symbols(lessons: list[dict]) -> list[dict]:
    """The lines of 00's table of symbols, each with the lessons in which it is used."""
    lines = [line for line in text(lessons[0], "symbols").splitlines() if line.startswith("|")]
    names = "symbol", "code", "meaning", "first"
    made = [dict(zip(names, map(str.strip, line.strip("|").split("|")))) for line in lines[2:]]
    return [symbol | {"used": used(symbol["symbol"], lessons)} for symbol in made]


def used(symbol: str, lessons: list[dict]) -> list[tuple[dict, str]]:
    r"""(lesson, cell) for each lesson with a formula that has the symbol: the first such cell.

    Of $\mathbf q, \mathbf k_i$ either will do; indices and what follows = don't count.
    """
    whole = re.sub(r" = .*|\{[^}]*\}", "", symbol.strip("$"))
    parts = "|".join(re.escape(re.sub("_.*", "", part.strip())) for part in whole.split(","))
    found = []
    for lesson in lessons[1:]:
        cells = [cell for cell in lesson["cells"] if cell["cell_type"] == "markdown"
                 and re.search(rf"(?<![A-Za-z\\])(?:{parts})(?![A-Za-z])",
                               " ".join(FORMULA.findall(cell["source"])))]
        found += [(lesson, cell["id"]) for cell in cells[:1]]
    return found


def references() -> list[dict]:
    """references.bib, by author; each with its key, its parts and the lessons that cite its URL."""
    made = []
    for entry in re.findall(r"(?ms)^@\w+\{.*?^\}", (ROOT / "references.bib").read_text("utf-8")):
        parts = dict(re.findall(r"(?m)^  (\w+) = \{(.*)\},$", entry))
        made.append(parts | {"key": re.match(r"@\w+\{(\w+)", entry)[1]})
    return sorted(made, key=lambda parts: (parts["author"].lower(), parts["year"]))


# ---- the site -----------------------------------------------------------------------------------

def edition(target: pathlib.Path, language: str) -> set[str]:
    """Write the pages in a language. Return the signs of their formulas."""
    folder = "" if language == "en" else f"{language}/"
    lessons = [read(path) for path in sorted((ROOT / "notebooks" / folder).glob("*.ipynb"))]
    jinja = frame(language, lessons=lessons, top="../" * bool(folder))
    letters: set[str] = set()
    (target / folder).mkdir(parents=True)

    def write(name: str, template: str, **parts) -> None:
        page = jinja.get_template(template).render(name=name, names=NAMES, **parts)
        letters.update(letters_of(page))
        (target / folder / name).write_text(page, encoding="utf-8")

    for before, lesson, after in zip([None, *lessons], lessons, [*lessons[1:], None]):
        page = body(lesson["notebook"])
        write(f"{lesson['name']}.html", "lesson.html.j2", lesson=lesson, headings=headings(page),
              body=Markup(page), before=before, after=after)
    write("symbols.html", "symbols.html.j2", symbols=symbols(lessons),
          clashes=re.sub("</?details>|<summary>.*</summary>", "", text(lessons[0], "clashes")))
    cited = {lesson["name"]: json.dumps(lesson["notebook"]) for lesson in lessons}
    write("references.html", "references.html.j2", references=references(), cited=cited)
    write("search.html", "search.html.j2")
    write("index.html", "index.html.j2", repository=REPOSITORY, weights=_stills.arcs(),
          drawings={lesson["name"]: drawing(lesson) for lesson in lessons},
          routes=text(lessons[0], "routes").partition("\n\n")[2])
    return letters


def build(target: pathlib.Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    letters = set().union(*(edition(target, language) for language in languages()))
    for folder in ("notebooks", "images"):
        shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns(".*"))
    (target / "site.css").write_text(style(letters), encoding="utf-8")
    (target / "site.js").write_text(text_of("site.js"), encoding="utf-8")
    for path in chosen([], ROOT / "notebooks"):
        slides.write(path, target / "slides")
    search(target)


def search(target: pathlib.Path) -> None:
    """Pagefind's index, in which each Chinese character is a word, as site.js asks for it.

    (Its binary that looks for words has 59 MB and finds others than the browser does in what is
    asked: with it, 多头注意力 finds nothing.)
    """
    with tempfile.TemporaryDirectory() as folder:
        for path in target.rglob("*.html"):
            place = path.relative_to(target)
            if place.parts[0] != "slides":
                copy = pathlib.Path(folder, place)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(apart(path.read_text("utf-8")), encoding="utf-8")
        index = ["--site", folder, "--output-path", target / "pagefind"]
        subprocess.run([sys.executable, "-m", "pagefind", *index], check=True, capture_output=True)


def apart(page: str) -> str:
    """A page with spaces around the Chinese characters of its text."""
    return re.sub(">[^<]+", lambda text: re.sub(f"(?={HAN})|(?<={HAN})", " ", text[0]), page)


def write_all(words: list[str], target: pathlib.Path) -> None:
    if words:
        sys.exit("The website has all lessons.")
    build(target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    folder = os.path.relpath(target)
    print(f"{folder}: {size / 1e6:.0f} MB; to look at it: python -m http.server -d {folder}")
