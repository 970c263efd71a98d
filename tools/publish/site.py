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

import bibtexparser
import nbformat
from markupsafe import Markup

from tools import ROOT, address, setup
from tools.draw import pieces_in_node
from tools.publish import slides
from tools.publish.pages import body, frame, headings, letters_of, style, text_of
from tools.notebooks import nbtext, readme
from tools.notebooks.check_translation import glossary

from attention_lessons.languages import languages

REPOSITORY = setup.address()
HAN = r"[\u4e00-\u9fff]"
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.S)
NAMES = {"en": "English"} | {code: glossary(code)["name"] for code in languages()[1:]}


def text(lesson: dict, name: str) -> str:
    """What a lesson's cell says."""
    return {cell["id"]: cell["source"] for cell in lesson["cells"]}[name]


def read(path: pathlib.Path) -> dict:
    """A lesson: its title, number, minutes and place, and its cells with their outputs."""
    notebook = nbformat.read(path, as_version=4)
    inner, below = nbtext.inner(path).with_suffix(""), nbtext.is_deeper(path)
    english = nbtext.cells_of(nbtext.read(nbtext.in_language(path)))
    counted = map(readme.section_minutes, readme.sections(english)) if below else [
        readme.minutes(readme.sitting(english))]
    return {"title": readme.title(notebook.cells), "minutes": round(sum(counted)),
            "able": "" if below else readme.able(notebook.cells),
            "colab": "" if REPOSITORY == address.NOBODYS else readme.colab(path),
            "number": path.name[:2], "place": inner.as_posix(), "deeper": below,
            "name": "deeper/" * below + path.stem, "cells": notebook.cells, "notebook": notebook}


def drawing(lesson: dict) -> str | None:
    """The address of a lesson's drawing that comes first in it, if it has one."""
    folder, text = ROOT / "images" / lesson["place"].rpartition("/")[0], str(lesson["cells"])
    first = min(folder.glob(f"{lesson['number']}_*.svg"), default=None,
                key=lambda path: (path.stem not in text, text.find(path.stem)))
    return first and first.relative_to(ROOT).as_posix()


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


def references() -> list[bibtexparser.model.Entry]:
    """The entries of references.bib, by author."""
    library = bibtexparser.parse_file(ROOT / "references.bib", append_middleware=[
        bibtexparser.middlewares.LatexDecodingMiddleware()])
    return sorted(library.entries, key=lambda entry: (entry["author"].lower(), entry["year"]))


# ---- the site -----------------------------------------------------------------------------------

def edition(target: pathlib.Path, language: str) -> set[str]:
    """Write the pages in a language. Return the signs of their formulas."""
    folder = "" if language == "en" else f"{language}/"
    lessons = [read(path) for path in nbtext.lessons(folder)]
    deeper = {each["number"]: each for each in map(read, nbtext.deeper(folder))}
    jinja = frame(language, lessons=lessons, deeper=deeper)
    letters: set[str] = set()
    (target / folder / "deeper").mkdir(parents=True)

    def write(name: str, template: str, **parts) -> None:
        home = "../" * name.count("/")  # the way to this language's pages, and to the site's top
        page = jinja.get_template(template).render(name=name, names=NAMES, home=home,
                                                   top=home + "../" * bool(folder), **parts)
        letters.update(letters_of(page))
        (target / folder / name).write_text(page, encoding="utf-8")

    for before, lesson, after in zip([None, *lessons], lessons, [*lessons[1:], None]):
        below = deeper.get(lesson["number"])
        for each, last in ((lesson, before), (below, lesson)):
            if each:
                page = body(each["notebook"])
                write(f"{each['name']}.html", "lesson.html.j2", lesson=each, before=last,
                      after=after, headings=headings(page), body=Markup(page),
                      below=below if each is lesson else None)
    write("symbols.html", "symbols.html.j2", symbols=symbols(lessons),
          clashes=re.sub("</?details>|<summary>.*</summary>", "", text(lessons[0], "clashes")))
    both = [*lessons, *deeper.values()]
    cited = {lesson["name"]: json.dumps(lesson["notebook"]) for lesson in both}
    write("references.html", "references.html.j2", references=references(), cited=cited,
          notebooks=both)
    write("search.html", "search.html.j2")
    write("index.html", "index.html.j2", repository=REPOSITORY, weights=pieces_in_node.arcs(),
          drawings={lesson["name"]: drawing(lesson) for lesson in lessons},
          routes=text(lessons[0], "routes").partition("\n\n")[2], riddle=riddle(lessons[9]))
    return letters


def riddle(lesson: dict) -> Markup:
    """The date reader of lesson 09, at its riddle of the day; nothing where it hasn't been run."""
    pieces = [output["data"]["text/html"] for cell in lesson["notebook"].cells
              for output in cell.get("outputs", ()) if cell.source.startswith("dates_explorer(")]
    return Markup("".join(pieces).replace('"riddle": false', '"riddle": true'))


def build(target: pathlib.Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    letters = set().union(*(edition(target, language) for language in languages()))
    for folder in ("notebooks", "images"):
        shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns(".*"))
    (target / "site.css").write_text(style(letters), encoding="utf-8")
    (target / "site.js").write_text(text_of("site.js"), encoding="utf-8")
    for language in languages():
        for path in nbtext.lessons("" if language == "en" else language):
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
