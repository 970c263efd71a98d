"""Rules of prose, links and pictures in Markdown."""
import re

from tools.notebooks import readme

from .notebook import ROOT, links, rows, rule, without_code


@rule(of="words")
def short_words(cell):
    """Say it in 90 words, or in two cells."""
    free = cell.tags & {"exercise", "question", "references"} or rows(cell.text)
    count = readme.count_words(cell.text)
    if count > 90 and not free and "<details>" not in cell.text:
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


@rule(of="words")
def links_lead_somewhere(cell):
    """Link to https://, to a cell, or to a notebook beside this one."""
    for link in links(cell.text):
        path = ROOT / "notebooks" / link.split("#")[0]
        beside = path.suffix == ".ipynb" and path.exists()
        if not link.startswith(("https://", "#")) and not beside:
            yield f"{link} leads nowhere"
