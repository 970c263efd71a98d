"""Classes written from an empty cell: what is said of them, message by message."""
import re

import pytest
import torch
from torch import nn

import d2l_ext
from attention_lessons.exercises import check, find
from attention_lessons.exercises.classes import (
    FromScratch, ClassTrial, precision, refusal, refuses)
from attention_lessons.exercises.kinds import Slip
from attention_lessons.lesson_08.exercises import in_words
from d2l_ext.transformer import DecoderBlock


@pytest.mark.parametrize("name, answer", [
    ("multi-head-class", d2l_ext.MultiHeadAttention), ("decoder-block-class", DecoderBlock),
    ("positional-class", d2l_ext.PositionalEncoding)])
def test_the_packages_classes_are_right(name, answer):
    assert check(name, answer).state == "right"


@pytest.mark.parametrize("name, changes, words", [
    ("self-attention-class", ("valid_lens[:, None, None, None]", "valid_lens[:, None, None]"),
     r"RuntimeError: [^\n]*must match[^\n]*\n  Where scores are .*need four axes"),
    ("self-attention-class", ("torch.arange(X.shape[1])", "torch.arange(X.shape[1] - 3)"),
     r"valid_lens\) raises RuntimeError: [^\n]*must match[^\n]*$"),
    ("self-attention-class", ("        weights =", "        scores[~keep] = -1e9; weights ="),
     "own shape"),
    ("decoder-block-class", ("causal=True", "causal=True, valid_lens=valid_lens"),
     "contains 5.*\n  The lengths are the source's"),
    ("decoder-block-class", ("self.dropout(part", "self.dropout.train()(part"),
     "^In evaluation mode numbers are still dropped"),
    ("decoder-block-class", ("self.dropout(part", "torch.nn.Dropout(self.dropout.p / 2)(part"),
     "^In evaluation mode numbers are still dropped"),
    ("decoder-block-class", ("X + self.dropout(part", "self.dropout(X) + (part"),
     "^You drop numbers of X itself"),
])
def test_known_errors_hear_why(name, changes, words):
    result = check(name, Slip((*changes, "")).of(find(name).reference))
    assert result.state == "wrong" and re.search(words, result.message), result


# ---- on a small promise, each message word by word -----------------------------------------------

class Gate(nn.Module):
    """X @ W + b, zero from position lens on; parts divide the width."""

    def __init__(self, width, parts=1):
        super().__init__()
        if width % parts:
            raise ValueError
        self.b = nn.Parameter(torch.zeros(width))
        self.W = nn.Linear(width, width, bias=False)

    def forward(self, X, lens=None):
        Y = self.W(X) + self.b
        if lens is not None:
            Y = Y * (torch.arange(X.shape[1]) < lens[:, None])[..., None]
        return Y


class Narrow(Gate):
    """A class whose text stands in its base."""


LENS = torch.tensor([1, 4, 0])
TRIAL = ClassTrial(Gate, (6, 2), {"X": (3, 4, 6)}, "lens", {"'no'": "Known."})
HIDES, LOST = "if lens is not None:", "The lengths have no effect."
GATE = FromScratch(
    "gate", Gate, sizes="3 sentences", praise="Well done.",
    stages=(TRIAL.shows("The output"), TRIAL.shows("The output with lengths 1, 4, 0", LENS),
            TRIAL.keeps(LENS), TRIAL.learns(), refuses("The error for 4 parts", 6, 4)),
    slips=[
        (HIDES, "if False:", "raise ValueError", "pass", LOST + " And more."),
        (HIDES, "if False:", LOST), ("< lens", "<= lens", "One too many."),
        ("self.W(X)", "self.W(X.detach())", HIDES, "if False:", "Not both."),
    ])
HOLDS, DOESNT_ASK = "The state_dict of Gate(6, 2) holds", "which the docstring doesn't ask for: "
FORWARD = "    def forward(self, X, lens=None):\n"


@pytest.mark.parametrize("answer, words", [
    (Gate(6), "Pass the class itself, without parentheses: check('gate', TheClass); got Gate."),
    (type("Plain", (), {}), "A layer is an nn.Module: begin with class Plain(nn.Module)."),
    (type("Half", (nn.Module,), {"__init__": Gate.__init__}),
     "There is no forward yet. The docstring asks for forward(self, X, lens=None)."),
    (type("Half", (nn.Module,), {"forward": Gate.forward}),
     "There is no __init__ yet. The docstring asks for __init__(self, width, parts=1)."),
    *((Slip(slip).of(Gate), slip[-1]) for slip in [
        ("self.W", "self.V", "self.b", "self.c",
         "The state_dict of Gate(6, 2) has no b, W.weight: it holds c, V.weight. The docstring "
         "says what the parts are called."),
        ("bias=False)", "bias=False); self.register_buffer('q', torch.ones(2))",
         f"{HOLDS} q, {DOESNT_ASK}persistent=False keeps a buffer out of it."),
        ("bias=False", "bias=True",
         f"{HOLDS} W.bias, {DOESNT_ASK}a parameter is trained and saved."),
        ("zeros(width)", "zeros(width, 1)",
         "b of Gate(6, 2) should have shape (6,), yours has (6, 1)."),
        ("bias=False)", "bias=False); raise KeyError('no')", "Gate(6, 2) raises KeyError: 'no'"),
        (FORWARD, f"{FORWARD}        raise KeyError('no')\n",
         "forward(X) raises KeyError: 'no'\n  Known."),
        (HIDES, f"{HIDES} raise SystemExit('stop')\n        if 0:",
         "forward(X, lens) raises SystemExit: stop"),
        ("self.W(X)", "self.W(X)[:, 1:]", "The output differs. The shape should be (3, 4, 6), "
         "yours is (3, 3, 6).\n  Tried with 3 sentences."),
        (HIDES, "if False:", LOST), ("< lens", "<= lens", "One too many."),
        (HIDES, "if False:", "raise ValueError", "pass", LOST + " And more."),
        (HIDES, "X.data.mul_(2)\n        if lens is not None:",
         "X after the call of forward differs. The shape is right, 72 of 72 numbers are not. The "
         "first at [0, 0, 0]: expected 1.8423, yours is 3.6847.\n  Tried with 3 sentences."),
        ("self.W(X)", "self.W(X.detach())",
         "The gradient of X is missing: nothing flows back to it from the output."),
        ("self.W(X) + self.b", "(self.W(X) + self.b).detach()",
         "The gradient of X is missing: nothing flows back to it from the output."),
        ("Y = self.W(X)", "Z = X.exp(); Y = Z * Z; Z.zero_(); Y = 0 * Y + self.W(X)",
         "Going backwards from the output raises RuntimeError: one of the variables"),
        ("raise ValueError", "pass", "The error for 4 parts: expected ValueError, yours: no "
         "error."),
        ("raise ValueError", "raise KeyError",
         "The error for 4 parts: expected ValueError, yours: KeyError."),
    ])])
def test_what_is_said_of_a_class(answer, words):
    result = GATE.judge(answer)
    assert result.state == "wrong" and result.message.startswith(words), result


def test_a_right_class_is_right_and_an_empty_one_no_attempt():
    untidy = Slip(("lens[:, None])", "lens.sub_(0)[:, None])", "")).of(Narrow)
    for answer in (Gate, Narrow, untidy):
        assert (GATE.judge(answer).state, GATE.judge(answer).message) == ("right", "Well done.")
    assert LENS.tolist() == [1, 4, 0]
    result = GATE.judge(type("Empty", (nn.Module,), {}))
    assert (result.state, result.message) == (
        "not attempted", 'Not attempted yet: the class is empty. Try hint("gate").')


def test_a_kind_of_value_error_is_one():
    assert refusal(b"\xff".decode) == "ValueError"  # raises a UnicodeDecodeError


@pytest.mark.parametrize("numbers, words", [
    ([0.0, 1.25, -0.0, 1.2504], "0 or 1.25"), ([1, 2, 3, 4.0], "1 or 2 or 3 or 4"),
    ([1, 2, 3, 4, 5.0], "many different numbers"), ([0.3333], "0.333")])
def test_numbers_in_words(numbers, words):
    assert in_words(torch.tensor(numbers)) == words


@pytest.mark.parametrize("off, words", [
    (1e-6, "right"), (-0.05, "off by less than 0.1"), (0.1, "off by more than 0.1"),
    (-3.0, "off by more than 0.1")])
def test_precision_in_words(off, words):
    wanted = torch.tensor([0.0, 1.0])
    assert precision(wanted + torch.tensor([off, 0]), wanted) == words
