"""A room in which the cells of one framework run, here or in an interpreter of its own.

Run as a script it serves such a room: ``python rooms.py mxnet`` takes messages from its input and
answers on its output, a line of JSON each. It imports NumPy alone, and of another version than the
notebook's.
"""
import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from importlib import import_module
from operator import attrgetter

import numpy as np

# How each framework makes its tensor of a NumPy array.
TENSORS = {"torch": ("torch", "from_numpy"), "jax": ("jax.numpy", "asarray"),
           "tensorflow": ("tensorflow", "constant"), "mxnet": ("mxnet", "np.array")}
# TensorFlow is to say nothing while it loads, and to sum in the order that others do.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "KERAS_BACKEND": "tensorflow"}


def to_numpy(value):
    """A framework's result as NumPy arrays: tensors, numbers, text, and tuples or lists of them."""
    if isinstance(value, (tuple, list)):
        return tuple(map(to_numpy, value))
    if hasattr(value, "asnumpy"):  # MXNet
        return value.asnumpy()
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


class Room:
    """The names of one framework's cells; they see no others, and the notebook sees none of them.

    >>> room = Room("torch")
    >>> room.run("def double(x): return 2 * x")
    >>> room.call("double", [np.array([1., 3.])])
    array([2., 6.])
    """

    def __init__(self, framework: str):
        if framework == "tensorflow":
            os.environ.update(QUIET)
        self.framework, self.names = framework, {"__name__": f"{framework}'s cells"}

    def run(self, source: str, filename: str = "<cell>") -> None:
        """Run a cell, and show the values of its expressions."""
        cell = ast.Interactive(ast.parse(source, filename).body)
        exec(compile(cell, filename, "single"), self.names)

    def call(self, name: str, arguments):
        """Call a function of this room with NumPy arrays, and return NumPy arrays.

        Arrays become tensors, arrays without axes numbers or text.
        """
        module, attribute = TENSORS[self.framework]
        tensor = attrgetter(attribute)(import_module(module))
        given = map(np.asarray, arguments)
        given = [tensor(array.copy()) if array.ndim else array.item() for array in given]
        return to_numpy(self.names[name](*given))


class Elsewhere:
    """A room in another interpreter, which stays as long as this object."""

    def __init__(self, framework: str, python: str):
        self.process = subprocess.Popen(
            [python, __file__, framework], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=os.environ | {"MPLBACKEND": "Agg"})  # no kernel there

    def run(self, source: str, filename: str = "<cell>") -> None:
        """Run a cell, and print what it prints."""
        self.ask("run", source)

    def call(self, name: str, arguments):
        """Call a function of this room with NumPy arrays, and return NumPy arrays."""
        return self.ask("call", name, [*map(np.asarray, arguments)])

    def ask(self, *question):
        """Send a question, and wait for the answer.

        Raises RuntimeError with the traceback there, EOFError where the other side has gone.
        """
        send(self.process.stdin, question)
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the other interpreter has ended")
        value, printed, error = read(line)
        sys.stdout.write(printed)
        if error:
            raise RuntimeError(f"in the other interpreter:\n{error}")
        return value

    def __del__(self):
        self.process.stdin.close()  # the other interpreter ends when it hears no more
        self.process.wait()
        self.process.stdout.close()


# ---- messages ----

def send(stream, message) -> None:
    """Arrays become their type and their numbers; all else is text, numbers, None and lists."""
    line = json.dumps(message, default=lambda array: {array.dtype.str: array.tolist()})
    stream.write(line.encode() + b"\n")
    stream.flush()


def read(line: bytes) -> list:
    return json.loads(line, object_hook=lambda array: np.array(*array.values(), *array.keys()))


def serve(framework: str, questions, answers) -> None:
    room = Room(framework)
    for line in questions:
        command, *arguments = read(line)
        error, printed, value = "", io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            try:
                value = getattr(room, command)(*arguments)
            except Exception:
                error = traceback.format_exc(limit=-1)
        send(answers, [value, printed.getvalue(), error])


if __name__ == "__main__":
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints isn't an answer
    serve(sys.argv[1], sys.stdin.buffer, replies)
