"""Rules of prose, links and pictures in Markdown."""
import re
from urllib.parse import urldefrag, urljoin

from tools.notebooks import readme

from . import limits
from .notebook import links, rows, rule, rule_for_all, without_code


@rule(of="words")
def short_words(cell):
    """Say it in fewer words, or in two cells."""
    free = cell.tags & {"exercise", "question", "references", "one-screen"} or (
        cell.id == "contents" or rows(cell.text))
    count = readme.count_words(cell.text)
    if count > limits.CELL_WORDS and not free and "<details>" not in cell.text:
        yield f"{count} words"


@rule(of="words")
def plain_words(cell):
    """Whoever doesn't find it so is lost: leave the word out."""
    for word in re.findall(r"\b(simply|obviously|just|easy)\b", readme.prose(cell.text), re.I):
        yield f"`{word}`"


@rule(of="words")
def no_pictures_in_words(cell):
    """A picture has its words from code: show it with picture("NN_name")."""
    if re.search(r"!\[|<img\b", without_code(cell.text)):
        yield "a picture in Markdown"


@rule_for_all
def links_lead_somewhere(notebooks):
    """Link to https://, or to a notebook or one of its cells: 02_..., deeper/02_..., and from a
    deeper one ../02_..."""
    places = {f"/notebooks/{notebook.name}.ipynb": ["", *map("cell-id={}".format, notebook.ids)]
              for notebook in notebooks}
    for notebook in notebooks:
        for cell in notebook.words:
            for link in links(cell.text):
                file, place = urldefrag(urljoin(f"/notebooks/{notebook.name}.ipynb", link))
                if not link.startswith("https://") and place not in places.get(file, ()):
                    yield notebook.name, cell.id, f"{link} leads nowhere"
