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
from collections import OrderedDict
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from numbers import Real
from traceback import walk_tb
from types import FunctionType

import torch
from torch import nn
from torch.overrides import has_torch_function

LIMIT = 2**24  # bytes of a message
DTYPES = {name: getattr(torch, name) for name in (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool").split()}
COLLECTIONS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
Unhooked = torch._C.DisableTorchFunction  # for what isn't the learner's


class Gone(BaseException):
    """The other end has gone, is late, or talks nonsense. ``check`` lets it pass."""


class Thing:
    """What is no data, as far as messages speak of it: its type's name and its repr."""

    def __repr__(self) -> str:
        return self.text


def bare(*arguments):
    ...


def documented(*arguments):
    """Nothing but a promise."""


EMPTY = {function.__code__.co_code for function in (bare, documented)}


def empty(function) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code in EMPTY and all(
        isinstance(constant, (str, type(None))) for constant in code.co_consts)


class Function:
    """A stand-in for a function of the other end."""

    def __init__(self, line, at: int, untouched: bool):
        self.line, self.at = line, at
        code = (bare if untouched else empty).__code__  # by which `check` knows an empty one
        self.__code__ = code.replace(co_filename="elsewhere")

    def __call__(self, *arguments, **options):
        return self.line.call(self.at, arguments, options)


class Slopes(torch.autograd.Function):
    """Sends gradients of a call's results to the other end, and gets those of what went in."""

    @staticmethod
    def forward(ctx, line, graph, count, *tensors):
        ctx.line, ctx.graph, ctx.count = line, graph, count
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx, *slopes):
        found = ctx.line.backward(ctx.graph, slopes)
        return None, None, None, *[None] * ctx.count, *found


# ---- tensors and layers --------------------------------------------------------------------------

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


def state_of(layer: nn.Module):
    """(name, tensor, whether it is a parameter, whether it is saved) of all that a layer holds."""
    for prefix, part in layer.named_modules(remove_duplicate=False):
        dot = f"{prefix}." if prefix else ""
        for name, tensor in part._parameters.items():
            if tensor is not None:
                yield dot + name, tensor, True, True
        for name, tensor in part._buffers.items():
            if tensor is not None:
                yield dot + name, tensor, False, name not in part._non_persistent_buffers_set


def furnish(layer: nn.Module, state: list) -> None:
    """Give an empty layer parts, parameters and buffers of these names."""
    for name, tensor, trained, saved in state:
        *path, last = str(name).split(".")
        part = layer
        for step in path:
            if step not in part._modules:
                part.add_module(step, nn.Module())
            part = part._modules[step]
        if trained:
            part.register_parameter(last, tensor)
        else:
            part.register_buffer(last, tensor, bool(saved))


def methods(kind: type) -> list[str]:
    """The names of the methods in which a class, or its own bases, has something written."""
    own = [parent for parent in kind.__mro__ if parent not in nn.Module.__mro__]
    return sorted({name for parent in own for name, method in vars(parent).items()
                   if isinstance(method, FunctionType) and method.__code__.co_code not in EMPTY})


# ---- a message -----------------------------------------------------------------------------------

class Parcel:
    """The values of one message, in which each tensor stands once."""

    def __init__(self, line, tensors: list | None = None, known: list = ()):
        self.line, self.sent = line, []
        self.known = [*known]  # tensors that both ends have
        for dtype, shape, content, slope, trained in tensors or []:
            tensor = unpacked(dtype, shape, content)
            if trained:
                tensor = nn.Parameter(tensor, requires_grad=bool(slope))
            self.known.append(tensor.requires_grad_() if slope else tensor)

    def place(self, tensor: torch.Tensor) -> int:
        for place, other in enumerate(self.known):
            if other is tensor:
                return place
        self.sent.append([*packed(tensor), tensor.requires_grad, isinstance(tensor, nn.Parameter)])
        self.known.append(tensor)
        return len(self.known) - 1

    def encode(self, value, argument: bool = False):
        """The value as JSON can hold it. ``argument``: a layer of PyTorch's travels whole."""
        if value is None or isinstance(value, (bool, str)):
            return value if value is None or isinstance(value, bool) else str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, (Real, Decimal)):
            return float(value)
        for name, kind in COLLECTIONS.items():
            if isinstance(value, kind):
                return {"kind": name, "of": [self.encode(one, argument) for one in value]}
        if isinstance(value, dict):
            return {"kind": "dict", "of": [[self.encode(one, argument) for one in pair]
                                           for pair in value.items()]}
        if isinstance(value, torch.Tensor):
            try:
                return {"kind": "tensor", "at": self.place(value)}
            except TypeError:
                pass
        if getattr(value, "size", 0) == 1 and hasattr(value, "item"):  # one number of NumPy
            return self.encode(value.item())
        return {"name": type(value).__name__, "text": short(value)} | self.special(value, argument)

    def special(self, value, argument: bool) -> dict:
        if value is ...:
            return {"kind": "ellipsis"}
        if isinstance(value, torch.optim.AdamW):
            groups = [[self.encode(group["params"]), group["lr"], group["weight_decay"]]
                      for group in value.param_groups]
            return {"kind": "optimizer", "of": groups}
        if isinstance(value, type):
            return {"kind": "class", "at": self.line.keep(value), "name": value.__name__,
                    "layer": issubclass(value, nn.Module), "methods": methods(value)}
        if isinstance(value, nn.Module):
            state = [[name, self.place(tensor), *flags] for name, tensor, *flags in state_of(value)]
            if argument:
                name = next(kind.__name__ for kind in type(value).__mro__
                            if kind.__module__.startswith("torch.nn."))
                parts = [[name, self.encode(part, True)] for name, part in value.named_children()]
                return {"kind": "part", "name": name, "of": parts,
                        "state": [line for line in state if "." not in line[0]]}
            return {"kind": "layer", "at": self.line.keep(value), "state": state}
        if callable(value):
            return {"kind": "function", "at": self.line.keep(value), "empty": empty(value)}
        return {"kind": "other"}

    def decode(self, given):
        if not isinstance(given, dict):
            return given
        line, kind, of = self.line, given["kind"], given.get("of", [])
        if kind in COLLECTIONS:
            return COLLECTIONS[kind](map(self.decode, of))
        if kind == "dict":
            return {self.decode(key): self.decode(value) for key, value in of}
        if kind == "tensor":
            return self.known[given["at"]]
        if kind == "ellipsis":
            return ...
        if kind == "function":
            return Function(line, int(given["at"]), bool(given["empty"]))
        if kind == "class":
            return line.class_of(given)
        if kind == "optimizer":
            return torch.optim.AdamW([{"params": self.decode(weights), "lr": float(lr),
                                       "weight_decay": float(decay)} for weights, lr, decay in of])
        if kind in ("part", "layer"):
            made = getattr(nn, given["name"], nn.Module) if kind == "part" else line.Layer
            layer = made.__new__(made if issubclass(made, nn.Module) else nn.Module)
            nn.Module.__init__(layer)
            furnish(layer, [[name, self.known[at], *flags] for name, at, *flags in given["state"]])
            for name, part in of:
                layer.add_module(str(name), self.decode(part))
            if kind == "layer":
                layer.at = int(given["at"])
            return layer
        return type(str(given["name"]), (Thing,), {"text": str(given["text"])})()


def short(value) -> str:
    try:
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


# ---- the line ------------------------------------------------------------------------------------

class Line:
    """One end of the line between two processes, and what this end keeps for the other.

    ``until``: when the other must have answered, by time.monotonic(); in a student's process None.
    counting: makes a mode in which the numbers that a call makes are counted.
    """

    def __init__(self, socket, until: float | None = None, counting=nullcontext):
        self.socket, self.until, self.counting = socket, until, counting
        self.rest, self.kept, self.graphs = bytearray(), [], OrderedDict()
        self.gone = ""  # why nothing more will come

        class Layer(nn.Module):
            line = self

            def forward(self, *inputs, **options):
                return self.line.call(self.at, inputs, options, self)

        self.Layer = Layer

    def parcel(self) -> Parcel:
        return Parcel(self)

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
        while not {"result", "slopes", "raised"} & set(heard := self.hear()):
            self.serve(heard)
        if "raised" in heard:
            raise error_of(heard)
        return heard

    # ---- this end calls ----

    def call(self, at: int, arguments: tuple, options: dict, layer: nn.Module | None = None):
        """What the other end's function returns; what it raises is raised."""
        counted = has_torch_function((None,))  # a mode is on
        with Unhooked():
            parcel = Parcel(self)
            message = {"call": at, "arguments": parcel.encode(list(arguments), True),
                       "options": parcel.encode(options, True), "count": counted,
                       "grad": torch.is_grad_enabled(), "training": True, "state": [],
                       "random": packed(torch.get_rng_state())}
            if layer is not None:
                message["training"] = layer.training
                message["state"] = [[name, parcel.place(tensor)]
                                    for name, tensor, *_ in state_of(layer)]
            went = [*parcel.known]
            heard = self.ask(message | {"tensors": parcel.sent})
            result = self.result(heard, went)
        if counted:
            total, largest, fused = map(int, heard["counted"])
            for _ in range(min(total // max(largest, 1), 10_000)):  # the mode counts these
                torch.empty(largest, device="meta")
            if fused:
                nn.functional.scaled_dot_product_attention(*torch.empty(3, 1, 1, device="meta"))
        return result

    def result(self, heard: dict, went: list):
        for place, changed in heard.get("changed", []):
            with torch.no_grad():
                went[place].copy_(unpacked(*changed))
        parcel = Parcel(self, [[*sent, False, trained] for *sent, _, trained in heard["tensors"]],
                        went)
        flags = [slope for *_, slope, _ in heard["tensors"]]
        leaves = [tensor for tensor in went if tensor.requires_grad]
        if torch.is_grad_enabled() and leaves and any(flags):
            places = [len(went) + i for i, slope in enumerate(flags) if slope]
            new = Slopes.apply(self, heard["graph"], len(places),
                               *(parcel.known[place] for place in places), *leaves)
            for place, tensor in zip(places, new):
                parcel.known[place] = tensor
        elif any(flags) and not leaves:  # parameters of a new layer
            for i, slope in enumerate(flags):
                parcel.known[len(went) + i].requires_grad_(bool(slope))
        torch.set_rng_state(unpacked(*heard["random"]))
        return parcel.decode(heard["result"])

    def backward(self, graph: int, slopes: tuple) -> list:
        heard = self.ask({"backward": graph, "slopes_in": [packed(slope) for slope in slopes]})
        return [None if slope is None else unpacked(*slope) for slope in heard["slopes"]]

    def class_of(self, given: dict) -> type:
        """A class whose layers are the other end's."""
        line, at, written = self, int(given["at"]), [*map(str, given["methods"])]
        if not given["layer"]:
            return type(str(given["name"]), (), {
                "__new__": lambda kind, *arguments, **options: line.call(at, arguments, options)})

        def __init__(layer, *arguments, **options):
            made = line.call(at, arguments, options)
            vars(layer).update(vars(made))

        def forward(layer, *inputs, **options):
            return line.call(layer.at, inputs, options, layer)

        known = {"__init__": __init__, "forward": forward}
        return type(str(given["name"]), (nn.Module,),
                    {name: known.get(name, forward) for name in written
                     if name in known or not hasattr(nn.Module, name)})

    # ---- the other end calls ----

    def serve(self, heard: dict) -> None:
        """Do what the other end asks for, and reply."""
        dtype, mode = torch.get_default_dtype(), torch.is_grad_enabled()
        try:
            reply = self.slopes(heard) if "backward" in heard else self.called(heard)
        except Gone:
            raise
        except BaseException as error:
            code = getattr(self.kept[heard["call"]], "__code__", None) if "call" in heard else None
            reply = described(error, code)
        finally:
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(mode)
        self.send(reply)

    def called(self, heard: dict) -> dict:
        function = self.kept[heard["call"]]
        parcel = Parcel(self, heard["tensors"])
        arguments, options = parcel.decode(heard["arguments"]), parcel.decode(heard["options"])
        parts = []
        if isinstance(function, nn.Module):
            function.train(heard["training"])
            parts = [tensor for _, tensor, *_ in state_of(function)]
            for tensor, (_, place) in zip(parts, heard["state"]):
                tensor.data = parcel.known[place].data
                if isinstance(tensor, nn.Parameter):
                    tensor.requires_grad_(parcel.known[place].requires_grad)
        went = [*parcel.known]
        torch.set_rng_state(unpacked(*heard["random"]))
        torch.set_grad_enabled(heard["grad"])
        with self.counting() if heard["count"] else nullcontext() as seen:
            result = function(*arguments, **options)
        changed = [[i, now] for i, tensor in enumerate(went)
                   if (now := packed(tensor)) != heard["tensors"][i][:3]]
        back = Parcel(self, known=went)
        reply = {"result": back.encode(result), "tensors": back.sent, "changed": changed,
                 "random": packed(torch.get_rng_state()), "graph": len(self.kept)}
        if seen is not None:
            reply["counted"] = [seen.total, seen.largest, seen.fused]
        if any(slope for *_, slope, _ in back.sent):
            ends = [tensor for tensor in back.known[len(went):] if tensor.requires_grad]
            own = {place: tensor for tensor, (_, place) in zip(parts, heard["state"])}
            leaves = [own.get(i, tensor) for i, tensor in enumerate(went) if tensor.requires_grad]
            self.graphs[self.keep(None)] = ends, leaves
            if len(self.graphs) > 100:
                self.graphs.popitem(last=False)
        return reply

    def slopes(self, heard: dict) -> dict:
        ends, leaves = self.graphs[heard["backward"]]
        given = [unpacked(*slope) for slope in heard["slopes_in"]]
        found = torch.autograd.grad(ends, leaves, given, allow_unused=True, retain_graph=True)
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
