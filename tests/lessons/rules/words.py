"""Rules of prose, links and pictures in Markdown."""
import re
from collections import Counter
from urllib.parse import urldefrag, urljoin

from tools.notebooks import readme

from . import limits
from .notebook import links, rows, rule, rule_for_all, without_code


COMMON = """the and its you our with this that which what how does not can have has one two from
than when why there their they lesson lessons deeper minute minutes level all refresher""".split()


def stems(text):
    return {word[:5] for word in re.findall("[a-z]{3,}", text.lower()) if word not in COMMON}


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


# links whose words have little in common with the heading that they lead to: cell > target
ELSEWHERE = set("""
00:solution-matmul>refresher-matmul-words 01:pooling-question>softmax-words 02:contents>so
02:seeds-question>learn-words 03:cross-question>class-words 03:one-screen>borrowed-question
04:half-question>empty-words 04:nobody-question>empty-words 04:softmax-reading>nobody-question
05:base-question>formula 05:class-words>who-words 05:concatenate-question>class-words
05:contents>base-question 05:formula>base-question 05:similar-question>explorer-words
07:dilated-question>dilation-words 07:gru-question>crossover-words
08:dropout-question>encoder-words 09:keep-question>mask-words 09:two-texts-question>mask-words
10:sinks-question>window-words 10:window-reading>softmax-question 11:alike-reading>lost-question
11:exercise-linear-class>normaliser-question 11:explorer-reading>table-question
11:lost-question>full-words 11:normaliser-question>brackets-reading
11:others-question>learning-words 11:others-words>parity-question 13:bar-question>beside-words
""".split())


@rule_for_all
def links_lead_where_they_say(notebooks):
    """Another heading of that notebook has more of the link's words (or, where these are only
    "lesson 05" and the like, of its cell's): link to that, or write the pair into ELSEWHERE."""
    headings = {}
    for notebook in notebooks:
        for cell in notebook.words:
            if (found := re.search("^#+ (.*)", cell.text, re.M)) and cell.id not in (
                    "title", "one-screen", "references"):
                headings.setdefault(f"/notebooks/{notebook.name}.ipynb", {})[cell.id] = stems(
                    found[1])
    for notebook in notebooks:
        for cell in notebook.words:
            for words, link in re.findall(r"\[([^]]+)\]\(([^)\s]+)\)", cell.text):
                file, place = urldefrag(urljoin(f"/notebooks/{notebook.name}.ipynb", link))
                titles, target = headings.get(file, {}), place.removeprefix("cell-id=")
                if target not in titles or cell.id == "claims" or words.isdecimal():
                    continue
                often = Counter(stem for title in titles.values() for stem in title)
                for text in (words, re.sub(r"\]\([^)]*\)", "", cell.text)):
                    shared = {at: sum(1 / often[stem] for stem in stems(text) & title)
                              for at, title in titles.items()}
                    if any(shared.values()):
                        break
                pair = f"{notebook.number}:{cell.id}>{target}"
                if (0 < shared[target] == max(shared.values())) == (pair in ELSEWHERE):
                    yield notebook.name, cell.id, f"[{words}]({link}), {pair}"
