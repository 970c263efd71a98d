"""The guide: what is generated is up to date, routes take the time they say and run, links lead."""
import re

import pytest
from tools import environments
from tools.classroom import teacher_pages
from tools.notebooks.nbtext import has
from tools.notebooks.readme import ROOT, read

NUMBERS = sorted(path.stem for path in teacher_pages.TEACHING.glob("??.toml"))
each_number = pytest.mark.parametrize("number", NUMBERS)
MEETINGS = [meeting for route in teacher_pages.routes() for meeting in route["meeting"]]


def test_what_is_generated_is_up_to_date():
    assert teacher_pages.main(["--check"]) == 0, "make readme"


@each_number
def test_a_plan_is_whole_and_names_cells(number):
    plan, cells = teacher_pages.teaching(number), teacher_pages.lesson(number)
    assert len(plan["expect"]) >= 3 and len(plan["ask"]) >= 5, "3 mistakes and 5 questions, or more"
    assert {*re.findall(r"`([a-z0-9-]+)`", plan["leave_out"])} <= {*cells}
    asked = {name for name, cell in cells.items() if has(cell, "predict", "explorer")
             and cell["part"] == "lesson"}
    assert asked <= {*plan["ask"]}, "each prediction and each piece has a question"


@each_number
def test_minutes_by_section_and_of_routes_are_those_of_the_title(number):
    cells = teacher_pages.lesson(number)
    stated, = re.findall(r"\*\*Minutes:\*\* (\d+)", cells["afterwards"]["source"])
    assert round(sum(teacher_pages.sections(cells, "lesson").values())) == int(stated)
    assert teacher_pages.minutes({number: "lesson"}) == int(stated)
    deeper = [cell["minutes"] for cell in cells.values() if cell["part"] == "deeper"]
    assert teacher_pages.minutes({number: "deeper"}) == round(sum(deeper))


@pytest.mark.parametrize("plan, words", [
    ({"cure": "nobody"}, "02.toml: a cure names the cell 'nobody', which neither lesson 02"),
    ({"ask": {"nobody": ["Who?", "He."]}}, "02.toml: ask names the cell 'nobody', which neither"),
    ({"show": ["nobody"]}, "routes.toml: show names the cell 'nobody'"),
    ({"show": "core"}, "show must be \"lesson\", \"deeper\" or a list of cells, got 'core'")])
def test_a_cell_that_is_not_there_is_named(monkeypatch, plan, words):
    whole = {"ask": {}, "board": "", "leave_out": "",
             "expect": [{"thinks": "So.", "cure": plan.get("cure", "title")}]} | plan
    monkeypatch.setattr(teacher_pages, "teaching", lambda number: whole)
    with pytest.raises(ValueError, match=re.escape(words)):
        teacher_pages.page("02")
        teacher_pages.shown("02", plan["show"])


def test_a_page_has_the_misconceptions_of_every_exercise():
    """Of choices, functions, classes and lines on paper."""
    empty, total = [], 0
    for number in NUMBERS:
        text = teacher_pages.page(number)[1]
        for name, words in teacher_pages.exercises(teacher_pages.lesson(number)).items():
            assert f"**{name}**" in text and len(words) == len({*words})
            assert all(f"- {teacher_pages.plain(each)}\n" in text for each in words)
            total += len(words)
            empty += [name] * (not words)
    assert total > 450 and empty == ["Break: defeat a mask"]
    assert teacher_pages.plain("a_b * [1]\n <d|") == r"a\_b \* \[1\] \<d\|"


def test_a_route_takes_the_time_that_it_says():
    for meeting in MEETINGS:
        minutes = teacher_pages.minutes(meeting["show"])
        assert 0 < minutes <= meeting["limit"] <= 120, meeting["name"]


@pytest.mark.parametrize("text, words", [
    ('ask = {one-row = ["Which?"]}', "98.toml: ask.one-row must be a question and what is usually "
                                     "answered, got ['Which?']"),
    ("board = ", "98.toml: Invalid value (at end of document)")])
def test_a_plan_that_cannot_be_read_is_named(tmp_path, monkeypatch, text, words):
    monkeypatch.setattr(teacher_pages, "TEACHING", tmp_path)
    (tmp_path / "98.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)):
        teacher_pages.teaching("98")
    assert teacher_pages.teaching("99") == {}


BY_CELL = [(number, names, meeting["first"][number]) for meeting in MEETINGS if "first" in meeting
           for number, names in meeting["show"].items()]


@pytest.mark.slow
@pytest.mark.parametrize("number, names, first", BY_CELL, ids=[part[0] for part in BY_CELL])
def test_a_routes_cells_run_without_those_left_out(number, names, first):
    cells, known = teacher_pages.lesson(number), {"__name__": "__main__"}
    assert names == [name for name in cells if name in names] and not {*names} & {*first}
    for name in cells:
        if cells[name]["cell_type"] == "code" and name in {"setup", *names, *first}:
            exec(compile(cells[name]["source"], f"{number} {name}", "exec"), known)


def dead_links(path):
    dead, text = [], re.sub("```.*?```", "", read(path), flags=re.S)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        file, _, place = target.partition("#")
        there = path.parent / file if file else path
        titles = re.findall(r"(?m)^#+ (.*)", read(there)) if there.suffix == ".md" else []
        places = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
        if place.startswith("cell-id="):
            places = [f"cell-id={name}" for name in teacher_pages.lesson(there.name[:2])]
        dead += [target] * (not there.exists() or place not in ["", *places])
    return dead


def test_links_and_commands_lead_somewhere():
    pages = [*teacher_pages.TEACHING.rglob("*.md")]
    assert {path: dead_links(path) for path in pages} == {path: [] for path in pages}
    made = set(re.findall(r"(?m)^([a-z-]+):.*## ", read(ROOT / "Makefile")))
    made |= {f"test-{leg}" for leg in environments.LEGS}
    named = set(re.findall(r"\bmake ([a-z-]+)", read(teacher_pages.TEACHING / "README.md")))
    assert {"slides", "lecture", "student", "report", "standalone", "html"} <= named
    assert named <= made
