"""The rules that notebooks keep: functions from a notebook to complaints, each naming file, cell and what to do.

A rule yields pairs (cell id, what to do). `@rule()` holds for every notebook, `@rule(1)` from lesson 01 on, `@rule(1, 6)` for 01 to 06.
Rules about all notebooks together (`@across`) yield (notebook, cell id, what to do). Rules about stored outputs look at what
`make notebooks` made, so their advice is often to run that.
"""
import ast
import csv
import functools
import json
import pathlib
import re
import tomllib
from dataclasses import dataclass

import address
import nbtext
import readme

import d2l_ext
from d2l_ext.exercises import all_exercises, from_scratch

ROOT = pathlib.Path(__file__).resolve().parents[2]

NAMES = ("00_start_here", "01_attention_pooling", "02_multi_head_attention", "03_self_attention",
         "04_positional_encoding", "05_relative_positions", "06_cnn_rnn_self_attention",
         "07_what_heads_learn", "08_coming_from_d2l")
CLASS = 45  # minutes, and as many words as are read in a third of them
WORDS = 2000
FROM_SCRATCH = (2, 3, 4, 5, 7)  # lessons that end with a class to write from an empty cell
SINGLE = ("setup", "imports", "recall", "sentence", "claims", "exit", "references", "next")  # cells whose id is also their tag
EXEMPT = {"nbval-ignore-output", "nbval-skip", "nbval-raises-exception"}
TAGS = {"core", "deeper", "picture", "predict", "explorer", "exercise", "solution", "question", "timing", "raises-exception",
        "one-screen", "homework", *SINGLE, *EXEMPT}
KINDS = ("Predict", "Build", "Break", "Explain", "Transfer")
FIRST = ("title", "setup", "imports", "one-screen", "one-screen-code", "one-screen-proof", "recall")
LAST = ("homework", "question-1", "question-2", "question-3", "claims", "exit", "references", "next")
SENTENCE = {"tokens": ["dog", "bites", "man"], "features": ["animal", "person", "action", "height"],
            "X": [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 3]]}
WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass
class Cell:
    id: str
    kind: str
    text: str
    metadata: dict
    count: int | None
    outputs: list

    @property
    def tags(self) -> set:
        return set(self.metadata.get("tags", []))

    @property
    def statements(self) -> list:
        """The code as syntax trees; none where it isn't Python, which `plain_python` reports."""
        try:
            return ast.parse(self.text).body
        except SyntaxError:
            return []

    @property
    def output_texts(self) -> list:
        """All text in the outputs, without inlined pictures."""
        texts = ["".join(text) for output in self.outputs for mime, text in [("stream", output.get("text", "")), *output.get("data", {}).items()]
                 if not mime.startswith("image/png") and isinstance(text, (str, list))]
        texts += ["\n".join(output["traceback"]) for output in self.outputs if "traceback" in output]
        return [re.sub(r"base64,[\w+/=]*", "", text) for text in texts]


@dataclass
class Notebook:
    name: str
    cells: list
    metadata: dict

    number = property(lambda self: int(self.name[:2]) if self.name[:2].isdigit() else -1)
    code = property(lambda self: [cell for cell in self.cells if cell.kind == "code"])
    words = property(lambda self: [cell for cell in self.cells if cell.kind == "markdown"])
    ids = property(lambda self: [cell.id for cell in self.cells])

    def cell(self, name: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.id == name), None)

    def tagged(self, tag: str) -> list:
        return [cell for cell in self.cells if tag in cell.tags]


def notebook_from(name: str, content: dict) -> Notebook:
    cells = [Cell(cell.get("id", ""), cell["cell_type"], "".join(cell["source"]), cell["metadata"], cell.get("execution_count"), cell.get("outputs", []))
             for cell in content["cells"]]
    return Notebook(name, cells, content["metadata"])


def load(path: pathlib.Path) -> Notebook:
    return notebook_from(path.stem, json.loads(path.read_text(encoding="utf-8")))


RULES, ACROSS = {}, {}
ALT = ROOT / "d2l_ext/alt"  # alternative texts, a file for each lesson


def rule(first: int = 0, last: int = 8):
    def register(find):
        @functools.wraps(find)
        def complaints(notebook: Notebook) -> list:
            found = find(notebook) if first <= max(notebook.number, 0) <= last else []
            return [f"{notebook.name}.ipynb, cell `{cell}`: {advice}" for cell, advice in found]
        RULES[find.__name__] = complaints
        return complaints
    return register


def across(find):
    @functools.wraps(find)
    def complaints(notebooks: list) -> list:
        return [f"{name}, cell `{cell}`: {advice}" for name, cell, advice in find(notebooks)]
    ACROSS[find.__name__] = complaints
    return complaints


# ---- small helpers ------------------------------------------------------------------------------------------------------------------

def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.S)


prose, count_words = readme.prose, readme.count_words


def shape(notebook) -> list:
    """The cells as tools/notebooks/readme.py counts their minutes."""
    return [(cell.kind == "markdown", cell.tags, cell.text) for cell in notebook.cells]


def rows(text: str) -> list:
    """The rows of a Markdown table, as lists of columns, without its head."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    return [[column.strip() for column in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines[2:]]


def links(text: str) -> list:
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


def references() -> dict:
    """references.bib as key -> (first author, year, address)."""
    def item(body, name):
        return re.search(rf"\b{name}\s*=\s*\{{(.*?)\}}", body)[1]
    parts = re.findall(r"^@\w+\{([\w-]+),(.*?)^\}", (ROOT / "references.bib").read_text(encoding="utf-8"), re.S | re.M)
    return {key: (item(body, "author").split(",")[0], item(body, "year"), item(body, "url").rstrip("/")) for key, body in parts}


def leads_to(url: str, entry: str) -> bool:
    """Whether an address is the entry's or a part of it (a book's chapter)."""
    return url.rstrip("/") == entry or url.startswith(entry + "/")


def citations(text: str) -> list:
    """(first author, year) for every `Name et al. 2017`, `Name & Name (2017)`."""
    return re.findall(r"\b([A-Z][\w-]+)(?: et al\.| & [A-Z]\w+),? \(?((?:19|20)\d\d)\b", text)


def docstrings() -> dict:
    """All docstrings of the package, by file."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "d2l_ext").rglob("*.py"))}
    return {path.relative_to(ROOT).as_posix(): "\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))
            for path, tree in trees.items()}


def stored_names(tree: ast.AST) -> set:
    """Every name that is bound anywhere inside."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | {getattr(tree, "name", None)}


def uses(statement: ast.stmt) -> set:
    """Names that a statement takes from the statements before it."""
    loaded = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if isinstance(statement, ast.AugAssign):
        return loaded | {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
    inner = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value else statement
    return loaded - stored_names(inner)


def defines(node: ast.AST) -> set:
    """Names that a statement leaves behind."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return set()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    return own.union(*map(defines, ast.iter_child_nodes(node)))


def trios(notebook: Notebook) -> dict:
    """Exercises that are complete in place: name -> three cells, one after the other.

    They are exercise-NAME, answer-NAME, solution-NAME; for a page to print, which has no kind and level, NAME-page, NAME, solution-NAME.
    """
    found = {}
    for three in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        name = three[2].id.removeprefix("solution-")
        if [cell.id for cell in three] in ([f"exercise-{name}", f"answer-{name}", f"solution-{name}"], [f"{name}-page", name, f"solution-{name}"]):
            found[name] = list(three)
    return found


def fences(cell: Cell) -> list:
    return re.findall(r"^```python\n(.*?)^```", cell.text, re.S | re.M)


# ---- cells and their names ----------------------------------------------------------------------------------------------------------

@rule()
def planned_file(notebook):
    if notebook.name not in NAMES:
        yield "title", f"call the file one of {', '.join(NAMES)}, or remove it"


@rule()
def slug_ids(notebook):
    for i, cell in enumerate(notebook.cells):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cell.id):
            yield cell.id or f"number {i}", "give it a hand-written id of small letters, digits and hyphens"
        if cell.id in notebook.ids[:i]:
            yield cell.id, "two cells have this id: rename one"


@rule()
def known_tags(notebook):
    for cell in notebook.cells:
        if cell.tags - TAGS:
            yield cell.id, f"unknown tags {sorted(cell.tags - TAGS)}: the known ones are {sorted(TAGS)}"
        if len(cell.tags & {"core", "deeper"}) != 1:
            yield cell.id, "give it exactly one of the tags core and deeper"


@rule()
def fixed_cells(notebook):
    ids, lesson = notebook.ids, notebook.number > 0
    first, last = (FIRST, LAST) if lesson else (("title", "setup"), ("next",))
    wanted = [*first, *(["exercises"] if lesson else ["symbols"]), *last]
    for name in wanted:
        if name not in ids:
            yield name, "this cell is missing"
    if [name for name in ids if name in wanted] != [name for name in wanted if name in ids]:
        yield ids[0], f"bring these cells into this order: {', '.join(wanted)}"
    if tuple(ids[:2]) != first[:2] or tuple(ids[-len(last):]) != last:
        yield ids[-1], f"begin with title and setup, end with {', '.join(last)}"
    for cell in notebook.cells:
        due = {cell.id} & set(SINGLE) | ({"question"} if re.fullmatch(r"question-\d+", cell.id) else set())
        if cell.tags & {*SINGLE, "question"} != due:
            yield cell.id, f"id and tag belong together: the tags here should include {sorted(due) or 'none of ' + ', '.join(SINGLE)}"


@rule()
def title_form(notebook):
    text = notebook.cell("title").text if notebook.cell("title") else ""
    found = readme.TITLE.match(text)
    if not found:
        yield "title", "write the title, **Afterwards you can** ..., **Minutes:** N core, N with everything., and the badge, a paragraph each"
        return
    if found["title"][:2] != notebook.name[:2]:
        yield "title", f"the title begins with {found['title'][:2]}, the file with {notebook.name[:2]}"
    if "**You need:**" not in text:
        yield "title", "say what one needs: **You need:** ..."
    counted = readme.minutes(shape(notebook), "core"), readme.minutes(shape(notebook))
    if (int(found["core"]), int(found["all"])) != counted:
        yield "title", f"core and everything take {counted} minutes as counted: `make readme`"
    colab = "https://colab.research.google.com"
    target = f"{colab}/github/{address.slug()}/blob/main/notebooks/{notebook.name}.ipynb"
    if found["badge"] != f"[![Open in Colab]({colab}/assets/colab-badge.svg)]({target})":
        yield "title", f"let the badge lead to {target} (`make address`)"


@rule(1)
def fits_a_class(notebook):
    core, words = readme.minutes(shape(notebook), "core"), 0
    if core > CLASS:
        yield "title", f"the core takes {core} minutes as counted: cut, merge, or move to deeper, down to {CLASS}"
    for cell in notebook.words:
        if "core" in cell.tags and not cell.tags & (readme.UNCOUNTED | {"exercise", "claims"}):
            words += count_words(cell.text)
    if words > WORDS:
        yield "title", f"the core has {words} words of prose: an idea told twice is told once; up to {WORDS}"


@rule(1)
def one_screen(notebook):
    """The lesson for those who know the subject: words, code without the package, and its proof."""
    words, code, proof = map(notebook.cell, ("one-screen", "one-screen-code", "one-screen-proof"))
    if not (words and code and proof):
        return  # `fixed_cells` says so
    for cell in (words, code, proof):
        if "deeper" not in cell.tags:
            yield cell.id, "tag it deeper: it is for those who skip the lesson"
    if not words.text.startswith("<details><summary>"):
        yield words.id, "fold it: begin with <details><summary>"
    traps = words.text.partition("**Traps.**")[2]
    if "$" not in words.text or "**Shapes.**" not in words.text or "**Cost.**" not in words.text or len(re.findall("^- ", traps, re.M)) != 3:
        yield words.id, "it holds the formula, **Shapes.**, **Cost.**, and after **Traps.** a list of three"
    if count_words(words.text) > 250:
        yield words.id, f"{count_words(words.text)} words: one screen holds 250"
    if len(code.text.splitlines()) > 20 or "d2l_ext" in code.text or not re.search("^import torch|^from torch", code.text, re.M):
        yield code.id, "up to 20 lines that import what they need and do without the package"
    if "assert" not in proof.text or "d2l_ext" not in proof.text:
        yield proof.id, "assert that the code equals the package's"
    for cell in (code, proof):
        if cell.metadata.get("jupyter", {}).get("source_hidden") is not True:
            yield cell.id, "collapse it: `folded` in tools/notebooks/nbtext.py"


@rule(1)
def homework(notebook):
    cell = notebook.cell("homework")
    if cell and not (re.match(r"## Homework: .+ · deeper\n", cell.text) and "<details>" in cell.text):
        yield cell.id, "begin with `## Homework: title · deeper`, and fold into <details> what a good answer contains"


@rule()
def written_from_scratch(notebook):
    """The last exercise of some lessons begins with a signature and its promise."""
    names = [name for name in trios(notebook) if name in [exercise.name for exercise in from_scratch.EXERCISES]]
    if (notebook.number in FROM_SCRATCH) != (len(names) == 1):
        yield "exercises", f"lessons {FROM_SCRATCH} end with one exercise of d2l_ext/exercises/from_scratch.py, others have none"
    for name in names:
        stub = trios(notebook)[name][1]
        bodies = [node.body for statement in stub.statements for node in ast.walk(statement) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        given = [node for body in bodies for node in body if not isinstance(node, (ast.FunctionDef, ast.Pass)) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
        if not bodies or given:
            yield stub.id, "give a signature and its promise (a docstring), no line of the answer"
        if [cell.id for cell in notebook.cells].index(stub.id) + 2 != notebook.ids.index("homework"):
            yield stub.id, "it is the last exercise, right before the homework"


@rule(1)
def recall_question(notebook):
    cell = notebook.cell("recall")
    if cell and ("?" not in cell.text or "<details>" not in cell.text):
        yield "recall", "ask a question from the last lesson, and fold its answer into <details>"


@rule()
def headings(notebook):
    before = 0
    for cell in notebook.words:
        for level, words in re.findall(r"^(#+) +(.*)$", re.sub(r"```.*?```", "", cell.text, flags=re.S), re.M):
            if len(level) == 1 and cell.id != "title" and (cell.id, words) != ("exercises", "Exercises"):
                yield cell.id, "headings of the first level are the title and `# Exercises` alone"
            if len(level) > before + 1:
                yield cell.id, f"`{words}` skips a level of headings"
            before = len(level)


@rule()
def deeper_is_marked(notebook):
    """Tags can't be seen: a deeper part says so in its heading, and a core heading ends it."""
    depth = None  # the level of the heading that opened the deeper part
    for cell in notebook.cells:
        found = re.match(r"(#+) +(.*)", cell.text) if cell.kind == "markdown" else None
        deeper, marked = "deeper" in cell.tags, bool(found and found[2].endswith(" · deeper"))
        inside = depth is not None and not (found and len(found[1]) <= depth)
        if found and deeper and not inside:
            if not marked:
                yield cell.id, "end the heading of a deeper part with ` · deeper`"
            depth = len(found[1])
        elif found and marked:
            yield cell.id, "`· deeper` stands only at the heading that opens a deeper part"
        elif found and not deeper:
            depth = None
        elif inside and not deeper:
            yield cell.id, "a core cell after a deeper part begins with a heading, or readers take it for deeper"
            depth = None


# ---- words --------------------------------------------------------------------------------------------------------------------------

@rule()
def short_words(notebook):
    for cell in notebook.words:
        free = cell.tags & {"exercise", "question", "references"} or "<details>" in cell.text or rows(cell.text)
        count = count_words(cell.text)
        if not free and count > 90:
            yield cell.id, f"{count} words: say it in 90, or in two cells"


@rule()
def plain_words(notebook):
    for cell in notebook.words:
        for word in re.findall(r"\b(simply|obviously|just|easy)\b", prose(cell.text), re.I):
            yield cell.id, f"leave out `{word}`: whoever doesn't find it so is lost"


@rule()
def no_pictures_in_words(notebook):
    for cell in notebook.words:
        text = without_code(cell.text)
        if len(re.findall(r"!\[|<img\b", text)) > (cell.id == "title") or "attachments" in cell.metadata:
            yield cell.id, "no pictures in Markdown but the badge: use a cell with picture(\"NN_name\")"


@rule()
def links_lead_somewhere(notebook):
    for cell in notebook.words:
        for link in links(cell.text):
            if not link.startswith(("https://", "#")) and link.split("#")[0].removesuffix(".ipynb") not in NAMES:
                yield cell.id, f"{link} leads nowhere: link to https:// or to one of the nine notebooks"


# ---- code ---------------------------------------------------------------------------------------------------------------------------

@rule()
def plain_python(notebook):
    for cell in notebook.code:
        if cell.text.strip() and not cell.statements:
            yield cell.id, "this isn't plain Python: no magics, no shell commands, no empty cells" if "%" in cell.text or "!" in cell.text else "mend the syntax"
        if not cell.text.strip():
            yield cell.id, "remove the empty cell"


@rule()
def short_code(notebook):
    for cell in notebook.code:
        if cell.id not in ("setup", "one-screen-code") and len(cell.text.splitlines()) > 15:
            yield cell.id, f"{len(cell.text.splitlines())} lines: up to 15, longer code belongs in d2l_ext"


@rule()
def narrow_code(notebook):
    """A projector at 1280 x 720 and 150 % shows about 79 characters."""
    for cell in notebook.cells:
        for line in "\n".join([cell.text] if cell.kind == "code" else fences(cell)).splitlines():
            if len(line) > 79:
                yield cell.id, f"{len(line)} characters in `{line.strip()[:30]}...`: up to 79"


@rule()
def no_padding(notebook):
    """Numbers that belong together are a table."""
    for cell in notebook.code:
        for statement in cell.statements:
            for node in ast.walk(statement):
                spec = ast.unparse(node.format_spec) if isinstance(node, ast.FormattedValue) and node.format_spec else ""
                if re.match(r"f['\"](.?[<>^=])? ?\d", spec):
                    yield cell.id, f"`:{spec[2:-1]}` pads numbers into columns: show a table, `table(rows, columns)` of d2l_ext.plotting"


@rule()
def predictions_are_not_spoiled(notebook):
    for cell in notebook.code:
        hidden = bool(cell.metadata.get("jupyter", {}).get("outputs_hidden")), bool(cell.metadata.get("collapsed"))
        predict = "predict" in cell.tags
        if hidden != (predict, predict):
            yield cell.id, "the output of a cell tagged predict is folded, no other (`make notebooks`)"
        before = notebook.cells[notebook.cells.index(cell) - 1]
        if predict and "predict" not in before.text.lower():
            yield cell.id, "let the cell before it ask for a prediction"
        if predict and not any(output.get("data", output.get("text")) for output in cell.outputs):
            yield cell.id, "it shows nothing to predict: move the tag to the cell that does"
        for statement in cell.statements if predict else []:
            if any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
                yield cell.id, "an assert above the folded output gives it away: move it to a cell after"


@rule()
def core_runs_alone(notebook):
    last = {}  # name -> the cell that bound it last
    for cell in notebook.code:
        for statement in cell.statements:
            for name in sorted(uses(statement) & set(last)):
                if "core" in cell.tags and "deeper" in last[name].tags:
                    yield cell.id, f"`{name}` comes from the deeper cell `{last[name].id}`: define it in a core cell, or rename it there"
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) or "core" in cell.tags:
                last |= dict.fromkeys(defines(statement), cell)


@rule()
def same_setup(notebook):
    wanted = (ROOT / "tools/notebooks/setup_cell.py").read_text(encoding="utf-8").replace("ADDRESS", f"https://github.com/{address.slug()}").strip()
    cell = notebook.cell("setup")
    if cell and cell.text.strip() != wanted:
        yield "setup", "copy it from tools/notebooks/setup_cell.py, with the address from pyproject.toml (`make address`)"


@rule()
def folded(notebook):
    for cell in notebook.tagged("setup") + notebook.tagged("picture"):
        if not cell.metadata.get("jupyter", {}).get("source_hidden") or cell.metadata.get("cellView") != "form":
            yield cell.id, "collapse it: `folded` in tools/notebooks/nbtext.py (metadata jupyter.source_hidden and cellView form)"


@rule()
def offline(notebook):
    for cell in notebook.code:
        if cell.id != "setup" and (found := re.search(r"\b(requests|urllib|urlopen|socket|load_dataset|hub\.load|pip)\b|https?://|git\+", cell.text)):
            yield cell.id, f"`{found[0]}`: lessons need no network and install nothing"


@rule()
def no_machine_paths(notebook):
    path = re.compile(rf"{re.escape(str(ROOT))}|(?<![\w.:/~])~?/(home|Users|root|tmp|usr|opt|mnt|var|content|kaggle)/|\b[A-Z]:\\\w|site-packages")
    for cell in notebook.cells:
        for text in [cell.text if cell.id != "setup" else "", *cell.output_texts]:
            if found := path.search(text):
                yield cell.id, f"`{found[0]}` is a path of one machine: leave it out"


@rule()
def ones_once(notebook):
    for cell in notebook.code:
        trees = [node for statement in cell.statements for node in ast.walk(statement)]
        masks = {node.value for node in trees if isinstance(node, ast.Attribute) and node.attr in ("tril", "triu", "bool")}
        for node in trees:
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.ones" and node not in masks:
                boolean = any(word.arg == "dtype" and "bool" in ast.unparse(word.value) for word in node.keywords)
                if not boolean and not (notebook.number == 2 and "predict" in cell.tags):
                    yield cell.id, "torch.ones hides mistakes: as an input it stands in 02 alone, in a cell tagged predict"


@rule()
def sentence(notebook):
    cell, found = notebook.cell("sentence"), {}
    if cell is None:
        if 1 <= notebook.number <= 6:
            yield "sentence", "this lesson needs the running example"
        return
    for statement in cell.statements:
        if isinstance(statement, ast.Assign):
            value = statement.value
            found[ast.unparse(statement.targets[0])] = ast.unparse(value.args[0] if isinstance(value, ast.Call) and value.args else value)
    for name, wanted in SENTENCE.items():
        try:
            same = ast.literal_eval(found.get(name, "None")) == wanted
        except ValueError:
            same = False
        if not same:
            yield "sentence", f"`{name}` is {wanted} in every lesson"


# ---- stored outputs -----------------------------------------------------------------------------------------------------------------

@rule()
def run_in_order(notebook):
    counts = [cell.count for cell in notebook.code]
    for wanted, cell in enumerate(notebook.code, 1):
        if cell.count != wanted:
            yield cell.id, f"its execution count is {cell.count}, not {wanted}: `make notebooks` runs all cells in order"
            return
    if not counts:
        yield "title", "there is no code"


@rule()
def clean_outputs(notebook):
    for cell in notebook.code:
        for output in cell.outputs:
            if output["output_type"] == "error" and "raises-exception" not in cell.tags:
                yield cell.id, f"it raises {output['ename']}: mend it, or tag it raises-exception"
            if output.get("name") == "stderr":
                yield cell.id, "it writes to stderr: find out why and stop it"
        for text in cell.output_texts:
            if found := re.search(r"\b\w*Warning\b|\bat 0x[0-9a-f]{6,}|\x1b\[|FloatProgress\(", text if "raises-exception" not in cell.tags else ""):
                yield cell.id, f"`{found[0]}` in its output differs from run to run or worries readers: stop it at its source"


@rule()
def no_volatile_metadata(notebook):
    if notebook.metadata != nbtext.KERNEL:
        yield "title", "the notebook's metadata holds more than the kernel's name (widget state, versions): `make notebooks`"
    for cell in notebook.cells:
        if set(cell.metadata) - {"tags", "jupyter", "cellView", "collapsed"} or set(cell.metadata.get("jupyter", {})) - {"source_hidden", "outputs_hidden"}:
            yield cell.id, f"metadata {sorted(cell.metadata)}: keep tags and what folds alone (`make notebooks`)"
        if any(WIDGET in output.get("data", {}) for output in cell.outputs):
            yield cell.id, "a live widget is stored: `make notebooks` leaves its picture"


@rule()
def small_outputs(notebook):
    sizes = {cell.id: len(json.dumps(cell.outputs)) for cell in notebook.code}
    if sum(sizes.values()) >= 400 * 1024:
        yield max(sizes, key=sizes.get), f"outputs are {sum(sizes.values()) // 1024} KiB in all, this cell's the largest: stay under 400"


@rule()
def picture_cells(notebook):
    for cell in notebook.code:
        found = re.fullmatch(r'picture\("(\w+)"\)', cell.text.strip())
        if ("picture" in cell.tags) != bool(found):
            yield cell.id, 'a picture stands in a cell of one line, picture("NN_name"), tagged picture'
        elif found and not (ROOT / "images" / f"{found[1]}.svg").exists():
            yield cell.id, f"there is no images/{found[1]}.svg"
        elif found and not any("<img" in text for text in cell.output_texts):
            yield cell.id, "the picture isn't stored: `make notebooks`"


@rule()
def alt_text(notebook):
    for cell in notebook.code:
        for output in cell.outputs:
            for mime, content in output.get("data", {}).items():
                if mime.startswith("image/"):
                    yield cell.id, "a bare image loses its words in JupyterLab: draw with d2l_ext.plotting"
                for tag in re.findall(r"<img\b[^>]*>", "".join(content)) if mime == "text/html" else []:
                    if len((re.search(r'alt="([^"]*)"', tag) or ["", ""])[1]) < 20:
                        yield cell.id, "say in 20 characters or more what it shows: d2l_ext/alt, or <desc> of the SVG"


def drawn_names(cell) -> list:
    """The names of the figures that a cell draws; None for one without."""
    calls = [node for statement in cell.statements for node in ast.walk(statement)
             if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("heatmaps", "curves", "bars")]
    names = [next((word.value for word in call.keywords if word.arg == "name"), None) for call in calls]
    return [ast.unparse(name).removeprefix("f").strip("'\"") if name else None for name in names]


@rule()
def figures_have_words(notebook):
    path = ALT / f"{notebook.name[:2]}.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    used = set()
    for cell in notebook.code:
        for name in drawn_names(cell):
            wanted = f"{notebook.name[:2]}-{cell.id}"
            if name is None or not (name == wanted or name.startswith(wanted + "-")):
                yield cell.id, f'name the figure after its cell, name="{wanted}" (or "{wanted}-..." for one of several)'
            else:
                used |= {entry for entry in entries if re.fullmatch(re.sub(r"\\\{.*?\\\}", ".+", re.escape(name[3:])), entry)}
    for entry, words in entries.items():
        if entry not in used:
            yield entry, f"no cell draws a figure of this name: remove it from {path.name}"
        if len(words["text"] if isinstance(words, dict) else words) < 20:
            yield entry, f"say in 20 characters or more what it shows, in {path.name}"


@rule(1, 7)
def explorers(notebook):
    found = notebook.tagged("explorer")
    if not 1 <= len(found) <= 2:
        yield "explorer", f"{len(found)} interactive pieces: one or two"
    for cell in found:
        before = notebook.cells[notebook.cells.index(cell) - 1]
        if "predict" not in before.text.lower():
            yield cell.id, "let the cell before it ask for a prediction"
        if not any("text/html" in output.get("data", {}) for output in cell.outputs):
            yield cell.id, "no page is stored that lives without a kernel: `make notebooks`"


# ---- exercises, questions, claims, sources ------------------------------------------------------------------------------------------

@rule()
def exercise_cells(notebook):
    found = trios(notebook)
    belonging = {cell.id for trio in found.values() for cell in trio}
    for cell in notebook.cells:
        if (cell.tags & {"exercise", "solution"} or re.match("(exercise|answer|solution)-", cell.id)) and cell.id not in belonging:
            yield cell.id, "an exercise is three cells, one after the other: exercise-NAME, answer-NAME, solution-NAME"
    for name, trio in found.items():
        text, answer, solution = trio
        text_tags = set() if text.id.endswith("-page") else {"exercise"}
        if [(cell.kind, cell.tags - {"core", "deeper"}) for cell in trio] != [("markdown", text_tags), ("code", {"exercise"}), ("markdown", {"solution"})]:
            yield text.id, "its cells are Markdown tagged exercise (a page has no such tag), code tagged exercise, Markdown tagged solution"
        if len({frozenset(cell.tags & {"core", "deeper"}) for cell in trio}) > 1:
            yield text.id, "its three cells are all core or all deeper"
        last = ast.unparse(answer.statements[-1]) if answer.statements else ""
        if not last.startswith(f"check('{name}', "):
            yield answer.id, f'end with check("{name}", ...)'
        if "<details>" not in solution.text or len(fences(solution)) != 1:
            yield solution.id, "fold the solution into <details>, with one ```python block"
        if name not in all_exercises() or len(all_exercises()[name].hints) < 2:
            yield text.id, f"d2l_ext.exercises needs an exercise {name!r} with two hints or more"


@rule(1)
def exercise_kinds(notebook):
    texts, kinds = [trio[0] for trio in trios(notebook).values() if trio[0].id.startswith("exercise-")], set()
    for text in texts:
        heading = re.match(rf"#{{2,3}} ({'|'.join(KINDS)}): .+ · \d+ minutes? · level [123](?: · deeper)?\n", text.text)
        if not heading:
            yield text.id, f"begin with `## Kind: title · N minutes · level N`, kind one of {', '.join(KINDS)}, level 1 to 3"
        else:
            kinds.add(heading[1])
        if {"exercises", "homework"} <= set(notebook.ids) and not notebook.ids.index("exercises") < notebook.cells.index(text) < notebook.ids.index("homework"):
            yield text.id, "exercises stand between `# Exercises` and the homework"
    for kind in KINDS:
        if kind not in kinds:
            yield "exercises", f"there is no exercise of the kind {kind}"
    if not 3 <= len(texts) <= 7 or not any("core" in text.tags for text in texts):
        yield "exercises", f"{len(texts)} exercises: three to seven, and not all of them deeper"


@rule(1)
def questions(notebook):
    for cell in notebook.tagged("question"):
        options, _, reasons = cell.text.partition("<details>")
        said = re.findall(r"^- \*\*(\w)\*\* (.+)$", reasons, re.M)
        if re.findall(r"^- \*\*(\w)\*\* .+$", options, re.M) != list("ABCD") or [letter for letter, _ in said] != list("ABCD"):
            yield cell.id, "four options `- **A** ...` to D, and in <details> a reason for each, in the same form"
        right = [letter for letter, reason in said if reason.startswith("Right")]
        if len(right) != 1:
            yield cell.id, "exactly one reason begins with `Right`"
        lengths = {letter: len(option) for letter, option in re.findall(r"^- \*\*(\w)\*\* (.+)$", options, re.M)}
        if len(right) == 1 and len(lengths) == 4 and lengths[right[0]] > sorted(lengths.values())[-2]:
            yield cell.id, "the right option is the longest: guessers find it"


@rule(1)
def claims(notebook):
    cell = notebook.cell("claims")
    for row in rows(cell.text) if cell else []:
        names = re.findall(r"\[([^]]+)\]\(#cell-id=\1\)", row[-1])
        for name in names or ["(none)"]:
            if not notebook.cell(name) or notebook.cell(name).kind != "code":
                yield "claims", f"`{row[0]}` is proved by {name}, which is no code cell here: write [ID](#cell-id=ID)"
    if cell and not rows(cell.text):
        yield "claims", "a table of claims and the cells that proved them"


@rule()
def sources(notebook):
    cell, entries = notebook.cell("references"), references().values()
    for url in links(cell.text) if cell else []:
        if not any(leads_to(url, entry) for _, _, entry in entries):
            yield "references", f"add {url} to references.bib"
    for other in notebook.words:
        for author, year in citations(prose(other.text)):
            if not cell or (author, year) not in citations(cell.text):
                yield other.id, f"name {author} {year} in the cell `references`"


# ---- all notebooks together ---------------------------------------------------------------------------------------------------------

@across
def every_source_is_cited(notebooks):
    urls = [url for notebook in notebooks for cell in notebook.tagged("references") for url in links(cell.text)]
    cited = {pair for text in docstrings().values() for pair in citations(text)}
    for key, (author, year, url) in references().items():
        if not any(leads_to(found, url) for found in urls) and (author, year) not in cited:
            yield "references.bib", key, "nothing cites it: cite it or remove it"
    for path, text in docstrings().items():
        for pair in citations(text):
            if pair not in [entry[:2] for entry in references().values()]:
                yield path, "docstring", f"add {' '.join(pair)} to references.bib"


@across
def every_exercise_is_used(notebooks):
    for name in sorted(set(all_exercises()) - {name for notebook in notebooks for name in trios(notebook)}):
        yield "d2l_ext/exercises", name, "no notebook has this exercise: add its three cells or remove it"


# What no lesson is about, and why.
NOT_TAUGHT = {"Mask": "the container that makes predicates printable; the predicates are shown"}


def shown() -> list:
    """shown.csv: public name, notebook and cell that has the reader's own version, cell that proves them equal."""
    with open(ROOT / "tests/lessons/shown.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mentions(cell, name: str) -> bool:
    """Whether a cell's code uses a name, with or without the package's before it."""
    last = name.split(".")[-1]
    return any(isinstance(node, ast.Name) and node.id == last or isinstance(node, ast.Attribute) and node.attr == last
               for statement in cell.statements for node in ast.walk(statement))


@across
def what_is_taught_is_shown(notebooks):
    by_name, rows = {notebook.name: notebook for notebook in notebooks}, shown()
    for name in sorted(set(d2l_ext.__all__) - set(NOT_TAUGHT) - {row["name"] for row in rows}):
        yield "tests/lessons/shown.csv", name, "no lesson shows it as code: add the cell that does, and the one that proves them equal"
    for row in rows:
        notebook = by_name.get(row["notebook"])
        cell, proof = (notebook and notebook.cell(row[what]) for what in ("cell", "proof"))
        if not cell or cell.kind != "code" or mentions(cell, row["name"]) and cell is not proof:
            yield row["notebook"], row["cell"], f"show `{row['name']}` here as the reader's own code, without a call of it"
        elif not proof or not re.search(r"\bassert(_\w+)?\b", proof.text) or not mentions(proof, row["name"]):
            yield row["notebook"], row["proof"], f"assert here that the reader's own version equals `{row['name']}`"


@across
def few_exemptions(notebooks):
    found = [(notebook, cell) for notebook in notebooks for cell in notebook.code if cell.tags & EXEMPT or re.search(r"#\s*NBVAL_", cell.text)]
    for number, (notebook, cell) in enumerate(found):
        if number >= 2:
            yield notebook.name, cell.id, "at most two cells in the whole collection go unchecked by nbval"
        if not re.search(r"#.*\b(because|since|differs?|varies|vary)\b", cell.text):
            yield notebook.name, cell.id, "say in a comment why nbval leaves this cell out (`# not compared, because ...`)"


@across
def symbols(notebooks):
    by_number = {notebook.number: notebook for notebook in notebooks}
    cell = by_number[0].cell("symbols") if 0 in by_number else None
    for row in rows(cell.text) if cell else []:
        first = re.search(r"\d\d", row[-1])
        if len(row) != 4 or not first or not re.search("`[^`]+`", row[1]):
            yield by_number[0].name, "symbols", f"`{row[0]}`: four columns, symbol, `code name`, shape, first notebook"
            continue
        notebook = by_number.get(int(first[0]))
        for name in re.findall("`([^`]+)`", row[1]) if notebook else []:
            if not any(name in other.text for other in notebook.cells if other is not cell):
                yield by_number[0].name, "symbols", f"`{name}` does not occur in {notebook.name}"
    if cell and not rows(cell.text):
        yield by_number[0].name, "symbols", "a table: symbol, `code name`, shape, first notebook"
