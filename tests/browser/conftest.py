"""The website, served."""
import functools
import http.server
import threading

import pytest


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the website, with empty files for decks, which have tests of their own."""
    from tools.publish import pages, slides
    from tools.publish.site import build
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slides, "write", lambda path, target: pages.place(path, target).touch())
        build(folder)
    return folder


@pytest.fixture(scope="session")
def address(site):
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def visit(opened, address):
    """Open a page of the site."""
    def visit(name, width=1280, scheme="light", **settings):
        page = opened(width, color_scheme=scheme, **settings)
        page.goto(address + name, wait_until="load")
        return page

    return visit
