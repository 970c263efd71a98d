"""A submission's own process: runs its cells, and calls its functions when the grader asks.

What a student wrote can take over everything in here. So no answer is in here, and nothing that
says whether one is right: this process hands out data, and grade.py judges it in another. Only
classes are judged here, after the last cell, since layers and gradients are no data.
"""
import ast
import builtins
import json
import os
import pickle
import resource
import signal
import sys
from os.path import realpath

import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from torch.nn import functional as F
from traitlets.config import Config

import attention_lessons.pieces  # here, as processes are copies of one
import attention_lessons.plotting  # noqa: F401  that has done so
from attention_lessons import exercises

HIDDEN = "_graded_check"  # the name under which cells find what hands in their answers
PROGRAMS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "os.spawn",
            "subprocess.Popen", "pty.spawn", "os.kill", "os.killpg", "signal.pthread_kill"}
NETWORK = {"socket.connect", "socket.sendto", "socket.sendmsg",
           "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
KEPT = [builtins, torch, torch.Tensor, nn, nn.Module, F]  # as they were, when classes are judged
DATA = (bool, int, float, str)


class TimeUp(BaseException):
    """A cell's time is over. No Exception, so that fewer answers catch it."""


def guard(closed: list[str], open_again: list[str]):
    """Refuse the network, other programs and the folders ``closed``, in this process for good.

    Returns the list of what was refused, and a function that opens the answers.
    """
    answers = os.path.dirname(realpath(exercises.__path__[0]))
    refused, sealed = [], [True]

    def refuse(what, why):
        refused.append(what)
        raise PermissionError(f"not while it is graded: {why}")

    def hook(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = realpath(os.fsdecode(arguments[0]))
            name = os.path.basename(path)
            if path.startswith(answers) and ("lesson_" in path or "exercises/" in path):
                if sealed:
                    refuse("answers", name)
            elif path.startswith(tuple(closed)) and not path.startswith(tuple(open_again)):
                refuse(f"file {name}", name)
        elif event in PROGRAMS:
            refuse("program", event)
        elif event in NETWORK and not (event == "socket.connect" and isinstance(arguments[1], str)):
            refuse("network", event)

    sys.addaudithook(hook)
    return refused, sealed.clear


class Redirect(ast.NodeTransformer):
    """Every call of ``check`` hands in its answer, whatever the notebook calls ``check``."""

    def visit_Call(self, node):
        self.generic_visit(node)
        called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        named = node.args and isinstance(node.args[0], ast.Constant)
        if called == "check" and named and isinstance(node.args[0].value, str):
            node.func = ast.copy_location(ast.Name(HIDDEN, ast.Load()), node.func)
        return node


def described(value, values: list):
    """The value as JSON can hold it. What is no data is its type's name and its repr.

    What can be called, and what may hold such, is put into ``values``, and its place is told.
    """
    if value is None or isinstance(value, DATA):
        return next((kind(value) for kind in DATA if isinstance(value, kind)), None)
    if value is ...:
        return {"kind": "ellipsis"}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return {"kind": kind.__name__, "entries": [described(x, values) for x in value]}
    if isinstance(value, dict):
        pairs = [[described(x, values) for x in pair] for pair in value.items()]
        values.append(value)
        return {"kind": "dict", "entries": pairs, "place": len(values) - 1}
    real = isinstance(value, torch.Tensor) and not value.is_complex() and value.device.type == "cpu"
    if real and value.numel() < 1e6:
        return {"kind": "Tensor", "entries": value.detach().flatten().tolist(),
                "shape": list(value.shape), "dtype": str(value.dtype).partition(".")[2]}
    if getattr(value, "size", 0) == 1 and hasattr(value, "item"):  # one number of NumPy
        return described(value.item(), [])
    place = None
    if callable(value):
        place = len(values)
        values.append(value)
    return {"kind": "other", "name": type(value).__name__, "text": short(value), "place": place,
            "class": isinstance(value, type)}


def short(value) -> str:
    try:
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


def alarm(seconds: float) -> None:
    """TimeUp after so many seconds of CPU or 5 times as many on the clock, then each second."""
    signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    signal.setitimer(signal.ITIMER_REAL, 5 * seconds, 1)


class Student:
    """One submission, as its own process sees it. ``line`` leads to the grader."""

    def __init__(self, line):
        self.line = line
        self.values = []

    def send(self, **message):
        self.line.send_bytes(json.dumps(message).encode())

    def hand_in(self, name, answer=None, *others, seed=None, **more):
        """What a notebook's ``check`` does here: it never says whether the answer is right."""
        seed = seed if isinstance(seed, (int, str)) else None
        self.send(check=str(name), answer=described(answer, self.values), seed=seed)
        while order := pickle.loads(self.line.recv_bytes()):
            self.call(*order)
        return exercises.Result("not attempted", "It is graded later.")

    def call(self, place: int, arguments: tuple):
        try:
            self.send(result=described(self.values[place](*arguments), self.values))
        except TimeUp:
            self.send(stopped=True)
        except BaseException as error:
            self.send(raised=type(error).__name__, text=str(error)[:500])

    def run(self, cells: dict[int, str], seconds: float, refused: list):
        settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"cache_size": 0})
        shell = InteractiveShell.instance(config=settings)
        exercises.check, exercises.hint = self.hand_in, lambda *arguments: None
        shell.ast_transformers.append(Redirect())
        shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **more: None
        for number, source in cells.items():
            shell.user_ns[HIDDEN] = self.hand_in
            self.send(cell=number)
            alarm(seconds)
            try:
                done = shell.run_cell(source, silent=True)
                error = done.error_before_exec or done.error_in_exec
                alarm(0)
            except BaseException as raised:
                error = raised
            self.send(error=error and f"{type(error).__name__}: {error}"[:500],
                      refused=sorted(set(refused)))
            refused.clear()

    def judge_here(self, seconds: float):
        """Judge what the grader asks for, by a package loaded anew."""
        ours = ("attention_lessons", "d2l_ext")
        for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
            del sys.modules[name]
        from attention_lessons.exercises import check
        while order := pickle.loads(self.line.recv_bytes()):
            name, place, seed = order
            alarm(seconds)
            try:
                result = check(name, self.values[place], seed=seed)
                self.send(state=result.state, text=result.message)
            except BaseException as error:
                self.send(state="error", text=f"{type(error).__name__}: {error}"[:500])
            alarm(0)


def restrict(memory: float, seconds: float) -> None:
    """Limits for this process, and a group of its own that can be ended as a whole."""
    os.setsid()
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 10,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**27,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.path.exists("/proc/self/statm"):  # elsewhere this limit isn't heeded
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + int(memory * 2**30),) * 2)


def work(line, cells: dict[int, str], folder: str, closed: list[str], open_again: list[str],
         limits: tuple[float, float, float]) -> None:
    """The process: run the cells in ``folder``, which is empty, and say what comes of them."""
    cell_seconds, seconds, memory = limits
    as_it_was = [dict(vars(thing)) for thing in KEPT]
    os.chdir(folder)
    os.environ["HOME"] = folder
    restrict(memory, seconds)

    def time_up(*_):
        raise TimeUp(f"stopped after {cell_seconds:g} seconds")

    signal.signal(signal.SIGALRM, time_up)
    signal.signal(signal.SIGPROF, time_up)
    refused, open_answers = guard(closed, [*open_again, folder])
    student = Student(line)
    student.run(cells, cell_seconds, refused)
    student.send(done=True)
    for thing, attributes in zip(KEPT, as_it_was):
        for name, value in attributes.items():
            if vars(thing).get(name) is not value:
                setattr(thing, name, value)
    open_answers()
    student.judge_here(cell_seconds)
