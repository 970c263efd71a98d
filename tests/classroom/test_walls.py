"""What plain Python in a cell once did to a grader, or might: within the walls it fails.

Each source raises where it fails. The files that it goes for are a test's own.
"""
import os
import socket
import subprocess
import sys
import sysconfig

import pytest
from tools.classroom import walls
from tools.notebooks.readme import ROOT

if not hasattr(os, "setsid"):
    pytest.skip("walls need Linux", allow_module_level=True)
PACKAGE = ROOT / "attention_lessons"
HOSTILE = {
    "append to the package": "open(PACKAGE + '/exercises/compare.py', 'a')",
    "append to the package inside": "import d2l_ext; open(d2l_ext.__file__, 'a')",
    "a .pth": "open(SITE + '/mine.pth', 'w')",
    "replace a tool": "os.replace(__file__, ROOT + '/tools/lab.py')",
    "read another's submission": "open(FRIEND)",
    "remove another's submission": "os.remove(FRIEND)",
    "replace another's submission": "open('mine', 'w'); os.replace('mine', FRIEND)",
    "a hard link to another's submission": "os.link(FRIEND, 'mine')",
    "rewrite the table": "open(os.path.dirname(FRIEND) + '/grades.csv', 'w')",
    "environments": "text = b''.join(open(f'/proc/{n}/environ', 'rb').read() "
                    "for n in os.listdir('/proc') if n.isdigit()); assert b'SECRET' in text",
    "home": "open(HOME + '/.bashrc')",
    "memory of the grader": "open(f'/proc/{GRADER}/mem', 'rb')",
    "memory of who is above": "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "fork": "os.fork()",
    "a program": "import subprocess; subprocess.run(['/usr/bin/env'])",
    "a shell": "assert os.system('true') == 0",
    "spawn": "os.posix_spawn('/usr/bin/env', ['env'], {})",
    "multiprocessing": "from multiprocessing import get_context as c; "
                       "c('spawn').Process(target=print).start()",
    "a pool of processes": "from concurrent.futures import ProcessPoolExecutor as P; "
                           "P(1).submit(print).result(9)",
    "end the grader": "os.kill(GRADER, 9)",
    "end the grader by a file": "import signal; "
                                "signal.pidfd_send_signal(os.pidfd_open(GRADER), 9)",
    "a socket of the file system": "import socket; socket.socket(socket.AF_UNIX).connect(SOCKET)",
    "a socket by name": "import socket; socket.socket(socket.AF_UNIX).connect('\\0' + FRIEND)",
    "this machine's network": "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
    "answers by FileIO": "import io, pathlib; "
                         "io.FileIO(pathlib.Path(PACKAGE, 'lesson_02/exercises.py'))",
    "answers by a folder": "os.open('exercises.py', 0, dir_fd=os.open(PACKAGE + '/lesson_02', 0))",
    "answers by a link": "os.link(PACKAGE + '/lesson_02/exercises.py', 'mine')",
    "answers by torch": "import torch; "
                        "torch.UntypedStorage.from_file(PACKAGE + '/lesson_02/exercises.py', 0, 9)",
    "answers in memory": "import gc, wire; assert {'Choice', 'Build', 'FromScratch'} & "
                         "{type(x).__name__ for x in gc.get_objects()}",
    "the museum": "from attention_lessons import CASES; CASES['polarity'].code()",
    "the answers": "import attention_lessons.lesson_02.exercises",
    "what finds answers": "from attention_lessons.exercises import find; find('four-heads')",
    "lessons with solutions": "os.listdir(ROOT + '/notebooks')",
    "tools": "import tools.classroom.grade",
    "fill the disk": "f = open('large', 'wb')\nfor n in range(400): f.write(bytes(2**20))",
    "files elsewhere": "open('/dev/shm/mine', 'w')",
    "files at the top": "open('/mine', 'w')",
    "the kernel's settings": "open('/proc/sys/kernel/core_pattern', 'r+')",
    "memory that isn't counted": "os.memfd_create('mine')",
    "another namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "mount": "import ctypes; assert ctypes.CDLL(None).mount(b'x', b'/home', b'tmpfs', 0, 0) == 0",
    "be root": "os.setuid(0)",
}
HARMLESS = {"threads": "import threading; threading.Thread(target=print).start()",
            "files of its own": "open('mine', 'w').write('x'); os.remove('mine')",
            "lessons' packages": "from attention_lessons import heatmaps; import d2l_ext"}
RUN = """import os, sys
for name, source in {sources!r}.items():
    try:
        exec(source, dict({known!r}, os=os, __file__=__file__))
    except BaseException as error:
        print(f"{{name}}|{{type(error).__name__}}: {{error}}".replace("\\n", " "))
    else:
        print(f"{{name}}|it is done")
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    walls.put_edition(folder := tmp_path_factory.mktemp("grader") / "lessons")
    return folder


@pytest.fixture(scope="module")
def tried(edition, tmp_path_factory):
    """What came of each source, by name."""
    outside, folder = walls.Outside(edition), tmp_path_factory.mktemp("others")
    if why := outside.why_not():
        pytest.skip(f"no walls here: {why}")
    friend, home = folder / "friend.ipynb", folder / "home"
    friend.write_text("theirs")
    home.mkdir()
    (home / ".bashrc").write_text("theirs")
    listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    listeners[0].bind(str(folder / "socket"))
    listeners[1].bind(f"\0{friend}")
    listeners.append(socket.create_server(("127.0.0.1", 0)))
    for listener in listeners[:2]:
        listener.listen()
    known = {"PACKAGE": str(PACKAGE), "ROOT": str(ROOT), "SITE": sysconfig.get_path("purelib"),
             "FRIEND": str(friend), "HOME": str(home), "GRADER": os.getpid(),
             "SOCKET": str(folder / "socket"), "PORT": listeners[2].getsockname()[1]}
    (edition / "attack.py").write_text(RUN.format(sources=HOSTILE | HARMLESS, known=known))
    os.environ["SECRET"] = "SECRET"
    try:
        with outside.process("{}/attack.py", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL) as process:
            said = process.communicate(timeout=300)[0].decode()
    finally:
        del os.environ["SECRET"]
        for listener in listeners:
            listener.close()
    assert friend.read_text() == (home / ".bashrc").read_text() == "theirs"
    return dict(line.split("|", 1) for line in said.splitlines() if "|" in line)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_it_fails(tried, name):
    assert tried[name] != "it is done"
    assert not tried[name].startswith(("NameError", "SyntaxError")), tried[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_lesson_needs_is_done(tried, name):
    assert tried[name] == "it is done"


def test_no_answer_is_inside(edition):
    from attention_lessons.exercises import all_exercises
    text = "\n".join(path.read_text(encoding="utf-8") for path in edition.rglob("*.py"))
    told = [name for name, exercise in all_exercises().items()
            if exercise.praise in text or any(hint in text for hint in exercise.hints)]
    assert told == []


def test_where_there_are_no_walls_a_sentence_says_so(edition, monkeypatch):
    monkeypatch.setattr(walls.shutil, "which", lambda name: "/nowhere/bwrap")
    why = walls.Outside(edition).why_not()
    assert "not installed" in why and "--without-walls" in walls.WHY_NOT.format(why)
    assert walls.Outside(edition, walls=False).why_not() == ""
    monkeypatch.setattr(walls.shutil, "which", lambda name: sys.executable)
    assert walls.Outside(edition).why_not()
    monkeypatch.setattr(walls.platform, "machine", lambda: "abacus")
    assert walls.Outside(edition).why_not() == "not on abacus"
