"""The walls around a student's process: bubblewrap, and what stands inside.

Inside are Python, its packages, the lessons' packages without an answer, and one folder of its own
that holds 256 MiB. There is no network, no home, no other process, no file of anybody else's, and
no way to start a program; all of it ends with the process.
"""
import compileall
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from tools.notebooks.standalone import members, translated

from attention_lessons.languages import languages

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = re.compile(
    r"attention_lessons/(exercises/heads|lesson_\d\d/exercises)\.(py|toml)")
INSTEAD = {  # of what would know answers, among them the words of other languages
    "attention_lessons/exercises/__init__.py": '"""Where answers are handed in."""\n',
    "attention_lessons/lesson_12/exercises.py": "CASES = {}\n",
    **{f"attention_lessons/languages/{code}.json": "{}" for code in languages()[1:]}}
INSIDE = "/lessons"
SIZE = 2**28  # of the folder of its own, bytes
MACHINES = {  # the kernel's name; clone; what starts a program, or holds memory that isn't counted
    "x86_64": (0xC000003E, 56, [57, 58, 435, 272, 308, 319, 29, 68, 240, 101, 248, 321, 323, 425]),
    "aarch64": (0xC00000B7, 220, [435, 97, 268, 279, 194, 186, 180, 117, 217, 280, 282, 425])}
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime")
WHY_NOT = ("Walls around the students' code can't be had here: {}. On a machine with nothing to "
           "lose, grade without them: ARGS=--without-walls.")


def put_edition(folder: pathlib.Path) -> None:
    """Write what a student's process needs: no answer anywhere in it."""
    import matplotlib.font_manager  # finds the fonts, where nobody has yet
    for place, path in members().items():
        if place in INSTEAD or not (ANSWERS.match(place) or translated(place)):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            text = INSTEAD.get(place, "").encode() or path.read_bytes()
            (folder / place).write_bytes(text)
    for name in ("wire.py", "grade_student.py"):
        shutil.copy(HERE / name, folder)
    (folder / "fonts").mkdir()
    for path in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        shutil.copy(path, folder / "fonts")
    compileall.compile_dir(folder, quiet=1)


def forbidden() -> bytes:
    """A filter of system calls: threads may be started, processes may not."""
    name, clone, numbers = MACHINES[platform.machine()]
    load, equal, above, has, end = 0x20, 0x15, 0x35, 0x45, 0x06
    lines = [(load, 0, 0, 4), (equal, 1, 0, name), (end, 0, 0, 0x00050026), (load, 0, 0, 0),
             (above, len(numbers) + 4, 0, 0x40000000)]  # numbers of another kind
    lines += [(equal, len(numbers) + 3 - i, 0, number) for i, number in enumerate(numbers)]
    lines += [(equal, 0, 2, clone), (load, 0, 0, 16), (has, 0, 1, 0x10000),  # a thread
              (end, 0, 0, 0x7FFF0000), (end, 0, 0, 0x00050026)]  # allowed; not implemented
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def wall(edition: pathlib.Path, program: int) -> list[str]:
    """What to put before a command. program: where the filter can be read."""
    bwrap = shutil.which("bwrap") or "bwrap"
    words = [bwrap, "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000",
             "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "lesson",
             "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    prefixes = {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)}
    for place in [*SYSTEM, *sorted(prefixes)]:
        words += ["--ro-bind-try", place, place]
    for package in ("attention_lessons", "d2l_ext"):  # where they are installed
        place = str(pathlib.Path(importlib.util.find_spec(package).origin).parent)
        if place.startswith(tuple(prefixes)):
            words += ["--tmpfs", place]
    words += ["--ro-bind", str(edition), INSIDE, "--size", str(SIZE), "--tmpfs", "/home",
              "--chdir", "/home", "--remount-ro", "/dev", "--remount-ro", "/",
              "--seccomp", str(program), "--clearenv"]
    for name, value in surroundings(INSIDE, "/home").items():
        words += ["--setenv", name, value]
    return words


def surroundings(edition: str, home: str) -> dict[str, str]:
    """All environment variables that a student's process has."""
    return {"HOME": home, "TMPDIR": home, "PYTHONPATH": edition, "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg",
            "MPLCONFIGDIR": f"{home}/.matplotlib", "IPYTHONDIR": f"{home}/.ipython"}


class Outside:
    """Where students' processes start, with walls or without."""

    def __init__(self, edition: pathlib.Path, walls: bool = True):
        self.edition, self.walls = edition, walls

    @contextmanager
    def process(self, *command: str, **options):
        """A process of Python with these words; it ends with the block, and all that it began."""
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as home:
            place = INSIDE if self.walls else str(self.edition)
            words = [sys.executable, "-sB", *(word.format(place) for word in command)]
            read, write = os.pipe()
            if self.walls:
                os.write(write, forbidden())
                options |= {"env": {}, "pass_fds": [read]}
                words = wall(self.edition, read) + words
            else:
                options |= {"env": surroundings(place, home), "cwd": home}
            os.close(write)
            try:
                process = subprocess.Popen(words, start_new_session=True, **options)
            finally:
                os.close(read)
            try:
                yield process
            finally:
                try:
                    os.killpg(process.pid, 9)
                except ProcessLookupError:
                    pass
                process.wait()

    def why_not(self) -> str:
        """Why no process can be started so; nothing where it can."""
        if self.walls and platform.machine() not in MACHINES:
            return f"not on {platform.machine()}"
        try:
            with self.process("-c", "pass", stderr=subprocess.PIPE) as process:
                said = process.communicate(timeout=60)[1].decode(errors="replace").strip()
                return "" if process.returncode == 0 else said[-200:] or "bubblewrap fails"
        except FileNotFoundError:
            return "bubblewrap (0.7 or later) is not installed"

    @contextmanager
    def student(self):
        """A student's process, and this end of the line to it."""
        ours, theirs = socket.socketpair()
        nothing = subprocess.DEVNULL
        with ours, self.process("{}/grade_student.py", stdin=theirs, stdout=nothing,
                                stderr=nothing) as process:
            theirs.close()
            yield process, ours
