"""The piece of any model's heads: what it refuses and takes, its words, its maps as recorded."""
import re
from base64 import b64decode

import pytest
import torch
from pieces import attention, sees
from tools.draw._stills import described, in_node

from attention_lessons.pieces import attention_explorer, source

SOURCE = source("attention")
QUERIES, KEYS = list("abcd"), list("vwxyz")


def random_maps(batch=2, heads=3, queries=4, keys=5):
    return torch.randn(batch, heads, queries, keys).mul(3).softmax(-1)


def several():
    """Layers with different numbers of heads, and one of another size."""
    return {"encoder": [random_maps()], "cross": [random_maps(heads=2), random_maps(heads=2)],
            "decoder": [random_maps(queries=4, keys=4)]}


def zeros(*shape):
    return {"a": [torch.zeros(1, *shape)]}


@pytest.mark.parametrize("call, message", [
    (lambda: attention_explorer({"a": [torch.full((1, 1, 2, 2), 5.0)]}, ["a", "b"]),
     r"weights must lie in 0\.\.1, got 5"),
    (lambda: attention_explorer({}, ["a"]),
     "seen holds no weights: run the model while record_attention is open"),
    (lambda: attention_explorer((None, None)), "seen holds no weights.*"),
    (lambda: attention_explorer(several(), ["a", "b"]),
     "no map has 2 queries and 2 keys, as tokens and keys say: seen holds 4 x 4, 4 x 5"),
    (lambda: attention_explorer(several(), QUERIES, keys=KEYS, example=2),
     "example=2 is not in the batch, which holds 2"),
    (lambda: attention_explorer(several(), QUERIES, keys=KEYS, layers=[3]),
     r"there is no layer 3: choose from 'encoder' \(0\), 'cross, call 1' \(1\), .*"),
    (lambda: attention_explorer(several(), QUERIES, keys=KEYS, heads=[9]),
     r"no layer has a head among heads=\[9\]"),
    (lambda: attention_explorer(several(), QUERIES, keys=KEYS, columns=range(6)),
     r"columns= must be places in 0\.\.4"),
    (lambda: attention_explorer(zeros(1, 9, 9), image=torch.zeros(6, 8)),
     "an image of 6 x 8 has no square patches that make 9 tokens, or up to 8 less, .*"),
    (lambda: attention_explorer(zeros(4, 2, 9, 9), image=torch.zeros(6, 6)),
     "image= shows the patches of one whole image, but windows .*"),
])
def test_what_can_not_be_shown_is_refused(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


@pytest.mark.parametrize("shape", [(16, 257, 257), (40, 128, 128), (2, 4, 1600), (1, 2000, 2000)])
def test_its_hint_can_be_followed(shape):
    """ViT-L/14, many heads, more keys than Whisper's."""
    seen = {f"layer {i}": [torch.zeros(1, *shape)] for i in range(2)}
    with pytest.raises(ValueError, match=r"choose, say, (.*)$") as refused:
        attention_explorer(seen)
    hint = re.search("choose, say, (.*)$", str(refused.value)).group(1)
    assert eval(f"attention_explorer(seen, {hint})", {"attention_explorer": attention_explorer,
                                                      "seen": seen, "range": range}).state


def test_the_sentence_in_python_and_in_the_page_name_one_key():
    assert repr(attention()) == (
        "[explorer] Where heads look over dog, bites, man, today: 2 layers, 3 heads. "
        "encoder.0.attention, head 0: today looks most at man, 0.72.")
    for _ in range(20):  # diffuse rows, whose largest weights round to the same byte
        row = torch.rand(201).mul(0.02).softmax(-1)
        piece = attention_explorer({"a": [row[None, None, None]]}, ["q"], keys=range(201))
        best = int(row.argmax())
        assert f"q looks most at {best}, {row.max():#.2g}." in piece.title
        assert f"q looks at {best} {row.max():#.2g}" in described(piece).sentence
    even = attention_explorer({"a": [torch.full((1, 1, 1, 201), 1 / 201)]})
    assert "0 looks at all 201 alike, 0.0050." in even.title
    assert described(even).sentence == "a, head 0: 0 looks at all 201 alike (0.0050 each)."
    none = attention_explorer(zeros(1, 1, 3))
    assert described(none).sentence == "a, head 0: 0 looks at nothing."


def check(text):
    """Every map is the recorded one; the large map, its numbers and marks are the chosen head's."""
    torch.manual_seed(3)
    seen = several()
    piece = attention_explorer(seen, QUERIES, keys=KEYS, example=1)
    wanted = [seen["encoder"][0][1], seen["cross"][0][1], seen["cross"][1][1]]
    for layer, found in enumerate(in_node(text, piece.data, "unpack(given)")):
        found = torch.tensor(found)
        assert torch.allclose(found, wanted[layer], atol=0.5 / 255 + 1e-6)
        assert torch.allclose(found.amax(-1), wanted[layer].amax(-1), atol=1e-7)  # as recorded
    shown = described(piece, ("weights", "onKeyDown", {"key": "ArrowRight"}),
                      ("layer and head", "onKeyDown", {"key": "ArrowDown"}), source=text, asks=2)
    assert shown.state == {"layer": 1, "head": 0, "asks": 2} and shown.ui["key"] == 0
    weights = wanted[1][0]
    opacities = [cell["fill-opacity"] for cell in shown.of("cell")]
    assert torch.allclose(torch.tensor(opacities), 0.85 * weights.flatten(), atol=3e-3)
    assert f"c → v, {weights[2, 0]:.2f}" in shown.words
    best = KEYS[weights[2].argmax()]
    assert shown.sentence.startswith(f"cross, call 1, head 0: c looks at {best}")
    assert [span["name"] for span in shown.of("span") if "--part" in span.get("style", "")] == KEYS
    row, column = shown.of("lit")
    assert row["y"] == shown.of("cell")[10]["y"] - 1 and column["x"] == shown.of("cell")[0]["x"] - 1
    sheets = shown.of("canvas")
    assert len(sheets) == 3 + 2 + 2
    for sheet, small in zip(sheets, [head for each in wanted for head in each]):
        assert torch.allclose(torch.tensor(sheet["weights"]), small / small.max(), atol=5e-3)
    assert sheets[3]["y"] > sheets[0]["y"] and sheets[1]["x"] > sheets[0]["x"]
    framed, = shown.of("now", type="rect")
    assert (framed["x"], framed["y"]) == (sheets[3]["x"] - 1, sheets[3]["y"] - 1)
    assert in_node(text, [[4, 3, 2, 1], [8, 7, 6, 5], [12, 11, 10, 9]],
                   "shrink(given, 2)") == [[4 / 12, 2 / 12], [1, 10 / 12]]


def test_every_map_is_what_was_recorded():
    check(SOURCE)


@pytest.mark.parametrize("right, wrong", [
    ("tokens.map(next)", "tokens.map(next).reverse()"), ("byte / 255 * top", "byte / 255"),
    ("Math.max(most, weights[i][j])", "weights[i][j]"), ("y: EDGE + l * step", "y: EDGE"),
    ("share(weights[i][j])", "share(weights[j][i])"), ("ui.at ?? [asks,", "ui.at ?? [0,"),
])
def test_a_mistake_is_seen(right, wrong):
    sees(check, SOURCE, right, wrong)


def test_what_is_chosen_keeps_its_numbers():
    piece = attention_explorer(several(), QUERIES, keys=KEYS, layers=[2, "encoder"], heads=[1],
                               rows=range(2, 4), columns=range(1, 4))
    assert [(layer["number"], layer["heads"]) for layer in piece.data["layers"]] == [
        (0, [1]), (2, [1])]
    assert (piece.data["tokens"], piece.data["keys"]) == (["c", "d"], ["w", "x", "y"])
    piece.set(layer="cross, call 2", head=1, asks="c")
    assert piece.state == {"layer": 2, "head": 1, "asks": 2}
    assert described(piece).sentence.startswith("cross, call 2, head 1: c looks at")


def test_attentions_of_a_run_and_of_steps_with_a_cache():
    whole = torch.rand(2, 5, 5).tril()
    steps = [whole[None, :, :3, :3], whole[None, :, 3:4, :4], whole[None, :, 4:, :]]
    for seen in ({"layer 0": steps}, [[step] for step in steps], (whole[None],)):
        piece = attention_explorer(seen, "abcde")
        found = torch.tensor(in_node(SOURCE, piece.data, "unpack(given)"))[0]
        assert torch.allclose(found, whole, atol=0.5 / 255)
    windows = torch.rand(1, 4, 2, 3, 3)
    assert attention_explorer({"a": [windows]}, "abc", window=3).data["tokens"] == list("abc")


@pytest.mark.parametrize("shape, tokens, grid, first", [
    ((3, 32, 32), 17, (4, 4), "class"), ((32, 48), 24, (4, 6), "row 1 column 1"),
    ((3, 224, 224), 201, (14, 14), "class")])
def test_an_image_is_veiled_where_nobody_looks(shape, tokens, grid, first):
    weights = random_maps(1, 2, tokens, tokens)
    piece = attention_explorer({"a": [weights]}, image=torch.rand(shape))
    picture, names = piece.data["image"], piece.data["tokens"]
    assert (picture["rows"], picture["columns"]) == grid and len(names) == tokens
    assert names[0] == first and names[-1] == f"row {grid[0]} column {grid[1]}"
    assert b64decode(picture["source"].split(",")[1]).startswith(b"\x89PNG")
    shown, row = described(piece, asks=0), weights[0, 0, 0]
    veils = torch.tensor([veil["fill-opacity"] for veil in shown.of("veil")])
    wanted = 0.85 * (1 - row / row.max())[tokens - grid[0] * grid[1]:]
    assert torch.allclose(veils, wanted, atol=4e-3)


def test_many_heads_on_a_phone_and_a_page_below_a_megabyte(tmp_path):
    seen = {f"layer {i}": [random_maps(1, 40, 30, 30)] for i in range(2)}
    for width in (378, 940):
        for sheet in described(attention_explorer(seen), width=width).of("canvas"):
            assert sheet["x"] + len(sheet["weights"][0]) * sheet["across"] <= width
    large = attention_explorer({f"layer {i}": [random_maps(1, 12, 64, 64)] for i in range(12)})
    large.save(tmp_path / "heads.html")
    page = (tmp_path / "heads.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and len(page.encode()) < 1_000_000
