"""A deck of slides for a lesson: `make slides`.

A deck is one file with reveal.js inside it and asks the network for nothing. How a lesson is cut
into slides stands in its cells' slideshow metadata, so that nbconvert and JupyterLab's slide views
see the same cut; what does not fit on a slide goes on to the next (deck.js).
"""
import importlib.util
import pathlib
import sys

import nbformat
from nbconvert import SlidesExporter

from tools.publish.pages import (COLOURS, TEMPLATES, Exporter, font, html, letters_of, place,
                                 speaker, text_of, title_of)
from tools.classroom.teacher_pages import teaching
from tools.classroom.editions import remarks
from tools.notebooks.nbtext import in_language
from tools.notebooks.readme import minutes


class Deck(Exporter, SlidesExporter):
    """nbconvert's slides, with this collection's formulas and without a network."""


def reveal() -> pathlib.Path:
    """The folder of reveal.js: a package for Sphinx brings it, of which nothing else is used."""
    found = importlib.util.find_spec("sphinx_revealjs")
    if found is None:
        sys.exit("reveal.js is missing: python tools/setup.py slides")
    return pathlib.Path(found.origin).parent / "_static/revealjs"


def kind(cell) -> str:
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def notes(cells: list, plan: dict, counted: list | None = None,
          language: str = "en") -> dict[str, dict[str, str]]:
    """For each cell on a slide what the notes say there, as HTML: words, and the minute after it.

    Words are the plan's remarks, and cells that are notes themselves.
    Minutes are those of ``counted``, the English cells; without it, of the cells themselves.
    """
    _, shown = speaker(language), [cell for cell in cells if kind(cell) != "skip"]
    lasts = {cell.id: minutes([cell]) for cell in counted or cells}
    total, spent, made = sum(lasts[cell.id] for cell in shown), 0.0, {}
    for cell in shown:
        lines = [cell.source]
        if kind(cell) != "notes":
            lines = [f"**{_(head.text)}:** {words}" for head, words in remarks(plan, cell.id)]
            here = made[cell.id] = {"words": ""}
        spent += lasts[cell.id]
        here["words"] += html("\n\n".join(lines))
        here["minute"] = html(_(
            "Minute {0} of {1} when this slide is done.", round(spent), round(total)))
    return made


def page(notebook: nbformat.NotebookNode, plan: dict, counted: list | None = None) -> str:
    """The lesson's deck, as one page of HTML. Raises ValueError for a formula that can't be set."""
    notebook.metadata["title"] = title_of(notebook)
    said_there = notes(notebook.cells, plan, counted, notebook.metadata.get("language", "en"))
    notebook.cells = [cell for cell in notebook.cells if cell.id in said_there]
    for cell in notebook.cells:
        folded = cell.metadata.get("jupyter", {}).get("source_hidden")
        if folded or "explorer" in cell.metadata.get("tags", []):
            cell.metadata["transient"] = {"remove_source": True}
    script = text_of(reveal() / "dist/reveal.js", reveal() / "plugin/notes/notes.js", "deck.js")
    style = COLOURS + text_of(reveal() / "dist/reveal.css", "deck.css", "chinese.css")
    resources = {"deck_css": style, "notes": said_there, "deck_js": script}
    exporter = Deck(template_file="deck.html.j2", extra_loaders=[TEMPLATES])
    made = exporter.from_notebook_node(notebook, resources=resources)[0]
    return made.replace("formulas.woff", font(letters_of(made)))


def write(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    made = place(path, target)
    notebook = nbformat.read(path, as_version=4)
    english = nbformat.read(in_language(path), as_version=4)
    plan = teaching(path.name[:2], notebook.metadata.get("language", "en"))
    made.write_text(page(notebook, plan, english.cells), encoding="utf-8")
    return made
