"""The ledger `seed_ledger.csv` maps what the curriculum asks for to the cell that carries it, by a word that stands in that cell."""
import csv

from notebook_rules import NAMES, ROOT, load
from test_notebooks import GOOD, make

NOTEBOOKS = [load(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]


def ledger():
    with open(ROOT / "tests/lessons/seed_ledger.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def complaints(rows, notebooks):
    """What the ledger says of notebooks that are there and isn't so."""
    by_name, found = {notebook.name: notebook for notebook in notebooks}, []
    for row in rows:
        cell = by_name[row["notebook"]].cell(row["cell"]) if row["notebook"] in by_name else None
        if row["notebook"] not in NAMES:
            found.append(f"{row['seed']}: {row['notebook']} is no planned notebook")
        elif row["notebook"] in by_name and (not cell or row["keyword"].lower() not in cell.text.lower()):
            found.append(f"{row['seed']}: {row['notebook']} has no cell {row['cell']} with `{row['keyword']}` in it")
    return found + [f"{name}: the ledger has no row" for name in by_name if name not in {row["notebook"] for row in rows}]


def row(**change):
    return {"seed": "adding up", "notebook": "02_multi_head_attention", "cell": "proof", "keyword": "x.SUM"} | change


def test_ledger_is_true():
    found = complaints(ledger(), NOTEBOOKS)
    assert not found, "\n" + "\n".join(found)


def test_rows_are_complete_and_different():
    rows = ledger()
    assert all(list(row) == ["seed", "notebook", "cell", "keyword"] and all(row.values()) for row in rows)
    assert len({(row["seed"], row["notebook"]) for row in rows}) == len(rows)


def test_a_wrong_ledger_is_noticed():
    notebook = make(GOOD)
    assert complaints([row(), row(notebook="07_what_heads_learn")], [notebook]) == []
    for change in ({"cell": "prove"}, {"keyword": "x.mean"}, {"notebook": "02_heads"}):
        assert complaints([row(), row(**change)], [notebook])
    assert complaints([], [notebook])
