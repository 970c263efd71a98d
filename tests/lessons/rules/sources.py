"""Rules of claims, references and symbols."""
import re
from collections import Counter
from itertools import combinations
from math import log

import bibtexparser

from tools.notebooks import readme

from .notebook import ROOT, links, rows, rule, rule_for_all

ENTRIES = bibtexparser.parse_file(ROOT / "references.bib").entries


@rule("lesson", "museum", "deeper")
def claims(notebook):
    """Claims are a table; each is proved by code cells of this notebook, [ID](#cell-id=ID)."""
    cell, code = notebook.cell("claims"), {cell.id for cell in notebook.code}
    table = rows(cell.text) if cell else []
    if not table and (cell or notebook.kind != "deeper"):
        yield "claims", "no table"
    for row in table:
        proofs = re.findall(r"\[([^]]+)\]\(#cell-id=\1\)", row[-1])
        if not proofs or not code.issuperset(proofs):
            yield "claims", f"`{row[0]}` has no such proof"


def terms(text):
    """The first five letters of its words, and its numbers."""
    return {word[:5].lower() for word in re.findall(r"[A-Za-z]{3,}|\d[\d.,]*",
                                                    re.sub(r"\]\([^)]*\)|_", " ", text))}


@rule("lesson", "museum", "deeper")
def claims_fit_their_proofs(notebook):
    """Its words or the proof's title should say which claim a proof is for: two exchanged proofs
    would fit as well."""
    cell = notebook.cell("claims")
    shown = {proof.id: terms(" ".join([proof.text, proof.id, *proof.output_texts]))
             for proof in notebook.code}
    common = Counter(term for each in shown.values() for term in each)

    def fit(claim, proofs):
        found = set().union(*(shown[proof] for proof in proofs))
        return sum(log((len(shown) + 1) / common[term]) for term in terms(claim) & found)

    table = [(row[0], {each for each in re.findall(r"#cell-id=([\w-]+)", row[-1]) if each in shown})
             for row in rows(cell.text if cell else "")]
    for (one, proofs), (other, others) in combinations(table, 2):
        if not proofs & others and (fit(one, proofs) + fit(other, others)
                                    <= fit(one, others) + fit(other, proofs)):
            yield "claims", f"`{one}` and `{other}` could exchange their proofs"


def citations(text):
    """(first author, year) for every `Name et al. 2017` and `Name & Name (2017)`."""
    return re.findall(r"\b([A-Z][\w-]+)(?: et al\.| & [A-Z]\w+),? \(?((?:19|20)\d\d)\b", text)


@rule()
def sources(notebook):
    """What is cited stands in the cell `references`, and its address, or a book's, in
    references.bib."""
    cell = notebook.cell("references")
    text = cell.text if cell else ""
    addresses = [entry["url"].rstrip("/") for entry in ENTRIES]
    for url in links(text):
        if not any(f"{url}/".startswith(f"{address}/") for address in addresses):
            yield "references", f"{url} is not in references.bib"
    for other in notebook.words:
        for pair in citations(readme.prose(other.text)):
            if pair not in citations(text):
                yield other.id, f"{' '.join(pair)} is not in the cell `references`"


@rule_for_all
def every_source_is_cited(notebooks):
    """What no lesson cites goes from references.bib."""
    text = "".join(cell.text for notebook in notebooks for cell in notebook.cells)
    for entry in ENTRIES:
        if entry["url"] not in text:
            yield "references.bib", entry.key, "no lesson cites it"


@rule_for_all
def symbols(notebooks):
    """00's table has symbol, `code name`, shape, and the first notebook that has the name."""
    by_place = {notebook.place: notebook for notebook in notebooks}
    name, cell = by_place["00"].name, by_place["00"].cell("symbols")
    for row in rows(cell.text):
        codes, first = re.findall("`([^`]+)`", row[1]), re.search(r"\d\d", row[-1])
        if len(row) != 4 or not codes or not first:
            yield name, "symbols", f"`{row[0]}` is not of this form"
            continue
        lesson = by_place[first[0]]
        for code in codes:
            if not any(code in other.text for other in lesson.cells if other is not cell):
                yield name, "symbols", f"`{code}` does not occur in {lesson.name}"
