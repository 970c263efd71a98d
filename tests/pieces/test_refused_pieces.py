"""What each piece refuses, and what it says."""
import math

import pytest
import torch
from tools.draw._stills import (KEYS, ORDER, TOKENS, X, features, layer, lengths,
                                order, pooling, tiles)
from torch import nan, nn

from attention_lessons.laboratory.dates import date_reader
from attention_lessons.pieces import (attention_explorer, clock_explorer, dates_explorer,
                                      heads_explorer)
from d2l_ext import MultiHeadAttention, RotaryEmbedding
from d2l_ext.transformer import EncoderDecoder

WORDS = [*TOKENS, "pad"]


def narrow():
    attention = layer(ORDER)
    attention.W_o = nn.Linear(4, 3, bias=False)
    return attention


def heads(attention=None, X=X, tokens=TOKENS, **broken):
    """Of 4 channels, with a number of some matrix broken."""
    attention = attention or MultiHeadAttention(4, 2).double()
    for name, number in broken.items():
        getattr(attention, name).weight.data[0, 0] = number
    return heads_explorer(attention, X, tokens, features())


def stretches(*strips):
    accuracy = {"4": strips[0], "8": strips[1]}
    return {"task": "copy", "encoding": "one", "seed": 0, "accuracy": accuracy}


def attention(maps, tokens=None):
    return attention_explorer(maps, tokens)


def broken_dates():
    model = date_reader()
    model.scores.bias.data[3] = nan
    return model


REFUSED = [
    # X and its tokens
    (heads, {"X": X.tolist()}, "X must be a tensor, got list: torch.as_tensor.*"),
    (heads, {"X": X[None]}, r"X must have shape \(tokens, features\), at least one token, got "
                            r"\(1, 3, 4\) with 3 tokens and 4 features"),
    (heads, {"X": X[:0], "tokens": []}, ".* at least one token, .*"),
    (heads, {"X": torch.ones(65, 4), "tokens": ["a"] * 65},
     r"shows up to 64 tokens, got 65: give X\[:64\] and tokens\[:64\], say"),
    (order, {"tokens": WORDS[:3]}, r"X must have shape \(tokens, features\), its 2 to 5 tokens all "
     r"different, got \(4, 4\), tokens \['dog', 'bites', 'man'\] and 4 features"),
    (order, {"tokens": ["dog", "dog", "man", "pad"]}, ".* all different, got .*'dog', 'dog', .*"),
    (order, {"X": torch.zeros(6, 4), "tokens": list("abcdef")}, ".* its 2 to 5 tokens .*"),
    (order, {"valid_len": 5}, "valid_len=5 must lie in 1..4"),
    # attention
    (heads, {"attention": MultiHeadAttention(4, 2, bias=True)},
     "needs attention with bias=False and position=None, got bias=True, position=None"),
    (heads, {"attention": MultiHeadAttention(4, 2, position=RotaryEmbedding(2))},
     "needs .* got bias=False, position=Rotary.*"),
    (heads, {"attention": MultiHeadAttention(8, 2)}, "W_q takes inputs of width 8, X has width 4"),
    (order, {"attention": layer(ORDER, 2)}, "needs attention with num_heads=1, got num_heads=2"),
    (order, {"attention": narrow()}, "W_o gives outputs of width 3, X has width 4: a second layer "
                                     "needs the same width"),
    # numbers that aren't finite, or whose products overflow
    (heads, {"W_o": nan}, "W_o must be finite, but holds NaN or infinity"),
    (heads, {"X": X.double() * -1e160},
     r"X must hold numbers of size up to 1e\+30, but holds one of 3e\+160"),
    (pooling, {"keys": KEYS * math.inf}, "keys must be finite, .*"),
    (tiles, {"values": [1e31] * 8}, "values must hold .*"),
    (dates_explorer, {"model": broken_dates()}, "weights must be finite, .*"),
    # shapes and sizes
    (pooling, {"query": [1, 2]}, r"keys must be \(keys, d\), values \(keys, v\), query \(d,\), "
                                 r"got \(4, 3\), \(4, 3\), \(2,\)"),
    (pooling, {"values": torch.zeros(5, 3)}, r".* got \(4, 3\), \(5, 3\), \(3,\)"),
    (pooling, {"scale": 0.5}, r"scale=0.5 must be a number in 1..100"),
    (pooling, {"keys": torch.zeros(13, 3), "values": torch.zeros(13, 2)},
     "shows 1 to 12 keys and widths 1 to 6, got 13 keys of width 3, values of width 2"),
    (tiles, {"queries": [[1.0, 2]]}, r"queries must be \(queries,\), keys and values \(keys,\), "
                                     r"got \(1, 2\), \(8,\), \(8,\)"),
    (tiles, {"values": [1, 2]}, r".* got \(6,\), \(8,\), \(2,\)"),
    (tiles, {"keys": range(9), "values": range(9)}, "shows 2 to 8 .*, got 6 and 9"),
    (tiles, {"key_tile": 6}, "key_tile=6 is not possible: choose from 1, 2, 4, 8"),
    (tiles, {"query_tile": 3}, "query_tile=3 is not possible: choose from 1, 2, 4, 6"),
    (clock_explorer, {"num_hiddens": "32"},
     "num_hiddens='32' is not possible: choose from 4, 8, 16, 32, 64"),
    *((dates_explorer, {"model": wrong}, "needs a model as laboratory.dates.date_reader makes it, "
                                         f"with layers=1, got {type(wrong).__name__}")
      for wrong in (date_reader(layers=2), EncoderDecoder(40, 9, 8, 2), None)),
    # runs
    (lengths, {"chance": {"copy": 0.1}}, r"needs rows with lengths of 32 or more, and a chance for "
     r"each task, got tasks .*'repeat'\], lengths \[16, .* 64\], chance \{'copy': 0.1\}"),
    (lengths, {"rows": []}, r".* got tasks \[\], lengths \[\], chance .*"),
    (lengths, {"trained": 14}, r"each row needs the lengths \[16, 24, 32, 48, 64\] in stretches of "
                               "4, which divide trained=14"),
    (lengths, {"rows": [stretches([1], [1, 0]), stretches([1], [1])], "trained": 4},
     "each row needs the lengths .*"),
    *((lengths, {"rows": [stretches([1], [1, None]), stretches([1], [1, wrong])], "trained": 4},
       f"accuracy of one in copy at length 8 must be a number in 0..1, got {wrong!r}")
      for wrong in (-3, 1.01, nan, "1", True)),
    (lengths, {"rows": [stretches([1], [1, 0])], "trained": 4, "chance": {"copy": "1"}},
     "chance of copy must be a number in 0..1, got '1'"),
    # recorded maps
    (attention, {"maps": {"a": [torch.full((1, 1, 2, 2), 5.0)]}, "tokens": ["a", "b"]},
     r"weights must lie in 0\.\.1, got 5"),
    (attention, {"maps": (None, None)},
     "seen holds no weights: run the model while record_attention is open"),
    (attention, {"maps": {"a": [torch.ones(1, 1, 4, 5)], "b": [torch.ones(1, 1, 4, 4)]},
                 "tokens": ["a", "b"]},
     "no map has 2 queries and 2 keys, as tokens and keys say: seen holds 4 x 4, 4 x 5"),
    (attention, {"maps": {"a": [torch.zeros(1, 1, 2, 0)]}},
     "there must be tokens and keys, got 2 and 0"),
]


@pytest.mark.parametrize("make, given, message", REFUSED)
def test_what_can_not_be_shown_is_refused(make, given, message):
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        make(**given)
