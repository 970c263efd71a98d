"""JupyterLab and Notebook 7 on copies of notebooks: `serve(folder)` starts the server, `Sheet(page, address)` is an open notebook to run and to ask."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import urllib.request

from screen import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "tests"
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},  # every cell is on the page, also those out of sight
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
FRONTENDS = {"lab": "lab/tree", "notebook": "notebooks"}
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"


@contextlib.contextmanager
def serve(folder: pathlib.Path):
    """A server for the notebooks in ``folder``, which keeps its settings there too; its address."""
    for name, settings in SETTINGS.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--port-retries=0",
               f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}", f"--LabApp.user_settings_dir={folder / 'settings'}",
               f"--LabApp.workspaces_dir={folder / 'workspaces'}", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
               f"--JupyterNotebookApp.user_settings_dir={folder / 'settings'}", "--LanguageServerManager.autodetect=False", "--LabApp.news_url=None"]
    environment = os.environ | own | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with open(folder / "server.log", "w") as log, subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            until(lambda: answers(f"{address}/api/status?token={TOKEN}") or server.poll() is not None, 60)
            if server.poll() is not None:
                raise RuntimeError(f"the notebook server ended at once: {(folder / 'server.log').read_text()[-2000:]}")
            yield address
        finally:
            server.terminate()


def answers(address: str) -> bool:
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(address, timeout=5).status == 200
    return False


class Sheet:
    """A notebook open in a front end."""

    NOW = "window.jupyterapp.shell.currentWidget"

    def __init__(self, page, address: str, name: str, frontend: str = "lab"):
        self.page, self.said = page, []
        page.goto(f"{address}/{FRONTENDS[frontend]}/{name}?{'reset&' if frontend == 'lab' else ''}token={TOKEN}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        page.wait_for_function(f"() => {self.NOW}?.context?.sessionContext?.session?.kernel?.connectionStatus === 'connected'", timeout=90_000)
        # A widget manager greets the kernel before ipywidgets is there, and the kernel says so: what comes before the first cell doesn't count.
        page.evaluate(f"""() => {{ window.complaints = undefined; {self.NOW}.context.sessionContext.iopubMessage.connect((_, {{ header, content }}) => {{
            if (header.msg_type === "execute_input") window.complaints ??= [];
            if (header.msg_type === "error") window.complaints?.push(content.traceback.join("\\n"));
            if (header.msg_type === "stream" && content.name === "stderr") window.complaints?.push(content.text); }}); }}""")

    def run(self, seconds: float = 600) -> None:
        """Run all cells, top to bottom, and wait for the end and for every output to be drawn."""
        self.page.set_default_timeout(seconds * 1000)
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.set_default_timeout(30_000)
        self.page.wait_for_function(f"() => {self.NOW}.context.sessionContext.kernelDisplayStatus === 'idle'", timeout=seconds * 1000)

    def complaints(self) -> list[str]:
        """What the kernel reported as an error or wrote to stderr, in cells or in answer to a widget."""
        return self.page.evaluate("() => window.complaints")

    def failed(self) -> list[str]:
        """The errors and warnings that stand in outputs."""
        return self.page.locator('.jp-RenderedText[data-mime-type="application/vnd.jupyter.stderr"]').all_inner_texts()

    def noise(self) -> list[str]:
        """What the console calls an error, and what was asked of the network; but for the badge, which the network would have."""
        errors = [error for error in self.page.errors if error != f"Failed to load resource: net::ERR_FAILED {BADGE}"]
        return errors + [address for address in self.page.requests if address != BADGE]

    def ask(self, expression: str):
        """The value of an expression in the kernel, through JSON."""
        code = f"import json; print(json.dumps({expression}))"
        said = self.page.evaluate(f"""async (code) => {{
            const asked = {self.NOW}.context.sessionContext.session.kernel.requestExecute({{ code, store_history: false }});
            let said = "";
            asked.onIOPub = ({{ header, content }}) => {{ said += content.text ?? content.traceback?.join("\\n") ?? ""; }};
            await asked.done;
            return said; }}""", code)
        return json.loads(said)

    def enter(self, piece) -> int:
        """Select the piece's cell, which puts the focus before the piece; the cell's number."""
        piece.locator("xpath=ancestor::*[contains(concat(' ', @class, ' '), ' jp-Cell ')]").locator(".jp-InputPrompt").click()
        return self.active_cell()

    def unrun(self) -> list[str]:
        """The first line of each code cell that has not been run."""
        return self.page.evaluate(f"""() => {self.NOW}.content.widgets.map(({{ model }}) => model).filter(({{ type, executionCount, sharedModel }}) =>
            type === "code" && !executionCount && sharedModel.source.trim()).map(({{ sharedModel }}) => sharedModel.source.split("\\n")[0])""")

    def predictions_open(self) -> list[bool]:
        """Whether the output can be seen, for each cell that asks for a prediction."""
        return self.page.evaluate(f"""() => {self.NOW}.content.widgets.filter(({{ model }}) =>
            model.type === "code" && (model.getMetadata("tags") ?? []).includes("predict")).map((cell) => !cell.outputHidden)""")

    def sideways(self) -> list[str]:
        """The beginnings of what is wider than its place: code, text or outputs."""
        return self.page.evaluate("""() => [...document.querySelectorAll(
            ".jp-Notebook :is(.cm-scroller, .jp-MarkdownOutput, .jp-OutputArea-output)")].filter((part) =>
            part.offsetParent && part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent.trim().slice(0, 60))""")

    def active_cell(self) -> int:
        return self.page.evaluate(f"() => {self.NOW}.content.activeCellIndex")

    def save(self) -> None:
        self.page.evaluate(f"async () => {{ await {self.NOW}.context.save(); }}")

    def theme(self, name: str) -> None:
        self.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
        self.page.wait_for_function("(name) => document.body.dataset.jpThemeName === name", arg=name)

    def close(self) -> None:
        """End the kernel."""
        self.page.evaluate(f"async () => {{ await {self.NOW}.context.sessionContext.shutdown(); }}")
