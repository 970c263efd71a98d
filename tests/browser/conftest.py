"""One notebook server for each process that tests."""
import shutil

import pytest
from frontends import ROOT, serve


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The server's folder, with a copy of each notebook, and its address."""
    folder = tmp_path_factory.mktemp("server")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, folder)
    with serve(folder) as address:
        yield folder, address
