"""The tables that grading writes: grades.csv, and a page with what to repeat."""
import csv
import pathlib
import re
from collections import Counter, defaultdict

from jinja2 import Environment

STATES = ("right", "wrong", "not attempted", "error", "missing")
FIELDS = ("student", "file", "lesson", "exercise", "state", "message")
# Every entry is escaped, as students write some of them.
PAGE = Environment(autoescape=True, trim_blocks=True).from_string(
    (pathlib.Path(__file__).parent / "grades.html.j2").read_text(encoding="utf-8"))


def counted(rows: list) -> dict[tuple, object]:
    """The line that counts, by student, lesson and exercise: the last that was attempted."""
    found = {}
    for row in rows:
        place = row.student, row.lesson, row.exercise
        if row.exercise and (place not in found or row.state not in ("not attempted", "missing")):
            found[place] = row
    return found


def misconceptions(rows: list) -> list[tuple[int, int, str, str, str]]:
    """(how many, of how many, lesson, exercise, what they heard), the most frequent first.

    A student counts once, and among those who had the exercise. In variants of a question a
    statement has another letter, and is the same.
    """
    students, heard = Counter(), Counter()
    for (_, lesson, exercise), row in counted(rows).items():
        students[lesson, exercise] += row.state != "missing"
        if row.state == "wrong":
            words = row.message.splitlines()[0] if row.message else ""
            heard[lesson, exercise, re.sub(r"^Statement \w ", "A statement ", words)] += 1
    found = [(many, students[key[:2]], *key) for key, many in heard.items()]
    return sorted(found, key=lambda line: (-line[0], *line[2:]))


def page(rows: list) -> str:
    counts = defaultdict(Counter)
    for (student, lesson, _), row in counted(rows).items():
        counts[student, lesson][row.state] += 1
    return PAGE.render(tables=[
        ("What to repeat", ["students", "lesson", "exercise", "what they read"],
         [(f"{many} of {total}", *words) for many, total, *words in misconceptions(rows)]),
        ("By student", ["student", "lesson", *STATES],
         [(*who, *(count[state] for state in STATES)) for who, count in counts.items()]),
        ("Every line", FIELDS, [[getattr(row, field) for field in FIELDS] for row in rows])])


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write(rows: list, folder: pathlib.Path) -> str:
    """Write both tables, and say where and what was heard most often."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "grades.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows([harmless(getattr(row, field)) for field in FIELDS] for row in rows)
    (folder / "grades.html").write_text(page(rows), encoding="utf-8")
    first = "".join(f"\n{many:3} of {total}: {exercise}: {words}"
                    for many, total, _, exercise, words in misconceptions(rows)[:10])
    return f"{folder}/grades.csv and grades.html.{first and ' Most often:'}{first}"
