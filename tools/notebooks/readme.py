"""Count each notebook's minutes, and write the tables of notebooks: in README.md and in 00's cell `map`.

    python tools/notebooks/readme.py           rewrite minutes and tables
    python tools/notebooks/readme.py --check   change nothing, end with 1 if something is out of date

Minutes are counted: 130 words take one, a code cell half of one, a prediction one, an interactive piece
two, an exercise those of its heading. Set-up, references and homework are not counted.
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


UNCOUNTED = {"setup", "picture", "references", "solution", "homework"}


def prose(text):
    """What a reader reads as words: no code, formulas, link targets or HTML."""
    text = re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.S)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|<[^>]*>", " ", text, flags=re.S)
    return re.sub(r"\]\([^)]*\)", "]", text)


def count_words(text):
    return len(re.findall(r"\w[\w'’-]*", prose(text)))


def cell_minutes(markdown, tags, text):
    if tags & UNCOUNTED:
        return 0
    if stated := re.match(r"#+ .*· (\d+) minutes?\b", text):
        return int(stated[1])
    if markdown:
        return count_words(text) / 130
    return 0 if "exercise" in tags else 2 if "explorer" in tags else 1 if "predict" in tags else 0.5


def minutes(cells, part=None):
    """The minutes of cells (whether it is Markdown, tags, text): of one ``part``, or of all of them."""
    counted = (cell_minutes(*cell) for cell in cells if part is None or part in cell[1])
    return round(sum(counted))


def read(path):
    """A notebook's JSON with its minutes, as counted, in its title; and what that title says."""
    content = json.loads(path.read_text(encoding="utf-8"))
    cells = [(cell["cell_type"] == "markdown", set(cell["metadata"].get("tags", [])), "".join(cell["source"]))
             for cell in content["cells"]]
    said = f"**Minutes:** {minutes(cells, 'core')} core, {minutes(cells)} with everything."
    title = next((cell for cell in content["cells"] if cell.get("id") == "title"), {"source": []})
    text = re.sub(r"\*\*Minutes:\*\* \d+ core, \d+ with everything\.", said, "".join(title["source"]))
    title["source"] = text.splitlines(keepends=True)
    found = TITLE.search(text)
    if not found:
        sys.exit(f"{path.name}: the cell `title` does not have the form that tools/notebooks/readme.py reads")
    return content, found.groupdict() | {"able": found["able"].replace("|", r"\|"), "file": path.name}


def table(lessons):
    rows = ["| [{title}](notebooks/{file}) | {able} | {core} / {all} | {badge} |".format(**lesson) for lesson in lessons]
    head = ["| notebook | afterwards you can | minutes: core / all | |", "|---|---|---|---|"]
    return "\n".join([START, *head, *rows, END])


def start(content, lessons):
    """Put the lessons' table into 00's cell `map`."""
    rows = ["| [{title}]({file}) | {able} | {core} / {all} |".format(**lesson) for lesson in lessons[1:]]
    for cell in content["cells"]:
        if cell.get("id") == "map":
            lines = ["| lesson | afterwards you can | minutes: core / all |", "|---|---|---|", *rows]
            cell["source"] = "\n".join(lines).splitlines(keepends=True)


def main(arguments):
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        sys.exit(f"README.md: the table's place is not marked by one {START} and one {END}")
    notebooks = {notebook: read(notebook) for notebook in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    lessons = [said for _, said in notebooks.values()]
    start(next(iter(notebooks.values()))[0], lessons)
    files = [(path, text[:text.index(START)] + table(lessons) + text[text.index(END) + len(END):])]
    files += [(notebook, json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
              for notebook, (content, _) in notebooks.items()]
    check = "--check" in arguments
    return 1 if update(files, check) and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
