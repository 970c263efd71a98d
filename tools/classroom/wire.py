"""What passes between the grader and a student's process: plain data, and calls.

A message is JSON. Functions, classes and layers stay where they are: the other end gets a stand-in,
whose calls travel, with gradients, with what is written into arguments, and with the state of the
random numbers. So the grader compares results with code that never leaves it.
"""
import builtins
import json
from decimal import Decimal
from functools import partial
from multiprocessing.connection import Connection
from numbers import Real
from traceback import walk_tb

import torch
from attention_lessons.exercises.classes import Watch, methods
from attention_lessons.exercises.kinds import unwritten
from torch import nn
from torch.overrides import _get_current_function_mode_stack

LIMIT, NUMBERS = 2**25, 2**20  # bytes of a message, numbers of a tensor
DTYPES = {name: getattr(torch, name) for name in (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool").split()}
COLLECTIONS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
PARTS = {"Embedding": nn.Embedding, "LayerNorm": nn.LayerNorm, "Linear": nn.Linear}


class Gone(BaseException):
    """The other end has gone, or talks nonsense. ``check`` lets it pass."""


# ---- tensors -------------------------------------------------------------------------------------

def packed(tensor: torch.Tensor) -> list:
    """A tensor's type, shape and numbers, of the meta device without these.

    Raises TypeError for those that can't travel.
    """
    name, device = str(tensor.dtype).partition(".")[2], tensor.device.type
    if (name not in DTYPES or tensor.layout is not torch.strided or device not in ("cpu", "meta")
            or device == "cpu" and tensor.numel() > NUMBERS):
        raise TypeError(f"a tensor of {tensor.numel()} numbers, {name}, {device}")
    return [name, [*tensor.shape], None if device == "meta" else tensor.flatten().tolist()]


def unpacked(name: str, shape: list, numbers: list | None) -> torch.Tensor:
    """The tensor. Raises an error of PyTorch's or Python's for what is none."""
    if numbers is None:
        return torch.empty(shape, dtype=DTYPES[name], device="meta")
    return torch.tensor(numbers, dtype=DTYPES[name]).reshape(shape)


def leaf(tensor: torch.Tensor, slope: bool, trained: bool) -> torch.Tensor:
    """The tensor, as a parameter if it is ``trained``, or one that gets a gradient."""
    if trained:
        return nn.Parameter(tensor.detach(), requires_grad=bool(slope))
    return tensor.requires_grad_() if slope and not tensor.requires_grad else tensor


class Call(torch.autograd.Function):
    """A call whose gradients are those of the same call made again at the other end."""

    @staticmethod
    def forward(ctx, line, message, heard, *tensors):
        heard |= line.ask(message)
        made = tuple(unpacked(*sent[:3]) for sent in heard["tensors"])
        ctx.line, ctx.message, ctx.slopes = line, message, [sent[3] for sent in heard["tensors"]]
        ctx.mark_non_differentiable(*(tensor for tensor, slope in zip(made, ctx.slopes)
                                      if not slope))
        return made

    @staticmethod
    def backward(ctx, *slopes):
        given = [packed(tensor) for tensor, slope in zip(slopes, ctx.slopes) if slope]
        found = ctx.line.ask(ctx.message | {"slopes": given})["slopes"]
        return None, None, None, *(slope and unpacked(*slope) for slope in found)


# ---- a message -----------------------------------------------------------------------------------

class Parcel:
    """The values of one message, in which each tensor stands once."""

    def __init__(self, line, tensors: list = ()):
        self.line, self.tensors = line, [*tensors]  # those that both ends have
        self.sent = []

    def place(self, tensor: torch.Tensor) -> int:
        for place, other in enumerate(self.tensors):
            if other is tensor:
                return place
        self.sent.append([*packed(tensor), tensor.requires_grad, isinstance(tensor, nn.Parameter)])
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def encode(self, value):
        """The value as JSON can hold it."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, (Real, Decimal)):
            return float(value)
        for kind, made in COLLECTIONS.items():
            if isinstance(value, made):
                return {"kind": kind, "of": [self.encode(one) for one in value]}
        if isinstance(value, dict):
            return {"kind": "dict", "of": [self.encode(pair) for pair in value.items()]}
        if isinstance(value, torch.Tensor):
            try:
                return {"kind": "tensor", "at": self.place(value)}
            except TypeError:
                pass
        if getattr(value, "size", 0) == 1 and hasattr(value, "item"):  # one number of NumPy
            return self.encode(value.item())
        if value is ... or unwritten(value):
            return {"kind": "nothing"}
        if isinstance(value, torch.optim.AdamW):
            return {"kind": "optimizer", "of": [
                self.encode([group[name] for name in ("params", "lr", "weight_decay")])
                for group in value.param_groups]}
        return {"at": self.line.keep(value)} | (
            self.layer(value) if isinstance(value, nn.Module) else self.thing(value))

    def layer(self, value: nn.Module) -> dict:
        own = value._parameters | value._buffers
        return {"kind": "layer", "of": [[name, self.encode(part)]
                                        for name, part in value._modules.items()],
                "name": next((name for name, part in PARTS.items() if isinstance(value, part)), ""),
                "own": [[name, self.place(tensor), name not in value._non_persistent_buffers_set]
                        for name, tensor in own.items() if tensor is not None]}

    def thing(self, value) -> dict:
        """A class, a function, or what messages speak of by its type's name and its repr."""
        try:
            text = repr(value)[:200]
        except Exception:
            text = "..."
        given = {"kind": "function" if callable(value) else "thing", "text": text,
                 "name": type(value).__name__}
        if isinstance(value, type):
            given |= {"kind": "type", "name": value.__name__}
            if issubclass(value, nn.Module):
                given |= {"kind": "class", "of": sorted(methods(value))}
        return given

    def decode(self, given):
        if not isinstance(given, dict):
            return given
        kind, of, name = given["kind"], given.get("of", []), str(given.get("name"))
        if kind in COLLECTIONS:
            return COLLECTIONS[kind](map(self.decode, of))
        if kind == "dict":
            return dict(map(self.decode, of))
        if kind == "tensor":
            return self.tensors[given["at"]]
        if kind == "nothing":
            return ...
        if kind == "optimizer":
            names = "params", "lr", "weight_decay"
            return torch.optim.AdamW([dict(zip(names, self.decode(group))) for group in of])
        if kind == "function":
            return partial(self.line.call, int(given["at"]), None)
        if kind == "class":
            return self.line.class_of(int(given["at"]), name, of)
        if kind == "layer":
            return self.stand_in(given)
        text = str(given["text"])
        made = type(name, (), {"__repr__": lambda self: text})
        return made if kind == "type" else made()

    def stand_in(self, given: dict) -> nn.Module:
        base = PARTS.get(given["name"], nn.Module)
        layer = object.__new__(type(base.__name__, (base,), {"forward": self.line.forward}))
        nn.Module.__init__(layer)
        layer.at = int(given["at"])
        for name, place, saved in given["own"]:
            tensor = self.tensors[place]
            if isinstance(tensor, nn.Parameter):
                layer.register_parameter(name, tensor)
            else:
                layer.register_buffer(name, tensor, bool(saved))
        for name, part in given["of"]:
            layer.add_module(name, self.decode(part))
        return layer


# ---- the line ------------------------------------------------------------------------------------

class Line:
    """One end of the line between two processes, and what this end keeps for the other.

    kept: what the other end may call, by its place here.
    """

    def __init__(self, file: int, kept: list):
        self.connection, self.kept, self.gone = Connection(file), kept, False

        def forward(layer, *inputs, **options):
            return self.call(layer.at, layer, *inputs, **options)

        self.forward = forward

    def keep(self, value) -> int:
        self.kept.append(value)
        return len(self.kept) - 1

    def send(self, message: dict) -> None:
        try:
            self.connection.send_bytes(json.dumps(message).encode())
        except OSError:
            self.give_up()

    def hear(self) -> dict:
        """The next message; Gone for what is none."""
        try:
            message = json.loads(self.connection.recv_bytes(LIMIT))
        except (OSError, EOFError, ValueError, RecursionError):
            message = None
        return message if isinstance(message, dict) else self.give_up()

    def give_up(self):
        self.gone = True
        raise Gone from None

    def ask(self, message: dict) -> dict:
        """The reply; until it comes, this end does what the other asks for."""
        self.send(message)
        while "call" in (heard := self.hear()):
            self.serve(heard)
        if "raised" in heard:
            raise error_of(heard)
        return heard

    # ---- this end calls ----

    def call(self, at: int, layer: nn.Module | None, /, *arguments, **options):
        """What the other end's function returns; what it raises is raised."""
        watch = next((mode for mode in reversed(_get_current_function_mode_stack())
                      if isinstance(mode, Watch)), Watch())
        before = watch.total, watch.largest, watch.fused
        parcel, heard = Parcel(self), {}
        message = {"call": at, "arguments": parcel.encode(arguments),
                   "options": parcel.encode(options), "grad": torch.is_grad_enabled(),
                   "random": packed(torch.get_rng_state())}
        if layer is not None:
            state = [*layer.named_parameters(remove_duplicate=False),
                     *layer.named_buffers(remove_duplicate=False)]
            message["training"] = layer.training
            message["state"] = [[name, parcel.place(tensor)] for name, tensor in state]
        made = Call.apply(self, message | {"tensors": parcel.sent}, heard, *parcel.tensors)
        for place, changed in heard["changed"]:
            with torch.no_grad():
                parcel.tensors[place].copy_(unpacked(*changed))
        parcel.tensors += [leaf(tensor, *sent[3:])
                           for tensor, sent in zip(made, heard["tensors"])]
        torch.set_rng_state(unpacked(*heard["random"]))
        total, largest, fused = heard["counted"]  # in place of what was packed here
        watch.total, watch.largest = before[0] + total, max(before[1], largest)
        watch.fused = before[2] or fused
        return parcel.decode(heard["result"])

    def class_of(self, at: int, name: str, written: list) -> type:
        """A class whose layers are the other end's, with these methods."""
        def __init__(layer, *arguments, **options):
            vars(layer).update(vars(self.call(at, None, *arguments, **options)))

        known = {"__init__": __init__, "forward": self.forward}
        return type(name, (nn.Module,), {
            each: known.get(each, self.forward) for each in written
            if each in known or not hasattr(nn.Module, each)})

    # ---- the other end calls ----

    def serve(self, heard: dict) -> None:
        """Do what the other end asks for, and reply."""
        dtype, function = torch.get_default_dtype(), None
        try:
            function = self.kept[heard["call"]]
            with torch.set_grad_enabled(heard["grad"]):
                reply = self.called(function, heard)
        except (Gone, KeyboardInterrupt):
            raise
        except BaseException as error:
            reply = described(error, getattr(function, "__code__", None))
        finally:
            torch.set_default_dtype(dtype)
        self.send(reply)

    def called(self, function, heard: dict) -> dict:
        parcel = Parcel(self, [leaf(unpacked(*sent[:3]), *sent[3:]) for sent in heard["tensors"]])
        arguments, options = parcel.decode(heard["arguments"]), parcel.decode(heard["options"])
        torch.set_rng_state(unpacked(*heard["random"]))
        with Watch() as seen:
            if "state" in heard:
                state = {name: parcel.tensors[place] for name, place in heard["state"]}
                function.train(heard["training"])
                result = torch.func.functional_call(function, state, arguments, options)
            else:
                result = function(*arguments, **options)
        back = Parcel(self, parcel.tensors)
        encoded = back.encode(result)
        if "slopes" in heard:
            return slopes(parcel.tensors, back.tensors[len(parcel.tensors):], heard["slopes"])
        changed = [[i, now] for i, tensor in enumerate(parcel.tensors)
                   if str(now := packed(tensor)) != str(heard["tensors"][i][:3])]  # with NaN in it
        return {"result": encoded, "tensors": back.sent, "changed": changed,
                "random": packed(torch.get_rng_state()),
                "counted": [seen.total, seen.largest, seen.fused]}


def slopes(went: list, made: list, given: list) -> dict:
    leaves = [tensor for tensor in went if tensor.requires_grad]
    ends = [tensor for tensor in made if tensor.requires_grad]
    found = iter(torch.autograd.grad(ends, leaves, [unpacked(*slope) for slope in given],
                                     allow_unused=True))
    found = [next(found) if tensor.requires_grad else None for tensor in went]
    return {"slopes": [None if slope is None else packed(slope) for slope in found]}


def described(error: BaseException, code) -> dict:
    """An error as it travels, and in which line of a function with this code it was raised."""
    base = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    places = [number - code.co_firstlineno + 1 for frame, number in walk_tb(error.__traceback__)
              if frame.f_code is code]
    try:
        text = str(error)[:2000]
    except Exception:
        text = ""
    return {"raised": type(error).__name__, "base": base.__name__, "text": text,
            "line": places[-1] if places else None}


def error_of(heard: dict) -> BaseException:
    """The error of the other end: its name, its words, and the kind of error that it is."""
    base = getattr(builtins, str(heard.get("base")), None)
    if not (isinstance(base, type) and issubclass(base, (Exception, SystemExit))):
        base = Exception
    text, line = str(heard.get("text")), heard.get("line")
    return type(str(heard["raised"])[:100], (base,), {
        "__init__": lambda self: None, "__str__": lambda self: text,
        "line_elsewhere": line if isinstance(line, int) else None})()
