"""What each piece refuses, and what it says."""
import pytest
import torch
from test_bad_input import assert_refused
from tools.draw.pieces_in_node import (CHANCE, KEYS, TOKENS, X, features, lengths, order, pooling,
                                       tiles)
from torch import nan, nn

from attention_lessons.laboratory.dates import date_reader
from attention_lessons.pieces import (attention_explorer, clock_explorer, dates_explorer,
                                      heads_explorer)
from d2l_ext import MultiHeadAttention, RotaryEmbedding

MAPS = [torch.zeros(1, 1, 4, 5), torch.zeros(1, 1, 4, 4)]


def layer(num_hiddens=4, heads=2, **parts):
    """Attention, some parts of which are others."""
    made = MultiHeadAttention(num_hiddens, heads)
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def linear(number, outputs=4):
    """A map without bias whose weights are all this number."""
    made = nn.Linear(4, outputs, bias=False)
    nn.init.constant_(made.weight, number)
    return made


def heads(attention=None, X=X, tokens=TOKENS):
    return heads_explorer(attention or layer(), X, tokens, features())


def runs(*accuracies, trained=4):
    return lengths(trained=trained, rows=[
        {"task": "copy", "encoding": "one", "accuracy": each} for each in accuracies])


def broken():
    model = date_reader(layers=1)
    model.scores.bias.data[3] = nan
    return model


REFUSED = [
    # shapes and sizes
    (lambda: heads(X=X[None]), "inputs must have shapes tokens (tokens,), features (features,), X "
     "(tokens, features) ... W_q (hiddens, features) ... got (3,), (4,), (1, 3, 4), (4, 4)"),
    (lambda: heads(X=X[:0], tokens=[]), "shows 1 to 64 tokens, got 0"),
    (lambda: heads(X=torch.ones(65, 4), tokens=["a"] * 65), "shows 1 to 64 tokens, got 65"),
    (lambda: heads(layer(8), X.tolist()), "must have shapes ... (3, 4), (8, 8)"),
    (lambda: order(attention=layer()), "needs attention with num_heads=1, got num_heads=2"),
    (lambda: order(attention=layer(heads=1, W_o=linear(1, 3))),
     "W_o (features, hiddens), got ... (3, 4)"),
    (lambda: order(X=torch.zeros(6, 4), tokens="abcdef"), "shows 2 to 5 tokens, got 6"),
    (lambda: order(tokens="abca"), "tokens must all be different, got ['a', 'b', 'c', 'a']"),
    (lambda: order(valid_len=5), "valid_len=5 must lie in 1..4"),
    (lambda: pooling(query=[1, 2]), "keys (keys, d), values (keys, v), query (d,), got (4, 3), "
     "(4, 3), (2,)"),
    (lambda: pooling(keys=torch.zeros(13, 3), values=torch.zeros(13, 2)), "12 keys, got 13"),
    (lambda: pooling(scale=0.5), "scale=0.5 must be a number in 1..100"),
    (lambda: tiles(queries=[[1.0, 2]]), "must have shapes queries ... got (1, 2), "),
    (lambda: tiles(keys=range(9), values=range(9)), "shows 2 to 8 keys, got 9"),
    (lambda: tiles(key_tile=6), "key_tile=6 is not possible: choose from 1, 2, 4, 8"),
    (lambda: clock_explorer("32"), "num_hiddens='32' is not possible: choose from 4, "),
    # what a piece can't do
    (lambda: heads(layer(W_o=nn.Linear(4, 4))),
     "needs attention with bias=False and position=None, got bias=True, position=None"),
    (lambda: heads(layer(position=RotaryEmbedding(2))), "got bias=False, position=Rotary"),
    (lambda: heads(layer(W_q=nn.Identity())), "W_q must be a plain nn.Linear, ... got Identity, "),
    (lambda: dates_explorer(date_reader(layers=2)), "needs a model as laboratory.dates.date_reader "
     "makes it, with layers=1, got EncoderDecoder"),
    (lambda: dates_explorer(None), "needs a model ... got NoneType"),
    # numbers that aren't finite, or whose products overflow
    (lambda: heads(layer(W_o=linear(nan))), "W_o must hold numbers of size up to 1e+30, but holds "
     "nan"),
    (lambda: heads(X=X.double() * -1e160), "X must hold ... but holds -1e+160"),
    (lambda: pooling(keys=KEYS / 0), "keys must hold ... inf"),
    (lambda: tiles(values=[1e31] * 8), "values must hold"),
    (lambda: dates_explorer(broken()), "weights must hold"),
    # runs
    (lambda: lengths(chance={"copy": 0.1}), "needs rows that all have the same lengths, one at "
     "least of 32, ... got tasks= ... 'repeat'], lengths=[16, ... 64], stretches={4.0}, chance="
     " ... 0.1}, accuracies outside: []"),
    (lambda: lengths(chance=dict.fromkeys(CHANCE, 10)), "a chance in 0..1, "),
    (lambda: runs(), "got tasks=[], lengths=[], "),
    (lambda: lengths(trained=14), "in stretches of a size that divides trained=14, "),
    (lambda: runs({"4": [1], "8": [1]}), "stretches={8.0, 4.0}, "),
    (lambda: runs({"2": [1] * 4, "4": [1] * 8}, trained=2), "stretches={0.5}, "),
    (lambda: runs({"4": [1], "8": [1.5, None]}), "accuracies outside: [1.5]"),
    (lambda: runs({"4": [1], "8": [1, 0]}, {"8": [1, 0]}), "have the same lengths, "),
    # recorded maps
    (lambda: attention_explorer([5 + MAPS[0]]), "weights must lie in 0..1, got 5"),
    (lambda: attention_explorer((None, None)),
     "seen holds no weights: run the model while record_attention is open"),
    (lambda: attention_explorer(MAPS, "ab"),
     "no map has 2 queries and 2 keys, as tokens and keys say: seen holds 4 x 4, 4 x 5"),
    (lambda: attention_explorer({"a": [torch.ones(4, 1, 3, 3), torch.ones(4, 1, 1, 4)]}),
     "seen holds 2 steps of a batch of 4, and beam search moves sequences between its rows: run "
     "the model once over the sequence that was written, and show that"),
    (lambda: attention_explorer([MAPS[0][..., :0]]),
     "there must be tokens and keys, got 4 and 0"),
    (lambda: attention_explorer([torch.zeros(1, 1, 4, 1600)]), "shows up to 1,500 queries or keys"),
    (lambda: attention_explorer([torch.zeros(1, 1, 900, 900)]), "650,000 weights, got 900 x 900 ..."
     " one layer's [weights[:1, :8, :280, :280]], and the tokens of these"),
]


@pytest.mark.parametrize("row", REFUSED)
def test_what_can_not_be_shown_is_refused(row):
    assert_refused(*row)


def test_the_hint_for_large_maps_can_be_followed():
    assert attention_explorer([torch.zeros(2, 16, 300, 300)[:1, :8, :280, :280]]).state
