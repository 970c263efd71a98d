"""The small Transformer: the same steps written out, and decoding."""
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from slow import slow_attention

from d2l_ext import MultiHeadAttention, PositionalEncoding, sinusoids
from d2l_ext.transformer import EncoderBlock, EncoderDecoder

LENGTHS = torch.tensor([7, 4])


def model(**change):
    return EncoderDecoder(**dict(source_vocab_size=9, target_vocab_size=6, num_hiddens=12,
                                 num_heads=3, layers=2) | change).eval()


def inputs():
    return torch.randint(9, (2, 7)), torch.randint(6, (2, 5))


def norm(layer, X):
    return F.layer_norm(X, (12,), layer.weight, layer.bias)


def attend(layer, queries, keys, keep):
    return slow_attention(layer, queries, keys, keys, keep)[0]


def slow(model, source, target, length):
    """The scores for one pair of sequences, step by step from the paper, with pre-norm."""
    inside, past = torch.arange(source.shape[1]) < length, torch.ones(5, 5).tril() > 0
    X = model.source.weight[source] + sinusoids(source.shape[1], 12)
    for block in model.encoder:
        Y = norm(block.norms[0], X)
        X = X + attend(block.attention, Y, Y, inside)
        X = X + block.network(norm(block.norms[1], X))
    memory = norm(model.norms[0], X)
    X = model.target.weight[target] + sinusoids(target.shape[1], 12)
    for block in model.decoder:
        Y = norm(block.norms[0], X)
        X = X + attend(block.attention, Y, Y, past)
        X = X + attend(block.cross, norm(block.norms[1], X), memory, inside)
        X = X + block.network(norm(block.norms[2], X))
    return model.scores(norm(model.norms[1], X))


@pytest.mark.parametrize("num_kv_heads", [None, 1])
def test_it_is_the_transformer_written_out(num_kv_heads):
    made, (source, target) = model(num_kv_heads=num_kv_heads).double(), inputs()
    for layer in filter(lambda layer: isinstance(layer, nn.LayerNorm), made.modules()):
        nn.init.normal_(layer.weight)
    expected = [slow(made, source[i:i + 1], target[i:i + 1], LENGTHS[i]) for i in range(2)]
    torch.testing.assert_close(made(source, target, LENGTHS), torch.cat(expected),
                               atol=1e-6, rtol=1e-5)  # positions are rounded to single precision
    assert {block.network[0].out_features for block in (*made.encoder, *made.decoder)} == {48}
    shared = [m.num_kv_heads for m in made.modules() if isinstance(m, MultiHeadAttention)]
    assert shared == [num_kv_heads or 3] * 6
    dropping = model(dropout=0.5).train()
    assert not torch.equal(dropping(source, target), dropping(source, target))


def test_writing_takes_the_likeliest_symbol_each_time():
    made, (source, _) = model(), inputs()
    written = made.generate(source, length=6, start=5, valid_lens=LENGTHS)
    target = torch.full((2, 1), 5)
    for _ in range(6):
        target = torch.cat([target, made(source, target, LENGTHS)[:, -1:].argmax(-1)], 1)
    assert torch.equal(written, target[:, 1:]) and not written.requires_grad
    assert made.generate(source.to(torch.uint8), 0, 5).shape == (2, 0)


def test_unless_told_there_is_one_layer_and_room_for_a_thousand_steps():
    made = EncoderDecoder(9, 5, 8, 2)
    assert len(made.encoder) == len(made.decoder) == 1
    assert len(made.norms) == len(made.encoder[0].norms) == 2 and made.encoder[0].dropout.p == 0
    assert EncoderBlock(8, 2).dropout.p == 0
    assert isinstance(made.positions, PositionalEncoding) and made.positions.P.shape == (1, 1000, 8)
    short = EncoderDecoder(9, 5, 8, 2, max_len=4)
    assert short.generate(torch.ones(1, 4).long(), 4, 0).shape == (1, 4)
