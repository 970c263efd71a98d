"""`make test-offline` sees who asks for the network, and who writes where nobody should."""
import pytest

from tools import no_network, offline

TESTS = """import os, pathlib, socket, subprocess, sys, tempfile
def test_good():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x").write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert socket.getaddrinfo("localhost", 80)
def test_connects():
    socket.create_connection(("192.0.2.1", 80), timeout=1)
def test_resolves():
    try:
        socket.getaddrinfo("example.org", 80)
    except OSError:
        pass
def test_datagram():
    try:
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ("192.0.2.2", 9))
    except OSError:
        pass
def test_child():
    code = "import urllib.request as r; r.urlopen('http://192.0.2.3')"
    subprocess.run([sys.executable, "-c", code], capture_output=True)
def test_writes():
    for path in ("../further.txt", "kept.txt"):
        pathlib.Path(path).write_text("left behind")
    os.remove("lost.txt")
    (pathlib.Path.home() / ".lesson").touch()
"""
REPORTED = """written or removed: copy/kept.txt
written or removed: copy/lost.txt
written or removed: further.txt
written or removed: home/.lesson
test_bad.py::test_child asked for 192.0.2.3
test_bad.py::test_connects asked for 192.0.2.1
test_bad.py::test_datagram asked for 192.0.2.2
test_bad.py::test_resolves asked for example.org"""


@pytest.mark.slow
def test_what_should_not_be_is_reported(tmp_path, monkeypatch, capfd):
    """Most catch the refusal, or only write, so pytest passes them: they are reported still."""
    monkeypatch.setattr(offline, "WARM_UP", "")
    for name, text in {"test_bad.py": TESTS, "kept.txt": "kept", "lost.txt": "not yet"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = offline.prove(tmp_path, ["-q", "--tb=line"])
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
