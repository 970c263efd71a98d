"""The explorers' JavaScript outside a browser, in node."""
import json
import shutil
import subprocess

import pytest
import torch


def compute(folder, source, expression, given=None):
    """The value of a JavaScript expression over the exports of ``piece``, and ``given``."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here to run the explorer's JavaScript")
    run = f"""import * as piece from './piece.mjs';
        const given = {json.dumps(given)};
        console.log(JSON.stringify({expression}));"""
    (folder / "piece.mjs").write_text(source, encoding="utf-8")
    (folder / "run.mjs").write_text(run, encoding="utf-8")
    done = subprocess.run([node, "run.mjs"], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def furthest(ours, theirs):
    """The largest difference between two tables of numbers; infinite where one is no number."""
    if "null" in json.dumps(ours):
        return torch.inf
    pairs = ((ours[name], theirs[name]) for name in theirs)
    return max((as_double(a) - as_double(b)).abs().max().item() for a, b in pairs)


def as_double(numbers):
    return torch.as_tensor(numbers, dtype=torch.float64)


def swap(source, right, wrong):
    """The source with a mistake in one place."""
    assert source.count(right) == 1
    return source.replace(right, wrong)
