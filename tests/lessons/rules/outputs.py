"""Rules of what is stored: order, warnings, figures, predictions, interactive pieces."""
import ast
import re

from .notebook import alt_of, figure_names, rule, rule_for_all


@rule()
def run_in_order(notebook):
    """Outputs come from one run of all cells, in order: `make notebooks`."""
    for wanted, cell in enumerate(notebook.code, 1):
        if cell.count != wanted:
            yield cell.id, f"its number is {cell.count}, not {wanted}"


@rule(of="code")
def clean_outputs(cell):
    """Stop it at its source: it worries readers, or varies."""
    unclean = r"\b\w*Warning\b|\bat 0x[0-9a-f]{6,}|\x1b\[|FloatProgress\("
    if any(output.get("name") == "stderr" for output in cell.outputs):
        yield "it writes to stderr"
    for found in filter(None, (re.search(unclean, text) for text in cell.output_texts)):
        yield f"`{found[0]}` in its output"


@rule(of="code")
def picture_cells(cell):
    """Give a picture a cell of one line, picture("NN_name"), tagged picture: `make notebooks`."""
    found = re.fullmatch(r'picture\("\w+"\)', cell.text.strip())
    if ("picture" in cell.tags) != bool(found):
        yield "tag and code differ"


@rule(of="code")
def alt_text(cell):
    """Say what a figure shows, in alt.toml or in the <desc> of its SVG."""
    for data in cell.data:
        if any(kind.startswith("image/") for kind in data):
            yield "a bare image, which has no words: draw it with plotting"
        for image in re.findall(r"<img\b[^>]*>", "".join(data.get("text/html", ""))):
            if not re.search(r'alt="[^"]{20,}"', image):
                yield "words of at least 20 characters are missing"


@rule()
def figures_are_named(notebook):
    """A figure is named after its cell, "NN-ID", unless it changes under `sliders`."""
    for cell in notebook.code:
        if "\nsliders(" in cell.text:
            continue
        for name in figure_names(cell):
            if not f"{name}-".startswith(f"{notebook.number}-{cell.id}-"):
                yield cell.id, f"a figure is named `{name}`"


@rule_for_all
def words_have_figures(notebooks):
    """A lesson or its deeper notebook draws each entry of lesson_NN/alt.toml."""
    drawn = {}
    for notebook in notebooks:
        drawn.setdefault(notebook.number, set()).update(notebook.alt)
    for number, used in drawn.items():
        for entry in sorted(alt_of(number).keys() - used):
            yield f"lesson_{number}/alt.toml", entry, "nothing draws this entry"


@rule()
def predictions(notebook):
    """What is to be predicted is asked for by the cell before, and not given away."""
    for before, cell in zip(notebook.cells, notebook.cells[1:]):
        if cell.tags & {"predict", "explorer"} and "predict" not in before.text.lower():
            yield cell.id, "the cell before it asks for no prediction"
        if "predict" in cell.tags and any(isinstance(node, ast.Assert) for node in cell.nodes):
            yield cell.id, "an assert above the folded output gives it away"


@rule_for_all
def few_exemptions(notebooks):
    """Two cells at most go unchecked by nbval, and say why: `# not compared, because ...`."""
    found = [(notebook.name, cell) for notebook in notebooks for cell in notebook.code
             if "nbval" in f"{cell.tags} {cell.text}".lower()]
    for name, cell in found[2:]:
        yield name, cell.id, "one cell too many"
    for name, cell in found:
        if not re.search(r"#.*\b(because|since|differs?|varies|vary)\b", cell.text):
            yield name, cell.id, "no reason"
