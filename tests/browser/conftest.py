"""Pages with settings of their own, and the website."""
import pytest
from screen import watch


@pytest.fixture
def opened(browser):
    """Open an empty page. All are closed at the end, and none may have complained or asked for
    anything outside of this machine."""
    pages = []

    def opened(width=1280, height=900, **settings):
        page = browser.new_page(**{"viewport": {"width": width, "height": height}} | settings)
        pages.append(watch(page))
        return page

    yield opened
    for page in pages:
        assert page.errors == [] and page.requests == []
        page.close()


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
