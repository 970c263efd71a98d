"""The explorers' mathematics outside a browser: `compute(folder, text, expression, given)` runs it in node."""
import json
import shutil
import subprocess

import pytest
import torch

FORBIDDEN = ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacent", "eval(", "Function(", "http:", "https:", "import ")


def compute(folder, text, expression, given=None):
    """The value of a JavaScript expression over the piece's exports; ``given`` is there under its own name."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here to run the explorer's JavaScript")
    (folder / "piece.mjs").write_text(text, encoding="utf-8")
    (folder / "run.mjs").write_text(f"import * as piece from './piece.mjs';\nconst given = {json.dumps(given)};\nconsole.log(JSON.stringify({expression}));", encoding="utf-8")
    done = subprocess.run([node, "run.mjs"], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def furthest(ours, theirs):
    """The largest difference between two tables of numbers, by name; infinite where one is no number."""
    if "null" in json.dumps(ours):
        return torch.inf
    return max((torch.tensor(ours[name], dtype=torch.float64) - torch.as_tensor(theirs[name], dtype=torch.float64)).abs().max().item() for name in theirs)
