"""Rules of what a code cell may hold, and of the running example."""
import ast
import dis
import inspect
import re

from . import limits
from .notebook import ROOT, fences, rule

SENTENCE = """\
tokens = ["dog", "bites", "man"]
features = ["animal", "person", "action", "height"]
X = torch.tensor([[1., 0., 0., 1.],   # dog: an animal, one dog tall
                  [0., 0., 1., 0.],   # bites: an action
                  [0., 1., 0., 3.]])  # man: a person, three dogs tall"""


@rule(of="code")
def plain_python(cell):
    """Write Python alone: no magics but %%framework, no shell commands, no empty cells."""
    if not cell.statements:
        yield "not Python, or empty"


@rule(of="cells")
def fits_the_screen(cell):
    """A projector shows no more: longer code belongs in d2l_ext."""
    lines = (cell.text if cell.is_code else "\n".join(fences(cell))).splitlines()
    most = limits.PROOF_LINES if "proof" in cell.tags else limits.CODE_LINES
    if cell.is_code and len(lines) > most and cell.id not in ("setup", "one-screen-code"):
        yield f"{len(lines)} lines"
    for line in lines:
        if len(line) > 79:
            yield f"{len(line)} characters in `{line.strip()[:30]}...`"


def names_of(statement):
    """The names that a statement takes from those before it, and those that it binds."""
    codes = [compile(ast.Module([statement], []), "cell", "exec")]
    taken, bound = set(), set()
    for code in codes:
        codes += filter(inspect.iscode, code.co_consts)  # functions, classes, comprehensions inside
        stored = bound if code is codes[0] else set(bound)
        for step in dis.get_instructions(code):
            if step.opname == "STORE_NAME":
                stored.add(step.argval)
            elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in stored:
                taken.add(step.argval)
    return taken, bound


@rule("start", "lesson", "museum")
def code_is_announced(notebook):
    """Before longer code that is open to read, say what it computes and what to look for; once for
    the same in several frameworks."""
    for before, cell in zip(notebook.cells, notebook.cells[1:]):
        count = len(cell.text.splitlines())
        if (cell.is_code and before.is_code and count > limits.UNANNOUNCED_LINES
                and cell.framework == before.framework
                and not cell.folded and "exercise" not in cell.tags):
            yield cell.id, f"{count} lines after another code cell"


@rule()
def story_needs_no_proof(notebook):
    """The story runs without proofs: define the name in a cell of the story, or rename it."""
    last = {}  # name -> the cell that bound it last
    for cell in notebook.code:
        for taken, bound in map(names_of, cell.statements):
            for name in sorted(taken & last.keys()):
                if "proof" in last[name].tags - cell.tags:
                    yield cell.id, f"`{name}` comes from the proof `{last[name].id}`"
            last |= dict.fromkeys(bound, cell)


@rule(of="code")
def proofs_have_titles(cell):
    """A proof begins with `# @title Proof: ...`, which is what is seen of it."""
    if "proof" in cell.tags and not cell.text.startswith("# @title Proof: "):
        yield "no title"


@rule("lesson", "museum", of="code")
def no_assert_in_the_story(cell):
    """Say in the story what is so, and assert it in a proof."""
    asserts = any(isinstance(statement, ast.Assert) for statement in cell.statements)
    if asserts and not cell.folded:
        yield "an assert"


@rule(of="cells")
def no_machine_paths(cell):
    """Leave out what is a path of one machine."""
    folders = "home|Users|root|tmp|usr|opt|mnt|var|content|kaggle"
    path = (rf"{re.escape(str(ROOT))}|(?<![\w.:/~])~?/({folders})/|\b[A-Z]:\\\w|site-packages")
    for text in [cell.text if cell.id != "setup" else "", *cell.output_texts]:
        if found := re.search(path, text):
            yield f"`{found[0]}`"


@rule("start", "lesson")
def sentence(notebook):
    """The running example of 00 to 07 begins as SENTENCE in rules/code.py."""
    cell = notebook.cell("sentence")
    if notebook.number <= "07" and not (cell and cell.text.startswith(SENTENCE)):
        yield "sentence", "missing or different"
