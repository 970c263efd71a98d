"""Figures whose numbers differ between machines: nbval compares their labels alone. Here their
cells run with a clock that is a formula, and what they draw is compared with it."""
import pytest
import torch
from rules.notebook import all_notebooks
from torch import nn

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
        "torch": torch, "nn": nn, "F": nn.functional, "fastest": fastest,
        "slope": lambda x, y: (1.0, 0.0), "products": says("explicit"),
        "curves": lambda x, lines, **more: found.update(x=x, lines=lines),
        "Convolution": lambda d: says("convolution"), "Recurrence": lambda d: says("recurrence")}
    for cell in cells:
        exec(CELLS[number, cell], names)
    return found["x"], {name.partition(":")[0]: torch.as_tensor(line).tolist()
                        for name, line in found["lines"].items()}


THREE = {name: name for name in ("convolution", "recurrence", "products")}
FUSED = {"fused": "products", "weights written out": "explicit"}
FIGURES = {  # lesson and cells -> the last one's lines with their layers, and what it draws of one
    ("07", "time"): (THREE, lambda layer, n: seconds(layer, n, 256)),
    ("07", "time", "clock-crossover"): (THREE, lambda layer, n: seconds(layer, n, 64)),
    ("10", "clock-memory"): (FUSED, lambda layer, n: seconds(layer, n, 64) / n**2)}


@pytest.mark.parametrize("cells", FIGURES, ids=lambda cells: f"{cells[0]}-{cells[-1]}")
def test_each_line_is_what_was_measured_under_its_name(cells, monkeypatch):
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", says("products"))
    x, lines = drawn(*cells)
    layers, shown = FIGURES[cells]
    assert lines.keys() == layers.keys()
    for name, line in lines.items():
        assert line == pytest.approx([shown(layers[name], n) for n in x]), name
