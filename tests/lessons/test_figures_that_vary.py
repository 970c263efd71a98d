"""Figures whose numbers differ between machines: nbval compares their labels alone. Here their
cells run with a clock that is a formula, and what they draw is compared with it."""
from types import SimpleNamespace

import pytest
import torch
from rules.notebook import all_notebooks

CELLS = {(notebook.number, cell.id): cell.text
         for notebook in all_notebooks() for cell in notebook.cells}
SPEED = {"convolution": 2.0, "recurrence": 3.0, "products": 5.0, "explicit": 7.0}


def seconds(name, n, d):
    return SPEED[name] * n * d ** 1.5


def says(name):
    """A layer, or what makes one, whose output is its name."""
    return lambda *arguments, **more: name


def drawn(number, *cells):
    """The x and the lines of the last cell's curves, by name up to a colon."""
    def fastest(trials, repeats):
        return [seconds(layer(torch.zeros(1, 1, 1)), n, d) for layer, n, d in trials]

    found = {}
    names = {
        "torch": torch, "fastest": fastest, "slope": lambda x, y: (1.0, 0.0),
        "curves": lambda x, lines, **more: found.update(x=x, lines=lines),
        "F": SimpleNamespace(scaled_dot_product_attention=says("products")),
        "nn": SimpleNamespace(functional=SimpleNamespace(
            scaled_dot_product_attention=says("products"))),
        "products": says("explicit"),
        "Convolution": lambda d: says("convolution"), "Recurrence": lambda d: says("recurrence")}
    for cell in cells:
        exec(CELLS[number, cell], names)
    return found["x"], {name.partition(":")[0]: torch.as_tensor(line).tolist()
                        for name, line in found["lines"].items()}


def measured(names, d):
    """What to draw: the seconds of each layer, under the name of its line."""
    return lambda x: {line: [seconds(layer, n, d) for n in x] for line, layer in names.items()}


THREE = {name: name for name in ("convolution", "recurrence", "products")}
FUSED = {"fused": "products", "weights written out": "explicit"}
FIGURES = {  # lesson and cells -> what the last one has to draw
    ("07", "time"): measured(THREE, 256), ("07", "time", "clock-crossover"): measured(THREE, 64),
    ("10", "clock-memory"): lambda x: {
        line: [seconds(layer, n, 64) / n**2 for n in x] for line, layer in FUSED.items()}}


@pytest.mark.parametrize("cells", FIGURES, ids=lambda cells: f"{cells[0]}-{cells[-1]}")
def test_each_line_is_what_was_measured_under_its_name(cells):
    x, lines = drawn(*cells)
    wanted = FIGURES[cells](x)
    assert lines.keys() == wanted.keys()
    for name, line in lines.items():
        assert line == pytest.approx(wanted[name]), name
