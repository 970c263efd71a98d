"""Write a deck of slides for each lesson, or for some by name, into dist/slides.

    python tools/setup.py html slides
    python tools/classroom/slides.py [NAME ...]

A deck is one file with reveal.js inside it and asks the network for nothing. How a lesson is cut
into slides stands in its cells' slideshow metadata, so that nbconvert and JupyterLab's slide views
see the same cut; what does not fit on a slide goes on to the next (deck.js).
"""
import importlib.util
import pathlib
import re
import sys
import tomllib

import nbformat
from jinja2 import DictLoader
from nbconvert import SlidesExporter

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools/notebooks"))
from export import Exporter, font  # noqa: E402
from nbtext import chosen  # noqa: E402
from readme import cell_minutes  # noqa: E402

TARGET = ROOT / "dist/slides"
DECK = """{% extends 'reveal/base.html.j2' %}
{% block header %}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{ nb.metadata.title }}, slides</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
 font-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-src *">
<style>
{% for css in resources.inlining.css %}{{ css }}{% endfor %}
{{ resources.deck_css }}
</style>
</head>{% endblock %}
{% block body_header %}<body><main class="reveal"><div class="slides">{% endblock %}
{% block body_footer %}</div></main>
<script>
{{ resources.deck_js }}
</script></body></html>{% endblock %}
"""


class Deck(Exporter, SlidesExporter):
    """nbconvert's slides, with this collection's formulas and without a network."""


def reveal() -> pathlib.Path:
    """The folder of reveal.js: a package for Sphinx brings it, of which nothing else is used."""
    found = importlib.util.find_spec("sphinx_revealjs")
    if found is None:
        sys.exit("reveal.js is missing: python tools/setup.py slides")
    return pathlib.Path(found.origin).parent / "_static/revealjs"


def teaching(number: str) -> dict:
    """What teaching/NN.toml says of a lesson; nothing where there is none."""
    path = ROOT / f"teaching/{number}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def kind(cell) -> str:
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def minutes(cell) -> float:
    tags = set(cell.metadata.get("tags", []))
    return cell_minutes(cell.cell_type == "markdown", tags, cell.source)


def with_notes(cells: list, ask: dict) -> list:
    """The cells with a cell of notes behind each slide: minutes so far, and what to ask."""
    total = sum(minutes(cell) for cell in cells if kind(cell) != "skip")
    spent, lines, made = 0.0, [], []
    for cell in cells:
        if kind(cell) == "slide" and made:
            made.append(note(spent, total, lines))
            lines = []
        if kind(cell) != "skip":
            spent += minutes(cell)
            if cell.id in ask:
                question, answer = ask[cell.id]
                lines.append(f"**Ask:** {question}\n\n**Usually answered:** {answer}")
        made.append(cell)
    return [*made, note(spent, total, lines)]


def note(spent: float, total: float, lines: list[str]):
    text = "\n\n".join([*lines, f"Minute {spent:.0f} of {total:.0f} when this slide is done."])
    return nbformat.v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": "notes"}})


def page(notebook: nbformat.NotebookNode, number: str) -> str:
    """The lesson's deck, as one page of HTML."""
    notebook.metadata["title"] = notebook.cells[0].source.splitlines()[0].lstrip("# ")
    for cell in notebook.cells:
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["transient"] = {"remove_source": True}
    notebook.cells = with_notes(notebook.cells, teaching(number).get("ask", {}))
    styles = [reveal() / "dist/reveal.css", HERE / "deck.css"]
    scripts = [reveal() / "dist/reveal.js", reveal() / "plugin/notes/notes.js", HERE / "deck.js"]
    css, js = joined(styles), joined(scripts)
    exporter = Deck(template_file="deck", extra_loaders=[DictLoader({"deck": DECK})])
    resources = {"deck_css": css, "deck_js": js.replace("</script", "<\\/script")}
    made = exporter.from_notebook_node(notebook, resources=resources)[0]
    formulas = "".join(re.findall("<math.*?</math>", made, re.S))
    return made.replace("formulas.woff", font(set(formulas)))


def joined(paths: list[pathlib.Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def main(words: list[str]) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for path in chosen(words, ROOT / "notebooks"):
        made = TARGET / path.with_suffix(".html").name
        made.write_text(page(nbformat.read(path, as_version=4), path.name[:2]), encoding="utf-8")
        print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main(sys.argv[1:])
