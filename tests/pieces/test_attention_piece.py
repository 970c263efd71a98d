"""The piece of any model's heads: its words, its maps as recorded."""
import torch
from pieces import attention, near
from tools.draw.pieces_in_node import described, in_node, scene

from attention_lessons.pieces import attention_explorer, source
from attention_lessons.pieces.attention import joined

QUERIES, KEYS = list("abcd"), list("vwxyz")


def random_maps(batch=2, heads=3, queries=4, keys=5):
    return torch.randn(batch, heads, queries, keys).mul(3).softmax(-1)


def unpacked(piece):
    found = in_node(source("attention"), piece.data, "unpack(given)")
    return [torch.tensor(layer) for layer in found]


def test_the_sentence_in_python_and_in_the_page_name_one_key():
    assert repr(attention()) == (
        "[explorer] Where heads look over dog, bites, man, today: 2 layers, 3 heads. "
        "encoder.0.attention, head 0: today looks most at man, 0.72.")
    rows = torch.rand(20, 201).mul(0.02).softmax(-1)  # whose largest weights round to one byte
    even, none = torch.full((201,), 1 / 201), torch.zeros(201)
    pieces = [attention_explorer({"a": [row[None, None, None]]}, ["q"], keys=range(201))
              for row in (*rows, even, none)]
    *looks, alike, nothing = in_node(source("attention"), [*map(scene, pieces)])
    for row, piece, look in zip(rows, pieces, looks):
        best = int(row.argmax())
        assert f"q looks most at {best}, {row.max():.2g}." in piece.title
        assert f"q looks at {best} {row.max():#.2g}" in look["sentence"]
    assert alike["sentence"] == "a, head 0: q looks at all 201 alike (0.0050 each)."
    assert nothing["sentence"] == "a, head 0: q looks at nothing."


def test_every_map_is_what_was_recorded():
    """The large map, its numbers and marks are the chosen head's."""
    cross = random_maps(heads=2), random_maps(heads=2)
    seen = {"encoder": [random_maps()], "cross": cross, "decoder": [random_maps(keys=4)]}
    piece = attention_explorer(seen, QUERIES, keys=KEYS)
    wanted = [seen["encoder"][0][0], cross[0][0], cross[1][0]]
    for found, maps in zip(unpacked(piece), wanted, strict=True):
        near(found, maps, 0.5 / 255 + 1e-6)
        near(found.amax(-1), maps.amax(-1), 1e-7)  # as recorded
    shown = described(piece, layer=1, head=1, asks=2, ui={"key": 0})
    weights, cells = wanted[1][1], shown.of("cell")
    near([cell["fill-opacity"] for cell in cells], 0.85 * weights.flatten(), 3e-3)
    assert f"c → v {weights[2, 0]:.2f}" in shown.words
    assert shown.sentence.startswith(
        f"cross, call 1, head 1: c looks at {KEYS[weights[2].argmax()]}")
    assert [span["name"] for span in shown.of("span") if "--part" in span.get("style", "")] == KEYS
    row, column = shown.of("lit")
    assert (row["y"], column["x"]) == (cells[10]["y"] - 1, cells[0]["x"] - 1)
    sheets = shown.of("canvas")
    for sheet, small in zip(sheets, [head for each in wanted for head in each], strict=True):
        near(sheet["weights"], small / small.max(), 5e-3)
    assert sheets[3]["y"] > sheets[0]["y"] and sheets[1]["x"] > sheets[0]["x"]
    assert [each["name"] for each in shown.of("over")] == ["0", "1", "2"]  # heads
    framed, = shown.of("now")
    assert (framed["x"], framed["y"]) == (sheets[4]["x"] - 1, sheets[4]["y"] - 27)  # a title
    assert framed["name"] == "cross, call 1, head 1"
    assert in_node(source("attention"), [[4, 3, 2, 1], [8, 7, 6, 5], [12, 11, 10, 9]],
                   "shrink(given, 2)") == [[8 / 12, 6 / 12], [1, 10 / 12]]
    fewer = described(piece, layer=2, head=2, asks=0)  # that call has two heads
    assert fewer.sentence.startswith("cross, call 2, head 1: a looks at")


def test_attentions_of_a_run_and_of_steps_with_a_cache():
    whole = torch.rand(1, 2, 5, 5).tril()
    steps = [whole[:, :, :3, :3], whole[:, :, 3:4, :4], whole[:, :, 4:, :]]
    across = [whole[:, :, i:i + 1] for i in range(5)]
    windows = torch.stack([whole, whole / 2], 1)
    for seen in ({"layer 0": steps}, [[step] for step in steps], (whole,), {"a": across},
                 {"a": [windows]}):
        found, = unpacked(attention_explorer(seen, "abcde"))
        near(found, whole[0], 0.5 / 255)
    for others in ([steps[0], steps[1][:, :1]], [whole[:, :, :2]] * 2):  # other heads, no steps
        assert joined(others, None) is others


def test_many_heads_on_a_phone():
    seen = {f"layer {i}": [random_maps(1, 40, 30, 30)] for i in range(2)}
    for width in (378, 940):
        sheets = described(attention_explorer(seen), width=width).of("canvas")
        assert max(sheet["x"] + 30 * sheet["across"] for sheet in sheets) <= width


def test_words_and_sentence_follow_the_pointer():
    weights = torch.eye(4)[[1, 2, 3, 0]][None, None]
    piece = attention_explorer([weights], "abcd")
    assert "d looks at a" in described(piece).sentence
    pointed = described(piece, ui={"at": [1, 0]})
    assert "b looks at c" in pointed.sentence
    assert [each.get("class") for each in pointed.of("span")].index("asks") == 1
