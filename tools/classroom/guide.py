"""Write a teacher's page for each lesson, and the routes into teaching/README.md: `make readme`.
In each language: teaching/zh has the Chinese pages, their words stand in translations/zh.

    python -m tools.classroom.guide           rewrite what is out of date
    python -m tools.classroom.guide --check   change nothing, end with 1 if something is

A page is made of the notebook, of teaching/NN.toml, and of what the checks know; the routes stand
in teaching/routes.toml. Minutes are counted as those of the lessons are (readme.py).
"""
import re
import sys
import tomllib
from functools import cache
from typing import NamedTuple

from tools import ROOT
from tools.notebooks import catalogue, translation
from tools.notebooks.nbtext import cells_of, has
from tools.notebooks.nbtext import read as read_notebook
from tools.notebooks.readme import cell_minutes, opening, put, read, renew

from attention_lessons.exercises import find
from attention_lessons.exercises.exhibits import Exhibit
from attention_lessons.languages import language, languages, t

TEACHING = ROOT / "teaching"
PAGE = t("""# {title}: for teachers

[Lesson](../notebooks/{file}) · [guide](README.md) · {core} minutes core, {all} with everything

**Afterwards students can** {able}

**To expect,** with the cell that cures it:

{expect}

**On the board:** {board}

**To leave out:** {leave_out}

**To ask,** with what is usually answered, and what is so:

{ask}

<details><summary><b>Minutes by section</b></summary>

| section | core | deeper |
|---|---|---|
{sections}

</details>

<details><summary><b>What the checks know</b>: {known} misconceptions, by exercise</summary>

{exercises}

</details>

<!-- `make readme` writes this page, from the notebook and {number}.toml. -->
""")
ROUTES = t("| route | meetings, with minutes |")
LECTURE = t("| lesson | minutes | show, with the text around it | run as well |")
MEASURED = t("- The check says how near the answer is; there is no list.")


class Lesson(NamedTuple):
    file: str
    cells: dict  # by name; of each also its ``minutes``, as in English, and its section's heading


@cache
def words(code: str) -> dict:
    """What the guide says in a language: the English text -> its twin."""
    return {entry.text: entry.twin for entry in catalogue.load(code).get("teaching", [])
            if entry.twin and not entry.fuzzy}


def say(text: str) -> str:
    """A text of the guide in the language that is spoken."""
    return words(language()).get(text, text)


def folder() -> str:
    """Where notebooks and pages in the language that is spoken lie: "" or "zh/"."""
    return "" if language() == "en" else language() + "/"


def lesson(number: str) -> Lesson:
    """The lesson of this number, such as 02, in the language that is spoken."""
    return lesson_in(number, folder())


@cache
def lesson_in(number: str, folder: str) -> Lesson:
    path, = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    cells, heading = {}, ""
    for cell, english in zip(cells_of(read_notebook(path.parent / folder / path.name)),
                             cells_of(read_notebook(path)), strict=True):
        words = english["cell_type"] == "markdown"
        if words and (line := re.match(r"##? (.*)", cell["source"])):
            beginning, deeper = say(t("The beginning")), say(t(" · deeper"))
            heading = beginning if cell["id"] == "title" else line[1].removesuffix(deeper)
        spent = cell_minutes(words, {*english["metadata"]["tags"]}, english["source"])
        cells[cell["id"]] = cell | {"minutes": spent, "heading": heading}
    return Lesson(path.name, cells)


def link(number: str, name: str) -> str:
    """A link to a cell, as JupyterLab follows it."""
    return f"[`{name}`](../notebooks/{lesson(number).file}#cell-id={name})"


def moved(text: str) -> str:
    """A text with its links to notebooks in the language that is spoken."""
    return text.replace("](../notebooks/", f"](../../notebooks/{folder()}") if folder() else text


def teaching(number: str, code: str = "") -> dict:
    """What teaching/NN.toml says of a lesson, in a language; nothing where there is none.

    Raises ValueError where it can't be read, or a question does not stand with its answer.
    """
    path = TEACHING / f"{number}.toml"
    try:
        plan = tomllib.loads(read(path)) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"teaching/{number}.toml: {error}") from error
    for name, pair in plan.get("ask", {}).items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"teaching/{number}.toml: ask.{name} must be a question and what is "
                             f"usually answered, got {pair!r}")
    return in_twins(plan, words(code or language()))


def in_twins(part, said: dict):
    """A plan's part with its texts as ``said``."""
    if isinstance(part, dict):
        return {key: in_twins(each, said) for key, each in part.items()}
    if isinstance(part, list):
        return [in_twins(each, said) for each in part]
    return said.get(part, part)


# ---- a lesson's page --------------------------------------------------------------------------

def sections(cells: dict) -> dict:
    """Minutes by section: of the core, of the deeper parts. All exercises are one section."""
    found, part = {}, ""
    for name, cell in cells.items():
        if name == "exercises" and cell["source"].startswith("# "):
            part = say(t("Exercises and questions"))
        if name == "claims":
            part = say(t("The end"))
        found.setdefault(part or cell["heading"], [0, 0])[not has(cell, "core")] += cell["minutes"]
    return found


def in_words(minutes: float) -> str:
    return f"{minutes:.0f}" if minutes >= 0.75 else "½" if minutes else ""


def known(exercise) -> list[str]:
    """What ``check`` says to those who go wrong in a way that it knows, each once."""
    said = [f"{letter}: {t(why)}" for letter, why in getattr(exercise, "reasons", {}).items()]
    if not isinstance(exercise, Exhibit):  # whose slips nobody makes, but meets
        said += [slip.words for slip in getattr(exercise, "slips", ())]
    said += [words for _, *wrong in getattr(exercise, "lines", ()) for _, words in wrong]
    return list(dict.fromkeys(str(t(each)) for each in said))


def plain(words: str) -> str:
    """Words as Markdown that shows them as they are."""
    return re.sub(r"([\\`*_~|<\[\]])", r"\\\1", " ".join(words.split()))


def exercises(cells: dict) -> dict:
    """By an exercise's heading: the words for the misconceptions that its check knows."""
    found = {}
    for name, cell in cells.items():
        on_paper = f"{name}-page" in cells
        if name.startswith("answer-") or on_paper:
            asks = cells.get(name.replace("answer-", "exercise-"))
            heading = cell["heading"] if on_paper else asks["source"].splitlines()[0]
            title = heading.lstrip("# ").split(" · ")[0]
            found[title] = known(find(re.search(r'check\(\s*"([\w-]+)"', cell["source"])[1]))
    return found


def page(number: str) -> tuple[str, str]:
    """The name of a lesson's page, and its text."""
    file, cells = lesson(number)
    plan, said = teaching(number), exercises(cells)
    text = say(PAGE).format(
        **opening(lambda name: cells[name]["source"]).groupdict(), number=number, file=file,
        expect=bullets(f"{each['thinks']} *{cells[each['cure']]['heading']}* "
                       f"{link(number, each['cure'])}" for each in plan["expect"]),
        board=plan["board"], leave_out=plan["leave_out"],
        ask=bullets(f"{link(number, name)} {question} *{answer}*"
                    for name, (question, answer) in plan["ask"].items()),
        sections=rows((section, *map(in_words, both))
                      for section, both in sections(cells).items()),
        known=sum(map(len, said.values())),
        exercises="\n\n".join(f"**{name}**\n\n{bullets(map(plain, words)) or say(MEASURED)}"
                              for name, words in said.items()))
    return file.replace(".ipynb", ".md"), moved(text)


def bullets(lines) -> str:
    return "\n".join(f"- {line}" for line in lines)


def rows(lines) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ---- routes -----------------------------------------------------------------------------------

def routes() -> list[dict]:
    return tomllib.loads(read(TEACHING / "routes.toml"))["route"]


def shown(number: str, part) -> dict:
    """The cells of a lesson that a route shows: by name, or the core, the deeper parts, or all."""
    cells = lesson(number).cells
    if isinstance(part, str):
        return {name: cell for name, cell in cells.items() if part == "all" or has(cell, part)}
    return {name: cells[name] for name in part}


def minutes(show: dict) -> int:
    """The minutes of what a meeting shows, each lesson's rounded as in its title."""
    return sum(round(sum(cell["minutes"] for cell in shown(number, part).values()))
               for number, part in show.items())


def table() -> str:
    """The routes: for each its meetings, with what they show and their minutes."""
    return "\n".join([say(ROUTES), "|---|---|", rows(
        (say(route["name"]), " · ".join(f"{say(meeting['name'])} ({minutes(meeting['show'])})"
                                        for meeting in route["meeting"])) for route in routes())])


def lecture() -> str:
    """The first route by cell: what is shown of each lesson, and what it needs."""
    meeting, lines = routes()[0]["meeting"][0], []
    for number, names in meeting["show"].items():
        cells = lesson(number).cells
        links = [link(number, name) for name in names if cells[name]["cell_type"] == "code"]
        before = " ".join(f"`{name}`" for name in meeting["first"][number])
        lines.append((number, str(minutes({number: names})), " ".join(links), before))
    return moved("\n".join([say(LECTURE), "|---|---|---|---|", rows(lines)]))


# ---- all of it --------------------------------------------------------------------------------

def wanted() -> dict:
    """Each file that is written here -> its text as it should be."""
    texts = {}
    for code in languages():
        before = language()
        language(code)
        for number in sorted(path.stem for path in TEACHING.glob("??.toml")):
            name, text = page(number)
            texts[TEACHING / folder() / name] = text
        guide = read(TEACHING / "README.md")
        if folder():
            sample = translation.document(TEACHING / "homework.md", code)
            texts[TEACHING / folder() / "homework.md"] = sample
            guide = translation.document(TEACHING / "README.md", code)
        guide = put(put(guide, "routes", table()), "lecture", lecture())
        texts[TEACHING / folder() / "README.md"] = guide
        language(before)
    return texts


def main(arguments: list[str]) -> int:
    return renew(wanted(), TEACHING.parent, arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
