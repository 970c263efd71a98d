"""Rules of what is stored: order, warnings, figures, predictions, interactive pieces."""
import ast
import re
import tomllib

import numpy as np

from tools import ROOT

from .notebook import alt_of, figure_calls, figure_names, rule, rule_for_all

CLAIMS = tomllib.loads((ROOT / "tests/lessons/figures.toml").read_text("utf-8"))
AXES = CLAIMS.pop("axes")
TURNS = {"transposed": lambda maps: [each.T if len(each) == len(each.T) else each
                                     for each in maps],
         "upside down": lambda maps: [each[::-1] for each in maps],
         "mirrored": lambda maps: [each[:, ::-1] for each in maps],
         "with other signs": lambda maps: [-each for each in maps],
         "with its panels exchanged": lambda maps: maps[::-1]}


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


def label(text):
    """A label of a row or column; numbers compare as numbers."""
    try:
        return float(text)
    except ValueError:
        return str(text)


def floats(words):
    return [each for each in map(label, words) if isinstance(each, float)]


def panels(data):
    """What a figure's repr tells, [title, columns, rows, numbers]; curves are one, a line a row."""
    found = []
    for line in data.splitlines():
        title, is_map, columns = line.rpartition("columns ")
        sampled = re.fullmatch(r"(.*)\d+ x \d+, first row (.+), first column (.+)", line)
        if is_map:
            found.append([title, [*map(label, columns.split(", "))], [], []])
        elif sampled:
            ends = [floats(part.split()) for part in sampled.groups()[1:]]
            found.append([sampled[1], [*map(float, range(len(ends[0])))],
                          ["first row", "first column"], ends])
        elif found:
            words, count = line.split(), len(found[-1][1])
            if len(row := floats(words[-count:])) == count:
                found[-1][2].append(label(" ".join(words[:-count]).rstrip(":")))
                found[-1][3].append(row)
        elif across := floats(line.partition(": ")[2].split()):
            found.append(["", across, [], []])
    return [each for each in found if each[-1]]


def place(name, labels):
    return next(i for i, each in enumerate(labels) if str(each).startswith(str(label(name))))


def holds(claim, parts, values):
    """Whether a figure shows what figures.toml says of it."""
    *title, row, column, value = claim
    for (name, columns, rows, _), shown in zip(parts, values):
        if name.startswith("".join(title)):
            at = shown[place(row, rows), place(column, columns)]
            return abs(at - value) <= 0.006 + 0.02 * abs(value)
    raise ValueError(f"the figure has no panel {title}")


@rule()
def figures_show_what_they_say(notebook):
    """Write into tests/lessons/figures.toml what the figure's alternative text says."""
    for cell in notebook.code:
        stored = [text for data in cell.data for text in ["".join(data.get("text/plain", ""))]
                  if text.startswith("[picture] ")]
        for name, text in zip(figure_names(cell), stored):
            parts = panels(text.partition("\n")[2])
            if not name or not parts:
                continue
            values, claims = [np.array(part[3]) for part in parts], CLAIMS.get(name, [])
            for claim in claims:
                if not holds(claim, parts, values):
                    yield cell.id, f"the figure {name} doesn't show {claim}"
            for turn, turned in TURNS.items():
                others = turned(values)
                if any(one.shape != other.shape or np.abs(one - other).max() > 0.02
                       for one, other in zip(values, others)) and all(
                        holds(claim, parts, others) for claim in claims):
                    yield cell.id, f"{name} would show its claims {turn}, too"


@rule()
def axes_are_what_they_are_called(notebook):
    """Write into `axes` of tests/lessons/figures.toml what stands at the axes, from the text."""
    for cell in notebook.code:
        for given in figure_calls(cell):
            found = [ast.unparse(given[axis]).strip("'") for axis in (
                "ylabel", "xlabel", "row_label", "column_label") if axis in given]
            wanted = AXES.get(f"{notebook.place}:{cell.id}", [])
            if len(found) == 2 and all(found) and found != wanted:
                yield cell.id, f"axes {found}, not {wanted}"


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
