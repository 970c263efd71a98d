"""Turn a lesson into a source notebook for nbgrader: `python -m tools.classroom.nbgrader_cells 02`.

nbgrader isn't needed for anything else here. The notebook lands in dist/nbgrader/NN, for
`source/NN` of a course. An answer's cell becomes two: the answer, which students write, and a
locked test that is worth a point and raises what `check` says.
"""
import pathlib
import re
import sys

from tools.classroom.grade_student import needed
from tools.classroom.student import without_answers
from tools.notebooks.nbtext import chosen, read, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = re.compile(r"^check\(\s*[\"'](?P<name>[\w-]+)[\"'].*\)\s*\Z", re.M | re.S)
SOLUTION = r"\1### BEGIN SOLUTION\n\1...\n\1### END SOLUTION"
TEST = """result = {check}
assert result.state == "right", result.message
result
"""


def marked(name: str, **kind) -> dict:
    """nbgrader's metadata of a cell; without more, one that is no test and not graded."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    return plain | {"grade_id": name, "schema_version": 3} | kind


def halves(cell: dict, points: int) -> list[dict]:
    """The answer, and its test. A cell without a check comes back as it is.

    Of an answer students get all but what is between the marks; a letter's cell has none.
    """
    source = "".join(cell["source"])
    found = CHECK.search(source)
    if cell["cell_type"] != "code" or "exercise" not in cell["metadata"]["tags"] or not found:
        return [cell]
    name, given = found["name"], source[:found.start()].rstrip()
    promise = given.endswith('"""')  # a class of which nothing else is there yet
    text = re.sub(r"^( *)\.\.\.$", SOLUTION, given + "\n    ..." * promise, flags=re.M)
    answer = cell | {"source": text}
    test = cell | {"id": f"test-{name}", "source": TEST.format(check=found[0].strip())}
    if text != given:
        answer["metadata"] = cell["metadata"] | {
            "nbgrader": marked(f"answer-{name}", solution=True)}
    test["metadata"] = cell["metadata"] | {
        "nbgrader": marked(f"test-{name}", grade=True, locked=True, points=points)}
    return [answer, test]


def converted(notebook: dict, points: int = 1) -> dict:
    """The exercises as nbgrader wants them, without answers, and the code that they need.

    The rest of a lesson, its trainings above all, would take longer than nbgrader waits.
    """
    cells = [cell for cell in notebook["cells"] if "solution" not in cell["metadata"]["tags"]]
    asked, heading = {0}, 0
    for i, cell in enumerate(cells):  # from its heading on, an exercise is kept
        if cell["cell_type"] == "markdown" and re.search("^#", "".join(cell["source"]), re.M):
            heading = i
        if "exercise" in cell["metadata"]["tags"]:
            asked |= {*range(heading, i + 1)}
    code = [i for i, cell in enumerate(cells) if cell["cell_type"] == "code"]
    chosen = needed(["".join(cells[i]["source"]) for i in code], [i in asked for i in code])
    return notebook | {"cells": [half for i in sorted(asked | {code[i] for i in chosen})
                                 for half in halves(without_answers(cells[i]), points)]}


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
