"""Run pytest without a network and see what is written: `make test-offline`.

It runs in a copy of this folder with an empty home. Every Python process refuses addresses of
other machines and notes who asked (tools/no_network.py); where Linux lends a network namespace,
nothing else gets out either. Not `unshare -rn` alone: macOS and some Linux machines have none,
and a request that fails in silence would not be seen. The run fails if a test does, if anything
asked for the network, and if a file outside temporary folders and caches was written or removed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "dist", "build", "*.egg-info", "__pycache__", ".pytest_cache",
    ".hypothesis", ".ipynb_checkpoints")
# Asks for a route, sends nothing.
PROBE = "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('198.51.100.1', 9))"
# Fills caches beforehand that are announced in the output of the cell that fills them.
WARM_UP = "import matplotlib.pyplot, IPython; IPython.start_ipython(['-c', '0'])"
# What pytest, Hypothesis, IPython, matplotlib, Jupyter, the browser and pip's build always write.
CACHES = {
    "tmp", "guard", "copy/.pytest_cache", "copy/.hypothesis", "home/.ipython",
    "home/.cache/matplotlib", "home/.config/matplotlib", "home/.local/share/jupyter",
    "home/.config/chromium", "home/.config/google-chrome", "home/.cache/dconf", "home/.rustup",
}


def namespace() -> list[str]:
    """What to put before a command to run it in a network namespace; nothing where none is lent."""
    inside = ["unshare", "-rn", sys.executable, "-I", __file__]
    try:
        tried = subprocess.run([*inside, sys.executable, "-c", ""], capture_output=True)
    except OSError:
        return []
    return [] if tried.returncode else inside


def loopback_up() -> None:
    """Kernels talk over 127.0.0.1, which a new namespace has switched off; `ip` may be missing."""
    import fcntl
    import socket
    import struct
    with socket.socket(type=socket.SOCK_DGRAM) as any_socket:
        SIOCSIFFLAGS, IFF_UP = 0x8914, 1
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def surroundings(base: pathlib.Path) -> dict[str, str]:
    """An environment without this user's settings and with the guard in every Python process."""
    private = ("XDG_", "JUPYTER_", "IPYTHONDIR", "MPLCONFIGDIR", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    for name in ("home", "tmp", "guard"):
        (base / name).mkdir()
    shutil.copy(HERE / "no_network.py", base / "guard/sitecustomize.py")
    home, temporary = str(base / "home"), str(base / "tmp")
    return kept | {"HOME": home, "USERPROFILE": home, "TMPDIR": temporary,
                   "OFFLINE_LOG": f"{temporary}/asked",
                   "PYTHONPATH": os.pathsep.join([str(base / "guard"), str(base / "copy")])}


def listing(base: pathlib.Path) -> set[tuple]:
    """Every file below with its time and size, without temporary ones and caches."""
    found = set()
    for folder, folders, files in os.walk(base):
        place = pathlib.Path(folder).relative_to(base)
        folders[:] = [name for name in folders if name != "__pycache__"
                      and (place / name).as_posix() not in CACHES]
        for name in files:
            about = os.lstat(os.path.join(folder, name))
            found.add(((place / name).as_posix(), about.st_mtime_ns, about.st_size))
    return found


def prove(source: pathlib.Path, arguments: list[str]) -> int:
    """Run pytest on a copy of ``source``, print what should not be, return 0 if nothing was."""
    wall = namespace()
    where = ", in a namespace that has none" if wall else ""
    print(f"No network: every Python process refuses it{where}.", flush=True)
    with tempfile.TemporaryDirectory(prefix="offline-", ignore_cleanup_errors=True) as folder:
        base = pathlib.Path(folder).resolve()
        shutil.copytree(source, base / "copy", ignore=NOT_COPIED)
        environment = surroundings(base)

        def run(*command, **options):
            command = [*wall, sys.executable, *command]
            return subprocess.run(command, env=environment, **options).returncode

        if run("-c", PROBE, capture_output=True) == 0:
            sys.exit("The network can be reached all the same, so nothing was proved.")
        run("-c", WARM_UP, capture_output=True)
        asked = base / "tmp/asked"
        asked.write_text("", encoding="utf-8")  # without the probe's own
        before = listing(base)
        code = run("-m", "pytest", "--rootdir=.", *arguments, cwd=base / "copy")
        touched = {name for name, *_ in before ^ listing(base)}
        faults = sorted(f"written or removed: {name}" for name in touched)
        faults += sorted(set(asked.read_text(encoding="utf-8").splitlines()))
    print("\n".join(faults) or "Nothing asked for the network, and nothing was written outside "
                               "temporary folders and caches.")
    return code or bool(faults)


if __name__ == "__main__":  # within the namespace
    loopback_up()
    os.execvp(sys.argv[1], sys.argv[1:])
