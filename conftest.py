"""Lesson 11 has cells in frameworks that are optional: where one is missing, its cells are skipped.

They are tagged `needs-jax` and so on. `make test-frameworks` runs them all.
"""
import pytest

from d2l_ext.frameworks import missing


def pytest_collection_modifyitems(items):
    for item in items:
        cell = getattr(item, "cell", None)  # of a notebook
        if cell and (absent := missing(cell.metadata.get("tags", []))):
            reason = f"{', '.join(absent)} not installed here: make test-frameworks"
            item.add_marker(pytest.mark.skip(reason=reason))
