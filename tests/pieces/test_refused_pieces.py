"""What each piece refuses, and what it says."""
import warnings

import pytest
import torch
from tools.draw.pieces_in_node import (CHANCE, KEYS, TOKENS, X, features, lengths, order, pooling,
                                tiles)
from torch import nan

from attention_lessons.laboratory.dates import date_reader
from attention_lessons.pieces import (attention_explorer, clock_explorer, dates_explorer,
                                      heads_explorer)
from d2l_ext import MultiHeadAttention, RotaryEmbedding


def attention(num_hiddens=4, heads=2, W_o=None):
    made = MultiHeadAttention(num_hiddens, heads)
    if W_o is not None:
        made.W_o.weight.data = W_o
    return made


def heads(attention=None, X=X, tokens=TOKENS):
    return heads_explorer(attention or MultiHeadAttention(4, 2), X, tokens, features())


def rows(*strips):
    return [{"task": "copy", "encoding": "one", "accuracy": strip} for strip in strips]


def reader(layers=1, broken=0.0):
    model = date_reader(layers=layers)
    model.scores.bias.data[3] = broken
    return model


def biased(name):
    attention = MultiHeadAttention(4, 2)
    setattr(attention, name, torch.nn.Linear(4, 4))
    return attention


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of what it will remove
        quantize = torch.ao.quantization.quantize_dynamic
        return quantize(MultiHeadAttention(4, 2), {torch.nn.Linear})


def maps(**sizes):
    return {name: [torch.full((1, 1, *size), 0.1)] for name, size in sizes.items()}


REFUSED = [
    # shapes and sizes
    (heads, {"X": X[None]}, r"must have shapes tokens \(tokens,\), features \(features,\), X "
                            r"\(tokens, features\), .*, got \(3,\), \(4,\), \(1, 3, 4\), .*"),
    (heads, {"attention": attention(8), "X": X.tolist()},
     r"must have .*W_q \(hiddens, features\).* \(8, 8\)"),
    (heads, {"X": X[:0], "tokens": []}, "shows 1 to 64 tokens, got 0"),
    (heads, {"X": torch.ones(65, 4), "tokens": ["a"] * 65}, "shows 1 to 64 tokens, got 65"),
    (order, {"attention": attention()}, "needs attention with num_heads=1, got num_heads=2"),
    (order, {"attention": attention(heads=1, W_o=torch.ones(3, 4))},
     r"must have .*, W_o \(features, hiddens\), got .*, \(3, 4\)"),
    (order, {"X": torch.zeros(6, 4), "tokens": list("abcdef")}, "shows 2 to 5 tokens, got 6"),
    (order, {"tokens": list("abca")},
     r"tokens must all be different, got \['a', 'b', 'c', 'a'\]"),
    (order, {"valid_len": 5}, "valid_len=5 must lie in 1..4"),
    (pooling, {"query": [1, 2]}, r"must have shapes keys \(keys, d\), values \(keys, v\), query "
                                 r"\(d,\), got \(4, 3\), \(4, 3\), \(2,\)"),
    (pooling, {"keys": torch.zeros(13, 3), "values": torch.zeros(13, 2)}, "shows .* keys, got 13"),
    (pooling, {"scale": 0.5}, r"scale=0.5 must be a number in 1..100"),
    (tiles, {"queries": [[1.0, 2]]}, r"must have shapes queries .*, got \(1, 2\), .*"),
    (tiles, {"keys": range(9), "values": range(9)}, "shows 2 to 8 keys, got 9"),
    (tiles, {"key_tile": 6}, "key_tile=6 is not possible: choose from 1, 2, 4, 8"),
    (clock_explorer, {"num_hiddens": "32"}, "num_hiddens='32' is not possible: choose from 4, .*"),
    # what a piece can't do
    (heads, {"attention": MultiHeadAttention(4, 2, bias=True)},
     "needs attention with bias=False and position=None, got bias=True, position=None"),
    (heads, {"attention": biased("W_o")}, "needs attention with bias=False .* got bias=True, .*"),
    (heads, {"attention": quantized()}, "W_q must be a plain nn.Linear, .* got Linear, .*"),
    (heads, {"attention": MultiHeadAttention(4, 2, position=RotaryEmbedding(2))},
     "needs .* got bias=False, position=Rotary.*"),
    (dates_explorer, {"model": reader(layers=2)}, "needs a model as laboratory.dates.date_reader "
                                                  "makes it, with layers=1, got EncoderDecoder"),
    (dates_explorer, {"model": None}, "needs .*, got NoneType"),
    # numbers that aren't finite, or whose products overflow
    (heads, {"attention": attention(W_o=torch.full((4, 4), nan))},
     r"W_o must hold numbers of size up to 1e\+30, but holds nan"),
    (heads, {"X": X.double() * -1e160}, "X must .*, but holds -1e[+]160"),
    (pooling, {"keys": KEYS / 0}, "keys must hold .* inf"),
    (tiles, {"values": [1e31] * 8}, "values must hold .*"),
    (dates_explorer, {"model": reader(broken=nan)}, "weights must hold .*"),
    # runs
    (lengths, {"chance": {"copy": 0.1}}, "needs rows that all have the same lengths, one at least "
     r"of 32, .* got tasks=.*'repeat'\], lengths=\[16, .* 64\], stretches=\{4.0\}, chance=.*0.1\}, "
     r"accuracies outside: \[\]"),
    (lengths, {"chance": dict.fromkeys(CHANCE, 10)}, "needs rows .* a chance in 0..1, .*"),
    (lengths, {"rows": []}, r".* got tasks=\[\], lengths=\[\], .*"),
    (lengths, {"trained": 14}, "needs rows .* in stretches of a size that divides trained=14, .*"),
    (lengths, {"rows": rows({"4": [1], "8": [1]}), "trained": 4}, r".* stretches=\{8.0, 4.0\}, .*"),
    (lengths, {"rows": rows({"2": [1] * 4, "4": [1] * 8}), "trained": 2}, r".*=\{0.5\}, .*"),
    (lengths, {"rows": rows({"4": [1], "8": [1.5, None]}), "trained": 4}, r".*: \[1.5\]"),
    (lengths, {"rows": rows({"4": [1], "8": [1, 0]}, {"8": [1, 0]}), "trained": 4}, ".* same .*"),
    # recorded maps
    (attention_explorer, {"seen": {"a": [torch.full((1, 1, 2, 2), 5.0)]}, "tokens": "ab"},
     r"weights must lie in 0\.\.1, got 5"),
    (attention_explorer, {"seen": (None, None)},
     "seen holds no weights: run the model while record_attention is open"),
    (attention_explorer, {"seen": maps(a=(4, 5), b=(4, 4)), "tokens": "ab"},
     "no map has 2 queries and 2 keys, as tokens and keys say: seen holds 4 x 4, 4 x 5"),
    (attention_explorer, {"seen": {"a": [torch.ones(4, 1, 3, 3), torch.ones(4, 1, 1, 4)]}},
     "seen holds 2 steps of a batch of 4, and beam search moves sequences between its rows: run "
     "the model once over the sequence that was written, and show that"),
    (attention_explorer, {"seen": maps(a=(2, 0))}, "there must be tokens and keys, got 2 and 0"),
    *((attention_explorer, {"seen": maps(a=size)},
       r"shows up to 1,500 queries or keys and 650,000 weights, got .* one layer's "
       r"\[weights\[:1, :8, :280, :280\]\], and the tokens of these")
      for size in ((4, 1600), (900, 900))),
]


@pytest.mark.parametrize("make, given, message", REFUSED)
def test_what_can_not_be_shown_is_refused(make, given, message):
    with pytest.raises(ValueError, match=f"^(the figure('s inputs)? )?({message})$"):
        make(**given)


def test_the_hint_for_large_maps_can_be_followed():
    assert attention_explorer([torch.zeros(2, 16, 300, 300)[:1, :8, :280, :280]]).state
