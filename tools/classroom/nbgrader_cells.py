"""Turn a lesson into a source notebook for nbgrader: `python -m tools.classroom.nbgrader_cells 02`.

nbgrader isn't needed for anything else here. The notebook lands in dist/nbgrader/NN, for
`source/NN` of a course. An answer's cell becomes two: the answer, which students write, and a
locked test that is worth a point and raises what `check` says.
"""
import re
import sys

from tools import ROOT
from tools.classroom.grade_student import needed
from tools.classroom.lesson import cells_of, has
from tools.classroom.student import without_answers
from tools.notebooks.nbtext import chosen, read, write

CHECK = re.compile(r"^check\(\s*[\"'](?P<name>[\w-]+)[\"'].*\)\s*\Z", re.M | re.S)
SOLUTION = r"\1### BEGIN SOLUTION\n\1...\n\1### END SOLUTION"
TEST = """result = {check}
assert result.state == "right", result.message
result
"""


def marked(cell: dict, name: str, **kind) -> dict:
    """The cell with nbgrader's metadata; without more, one that is no test and not graded."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    said = plain | {"grade_id": name, "schema_version": 3} | kind
    return cell | {"metadata": cell["metadata"] | {"nbgrader": said}}


def halves(cell: dict) -> list[dict]:
    """The answer, and its test. A cell without a check comes back as it is.

    Of an answer students get all but what is between the marks; a letter's cell has none.
    """
    found = CHECK.search(cell["source"])
    if cell["cell_type"] != "code" or not has(cell, "exercise") or not found:
        return [cell]
    name, given = found["name"], cell["source"][:found.start()].rstrip()
    promise = given.endswith('"""')  # a class of which nothing else is there yet
    text = re.sub(r"^( *)\.\.\.$", SOLUTION, given + "\n    ..." * promise, flags=re.M)
    answer = cell | {"source": text}
    test = cell | {"id": f"test-{name}", "source": TEST.format(check=found[0].strip())}
    if text != given:
        answer = marked(answer, f"answer-{name}", solution=True)
    return [answer, marked(test, f"test-{name}", grade=True, locked=True, points=1)]


def converted(notebook: dict) -> dict:
    """The exercises as nbgrader wants them, without answers, and the code that they need.

    The rest of a lesson, its trainings above all, would take longer than nbgrader waits.
    """
    cells = [without_answers(cell) for cell in cells_of(notebook) if not has(cell, "solution")]
    asked, heading = {0}, 0
    for i, cell in enumerate(cells):  # from its heading on, an exercise is kept
        if cell["cell_type"] == "markdown" and re.search("^#", cell["source"], re.M):
            heading = i
        if has(cell, "exercise"):
            asked |= {*range(heading, i + 1)}
    code = [i for i, cell in enumerate(cells) if cell["cell_type"] == "code"]
    chosen = needed([cells[i]["source"] for i in code], [i in asked for i in code])
    return notebook | {"cells": [half for i in sorted(asked | {code[i] for i in chosen})
                                 for half in halves(cells[i])]}


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
