"""The rules that notebooks keep: functions from a notebook to complaints, each naming file, cell and what to do.

A rule yields pairs (cell id, what to do). `@rule()` holds for every notebook, `@rule(1)` from lesson 01 on, `@rule(1, 6)` for 01 to 06.
Rules about all notebooks together (`@across`) yield (notebook, cell id, what to do). Rules about stored outputs look at what
`make notebooks` made, so their advice is often to run that.
"""
import ast
import functools
import json
import pathlib
import re
import sys
from dataclasses import dataclass

from d2l_ext.exercises import all_exercises

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import address  # noqa: E402
import nbtext  # noqa: E402
import readme  # noqa: E402

MINUTES = {"00_start_here": (5, 10), "01_attention_pooling": (20, 40), "02_multi_head_attention": (30, 60), "03_self_attention": (20, 40),
           "04_positional_encoding": (25, 50), "05_relative_positions": (25, 60), "06_cnn_rnn_self_attention": (25, 60),
           "07_what_heads_learn": (30, 75), "08_coming_from_d2l": (10, 15)}  # core, everything
SINGLE = ("setup", "imports", "recall", "sentence", "claims", "exit", "references", "next")  # cells whose id is also their tag
EXEMPT = {"nbval-ignore-output", "nbval-skip", "nbval-raises-exception"}
TAGS = {"core", "deeper", "picture", "predict", "explorer", "exercise", "solution", "question", "timing", "raises-exception", *SINGLE, *EXEMPT}
KINDS = ("Predict", "Build", "Break", "Explain", "Transfer")
FIRST = ("title", "setup", "imports", "recall")
LAST = ("question-1", "question-2", "question-3", "claims", "exit", "references", "next")
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


def prose(text: str) -> str:
    """What a reader reads as words: no code, formulas, link targets or HTML."""
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|<[^>]*>", " ", without_code(text), flags=re.S)
    return re.sub(r"\]\([^)]*\)", "]", text)


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
    if notebook.name not in MINUTES:
        yield "title", f"call the file one of {', '.join(MINUTES)}, or remove it"


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
    if (int(found["core"]), int(found["all"])) != MINUTES.get(notebook.name):
        yield "title", f"the curriculum's minutes are {MINUTES.get(notebook.name)}"
    colab = "https://colab.research.google.com"
    target = f"{colab}/github/{address.slug()}/blob/main/notebooks/{notebook.name}.ipynb"
    if found["badge"] != f"[![Open in Colab]({colab}/assets/colab-badge.svg)]({target})":
        yield "title", f"let the badge lead to {target} (`make address`)"


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
        count = len(re.findall(r"\w[\w'’-]*", prose(cell.text)))
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
            if not link.startswith(("https://", "#")) and link.split("#")[0].removesuffix(".ipynb") not in MINUTES:
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
        if cell.id != "setup" and len(cell.text.splitlines()) > 15:
            yield cell.id, f"{len(cell.text.splitlines())} lines: up to 15, longer code belongs in d2l_ext"


@rule()
def core_runs_alone(notebook):
    last = {}  # name -> the cell that bound it last
    for cell in notebook.code:
        for statement in cell.statements:
            for name in sorted(uses(statement) & set(last)):
                if "core" in cell.tags and "deeper" in last[name].tags:
                    yield cell.id, f"`{name}` comes from the deeper cell `{last[name].id}`: define it in a core cell, or rename it there"
            last |= dict.fromkeys(defines(statement), cell)


@rule()
def same_setup(notebook):
    wanted = (ROOT / "tools/setup_cell.py").read_text(encoding="utf-8").replace("ADDRESS", f"https://github.com/{address.slug()}").strip()
    cell = notebook.cell("setup")
    if cell and cell.text.strip() != wanted:
        yield "setup", "copy it from tools/setup_cell.py, with the address from pyproject.toml (`make address`)"


@rule()
def folded(notebook):
    for cell in notebook.tagged("setup") + notebook.tagged("picture"):
        if not cell.metadata.get("jupyter", {}).get("source_hidden") or cell.metadata.get("cellView") != "form":
            yield cell.id, "collapse it: `folded` in tools/nbtext.py (metadata jupyter.source_hidden and cellView form)"


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
            if found := re.search(r"\b\w*Warning\b|\bat 0x[0-9a-f]{6,}|\x1b\[", text if "raises-exception" not in cell.tags else ""):
                yield cell.id, f"`{found[0]}` in its output differs from run to run or worries readers: stop it at its source"


@rule()
def no_volatile_metadata(notebook):
    if notebook.metadata != nbtext.KERNEL:
        yield "title", "the notebook's metadata holds more than the kernel's name (widget state, versions): `make notebooks`"
    for cell in notebook.cells:
        if set(cell.metadata) - {"tags", "jupyter", "cellView"} or set(cell.metadata.get("jupyter", {})) - {"source_hidden"}:
            yield cell.id, f"metadata {sorted(cell.metadata)}: keep tags, jupyter.source_hidden and cellView alone (`make notebooks`)"
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
                if mime.startswith("image/") and len(output.get("metadata", {}).get(mime, {}).get("alt", "")) < 20:
                    yield cell.id, "say in 20 characters or more what the figure shows: alt= of d2l_ext.plotting"
                for tag in re.findall(r"<img\b[^>]*>", "".join(content)) if mime == "text/html" else []:
                    if len((re.search(r'alt="([^"]*)"', tag) or ["", ""])[1]) < 20:
                        yield cell.id, "say in 20 characters or more what the picture shows: <desc> of the SVG"


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
        if "exercises" in notebook.ids and not notebook.ids.index("exercises") < notebook.cells.index(text) < notebook.ids.index("question-1"):
            yield text.id, "exercises stand between `# Exercises` and the questions"
    for kind in KINDS:
        if kind not in kinds:
            yield "exercises", f"there is no exercise of the kind {kind}"
    if not 3 <= len(texts) <= 6 or not any("core" in text.tags for text in texts):
        yield "exercises", f"{len(texts)} exercises: three to six, and not all of them deeper"


@rule(1)
def questions(notebook):
    for cell in notebook.tagged("question"):
        options, _, reasons = cell.text.partition("<details>")
        said = re.findall(r"^- \*\*(\w)\*\* (.+)$", reasons, re.M)
        if re.findall(r"^- \*\*(\w)\*\* .+$", options, re.M) != list("ABCD") or [letter for letter, _ in said] != list("ABCD"):
            yield cell.id, "four options `- **A** ...` to D, and in <details> a reason for each, in the same form"
        if sum(reason.startswith("Right") for _, reason in said) != 1:
            yield cell.id, "exactly one reason begins with `Right`"


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
