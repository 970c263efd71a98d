"""What there is to translate: the words of lessons, pieces, messages, drawings, pages and plans.

A lesson's cell is a text of its own; code has texts in calls, which Babel finds, in what an
exercise says, and in the arguments of figures and tables.
"""
import ast
import io
import itertools
import json
import re
import tokenize
import tomllib
from functools import cache
from pathlib import Path

from babel.messages.extract import extract

from tools import ROOT
from tools.notebooks.catalogue import FOLDER, load
from tools.notebooks.nbtext import cells_of, is_deeper, notebooks, place
from tools.notebooks.readme import MADE, NOT_SET_UP, TABLES, WRITTEN, read, uncounted

from d2l_ext.costs import FORMULAS, LINEAR_FORMULAS, STATES
from attention_lessons.laboratory import MAKERS, RECALLERS, TRIALS, results

NOTEBOOKS = notebooks()
PACKAGE = ROOT / "attention_lessons"
TEACHING = ROOT / "teaching"
GUIDES = TEACHING / "README.md", TEACHING / "homework.md"
# What a notebook in another language, and README in it, say of cells that lag behind.
BEHIND = "*Cells of this notebook that are not translated yet, and are shown in English: {0}.*"
ALL_BEHIND = "Cells that are not translated yet, and are shown in English: {0}."
EXTRACTORS = {".py": "python", ".js": "javascript", ".j2": "jinja2.ext:babel_extract"}
CALLS = {"_": None, "t": None, "plural": (2, 3)}  # which arguments are texts; None: the first
SHOWS = {"heatmaps", "curves", "bars", "table", "progress_bar", "print"}
WORD = re.compile(r"[A-Za-z][a-z]")
SENTENCE = re.compile(r"[A-Z][a-z]* [a-z0-9('{]")
OPENS = re.compile(r"\blab\b|make lecture|^```\nnotebooks/")  # the last lists the folders
# What the table of runs says in words: its first column but for the command, and results.
RESULTS = " passed", " failed", "not yet"
RUNS = re.compile(r"(?m)(?<=^\| )[^-|][^|]*?(?=`make| \|)|result(?= \|)|not yet"
                  r"|(?<=\d) (?:passed|failed)")
CELL_TITLE = re.compile(r"^# @title (.+)")
SHAPE = re.compile(r"\((?:(?!\w \w)[^()])*,(?:(?!\w \w)[^()])*\)")  # (n, d_v), no words in a row


def cells(path):
    """The cells of a notebook, with their text in one piece."""
    return cells_of(json.loads(read(path)))


def key(path, cell):
    """A cell's context, and what a translator sees of it: its text, without what `make readme`
    writes into it."""
    text = cell["source"].partition(MADE)[0]
    return f"{place(path)}/{cell['id']}", uncounted(text) if is_deeper(path) else text


def translates(cell):
    """Whether a translator sees a cell: not those that `make readme` writes."""
    return cell["cell_type"] == "markdown" and cell["id"] not in TABLES


def strings(tree):
    """The texts that stand in code, {0}, {1} ... for what an f-string puts in: node -> text."""
    found, inside = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(ast.walk(node))
            places = iter(range(100))
            found[node] = "".join(part.value if isinstance(part, ast.Constant)
                                  else f"{{{next(places)}}}" for part in node.values)
            for part in ast.walk(node):  # words within what is put in
                if isinstance(part, ast.FormattedValue):
                    found |= strings(ast.Expression(part.value))
        elif node not in inside and isinstance(getattr(node, "value", 0), str):
            found[node] = node.value
    return found


def texts_in_calls(path):
    """The texts that a file gives to ``t``, ``plural`` and ``_``. Babel's extractor for JavaScript
    sees no call within the arguments of another.
    """
    with path.open("rb") as file:
        for _, found, *_ in extract(EXTRACTORS[path.suffix], file, CALLS):
            yield from [found] if isinstance(found, str) else found


def said_by(path):
    """The texts of a module that somebody reads; an exercise catches what it raises."""
    yield from texts_in_calls(path)
    tree = ast.parse(read(path))
    documents = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (text for node, text in strings(tree).items()
                if node not in documents and SENTENCE.match(text))


def parsed(cell):
    """The tree of a lesson's code cell; an empty one for the set-up and for commands."""
    try:
        setup = "setup" in cell["metadata"].get("tags", [])
        return ast.parse("" if setup else re.sub(r"^%%.*", "", cell["source"]))
    except SyntaxError:
        return ast.parse("")


def labels(tree, own=frozenset()):
    """The texts of code that may be shown, node -> text: not the arguments of other calls than
    figures and tables, and not what is looked up in something that the lesson didn't write
    (``own``: the keys that it did)."""
    parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node, text in strings(tree).items():
        place = parent[node]
        if isinstance(place, ast.Call):
            shown = getattr(place.func, "id", "") in SHOWS
        elif isinstance(place, ast.Subscript) or (
                getattr(parent.get(place), "iter", None) is place):  # names to go through
            shown = text in own
        else:
            named = getattr(place, "arg", "") == "name"
            shown = not named and not isinstance(place, (ast.Attribute, ast.Compare))
        if shown and WORD.search(re.sub(r"\{\d\}", "", text)) and text not in names():
            yield node, text


def documents(tree):
    """The docstrings of a lesson's code, nodes: the exercises' are what a reader has to do."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].value


def tokens(cell):
    return tokenize.generate_tokens(io.StringIO(cell["source"]).readline)


def comments(cell):
    """The comments of a lesson's code that say something, tokens: not those of the set-up, titles,
    and shapes such as ``(n, d_v)``."""
    if "setup" in cell["metadata"].get("tags", []) or cell["cell_type"] != "code":
        return []
    return [token for token in tokens(cell) if token.type == tokenize.COMMENT
            and WORD.search(SHAPE.sub("", token.string)) and not CELL_TITLE.match(token.string)]


@cache
def keys_of(path):
    """The keys of the dictionaries that a lesson writes."""
    trees = [parsed(cell) for cell in cells(path) if cell["cell_type"] == "code"]
    keys = []
    for node in itertools.chain(*map(ast.walk, trees)):
        if isinstance(node, ast.Dict):
            keys += filter(None, node.keys)  # none before **
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys.append(node.slice)
    return {strings(ast.Expression(key)).get(key) for key in keys}


def drawn_by(path):
    """The texts of a lesson's code that are translated: those of figures, tables and prints, those
    that a catalogue has already, docstrings, comments, and titles of cells."""
    known, own = called().get(path.name[:2], ()), keys_of(path)
    for cell in cells(path):
        if cell["cell_type"] == "code":
            tree = parsed(cell)
            drawn = {part for node in ast.walk(tree) if isinstance(node, ast.Call)
                     and getattr(node.func, "id", "") in SHOWS for part in ast.walk(node)}
            drawn.update(documents(tree))
            yield from (token.string for token in comments(cell))
            yield from (text for node, text in labels(tree, own)
                        if text in known or node in drawn)
            yield from CELL_TITLE.findall(cell["source"])


@cache
def called():
    """Room -> the texts of code that its catalogues have."""
    found = {}
    for folder in filter(Path.is_dir, FOLDER.iterdir()):
        for room, entries in load(folder.name).items():
            found.setdefault(room, set()).update(
                entry.text for entry in entries if entry.context == "code")
    return found


@cache
def names():
    """What the packages call layers, tasks, encodings and stored results, which lessons show as
    they are called."""
    encodings = (encoding for trial in TRIALS.values() for encoding in trial.encodings)
    stored = results("10")["rows"]
    sinks = next(row["exact with"] for row in stored if "exact with" in row)
    stretches = (row["stretch"] for row in stored if " " in row.get("stretch", ""))
    return dict.fromkeys([*FORMULAS, *LINEAR_FORMULAS, *STATES, *MAKERS, *RECALLERS, *TRIALS,
                          *encodings, *sinks, *stretches])


def said_by_drawing(path):
    """The words of pictures that are drawn."""
    yield from texts_in_calls(path)
    tree = ast.parse(read(path))
    left_out = {part for node in ast.walk(tree) if isinstance(node, (ast.Expr, ast.Raise))
                for part in ([node.value] if isinstance(node, ast.Expr) else ast.walk(node))}
    for node, text in strings(tree).items():
        if node not in left_out and WORD.search(text) and not re.fullmatch(
                r"#\w+|rect|start|middle|end|__\w+__|\d\d_\w+|.*\.(svg|json)", text):
            yield text


def entries_of(path):
    return tomllib.loads(read(path)).values()


def said_by_slips(slips):
    """The words of mistakes; a name stands for those of another file, an exhibit has none."""
    return [slip[-1] for slip in slips if isinstance(slip, list) and slip[-1]]


def said_by_exercises(path):
    for entry in entries_of(path):
        careful = (entry[name] for name in ("careful", "careless") if name in entry)
        yield from (entry["praise"], *entry["hints"], *entry.get("reasons", {}).values())
        yield from (words for _, *known in entry.get("lines", ()) for _, words in known)
        yield from said_by_slips([*entry.get("slips", ()), *careful])
        yield from filter(None, [entry.get("sizes")])


# Everything but cells and README: the files, their texts' context, and what finds these.
SOURCES = [
    ("attention_lessons/lesson_*/exercises.toml", "", said_by_exercises),
    ("attention_lessons/exercises/heads.toml", "",
     lambda path: itertools.chain(*map(said_by_slips, entries_of(path)))),
    ("attention_lessons/lesson_*/alt.toml", "",
     lambda path: (entry["text"] if isinstance(entry, dict) else entry
                   for entry in entries_of(path))),
    ("attention_lessons/lesson_*/*.py", "", said_by),
    ("attention_lessons/exercises/*.py", "", said_by),
    ("attention_lessons/pieces/*.py", "", texts_in_calls),
    ("attention_lessons/pieces/*.js", "", texts_in_calls),
    ("notebooks/*.ipynb", "code", drawn_by),
    ("notebooks/deeper/*.ipynb", "code", drawn_by),
    ("attention_lessons/laboratory", "name", lambda path: filter(WORD.search, names())),
    ("attention_lessons/*.py", "", texts_in_calls),
    ("attention_lessons/laboratory/*.py", "", texts_in_calls),
    *((f"tools/publish/{name}", "page", texts_in_calls)
      for name in ("pages.py", "slides.py", "site.py", "*.j2")),
    ("tools/classroom/editions.py", "page", texts_in_calls),
    ("tools/draw/words.toml", "drawing",
     lambda path: itertools.chain(*(words.values() for words in entries_of(path)))),
    ("tools/draw/draw.py", "drawing", said_by_drawing),
    ("tools/draw/pieces_in_node.py", "drawing", texts_in_calls)]


def blocks(text):
    """README in pieces: (what it is, text), where what is code, a generated table, or words."""
    pattern = r"(?ms)^```.*?^```$|^<!-- (\w+): .*?<!-- /\1 -->|^\[.*\]\(README\.\w+\.md\)$"
    at = 0
    for found in re.finditer(pattern, text):
        yield from (("words", part) for part in text[at:found.start()].split("\n\n"))
        yield found[1] or "code", found[0]
        at = found.end()
    yield from (("words", part) for part in text[at:].split("\n\n"))


def paragraphs(path):
    """The words of a page in Markdown, those of its table of runs, its list of folders, and its
    commands that open a lesson: they name the language.
    """
    found = []
    for kind, text in blocks(read(path)):
        if kind == "versions":
            found += [*RUNS.findall(text), *RESULTS]
        elif kind == "words" or kind == "code" and OPENS.search(text):
            found += [words] if (words := text.strip("\n")) and words[:4] != "    " else []
    return found


def taught():
    """What teachers read: of each lesson's plan, of the routes, and of the guide."""
    yield from texts_in_calls(ROOT / "tools/classroom/teacher_pages.py")
    for route in tomllib.loads(read(TEACHING / "routes.toml"))["route"]:
        yield from (route["name"], *(meeting["name"] for meeting in route["meeting"]))
    for path in sorted(TEACHING.glob("??.toml")):
        plan = tomllib.loads(read(path))
        yield from (plan["board"], plan["leave_out"], *itertools.chain(*plan["ask"].values()),
                    *(each["thinks"] for each in plan["expect"]))
    for path in GUIDES:
        yield from paragraphs(path)


def room_of(path):
    """The catalogue that a file's texts stand in."""
    if lesson := re.search(r"lesson_(\d\d)|notebooks/(?:deeper/)?(\d\d)", path.as_posix()):
        return lesson[1] or lesson[2]
    return ("pieces" if path.parent.name == "pieces"
            else "package" if PACKAGE in path.parents else "pages")


def everything():
    """Room -> what there is to translate in it: (context, English text)."""
    found = {}
    for path in NOTEBOOKS:
        here = found.setdefault(path.name[:2], {})
        here |= {key(path, cell): 0 for cell in cells(path) if translates(cell)}
    found["pages"] = {("README", text): 0 for text in paragraphs(ROOT / "README.md")}
    found["pages"] |= {("page", text): 0 for text in (*WRITTEN, *NOT_SET_UP, BEHIND, ALL_BEHIND)}
    found["teaching"] = {("teaching", text): 0 for text in taught()}
    for pattern, context, say in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            found.setdefault(room_of(path), {}).update({(context, text): 0 for text in say(path)})
    more = "{0} or {1}", "{0} {1}"  # what no rule finds
    found["package"] |= {("", word): 0 for word in more}
    return {room: [*texts] for room, texts in found.items()}
