"""Bad calls beyond the core: layers to compare, the small Transformer, the laboratory, dates, heads, drawings, explorers, D2L's names.

One row a call, as in test_bad_input.py. What a row names, the next reader of a traceback needs.
"""
import datetime

import pytest
import torch
from test_bad_input import assert_refused
from torch import nn

import d2l_ext
from d2l_ext import Convolution, MultiHeadAttention, Recurrence, SelfAttention, cost, exercises, flops, heads, influence, laboratory, plotting, reach
from d2l_ext.laboratory import dates
from d2l_ext import sequence, transformer
from d2l_ext.compat import d2l_0_17, d2l_1_0
from d2l_ext.explorers import clock_explorer, compare_explorer, dates_explorer, heads_explorer, lengths_explorer, order_explorer, pooling_explorer

X, NARROW = torch.randn(2, 5, 8), torch.randn(2, 5, 6)
READER = dates.date_reader()
CODER = transformer.EncoderDecoder(9, 5, 8, 2)
ATTENTION = MultiHeadAttention(8, 2)
ONE, TWO = torch.tensor([[1, 2]]), torch.tensor([[1, 9]])


def enter(context):
    with context:
        pass


def draw(values, rows, columns, **options):
    return plotting.heatmaps(values, rows, columns, **options)


BAD = [
    # layers to compare
    ("Convolution", lambda: Convolution(8.0), TypeError, "num_hiddens must be an integer, got 8.0"),
    ("Convolution", lambda: Convolution(0), ValueError, "num_hiddens=0"),
    ("Convolution", lambda: Convolution(8, 4), ValueError, "kernel_size=4 has no middle"),
    ("Convolution", lambda: Convolution(8, dilation=0), ValueError, "dilation=0"),
    ("Convolution", lambda: Convolution(8)(NARROW), ValueError, "X have width 6, expected 8"),
    ("Convolution", lambda: Convolution(8)(X[0]), ValueError, r"X must have shape \(batch, steps, hiddens\), got \(5, 8\)"),
    ("Convolution", lambda: Convolution(8)(X.long()), TypeError, "X must be a floating-point tensor, got torch.int64"),
    ("Recurrence", lambda: Recurrence(0), ValueError, "num_hiddens=0"),
    ("GRU", lambda: d2l_ext.GRU(0), ValueError, "num_hiddens=0"),
    ("GRU", lambda: d2l_ext.GRU(8)(NARROW), ValueError, "X have width 6, expected 8"),
    ("LSTM", lambda: d2l_ext.LSTM(0), ValueError, "num_hiddens=0"),
    ("LSTM", lambda: d2l_ext.LSTM(8)(X[0]), ValueError, r"got \(5, 8\)"),
    ("Recurrence", lambda: Recurrence(8)(NARROW), ValueError, "X have width 6, expected 8"),
    ("Recurrence", lambda: Recurrence(8)(X[0]), ValueError, r"got \(5, 8\)"),  # PyTorch would take it for one sequence, and return two axes
    ("SelfAttention", lambda: SelfAttention(8, 3), ValueError, "num_heads=3 does not divide num_hiddens=8"),
    ("SelfAttention", lambda: SelfAttention(8)(NARROW), ValueError, "width 6, expected 8"),
    ("cost", lambda: cost("lstm", 5, 2), ValueError, "no kind 'lstm'.*'recurrence'"),
    ("cost", lambda: cost("convolution", 5.5, 2), TypeError, "n must be an integer, got 5.5"),
    ("cost", lambda: cost("convolution", 5, 0), ValueError, "d=0"),
    ("cost", lambda: cost("convolution", 5, 2, 4), ValueError, "k=4 must be odd"),
    ("influence", lambda: influence(nn.Identity(), 3), ValueError, "no parameters.*num_hiddens"),
    ("influence", lambda: influence(Convolution(4), 3, num_hiddens=0), ValueError, "num_hiddens=0"),
    ("reach", lambda: reach(Convolution(4), 0), ValueError, "n=0"),
    ("reach", lambda: reach(Convolution(4), 2.5), TypeError, "n must be an integer, got 2.5"),
    ("reach", lambda: reach(Convolution(4), 3, 5), ValueError, "X have width 5, expected 4"),
    ("flops", lambda: flops(Convolution(8), -1, 8), ValueError, "n=-1"),
    ("flops", lambda: flops(Convolution(8), 5, 6), ValueError, "width 6, expected 8"),
    ("longest_chain", lambda: sequence.longest_chain(Convolution(8), 0, 8), ValueError, "n=0"),
    ("longest_chain", lambda: sequence.longest_chain(lambda X: X.detach(), 5, 6), ValueError, "no graph.*detached"),
    ("fastest", lambda: sequence.fastest([(Convolution(8), 4, 8)], repeats=0), ValueError, "repeats=0"),
    ("slope", lambda: sequence.slope([1, 2], [1, 2]), ValueError, "2 and 2 numbers"),
    ("slope", lambda: sequence.slope([1, 2, 4], [1, -2, 3]), ValueError, "positive numbers.*-2"),
    ("slope", lambda: sequence.slope([2, 2, 2], [1, 2, 3]), ValueError, r"x that differ; got x=\[2, 2, 2\]"),
    # the small Transformer
    ("EncoderBlock", lambda: transformer.EncoderBlock(8, 3), ValueError, "num_heads=3 does not divide"),
    ("EncoderBlock", lambda: transformer.EncoderBlock(8, 2, dropout=2), ValueError, "dropout=2"),
    ("EncoderBlock", lambda: transformer.EncoderBlock(8, 2)(NARROW), ValueError, "X have width 6, expected 8"),
    ("EncoderBlock", lambda: transformer.EncoderBlock(8, 2)(X, torch.tensor([5, 9])), ValueError, "valid_lens contains 9.*keys=5"),
    ("DecoderBlock", lambda: transformer.DecoderBlock(8, 2)(NARROW, X), ValueError, "X have width 6, expected 8"),
    ("DecoderBlock", lambda: transformer.DecoderBlock(8, 2)(X, NARROW), ValueError, "memory have width 6, expected 8"),
    ("DecoderBlock", lambda: transformer.DecoderBlock(8, 2)(X, X[:1]), ValueError, "batch 2.*batch 1"),
    ("EncoderDecoder", lambda: transformer.EncoderDecoder(9, 0, 8, 2), ValueError, "target_vocab_size=0"),
    ("EncoderDecoder", lambda: transformer.EncoderDecoder(9, 5, 8, 2, layers=0), ValueError, "layers=0"),
    ("EncoderDecoder", lambda: CODER(TWO, ONE), ValueError, "source contains 9, but symbols are 0 to 8"),
    ("EncoderDecoder", lambda: CODER(ONE, -ONE), ValueError, "target contains -2, but symbols are 0 to 4"),
    ("EncoderDecoder", lambda: CODER(ONE.float(), ONE), TypeError, "source must be an integer tensor, got torch.float32"),
    ("EncoderDecoder", lambda: CODER(ONE[0], ONE), ValueError, r"source must have shape \(batch, steps\), got \(2,\)"),
    ("EncoderDecoder", lambda: CODER.generate(ONE, -1, 0), ValueError, "length=-1"),
    ("EncoderDecoder", lambda: CODER.generate(ONE, 3, 7), ValueError, "target contains 7"),
    ("EncoderDecoder", lambda: CODER.generate(ONE, 2.0, 0), TypeError, "length must be an integer, got 2.0"),
    ("EncoderDecoder", lambda: CODER.generate(ONE, 2, 1.5), TypeError, "start must be an integer, got 1.5"),
    ("EncoderDecoder", lambda: transformer.EncoderDecoder(9, 5, 8, 2, max_len=4).generate(ONE, 6, 0), ValueError, "5 steps.*max_len=4"),
    # the laboratory
    ("find_marked", lambda: laboratory.find_marked(1.5), TypeError, "distance must be an integer, got 1.5"),
    ("find_marked", lambda: laboratory.find_marked(20)(torch.Generator(), 2, 8), ValueError, r"distance=20 must lie in 0\.\.7 when length=8"),
    ("reader", lambda: laboratory.reader("transformer", 9, 9), ValueError, "no kind 'transformer'.*'self-attention'"),
    ("train", lambda: laboratory.train(CODER, laboratory.parity, -1, lengths=(4, 8)), ValueError, "steps=-1"),
    ("train", lambda: laboratory.train(laboratory.reader("recurrence", 8, 8), laboratory.copy_back, 5, lengths=(1, 2)), ValueError,
     r"scores nothing at length [12], one of lengths=\(1, 2\)"),
    ("train", lambda: laboratory.train(CODER, laboratory.parity, 5, lengths=(9, 2)), ValueError, r"lengths=\(9, 2\)"),
    ("try_encoding", lambda: laboratory.try_encoding("sort", "none"), ValueError, "no task 'sort'.*'copy'"),
    ("try_encoding", lambda: laboratory.try_encoding("copy", "RoPE"), ValueError, "no encoding 'RoPE'.*'rotary'"),  # it trained without one, and said nothing
    ("try_encodings", lambda: laboratory.try_encodings("sort"), ValueError, "no task 'sort'"),
    ("results", lambda: laboratory.results("6"), ValueError, "no lesson with results '6'.*'06'"),
    # dates
    ("encode", lambda: dates.encode(["5 märz 2021"]), ValueError, "'5 märz 2021'.*'z ä'"),
    ("encode_answers", lambda: dates.encode_answers(["2021-3-5"]), ValueError, "'2021-3-5' must be 10 symbols"),
    ("encode_answers", lambda: dates.encode_answers(["2021/03/05"]), ValueError, "'2021/03/05' must be 10 symbols"),
    ("dates.train", lambda: dates.train(READER, 0), ValueError, "steps=0"),
    ("dates.load", lambda: dates.load("no.safetensors"), FileNotFoundError, "no.safetensors"),
    # heads
    ("gates", lambda: enter(heads.gates(READER, {"encoder": torch.ones(4)})), KeyError, "no attention layer 'encoder', only 'encoder.0.attention'"),
    ("gates", lambda: enter(heads.gates(READER, {"encoder.0.attention": torch.ones(3)})), ValueError, r"shape \(3,\), expected \(4,\)"),
    ("closed", lambda: enter(heads.closed(READER, [("encoder.0.attention", 9)])), ValueError, r"no heads \[\('encoder.0.attention', 9\)\]"),
    ("gradient", lambda: heads.gradient(READER, lambda: torch.tensor(1.0)), ValueError, r"one loss per example, \(batch,\), got shape \(\)"),
    ("rank_correlation", lambda: heads.rank_correlation([1, 2], [1, 2, 3]), ValueError, "2 values and 3 values"),
    ("ranks", lambda: heads.ranks([1, torch.nan]), ValueError, "1 of 2 values are NaN"),
    ("closed", lambda: heads.closed(READER, [3]), TypeError, "a head is a pair such as .* got 3"),
    ("prune_heads", lambda: heads.prune_heads(ATTENTION, 0), TypeError, "heads must be several.* 0"),
    ("prune_heads", lambda: heads.prune_heads(nn.Linear(2, 2), {0}), TypeError, "MultiHeadAttention, got Linear"),
    ("prune_heads", lambda: heads.prune_heads(ATTENTION, {0, 1}), ValueError, r"heads=\[0, 1\] are all there are"),
    ("prune", lambda: heads.prune(READER, [("cross", 0)]), ValueError, r"no heads \[\('cross', 0\)\]"),
    # drawings
    ("heatmaps", lambda: draw(torch.rand(3, 3), ["a", "b"], ["a", "b", "c"]), ValueError, r"shape \(3, 3\), but there are 2 row and 3 column labels"),
    ("heatmaps", lambda: draw(torch.rand(2, 1, 1), ["a"], ["b"], titles=["one"]), ValueError, "1 titles for 2 maps"),
    ("heatmaps", lambda: draw(torch.tensor([[7.0]]), ["a"], ["b"]), ValueError, r"0\.\.1, got 7\.\.7: use signed=True"),
    ("heatmaps", lambda: draw(torch.tensor([[torch.nan]]), ["a"], ["b"]), ValueError, "be finite"),
    ("picture", lambda: plotting.picture("02_nothing"), FileNotFoundError, "02_nothing"),
    # explorers and exercises
    ("heads_explorer", lambda: heads_explorer(ATTENTION, X[0], list("abc"), list("abcdefgh")), ValueError, r"got \(5, 8\) with 3 tokens"),
    ("heads_explorer", lambda: heads_explorer(ATTENTION, X[0].numpy(), "abcde", "abcdefgh"),
     TypeError, "X must be a tensor, got ndarray"),
    ("pooling_explorer", lambda: pooling_explorer(torch.rand(2, 3), torch.rand(3, 2), [1, 2, 3]), ValueError, r"\(2, 3\), \(3, 2\), \(3,\)"),
    ("order_explorer", lambda: order_explorer(ATTENTION, X[0], list("abcde"), list("abcdefgh"), 3), ValueError, "num_heads=1.*num_heads=2"),
    ("clock_explorer", lambda: clock_explorer(7), ValueError, "num_hiddens=7 is not possible"),
    ("lengths_explorer", lambda: lengths_explorer([], 8, {}), ValueError, r"tasks \[\], lengths \[\]"),
    ("compare_explorer", lambda: compare_explorer(n=-3), ValueError, "n=-3"),
    ("compare_explorer", lambda: compare_explorer(num_heads=3), ValueError, "num_heads=3 is not possible"),
    ("dates_explorer", lambda: dates_explorer(nn.Linear(2, 2)), ValueError, "got Linear"),
    ("check", lambda: exercises.check("nothing", 1), KeyError, "no exercise 'nothing'; there are"),
    ("hint", lambda: exercises.hint("nothing"), KeyError, "no exercise 'nothing'; there are"),
    # D2L's names
    ("d2l_1_0", lambda: d2l_1_0.MultiHeadAttention(8, 3, 0.0), ValueError, "num_heads=3 does not divide num_hiddens=8"),
    ("d2l_1_0", lambda: d2l_1_0.MultiHeadAttention(8, 2, 0.0)(X, X, X, torch.tensor([9, 9])), ValueError, "valid_lens contains 9"),
    ("d2l_1_0", lambda: d2l_1_0.show_heatmaps(torch.rand(3, 3), "keys", "queries"), ValueError, r"\(rows, columns, queries, keys\), got \(3, 3\)"),
    ("d2l_1_0", lambda: d2l_1_0.Trainer, AttributeError, "no 'Trainer' here.*11.5 and 11.6"),
    ("d2l_0_17", lambda: d2l_0_17.MultiHeadAttention(8, 8, 8, 8, 3, 0.0), ValueError, "num_heads=3 does not divide num_hiddens=8"),
]


@pytest.mark.parametrize("name, call, error, message", BAD, ids=[f"{i}-{name}" for i, (name, *_) in enumerate(BAD)])
def test_a_bad_call_is_refused_by_name_and_number(name, call, error, message):
    assert_refused(call, error, message)


def test_every_public_name_has_a_row_here_or_in_the_cores_table():
    from test_bad_input import BAD as CORE
    relative = {"ShawRelativeKeys", "T5RelativeBias", "ALiBi", "RotaryEmbedding"}  # have a table in test_relative.py
    covered = {name for name, *_ in [*CORE, *BAD]} | relative
    assert set(d2l_ext.__all__) <= covered


@pytest.mark.parametrize("call", [lambda: Convolution(8)(X), lambda: CODER(ONE, ONE), lambda: dates.encode(["5 march 2021"]), lambda: laboratory.results("06"),
                                  lambda: cost("recurrence", 5, 2), lambda: dates.written(datetime.date(2021, 3, 5), 0), lambda: CODER.generate(ONE, 0, 0)])
def test_a_good_call_is_not_refused(call):
    call()
