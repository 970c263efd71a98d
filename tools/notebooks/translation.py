"""Keep the other languages' lessons with the English ones: `make translation`.

    python -m tools.notebooks.translation           bring catalogues, words and notebooks up to date
    python -m tools.notebooks.translation --check   change nothing, name what is stale, end with 1

`translations/zh` holds a catalogue a room: `02.po` for lesson 02 with its exercises, `pieces.po`,
`package.po`, and `pages.po` for README, website and drawings. The English text is the key; of a
lesson's cell, the cell (`02/title`) is the context. A text whose English has changed keeps its
twin, marked fuzzy until someone has looked at it. From the catalogues come `zh.json`, which the
package looks up, the characters that figures need (`zh.otf`), and `notebooks/zh`: the code cells
are copies, but for a line of the set-up, which chooses the language, and the labels of figures and
tables (the texts with the context `code`; where a text should be one, but stands elsewhere than in
a figure's arguments, add it to the lesson's catalogue by hand).
`make notebooks ARGS=zh` stores their outputs.
"""
import ast
import difflib
import itertools
import json
import re
import sys
import tomllib
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

from babel.messages.extract import extract
from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

from tools import ROOT, address, setup
from tools.notebooks.catalogue import FOLDER, committed, load, merged, po
from tools.notebooks.nbtext import KERNEL, dumps
from tools.notebooks.readme import TITLE, lesson_table, read, renew

from d2l_ext.sequence import FORMULAS, LINEAR_FORMULAS, STATES
from attention_lessons.laboratory import MAKERS, RECALLERS, TRIALS, results
from attention_lessons.pieces.base import PLURAL
from attention_lessons.pieces.base import texts as texts_of_script
from attention_lessons.languages import PLACE

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CORE, PACKAGE = ROOT / "d2l_ext", ROOT / "attention_lessons"
TEMPLATES = [*map(ROOT.joinpath, ("tools/publish/pages.py", "tools/publish/slides.py",
                                  "tools/publish/site.py")),
             *sorted((ROOT / "tools/publish").glob("*.j2"))]
NOTO = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")  # Debian's
TEACHING = ROOT / "teaching"
GUIDES = TEACHING / "README.md", TEACHING / "homework.md"
SET_UP = 'spoken = __import__("attention_lessons").language("{}")'
DRAWS = {"heatmaps", "curves", "bars", "table", "progress_bar"}
MAP_HEAD = "| lesson | afterwards you can | minutes: core / all |"
MINUTES = re.compile(r"\d+(?= core, )|(?<= core, )\d+(?= with everything)")
WORD = re.compile(r"[A-Za-z][a-z]")
CELL_TITLE = re.compile(r"^# @title (.+)")


# ---- what there is to translate ------------------------------------------------------------------

def cells(path):
    """The cells of a notebook, with their text in one piece."""
    return [{**cell, "source": "".join(cell["source"])} for cell in json.loads(read(path))["cells"]]


def key(cell):
    """What a translator sees of a cell: its text, without counted minutes and addresses."""
    text = cell["source"]
    if cell["id"] == "title":
        places = iter(["{core}", "{all}"])
        text = MINUTES.sub(lambda _: next(places), text)
        text = re.sub(r"\n*\[(!\[)?Open in Colab\].*", "", text)
    return text


def translates(cell):
    return cell["cell_type"] == "markdown" and cell["id"] != "map"


def strings(tree):
    """The texts that stand in code, {0}, {1} ... for what an f-string puts in: node -> text."""
    found, inside = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(map(id, ast.walk(node)))
            places = iter(range(100))
            found[node] = "".join(part.value if isinstance(part, ast.Constant)
                                  else f"{{{next(places)}}}" for part in node.values)
            for part in ast.walk(node):  # words within what is put in
                if isinstance(part, ast.FormattedValue):
                    found |= strings(ast.Expression(part.value))
        elif (isinstance(node, ast.Constant) and isinstance(node.value, str)
              and id(node) not in inside):
            found[node] = node.value
    return found


def docstrings(tree):
    defined = (ast.Module, ast.FunctionDef, ast.ClassDef)
    return {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, defined) and node.body and isinstance(node.body[0], ast.Expr)}


def raised(tree):
    """What stands in errors: they stay English, as Python's own do."""
    return {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise)
            for part in ast.walk(node)}


def replaced(tree):
    """The code in Slip(old, new, ..., words)."""
    return {id(part) for call in ast.walk(tree) if isinstance(call, ast.Call)
            and getattr(call.func, "id", "") == "Slip"
            for argument in call.args[:-1] for part in ast.walk(argument)}


def marked(tree):
    """The texts of t("...")."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "t":
            yield from strings(ast.Expression(call.args[0])).values()


def said_by(path):
    """The texts of a module that somebody reads; an exercise catches what it raises."""
    tree = ast.parse(read(path))
    yield from marked(tree)
    for word in re.findall(PLURAL, read(path)):
        yield from (f"{{0}} {word}", f"{{0}} {word}s")
    if path.parent.name == "pieces":
        return
    catches = path.parent.name.startswith(("exercises", "lesson_"))
    left_out = docstrings(tree) | replaced(tree) | (set() if catches else raised(tree))
    for node, text in strings(tree).items():
        if id(node) not in left_out and is_prose(text):
            yield text


CODE = re.compile(r"self\.|torch\.\w+\([^)]*$|\w\(.*\)\.\w|\(\?|</?\w|^[\w.]+ [-+*/=@]+ |\w\[|\\\w"
                  r"|^\s*(def|class|import|from|for|return|if|text/)\b|^[a-z,]+->[a-z]+$")


def is_prose(text):
    """Whether a text is words, not code, a pattern or a name."""
    words = re.findall(r"(?<![\w'\"`.=(])[A-Za-z][a-z']*(?![\w=(\[])", text)
    sentence = text.rstrip().endswith((".", "?")) and " " in text
    several = len(words) > 1 or PLACE.search(text) and max(map(len, words), default=0) > 2
    return bool(several) and (sentence or not CODE.search(text) and not parses(text))


def parses(text):
    try:
        ast.parse(re.sub(r"\{\d\}", "x", text).strip())
    except SyntaxError:
        return False
    return True


def parsed(cell):
    """The tree of a lesson's code cell; an empty one for the set-up and for commands."""
    try:
        setup = "setup" in cell["metadata"].get("tags", [])
        return ast.parse("" if setup else re.sub(r"^%%.*", "", cell["source"]))
    except SyntaxError:
        return ast.parse("")


def labels(tree, own=frozenset()):
    """The texts of code that may be shown, node -> text: in lists, dictionaries, arguments of
    figures and tables; not what is looked up in something that the lesson didn't write (``own``:
    the keys that it did)."""
    parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node, text in strings(tree).items():
        above = parent[node]
        call = parent.get(above) if isinstance(above, ast.keyword) else above
        called = getattr(getattr(call, "func", None), "id", "")
        if isinstance(above, ast.keyword):
            shown = above.arg.endswith(("label", "title", "titles", "default"))
        elif isinstance(above, ast.Subscript):
            shown = isinstance(above.ctx, ast.Store) or text in own
        elif getattr(parent.get(above), "iter", 0) is above:  # names to go through
            shown = text in own
        elif isinstance(above, ast.Call):
            shown = called in DRAWS | {"print"}
        else:
            shown = isinstance(above, (ast.List, ast.Tuple, ast.Dict, ast.IfExp, ast.BoolOp,
                                       ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Return))
        if shown and WORD.search(re.sub(r"\{\d\}", "", text)) and text not in names():
            yield node, text


def keys_of(path):
    """The keys of the dictionaries that a lesson writes."""
    for cell in cells(path):
        tree = parsed(cell) if cell["cell_type"] == "code" else ast.parse("")
        found = strings(tree)
        for node in ast.walk(tree):
            keys = (node.keys if isinstance(node, ast.Dict) else
                    [node.slice] if isinstance(node, ast.Subscript)
                    and isinstance(node.ctx, ast.Store) else [])
            yield from (found[key] for key in keys if key in found)


def drawn_by(path):
    """The texts of a lesson's code that are translated: those of figures and tables, those that a
    catalogue has already, and titles of cells."""
    known, own = called().get(path.name[:2], ()), frozenset(keys_of(path))
    for cell in cells(path):
        if cell["cell_type"] == "code":
            tree = parsed(cell)
            drawn = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Call)
                     and getattr(node.func, "id", "") in DRAWS for part in ast.walk(node)}
            yield from (text for node, text in labels(tree, own)
                        if text in known or id(node) in drawn)
            if cell["id"] != "setup":  # other tools look for its text
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
    stored = results("09")["rows"]
    sinks = next(row["exact with"] for row in stored if "exact with" in row)
    stretches = (row["stretch"] for row in stored if " " in row.get("stretch", ""))
    return dict.fromkeys([*FORMULAS, *LINEAR_FORMULAS, *STATES, *MAKERS, *RECALLERS, *TRIALS,
                          *encodings, *sinks, *stretches])


def said_by_script(path):
    return texts_of_script(read(path))


def said_by_template(path):
    """The texts of a page's frame: _("...") in Python or in a template."""
    method = "python" if path.suffix == ".py" else "jinja2.ext:babel_extract"
    with path.open("rb") as file:
        return [text for _, text, *_ in extract(method, file)]


def said_by_drawing(path):
    """The words of words.toml, and those that are drawn."""
    if path.suffix == ".toml":
        for words in tomllib.loads(read(path)).values():
            yield from words.values()
        return
    tree = ast.parse(read(path))
    yield from marked(tree)
    left_out = docstrings(tree) | raised(tree)
    for node, text in strings(tree).items():
        if id(node) not in left_out and WORD.search(text) and not re.fullmatch(
                r"#\w+|rect|start|middle|end|__\w+__|\d\d_\w+|.*\.(svg|json)", text):
            yield text


def words():
    """Everything but cells and README, in order: (file, context, text)."""
    sources = [
        *((path, "", said_by) for folder in ("lesson_*", "exercises", "pieces")
          for path in sorted(PACKAGE.glob(f"{folder}/*.py"))),
        *((path, "", said_by_script) for path in sorted((PACKAGE / "pieces").glob("*.js"))),
        *((path, "code", drawn_by) for path in LESSONS),
        (PACKAGE / "laboratory", "name", lambda path: filter(WORD.search, names())),
        *((path, "", lambda path: marked(ast.parse(read(path))))
          for path in (PACKAGE / "plotting.py", *sorted((PACKAGE / "laboratory").glob("*.py")))),
        *((path, "page", said_by_template) for path in TEMPLATES),
        *((path, "drawing", said_by_drawing)
          for path in (ROOT / "tools/draw/words.toml", ROOT / "tools/draw/draw.py")),
        (ROOT / "tools/draw/_stills.py", "drawing", lambda path: marked(ast.parse(read(path))))]
    for path in sorted(PACKAGE.glob("lesson_*/alt.toml")):
        for entry in tomllib.loads(read(path)).values():
            yield path, "", entry["text"] if isinstance(entry, dict) else entry
    for path, context, say in sources:
        yield from ((path, context, text) for text in say(path))


def paragraphs(path):
    """The words of a page in Markdown."""
    return [words for kind, text in blocks(read(path)) if kind == "words"
            and (words := text.strip("\n")) and not words.startswith("    ")]


def taught():
    """What teachers read: of each lesson's plan, of the routes, and of the guide."""
    yield from marked(ast.parse(read(ROOT / "tools/classroom/guide.py")))
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
    if lesson := re.search(r"lesson_(\d\d)|notebooks/(\d\d)", path.as_posix()):
        return lesson[1] or lesson[2]
    package = PACKAGE in path.parents or CORE in path.parents
    return "pieces" if path.parent.name == "pieces" else "package" if package else "pages"


def everything():
    """Room -> what there is to translate in it: (context, English text)."""
    found = {}
    for path in LESSONS:
        here = found.setdefault(path.name[:2], {})
        here |= {(f"{path.name[:2]}/{cell['id']}", key(cell)): 0
                 for cell in cells(path) if translates(cell)}
    found["00"] |= {("00/map", MAP_HEAD): 0}
    found["pages"] = {("README", text): 0 for text in paragraphs(ROOT / "README.md")}
    found["teaching"] = {("teaching", text): 0 for text in taught()}
    for path, context, text in words():
        found.setdefault(room_of(path), {})[context, text] = 0
    more = "{0} or {1}", "{0} {1}"  # what no rule finds
    found["package"] |= {("", word): 0 for word in more}
    return {room: [*texts] for room, texts in found.items()}


# ---- the catalogue -------------------------------------------------------------------------------

def faults(catalogue, wanted, language="zh"):
    """What keeps the catalogue from being the lessons' in its language, a line each."""
    glossary, elsewhere = terms(language)
    spoken = {}
    for room, keys in wanted.items():
        have = {entry.key: entry for entry in catalogue.get(room, [])}
        yield from (f"{room}: surplus: {name(key)}" for key in have.keys() - {*keys})
        for key in keys:
            entry, where = have.get(key), f"{room}: {name(key)}"
            if entry is None or not entry.twin:
                yield f"{room}: missing: {name(key)}"
            elif entry.fuzzy:
                yield f"{room}: fuzzy: {name(key)}"
            else:
                yield from (f"{where}: {fault}" for fault in differences(entry.text, entry.twin))
                unknown = strangers(entry, language)
                said = {term for term, places in elsewhere.items() if entry.context in places}
                yield from (f"{where}: {term} is {glossary[term]}" for term in unknown - said)
                yield from (f"{where}: has {term}, glossary says not" for term in said - unknown)
                if not entry.context and spoken.setdefault(entry.text, entry.twin) != entry.twin:
                    yield f"{where}: said otherwise in another room"


def name(key):
    context, text = key
    return context if "/" in context else repr(text)


# What a translation keeps, in any order: each rule finds it in a text.
KEEPS = {
    "code": r"```.*?```|`[^`\n]*`",
    "a formula": r"\$\$.*?\$\$|\$[^$\n]*\$",
    "a link": r"\]\([^)\s]*\)|https?://[\w./?=&%#-]+",
    "a tag": r"</?[a-z]+[^>]*>",
    "a number": r"(?<![A-Za-z_\d.])\.?\d(?:[\d,.]*\d)?",
    "an item of a list": r"(?m)^ *(?:[-*]|\d+\.) ",
    "a row of a table": r"(?m)^\|",
    "a heading": r"(?m)^#+ ",
    "a place": r"\{(?:\d|core|all)\}",
}
BESIDE = r"[A-Za-z0-9`$]"
UNTIDY = {  # in Chinese text, but for code and formulas
    "a half-width sign after a character": r"[\u4e00-\u9fff][,;:?!]|[\u4e00-\u9fff]\.(?!\w)",
    "a space beside a character":
        rf"[\u4e00-\u9fff，。：；？！（）、] {BESIDE}|{BESIDE} [\u4e00-\u9fff（]",
    # CommonMark: no sign before a closing ** that a character follows, none after an opening one
    "bold that does not close": r"(?m)^(?:[^*\n]*\*\*[^*\n]+\*\*)*?[^*\n]*\*\*[^*\n]+"
                                r"[，。：；？！）”]\*\*(?=[\w\u4e00-\u9fff])",
    "bold that does not open": r"(?m)^(?:[^*\n]*\*\*[^*\n]+\*\*)*?[^*\n]*[\w\u4e00-\u9fff]\*\*"
                               r"[（“《]",
}


def kept(text):
    """What stands in a text that its translation must have as well: kind -> how often each."""
    found, text = {}, re.sub(r'alt="[^"]*"', 'alt=""', text)  # words, which are translated
    for kind, rule in KEEPS.items():
        found[kind] = Counter(re.findall(rule, text, re.S))
        if kind in ("code", "a formula", "a link", "a tag"):
            text = re.sub(rule, lambda part: "\x00" * part[0].startswith("`"), text, flags=re.S)
    return found


@cache
def differences(text, twin):
    """What a translation lost or added, and what is untidy in it."""
    ours, theirs, faults = kept(text), kept(twin), []
    for kind in KEEPS:
        if ours[kind] != theirs[kind]:
            lost, added = [*(ours[kind] - theirs[kind])], [*(theirs[kind] - ours[kind])]
            faults.append(f"{kind}: lacks {lost}, has {added}")
    bare = re.sub(r"```.*?```|\$\$.*?\$\$|^# \d\d ", "", twin, flags=re.S)
    return faults + [f"{fault}: {found!r}" for fault, rule in UNTIDY.items()
                     for found in re.findall(rule, bare)]


BARE = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|\[[^\]]*\]\([^)]*\)"


@cache
def terms(language):
    """The glossary: term -> its translation; and term -> cells that say something else."""
    found = tomllib.loads(read(FOLDER / language / "glossary.toml"))
    return found["terms"], found["elsewhere"]


@cache
def terms_in(text, language):
    """The terms of the glossary that a text has outside code, formulas and links."""
    text = re.sub(BARE, " ", text, flags=re.S).lower()
    return {term for term in terms(language)[0]
            if term in text and re.search(rf"\b{re.escape(term)}(s|es)?\b", text)}


def strangers(entry, language):
    """The terms of a cell that its translation has not."""
    if "/" not in entry.context or re.search("/(references|further-reading|claims|map)$",
                                             entry.context):
        return set()
    glossary, _ = terms(language)
    return {term for term in terms_in(entry.text, language) if glossary[term] not in entry.twin}


def side_by_side(catalogue, before):
    """Every fuzzy text: what has changed in English since ``before``, and its translation."""
    texts = {entry.twin: entry.text for entry in sum(before.values(), [])}
    for entry in sum(catalogue.values(), []):
        if entry.fuzzy:
            was = texts.get(entry.twin, "").splitlines()
            lines = difflib.ndiff(was, entry.text.splitlines())
            yield "\n".join([f"== {name(entry.key)}", *lines, "-- so far:", entry.twin])


NUMERAL = "[〇零一二两三四五六七八九十百千万半]+"
DENIAL = "[不没无未非别]"


def meaning(text, language):
    """What a reversed or thinned sentence would lose: denials, numerals in words, terms."""
    found = Counter(re.findall(f"{DENIAL}|{NUMERAL}", text))
    return found + Counter({term: text.count(term) for term in terms(language)[0].values()})


def drift(before, now, language="zh"):
    """The twins whose denials, numerals or terms changed while their English stayed."""
    for room, entries in now.items():
        old = {entry.key: entry.twin for entry in before.get(room, [])}
        for entry in entries:
            was, said = (meaning(twin, language) for twin in (old.get(entry.key, ""), entry.twin))
            if entry.key in old and old[entry.key] and was != said:
                lost, added = sorted((was - said).elements()), sorted((said - was).elements())
                yield f"look again: {room}: {name(entry.key)}: lost {lost}, has {added}"


def spoken(catalogue):
    """What is looked up when a message is spoken, an entry a line."""
    found = sorted(sum(catalogue.values(), []), key=lambda entry: entry.context, reverse=True)
    words = {"name: " * (entry.context == "name") + entry.text: entry.twin for entry in found
             if "/" not in entry.context and entry.context not in ("README", "code", "teaching")
             and entry.twin and not entry.fuzzy}
    return json.dumps(words, ensure_ascii=False, sort_keys=True, indent=0) + "\n"


# ---- the font ----

def characters(catalogue):
    """What figures need beyond matplotlib's own font."""
    drawn = (entry.twin for entries in catalogue.values() for entry in entries
             if entry.context in ("code", "drawing", "name"))
    return sorted({letter for text in drawn for letter in text if ord(letter) > 0x2e7f})


def lacking(catalogue, font):
    """The characters that figures need and the package's font has not."""
    have = TTFont(font).getBestCmap() if font.exists() else {}
    return [letter for letter in characters(catalogue) if ord(letter) not in have]


def make_font(catalogue, target):
    """Write the part of Noto Sans CJK SC (SIL Open Font License 1.1) that figures need."""
    if not NOTO.exists():
        sys.exit(f"{target.name} lacks characters, and {NOTO} is missing: Debian's fonts-noto-cjk")
    fonts = TTCollection(NOTO).fonts
    font = next(each for each in fonts if each["name"].getDebugName(1) == "Noto Sans CJK SC")
    options = subset.Options(layout_features=[], name_IDs=[0, 1, 2, 13, 14], desubroutinize=True,
                             drop_tables=["GSUB", "GPOS", "VORG", "vhea", "vmtx", "BASE"])
    part = subset.Subsetter(options)
    part.populate(text="".join(characters(catalogue)))
    part.subset(font)
    font["head"].modified = font["head"].created  # the same bytes from the same catalogue
    font.recalcTimestamp = False
    font["name"].setName("Attention Sans SC", 1, 3, 1, 0x409)
    font.save(target)


# ---- notebooks -----------------------------------------------------------------------------------

def relabelled(source, twins, own=frozenset()):
    """The code of a cell with other labels: twins are text -> its translation."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [0, *itertools.accumulate(map(len, lines))]
    made, end = source.encode(), len(source.encode())
    found = [node for node, text in labels(parsed({"source": source, "metadata": {}}), own)
             if twins.get(text, text) != text]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[node.end_lineno - 1] + node.end_col_offset
        if last <= end:  # not within one that was replaced
            end, literal = first, made[first:last].decode()
            text = written(node, literal, twins)
            made = made[:first] + text.encode() + made[last:]
    title = CELL_TITLE.match(source)
    text = made.decode()
    return text.replace(title[1], twins.get(title[1], title[1]), 1) if title else text


def written(node, literal, twins):
    """The Python of a label in the other language."""
    twin = twins[strings(ast.Expression(node))[node]]
    if isinstance(node, ast.Constant):
        return json.dumps(twin, ensure_ascii=False)
    parts = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", literal)
    quote = "'" if '"' in twin + "".join(parts) else '"'
    return f"f{quote}{re.sub(PLACE, lambda place: parts[int(place[1])], twin)}{quote}"


def notebook(path, language, catalogue):
    """A lesson in another language, with the outputs that are stored where its code is the same."""
    own, twins = frozenset(keys_of(path)), {
        entry.text: entry.twin for entry in catalogue.get(path.name[:2], [])
        if entry.context == "code" and entry.twin and not entry.fuzzy}
    target = path.parent / language / path.name
    old = json.loads(read(target)) if target.exists() else {"cells": []}
    before = {cell["id"]: cell for cell in old["cells"]}
    made = []
    for cell in cells(path):
        copied = {**cell, "source": cell["source"].splitlines(keepends=True)}
        if cell["id"] == "map":
            copied["source"] = overview(language, catalogue).splitlines(keepends=True)
        elif translates(cell):
            text = translation(path, cell, language, catalogue)
            copied["source"] = text.splitlines(keepends=True)
            digest = sha256(key(cell).encode()).hexdigest()[:12]
            copied["metadata"] = cell["metadata"] | {"english": digest}
        elif cell["cell_type"] == "code":
            source = cell["source"]
            if cell["id"] != "setup":
                source = relabelled(source, twins, own)
            else:
                start, _, imports = source.partition("\n\n")
                source = f"{start}\n{SET_UP.format(language)}\n\n{imports}".strip()
            kept = before.get(cell["id"], {})
            same = "".join(kept.get("source", "")) == source
            copied |= {"source": source.splitlines(keepends=True),
                       "outputs": kept["outputs"] if same else [],
                       "execution_count": kept["execution_count"] if same else None}
        made.append(copied)
    return {"cells": made, "metadata": KERNEL | {"language": language}, "nbformat": 4,
            "nbformat_minor": 5}


def translation(path, cell, language, catalogue):
    """The cell's text; in English where it has none yet."""
    text = twin(catalogue, path.name[:2], f"{path.name[:2]}/{cell['id']}", key(cell))
    text = re.sub(r"\]\(\.\./", "](../../", text)
    if cell["id"] == "title":
        core, everything = MINUTES.findall(cell["source"])
        text = text.replace("{core}", core).replace("{all}", everything)
        badge = re.search(r"\[(!\[)?Open in Colab\].*", cell["source"])[0]
        text += "\n\n" + badge.replace("/notebooks/", f"/notebooks/{language}/")
    return text


def twin(catalogue, room, context, text):
    """What the text is called in a catalogue; itself where it has no entry."""
    return next((entry.twin for entry in catalogue[room]
                 if entry.key == (context, text) and entry.twin), text)


def overview(language, catalogue, first=1, folder=""):
    """The table of 00 and of README: each lesson, what it is for, its minutes."""
    lessons = []
    for path in LESSONS[first:]:
        title = next(cell for cell in cells(path) if cell["id"] == "title")
        said = TITLE.match(translation(path, title, language, catalogue))
        lessons.append(said.groupdict() | {"file": path.name})
    return lesson_table(lessons, twin(catalogue, "00", "00/map", MAP_HEAD),
                        f"| [{{title}}]({folder}{{file}}) | {{able}} | {{core}} / {{all}} |")


def blocks(text):
    """README in pieces: (what it is, text), where what is code, a generated table, or words."""
    pattern = r"(?ms)^```.*?^```$|^<!-- (\w+): .*?<!-- /\1 -->|^\[.*\]\(README\.\w+\.md\)$"
    at = 0
    for found in re.finditer(pattern, text):
        yield from (("words", part) for part in text[at:found.start()].split("\n\n"))
        yield found[1] or "code", found[0]
        at = found.end()
    yield from (("words", part) for part in text[at:].split("\n\n"))


def document(path, language, catalogue=None):
    """A page in another language: its words from the catalogue, code and tables as they are."""
    guide = path.parent.name == "teaching"
    room, context = ("teaching", "teaching") if guide else ("pages", "README")
    catalogue, made = catalogue or load(language), []
    for kind, text in blocks(read(path)):
        if kind == "notebooks":
            text = overview(language, catalogue, 0, f"notebooks/{language}/")
        if "(README." in text[:20]:
            text = "[English](README.md)"
        words = kind == "words" and text.strip("\n")
        made.append(twin(catalogue, room, context, words) if words else text)
    text = re.sub(r"\n{3,}", "\n\n", "\n\n".join(made)).strip("\n") + "\n"
    for entry in catalogue[room]:
        if entry.text.startswith("## "):  # GitHub's name of a heading
            text = text.replace(f"#{anchor(entry.text)})", f"#{anchor(entry.twin)})")
    return text.replace("](../notebooks/", f"](../../notebooks/{language}/")


def anchor(heading):
    return heading.removeprefix("## ").lower().replace(" ", "-")


def readme(language, catalogue):
    """README in another language, with the addresses of what is in that language."""
    text = document(ROOT / "README.md", language, catalogue)
    text = re.sub(r'(\(|src=")(images|notebooks|teaching)/(?!zh/)', rf"\1\2/{language}/", text)
    site = address.forms(setup.address())[1]
    if site.endswith("/"):  # not a list of releases
        text = text.replace(f"({site})", f"({site}{language}/)")
    return text


def wanted_files(language, catalogue):
    """What is made from a catalogue: path -> text. (The font is made where characters lack.)"""
    files = {PACKAGE / "languages" / f"{language}.json": spoken(catalogue)}
    files[ROOT / f"README.{language}.md"] = readme(language, catalogue)
    for path in LESSONS:
        files[path.parent / language / path.name] = dumps(notebook(path, language, catalogue))
    return files


def main(arguments):
    check, wrong, stale = arguments == ["--check"], [], 0
    wanted = everything()
    for language in sorted(path.name for path in FOLDER.iterdir() if path.is_dir()):
        catalogue = load(language)
        if not check:
            catalogue, before = merged(catalogue, wanted), committed(language)
            print(*side_by_side(catalogue, before), sep="\n\n")
            print(*drift(before, catalogue, language), sep="\n")
            for room, entries in catalogue.items():
                (FOLDER / language / f"{room}.po").write_bytes(po(entries, language))
        wrong += [f"{language}: {fault}" for fault in faults(catalogue, wanted, language)]
        font = PACKAGE / "languages" / f"{language}.otf"
        if missing := "".join(lacking(catalogue, font)):
            if check:
                wrong.append(f"{language}: {font.name} lacks {missing}")
            else:
                make_font(catalogue, font)
        stale |= renew(wanted_files(language, catalogue), ROOT, check)
    print(*wrong, sep="\n")
    return stale or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
