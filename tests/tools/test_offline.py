"""`make test-offline` sees who asks for the network and who writes where nobody should: misbehaving notebooks and tests are reported.

Tried behind the namespace, where one can be had, and behind the guard in Python processes alone.
"""
import os
import subprocess
import sys

import pytest
from notebook_rules import nbtext

import no_network
import offline

NAMESPACE = offline.namespace()
WALLS = [pytest.param([], id="guard"), pytest.param(NAMESPACE, id="namespace", marks=pytest.mark.skipif(not NAMESPACE, reason="no network namespaces here"))]
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
for path in ("beside.txt", "../above.txt", "../../further.txt", "../kept.txt"):
    pathlib.Path(path).write_text("left behind")
os.remove("../lost.txt")
(pathlib.Path.home() / ".lesson").mkdir()"""
TESTS = """import socket, subprocess, sys
def test_datagram():
    try:
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ("192.0.2.2", 9))
    except OSError:
        pass
def test_child():
    subprocess.run([sys.executable, "-c", "import urllib.request as r; r.urlopen('http://192.0.2.3')"], capture_output=True)
"""
REPORTED = ["changed: copy/kept.txt", "gone: copy/lost.txt", "new: copy/above.txt", "new: copy/notebooks/beside.txt", "new: further.txt", "new: home/.lesson",
            "notebooks/connects.ipynb asked for 192.0.2.1", "notebooks/resolves.ipynb asked for example.org", "test_bad.py::test_child asked for 192.0.2.3",
            "test_bad.py::test_datagram asked for 192.0.2.2"]


@pytest.fixture
def prove(tmp_path, capfd, monkeypatch):
    """Run a repository of some notebooks with one cell, and of test_bad.py; the exit code and what was said."""
    monkeypatch.setattr(offline, "WARM_UP", "")

    def run(wall, notebooks, tests=""):
        (tmp_path / "notebooks").mkdir()
        for name, text in {"test_bad.py": tests, "kept.txt": "kept", "lost.txt": "not yet"}.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        for name, source in notebooks.items():
            notebook = nbtext.pack(f"%% code one core\n{source}\n", {})
            notebook["cells"][0]["execution_count"] = 1
            nbtext.write(notebook, tmp_path / f"notebooks/{name}.ipynb")
        code = offline.prove(tmp_path, ["-c", os.devnull, "--nbval", "--nbval-current-env", "-q", "--tb=line"], wall=wall)
        return code, capfd.readouterr().out
    return run


def test_good_notebooks_pass(prove):
    code, said = prove(NAMESPACE, {"good": GOOD})
    assert code == 0 and "1 passed" in said and "Nothing asked for the network" in said, said


@pytest.mark.parametrize("wall", WALLS)
def test_bad_notebooks_and_tests_are_reported(prove, wall):
    """Most put up with the refusal, or only write, so pytest passes them: they are reported all the same."""
    code, said = prove(wall, {"connects": CONNECTS, "resolves": RESOLVES, "writes": WRITES}, TESTS)
    assert code and "1 failed, 4 passed" in said, said
    assert said.split("asked for:\n")[1].splitlines() == REPORTED


@pytest.mark.skipif(not NAMESPACE, reason="no network namespaces here")
def test_the_namespace_holds_without_the_guard():
    assert b"unreachable" in subprocess.run([*NAMESPACE, sys.executable, "-I", "-c", offline.PROBE], capture_output=True).stderr


def test_nothing_is_proved_where_the_network_can_be_reached(prove, monkeypatch):
    monkeypatch.setattr(offline, "PROBE", "")  # as if it had come through
    with pytest.raises(SystemExit, match="can be reached all the same"):
        prove([], {})


def test_known_caches_are_overlooked_and_nothing_like_them(tmp_path):
    for place in ("copy/d2l_ext/__pycache__/masks.pyc", "copy/.pytest_cache/v/x", "home/.ipython/profile_default/history.sqlite", "tmp/x"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()
    before = offline.listing(tmp_path)
    assert before == {}
    for place in ("copy/tmp", "home/.cache/lessons", "home/.ipythonrc.d"):
        (tmp_path / place).mkdir(parents=True)
    assert offline.differences(before, offline.listing(tmp_path)) == ["new: copy/tmp", "new: home/.cache/lessons", "new: home/.ipythonrc.d"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", b"localhost", "", None, "0.0.0.0", "::1%lo"])
def test_loopback_is_here(host):
    assert no_network.is_here(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "2001:db8::1", "example.org", b"example.org", "localhost.example.org", "127.0.0.1.example.org"])
def test_everything_else_is_not(host):
    assert not no_network.is_here(host)
