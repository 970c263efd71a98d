"""What nbval leaves to us: cells that can't run here, their ids, and pictures.

Lesson 14 has cells in frameworks that are optional, tagged `needs-jax` and so on. Where one is
missing, its cells are skipped; `make test-frameworks` runs them all. Pictures are compared by
tests/lessons/pictures.py.
"""
from functools import partial

import pytest

from attention_lessons.frameworks import missing

collect_ignore_glob = ["*/conftest.py"]  # plugins, no modules to test


def pytest_collection_modifyitems(items):
    for item in items:
        if cell := getattr(item, "cell", None):  # of a notebook
            item.location = str(item.path), 0, f"{item.parent.nodeid}, cell {cell.id}"  # in reports
            item.compare_outputs = partial(compare, item, item.compare_outputs)
            if absent := missing(cell.metadata.get("tags", [])):
                reason = f"{', '.join(absent)} not installed here: make test-frameworks"
                item.add_marker(pytest.mark.skip(reason=reason))


def compare(item, others, new, stored, skip_compare=None):
    from pictures import unlike
    if wrong := unlike(item.cell.source, new, stored):
        item.comparison_traceback = [wrong]
        return False
    return others(new, stored, skip_compare)
