"""Write what stands in two places from the one that counts: `make readme`.

    python -m tools.notebooks.readme           rewrite what is out of date
    python -m tools.notebooks.readme --check   change nothing, end with 1 if something is

- The set-up cell, with the address (`make address` writes it elsewhere) and the version's tag.
- Minutes, counted in the notebooks: in their titles, README's table and the map in 00. 130 words
  take one, a code cell half of one, a prediction one, an interactive piece two, an exercise
  those of its heading. Set-up, references and homework are not counted.
"""
import json
import re
import sys

from tools import ROOT, setup
from tools.notebooks.nbtext import dumps


def read(path):
    return path.read_text(encoding="utf-8")


def setup_source(address=""):
    """How all lessons begin their first cell, up to an empty line: it fetches the version of this
    tree, or says what to do where there is no address yet."""
    text = read(ROOT / "tools/notebooks/setup_cell.txt").strip()
    address = address or setup.address()
    fetch = ('import subprocess\n'
             '    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",\n'
             f'                    "git+{address}@{setup.tag()}"])\n'
             '    import d2l_ext')
    if ".invalid/" in address:
        fetch = ('raise SystemExit("Put d2l_ext and attention_lessons beside this "\n'
                 '                     "lesson, or take its standalone edition.")')
    return text.replace("FETCH", fetch)


# ---- minutes ----------------------------------------------------------------------------------

UNCOUNTED = {"setup", "picture", "proof", "references", "solution", "homework"}


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
    """The minutes of cells (whether it is Markdown, tags, text): of one ``part``, or of all."""
    return round(sum(cell_minutes(*cell) for cell in cells if part is None or part in cell[1]))


# ---- notebooks --------------------------------------------------------------------------------

TITLE = re.compile(r"# (?P<title>\d\d .+)\n\n(?:(?P<question>[^*\n].+)\n\n)?"
                   r"\*\*(?:Afterwards you can\*\* |学完之后，你能\*\*)(?P<able>[^\n]+)\n\n"
                   r"\*\*(?:Minutes:\*\* |用时\*\*：核心)(?P<core>\d+)(?: core, |分钟，全部)"
                   r"(?P<all>\d+)(?: with everything\.|分钟。).*\n\n"
                   r"(?P<badge>\[Open in Colab\]\((?P<colab>\S+)\))")


def cell_named(content, name):
    return next((cell for cell in content["cells"] if cell["id"] == name), {"source": []})


def opening(text_of):
    """What the first cells say, or nothing; ``text_of`` has the text of a cell by its id."""
    return TITLE.search(f"{text_of('title')}\n\n{text_of('afterwards')}")


def notebook(path):
    """A notebook with its address and minutes as they should be, and what its title says."""
    content = json.loads(read(path))
    shape = [(cell["cell_type"] == "markdown", set(cell["metadata"].get("tags", [])),
              "".join(cell["source"])) for cell in content["cells"]]
    counted = (f"**Minutes:** {minutes(shape, 'core')} core, "
               f"{minutes(shape)} with everything.")
    for cell in content["cells"]:
        text = "".join(cell["source"])
        if cell["id"] == "afterwards":
            text = re.sub(r"\*\*Minutes:\*\* \d+ core, \d+ with everything\.", counted, text)
        if cell["id"] == "setup":
            text = f"{setup_source()}\n\n{text.partition(2 * chr(10))[2]}".strip()
        cell["source"] = text.splitlines(keepends=True)
    found = opening(lambda name: "".join(cell_named(content, name)["source"]))
    if not found:
        sys.exit(f"{path.name}: its title lacks a line that tools/notebooks/readme.py reads")
    return content, found.groupdict() | {"file": path.name}


def lesson_table(lessons, head, row):
    rows = [row.format(**lesson | {"able": lesson["able"].replace("|", r"\|")})
            for lesson in lessons]
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


# ---- all of it --------------------------------------------------------------------------------

def put(text, name, table):
    """README with a table between the two comments that mark its place."""
    start, end = f"<!-- {name}: make readme writes this table -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        sys.exit(f"README.md: a table's place is not marked by one {start} and one {end}")
    return f"{text[:text.index(start)]}{start}\n{table}\n{text[text.index(end):]}"


def wanted():
    """The files that hold something of the above -> their text as it should be."""
    notebooks = {path: notebook(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    lessons = [lesson for _, lesson in notebooks.values()]
    start = next(iter(notebooks.values()))[0]
    cell_named(start, "map")["source"] = lesson_table(
        lessons[1:], "| lesson | afterwards you can | minutes: core / all |",
        "| [{title}]({file}) | {able} | {core} / {all} |").splitlines(keepends=True)
    texts = {path: dumps(content) for path, (content, _) in notebooks.items()}
    table = lesson_table(
        lessons, "| notebook | afterwards you can | minutes: core / all | |",
        "| [{title}](notebooks/{file}) | {able} | {core} / {all} | {badge} |")
    return texts | {ROOT / "README.md": put(read(ROOT / "README.md"), "notebooks", table)}


def renew(texts, root, check):
    """Rewrite the files, below ``root``, that are not as they should be; with ``check`` only say
    so: 1 if one isn't."""
    stale = {path: text for path, text in texts.items() if not path.exists() or read(path) != text}
    for path, text in stale.items():
        print(path.relative_to(root).as_posix(), "is out of date" if check else "rewritten")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(check and bool(stale))


def main(arguments):
    return renew(wanted(), ROOT, arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
