"""Write a teacher's page for each lesson, and the routes into teaching/README.md: `make readme`.
In each language: teaching/zh has the Chinese pages, their words stand in translations/zh.

    python -m tools.classroom.teacher_pages           rewrite what is out of date
    python -m tools.classroom.teacher_pages --check   change nothing, end with 1 if something is

A page is made of the lesson and its deeper notebook, of teaching/NN.toml, and of what the checks
know; the routes stand in teaching/routes.toml. Minutes are counted as those of the lessons are
(readme.py).
"""
import re
import sys
import tomllib
from functools import cache

from tools import ROOT
from tools.notebooks import catalogue, nbtext, readme, translation
from tools.notebooks.nbtext import cells_of
from tools.notebooks.readme import put, read, renew

from attention_lessons.exercises import find
from attention_lessons.exercises.exhibits import Exhibit
from attention_lessons.languages import language, languages, t

TEACHING = ROOT / "teaching"
PAGE = t("""# {title}: for teachers

[Lesson](../notebooks/{file}) · [guide](README.md) · {minutes} minutes

**Afterwards students can** {able}

**To expect,** with the cell that cures it:

{expect}

**On the board:** {board}

**To leave out:** {leave_out}

**To ask,** with what is usually answered, and what is so:

{ask}

<details><summary><b>Minutes by section</b></summary>

| section | minutes |
|---|---|
{sections}

</details>

<details><summary><b>What the checks know</b>: {known} misconceptions, by exercise</summary>

{exercises}

</details>

<!-- `make readme` writes this page, from the notebook and {number}.toml. -->
""")
BELOW = t("The deeper notebook, all in all")
ROUTES = t("| route | meetings, with minutes |")
LECTURE = t("| lesson | minutes | show, with the text around it | run as well |")
MEASURED = t("- The check says how near the answer is; there is no list.")


@cache
def words(code: str) -> dict:
    """What the guide says in a language: the English text -> its twin."""
    return {entry.text: entry.twin for entry in catalogue.load(code).get("teaching", [])
            if entry.twin and not entry.fuzzy}


def say(part, code: str = ""):
    """A text of the guide, or all texts of a plan's part, in a language: in that which is spoken,
    without one."""
    if isinstance(part, dict):
        return {key: say(each, code) for key, each in part.items()}
    if isinstance(part, list):
        return [say(each, code) for each in part]
    return words(code or language()).get(part, part)


def folder() -> str:
    """Where notebooks and pages in the language that is spoken lie: "" or "zh/"."""
    return "" if language() == "en" else language() + "/"


def lesson(number: str) -> dict:
    """The cells of the lesson of this number, such as 02, and of its deeper notebook, by name, in
    the language that is spoken: of each also its minutes, as in English, the headings over it, its
    file, and its part: "lesson" for the sitting, "home" for what follows, or "deeper"."""
    return lesson_in(number, folder())


@cache
def lesson_in(number: str, folder: str) -> dict:
    path, = (path for path in nbtext.lessons() if path.name.startswith(number))
    both, found = [path, nbtext.deeper_of(path)], {}
    for path in filter(lambda path: path.exists(), both):
        english = cells_of(nbtext.read(path))
        own = cells_of(nbtext.read(nbtext.in_language(path, folder)))
        counted = [cell["id"] for cell in (
            sum(readme.sections(english), []) if nbtext.is_deeper(path)
            else readme.sitting(english))]
        part = "deeper" if nbtext.is_deeper(path) else "lesson"
        heading, top = "", ""
        for cell, its in zip(own, english, strict=True):
            if its["cell_type"] == "markdown" and (line := re.match(r"(##?) (.*)", cell["source"])):
                heading = say(t("The beginning")) if cell["id"] == "title" else (
                    line[2].partition(" · ")[0])
                top = heading if line[1] == "#" and cell["id"] != "title" else top
            if part == "deeper":
                its["source"] = readme.uncounted(its["source"])
            found.setdefault(cell["id"], cell | {
                "minutes": readme.minutes([its]), "heading": heading, "top": top,
                "file": nbtext.inner(path).as_posix(),
                "part": part if cell["id"] in counted else "home"})
    return found


def cell_of(number: str, name: str, said_by: str) -> dict:
    """The cell of this name. Raises ValueError, with who says so, where there is none."""
    if name not in lesson(number):
        raise ValueError(f"{said_by} names the cell {name!r}, which neither lesson {number} nor "
                         "its deeper notebook has.")
    return lesson(number)[name]


def link(number: str, name: str) -> str:
    """A link to a cell, as JupyterLab follows it."""
    return f"[`{name}`](../notebooks/{lesson(number)[name]['file']}#cell-id={name})"


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
    return say(plan, code)


# ---- a lesson's page --------------------------------------------------------------------------

def sections(cells: dict, *parts: str) -> dict:
    """Minutes by section, of these parts. All under a heading of the first level is one."""
    found = {}
    for cell in cells.values():
        if cell["part"] in parts:
            section = cell["top"] or cell["heading"]
            found[section] = found.get(section, 0) + cell["minutes"]
    return found


def in_words(minutes: float) -> str:
    return f"{minutes:.0f}" if minutes >= 0.75 else "½"


def misconceptions(exercise) -> list[str]:
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
            name = re.search(r'check\(\s*"([\w-]+)"', cell["source"])[1]
            found[title] = misconceptions(find(name))
    return found


def page(number: str) -> tuple[str, str]:
    """The name of a lesson's page, and its text.

    Raises ValueError where its plan names a cell that isn't there.
    """
    cells, plan = lesson(number), teaching(number)
    said, file = exercises(cells), cells["title"]["file"]
    for name in plan["ask"]:
        cell_of(number, name, f"teaching/{number}.toml: ask")
    cures = [(each["thinks"], cell_of(number, each["cure"], f"teaching/{number}.toml: a cure"))
             for each in plan["expect"]]
    text = say(PAGE).format(
        title=readme.title(cells.values()), able=readme.able(cells.values()), number=number,
        file=file, minutes=minutes({number: "lesson"}),
        expect=bullets(f"{thinks} *{cell['heading']}* {link(number, cell['id'])}"
                       for thinks, cell in cures),
        board=plan["board"], leave_out=plan["leave_out"],
        ask=bullets(f"{link(number, name)} {question} *{answer}*"
                    for name, (question, answer) in plan["ask"].items()),
        sections=minutes_by_section(number), known=sum(map(len, said.values())),
        exercises="\n\n".join(f"**{name}**\n\n{bullets(map(plain, words)) or say(MEASURED)}"
                              for name, words in said.items()))
    return file.replace(".ipynb", ".md"), moved(text)


def minutes_by_section(number: str) -> str:
    """The lines of the table: of the lesson and, below, of its deeper notebook."""
    cells, lines = lesson(number), []
    for parts in (["lesson", "home"], ["deeper"]):
        found = {name: spent for name, spent in sections(cells, *parts).items() if spent}
        if found and parts == ["deeper"]:
            file = next(cell["file"] for cell in cells.values() if cell["part"] == "deeper")
            lines.append((f"[{say(BELOW)}](../notebooks/{file})", str(minutes({number: "deeper"}))))
        lines += [(name, in_words(spent)) for name, spent in found.items()]
    return rows(lines)


def bullets(lines) -> str:
    return "\n".join(f"- {line}" for line in lines)


def rows(lines) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ---- routes -----------------------------------------------------------------------------------

def routes() -> list[dict]:
    return tomllib.loads(read(TEACHING / "routes.toml"))["route"]


def shown(number: str, part) -> list[dict]:
    """The cells of a lesson that a route shows: by name, or the sitting ("lesson"), or the
    sections of the deeper notebook ("deeper"). Raises ValueError for what isn't there."""
    if part not in ("lesson", "deeper"):
        if isinstance(part, str):
            raise ValueError('teaching/routes.toml: show must be "lesson", "deeper" or a list of '
                             f"cells, got {part!r}")
        return [cell_of(number, name, "teaching/routes.toml: show") for name in part]
    return [cell for cell in lesson(number).values() if cell["part"] == part]


def minutes(show: dict) -> int:
    """The minutes of what a meeting shows, each lesson's rounded as in its title."""
    return sum(round(sum(cell["minutes"] for cell in shown(number, part)))
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
        cells = lesson(number)
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
    try:
        return renew(wanted(), TEACHING.parent, arguments == ["--check"])
    except ValueError as error:  # of plans and routes
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
