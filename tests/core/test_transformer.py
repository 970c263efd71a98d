"""The small Transformer: the same steps written out, what each side may see, and decoding."""

import pytest
import torch
from slow import slow_attention

from d2l_ext import MultiHeadAttention, PositionalEncoding, sinusoids
from d2l_ext.transformer import EncoderDecoder

LENGTHS = torch.tensor([7, 4])


def model(**change):
    torch.manual_seed(1)
    return EncoderDecoder(**dict(source_vocab_size=9, target_vocab_size=6, num_hiddens=12,
                                 num_heads=3, layers=2) | change).eval()


def inputs():
    torch.manual_seed(2)
    return torch.randint(9, (2, 7)), torch.randint(6, (2, 5))


def norm(layer, X):
    centred = X - X.mean(-1, keepdim=True)
    scale = (centred.square().mean(-1, keepdim=True) + layer.eps).sqrt()
    return centred / scale * layer.weight + layer.bias


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


def is_the_transformer_written_out(made):
    made, (source, target) = made.double(), inputs()
    expected = [slow(made, source[i:i + 1], target[i:i + 1], LENGTHS[i]) for i in range(2)]
    torch.testing.assert_close(made(source, target, LENGTHS), torch.cat(expected))


@pytest.mark.parametrize("num_kv_heads", [None, 1])
def test_it_is_the_transformer_written_out(num_kv_heads):
    made = model(num_kv_heads=num_kv_heads)
    is_the_transformer_written_out(made)
    assert len(EncoderDecoder(9, 5, 8, 2).encoder) == 1
    assert {block.network[0].out_features for block in (*made.encoder, *made.decoder)} == {48}
    shared = [m.num_kv_heads for m in made.modules() if isinstance(m, MultiHeadAttention)]
    assert shared == [num_kv_heads or 3] * 6


def test_writing_takes_the_likeliest_symbol_each_time():
    made, (source, _) = model(), inputs()
    written = made.generate(source, length=6, start=5, valid_lens=LENGTHS)
    target = torch.full((2, 1), 5)
    for _ in range(6):
        target = torch.cat([target, made(source, target, LENGTHS)[:, -1:].argmax(-1)], 1)
    assert torch.equal(written, target[:, 1:]) and not written.requires_grad
    assert made.generate(source, 0, 5).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_symbols_may_be_integers_of_any_kind(dtype):
    made, (source, target) = model(), inputs()
    assert torch.equal(made(source.to(dtype), target.to(dtype)), made(source, target))


def test_positions_are_the_packages_and_as_many_as_the_longest_sequence():
    P = EncoderDecoder(9, 5, 8, 2).positions
    assert isinstance(P, PositionalEncoding) and P.P.shape == (1, 1000, 8)
    short = EncoderDecoder(9, 5, 8, 2, max_len=4)
    assert short.generate(torch.ones(1, 4).long(), 4, 0).shape == (1, 4)


def test_every_weight_learns():
    made = model().train()
    made(*inputs(), LENGTHS).square().sum().backward()
    assert all(weight.grad.isfinite().all() and weight.grad.any() for weight in made.parameters())
