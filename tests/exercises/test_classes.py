"""Classes written from an empty cell: each slip hears its own words, and so do other spellings."""
import re

import pytest
import torch
from rules.notebook import all_notebooks, fences, trios
from torch import nn

import d2l_ext
from attention_lessons.exercises import all_exercises, check
from attention_lessons.exercises.classes import (
    FromScratch, Slip, Trial, Trouble, in_words, precision, refusal, refuses, trying)
from d2l_ext.transformer import DecoderBlock

CLASSES = {name: exercise for name, exercise in all_exercises().items()
           if isinstance(exercise, FromScratch)}
SOLUTIONS = {name: fences(trio[2])[0] for notebook in all_notebooks()
             for name, trio in trios(notebook).items() if name in CLASSES}


def solution(name, *changes):
    """The class in the lesson, with parts of its text replaced: old, new, old, new, ..."""
    text = SOLUTIONS[name]
    for old, new in zip(changes[::2], changes[1::2]):
        assert old in text, old
        text = text.replace(old, new)
    names = {"torch": torch, "nn": nn, "F": nn.functional, "math": torch.math, "d2l_ext": d2l_ext}
    exec(text, names)
    return list(names.values())[-1]


# ---- the seven of the lessons --------------------------------------------------------------------

@pytest.mark.parametrize("name, answer", [
    *((name, exercise.right) for name, exercise in CLASSES.items()),
    ("multi-head-class", d2l_ext.MultiHeadAttention), ("decoder-block-class", DecoderBlock),
    ("positional-class", d2l_ext.PositionalEncoding),
    ("multi-head-class", solution("multi-head-class", "lowest =", "lowest = -1e9  #")),
    ("tiles-class", solution("tiles-class", "-torch.inf", "-1e30"))])
def test_right_classes_are_right(name, answer):
    assert check(name, answer) == CLASSES[name].judge(CLASSES[name].right)


def test_the_reference_for_rotary_turns_as_the_package_does():
    X = torch.randn(2, 3, 9, 8)
    wanted = d2l_ext.RotaryEmbedding(8).transform(X, X)[0][:, :, 5:]
    assert torch.allclose(CLASSES["rotary-class"].right(8)(X[:, :, 5:], 5), wanted, atol=1e-6)


@pytest.mark.parametrize("name, changes, words", [
    ("multi-head-class", ("valid_lens[:, None, None, None]", "valid_lens[:, None, None]"),
     r"RuntimeError: [^\n]*must match[^\n]*\n  Where scores are .*need four axes"),
    ("multi-head-class", ("torch.arange(scores.shape[-1]", "torch.arange(scores.shape[-2]"),
     r"valid_lens\) raises RuntimeError: [^\n]*must match[^\n]*$"),
    ("multi-head-class", ("return scores.masked_fill(~keep, lowest)",
                          "scores[~keep] = lowest\n        return scores"), "own shape"),
    ("multi-head-class", ("self.dropout(weights) @",
                          "weights * self.dropout(torch.ones(len(q), 2, 1, 1)) @"),
     "heads and queries are dropped independently: expected yes, yours: no"),
    ("positional-class", ('self.register_buffer("P", P, persistent=False)',
                          "self.P = nn.Parameter(P, requires_grad=False)"), "a parameter is saved"),
    ("decoder-block-class", ("causal=True", "valid_lens=valid_lens, causal=True"),
     "contains 5.*\n  The lengths are the source's"),
    ("decoder-block-class", ("self.dropout(self.network(self.norms[2](X)))",
                             "self.network(self.norms[2](X))"),
     "what network adds to X is multiplied by: expected 0 or 1.25, yours: 1"),
])
def test_other_spellings_hear_why(name, changes, words):
    result = check(name, solution(name, *changes))
    assert result.state == "wrong" and re.search(words, result.message), result


# ---- on a small promise, each message word by word -----------------------------------------------

class Gate(nn.Module):
    """X @ W + b, zero from position lens on, with dropout; parts divide the width."""

    def __init__(self, width, parts=1, dropout=0.0):
        super().__init__()
        if width % parts:
            raise ValueError
        self.b = nn.Parameter(torch.zeros(width))
        self.W = nn.Linear(width, width, bias=False)
        self.p = dropout

    def forward(self, X, lens=None):
        Y = self.W(X) + self.b
        if lens is not None:
            Y = Y * (torch.arange(X.shape[1]) < lens[:, None])[..., None]
        return nn.functional.dropout(Y, self.p, self.training)


class Narrow(Gate):
    """A class whose text stands in its base."""


LENS = torch.tensor([1, 4, 0])
TRIAL = Trial(Gate, (6, 2), {"X": (3, 4, 6)}, {"dropout": 0.0}, "lens", {"'no'": "Known."})
LOST = "The lengths have no effect."
GATE = FromScratch(
    "gate", ("One.", "Two."), "Well done.", right=Gate, sizes="3 sentences",
    stages=(TRIAL.shows("The output"), TRIAL.shows("The output with lengths 1, 4, 0", LENS),
            TRIAL.keeps(LENS), TRIAL.learns(), TRIAL.evaluates(LENS),
            refuses("The error for 4 parts", 6, 4)),
    slips=[
        Slip("if lens is not None", "if False", "self.p, self.training", "self.p",
             LOST + " And more."),
        Slip("if lens is not None", "if False", LOST),
        Slip("< lens", "<= lens", "One too many."),
        Slip("self.W(X)", "self.W(X.detach())", "if lens is not None", "if False", "Not both."),
    ])
NAMED, FORWARD = "Gate(6, 2, dropout=0.0)", "    def forward(self, X, lens=None):\n"
RIGHT, DOESNT_ASK = "self.p = dropout", "which the promise doesn't ask for: "
HIDES = "if lens is not None:"


@pytest.mark.parametrize("answer, words", [
    (Gate(6), "Give the class itself, got Gate: check('gate', TheClass), without brackets behind "
              "it."),
    (type("Plain", (), {}), "A layer is an nn.Module: begin with class Plain(nn.Module)."),
    (type("Half", (nn.Module,), {"__init__": Gate.__init__}),
     "There is no forward yet. The promise asks for forward(self, X, lens=None)."),
    (type("Half", (nn.Module,), {"forward": Gate.forward}), "There is no __init__ yet. The promise "
     "asks for __init__(self, width, parts=1, dropout=0.0)."),
    *((Slip(*changes, words).of(Gate), words) for *changes, words in [
        ("self.W", "self.V", "self.b", "self.c",
         f"The state_dict of {NAMED} has no b, W.weight: it holds c, V.weight. The promise says "
         "what the parts are called."),
        (RIGHT, "self.register_buffer('q', torch.ones(2)); self.p = dropout",
         f"The state_dict of {NAMED} holds q, {DOESNT_ASK}persistent=False keeps a buffer out of "
         "it."),
        ("bias=False", "bias=True",
         f"The state_dict of {NAMED} holds W.bias, {DOESNT_ASK}a parameter is trained and saved."),
        ("zeros(width)", "zeros(width, 1)",
         f"b of {NAMED} should have shape (6,), yours has (6, 1)."),
        (RIGHT, "raise KeyError('no')", f"{NAMED} raises KeyError: 'no'"),
        (FORWARD, f"{FORWARD}        raise KeyError('no')\n",
         "forward(X) raises KeyError: 'no'\n  Known."),
        (HIDES, f"{HIDES} raise SystemExit('stop')\n        if 0:",
         "forward(X, lens) raises SystemExit: stop"),
        ("self.W(X)", "self.W(X)[:, 1:]", "The output differs. The shape should be (3, 4, 6), "
         "yours is (3, 3, 6).\n  Tried with 3 sentences."),
        (HIDES, "if False:", LOST), ("< lens", "<= lens", "One too many."),
        (HIDES, "if False:", "self.p, self.training", "self.p", LOST + " And more."),
        (HIDES, "X.data.mul_(2)\n        if lens is not None:",
         "X after the call of forward differs. The shape is right, 72 of 72 numbers are not. The "
         "first at [0, 0, 0]: expected 1.8423, yours is 3.6847.\n  Tried with 3 sentences."),
        ("self.W(X)", "self.W(X.detach())",
         "The gradient of X is missing: nothing flows back to it from the output."),
        ("self.W(X) + self.b", "(self.W(X) + self.b).detach()",
         "The gradient of X is missing: nothing flows back to it from the output."),
        ("Y = self.W(X)", "Z = X.exp(); Y = Z * Z; Z.zero_(); Y = 0 * Y + self.W(X)",
         "Going backwards from the output raises RuntimeError: one of the variables"),
        ("self.p, self.training", "self.p", "With dropout=0.2 in evaluation mode, two calls: "
                                            "expected agree, yours: differ."),
        ("raise ValueError", "pass", "The error for 4 parts: expected ValueError, yours: no "
         "error."),
        ("raise ValueError", "raise KeyError",
         "The error for 4 parts: expected ValueError, yours: KeyError."),
    ])])
def test_what_is_said_of_a_class(answer, words):
    result = GATE.judge(answer)
    assert result.state == "wrong" and result.message.startswith(words), result


def test_a_right_class_is_right_and_an_empty_one_no_attempt():
    untidy = Slip("lens[:, None])", "lens.sub_(0)[:, None])", "").of(Narrow)
    for answer in (Gate, Narrow, untidy):
        assert (GATE.judge(answer).state, GATE.judge(answer).message) == ("right", "Well done.")
    assert LENS.tolist() == [1, 4, 0]
    result = GATE.judge(type("Empty", (nn.Module,), {}))
    assert (result.state, result.message) == (
        "not attempted", 'Not attempted yet: the class is empty. Try hint("gate").')


def test_what_is_not_written_yet_is_no_trouble():
    with pytest.raises(NotImplementedError):
        trying("It", nn.Module().forward)
    with pytest.raises(Trouble, match="^It raises ValueError"):
        trying("It", int, "x")
    assert trying("It", max, 2, 3, key=lambda number: -number) == 2
    assert [refusal(chr, -1), refusal(abs, "")] == ["ValueError", "TypeError"]
    assert refusal("".encode().decode, "ascii") == "no error"
    assert refusal(b"\xff".decode) == "ValueError"  # a UnicodeDecodeError is one


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
