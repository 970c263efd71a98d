"""The tables that grading writes: grades.csv, and a page with what to repeat."""
import csv
import pathlib
from collections import Counter, defaultdict
from dataclasses import asdict
from html import escape

MARKS = {"right": "✓", "wrong": "✗", "not attempted": "○", "error": "!",
         "taken from the package": "‼"}
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


def misconceptions(rows: list) -> list[tuple[int, int, str, str, str]]:
    """(how many, of how many, lesson, exercise, what they heard), the most frequent first.

    A student counts once, and among those who handed in the lesson.
    """
    students, heard = defaultdict(set), defaultdict(set)
    for row in rows:
        students[row.lesson].add(row.student)
        if row.exercise and row.state == "wrong":
            words = row.message.splitlines()[0] if row.message else ""
            heard[row.lesson, row.exercise, words].add(row.student)
    found = [(len(who), len(students[key[0]]), *key) for key, who in heard.items()]
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
    for row in rows:
        counts[row.student, row.lesson][row.state] += bool(row.exercise)
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
    """Write both tables and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "grades.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(asdict(rows[0]))
        writer.writerows([harmless(text) for text in asdict(row).values()] for row in rows)
    (folder / "grades.html").write_text(page(rows), encoding="utf-8")
    first = "".join(f"\n{many:3} of {total}: {exercise}: {words}"
                    for many, total, _, exercise, words in misconceptions(rows)[:10])
    return f"{folder / 'grades.csv'} and grades.html.{first and ' Most often:'}{first}"
