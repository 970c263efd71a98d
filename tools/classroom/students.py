"""Who handed in what: folders and files as course systems make them, and a roster."""
import csv
import os
import pathlib
import re
import sys
import unicodedata
from dataclasses import dataclass, field

# What programs leave in folders.
JUNK = re.compile(r"\.ipynb_checkpoints|__MACOSX|\._.*|\.DS_Store|\.git|Thumbs\.db|desktop\.ini")
COPY = re.compile(r"(-Copy\d+| ?\(\d+\)|-\d)+$")  # how browsers, Jupyter, Canvas name a second file
SYSTEMS = [re.compile(words) for words in (
    r"(.+?)_\d+_assignsubmission_.*",  # Moodle
    r"\d+-\d+ - (.+?) - .*",  # Brightspace
    r".+_([^_]+)_attempt_\d{4}-.*",  # Blackboard
    r"([^\W_]+)(?:_LATE)?_\d+_\d+_.*")]  # Canvas


@dataclass
class Student:
    """Somebody who handed in, by the name that the course system gives."""

    name: str
    files: list[pathlib.Path] = field(default_factory=list)
    seed: str | None = None  # of everybody's own numbers, where a roster says it
    notes: list[str] = field(default_factory=list)


def key(name: str) -> str:
    """What two spellings of a name have in common: not the case, nor how accents are written."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def name_of(place: str) -> str:
    """Whose a folder or a file is, by its name without a suffix."""
    found = next(filter(None, (system.fullmatch(place) for system in SYSTEMS)), None)
    return unicodedata.normalize("NFC", found[1] if found else place).strip()


def roster(path: pathlib.Path) -> dict[str, tuple[str, str]]:
    """A CSV of names and seeds, by key: (name, seed). Its first line is their heading."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if any(line)]
    except (OSError, ValueError, csv.Error) as error:
        sys.exit(f"The roster can't be read: {error}")
    if not lines or any(len(line) < 2 or not all(line[:2]) for line in lines):
        sys.exit(f"Each line of a roster is a name and a seed: {path}")
    return {key(name): (name, seed) for name, seed, *_ in lines[1:]}


def handed_in(folder: pathlib.Path,
              known: dict[str, tuple[str, str]] | None = None) -> list[Student]:
    """Students and their files: a student is the first folder's name, or else the file's."""
    found, known = {}, known or {}

    def student(name: str) -> Student:
        name, seed = known.get(key(name), (name, None))
        return found.setdefault(key(name), Student(name, seed=seed))

    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not JUNK.fullmatch(name))
        inside = pathlib.Path(place).relative_to(folder).parts
        for name in [*folders, *sorted(files)]:
            path = pathlib.Path(place, name)
            if JUNK.fullmatch(name):
                continue
            whose = student(name_of(inside[0] if inside else name if name in folders else
                                    COPY.sub("", path.stem)))
            if path.is_symlink():
                whose.notes.append(f"{name} is a link, which isn't followed")
            elif path.is_file():
                whose.files.append(path)
    for each in found.values():
        notebooks = [path for path in each.files if path.suffix.lower() == ".ipynb"]
        each.files = notebooks or each.files
        if not each.files:
            each.notes.append("no file was handed in")
        if known and key(each.name) not in known:
            each.notes.append(f"{each.name} isn't in the roster")
    return list(found.values())
