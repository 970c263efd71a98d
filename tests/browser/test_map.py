"""What a map paints, pixel by pixel: rows are queries and go down, columns are keys and go right, 0 is paper and 1 the darkest."""
import base64

import pytest
from d2l_ext.explorers.base import HERE

SHARED = (HERE / "shared.js").read_text(encoding="utf-8")
WEIGHTS = [[0.0, 1.0, 0.5], [0.25, 0.0, 0.75]]
PAINT = """async ([address, weights]) => {
  const { map } = await import(address);
  const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 30 });
  const context = canvas.getContext("2d");
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => (0xff000000 | i) >>> 0);  // red is the weight
  map(context, { ramp }, weights, 5, 4, 10, 12);
  return weights.map((row, i) => row.map((_, j) => context.getImageData(5 + 10 * j + 5, 4 + 12 * i + 6, 1, 1).data[0]));
}"""


def painted(page, source):
    """The red of the middle of each cell."""
    page.set_content("<!doctype html><title>map</title>")
    address = "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()
    return page.evaluate(PAINT, [address, WEIGHTS])


def test_each_cell_has_its_weight(page):
    assert painted(page, SHARED) == [[round(255 * weight + 1e-9) for weight in row] for row in WEIGHTS]


@pytest.mark.parametrize("right, wrong", [
    ("for (const row of weights)", "for (const row of transpose(weights))"),  # transposed
    ("width * across, height * down", "height * across, width * down"),  # stretched the other way
    ("Math.trunc(weight * 255 + 0.5)", "255 - Math.trunc(weight * 255 + 0.5)"),  # dark is little
])
def test_a_wrong_map_is_seen(page, right, wrong):
    assert SHARED.count(right) == 1
    assert painted(page, SHARED.replace(right, wrong)) != painted(page, SHARED)
