"""Run pytest without a network and see what is written: `make test-offline`.

It runs in a copy of this folder with an empty home, where every Python process refuses addresses of
other machines and notes who asked (tools/no_network.py). It fails if a test does, if anything asked
for the network, and if a file outside temporary folders and caches was written or removed.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
PRIVATE = ("XDG_", "JUPYTER_", "IPYTHONDIR", "MPLCONFIGDIR", "PYTEST_CURRENT_TEST")


def surroundings(base: Path) -> dict[str, str]:
    """An environment without this user's settings and with the guard in every Python process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    for name in ("home", "tmp", "guard"):
        (base / name).mkdir()
    shutil.copy(Path(__file__).with_name("no_network.py"), base / "guard/sitecustomize.py")
    home, temporary = str(base / "home"), str(base / "tmp")
    return kept | {"HOME": home, "USERPROFILE": home, "TMPDIR": temporary,
                   "OFFLINE_LOG": f"{temporary}/asked",
                   "PYTHONPATH": os.pathsep.join([str(base / "guard"), str(base / "copy")])}


def listing(base: Path) -> set[tuple]:
    """Every file below with its time and size, without temporary ones and caches."""
    found = set()
    for folder, folders, files in os.walk(base):
        place = Path(folder).relative_to(base)
        folders[:] = [name for name in folders if name != "__pycache__"
                      and (place / name).as_posix() not in CACHES]
        for name in files:
            about = os.lstat(os.path.join(folder, name))
            found.add(((place / name).as_posix(), about.st_mtime_ns, about.st_size))
    return found


def prove(source: Path, arguments: list[str]) -> int:
    """Run pytest on a copy of ``source``, print what should not be, return 0 if nothing was."""
    with tempfile.TemporaryDirectory(prefix="offline-", ignore_cleanup_errors=True) as folder:
        base = Path(folder).resolve()
        shutil.copytree(source, base / "copy", ignore=NOT_COPIED)
        environment = surroundings(base)

        def run(*command, **options):
            command = [sys.executable, *command]
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
