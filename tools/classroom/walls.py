"""The walls around a student's process: bubblewrap, and what stands inside.

Inside are Python, its packages, the lessons' packages, and one folder of its own that holds 256
MiB. There is no network, no home, no other process, no file of anybody else's, and no way to start
a program; all of it ends with the process.
"""
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from tools import ROOT

INSIDE = "/lessons"
# What a student's process needs of this folder.
NEEDED = "d2l_ext", "attention_lessons", "images", "tools/classroom/grade_student.py"
SIZE = 2**28  # of the folder of its own, bytes
MACHINES = {  # the kernel's name; clone; what starts a program, or holds memory that isn't counted
    "x86_64": (0xC000003E, 56, [57, 58, 435, 272, 308, 319, 29, 68, 240, 101, 248, 321, 323, 425]),
    "aarch64": (0xC00000B7, 220, [435, 97, 268, 279, 194, 186, 180, 117, 217, 280, 282, 425])}
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime")
WHY_NOT = ("Walls around the students' code can't be had here: {}. On a machine with nothing to "
           "lose, grade without them: ARGS=--without-walls.")


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


class Walls:
    """How students' processes start: with walls or without, and with a teacher's own exercises.

    place, student, own: where a process finds this folder, its own script, and these exercises.
    """

    def __init__(self, there: bool = True, own: pathlib.Path | None = None):
        self.there, self.place = there, INSIDE if there else str(ROOT)
        self.student = f"{self.place}/{NEEDED[-1]}"
        self.files = {ROOT / name: f"{INSIDE}/{name}" for name in NEEDED}
        self.own = own and str(own.resolve())
        if own and there:
            self.files[own.resolve()] = self.own = f"{INSIDE}/own/{own.name}"

    def around(self, program: int) -> list[str]:
        """What to put before a command. program: where the filter can be read."""
        bwrap = shutil.which("bwrap") or "bwrap"
        words = [bwrap, "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000",
                 "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "lesson",
                 "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
        for place in [*SYSTEM, *sorted({sys.prefix, sys.base_prefix,
                                        os.path.realpath(sys.base_prefix)})]:
            words += ["--ro-bind-try", place, place]
        for place, inside in self.files.items():
            words += ["--ro-bind", str(place), inside]
        return [*words, "--size", str(SIZE), "--tmpfs", "/home", "--chdir", "/home",
                "--remount-ro", "/dev", "--remount-ro", "/", "--seccomp", str(program)]

    def surroundings(self, home: str) -> dict[str, str]:
        """All environment variables that a student's process has."""
        return {"HOME": home, "TMPDIR": home, "PYTHONPATH": self.place, "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg",
                "MPLCONFIGDIR": f"{home}/.matplotlib", "IPYTHONDIR": f"{home}/.ipython",
                "D2L_EXT_LANGUAGE": os.environ.get("D2L_EXT_LANGUAGE", "")}

    @contextmanager
    def process(self, *words: str, **options):
        """A process of Python with these words; it ends with the block, and all that it began."""
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as home:
            command = [sys.executable, "-sB", *words]
            read, write = os.pipe()
            if self.there:
                os.write(write, forbidden())
                command = self.around(read) + command
            os.close(write)
            try:
                process = subprocess.Popen(
                    command, start_new_session=True, pass_fds=[read],
                    cwd="/" if self.there else home,
                    env=self.surroundings("/home" if self.there else home), **options)
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
        if self.there and platform.machine() not in MACHINES:
            return f"not on {platform.machine()}"
        try:
            with self.process("-c", "pass", stderr=subprocess.PIPE) as process:
                said = process.communicate(timeout=60)[1].decode(errors="replace").strip()
                return "" if process.returncode == 0 else said[-200:] or "bubblewrap fails"
        except FileNotFoundError:
            return "bubblewrap (0.7 or later) is not installed"
