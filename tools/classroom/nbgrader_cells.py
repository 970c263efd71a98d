"""Turn a lesson into a source notebook for nbgrader: `python -m tools.classroom.nbgrader_cells 02`.

nbgrader isn't needed for anything else here. The notebook lands in dist/nbgrader/NN, for
`source/NN` of a course. An answer's cell becomes two: the answer, which students write, and a
locked test that is worth a point and raises what `check` says.
"""
import pathlib
import re
import sys

from tools.notebooks.nbtext import chosen, read, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = re.compile(r"^check\(\s*[\"'](?P<name>[\w-]+)[\"'].*\)\s*\Z", re.M | re.S)
TEST = """result = {check}
assert result.state == "right", result.message
result
"""


def marked(name: str, **kind) -> dict:
    """nbgrader's metadata of a cell; without more, one that is no test and not graded."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    return plain | {"grade_id": name, "schema_version": 3} | kind


def halves(cell: dict, points: int) -> list[dict]:
    """The answer, and its test. A cell without a check comes back as it is."""
    source = "".join(cell["source"])
    found = CHECK.search(source)
    if cell["cell_type"] != "code" or "exercise" not in cell["metadata"]["tags"] or not found:
        return [cell]
    name = found["name"]
    answer = cell | {"source": source[:found.start()].rstrip()}
    test = cell | {"id": f"test-{name}", "source": TEST.format(check=found[0].strip())}
    answer["metadata"] = cell["metadata"] | {"nbgrader": marked(f"answer-{name}", solution=True)}
    test["metadata"] = cell["metadata"] | {
        "nbgrader": marked(f"test-{name}", grade=True, locked=True, points=points)}
    return [answer, test]


def converted(notebook: dict, points: int = 1) -> dict:
    """The notebook as nbgrader wants it, without solutions."""
    kept = [cell for cell in notebook["cells"]
            if "solution" not in cell["metadata"].get("tags", [])]
    return notebook | {"cells": [half for cell in kept for half in halves(cell, points)]}


def main(words: list[str]) -> None:
    for path in chosen(words, ROOT / "notebooks", "en"):
        target = ROOT / "dist/nbgrader" / path.stem[:2] / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        made = converted(read(path))
        write(made, target)
        tests = sum("points" in cell["metadata"].get("nbgrader", {}) for cell in made["cells"])
        print(f"{target.relative_to(ROOT)}: {tests} tests")


if __name__ == "__main__":
    main(sys.argv[1:])
