"""The other front end: lessons with an explorer in Notebook 7, played by keyboard."""
import shutil

import pytest
from frontends import ROOT, Sheet, serve
from screen import axe, until, walk, watch

# Notebook 7.6 raises these itself while it opens any notebook.
ITS_OWN = {"Cannot read properties of undefined (reading 'schema')",
           "Command 'filebrowser:open-path' not registered."}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server of its own: one that has served Notebook 7 no longer finds JupyterLab's fonts."""
    folder = tmp_path_factory.mktemp("notebook7")
    for path in (ROOT / "notebooks").glob("0[23]*.ipynb"):
        shutil.copy(path, folder)
    with serve(folder) as address:
        yield address


@pytest.mark.parametrize("name", ["02_multi_head_attention", "03_self_attention"])
def test_a_lesson_plays_in_notebook_7(browser, address, name):
    pytest.importorskip("notebook", "7")
    page = watch(browser.new_page(viewport={"width": 1280, "height": 1600}))
    sheet = Sheet(page, address, f"{name}.ipynb", "notebook")
    sheet.run()
    assert sheet.complaints() == sheet.unrun() == []
    assert set(sheet.noise()) <= ITS_OWN
    piece = page.locator(".d2l-piece")
    until(lambda: piece.count() == 1)
    cell = sheet.enter(piece)
    walk(piece, lambda: sheet.enter(piece))
    assert sheet.active_cell() == cell and axe(page, ".d2l-piece") == []
    assert sheet.complaints() == []
    sheet.close()
    page.close()
