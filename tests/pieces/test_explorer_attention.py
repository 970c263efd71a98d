"""The explorer of any model: what it refuses, how its page is packed, what it says and marks."""
from base64 import b64decode

import pytest
import torch
from javascript import compute, furthest, swap
from pieces import attention
from screen import expect, result, said, show

from d2l_ext import MultiHeadAttention, record_attention
from attention_lessons.pieces import attention_explorer, source
from attention_lessons.pieces.attention import MOST_WEIGHTS


def random_maps(batch=2, heads=3, queries=4, keys=5):
    return torch.randn(batch, heads, queries, keys).mul(3).softmax(-1)


def several():
    """Layers with different numbers of heads, and one of another size."""
    return {"encoder": [random_maps()], "cross": [random_maps(heads=2), random_maps(heads=2)],
            "decoder": [random_maps(queries=4, keys=4)]}


QUERIES, KEYS = list("abcd"), list("vwxyz")


# ---- in Python -----------------------------------------------------------------------------------

def test_words_and_numbers_in_the_repr():
    assert repr(attention()) == (
        "[explorer] Where heads look over dog, bites, man, today: 2 layers, 3 heads.\n"
        "encoder.0.attention, head 0: today looks at man 0.72, dog 0.16, today 0.10.")
    assert attention_explorer(several(), QUERIES, keys=KEYS).title == (
        "Where heads look over a, b, c, d: 3 layers, 2–3 heads. Left out: 1 map of other sizes.")


def test_it_shows_what_was_recorded():
    model, X = MultiHeadAttention(6, 2), torch.randn(1, 3, 6)
    with record_attention(model) as seen:
        model(X, X, X)
    explorer = attention_explorer(seen, ["dog", "bites", "man"])
    explorer.set(layer="attention", head=1, asks="bites")
    assert explorer.state == {"layer": 0, "head": 1, "asks": 1}


@pytest.mark.parametrize("call, message", [
    (lambda: attention_explorer({"a": [torch.full((1, 1, 2, 2), 5.0)]}, ["a", "b"]),
     r"^weights must lie in 0\.\.1, got 5$"),
    (lambda: attention_explorer({"a": [torch.full((1, 1, 2, 2), torch.nan)]}, ["a", "b"]),
     r"^weights must lie in 0\.\.1, got nan$"),
    (lambda: attention_explorer({"a": [torch.full((1, 1, 2, 2), 1.002)]}, ["a", "b"]),
     r"^weights must lie in 0\.\.1, got 1\.002$"),
    (lambda: attention_explorer({"a": [torch.full((1, 1, 2, 2), -0.002)]}, ["a", "b"]),
     r"^weights must lie in 0\.\.1, got -0\.002$"),
    (lambda: attention_explorer({}, ["a"]),
     "^seen holds no weights: run the model while record_attention is open$"),
    (lambda: attention_explorer({"a": []}, ["a"]), "^seen holds no weights"),
    (lambda: attention_explorer(several(), ["a", "b"]),
     "^no map has 2 queries and 2 keys, as tokens and keys say: seen holds 4 x 4, 4 x 5$"),
    (lambda: attention_explorer(several(), QUERIES, example=2),
     "^example=2 is not in the batch, which holds 2$"),
    (lambda: attention_explorer({"a": [torch.zeros(1, 1, 512, 512)]}, ["a"] * 512),
     "^shows up to 256 tokens, got 512: run the model on fewer$"),
    (lambda: attention_explorer({"a": [torch.zeros(1, 40, 128, 128)]}, ["a"] * 128),
     r"^shows up to 650,000 weights, got 655,360: give fewer layers: \{name: seen\[name\]"),
    (lambda: attention_explorer({"a": [torch.zeros(1, 1, 2, 0)]}, ["a", "b"], keys=[]),
     "^there must be tokens and keys, got 2 and 0$"),
    (lambda: attention_explorer({"a": [torch.zeros(1, 1, 9, 9)]}, image=torch.zeros(6, 8)),
     "^an image of 6 x 8 has no square patches that make 9 tokens, or 8 and a class token$"),
    (lambda: attention_explorer({"a": [torch.zeros(1, 1, 9, 9)]}, image=torch.zeros(1, 3, 6, 8)),
     r"^image must have shape .* or \(channels, height, width\), got \(1, 3, 6, 8\)$"),
])
def test_what_can_not_be_shown_is_refused_with_its_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weights_that_rounding_put_beside_0_and_1_are_shown():
    explorer = attention_explorer({"a": [torch.tensor([[[[1.0009, -0.0009]]]])]}, ["a"], keys="bc")
    assert [*b64decode(explorer.data["maps"])] == [100, 0]


def large():
    """12 layers of 12 heads over 64 tokens."""
    maps = torch.randn(12, 1, 12, 64, 64).softmax(-1)
    assert maps.numel() < MOST_WEIGHTS
    words = [f"word{i}" for i in range(64)]
    return attention_explorer({f"encoder.layer.{i}": [each] for i, each in enumerate(maps)}, words)


def test_a_page_of_144_heads_stays_below_a_megabyte():
    assert len(large().html().encode()) < 1_000_000


# ---- the page's own data -------------------------------------------------------------------------

def distance(folder, text):
    """How far the maps in JavaScript are from those given."""
    seen = several()
    data = attention_explorer(seen, QUERIES, keys=KEYS, example=1).data
    ours = compute(folder, text, "piece.unpack(given)", data)
    wanted = {0: seen["encoder"][0], 1: seen["cross"][0], 2: seen["cross"][1]}
    assert [layer["name"] for layer in data["layers"]] == ["encoder", "cross, call 1",
                                                           "cross, call 2"]
    return furthest(ours, {i: each[1] for i, each in wanted.items()})


def test_javascript_has_the_maps_to_the_hundredth(tmp_path):
    assert distance(tmp_path, source("attention")) < 0.005 + 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("tokens.map(row)", "tokens.map(row).reverse()"), ("place += keys", "place + keys"),
    ("percent / 100", "percent / 255"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("attention"), right, wrong)) > 0.05


@pytest.mark.parametrize("shape, tokens, grid, first", [
    ((3, 32, 32), 17, (4, 4), "class"), ((32, 48), 24, (4, 6), "row 1 column 1"),
    ((1, 6, 8), 13, (3, 4), "class"), ((3, 224, 224), 197, (14, 14), "class")])
def test_patches_of_an_image(shape, tokens, grid, first):
    image = torch.rand(shape)
    explorer = attention_explorer({"a": [random_maps(1, 2, tokens, tokens)]}, image=image)
    picture, names = explorer.data["image"], explorer.data["tokens"]
    assert (picture["rows"], picture["columns"]) == grid and len(names) == tokens
    assert names[0] == first and names[-1] == f"row {grid[0]} column {grid[1]}"
    assert max(picture["height"], picture["width"]) <= 128


RAMP = torch.arange(1024.0).view(2, 512)


@pytest.mark.parametrize("image, tokens, size, pixels", [
    (torch.tensor([[-1., 0, 1], [4, 2, 1]]), 6, (2, 3),
     [each for grey in (0, 51, 102, 255, 153, 102) for each in [grey] * 3]),
    (torch.tensor([0., 2, 5, 9]).view(4, 1, 1), 1, (1, 1), [0, 102, 255]),  # 9 is no colour
    (torch.full((2, 2), 7.0), 1, (2, 2), [0] * 12), (RAMP, 256, (1, 128), None),
    (RAMP.T, 256, (128, 1), None),
])
def test_the_pixels_of_an_image(image, tokens, size, pixels):
    explorer = attention_explorer({"a": [random_maps(1, 2, tokens, tokens)]}, image=image)
    picture = explorer.data["image"]
    assert (picture["height"], picture["width"]) == size
    assert pixels is None or [*b64decode(picture["pixels"])] == pixels


# ---- in a browser --------------------------------------------------------------------------------

def click(canvas, x, y):
    box = canvas.bounding_box()
    canvas.click(position={"x": x * box["width"], "y": y * box["height"]})


def test_the_mouse_chooses_a_head_a_row_and_a_word(page):
    piece = show(page, attention())
    grid, big = piece.locator("canvas").all()
    click(grid, 0.9, 0.9)
    said(piece).to_contain_text("encoder.1.attention, head 2: today looks at")
    click(big, 0.6, 0.2)
    said(piece).to_contain_text("head 2: dog looks at")
    piece.locator(".line span", has_text="man").click()
    said(piece).to_contain_text("head 2: man looks at")
    expect(piece.locator(".line .asks")).to_have_text("man")
    assert page.errors == []


def test_an_image_is_bright_where_a_patch_looks(page):
    weights = torch.full((1, 1, 5, 5), 0.05)
    weights[..., 3] = 0.8  # row 2 column 1, after the class token
    explorer = attention_explorer({"layer": [weights]}, image=torch.tensor([[1., 0], [0, 0]]))
    piece = show(page, explorer)
    said(piece).to_contain_text("row 2 column 2 looks at row 2 column 1 0.80")
    dark = piece.locator("canvas").nth(2).evaluate("""(canvas) => [[0.25, 0.25], [0.75, 0.25],
        [0.25, 0.75], [0.75, 0.6]].map(([x, y]) => canvas.getContext("2d").getImageData(
            x * canvas.width, y * canvas.height, 1, 1).data[0])""")
    assert dark[2] < 20 and min(dark[0], dark[1], dark[3]) > 150 and page.errors == []


def test_144_heads_of_64_tokens_answer_by_keyboard(page):
    piece = show(page, large())
    piece.locator("select").nth(1).focus()
    first = result(piece)
    page.keyboard.press("ArrowDown")
    said(piece).to_contain_text("encoder.layer.0, head 1: word63")
    assert "head 1" not in first and page.errors == []
