"""Write what stands in two places from the one that counts: `make readme`.

    python -m tools.notebooks.readme           rewrite what is out of date
    python -m tools.notebooks.readme --check   change nothing, end with 1 if something is

- The set-up cell, with the address (`make address` writes it elsewhere) and the version's tag.
- In a lesson all of `afterwards` but its own first paragraphs: the minutes, the way to the deeper
  notebook, and Colab. In a deeper notebook the minutes of its sections, and the list of them. In
  README and in the map of 00 both tables.

Minutes are counted: 130 words take one, a code cell half of one, a prediction one, an interactive
piece two, an exercise those of its heading. Set-up, references and homework are not counted. A
lesson's minutes are those of its sitting: of what comes before the cell `next`.
"""
import itertools
import re
import sys

from tools import ROOT, setup
from tools.address import forms
from tools.notebooks import nbtext
from tools.notebooks.nbtext import cells_of, dumps


def read(path):
    return path.read_text(encoding="utf-8")


def setup_source(address=""):
    """How all lessons begin their first cell, up to an empty line: it fetches the version of this
    tree, or says what to do where there is no address yet."""
    text = read(ROOT / "tools/notebooks/setup_cell.txt").strip()
    address = address or setup.address()
    fetch = ('import subprocess\n'
             f'    source = "git+{address}@{setup.tag()}"\n'
             '    if subprocess.run([sys.executable, "-m", "pip", "install", "-q",\n'
             '                       "--no-deps", source]).returncode:\n'
             '        raise SystemExit(f"pip could not fetch {source}: is the tag pushed? "\n'
             '                         "The standalone edition of this lesson needs nothing.")\n'
             '    import d2l_ext')
    if ".invalid/" in address:
        fetch = ('raise SystemExit("d2l_ext and attention_lessons are not in "\n'
                 '                     f"{here.parent} or the folders above it: put them "\n'
                 '                     "beside this lesson, or take its standalone edition.")')
    return text.replace("FETCH", fetch)


RAISED = re.compile(r'raise SystemExit\(((?:.|\n)*?")\)')


def message(found):
    """What a set-up cell raises, from a match of RAISED, with places such as {source}."""
    return "".join(re.findall(r'f?"([^"]*)"', found[1]))


NOT_SET_UP = [message(RAISED.search(setup_source(address)))
              for address in ("https://a.invalid/b", "https://a.b/c")]


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


def minutes(cells):
    """The minutes of cells, not rounded, without what is written here."""
    return sum(cell_minutes(cell["cell_type"] == "markdown", {*cell["metadata"]["tags"]},
                            cell["source"].partition(MADE)[0])
               for cell in cells if cell["id"] not in TABLES)


# ---- the parts of a notebook ------------------------------------------------------------------

TABLES = "map", "contents"  # cells that are written here
MADE = "\n\n**Minutes:** "  # so is what follows in the cell `afterwards`
SECTION = re.compile(r"\A## (.+?)(?: · \d+[^·\n]*)?$", re.M)  # minutes, in any language
END = "claims", "references"  # what comes after a deeper notebook's sections


def sitting(cells):
    """The cells of a lesson that are for one sitting."""
    return [*itertools.takewhile(lambda cell: cell["id"] != "next", cells)]


def exercise_minutes(cells):
    return minutes(cell for cell in cells if nbtext.has(cell, "exercise"))


def sections(cells):
    """The sections of a deeper notebook, each a list of cells."""
    found = []
    for cell in itertools.takewhile(lambda cell: cell["id"] not in END, cells):
        if cell["cell_type"] == "markdown" and SECTION.match(cell["source"]):
            found.append([])
        if found:
            found[-1].append(cell)
    return found


def question(section):
    """The question that a section's heading asks."""
    return SECTION.match(section[0]["source"])[1]


def section_minutes(section):
    """The minutes of a section, at least one, without those that its heading says."""
    first, *rest = section
    return max(1, round(minutes([first | {"source": uncounted(first["source"])}, *rest])))


def uncounted(text):
    """The first cell of a section without the minutes in its heading."""
    return SECTION.sub(r"## \1", text)


# ---- what is written into notebooks and tables -------------------------------------------------

SITTING, WITH_EXERCISES = "**Minutes:** {0}.", "**Minutes:** {0}, of which {1} for the exercises."
WAY_DEEPER = "**Deeper:** [more questions, each with a section that can be read alone]({0})"
MINUTE, MINUTES = " · 1 minute", " · {0} minutes"
LESSON_HEAD = "| lesson | afterwards you can | minutes |"
DEEPER_HEAD = "| deeper notebook | its questions | minutes |"
WRITTEN = SITTING, WITH_EXERCISES, WAY_DEEPER, MINUTE, MINUTES, LESSON_HEAD, DEEPER_HEAD
TITLE = re.compile(r"\A# (\d\d .+)")
ABLE = re.compile(r"\A\*\*[^*\n]+\*\* ?(.+)")  # in any language


def cell_named(cells, name):
    return next((cell for cell in cells if cell["id"] == name), {"source": ""})


def title(cells):
    return TITLE.match(cell_named(cells, "title")["source"])[1]


def able(cells):
    """What a lesson says that you can do afterwards."""
    return ABLE.match(cell_named(cells, "afterwards")["source"])[1]


def badge(path):
    """The line that leads to an English notebook in Colab: from China it can't be reached."""
    return f"[Open in Colab]({colab(path)})" if nbtext.in_language(path) == path else ""


def colab(path):
    return forms(setup.address())[0] + nbtext.inner(path).as_posix()


def afterwards(own, path, cells, say=str):
    """The cell `afterwards` of the lesson at this path: its own words, and what is counted in the
    English ``cells``; ``say`` has what is written in another language."""
    cells = sitting(cells)
    spent, exercises = round(minutes(cells)), round(exercise_minutes(cells))
    lines = [own, say(WITH_EXERCISES if exercises else SITTING).format(spent, exercises)]
    if (deeper := nbtext.deeper_of(nbtext.in_language(path))).exists():
        lines.append(say(WAY_DEEPER).format(f"deeper/{deeper.name}"))
    return "\n\n".join(filter(None, [*lines, badge(path)]))


def counted(section, say=str):
    """The minutes behind a section's heading."""
    spent = section_minutes(section)
    return say(MINUTE if spent == 1 else MINUTES).format(spent)


def with_minutes(text, section, say=str):
    """A section's first cell with its minutes; ``section`` is the English one."""
    heading, *rest = uncounted(text).splitlines()
    return "\n".join([heading + counted(section, say), *rest])


def contents(path, cells, english, say=str):
    """The list of a deeper notebook's sections, and the way to Colab."""
    lines = [f"- [{question(section)}](#cell-id={section[0]['id']}){counted(its, say)}"
             for section, its in zip(sections(cells), sections(english))]
    return "\n\n".join(filter(None, ["\n".join(lines), badge(path)]))


def with_counts(path, cells, english, say=str):
    """The cells of the notebook at this path with what is counted in the English ones."""
    if nbtext.is_deeper(path):
        for section, its in zip(sections(cells), sections(english)):
            section[0]["source"] = with_minutes(section[0]["source"], its, say)
        cell_named(cells, "contents")["source"] = contents(path, cells, english, say)
    else:
        cell = cell_named(cells, "afterwards")
        cell["source"] = afterwards(cell["source"].partition(MADE)[0], path, english, say)
    return cells


def tables(notebooks, say=str, language=""):
    """What lists all notebooks, (path, its English cells, those of its language) each: the cell
    `map` of 00, and README's two tables."""
    lessons, deeper = ([each for each in notebooks if nbtext.is_deeper(each[0]) == below]
                       for below in (False, True))
    folder = f"notebooks/{language}/" if language else "notebooks/"
    return {"map": "\n\n".join([lesson_table(lessons[1:], say), deeper_table(deeper, say)]),
            "notebooks": lesson_table(lessons, say, folder, colab=not language),
            "deeper": deeper_table(deeper, say, folder)}


def lesson_table(lessons, say=str, folder="", colab=False):
    rows = []
    for path, english, cells in lessons:
        said = able(cells).replace("|", r"\|")
        rows.append(f"| [{title(cells)}]({folder}{path.name}) | {said} | "
                    f"{round(minutes(sitting(english)))} |" + f" {badge(path)} |" * colab)
    return table(say(LESSON_HEAD) + " |" * colab, rows)


def deeper_table(notebooks, say=str, folder=""):
    rows = []
    for path, english, cells in notebooks:
        asked = " ".join(map(question, sections(cells))).replace("|", r"\|")
        spent = sum(map(section_minutes, sections(english)))
        rows.append(f"| [{title(cells)}]({folder}deeper/{path.name}) | {asked} | {spent} |")
    return table(say(DEEPER_HEAD), rows)


def table(head, rows):
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


def renewed(path, content):
    """An English notebook's cells with what is written here as it should be."""
    cells = cells_of(content)
    wanted = {"title": TITLE} | ({} if nbtext.is_deeper(path) else {"afterwards": ABLE})
    for name, form in wanted.items():
        if not form.match(cell_named(cells, name)["source"]):
            sys.exit(f"{path.name}: the cell `{name}` doesn't begin with {form.pattern[2:]}")
    first = cell_named(cells, "setup")
    own = first["source"].partition("\n\n")[2]
    first["source"] = f"{setup_source()}\n\n{own}".strip()
    return with_counts(path, cells, cells)


# ---- all of it --------------------------------------------------------------------------------

def put(text, name, table):
    """README with a table between the two comments that mark its place."""
    start, end = f"<!-- {name}: make readme writes this table -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        sys.exit(f"README.md: a table's place is not marked by one {start} and one {end}")
    return f"{text[:text.index(start)]}{start}\n{table}\n{text[text.index(end):]}"


def wanted():
    """The files that hold something of the above -> their text as it should be."""
    contents = {path: nbtext.read(path) for path in nbtext.notebooks()}
    cells = {path: renewed(path, content) for path, content in contents.items()}
    made = tables([(path, each, each) for path, each in cells.items()])
    cell_named(cells[nbtext.lessons()[0]], "map")["source"] = made["map"]
    page = read(ROOT / "README.md")
    for name in ("notebooks", "deeper"):
        page = put(page, name, made[name])
    return {path: dumps(content | {"cells": cells[path]}) for path, content in contents.items()
            } | {ROOT / "README.md": page}


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
