"""Run all tests and notebooks without a network, and see what they write: `make test-offline`; arguments are passed to pytest.

They run in a copy of this folder, with an empty home, in a network namespace that has loopback alone. Where the system has or allows no namespaces
(macOS, some Linux machines), Python processes refuse all other addresses instead; the first line printed says which of the two it was.
It fails if a test does, if anything asked for the network, even in vain, and if a file outside temporary folders is new, changed or gone.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "dist", "build", "*.egg-info", "__pycache__", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints")
WARM_UP = "import matplotlib.pyplot, IPython; IPython.start_ipython(['-c', '0'])"  # makes the caches that say so when a notebook makes them
PROBE = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('198.51.100.1', 9))"  # sends nothing, but needs a route
# What pytest, Hypothesis, IPython, matplotlib, Jupyter and the explorers' browser always write; Python's own __pycache__ besides.
CACHES = tuple(map(pathlib.PurePath, ["copy/.pytest_cache", "copy/.hypothesis", "home/.ipython", "home/.cache/matplotlib", "home/.config/matplotlib",
                                      "home/.local/share/jupyter", "home/.config/chromium", "home/.config/google-chrome", "home/.cache/dconf",
                                      "home/.rustup"]))  # pip asks a Rust that is there for its version


def namespace() -> list[str]:
    """What to put before a command to run it in a network namespace, nothing where that can't be had."""
    inside = ["unshare", "-rn", sys.executable, "-I", __file__, "--loopback"]
    try:
        return inside if subprocess.run([*inside, sys.executable, "-c", ""], capture_output=True).returncode == 0 else []
    except OSError:
        return []


def loopback_up() -> None:
    """Kernels talk over 127.0.0.1, which is down in a new namespace; by system call, as small systems have no `ip`."""
    import fcntl
    import socket
    import struct
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def surroundings(base: pathlib.Path) -> dict[str, str]:
    """An environment without this user's settings and with the guard in every Python process."""
    private = ("XDG_", "JUPYTER_", "IPYTHONDIR", "MPLCONFIGDIR", "PYTHONPATH", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    for name in ("home", "tmp", "guard"):
        (base / name).mkdir()
    shutil.copy(ROOT / "tools/no_network.py", base / "guard/sitecustomize.py")
    return kept | {"HOME": str(base / "home"), "USERPROFILE": str(base / "home"), "TMPDIR": str(base / "tmp"), "OFFLINE_LOG": str(base / "tmp/asked"),
                   "PYTHONPATH": os.pathsep.join([str(base / "guard"), str(base / "copy")])}


def listing(base: pathlib.Path) -> dict[str, tuple]:
    """Every file and empty folder below, with what shows that it was written; temporary ones and caches left out."""
    found = {}
    for folder, folders, files in os.walk(base):
        place = pathlib.PurePath(folder).relative_to(base)
        if place.name == "__pycache__" or place in (*CACHES, pathlib.PurePath("tmp"), pathlib.PurePath("guard")):
            folders.clear()
            continue
        if not folders and not files:
            found[place.as_posix()] = ()
        for name in files:
            about = os.lstat(os.path.join(folder, name))
            found[(place / name).as_posix()] = (about.st_mtime_ns, about.st_size, about.st_ino)
    return found


def differences(before: dict[str, tuple], after: dict[str, tuple]) -> list[str]:
    changed = [name for name in before.keys() & after.keys() if before[name] != after[name]]
    return sorted([f"new: {name}" for name in after.keys() - before.keys()] + [f"changed: {name}" for name in changed]
                  + [f"gone: {name}" for name in before.keys() - after.keys() if before[name]])  # an empty folder may have been filled


def prove(source: pathlib.Path, arguments: list[str], python: str = sys.executable, wall: list[str] | None = None) -> int:
    """Run pytest on a copy of ``source`` behind ``wall``, print what was done that shouldn't be, and return 0 if nothing was."""
    wall = namespace() if wall is None else wall
    print("No network: " + ("a namespace without a route." if wall else "Python processes refuse it, as no namespace can be had."), flush=True)
    with tempfile.TemporaryDirectory(prefix="offline-", ignore_cleanup_errors=True) as folder:
        base = pathlib.Path(folder).resolve()
        shutil.copytree(source, base / "copy", ignore=NOT_COPIED)
        environment = surroundings(base)
        if subprocess.run([*wall, python, *["-I"][:len(wall)], "-c", PROBE], capture_output=True, env=environment).returncode == 0:
            sys.exit("The network can be reached all the same, so nothing was proved.")
        subprocess.run([*wall, python, "-c", WARM_UP], capture_output=True, env=environment)
        asked = base / "tmp/asked"
        asked.unlink(missing_ok=True)  # the probe's own
        before = listing(base)
        code = subprocess.run([*wall, python, "-m", "pytest", "--rootdir=.", *arguments], cwd=base / "copy", env=environment).returncode
        faults = differences(before, listing(base)) + sorted(set(asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []))
    print("\n".join(["Written outside temporary folders and caches, or asked for:", *faults] if faults else
                    ["Nothing asked for the network, and nothing was written outside temporary folders and caches."]))
    return code or bool(faults)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--loopback"]:
        loopback_up()
        os.execvp(sys.argv[2], sys.argv[2:])
    sys.exit(prove(ROOT, sys.argv[1:]))
