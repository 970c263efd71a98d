"""JupyterLab and Notebook 7: `serve(folder)` starts the server, `Sheet` is an open notebook."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import urllib.request

from screen import until

from tools import ROOT

TOKEN = "tests"
SETTINGS = {
    # Every cell is on the page, also those out of sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}
OWN = "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"
FRONTENDS = {"lab": "lab/tree", "notebook": "notebooks"}
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"


@contextlib.contextmanager
def serve(folder: pathlib.Path):
    """A server for the notebooks in ``folder``, which keeps its settings there too; its address."""
    for name, settings in SETTINGS.items():
        path = folder / f"settings/@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    settings = folder / "settings"
    options = {
        "ip": "127.0.0.1", "port": free_port(), "port-retries": 0,
        "IdentityProvider.token": TOKEN, "ServerApp.root_dir": folder,
        "LabApp.user_settings_dir": settings, "LabApp.workspaces_dir": folder / "workspaces",
        "LabApp.expose_app_in_browser": True, "LabApp.news_url": None,
        "JupyterNotebookApp.user_settings_dir": settings,
        "JupyterNotebookApp.expose_app_in_browser": True,
        "LanguageServerManager.autodetect": False,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
               *(f"--{name}={value}" for name, value in options.items())]
    own = {name: str(folder / name.lower()) for name in OWN}
    environment = os.environ | own | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    address = f"http://127.0.0.1:{options['port']}"
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
    try:
        until(lambda: answers(address) or server.poll() is not None, 60)
        if server.poll() is not None:
            said = (folder / "server.log").read_text()[-2000:]
            raise RuntimeError(f"the notebook server ended at once: {said}")
        yield address
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(address: str) -> bool:
    with contextlib.suppress(OSError):
        status = f"{address}/api/status?token={TOKEN}"
        return urllib.request.urlopen(status, timeout=5).status == 200
    return False


SHEET = "window.jupyterapp.shell.currentWidget"
SESSION = f"{SHEET}.context.sessionContext"
CONNECTED = f"""() =>
  {SESSION.replace('.', '?.')}?.session?.kernel?.connectionStatus === 'connected'"""
# A widget manager greets the kernel before ipywidgets is there, and the kernel says so: what comes
# before the first cell doesn't count.
LISTEN = f"""() => {SESSION}.iopubMessage.connect((_, {{ header, content }}) => {{
  const kind = header.msg_type;
  if (kind === "execute_input") window.complaints ??= [];
  if (kind === "error") window.complaints?.push(content.traceback.join("\\n"));
  if (kind === "stream" && content.name === "stderr") window.complaints?.push(content.text);
}})"""
UNRUN = f"""() => {SHEET}.content.widgets.map(({{ model }}) => model)
  .filter((cell) => cell.type === "code" && !cell.executionCount && cell.sharedModel.source.trim())
  .map((cell) => cell.sharedModel.source.split("\\n")[0])"""
PREDICTIONS = f"""() => {SHEET}.content.widgets
  .filter(({{ model }}) => (model.getMetadata("tags") ?? []).includes("predict"))
  .filter(({{ model }}) => model.type === "code")
  .map((cell) => !cell.outputHidden)"""
SIDEWAYS = """() => [...document.querySelectorAll(
    ".jp-Notebook :is(.cm-scroller, .jp-MarkdownOutput, .jp-OutputArea-output)")]
  .filter((part) => part.offsetParent && part.scrollWidth > part.clientWidth + 1)
  .map((part) => part.textContent.trim().slice(0, 60))"""
CELL = "xpath=ancestor::*[contains(concat(' ', @class, ' '), ' jp-Cell ')]"


class Sheet:
    """A notebook open in a front end."""

    def __init__(self, page, address: str, name: str, frontend: str = "lab"):
        self.page = page
        reset = "reset&" if frontend == "lab" else ""
        page.goto(f"{address}/{FRONTENDS[frontend]}/{name}?{reset}token={TOKEN}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        page.wait_for_function(CONNECTED, timeout=90_000)
        page.evaluate(LISTEN)

    def run(self, seconds: float = 600) -> None:
        """Run all cells, top to bottom, and wait for the end and for every output to be drawn."""
        self.page.set_default_timeout(seconds * 1000)
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.set_default_timeout(30_000)
        idle = f"() => {SESSION}.kernelDisplayStatus === 'idle'"
        self.page.wait_for_function(idle, timeout=seconds * 1000)

    def complaints(self) -> list[str]:
        """What the kernel reported as an error or wrote to stderr, in cells or to a widget."""
        return self.page.evaluate("() => window.complaints")

    def noise(self) -> list[str]:
        """What the console calls an error, and what was asked of the network; but for the badge,
        which the network would have."""
        missing = f"Failed to load resource: net::ERR_FAILED {BADGE}"
        both = self.page.errors + self.page.requests
        return [said for said in both if said not in (missing, BADGE)]

    def enter(self, piece) -> int:
        """Select the piece's cell, which puts the focus before the piece; the cell's number."""
        piece.locator(CELL).locator(".jp-InputPrompt").click()
        return self.active_cell()

    def unrun(self) -> list[str]:
        """The first line of each code cell that has not been run."""
        return self.page.evaluate(UNRUN)

    def predictions_open(self) -> list[bool]:
        """Whether the output can be seen, for each cell that asks for a prediction."""
        return self.page.evaluate(PREDICTIONS)

    def sideways(self) -> list[str]:
        """The beginnings of what is wider than its place: code, text or outputs."""
        return self.page.evaluate(SIDEWAYS)

    def active_cell(self) -> int:
        return self.page.evaluate(f"() => {SHEET}.content.activeCellIndex")

    def save(self) -> None:
        self.page.evaluate(f"async () => {{ await {SHEET}.context.save(); }}")

    def theme(self, name: str) -> None:
        change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        self.page.evaluate(change, name)
        changed = "(name) => document.body.dataset.jpThemeName === name"
        self.page.wait_for_function(changed, arg=name)

    def close(self) -> None:
        """End the kernel."""
        self.page.evaluate(f"async () => {{ await {SESSION}.shutdown(); }}")
