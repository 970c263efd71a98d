"""Words on the pieces' canvases in a real browser's font: none is cut off, none hides another."""
import pytest
from pieces import PIECES
from screen import PAINTED, show

# What is written on each canvas since it was wiped: its box in CSS pixels.
RECORD = """() => {
  if (window.written) return written.clear();
  const { prototype } = CanvasRenderingContext2D;
  const { fillText, clearRect } = prototype;
  window.written = new Map();
  prototype.clearRect = function (...box) {
    written.set(this.canvas, []);
    clearRect.apply(this, box);
  };
  prototype.fillText = function (text, x, y) {
    const measured = this.measureText(text);
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = measured;
    const { actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = measured;
    written.get(this.canvas)?.push({ text, box: [x - left, y - up, x + right, y + down] });
    fillText.call(this, text, x, y);
  };
}"""
FAULTS = """() => [...written].flatMap(([canvas, texts]) => {
  if (!canvas.isConnected) return [];
  const [wide, high] = [parseFloat(canvas.style.width), parseFloat(canvas.style.height)];
  const cut = texts.filter(({ box: [left, top, right, bottom] }) =>
    left < -0.5 || top < -0.5 || right > wide + 0.5 || bottom > high + 0.5);
  const meet = (a, b) => Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 0.5
    && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > 0.5;
  const hidden = texts.filter((one, i) => texts.slice(i + 1).some(({ box }) => meet(one.box, box)));
  return [...cut.map(({ text }) => `${text} is cut off`),
    ...hidden.map(({ text }) => `${text} meets another`)];
})"""
WIDE = "<style>.d2l-piece { font-family: 'DejaVu Sans', Verdana !important }</style>"


@pytest.mark.parametrize("piece", PIECES)
def test_words_on_a_canvas_are_whole(page, piece):
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(RECORD)
        shown = show(page, PIECES[piece](), WIDE)
        if piece == "dates":
            shown.get_by_label("decoder", exact=True).check()  # it has words, not letters alone
        page.evaluate(PAINTED)
        assert page.evaluate("() => [...written.values()].flat().length > 0") or piece in (
            "pooling", "order", "tiles")
        assert page.evaluate(FAULTS) == [], width
    assert page.errors == []


def test_a_word_that_is_cut_off_is_found(page):
    page.evaluate(RECORD)
    page.evaluate("""() => {
      const canvas = document.createElement("canvas");
      Object.assign(canvas.style, { width: "300px", height: "150px" });
      document.body.append(canvas);
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, 300, 150);
      for (const x of [100, 104, 290, -4]) context.fillText("word", x, 70);
    }""")
    assert page.evaluate(FAULTS) == ["word is cut off", "word is cut off", "word meets another"]
