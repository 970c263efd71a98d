"""Rules of what a code cell may hold, and of the running example."""
import ast
import re
import symtable

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
    """A projector shows 15 lines of 79 characters: longer code belongs in d2l_ext."""
    lines = (cell.text if cell.is_code else "\n".join(fences(cell))).splitlines()
    most = 24 if "proof" in cell.tags else 15
    if cell.is_code and len(lines) > most and cell.id not in ("setup", "one-screen-code"):
        yield f"{len(lines)} lines"
    for line in lines:
        if len(line) > 79:
            yield f"{len(line)} characters in `{line.strip()[:30]}...`"


def names_of(statement):
    """The names that a statement takes from those before it, and those that it binds."""
    tables = [symtable.symtable(ast.unparse(statement), "cell", "exec")]
    bound = {name.get_name() for name in tables[0].get_symbols()
             if name.is_assigned() or name.is_imported()}
    taken = set()
    for table in tables:
        tables += table.get_children()  # functions, classes and comprehensions inside
        taken |= {name.get_name() for name in table.get_symbols()
                  if name.is_referenced() and name.is_global()}
    if isinstance(statement, ast.AugAssign):
        taken |= bound
    elif not isinstance(statement, ast.Assign):
        taken -= bound
    passing = {name.id for node in ast.walk(statement) if isinstance(node, ast.comprehension)
               for name in ast.walk(node.target) if isinstance(name, ast.Name)}
    return taken - passing, bound - passing  # from Python 3.12 on these count as the cell's


@rule()
def core_runs_alone(notebook):
    """A lesson runs without its deeper cells, the story without its proofs: define the name in a
    core cell, or rename it."""
    last = {}  # name, with the framework whose cells share it -> the cell that bound it last
    for cell in notebook.code:
        core = "core" in cell.tags
        for statement in cell.statements:
            taken, bound = ({(cell.framework, name) for name in names}
                            for names in names_of(statement))
            for place in sorted(taken & last.keys()):
                if core and "deeper" in last[place].tags:
                    yield cell.id, f"`{place[1]}` comes from the deeper cell `{last[place].id}`"
                if core and "proof" in last[place].tags - cell.tags and not cell.folded:
                    yield cell.id, f"`{place[1]}` comes from the proof `{last[place].id}`"
            if core or not isinstance(statement, (ast.Import, ast.ImportFrom)):
                last |= dict.fromkeys(bound, cell)


@rule(1, of="code")
def proofs_stand_apart(cell):
    """A proof has a cell of its own, `# @title Proof: ...`; the story shows no assert."""
    asserts = any(isinstance(statement, ast.Assert) for statement in cell.statements)
    if "proof" in cell.tags and not cell.text.startswith("# @title Proof: "):
        yield "no title"
    elif asserts and "core" in cell.tags and not cell.folded:
        yield "an assert in the story"


@rule(of="cells")
def no_machine_paths(cell):
    """Leave out what is a path of one machine."""
    folders = "home|Users|root|tmp|usr|opt|mnt|var|content|kaggle"
    path = (rf"{re.escape(str(ROOT))}|(?<![\w.:/~])~?/({folders})/|\b[A-Z]:\\\w|site-packages")
    for text in [cell.text if cell.id != "setup" else "", *cell.output_texts]:
        if found := re.search(path, text):
            yield f"`{found[0]}`"


@rule(0, 6)
def sentence(notebook):
    """The running example begins as SENTENCE in rules/code.py."""
    cell = notebook.cell("sentence")
    if not cell or not cell.text.startswith(SENTENCE):
        yield "sentence", "missing or different"
