"""How a class written from an empty cell is judged: on a small promise, each message word by word.

The seven promises of the lessons stand in from_scratch.py; their wrong answers are slow to try.
"""

import pytest
import torch
from torch import nn

from d2l_ext.exercises.classes import (
    FromScratch, Trial, Trouble, build, changed, draw, factors_in_words, methods, precision,
    refusal, refuses, slips, trying)


class Gate(nn.Module):
    """The promise: X @ W + b, zero from position lens on, with dropout; parts divide the width."""

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
TRIAL = Trial(Gate, (6, 2), {"X": (3, 4, 6)}, {"dropout": 0.0}, last="lens")
LOST = "The lengths have no effect."
GATE = FromScratch(
    "gate", ("One.", "Two."), "Well done.", reference=Gate, sizes="3 sentences",
    signatures=("__init__(self, width, parts)", "forward(self, X, lens)"),
    stages=(TRIAL.shows("The output"), TRIAL.shows("The output with lengths 1, 4, 0", LENS),
            TRIAL.learns(), TRIAL.evaluates(LENS),
            refuses("Built with 6 wide and 4 parts, which don't divide it", 6, 4)),
    misconceptions=slips(Gate, [
        ("if lens is not None", "if False", "self.p, self.training", "self.p", LOST + " And more."),
        ("if lens is not None", "if False", LOST),
        ("< lens", "<= lens", "One too many."),
        ("self.W(X)", "self.W(X.detach())", "if lens is not None", "if False", "Not both."),
    ]))
NAMED, FORWARD = "Gate(6, 2, dropout=0.0)", "    def forward(self, X, lens=None):\n"
DOESNT_ASK = "which the promise doesn't ask for: "


@pytest.mark.parametrize("answer, words", [
    (Gate(6), "Give the class itself, got Gate: check('gate', TheClass), without brackets behind "
              "it."),
    (type("Plain", (), {}), "A layer is an nn.Module: begin with class Plain(nn.Module)."),
    (type("Half", (nn.Module,), {"__init__": Gate.__init__}),
     "There is no forward yet. The promise asks for forward(self, X, lens)."),
    (type("Half", (nn.Module,), {"forward": Gate.forward}),
     "There is no __init__ yet. The promise asks for __init__(self, width, parts)."),
])
def test_what_is_no_whole_class_is_told_so(answer, words):
    result = GATE.judge(answer)
    assert (result.state, result.message) == ("wrong", words)


@pytest.mark.parametrize("changes, words", [
    (("self.W", "self.V", "self.b", "self.c"),
     f"The state_dict of {NAMED} has no b, W.weight: it holds c, V.weight. The promise says what "
     "the parts are called."),
    (("nn.Parameter(torch.zeros(width))", "0", "self.W = ", "self.W = lambda X: X  # "),
     f"The state_dict of {NAMED} has no b, W.weight: it holds nothing. The promise says what the "
     "parts are called."),
    (("self.p = ", "self.register_buffer('q', torch.ones(2)); self.p = "),
     f"The state_dict of {NAMED} holds q, {DOESNT_ASK}persistent=False keeps a buffer out of it."),
    (("bias=False", "bias=True", "self.p = ",
      "self.register_buffer('q', torch.ones(2)); self.p = "),
     f"The state_dict of {NAMED} holds q, W.bias, {DOESNT_ASK}a parameter is trained and saved."),
    (("zeros(width)", "zeros(width, 1)"),
     f"b of {NAMED} should have shape (6,), yours has (6, 1)."),
    (("raise ValueError", "pass", "self.p = dropout", "raise KeyError('no')"),
     f"{NAMED} raises KeyError: 'no'"),
    ((FORWARD, f"{FORWARD}        raise KeyError('no')\n"), "forward(X) raises KeyError: 'no'"),
    (("if lens is not None:", "if lens is not None:\n            raise SystemExit('stop')"),
     "forward(X, lens) raises SystemExit: stop"),
    (("self.W(X)", "self.W(X)[:, 1:]"), "The output differs. The shape should be (3, 4, 6), yours "
                                        "is (3, 3, 6).\n  Tried with 3 sentences."),
    (("if lens is not None", "if False"), LOST),
    (("if lens is not None", "if False", "self.p, self.training", "self.p"), LOST + " And more."),
    (("< lens", "<= lens"), "One too many."),
    (("self.W(X)", "self.W(X.detach())"),
     "The gradient of X is missing: nothing flows back to it from the output."),
    (("self.W(X) + self.b", "(self.W(X) + self.b).detach()"),
     "The gradient of X is missing: nothing flows back to it from the output."),
    (("self.p, self.training", "self.p"), "With dropout=0.2 in evaluation mode, two calls: "
                                          "expected 'agree', yours: 'differ'."),
    (("raise ValueError", "pass"), "Built with 6 wide and 4 parts, which don't divide it: expected "
                                   "'a ValueError', yours: 'no error'."),
    (("raise ValueError", "raise KeyError"), "Built with 6 wide and 4 parts, which don't divide "
                                             "it: expected 'a ValueError', yours: 'the error "
                                             "KeyError'."),
])
def test_what_is_said_of_a_class(changes, words):
    result = GATE.judge(changed(Gate, *changes))
    assert (result.state, result.message) == ("wrong", words)


def test_a_right_class_is_right_and_an_empty_one_no_attempt():
    for answer in (Gate, Narrow, changed(Narrow, "self.W(X) + self.b", "self.b + self.W(X)")):
        assert (GATE.judge(answer).state, GATE.judge(answer).message) == ("right", "Well done.")
    assert methods(Narrow) == {"__init__", "forward"} and methods(nn.Module) == set()
    result = GATE.judge(type("Empty", (nn.Module,), {}))
    assert (result.state, result.message) == (
        "not attempted", 'Not attempted yet: the class is empty. hint("gate") helps.')


def test_a_misconception_fails_where_its_results_are_known():
    failed = [GATE.stages.index(stage) for stage, _ in GATE.failures]
    assert failed == [1, 1, 1, 1]
    right = FromScratch("gate", (), "", reference=Gate, stages=GATE.stages)
    assert right.first_failure(Gate) == (None, {})


def test_what_is_replaced_must_be_there():
    with pytest.raises(ValueError, match="^Narrow has no 'self.V'$"):
        changed(Narrow, "self.V", "self.W")


# ---- what stages are made of ---------------------------------------------------------------------

def test_a_layer_is_built_with_the_weights_of_all():
    one, two = (build(answer, Gate, 6, 2, dropout=0.5) for answer in (Gate, Narrow))
    assert one.p == two.p == 0.5 and torch.equal(one.W.weight, two.W.weight)
    assert torch.equal(one.b, two.b) and 0.2 < one.W.weight.std() < 0.8
    assert [X.shape for X in draw((2, 3), (5,))] == [(2, 3), (5,)]
    assert all(torch.equal(*pair) for pair in zip(draw((2, 3), (5,)), draw((2, 3), (5,))))


def test_a_trial_runs_as_it_is_asked():
    X = torch.randn(2, 3, 4)
    layer, output, inputs = TRIAL.run(Gate, X=X, sizes=(4,), mode="eval", dropout=0.9)
    assert not layer.training and layer.p == 0.9 and inputs == {"X": X} and not X.requires_grad
    assert torch.equal(output, X @ layer.W.weight.T + layer.b)
    layer, _, inputs = TRIAL.run(Gate, slope=True)
    assert layer.training and layer.p == 0 and inputs["X"].requires_grad
    assert inputs["X"].shape == (3, 4, 6)


def test_a_trial_calls_in_its_own_way_where_a_last_argument_is_given():
    called = []
    trial = Trial(Gate, (6,), {"X": (3, 4, 6)}, last="lens",
                  call=lambda what, *given: called.append(what) or trying(what, *given))
    trial.output(Gate), trial.output(Gate, LENS)
    assert called == ["forward(X, lens)"]


def test_what_an_answer_does_to_lengths_and_gradients_is_its_own_affair():
    writes = changed(Gate, "return nn", "if lens is not None:\n            lens.zero_()\n"
                                        "        return nn")
    results = TRIAL.evaluates(LENS)(writes)
    assert results["With dropout=0.2 in evaluation mode, two calls"] == "agree"
    wanted = TRIAL.output(Gate, LENS, dropout=0.0)
    assert torch.equal(results["The output with dropout=0.2 in evaluation mode"], wanted)
    assert LENS.tolist() == [1, 4, 0]
    spoils = changed(Gate, "return nn", "Z = Y.exp()\n        Y = Z * Z\n        Z.zero_()\n"
                                        "        return nn")
    with pytest.raises(Trouble, match="^Going backwards from the output raises RuntimeError: one"):
        TRIAL.learns()(spoils)
    leaves = TRIAL.learns(LENS)(Gate)
    assert [*leaves] == [f"The gradient of {name}" for name in ("X", "b", "W.weight")]
    assert not leaves["The gradient of X"][2].any() and leaves["The gradient of X"][1].all()


def test_an_error_becomes_trouble_but_for_what_is_not_written_yet():
    def raises(error):
        raise error

    with pytest.raises(Trouble, match="^It raises KeyError: 3$"):
        trying("It", raises, KeyError(3))
    with pytest.raises(NotImplementedError):
        trying("It", raises, NotImplementedError())
    assert trying("It", max, 2, 3, key=lambda number: -number) == 2
    assert [refusal(raises, error) for error in (ValueError(), UnicodeError(), KeyError())] == [
        "a ValueError", "a ValueError", "the error KeyError"]
    assert refusal(abs, -1) == "no error"


@pytest.mark.parametrize("numbers, words", [
    ([0.0, 1.25, -0.0, 1.2504], "0 or 1.25"), ([1, 2, 3, 4.0], "1 or 2 or 3 or 4"),
    ([1, 2, 3, 4, 5.0], "many different numbers"), ([0.3333], "0.333")])
def test_factors_in_words(numbers, words):
    assert factors_in_words(torch.tensor(numbers)) == words


@pytest.mark.parametrize("off, words", [
    (0.0, "right"), (1e-6, "right"), (-0.05, "off by less than 0.1"),
    (0.1, "off by more than 0.1"), (-3.0, "off by more than 0.1")])
def test_precision_in_words(off, words):
    wanted = torch.tensor([0.0, 1.0])
    assert precision(wanted + torch.tensor([off, 0]), wanted) == words
