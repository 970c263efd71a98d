"""Report what `check` said in notebooks that were handed in: `make report FOLDER=submissions`.

No code of theirs runs: what `check` said stands in their stored outputs, behind a mark. What to
repeat comes first, then a line for each student; dist/report gets a page and a table. It is for
teaching and not for marks, since an output can be typed.
"""
import csv
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

from jinja2 import Environment

from tools import ROOT

CHECK = re.compile(r"\bcheck\(\s*[\"']([\w-]+)[\"']")
MARKS = "–○!✗✓"  # not run, not attempted, an error before the answer, wrong, right
SAID = re.compile(r"^[○✗✓] .*", re.M)
LARGEST = 2**26  # bytes of a notebook
PAGE = Environment(autoescape=True, trim_blocks=True).from_string(
    Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8"))


def clean(text: str) -> str:
    """Text on one line, short, without what moves a cursor or can't be written."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[:2000])
    return " ".join(shown.split())[:300]


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(tuple("=+-@＝＋－＠")) else text


def code_cells(path: Path) -> list[dict]:
    """A notebook's cells of code. Raises an exception, of any class, for what is no notebook."""
    if path.is_symlink() or not path.is_file():
        raise ValueError("only ordinary files are opened")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST >> 20} MiB")
    cells = json.loads(path.read_bytes())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def checked(cell: dict) -> list[str]:
    """The names of the exercises that a cell checks."""
    return CHECK.findall("".join(cell["source"]))


def said(cell: dict) -> list[str]:
    """What `check` said below a cell, displayed or printed; an error has a mark, too."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            found.append(f"! {output['ename']}: {output['evalue']}")
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        found += SAID.findall("".join(text))
    return [*map(clean, found)]


def answers(path: Path) -> list[tuple[str, str]]:
    """(exercise, what was said) for each check in a notebook, "–" where it was not run."""
    found = []
    for cell in code_cells(path):
        names = checked(cell)
        words = ["–"] * len(names) + said(cell)
        found += zip(names[::-1], words[::-1])  # the last words are about the last check
    return found


def exercises() -> list[str]:
    """The exercises of all lessons, in their order."""
    paths = sorted((ROOT / "notebooks").rglob("*.ipynb"))
    return [*dict.fromkeys(name for path in paths for cell in code_cells(path)
                           for name in checked(cell))]


def read(folder: Path, known: list[str]) -> dict[str, dict[str, str]]:
    """By student, a folder or a file each: the best that was said, by exercise; under "" stands
    what can't be read. Links are not followed, and hidden files are left out."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for path in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
            first, *inside = path.relative_to(folder).parts
            line = found.setdefault(clean(first if inside else path.stem) or "?", {})
            try:
                for name, words in answers(path) if path.suffix.lower() == ".ipynb" else ():
                    if name in known:
                        line[name] = max(line.get(name, "–"), words,
                                         key=lambda text: MARKS.index(text[0]))
            except Exception as error:  # a file may have anything in it
                line[""] = clean(f"{line.get('', '')} {path.name}: {error!r}")
    return {name: line or {"": "no notebook with an exercise"}
            for name, line in sorted(found.items())}


def to_repeat(lines: dict) -> list[tuple[int, int, str, str]]:
    """(how many, of how many who have the exercise, exercise, what they read), by frequency; words
    with other numbers are the same."""
    had, heard, example = Counter(), Counter(), {}
    for line in lines.values():
        had.update([*line])
        for name, words in line.items():
            if name and words[0] in "!✗":
                key = name, *re.findall(r"[^\W\d_]+", words)
                heard[key] += 1
                example.setdefault(key, words)
    return [(many, had[key[0]], key[0], example[key]) for key, many in heard.most_common()]


def main(words: list[str], target: Path = ROOT / "dist/report") -> None:
    folder = Path(*words)
    if not folder.is_dir():
        sys.exit(f"FOLDER is not a folder: {folder}")
    lines = read(folder, known := exercises())
    used = [name for name in known if any(name in line for line in lines.values())]
    repeat, columns = to_repeat(lines), [*used, ""]
    target.mkdir(parents=True, exist_ok=True)
    with open(target / "report.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([["student", *used, "not read"]] + [
            [harmless(text) for text in (name, *(line.get(each, "") for each in columns))]
            for name, line in lines.items()])
    page = PAGE.render(lines=lines, used=used, repeat=repeat)
    (target / "report.html").write_text(page, encoding="utf-8")
    for many, total, name, text in repeat[:10]:
        print(f"{many} of {total}: {name}: {text}")
    print(f"{len(lines)} students: {target}/report.html and report.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
