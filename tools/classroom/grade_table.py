"""The tables that grading writes: grades.csv, and a page with what to repeat."""
import csv
import pathlib
import re
from collections import Counter, defaultdict
from html import escape
from itertools import chain, count

MARKS = {"right": "✓", "wrong": "✗", "not attempted": "○", "error": "!", "missing": "–"}
FIELDS = ("student", "file", "lesson", "exercise", "state", "message")
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Grades</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.4 sans-serif; margin: 1.5em; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: .5em 0 2em; }}
th, td {{ border: 1px solid #888; padding: .25em .5em; text-align: left; vertical-align: top; }}
thead th {{ position: sticky; top: 0; background: Canvas; }}
td.number {{ text-align: right; white-space: nowrap; }}
</style>
</head>
<body>
<h1>Grades</h1>
<p>{count} lines of {students} students. {legend}</p>
<h2>What to repeat</h2>
{repeat}
<h2>By student</h2>
{students_table}
<h2>Every line</h2>
{every}
</body>
</html>
"""


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


def table(head: list[str], lines: list) -> str:
    """A table of HTML; every entry is escaped, as students write some of them."""
    def cells(tag, entries):
        kinds = [' class="number"' if isinstance(entry, int) else "" for entry in entries]
        return "".join(f"<{tag}{kind}>{escape(str(entry))}</{tag}>"
                       for kind, entry in zip(kinds, entries))

    body = "\n".join(f"<tr>{cells('td', line)}</tr>" for line in lines)
    return (f'<div class="wide" tabindex="0"><table><thead><tr>{cells("th", head)}</tr></thead>\n'
            f"<tbody>{body}</tbody></table></div>")


def page(rows: list) -> str:
    repeat = [(f"{many} of {all_of_them}", lesson, exercise, words)
              for many, all_of_them, lesson, exercise, words in misconceptions(rows)]
    counts = defaultdict(Counter)
    for (student, lesson, _), row in counted(rows).items():
        counts[student, lesson][row.state] += 1
    by_student = [(*who, *(count[state] for state in MARKS)) for who, count in counts.items()]
    every = [(row.student, row.file, row.lesson, row.exercise,
              f"{MARKS.get(row.state, '')} {row.state}", row.message) for row in rows]
    return PAGE.format(
        count=len(rows), students=len({row.student for row in rows}),
        legend=escape("; ".join(f"{mark} {state}" for state, mark in MARKS.items())),
        repeat=table(["students", "lesson", "exercise", "what they read"], repeat),
        students_table=table(["student", "lesson", *MARKS], by_student),
        every=table(["student", "file", "lesson", "exercise", "state", "message"], every))


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write(rows: list, folder: pathlib.Path) -> str:
    """Write both tables and say where. What stands in their place and is no file stays."""
    folder.mkdir(parents=True, exist_ok=True)
    names = chain(["grades"], (f"grades-{number}" for number in count(2)))
    name = next(name for name in names if not any(
        (folder / f"{name}{suffix}").is_dir() for suffix in (".csv", ".html")))
    with open(folder / f"{name}.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows([harmless(getattr(row, field)) for field in FIELDS] for row in rows)
    (folder / f"{name}.html").write_text(page(rows), encoding="utf-8")
    first = "".join(f"\n{many:3} of {total}: {exercise}: {words}"
                    for many, total, _, exercise, words in misconceptions(rows)[:10])
    return f"{folder / name}.csv and {name}.html.{first and ' Most often:'}{first}"
