"""What a map paints, pixel by pixel: rows are queries and go down, columns are keys and go right,
0 is paper and 1 the darkest."""
import base64


from attention_lessons.pieces import source

WEIGHTS = [[0.0, 1.0, 0.5], [0.25, 0.0, 0.75]]
PAINT = """async ([address, weights]) => {
  const { map } = await import(address);
  const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 30 });
  const context = canvas.getContext("2d");
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => (0xff000000 | i) >>> 0);  // in red
  map(context, { ramp }, weights, 5, 4, 10, 12);
  const red = (i, j) => context.getImageData(5 + 10 * j + 5, 4 + 12 * i + 6, 1, 1).data[0];
  return weights.map((row, i) => row.map((_, j) => red(i, j)));
}"""


def painted(page, text):
    """The red of the middle of each cell."""
    page.set_content("<!doctype html><title>map</title>")
    address = "data:text/javascript;base64," + base64.b64encode(text.encode()).decode()
    return page.evaluate(PAINT, [address, WEIGHTS])


def test_each_cell_has_its_weight(page):
    assert painted(page, source("heads")) == [[round(255 * weight + 1e-9) for weight in row]
                                              for row in WEIGHTS]
