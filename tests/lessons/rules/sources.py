"""Rules of claims, references, symbols, and of what is shown of the package."""
import ast
import csv
import re

from tools.notebooks import readme

import d2l_ext

from .notebook import ROOT, links, rows, rule, rule_for_all

# What no lesson is about, and why.
NOT_TAUGHT = {"Mask": "the container that makes predicates printable; the predicates are shown",
              "language": "chooses words"}


@rule(1)
def claims(notebook):
    """Claims are a table; each is proved by code cells of this notebook, [ID](#cell-id=ID)."""
    cell, code = notebook.cell("claims"), {cell.id for cell in notebook.code}
    table = rows(cell.text) if cell else []
    if not table:
        yield "claims", "no table"
    for row in table:
        proofs = re.findall(r"\[([^]]+)\]\(#cell-id=\1\)", row[-1])
        if not proofs or not code.issuperset(proofs):
            yield "claims", f"`{row[0]}` has no such proof"


# ---- references ------------------------------------------------------------------------------

def references():
    """references.bib as key -> (first author, year, address)."""
    text = (ROOT / "references.bib").read_text(encoding="utf-8")
    found = {}
    for key, body in re.findall(r"^@\w+\{([\w-]+),(.*?)^\}", text, re.S | re.M):
        author, year, url = (re.search(rf"\b{name}\s*=\s*\{{(.*?)\}}", body)[1]
                             for name in ("author", "year", "url"))
        found[key] = author.split(",")[0], year, url.rstrip("/")
    return found


def docstrings():
    """The docstrings of the package, by file."""
    found = {}
    for path in sorted([*ROOT.glob("d2l_ext/*.py"), *ROOT.glob("attention_lessons/**/*.py")]):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
        found[path.relative_to(ROOT).as_posix()] = "\n".join(texts)
    return found


def citations(text):
    """(first author, year) for every `Name et al. 2017` and `Name & Name (2017)`."""
    return re.findall(r"\b([A-Z][\w-]+)(?: et al\.| & [A-Z]\w+),? \(?((?:19|20)\d\d)\b", text)


def leads_to(url, entry):
    """Whether an address is the entry's, or a part of it (a book's chapter)."""
    return f"{url}/".startswith(f"{entry}/")


@rule()
def sources(notebook):
    """What is cited stands in the cell `references`, and its address in references.bib."""
    cell = notebook.cell("references")
    text, entries = cell.text if cell else "", references().values()
    for url in links(text):
        if not any(leads_to(url, entry) for _, _, entry in entries):
            yield "references", f"{url} is not in references.bib"
    for other in notebook.words:
        for pair in citations(readme.prose(other.text)):
            if pair not in citations(text):
                yield other.id, f"{' '.join(pair)} is not in the cell `references`"


@rule_for_all
def every_source_is_cited(notebooks):
    """references.bib has what notebooks and docstrings cite, and nothing else."""
    urls = [url for notebook in notebooks for cell in notebook.tagged("references")
            for url in links(cell.text)]
    cited = {(path, pair) for path, text in docstrings().items() for pair in citations(text)}
    entries = references()
    for key, (author, year, url) in entries.items():
        by_docstring = any(pair == (author, year) for _, pair in cited)
        if not by_docstring and not any(leads_to(found, url) for found in urls):
            yield "references.bib", key, "nothing cites it"
    known = {entry[:2] for entry in entries.values()}
    for path, pair in sorted(cited):
        if pair not in known:
            yield path, "docstring", f"{' '.join(pair)} is missing"


# ---- what is shown ---------------------------------------------------------------------------

def shown():
    """shown.csv: a public name, the cell with the reader's own version, the cell that compares."""
    with open(ROOT / "tests/lessons/shown.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mentions(cell, name):
    """Whether a cell's code uses a name, with or without the package's before it."""
    names = [getattr(node, "id", None) or getattr(node, "attr", None) for node in cell.nodes]
    return name.split(".")[-1] in names


@rule_for_all
def what_is_taught_is_shown(notebooks):
    """Public names are shown as the reader's own code, and compared: tests/lessons/shown.csv."""
    table, by_name = shown(), {notebook.name: notebook for notebook in notebooks}
    for name in sorted(set(d2l_ext.__all__) - NOT_TAUGHT.keys() - {row["name"] for row in table}):
        yield "shown.csv", name, "no lesson shows it"
    for row in table:
        notebook, name = by_name[row["notebook"]], row["name"]
        cell, proof = notebook.cell(row["cell"]), notebook.cell(row["proof"])
        if not cell or not cell.is_code or mentions(cell, name) and cell is not proof:
            yield notebook.name, row["cell"], f"no own version of `{name}`, or a call of it"
        if not proof or "assert" not in proof.text or not mentions(proof, name):
            yield notebook.name, row["proof"], f"no assert about `{name}`"


@rule_for_all
def symbols(notebooks):
    """00's table has symbol, `code name`, shape, and the first notebook that has the name."""
    by_number = {notebook.number: notebook for notebook in notebooks}
    name, cell = by_number[0].name, by_number[0].cell("symbols")
    for row in rows(cell.text):
        codes, first = re.findall("`([^`]+)`", row[1]), re.search(r"\d\d", row[-1])
        if len(row) != 4 or not codes or not first:
            yield name, "symbols", f"`{row[0]}` is not of this form"
            continue
        lesson = by_number[int(first[0])]
        for code in codes:
            if not any(code in other.text for other in lesson.cells if other is not cell):
                yield name, "symbols", f"`{code}` does not occur in {lesson.name}"
