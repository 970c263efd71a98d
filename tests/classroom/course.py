"""`make test-nbgrader`: nbgrader itself turns the course into an assignment and grades it."""
import csv
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rules.notebook import all_notebooks, fences, trios
from tools.classroom import editions

from attention_lessons.exercises import check

NAME = "split-heads"
MIXED = "def my_split(X, num_heads):\n    return X.unflatten(-1, (num_heads, -1))\n"
ENDLESS = "def my_split(X, num_heads):\n    while True:\n        pass\n"


def test_nbgrader_collects_grades_gives_feedback_and_exports(tmp_path, monkeypatch):
    lesson = next(each for each in all_notebooks() if NAME in trios(each.cells))
    path, exercises = editions.ROOT / f"notebooks/{lesson.name}.ipynb", trios(lesson.cells)
    points = {name: int(re.search(r"· (\d+) minutes?\b", text.text)[1])
              for name, (text, *_) in exercises.items()}
    monkeypatch.setattr(editions, "notebooks", lambda language: [path])
    editions.main(["nbgrader"], tmp_path)
    course, assignment = tmp_path / "nbgrader", path.stem
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic

    def nbgrader(*words):
        subprocess.run([sys.executable, "-m", "nbgrader", *words], cwd=course, check=True,
                       env=os.environ | {"PATH": programs})

    nbgrader("generate_assignment", assignment)
    released = (course / "release" / assignment / path.name).read_text(encoding="utf-8")
    solved = {answer.id: "\n".join(fences(solution)) for _, answer, solution in exercises.values()}
    hand_ins = {"right": solved, "wrong": solved | {f"answer-{NAME}": MIXED}, "empty": {},
                "loops": solved | {f"answer-{NAME}": ENDLESS}}
    archive = course / "downloaded" / assignment / "archive"
    archive.mkdir(parents=True)
    for name, answers in hand_ins.items():
        made = json.loads(released)
        for cell in made["cells"]:
            if cell["id"] in answers:
                *_, last = "".join(cell["source"]).splitlines()
                cell["source"] = f"{answers[cell['id']]}\n{last}"
        (archive / f"{name}-{path.name}").write_text(json.dumps(made), encoding="utf-8")
    nbgrader("zip_collect", assignment, "--FileNameCollectorPlugin.named_regexp="
             r".*/(?P<student_id>\w+)-(?P<file_id>\w+)")
    nbgrader("autograde", assignment, "--ExecutePreprocessor.timeout=60")
    nbgrader("generate_feedback", assignment)
    nbgrader("export")

    with open(course / "grades.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    full = sum(points.values())
    assert {float(row["max_score"]) for row in rows} == {full}
    assert {row["student_id"]: float(row["score"]) for row in rows} == {
        "right": full, "wrong": full - points[NAME], "empty": 0, "loops": full - points[NAME]}

    names = {}
    exec(MIXED, names)
    said = {"wrong": f"AssertionError: {check(NAME, names['my_split'])}", "right": "✓ ",
            "empty": "AssertionError: ○ Not attempted yet", "loops": "CellTimeoutError"}
    for name, words in said.items():
        page = (course / "feedback" / name / assignment / f"{path.stem}.html").read_text("utf-8")
        shown = html.unescape(re.sub(r"<[^>]+>", "", page))
        assert words in shown, name
        assert ("AssertionError: " in shown) == (name in ("wrong", "empty"))
