"""The same random numbers and Hypothesis examples everywhere; a browser for tests that ask for it.

Tests that use the fixture `browser` are marked so, and run with `-m browser` alone.
"""
import gc
import importlib.util
import os
import shutil
import sys

import pytest
import torch
from hypothesis import HealthCheck, settings

# nbformat loads a grammar of addresses that no notebook needs; making it takes seconds.
sys.modules.setdefault("rfc3987_syntax", None)

# Nothing here goes by the clock: on a busy machine even drawing the examples is slow.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=30,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
PROGRAM = next(filter(None, map(shutil.which, (
    "chromium", "google-chrome", "chromium-browser", MAC))), None)
OPTIONS = ["--disable-background-networking", "--no-first-run", "--disable-component-update",
           "--disable-sync"]
if sys.platform == "linux" and os.geteuid() == 0:
    OPTIONS.append("--no-sandbox")  # Chromium refuses to run as root otherwise


if not (shutil.which("node") or os.environ.get("CI")):  # in CI they fail
    from tools.draw import pieces_in_node
    pieces_in_node.node = lambda: pytest.skip(
        "node is missing, which runs the interactive pieces: apt install nodejs, or nodejs.org")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# ---- which tests run --------------------------------------------------------------------------

def in_browser(config):
    return config.option.markexpr.startswith("browser")


def pytest_configure(config):
    if not in_browser(config):
        return
    for name in ("playwright", "axe_playwright_python", "pypdfium2", "ziamath", "pagefind"):
        if not importlib.util.find_spec(name):
            raise pytest.UsageError(f"{name} is missing for the tests in a browser: "
                                    "make test-browser, or python tools/setup.py browser html site")
    if not PROGRAM:
        raise pytest.UsageError("There is no browser for these tests: install Debian's chromium "
                                "or Google Chrome.")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """What is collected stays to the end: looking whether it is garbage takes a fifth of it all."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path, config):
    if collection_path.parent.name == "browser" and not in_browser(config):
        return True  # its imports take a second


@pytest.hookimpl(tryfirst=True)  # before `-m` looks for the mark
def pytest_collection_modifyitems(config, items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    if not in_browser(config):
        items[:] = [item for item in items if not item.get_closest_marker("browser")]


# ---- a browser --------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import expect, sync_playwright
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open an empty page. All are closed at the end, and none may have complained or asked for
    anything outside of this machine."""
    from screen import watch
    pages = []

    def opened(width=1280, height=900, **settings):
        page = browser.new_page(viewport={"width": width, "height": height}, **settings)
        pages.append(watch(page))
        return page

    yield opened
    for page in pages:
        assert page.errors == [] and page.requests == []
        page.close()
