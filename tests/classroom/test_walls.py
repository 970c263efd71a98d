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
HOSTILE = {
    "append to the package": "import d2l_ext; open(d2l_ext.__file__, 'a')",
    "a .pth": "open(SITE + '/mine.pth', 'w')",
    "read another's submission": "open(FRIEND)",
    "replace another's submission": "open('mine', 'w'); os.replace('mine', FRIEND)",
    "environments": "text = b''.join(open(f'/proc/{n}/environ', 'rb').read() "
                    "for n in os.listdir('/proc') if n.isdigit()); assert b'SECRET' in text",
    "memory of the grader": "open(f'/proc/{GRADER}/mem', 'rb')",
    "memory of who is above": "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "end the grader": "os.kill(GRADER, 9)",
    "fork": "os.fork()",
    "a program": "import subprocess; subprocess.run(['/usr/bin/env'])",
    "spawn": "os.posix_spawn('/usr/bin/env', ['env'], {})",
    "multiprocessing": "from multiprocessing import get_context as c; "
                       "c('spawn').Process(target=print).start()",
    "a socket of the file system": "import socket; socket.socket(socket.AF_UNIX).connect(SOCKET)",
    "a socket by name": "import socket; socket.socket(socket.AF_UNIX).connect('\\0' + FRIEND)",
    "this machine's network": "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
    "lessons with solutions": "os.listdir(ROOT + '/notebooks')",
    "fill the disk": "for n in range(4):\n with open(str(n), 'wb') as f: f.write(bytes(10**8))",
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
        exec(source, dict({known!r}, os=os))
    except BaseException as error:
        print(f"{{name}}|{{type(error).__name__}}: {{error}}".replace("\\n", " "))
    else:
        print(f"{{name}}|it is done")
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """What came of each source, by name."""
    folder = tmp_path_factory.mktemp("others")
    if why := walls.Walls().why_not():
        pytest.skip(f"no walls here: {why}")
    friend = folder / "friend.ipynb"
    friend.write_text("theirs")
    listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    listeners[0].bind(str(folder / "socket"))
    listeners[1].bind(f"\0{friend}")
    listeners.append(socket.create_server(("127.0.0.1", 0)))
    for listener in listeners[:2]:
        listener.listen()
    known = {"ROOT": str(ROOT), "SITE": sysconfig.get_path("purelib"), "FRIEND": str(friend),
             "GRADER": os.getpid(), "SOCKET": str(folder / "socket"),
             "PORT": listeners[2].getsockname()[1]}
    os.environ["SECRET"] = "SECRET"
    try:
        with walls.Walls().process("-c", RUN.format(sources=HOSTILE | HARMLESS, known=known),
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            said = process.communicate(timeout=300)[0].decode()
    finally:
        del os.environ["SECRET"]
        for listener in listeners:
            listener.close()
    assert friend.read_text() == "theirs"
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


def test_where_there_are_no_walls_a_sentence_says_so(monkeypatch):
    monkeypatch.setattr(walls.shutil, "which", lambda name: "/nowhere/bwrap")
    why = walls.Walls().why_not()
    assert "not installed" in why and "--without-walls" in walls.WHY_NOT.format(why)
    assert walls.Walls(there=False).why_not() == ""
    monkeypatch.setattr(walls.shutil, "which", lambda name: sys.executable)
    assert walls.Walls().why_not()
    monkeypatch.setattr(walls.platform, "machine", lambda: "abacus")
    assert walls.Walls().why_not() == "not on abacus"
