"""Classes written from an empty cell, tried in stages beside a class that keeps the promise.

Both are built, given the same weights and the same inputs, and report results by name. What is
said concerns the first stage in which they differ.
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType

import torch
from torch import Tensor, nn

from .compare import copies, first_difference, same
from .kinds import Exercise, Result

Results = dict[str, object]  # what was looked at, in words -> a tensor, or text
Stage = Callable[[type], Results]


class Trouble(Exception):
    """What keeps a class from being tried at all, in words for the reader."""


@dataclass
class FromScratch(Exercise):
    """A class, compared with ``reference``, which keeps the promise.

    signatures: ``__init__`` and ``forward`` as the promise has them.
    stages: what is looked at, one after the other.
    misconceptions: pairs of a wrong class and the words for whoever wrote it. They are said if the
    answer fails in the same stage, with the same results. Of several such classes it is the one
    that agrees with the answer in most stages.
    sizes: what the class is tried with, in words.
    """

    reference: type = nn.Module
    signatures: tuple[str, str] = ("", "")
    stages: Sequence[Stage] = ()
    misconceptions: Sequence[tuple[type, str]] = field(default=(), repr=False)
    sizes: str = ""

    def judge(self, answer) -> Result:
        if not isinstance(answer, type):
            return Result("wrong", f"Give the class itself, got {type(answer).__name__}: "
                                   f"check({self.name!r}, TheClass), without brackets behind it.")
        if not issubclass(answer, nn.Module):
            begin = f"class {answer.__name__}(nn.Module)"
            return Result("wrong", f"A layer is an nn.Module: begin with {begin}.")
        written = methods(answer)
        if not written:
            words = f'Not attempted yet: the class is empty. hint("{self.name}") helps.'
            return Result("not attempted", words)
        for method, signature in zip(("__init__", "forward"), self.signatures):
            if method not in written:
                words = f"There is no {method} yet. The promise asks for {signature}."
                return Result("wrong", words)
        try:
            return self.compare(answer)
        except Trouble as trouble:
            return Result("wrong", str(trouble))

    def compare(self, answer: type) -> Result:
        for stage in self.stages:
            given, wanted = stage(answer), stage(self.reference)
            if not equal(given, wanted):
                words = self.diagnosis(answer, stage, given) or self.difference(given, wanted)
                return Result("wrong", words)
        return Result("right", self.praise)

    def diagnosis(self, answer: type, failed: Stage, given: Results) -> str | None:
        """The words for the misconception that explains these results, if any does."""
        known = [slip for slip, (stage, results) in zip(self.misconceptions, self.failures)
                 if stage is failed and equal(given, results)]
        if len(known) > 1:
            known.sort(key=lambda slip: sum(agree(stage, answer, slip[0]) for stage in self.stages),
                       reverse=True)
        return known[0][1] if known else None

    @cached_property
    def failures(self) -> list[tuple[Stage | None, Results]]:
        """For each misconception the first stage that it fails, and its results there."""
        return [self.first_failure(wrong) for wrong, _ in self.misconceptions]

    def first_failure(self, wrong: type) -> tuple[Stage | None, Results]:
        for stage in self.stages:
            results = stage(wrong)
            if not equal(results, stage(self.reference)):
                return stage, results
        return None, {}

    def difference(self, given: Results, wanted: Results) -> str:
        what = next(name for name in wanted if not same(given[name], wanted[name]))
        if isinstance(wanted[what], str):
            return f"{what}: expected {wanted[what]!r}, yours: {given[what]!r}."
        if given[what] is None and what.startswith("The gradient"):
            return f"{what} is missing: nothing flows back to it from the output."
        difference = first_difference(given[what], wanted[what])
        return f"{what} differs. {difference}\n  Tried with {self.sizes}."


def bare(self):
    ...


def documented(self):
    """Nothing but a promise."""


EMPTY = {function.__code__.co_code for function in (bare, documented)}


def methods(answer: type) -> set[str]:
    """The names of the methods in which something is written, in the class or its own bases."""
    own = [parent for parent in answer.__mro__ if parent not in nn.Module.__mro__]
    return {name for parent in own for name, method in vars(parent).items()
            if isinstance(method, FunctionType) and method.__code__.co_code not in EMPTY}


def equal(given: Results, wanted: Results) -> bool:
    return all(same(given[name], wanted[name]) for name in wanted)


def agree(stage: Stage, answer: type, wrong: type) -> bool:
    try:
        return equal(stage(answer), stage(wrong))
    except Exception:  # an answer may raise anything
        return False


# ---- wrong classes: a right one with parts of its text replaced ----------------------------------

@cache
def text_of(parent: type) -> str:
    """The text of a class, behind those of its bases in the same module."""
    bases = [base for base in reversed(parent.__mro__) if base.__module__ == parent.__module__]
    return "\n\n".join(map(inspect.getsource, bases))


def changed(parent: type, *changes: str) -> type:
    """The class with parts of its text replaced: old, new, old, new, ..."""
    text = text_of(parent)
    for old, new in zip(changes[::2], changes[1::2]):
        if old not in text:
            raise ValueError(f"{parent.__name__} has no {old!r}")
        text = text.replace(old, new)
    names = dict(vars(sys.modules[parent.__module__]))
    exec(text, names)
    return names[parent.__name__]


def slips(parent: type, cases: list[tuple[str, ...]]) -> list[tuple[type, str]]:
    """Misconceptions: for each case a changed class and its last entry, the words."""
    return [(changed(parent, *changes), words) for *changes, words in cases]


# ---- what the stages are made of -----------------------------------------------------------------

def trying(what: str, call: Callable, *arguments, **options):
    """Call; an error becomes a Trouble that says where."""
    try:
        return call(*arguments, **options)
    except NotImplementedError:
        raise
    except (Exception, SystemExit) as error:
        raise Trouble(f"{what} raises {type(error).__name__}: {error}") from error


def build(answer: type, reference: type, *sizes, **options) -> nn.Module:
    """A layer with the weights that all are tried with.

    They move there as a ``state_dict``, so names and shapes must fit.
    """
    arguments = [*map(repr, sizes), *(f"{name}={value}" for name, value in options.items())]
    what = f"{answer.__name__}({', '.join(arguments)})"
    layer = trying(what, answer, *sizes, **options)
    state, own = reference(*sizes, **options).state_dict(), layer.state_dict()
    if missing := [name for name in state if name not in own]:
        raise Trouble(f"The state_dict of {what} has no {', '.join(missing)}: it holds "
                      f"{', '.join(own) or 'nothing'}. The promise says what the parts are called.")
    if surplus := [name for name in own if name not in state]:
        why = "persistent=False keeps a buffer out of it"
        if set(surplus) & {name for name, _ in layer.named_parameters()}:
            why = "a parameter is trained and saved"
        raise Trouble(f"The state_dict of {what} holds {', '.join(surplus)}, "
                      f"which the promise doesn't ask for: {why}.")
    generator = torch.Generator().manual_seed(4)
    for name, weight in state.items():
        if own[name].shape != weight.shape:
            raise Trouble(f"{name} of {what} should have shape {tuple(weight.shape)}, "
                          f"yours has {tuple(own[name].shape)}.")
        state[name] = torch.randn(weight.shape, generator=generator) / 2
    trying(f"load_state_dict of {what}", layer.load_state_dict, state)
    return layer


def draw(*shapes: tuple) -> list[Tensor]:
    """Random inputs."""
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@dataclass
class Trial:
    """How a class is tried: the sizes that it is built with, and the inputs of ``forward``.

    inputs: their names and shapes. options: what it is built with unless a stage says otherwise.
    last: the name of a last argument, such as lengths, which is given in some stages. call: how
    ``forward`` is called with it.
    """

    reference: type
    sizes: tuple[int, ...]
    inputs: dict[str, tuple[int, ...]]
    options: dict[str, object] = field(default_factory=dict)
    last: str = ""
    call: Callable = trying

    def run(self, answer: type, *last, X=None, sizes=(), mode="train", slope=False, **options):
        """The layer, its output, and its inputs by name.

        X replaces the first input; with slope, inputs take gradients.
        """
        options = self.options | options
        layer = getattr(build(answer, self.reference, *(sizes or self.sizes), **options), mode)()
        inputs = dict(zip(self.inputs, draw(*self.inputs.values())))
        if X is not None:
            inputs[next(iter(inputs))] = X
        inputs = {name: values.requires_grad_(slope) for name, values in inputs.items()}
        names = [*inputs, self.last] if last else inputs
        call = self.call if last else trying
        output = call(f"forward({', '.join(names)})", layer, *inputs.values(), *copies(last))
        return layer, output, inputs

    def output(self, answer: type, *last, **options):
        return self.run(answer, *last, **options)[1]

    def shows(self, words: str, *last, **options) -> Stage:
        """A stage that looks at one output."""
        return lambda answer: {words: self.output(answer, *last, **options)}

    def learns(self, *last, **options) -> Stage:
        """A stage that looks at the gradients, for a loss that weighs all numbers differently."""
        def stage(answer):
            layer, output, inputs = self.run(answer, *last, slope=True, **options)
            direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(6))
            if output.requires_grad:
                trying("Going backwards from the output", (output * direction).sum().backward)
            leaves = inputs | dict(layer.named_parameters())
            return {f"The gradient of {name}": leaf.grad for name, leaf in leaves.items()}
        return stage

    def evaluates(self, *last) -> Stage:
        """A stage of two calls in evaluation mode; where they differ, their numbers say nothing."""
        def stage(answer):
            layer, _, inputs = self.run(answer, *last, dropout=0.2)
            first, second = (trying("In evaluation mode, forward", layer.eval(),
                                    *inputs.values(), *copies(last)) for _ in range(2))
            steady = same(second, first)
            return {"With dropout=0.2 in evaluation mode, two calls":
                    "agree" if steady else "differ",
                    "The output with dropout=0.2 in evaluation mode": first if steady else None}
        return stage


def refuses(words: str, *sizes: int) -> Stage:
    """A stage that builds with sizes that don't fit."""
    return lambda answer: {words: refusal(answer, *sizes)}


def refusal(call: Callable, *arguments) -> str:
    """The error that a call raises, in words."""
    try:
        call(*arguments)
    except Exception as error:
        name = type(error).__name__
        return "a ValueError" if isinstance(error, ValueError) else f"the error {name}"
    return "no error"


def factors_in_words(factors: Tensor) -> str:
    """The different numbers in a tensor, to three digits."""
    found = factors.detach().mul(1000).round().div(1000).unique().tolist()
    few = len(found) < 5
    return " or ".join(f"{number + 0.0:g}" for number in found) if few else "many different numbers"


def precision(given, wanted: Tensor) -> str:
    """How far off a result is: the same words for all ways to compute it in single precision."""
    if same(given, wanted):
        return "right"
    off = (given - wanted).abs().max()
    return "off by less than 0.1" if off < 0.1 else "off by more than 0.1"
