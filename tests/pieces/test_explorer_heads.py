"""The explorer of 02: what it refuses, its words, and its mathematics against the package's."""
import pytest
import torch
from javascript import compute, furthest, swap
from pieces import FEATURES, TOKENS, X, heads
from test_every_explorer import any_heads

from d2l_ext import MultiHeadAttention, RotaryEmbedding
from attention_lessons.pieces import heads_explorer, source


def test_words_and_numbers_in_the_repr():
    assert repr(heads()) == (
        "[explorer] Multi-head attention over dog, bites, man: the same matrices, cut into "
        "1, 2, 4 heads.\n"
        "2 heads, bites asks: head 1 takes dog 1.00, bites 0.00, man 0.00; head 2 takes dog 0.00, "
        "bites 0.00, man 1.00. Output: 1.00, 0.00, 3.00, 0.00.")


@pytest.mark.parametrize("attention, X, message", [
    (MultiHeadAttention(4, 2, bias=True), X,
     "needs attention with bias=False and position=None, got bias=True, position=None"),
    (MultiHeadAttention(4, 2, position=RotaryEmbedding(2)), X,
     r"needs .* got bias=False, position=Rotary.*"),
    (MultiHeadAttention(4, 2), X[None], r"X must have shape \(tokens, features\), at least one "
                                        r"token, got \(1, 3, 4\) with 3 tokens and 4 features"),
    (MultiHeadAttention(8, 2), X, "W_q takes inputs of width 8, X has width 4"),
])
def test_attention_or_input_that_does_not_fit(attention, X, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        heads_explorer(attention, X, TOKENS, FEATURES)


def test_what_is_no_tensor_is_refused():
    words = r"^X must be a tensor, got list: torch.as_tensor\(X\) makes one$"
    with pytest.raises(TypeError, match=words):
        heads_explorer(MultiHeadAttention(4, 2), X.tolist(), TOKENS, FEATURES)


def test_more_tokens_than_a_map_can_show():
    assert len(any_heads(["word"] * 64).data["tokens"]) == 64
    words = r"^shows up to 64 tokens, got 65: give X\[:64\] and tokens\[:64\], say$"
    with pytest.raises(ValueError, match=words):
        any_heads(["word"] * 65)


@pytest.mark.parametrize("hiddens, own, divisors", [
    (16, 2, [1, 2, 4, 8, 16]), (34, 2, [1, 2]), (34, 17, [1, 2, 17])])
def test_more_than_16_heads_are_shown_only_where_the_attention_has_them(hiddens, own, divisors):
    assert any_heads(TOKENS, hiddens, own).data["divisors"] == divisors


def test_the_words_tell_of_four_heads_at_most():
    assert any_heads(TOKENS, 6, 6).numbers.count("takes") == 4
    assert any_heads(TOKENS, 6, 1).numbers.startswith("1 head, ")


def test_equal_tokens_are_chosen_by_position():
    explorer = any_heads(["the", "dog", "the"])
    explorer.set(asks=2)
    with pytest.raises(ValueError, match="asks='the'"):
        explorer.set(asks="the")


# ---- the mathematics in JavaScript ---------------------------------------------------------------

EVERYTHING = """(() => {
  const [data, heads, factor] = given;
  const all = piece.project(data);
  const weights = piece.weigh(all, heads, factor);
  const output = data.X.map((_, i) => piece.combine(weights, all, data.W_o, i).output);
  return { weights, output };
})()"""


def distance(folder, text, num_heads, inverse_temperature):
    """How far JavaScript's weights and output are from the package's, on random numbers."""
    attention = MultiHeadAttention(num_hiddens=12, num_heads=num_heads).double()
    for weight in attention.parameters():  # exact in single precision, which the explorer passes on
        weight.data = (torch.randn_like(weight) / 2).float().double()
    X = torch.randn(5, 12).double()
    data = heads_explorer(attention, X, list("abcde"), list("abcdefghijkl")).data
    attention.W_q.weight.data *= inverse_temperature
    output, weights = attention(*[X[None]] * 3, need_weights=True)
    ours = compute(folder, text, EVERYTHING, [data, num_heads, inverse_temperature])
    return furthest(ours, {"weights": weights[0].detach(), "output": output[0].detach()})


@pytest.mark.parametrize("case", [(1, 1.0), (2, 1.0), (3, 1.7), (4, 0.0), (12, 2.0)])
def test_javascript_agrees_with_the_package(tmp_path, case):
    assert distance(tmp_path, source("heads"), *case) < 1e-6


@pytest.mark.parametrize("right, wrong", [
    ("times(block(Q, head), block(K, head))", "times(block(K, head), block(Q, head))"),
    ("times(block(Q, head), block(K, head))", "times(block(Q, head), block(Q, head))"),
    ("/ Math.sqrt(size)", "/ Math.sqrt(Q[0].length)"),
    ("row.slice(head * size, (head + 1) * size)", "row.filter((_, i) => i % heads === head)"),
    ("times([mixed], W_o)", "times([mixed], transpose(W_o))"),
])
def test_wrong_javascript_is_caught(tmp_path, right, wrong):
    assert distance(tmp_path, swap(source("heads"), right, wrong), 3, 1.0) > 1e-3


def test_words_and_numbers_are_written_short(tmp_path):
    tokens = ["short", "much too long", "", " a \n b ", "🐕" * 8, "אבג"]
    cut = ["short", "much t…", "(empty)", "a b", f"\u2068{'🐕' * 6}…\u2069", "\u2068אבג\u2069"]
    numbers = [0.125, -0.001, 3, 1000, -1234.5, 12345.678, -2.5]
    written = ["0.13", "0.00", "3.00", "1000", "-1234", "1.23e+4", "-2.50"]
    shown = "[given[0].map((text) => piece.clip(text, 7)), given[1].map(piece.digits)]"
    assert compute(tmp_path, source("heads"), shown, [tokens, numbers]) == [cut, written]
