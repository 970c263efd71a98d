"""Every notebook in JupyterLab, run top to bottom: no error, its explorer alive."""
import json

import pytest
from frontends import ROOT, Sheet
from pieces import LESSONS
from screen import axe, becomes, expect, said, until, walk, watch

SHOTS = ROOT / "dist" / "screenshots"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


class Lesson:
    """What holds for every notebook; ``name`` is that of its file."""

    name = ""

    @pytest.fixture(scope="class")
    @classmethod
    def sheet(cls, browser, server):
        folder, address = server
        page = watch(browser.new_page(viewport={"width": 1280, "height": 1700}))
        sheet = Sheet(page, address, f"{cls.name}.ipynb")
        sheet.file = folder / f"{cls.name}.ipynb"
        sheet.spoiled = sheet.predictions_open()
        sheet.run()
        yield sheet
        sheet.close()
        page.close()

    def test_it_ran_to_its_end_without_error(self, sheet):
        assert sheet.complaints() == sheet.unrun() == sheet.noise() == []

    def test_predictions_open_when_they_are_run(self, sheet):
        assert not any(sheet.spoiled)
        until(lambda: all(sheet.predictions_open()))

    def test_nothing_scrolls_sideways_on_a_projector(self, sheet):
        """1280 x 720 at 150 % are 853 x 480."""
        page = sheet.page
        before = page.viewport_size
        page.set_viewport_size({"width": 853, "height": 480})
        page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        until(lambda: 700 < page.locator(".jp-Notebook").bounding_box()["width"] <= 853)
        becomes(sheet.sideways, [])
        page.set_viewport_size(before)

    @pytest.mark.parametrize("theme", THEMES)
    def test_the_outputs_are_for_all(self, sheet, theme):
        sheet.theme(THEMES[theme])
        assert axe(sheet.page, ".jp-OutputArea-output") == []

    def test_nothing_is_saved_with_it(self, sheet):
        before = sheet.file.stat().st_mtime_ns
        sheet.save()
        until(lambda: sheet.file.stat().st_mtime_ns > before)
        metadata = json.loads(sheet.file.read_text(encoding="utf-8"))["metadata"]
        assert set(metadata) == {"kernelspec", "language_info"}


class Played(Lesson):
    """What holds for a notebook with an explorer."""

    @pytest.fixture
    def piece(self, sheet):
        piece = sheet.page.locator(".d2l-piece").first
        piece.wait_for()
        piece.scroll_into_view_if_needed()
        return piece

    @pytest.mark.parametrize("theme", THEMES)
    def test_it_is_alive_and_looks_as_in_its_picture(self, sheet, piece, theme):
        sheet.theme(THEMES[theme])
        said(piece).not_to_be_empty()
        expect(sheet.page.locator(".d2l-still:visible")).to_have_count(0)
        SHOTS.mkdir(parents=True, exist_ok=True)
        piece.screenshot(path=SHOTS / f"{self.name}-{theme}.png")

    def test_keys_move_it(self, sheet, piece):
        cell = sheet.enter(piece)
        walk(piece, lambda: sheet.enter(piece))
        assert axe(sheet.page, ".d2l-piece") == []
        assert sheet.active_cell() == cell  # no arrow key has reached the notebook
        assert sheet.complaints() == sheet.noise() == []


# A class for each, so that each runs in a process of its own.
for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
    base = Played if path.stem[:2] in LESSONS else Lesson
    made = type(f"Test{path.stem[:2]}", (base,), {"name": path.stem, "__module__": __name__})
    globals()[made.__name__] = made
