"""Every notebook in JupyterLab, those with the first pieces in Notebook 7, too: run, looked at in
light and dark and on a projector, played by keyboard, saved as it was."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request

import pytest
from screen import axe, becomes, expect, said, walk, watch

from tools import ROOT
from tools.notebooks import nbtext

PATHS = nbtext.lessons()
LAB, OTHER = "lab/tree", "notebooks"  # where a front end opens a notebook
SETTINGS = {
    # Every cell is on the page, also those out of sight.
    "notebook-extension:tracker": {"windowingMode": "none"},
    "apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension:plugin": {"autosave": False},
}
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
NOISE = {BADGE, f"Failed to load resource: net::ERR_FAILED {BADGE}"}  # the network would have it
ITS_OWN = {  # Notebook 7.6 raises these itself while it opens any notebook
    "Cannot read properties of undefined (reading 'schema')",
    "Command 'filebrowser:open-path' not registered."}
NAMELESS = 'class="noUi-handle'  # ipywidgets 8.1 gives a slider's handle no name
THEMES = "JupyterLab Light", "JupyterLab Dark"
CELL = "xpath=ancestor::*[contains(concat(' ', @class, ' '), ' jp-Cell ')]"

SHEET = "window.jupyterapp.shell.currentWidget"
SESSION = f"{SHEET}.context.sessionContext"
CONNECTED = f"""() =>
  {SESSION.replace('.', '?.')}?.session?.kernel?.connectionStatus === 'connected'"""
IDLE = f"() => {SESSION}.kernelDisplayStatus === 'idle'"
RUN = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
ACTIVE = f"() => {SHEET}.content.activeCellIndex"
SAVE = f"async () => {{ await {SHEET}.context.save(); }}"
CLOSE = f"async () => {{ await {SESSION}.shutdown(); }}"
# The first line of each code cell that has not been run.
UNRUN = f"""() => {SHEET}.content.widgets.map(({{ model }}) => model)
  .filter((cell) => cell.type === "code" && !cell.executionCount && cell.sharedModel.source.trim())
  .map((cell) => cell.sharedModel.source.split("\\n")[0])"""
# Whether the output can be seen, for each cell that asks for a prediction.
PREDICTIONS = f"""() => {SHEET}.content.widgets
  .filter(({{ model }}) => (model.getMetadata("tags") ?? []).includes("predict"))
  .filter(({{ model }}) => model.type === "code")
  .map((cell) => !cell.outputHidden)"""
# The beginnings of what is wider than its place: code, text or outputs.
SIDEWAYS = """() => [...document.querySelectorAll(
    ".jp-Notebook :is(.cm-scroller, .jp-MarkdownOutput, .jp-OutputArea-output)")]
  .filter((part) => part.offsetParent && part.scrollWidth > part.clientWidth + 1)
  .map((part) => part.textContent.trim().slice(0, 60))"""


@pytest.fixture(scope="module")
def frontend(request, tmp_path_factory):
    """A front end's path, the folder of its copied lessons, and its address. Each has a server of
    its own: one that has served Notebook 7 no longer finds JupyterLab's fonts."""
    folder = tmp_path_factory.mktemp("server")
    for path in PATHS:
        shutil.copy(path, folder)
    settings = {f"@jupyterlab/{name}": values for name, values in SETTINGS.items()}
    (folder / "overrides.json").write_text(json.dumps(settings))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *(
        f"--{name}={value}" for name, value in {
            "ip": "127.0.0.1", "port": address.rpartition(":")[2], "port-retries": 0,
            "IdentityProvider.token": "", "ServerApp.root_dir": folder,
            "LabApp.app_settings_dir": folder, "LabApp.expose_app_in_browser": True,
            "JupyterNotebookApp.app_settings_dir": folder,
            "JupyterNotebookApp.expose_app_in_browser": True,
            "LanguageServerManager.autodetect": False}.items())]
    own = {"HOME": str(folder), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

    def answers():
        with contextlib.suppress(OSError):
            return bool(urllib.request.urlopen(f"{address}/api/status", timeout=5))
        return server.poll() is not None

    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | own, cwd=folder)
    try:
        becomes(answers, seconds=60)
        assert server.poll() is None, (folder / "server.log").read_text()[-2000:]
        yield request.param, folder, address
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def sheet(browser, frontend, path):
    """A notebook, open."""
    place, _, address = frontend
    page = watch(browser.new_page(viewport={"width": 1280, "height": 1700}))
    page.goto(f"{address}/{place}/{path.name}{'?reset' * (place == LAB)}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
    page.wait_for_function(CONNECTED, timeout=90_000)
    yield page
    page.evaluate(CLOSE)
    page.close()


def run(page):
    """Run all cells, top to bottom, and wait for the end."""
    page.set_default_timeout(600_000)
    page.evaluate(RUN)
    page.set_default_timeout(30_000)
    page.wait_for_function(IDLE, timeout=600_000)


def play(page, piece):
    """The piece is alive, and its keys are its own."""
    piece.wait_for()
    piece.scroll_into_view_if_needed()
    said(piece).not_to_be_empty()
    expect(page.locator(".d2l-still:visible")).to_have_count(0)

    def enter():
        """Select the piece's cell, which puts the focus before the piece."""
        piece.locator(CELL).locator(".jp-InputPrompt").click()
        return page.evaluate(ACTIVE)

    cell = enter()
    walk(piece, enter)
    assert page.evaluate(ACTIVE) == cell  # no arrow key has reached the notebook
    assert axe(page, ".d2l-piece") == []


def slide(page, panel):
    """A slider draws the reader's function anew, and the page doesn't jump meanwhile."""
    panel.scroll_into_view_if_needed()
    picture = panel.locator(".jp-OutputArea img")
    first, height = picture.get_attribute("alt"), panel.bounding_box()["height"]
    panel.locator(".noUi-handle").first.press("ArrowRight")
    expect(picture).not_to_have_attribute("alt", first)
    assert abs(panel.bounding_box()["height"] - height) < 1


@pytest.mark.parametrize(
    "frontend, path", [*((LAB, path) for path in PATHS), *((OTHER, path) for path in PATHS[2:4])],
    indirect=["frontend"], ids=lambda part: getattr(part, "stem", part)[:4])
def test_a_lesson_is_run_looked_at_played_and_saved(sheet, frontend, path):
    place, folder, _ = frontend
    in_lab = place == LAB
    assert not any(sheet.evaluate(PREDICTIONS))
    run(sheet)
    assert sheet.evaluate(UNRUN) == []
    becomes(lambda: all(sheet.evaluate(PREDICTIONS)))
    for theme in THEMES if in_lab else ():
        change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        sheet.evaluate(change, theme)
        sheet.wait_for_function("(theme) => document.body.dataset.jpThemeName === theme", arg=theme)
        found = axe(sheet, ".jp-OutputArea-output")
        assert [each for each in found if NAMELESS not in each] == []
    if any(nbtext.has(cell, "explorer") for cell in nbtext.cells_of(nbtext.read(path))):
        play(sheet, sheet.locator(".d2l-piece").first)
    if sheet.locator(".widget-slider").count():
        slide(sheet, sheet.locator(".widget-interact").first)
    if in_lab:
        saved = (folder / path.name).stat().st_mtime_ns
        sheet.evaluate(SAVE)
        becomes(lambda: (folder / path.name).stat().st_mtime_ns > saved)
        metadata = json.loads((folder / path.name).read_text(encoding="utf-8"))["metadata"]
        assert set(metadata) == {"kernelspec", "language_info"}
        sheet.set_viewport_size({"width": 853, "height": 480})  # 1280 x 720 at 150 %
        sheet.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        becomes(lambda: 700 < sheet.locator(".jp-Notebook").bounding_box()["width"] <= 853)
        becomes(lambda: sheet.evaluate(SIDEWAYS), [])
    assert {*sheet.errors, *sheet.requests} <= NOISE | (set() if in_lab else ITS_OWN)
