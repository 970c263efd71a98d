"""Write the tables of notebooks, in README.md and in 00's cell `map`, from the notebooks' own first cells.

    python tools/readme.py           rewrite the tables
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


def lesson(path):
    """What the title cell says: title, able, core, all, badge."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = next(("".join(cell["source"]) for cell in cells if cell.get("id") == "title"), "")
    found = TITLE.search(text)
    if not found:
        sys.exit(f"{path.name}: the cell `title` does not have the form that tools/readme.py reads")
    return found.groupdict() | {"able": found["able"].replace("|", r"\|"), "file": path.name}


def table(lessons):
    rows = ["| [{title}](notebooks/{file}) | {able} | {core} / {all} | {badge} |".format(**lesson) for lesson in lessons]
    head = ["| notebook | afterwards you can | minutes: core / all | |", "|---|---|---|---|"]
    return "\n".join([START, *head, *rows, END])


def start(text, lessons):
    """The JSON of 00 with the lessons' table in its cell `map`."""
    rows = ["| [{title}]({file}) | {able} | {core} / {all} |".format(**lesson) for lesson in lessons[1:]]
    content = json.loads(text)
    for cell in content["cells"]:
        if cell.get("id") == "map":
            lines = ["| lesson | afterwards you can | minutes: core / all |", "|---|---|---|", *rows]
            cell["source"] = "\n".join(lines).splitlines(keepends=True)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main(arguments):
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        sys.exit(f"README.md: the table's place is not marked by one {START} and one {END}")
    lessons = [lesson(notebook) for notebook in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    new = text[:text.index(START)] + table(lessons) + text[text.index(END) + len(END):]
    first = ROOT / "notebooks" / "00_start_here.ipynb"
    check = "--check" in arguments
    return 1 if update([(path, new), (first, start(first.read_text(encoding="utf-8"), lessons))], check) and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
