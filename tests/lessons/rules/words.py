"""Rules of prose, links and pictures in Markdown."""
import re

from tools.notebooks import readme

from .notebook import ROOT, links, rows, rule, without_code


@rule()
def short_words(notebook):
    """Say it in 90 words, or in two cells."""
    for cell in notebook.words:
        free = cell.tags & {"exercise", "question", "references"} or rows(cell.text)
        count = readme.count_words(cell.text)
        if count > 90 and not free and "<details>" not in cell.text:
            yield cell.id, f"{count} words"


@rule()
def plain_words(notebook):
    """Whoever doesn't find it so is lost: leave the word out."""
    for cell in notebook.words:
        for word in re.findall(r"\b(simply|obviously|just|easy)\b", readme.prose(cell.text), re.I):
            yield cell.id, f"`{word}`"


@rule()
def no_pictures_in_words(notebook):
    """A picture has its words from code: show it with picture("NN_name")."""
    for cell in notebook.words:
        if re.search(r"!\[|<img\b", without_code(cell.text)):
            yield cell.id, "a picture in Markdown"


@rule()
def links_lead_somewhere(notebook):
    """Link to https://, to a cell, or to a notebook beside this one."""
    for cell in notebook.words:
        for link in links(cell.text):
            path = ROOT / "notebooks" / link.split("#")[0]
            beside = path.suffix == ".ipynb" and path.exists()
            if not link.startswith(("https://", "#")) and not beside:
                yield cell.id, f"{link} leads nowhere"
