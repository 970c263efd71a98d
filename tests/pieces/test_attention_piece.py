"""The piece of any model's heads: its words, its maps as recorded."""
import torch
from pieces import attention
from tools.draw._stills import described, in_node, scene

from attention_lessons.pieces import attention_explorer, source
from attention_lessons.pieces.attention import joined

QUERIES, KEYS = list("abcd"), list("vwxyz")


def random_maps(batch=2, heads=3, queries=4, keys=5):
    return torch.randn(batch, heads, queries, keys).mul(3).softmax(-1)


def several():
    """Layers with different numbers of heads, and one of another size."""
    return {"encoder": [random_maps()], "cross": [random_maps(heads=2), random_maps(heads=2)],
            "decoder": [random_maps(queries=4, keys=4)]}


def unpacked(piece):
    found = in_node(source("attention"), piece.data, "unpack(given)")
    return [torch.tensor(layer) for layer in found]


def test_the_sentence_in_python_and_in_the_page_name_one_key():
    assert repr(attention()) == (
        "[explorer] Where heads look over dog, bites, man, today: 2 layers, 3 heads. "
        "encoder.0.attention, head 0: today looks most at man, 0.72.")
    rows = torch.rand(20, 201).mul(0.02).softmax(-1)  # whose largest weights round to one byte
    pieces = [attention_explorer({"a": [row[None, None, None]]}, ["q"], keys=range(201))
              for row in rows]
    looks = in_node(source("attention"), [*map(scene, pieces)])
    for row, piece, look in zip(rows, pieces, looks, strict=True):
        best = int(row.argmax())
        assert f"q looks most at {best}, {row.max():.2g}." in piece.title
        assert f"q looks at {best} {row.max():#.2g}" in look["sentence"]
    even = attention_explorer({"a": [torch.full((1, 1, 1, 201), 1 / 201)]})
    assert described(even).sentence == "a, head 0: 0 looks at all 201 alike (0.0050 each)."
    none = attention_explorer({"a": [torch.zeros(1, 1, 1, 3)]})
    assert described(none).sentence == "a, head 0: 0 looks at nothing."


def test_every_map_is_what_was_recorded():
    """The first example's; the large map, its numbers and marks are the chosen head's."""
    seen = several()
    piece = attention_explorer(seen, QUERIES, keys=KEYS)
    wanted = [seen["encoder"][0][0], seen["cross"][0][0], seen["cross"][1][0]]
    for found, maps in zip(unpacked(piece), wanted, strict=True):
        assert torch.allclose(found, maps, atol=0.5 / 255 + 1e-6)
        assert torch.allclose(found.amax(-1), maps.amax(-1), atol=1e-7)  # as recorded
    shown = described(piece, ("weights", "onKeyDown", {"key": "ArrowRight"}),
                      ("layer and head", "onKeyDown", {"key": "ArrowDown"}), asks=2, head=1)
    assert shown.state == {"layer": 1, "head": 1, "asks": 2} and shown.ui["key"] == 0
    weights = wanted[1][1]
    opacities = [cell["fill-opacity"] for cell in shown.of("cell")]
    assert torch.allclose(torch.tensor(opacities), 0.85 * weights.flatten(), atol=3e-3)
    assert f"c → v, {weights[2, 0]:.2f}" in shown.words
    best = KEYS[weights[2].argmax()]
    assert shown.sentence.startswith(f"cross, call 1, head 1: c looks at {best}")
    assert [span["name"] for span in shown.of("span") if "--part" in span.get("style", "")] == KEYS
    row, column = shown.of("lit")
    assert row["y"] == shown.of("cell")[10]["y"] - 1 and column["x"] == shown.of("cell")[0]["x"] - 1
    sheets = shown.of("canvas")
    assert len(sheets) == 3 + 2 + 2
    for sheet, small in zip(sheets, [head for each in wanted for head in each]):
        assert torch.allclose(torch.tensor(sheet["weights"]), small / small.max(), atol=5e-3)
    assert sheets[3]["y"] > sheets[0]["y"] and sheets[1]["x"] > sheets[0]["x"]
    framed, = shown.of("now", type="rect")
    assert (framed["x"], framed["y"]) == (sheets[4]["x"] - 1, sheets[4]["y"] - 27)  # a title
    assert in_node(source("attention"), [[4, 3, 2, 1], [8, 7, 6, 5], [12, 11, 10, 9]],
                   "shrink(given, 2)") == [[4 / 12, 2 / 12], [1, 10 / 12]]
    fewer = described(piece, layer=2, head=2, asks=0)  # that call has two heads
    assert fewer.sentence.startswith("cross, call 2, head 1: a looks at")


def test_attentions_of_a_run_and_of_steps_with_a_cache():
    whole = torch.rand(2, 5, 5).tril()
    steps = [whole[None, :, :3, :3], whole[None, :, 3:4, :4], whole[None, :, 4:, :]]
    for seen in ({"layer 0": steps}, [[step] for step in steps], (whole[None],)):
        found, = unpacked(attention_explorer(seen, "abcde"))
        assert torch.allclose(found, whole, atol=0.5 / 255)
    across = [whole[None, :, i:i + 1] for i in range(5)]
    assert torch.allclose(unpacked(attention_explorer({"a": across}, "abcde"))[0], whole, atol=.01)
    assert joined([whole[None, :, :3, :3], whole[None, :1, 3:4, :4]]) is None  # other heads
    windows = torch.rand(1, 4, 2, 3, 3)
    found, = unpacked(attention_explorer({"a": [windows]}, "abc"))
    assert torch.allclose(found, windows[0, 0], atol=0.5 / 255)


def test_many_heads_on_a_phone():
    seen = {f"layer {i}": [random_maps(1, 40, 30, 30)] for i in range(2)}
    for width in (378, 940):
        for sheet in described(attention_explorer(seen), width=width).of("canvas"):
            assert sheet["x"] + len(sheet["weights"][0]) * sheet["across"] <= width


def test_the_small_maps_columns_are_numbered_by_head():
    assert [each["name"] for each in described(attention()).of("over")] == ["0", "1", "2"]
