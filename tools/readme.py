"""Write the table of notebooks in README.md from the notebooks' own first cells.

    python tools/readme.py           rewrite the table
    python tools/readme.py --check   change nothing, end with 1 if it is out of date
"""
import json
import re
import sys

from address import ROOT, update

START, END = "<!-- notebooks: make readme writes this table -->", "<!-- /notebooks -->"
TITLE = re.compile(r"# (?P<title>\d\d .+)\n\n"
                   r"\*\*Afterwards you can\*\* (?P<able>[^\n]+)\n\n"
                   r"\*\*Minutes:\*\* (?P<core>\d+) core, (?P<all>\d+) with everything\..*\n\n"
                   r"(?P<badge>\[!\[Open in Colab\]\(\S+\)\]\(\S+\))")


def row(path):
    """One line of the table."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = next(("".join(cell["source"]) for cell in cells if cell.get("id") == "title"), "")
    found = TITLE.search(text)
    if not found:
        sys.exit(f"{path.name}: the cell `title` does not have the form that tools/readme.py reads")
    able = found["able"].replace("|", r"\|")
    return (f"| [{found['title']}](notebooks/{path.name}) | {able} "
            f"| {found['core']} / {found['all']} | {found['badge']} |")


def table():
    rows = [row(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    head = ["| notebook | afterwards you can | minutes: core / all | |", "|---|---|---|---|"]
    return "\n".join([START, *head, *rows, END])


def main(arguments):
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        sys.exit(f"README.md: the table's place is not marked by one {START} and one {END}")
    new = text[:text.index(START)] + table() + text[text.index(END) + len(END):]
    check = "--check" in arguments
    return 1 if update([(path, new)], check) and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
