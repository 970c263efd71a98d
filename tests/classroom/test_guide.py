"""The guide: what is generated is up to date, routes take the time they say and run, links lead."""
import re
import shutil
import tomllib

from tools.classroom import guide
from tools.classroom.lesson import has
import pytest
from tools.notebooks.readme import ROOT, count_words, opening, read

NUMBERS = [f"{number:02}" for number in range(9)]
PLANS = {number: tomllib.loads(read(ROOT / f"teaching/{number}.toml")) for number in NUMBERS}


# ---- pages ------------------------------------------------------------------------------------

def test_what_is_generated_is_up_to_date():
    assert guide.main(["--check"]) == 0, "make readme"


def test_what_is_out_of_date_is_told_and_rewritten(tmp_path, monkeypatch, capsys):
    shutil.copytree(guide.TEACHING, tmp_path / "teaching")
    monkeypatch.setattr(guide, "TEACHING", tmp_path / "teaching")
    (tmp_path / "teaching/02_multi_head_attention.md").write_text("")
    assert guide.main(["--check"]) == 1
    assert guide.main([]) == 0 and guide.main(["--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "teaching/02_multi_head_attention.md is out of date",
        "teaching/02_multi_head_attention.md rewritten"]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_plan_is_whole_and_names_cells(number):
    plan, cells = PLANS[number], guide.lesson(number).cells
    assert len(plan["expect"]) == 3 and len(plan["ask"]) >= 8
    cures = {each["cure"] for each in plan["expect"]}
    assert {*plan["ask"], *cures, *re.findall(r"`([a-z0-9-]+)`", plan["leave_out"])} <= set(cells)
    asked = {name for name, cell in cells.items() if has(cell, "predict", "explorer")
             and has(cell, "core")}
    assert asked <= set(plan["ask"]), "each prediction and each piece has a question"


@pytest.mark.parametrize("number", NUMBERS)
def test_minutes_by_section_add_up_to_those_of_the_title(number):
    cells = guide.lesson(number).cells
    spent = guide.sections(cells).values()
    title = opening(lambda name: cells[name]["source"])
    core, deeper = (sum(both[part] for both in spent) for part in (0, 1))
    assert (round(core), round(core + deeper)) == (int(title["core"]), int(title["all"]))


def test_a_page_has_the_misconceptions_of_every_exercise():
    """Of choices, functions, classes and lines on paper."""
    empty, total = [], 0
    for number in NUMBERS:
        text = guide.page(number)[1]
        for name, words in guide.exercises(guide.lesson(number).cells).items():
            assert f"**{name}**" in text and len(words) == len({*words})
            assert all(f"- {guide.plain(each)}\n" in text for each in words)
            total += len(words)
            empty += [name] * (not words)
    assert total > 450 and empty == ["Break: defeat a mask"]
    assert guide.plain("a_b * [1]\n <d|") == r"a\_b \* \[1\] \<d\|"


# ---- routes -----------------------------------------------------------------------------------

def test_a_route_takes_the_time_that_it_says():
    limits = {route["name"]: {meeting["limit"] for meeting in route["meeting"]}
              for route in guide.routes()}
    assert limits == {"45 minutes": {45}, "90 minutes": {90}, "one week": {90},
                      "four weeks": {90, 120}}
    for route in guide.routes():
        for meeting in route["meeting"]:
            for number, part in meeting["show"].items():
                assert 0 < guide.minutes({number: part}) <= meeting["limit"], meeting["name"]
            assert guide.minutes(meeting["show"]) <= meeting["limit"], meeting["name"]


def test_a_route_counts_what_the_lessons_count():
    assert guide.minutes({"02": "core"}) == 36 and guide.minutes({"02": "all", "01": "core"}) > 100
    assert guide.minutes({"02": ["explorer", "forgot", "exercise-four-heads"]}) == 2 + 1 + 2


@pytest.mark.parametrize("text, words", [
    ('ask = {one-row = ["Which?"]}', "98.toml: ask.one-row must be a question and what is usually "
                                     "answered, got ['Which?']"),
    ("board = ", "98.toml: Invalid value (at end of document)")])
def test_a_plan_that_cannot_be_read_is_named(tmp_path, monkeypatch, text, words):
    monkeypatch.setattr(guide, "TEACHING", tmp_path)
    (tmp_path / "98.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)):
        guide.teaching("98")
    assert guide.teaching("99") == {}


def by_cell():
    """(lesson, cells to show, cells that run before) of the routes that name cells with code."""
    return [(number, names, meeting["first"][number])
            for route in guide.routes() for meeting in route["meeting"] if "first" in meeting
            for number, names in meeting["show"].items()]


def run(number, names):
    """Run these cells of a lesson after its imports, in its order; no others."""
    known = {"__name__": "__main__"}
    for name, cell in guide.lesson(number).cells.items():
        if cell["cell_type"] == "code" and name in {"setup", *names}:
            exec(compile(cell["source"], f"{number} {name}", "exec"), known)


@pytest.mark.slow
@pytest.mark.parametrize("number, names, first", by_cell(), ids=[part[0] for part in by_cell()])
def test_a_routes_cells_run_without_those_left_out(number, names, first):
    assert not set(names) & set(first)
    assert list(names) == [name for name in guide.lesson(number).cells if name in names]
    run(number, {*names, *first})


# ---- README -----------------------------------------------------------------------------------

def test_readme_is_short():
    assert count_words(read(guide.TEACHING / "README.md")) <= 2000


def dead_links(path):
    dead, text = [], re.sub("```.*?```", "", read(path), flags=re.S)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        file, _, place = target.partition("#")
        there = path.parent / file if file else path
        if not there.exists():
            dead.append(target)
        elif place.startswith("cell-id="):
            name = place.removeprefix("cell-id=")
            dead += [target] if name not in guide.lesson(there.name[:2]).cells else []
        elif place:
            titles = re.findall(r"(?m)^#+ (.*)", read(there))
            places = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            dead += [target] if place not in places else []
    return dead


def test_links_lead_somewhere(tmp_path):
    pages = [*guide.TEACHING.rglob("*.md")]
    assert {path: dead_links(path) for path in pages} == {path: [] for path in pages}
    wrong = tmp_path / "wrong.md"
    wrong.write_text("# One\n[a](none.md) [b](#two) [c](#one)")
    assert dead_links(wrong) == ["none.md", "#two"]


def test_readme_names_commands_that_exist():
    text = read(guide.TEACHING / "README.md")
    made = set(re.findall(r"(?m)^([a-z-]+):.*## ", read(ROOT / "Makefile")))
    named = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert named <= made
    assert {"slides", "lecture", "student", "handout", "grade", "standalone", "html"} <= named
