"""Classes written from an empty cell, tried in stages beside one that does what is asked.

Both are built, given the same weights and inputs, and report results by name. What is said
concerns the first stage in which they differ.
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..languages import t
from .compare import copies, differs
from .kinds import Build, NotYet, raises, slips_of, unwritten

Results = dict[str, object]  # what was looked at -> a tensor, or words
Stage = Callable[[type], Results]


class Trouble(Exception):
    """What keeps a class from being tried at all, in words for the reader."""


@dataclass
class FromScratch(Build):
    """A class, compared with ``reference``, which does what the docstring says.

    stages: what is looked at, one after the other. A slip explains what was found in the first in
    which the answer fails, and before it.
    sizes: what the class is tried with, in words.
    """

    stages: Sequence[Stage] = ()
    sizes: str = ""

    def __post_init__(self):
        self.inputs, self.slips = lambda: self.stages, slips_of(self.slips)

    def fault(self, answer):
        if not isinstance(answer, type):
            return t("Pass the class itself, without parentheses: check('{1}', TheClass); got {0}.",
                     type(answer).__name__, self.name)
        if not issubclass(answer, nn.Module):
            return t("A layer is an nn.Module: begin with class {0}(nn.Module).", answer.__name__)
        written = methods(answer)
        if not written:
            raise NotYet(t('Not attempted yet: the class is empty. Try hint("{0}").', self.name))
        for method in ("__init__", "forward"):
            if method not in written:
                promise = f"{method}{inspect.signature(getattr(self.reference, method))}"
                return t("There is no {0} yet. The docstring asks for {1}.", method, promise)
        return super().fault(answer)

    def run(self, code, case):
        return case(code)

    def raised(self, answer, case, error):
        return error.args[0] if isinstance(error, Trouble) else raises(error)

    def deciding_cases(self, case):
        return self.stages[self.stages.index(case)::-1]

    def explain_difference(self, given, wanted, case):
        what = next(name for name in wanted if differs(given[name], wanted[name]))
        if isinstance(wanted[what], str):
            return t("{0}: expected {1}, yours: {2}.", what, wanted[what], given[what])
        if given[what] is None and what.startswith("The gradient"):
            return t("{0} is missing: nothing flows back to it from the output.", what)
        return t("{0} differs. {1}\n  Tried with {2}.", what,
                 differs(given[what], wanted[what]), self.sizes)


def methods(answer: type) -> set[str]:
    """The names of the methods in which something is written, in the class or its own bases."""
    own = [parent for parent in answer.__mro__ if parent not in nn.Module.__mro__]
    return {name for parent in own for name, method in vars(parent).items()
            if isinstance(method, FunctionType) and not unwritten(method)}


# ---- what the stages are made of -----------------------------------------------------------------

def trying(what: str, call: Callable, *arguments, known=(), **options):
    """Call; an error becomes a Trouble that says where, and why if what it says is ``known``."""
    try:
        return call(*arguments, **options)
    except NotImplementedError:
        raise
    except (Exception, SystemExit) as error:
        words = t("{0} raises {1}: {2}", t(what), type(error).__name__, str(error))
        for part, why in dict(known).items():
            if re.search(part, str(error)):
                words += "\n  " + t(why)
        raise Trouble(words) from error


def build(answer: type, right: type, *sizes, **options) -> nn.Module:
    """A layer with the weights that all are tried with.

    They move there as a ``state_dict``, so names and shapes must fit.
    """
    arguments = [*map(repr, sizes), *(f"{name}={value}" for name, value in options.items())]
    what = f"{answer.__name__}({', '.join(arguments)})"
    layer = trying(what, answer, *sizes, **options)
    state, own = right(*sizes, **options).state_dict(), layer.state_dict()
    if missing := [name for name in state if name not in own]:
        held = ", ".join(own) or t("none")
        raise Trouble(t("The state_dict of {0} has no {1}: it holds {2}. The docstring says what "
                        "the parts are called.", what, ", ".join(missing), held))
    if surplus := [name for name in own if name not in state]:
        trained = {weight.requires_grad for name, weight in layer.named_parameters()
                   if name in surplus}
        why = t("a parameter is saved") if trained else t(
            "persistent=False keeps a buffer out of it")
        if True in trained:
            why = t("a parameter is trained and saved")
        raise Trouble(t("The state_dict of {0} holds {1}, which the docstring doesn't ask for: "
                        "{2}.", what, ", ".join(surplus), why))
    generator = torch.Generator().manual_seed(4)
    for name, weight in state.items():
        if own[name].shape != weight.shape:
            raise Trouble(t("{0} of {1} should have shape {2}, yours has {3}.", name, what,
                            tuple(weight.shape), tuple(own[name].shape)))
        state[name] = torch.randn(weight.shape, generator=generator) / 2
    trying(t("load_state_dict of {0}", what), layer.load_state_dict, state)
    return layer


def draw(*shapes: tuple) -> list[Tensor]:
    """Random inputs."""
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@dataclass
class ClassTrial:
    """How a class is tried: the sizes that it is built with, and the inputs of ``forward``.

    inputs: their names and shapes. last: the name of a last argument, such as lengths, which is
    given in some stages. known: what to say of errors in ``forward``, by a pattern.
    """

    right: type
    sizes: tuple[int, ...]
    inputs: dict[str, tuple[int, ...]]
    last: str = ""
    known: dict[str, str] = field(default_factory=dict)

    def run(self, answer: type, *last, change=None, sizes=(), mode="train", slope=False, **options):
        """The layer, its output, and its inputs by name.

        change: makes other inputs of the usual ones; where these are float64, so is the layer.
        With slope, inputs take gradients.
        """
        layer = build(answer, self.right, *(sizes or self.sizes), **options)
        values = draw(*self.inputs.values())
        values = list(change(*values)) if change else values
        if values[0].dtype == torch.float64:
            layer.double()
        inputs = {name: X.requires_grad_(slope) for name, X in zip(self.inputs, values)}
        names = [*inputs, self.last] if last else inputs
        output = trying(f"forward({', '.join(names)})", getattr(layer, mode)(), *inputs.values(),
                        *copies(last), known=self.known)
        return layer, output, inputs

    def shows(self, words: str, *last, **options) -> Stage:
        """A stage that looks at one output."""
        return lambda answer: {t(words): self.run(answer, *last, **options)[1]}

    def nears(self, words: str, *last, **options) -> Stage:
        """A stage that looks at how far off one output is."""
        return lambda answer: {t(words): precision(*(
            self.run(each, *last, **options)[1] for each in (answer, self.right)))}

    def keeps(self, *last) -> Stage:
        """A stage that looks at the inputs afterwards."""
        return lambda answer: {t("{0} after the call of forward", name): X for name, X
                               in self.run(answer, *last)[2].items()}

    def learns(self, *last, **options) -> Stage:
        """A stage that looks at the gradients, for a loss that weighs all numbers differently."""
        def stage(answer):
            layer, output, inputs = self.run(answer, *last, slope=True, **options)
            direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(6))
            if output.requires_grad:
                trying("Going backwards from the output", (output * direction).sum().backward)
            leaves = inputs | dict(layer.named_parameters())
            return {t("The gradient of {0}", name): leaf.grad for name, leaf in leaves.items()}
        return stage


def refuses(words: str, *sizes: int) -> Stage:
    """A stage that builds with sizes that don't fit."""
    return lambda answer: {t(words): refusal(answer, *sizes)}


def refusal(call: Callable, *arguments) -> str:
    """The name of the error that a call raises."""
    try:
        call(*arguments)
    except Exception as error:
        return "ValueError" if isinstance(error, ValueError) else type(error).__name__
    return t("no error")


class TensorCounter(TorchFunctionMode):
    """How many numbers are made, in all and at once, and whether PyTorch's attention is called."""

    total, largest, fused = 0, 0, False

    def __torch_function__(self, call, types, args=(), options=None):
        result = call(*args, **(options or {}))
        self.fused |= "scaled_dot_product" in str(call)
        if isinstance(result, Tensor):
            self.total += result.numel()
            self.largest = max(self.largest, result.numel())
        return result


def precision(given, wanted: Tensor) -> str:
    """How far off a result is: the same words for all ways to compute it in single precision."""
    if not differs(given, wanted):
        return t("right")
    small = (given - wanted).abs().max() < 0.1
    return t("off by less than 0.1") if small else t("off by more than 0.1")
