"""The small Transformer: against the same steps written out, what each side may see, decoding, and what a wrong mask would do."""
import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from d2l_ext import PositionalEncoding, sinusoids
from d2l_ext.transformer import DecoderBlock, EncoderBlock, EncoderDecoder

LENGTHS = torch.tensor([7, 4])


def model(**change):
    torch.manual_seed(1)
    return EncoderDecoder(**{"source_vocab_size": 9, "target_vocab_size": 6, "num_hiddens": 12, "num_heads": 3, "layers": 2} | change).eval()


def inputs():
    torch.manual_seed(2)
    return torch.randint(9, (2, 7)), torch.randint(6, (2, 5))


def attend(layer, queries, keys, hidden):
    """Attention of one sequence with loops over heads and queries; hidden(i, j) says what query i must not see."""
    outputs = []
    for i, query in enumerate(queries):
        heads = []
        for rows in torch.arange(layer.W_q.out_features).split(layer.head_size):
            q, K, V = layer.W_q.weight[rows] @ query, keys @ layer.W_k.weight[rows].T, keys @ layer.W_v.weight[rows].T
            scores = torch.tensor([-torch.inf if hidden(i, j) else float(q @ k) / layer.head_size ** 0.5 for j, k in enumerate(K)])
            heads.append(scores.softmax(0) @ V)
        outputs.append(layer.W_o.weight @ torch.cat(heads))
    return torch.stack(outputs)


def norm(layer, X):
    centred = X - X.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + layer.eps).sqrt() * layer.weight + layer.bias


def slow(model, source, target, length):
    """The scores for one pair of sequences, step by step from the paper, with pre-norm."""
    X = model.source.weight[source] + sinusoids(len(source), 12).float()
    for block in model.encoder:
        Y = norm(block.norms[0], X)
        X = X + attend(block.attention, Y, Y, lambda i, j: j >= length)
        X = X + block.network(norm(block.norms[1], X))
    memory = norm(model.norms[0], X)
    X = model.target.weight[target] + sinusoids(len(target), 12).float()
    for block in model.decoder:
        Y = norm(block.norms[0], X)
        X = X + attend(block.attention, Y, Y, lambda i, j: j > i)
        X = X + attend(block.cross, norm(block.norms[1], X), memory, lambda i, j: j >= length)
        X = X + block.network(norm(block.norms[2], X))
    return model.scores(norm(model.norms[1], X))


def furthest(made):
    source, target = inputs()
    with torch.no_grad():
        scores = made(source, target, LENGTHS)
        return max((scores[i] - slow(made, source[i], target[i], LENGTHS[i])).abs().max().item() for i in range(2))


def test_it_is_the_transformer_written_out():
    assert furthest(model()) < 1e-5


def test_a_wrong_one_is_noticed():
    post_norm, unmasked, early = model(), model(), model()
    for block in post_norm.encoder:
        block.forward = lambda X, lens, block=block: block.norms[1]((Y := block.norms[0](X + block.attention(X, X, X, lens))) + block.network(Y))
    for block in unmasked.decoder:
        block.cross.forward = lambda q, k, v, lens=None, cross=block.cross: type(cross).forward(cross, q, k, v)
    for block in early.decoder:
        block.attention.forward = lambda q, k, v, causal=True, attention=block.attention: type(attention).forward(attention, q, k, v)
    for wrong in (post_norm, unmasked, early):
        assert furthest(wrong) > 1e-3


def test_a_score_depends_on_the_target_so_far_and_on_the_whole_source():
    made, (source, target) = model(), inputs()
    before = made(source, target, LENGTHS)
    later = target.clone()
    later[:, 3] = (later[:, 3] + 1) % 6
    after = made(source, later, LENGTHS)
    assert torch.allclose(before[:, :3], after[:, :3], atol=1e-6) and not torch.isclose(before[:, 3:], after[:, 3:]).all(-1).any()
    for place in range(4):  # the shorter source
        other = source.clone()
        other[1, place] = (other[1, place] + 1) % 9
        assert not torch.allclose(made(other, target, LENGTHS)[1], before[1], atol=1e-4)


def test_padding_changes_nothing():
    made, (source, target) = model(), inputs()
    other = source.clone()
    other[1, 4:] = 8
    assert torch.allclose(made(source, target, LENGTHS), made(other, target, LENGTHS), atol=1e-6)
    alone = made(source[1:, :4], target[1:])
    assert torch.allclose(alone[0], made(source, target, LENGTHS)[1], atol=1e-5)


def test_writing_takes_the_likeliest_symbol_each_time():
    made, (source, _) = model(), inputs()
    written = made.generate(source, length=6, start=5, valid_lens=LENGTHS)
    target = torch.full((2, 1), 5)
    for _ in range(6):
        target = torch.cat([target, made(source, target, LENGTHS)[:, -1:].argmax(-1)], 1)
    assert written.tolist() == target[:, 1:].tolist() and not written.requires_grad
    assert made.generate(source, 0, 5).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_symbols_may_be_integers_of_any_kind(dtype):
    made, (source, target) = model(), inputs()
    assert torch.equal(made(source.to(dtype), target.to(dtype)), made(source, target))


def test_as_many_steps_as_the_longest_sequence():
    assert EncoderDecoder(9, 5, 8, 2).positions.P.shape == (1, 1000, 8)
    assert EncoderDecoder(9, 5, 8, 2, max_len=4).generate(torch.ones(1, 4, dtype=torch.long), 4, 0).shape == (1, 4)


def test_one_pass_tells_whether_writing_would_be_right():
    made, (source, _) = model(), inputs()
    written = made.generate(source, 6, 5, LENGTHS)
    for answers in (written, (written + torch.eye(6, dtype=torch.long)[2]) % 6):  # all right; one wrong
        given = F.pad(answers[:, :-1], (1, 0), value=5)
        right = (made(source, given, LENGTHS).argmax(-1) == answers).all(1)
        assert right.tolist() == (written == answers).all(1).tolist()


def test_every_weight_learns():
    made, (source, target) = model().train(), inputs()
    made(source, target, LENGTHS).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() and weight.grad.abs().sum() > 0 for weight in made.parameters())


def test_weights_can_be_stored_and_copied():
    made, (source, target) = model(), inputs()
    other = model(layers=2)
    other.load_state_dict(made.state_dict())
    for twin in (other, copy.deepcopy(made)):
        assert torch.equal(twin(source, target, LENGTHS), made(source, target, LENGTHS))
    assert not any("positions" in name for name in made.state_dict())  # the table of sinusoids is computed, not stored


def test_dropout_is_off_in_evaluation_and_on_in_training():
    made, (source, target) = model(dropout=0.5), inputs()
    assert torch.equal(made(source, target), made(source, target))
    made.train()
    assert not torch.equal(made(source, target), made(source, target))
    assert {block.dropout.p for block in (*made.encoder, *made.decoder)} == {made.positions.dropout.p} == {0.5}
    plain = EncoderBlock(8, 2), DecoderBlock(8, 2), model().train().positions
    assert all(part.dropout.p == 0 for part in plain)  # none unless asked for


@pytest.mark.parametrize("change, words", [({"num_heads": 5}, "does not divide"), ({"layers": 0}, "layers=0"), ({"source_vocab_size": 0}, "source_vocab_size=0"), ({"target_vocab_size": 0}, "target_vocab_size=0"), ({"dropout": 1.0}, "dropout")])
def test_sizes_that_do_not_fit(change, words):
    with pytest.raises(ValueError, match=words):
        model(**change)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(dtype):
    made, (source, target) = model().to(dtype), inputs()
    assert made(source, target, LENGTHS).dtype == dtype and made.generate(source, 3, 5, LENGTHS).shape == (2, 3)


@pytest.mark.parametrize("block, extra", [(EncoderBlock, ()), (DecoderBlock, (torch.rand(2, 5, 8),))])
def test_blocks_add_to_what_they_are_given(block, extra):
    made, X = block(8, 2), torch.rand(2, 4, 8)
    for name, weight in made.named_parameters():
        if name.endswith(("W_o.weight", "network.2.weight", "network.2.bias")):
            nn.init.zeros_(weight)
    assert torch.equal(made(X, *extra), X)


def test_positions_are_the_package_s():
    assert isinstance(model().positions, PositionalEncoding)


@pytest.mark.parametrize("source, error, words", [
    ([[1, 2]], TypeError, "^source must be an integer tensor, got list$"), (torch.tensor([[True]]), TypeError, "^source must be an integer tensor, got torch.bool$"),
    (torch.tensor([[0, 9]]), ValueError, "^source contains 9, but symbols are 0 to 8$"), (torch.tensor([[1, 9]]), ValueError, "contains 9")])
def test_symbols_that_there_are_not(source, error, words):
    with pytest.raises(error, match=words):
        model()(source, inputs()[1][:1])
