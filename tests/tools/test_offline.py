"""`make test-offline` sees who asks for the network, and who writes where nobody should."""
import os

import pytest

from tools.notebooks import nbtext
from tools import no_network
from tools import offline

GOOD = """import pathlib, socket, tempfile
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "x").write_text("x")
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
found = socket.getaddrinfo("localhost", 80)"""
CONNECTS = """import socket
socket.create_connection(("192.0.2.1", 80), timeout=1)"""
RESOLVES = """import socket
try:
    socket.getaddrinfo("example.org", 80)
except OSError:
    pass"""
WRITES = """import os, pathlib
for path in ("beside.txt", "../../further.txt", "../kept.txt"):
    pathlib.Path(path).write_text("left behind")
os.remove("../lost.txt")
(pathlib.Path.home() / ".lesson").touch()"""
TESTS = """import socket, subprocess, sys
def test_datagram():
    try:
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ("192.0.2.2", 9))
    except OSError:
        pass
def test_child():
    code = "import urllib.request as r; r.urlopen('http://192.0.2.3')"
    subprocess.run([sys.executable, "-c", code], capture_output=True)
"""
REPORTED = """written or removed: copy/kept.txt
written or removed: copy/lost.txt
written or removed: copy/notebooks/beside.txt
written or removed: further.txt
written or removed: home/.lesson
notebooks/connects.ipynb asked for 192.0.2.1
notebooks/resolves.ipynb asked for example.org
test_bad.py::test_child asked for 192.0.2.3
test_bad.py::test_datagram asked for 192.0.2.2"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with some notebooks of one cell and a test file."""
    monkeypatch.setattr(offline, "WARM_UP", "")
    (tmp_path / "notebooks").mkdir()
    for name, text in {"test_bad.py": TESTS, "kept.txt": "kept", "lost.txt": "not yet"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    cells = {"good": GOOD, "connects": CONNECTS, "resolves": RESOLVES, "writes": WRITES}
    for name, source in cells.items():
        notebook = nbtext.pack(f"%% code one core\n{source}\n", {})
        notebook["cells"][0]["execution_count"] = 1
        nbtext.write(notebook, tmp_path / f"notebooks/{name}.ipynb")
    return tmp_path


@pytest.mark.slow
def test_what_should_not_be_is_reported(repository, capfd):
    """Most catch the refusal, or only write, so pytest passes them: they are reported still."""
    nbval = ["-c", os.devnull, "--nbval", "--nbval-current-env", "-q", "--tb=line"]
    code = offline.prove(repository, nbval)
    said = capfd.readouterr().out
    assert code and "1 failed, 5 passed" in said, said
    assert said.rstrip().endswith(REPORTED), said


@pytest.mark.parametrize("host, here", [
    *((host, True) for host in ("127.0.0.1", "127.1.2.3", "::1", b"localhost", "", None)),
    *((host, False) for host in ("192.0.2.1", "2001:db8::1", b"example.org",
                                 "localhost.example.org", "127.0.0.1.example.org")),
])
def test_only_this_machine_is_here(host, here):
    assert no_network.is_here(host) is here
