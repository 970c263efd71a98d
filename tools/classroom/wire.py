"""What passes between the grader and a student's process: plain data, and calls.

A message is a line of JSON. Functions, classes and layers stay where they are: the other end gets a
stand-in, whose calls travel, with gradients, with what is written into arguments, and with the
state of the random numbers. So the grader compares results with code that never leaves it.
"""
import base64
import builtins
import json
import math
import time
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from numbers import Real
from traceback import walk_tb

import torch
from attention_lessons.exercises.classes import Watch, methods
from attention_lessons.exercises.kinds import unwritten
from torch import nn
from torch.overrides import _get_current_function_mode_stack

LIMIT = 2**24  # bytes of a message
DTYPES = {name: getattr(torch, name) for name in (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool").split()}
COLLECTIONS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
PARTS = {"Embedding": nn.Embedding, "LayerNorm": nn.LayerNorm, "Linear": nn.Linear}


class Gone(BaseException):
    """The other end has gone, is late, or talks nonsense. ``check`` lets it pass."""


class Function:
    """A stand-in for a function of the other end; no function itself, as it has no code."""

    def __init__(self, line, at: int):
        self.line, self.at = line, at

    def __call__(self, *arguments, **options):
        return self.line.call(self.at, arguments, options)


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


# ---- tensors -------------------------------------------------------------------------------------

def packed(tensor: torch.Tensor) -> list:
    """A tensor's type, shape and bytes. Raises TypeError for those that can't travel."""
    name = str(tensor.dtype).partition(".")[2]
    plain = tensor.layout is torch.strided and name in DTYPES
    if plain and tensor.device.type == "meta":
        return [name, list(tensor.shape), None]
    if not plain or tensor.device.type != "cpu" or tensor.nbytes > LIMIT // 2:
        raise TypeError(f"a tensor of {tensor.numel()} numbers, {name}, {tensor.device}")
    flat = tensor.detach().as_subclass(torch.Tensor).flatten().contiguous()
    content = flat.view(torch.uint8).numpy().tobytes()
    return [name, list(tensor.shape), base64.b64encode(content).decode()]


def unpacked(name: str, shape: list, content: str | None) -> torch.Tensor:
    """The tensor; without content, one of the meta device.

    Raises ValueError or KeyError for what is none.
    """
    dtype = DTYPES[name]
    if not all(isinstance(size, int) and 0 <= size < 2**40 for size in shape):
        raise ValueError("no shape")
    if content is None:
        return torch.empty(shape, dtype=dtype, device="meta")
    content = bytearray(base64.b64decode(content, validate=True))
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError("a tensor of another size")
    if not content:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(content, dtype=torch.uint8 if dtype is torch.bool else dtype)
    return (flat != 0 if dtype is torch.bool else flat).reshape(shape)


def leaf(tensor: torch.Tensor, slope: bool, trained: bool) -> torch.Tensor:
    """The tensor, as a parameter if it is ``trained``, or one that gets a gradient."""
    if trained:
        return nn.Parameter(tensor.detach(), requires_grad=bool(slope))
    return tensor.requires_grad_() if slope and not tensor.requires_grad else tensor


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
            return {"kind": "dict", "of": [[self.encode(one) for one in pair]
                                           for pair in value.items()]}
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
                [self.encode(group["params"]), group["lr"], group["weight_decay"]]
                for group in value.param_groups]}
        if isinstance(value, nn.Module):
            return self.layer(value)
        given = {"kind": "thing", "name": type(value).__name__, "text": short(value)}
        if isinstance(value, type) and issubclass(value, nn.Module):
            given |= {"kind": "class", "name": value.__name__, "of": sorted(methods(value))}
        elif isinstance(value, type):
            given |= {"kind": "type", "name": value.__name__}
        elif callable(value):
            given["kind"] = "function"
        return given | {"at": self.line.keep(value)}

    def layer(self, value: nn.Module) -> dict:
        own = [[name, self.place(tensor), True] for name, tensor in value._parameters.items()
               if tensor is not None]
        own += [[name, self.place(tensor), name not in value._non_persistent_buffers_set]
                for name, tensor in value._buffers.items() if tensor is not None]
        name = next((name for name, part in PARTS.items() if isinstance(value, part)), "")
        return {"kind": "layer", "at": self.line.keep(value), "name": name, "own": own,
                "of": [[name, self.encode(part)] for name, part in value._modules.items()]}

    def decode(self, given):
        if not isinstance(given, dict):
            return given
        line, kind, of = self.line, given["kind"], given.get("of", [])
        if kind in COLLECTIONS:
            return COLLECTIONS[kind](map(self.decode, of))
        if kind == "dict":
            return {self.decode(key): self.decode(value) for key, value in of}
        if kind == "tensor":
            return self.tensors[given["at"]]
        if kind == "nothing":
            return ...
        if kind == "optimizer":
            return torch.optim.AdamW([{"params": self.decode(weights), "lr": float(lr),
                                       "weight_decay": float(decay)} for weights, lr, decay in of])
        if kind == "function":
            return Function(line, int(given["at"]))
        if kind == "class":
            return line.class_of(given)
        if kind == "layer":
            base = PARTS.get(given["name"], nn.Module)
            layer = object.__new__(type(base.__name__, (line.Layer, base), {}))
            nn.Module.__init__(layer)
            layer.at = int(given["at"])
            for name, place, saved in given["own"]:
                tensor = self.tensors[place]
                if isinstance(tensor, nn.Parameter):
                    layer.register_parameter(name, tensor)
                else:
                    layer.register_buffer(name, tensor, bool(saved))
            for name, part in of:
                layer.add_module(name, self.decode(part))
            return layer
        name, text = str(given["name"]), str(given["text"])
        # what is no data, as far as messages speak of it: its type's name and its repr
        made = type(name, (), {"__repr__": lambda self: text})
        return made if kind == "type" else made()


def short(value) -> str:
    try:
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


# ---- the line ------------------------------------------------------------------------------------

class Line:
    """One end of the line between two processes, and what this end keeps for the other.

    kept: what the other end may call, by its place here.
    ``until``: when the other must have answered, by time.monotonic(); in a student's process None.
    """

    def __init__(self, socket, kept: list, until: float | None = None):
        self.socket, self.kept, self.until = socket, kept, until
        self.rest, self.gone = bytearray(), ""  # why nothing more will come

        class Layer(nn.Module):
            def forward(layer, *inputs, **options):
                return self.call(layer.at, inputs, options, layer)

        self.Layer = Layer

    def keep(self, value) -> int:
        self.kept.append(value)
        return len(self.kept) - 1

    @contextmanager
    def in_time(self):
        """What is sent or heard in here raises Gone where the other end is late or has ended."""
        try:
            self.socket.settimeout(self.until and max(1e-3, self.until - time.monotonic()))
            yield
        except TimeoutError:
            self.give_up("late")
        except OSError:
            self.give_up("ended")

    def give_up(self, why: str):
        self.gone = why
        raise Gone(why) from None

    def send(self, message: dict) -> None:
        text = json.dumps(message).encode() + b"\n"
        with self.in_time():
            self.socket.sendall(text)

    def hear(self) -> dict:
        """The next message; Gone for what is none."""
        seen = 0
        while (end := self.rest.find(b"\n", seen)) < 0:
            seen = len(self.rest)
            with self.in_time():
                more = self.socket.recv(2**20)
            if not more or seen > LIMIT:
                self.give_up("ended" if not more else "nonsense")
            self.rest += more
        if self.until and time.monotonic() > self.until:
            self.give_up("late")
        text, self.rest = self.rest[:end], self.rest[end + 1:]
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self.give_up("nonsense")
        return message

    def ask(self, message: dict) -> dict:
        """The reply; until it comes, this end does what the other asks for."""
        self.send(message)
        while "call" in (heard := self.hear()):
            self.serve(heard)
        if "raised" in heard:
            raise error_of(heard)
        return heard

    # ---- this end calls ----

    def call(self, at: int, arguments: tuple, options: dict, layer: nn.Module | None = None):
        """What the other end's function returns; what it raises is raised."""
        watch = next((mode for mode in _get_current_function_mode_stack()
                      if isinstance(mode, Watch)), None)
        before = watch and (watch.total, watch.largest, watch.fused)
        parcel, heard = Parcel(self), {}
        message = {"call": at, "arguments": parcel.encode(list(arguments)),
                   "options": parcel.encode(options), "count": watch is not None,
                   "grad": torch.is_grad_enabled(), "random": packed(torch.get_rng_state())}
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
        if watch:  # which has counted what was packed here
            total, largest, fused = heard["counted"]
            watch.total, watch.largest = before[0] + total, max(before[1], largest)
            watch.fused = before[2] or fused
        return parcel.decode(heard["result"])

    def class_of(self, given: dict) -> type:
        """A class whose layers are the other end's."""
        line, at = self, int(given["at"])

        def __init__(layer, *arguments, **options):
            vars(layer).update(vars(line.call(at, arguments, options)))

        def forward(layer, *inputs, **options):
            return line.call(layer.at, inputs, options, layer)

        known = {"__init__": __init__, "forward": forward}
        return type(str(given["name"]), (nn.Module,),
                    {name: known.get(name, forward) for name in given["of"]
                     if name in known or not hasattr(nn.Module, name)})

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
        with Watch() if heard["count"] else nullcontext() as seen:
            if "state" in heard:
                state = {name: parcel.tensors[place] for name, place in heard["state"]}
                function.train(heard["training"])
                result = torch.func.functional_call(function, state, tuple(arguments), options)
            else:
                result = function(*arguments, **options)
        back = Parcel(self, parcel.tensors)
        encoded = back.encode(result)
        if "slopes" in heard:
            return self.slopes(parcel.tensors, back.tensors[len(parcel.tensors):], heard["slopes"])
        changed = [[i, now] for i, tensor in enumerate(parcel.tensors)
                   if (now := packed(tensor)) != heard["tensors"][i][:3]]
        return {"result": encoded, "tensors": back.sent, "changed": changed,
                "random": packed(torch.get_rng_state()),
                "counted": seen and [seen.total, seen.largest, seen.fused]}

    def slopes(self, went: list, made: list, given: list) -> dict:
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
