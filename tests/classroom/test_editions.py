"""Editions for students and teachers: nothing that answers is handed out, and what is handed out
runs."""
import json
import re
import subprocess
import sys

import pytest
from tools.classroom import editions, teacher_pages
from tools.notebooks.nbtext import cells_of, has, in_language, inner, notebooks, read

from attention_lessons.exercises import all_exercises
from attention_lessons.languages import language

pytestmark = pytest.mark.slow  # all lessons are written anew
ROOT = editions.ROOT
LESSONS = notebooks()


def even(text):
    """The text with one blank wherever there is white space."""
    return " ".join(text.split())


def text_of(path):
    """What stands in a file; of a notebook sources and outputs."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".ipynb":
        text = "\n".join(f"{cell['source']}\n{json.dumps(cell.get('outputs'), ensure_ascii=False)}"
                         for cell in cells_of(json.loads(text)))
    return even(text)


def secrets():
    """Texts that nothing handed out may hold: folded answers, their code, and what exercises know,
    but for what a lesson says elsewhere."""
    cells = [cell for path in LESSONS
             for cell in cells_of(read(in_language(path, teacher_pages.folder())))]
    folded = [part for cell in cells if has(cell, "solution", *editions.ANSWERED) for part in
              re.findall("<details><summary>.*?</summary>(.*?)</details>", cell["source"], re.S)]
    plain = even("\n".join(re.sub(editions.FOLDED, "", cell["source"])
                           for cell in cells if not has(cell, "solution")))
    for text in [*folded]:
        folded += re.findall("```python(.*?)```", text, re.S)
    words = [re.sub("^[a-z]: ", "", str(editions.t(text))) for each in all_exercises().values()
             for text in [each.praise, *each.hints, *editions.misconceptions(each)]]
    return {text for text in map(even, folded + words) if text not in plain}


def given_away(folder):
    """(the words, in which file) for everything that a folder gives away."""
    texts = {path.relative_to(folder).as_posix(): text_of(path)
             for path in folder.rglob("*") if path.is_file()}
    return {(words, file) for words in secrets() for file, text in texts.items() if words in text}


@pytest.fixture(scope="module", params=["en", "zh"])
def made(request, tmp_path_factory):
    editions.main([request.param], folder := tmp_path_factory.mktemp("editions"))
    language("en")
    return request.param, sorted(folder.iterdir(), reverse=True)


@pytest.fixture
def both(made):
    """The folders for students and for teachers, in a language, which is spoken meanwhile."""
    language(made[0])
    yield made[1]
    language("en")


USES = """
import d2l_ext, pathlib
import attention_lessons
from attention_lessons.exercises import all_exercises, check, find, hint
assert pathlib.Path(d2l_ext.__file__).parent.parent == pathlib.Path.cwd(), d2l_ext.__file__
attention_lessons.language("{}")
print(len(all_exercises()), check("four-heads", "a").state)
print(check("four-heads", "b"), check("multi-head-class", d2l_ext.MultiHeadAttention).state)
print(hint("four-heads", len(find("four-heads").hints)))
"""


def test_nothing_handed_out_answers_and_the_sealed_package_checks_and_helps(both):
    for_students, for_teachers = both
    assert for_students.name == ("student-zh" if language() == "zh" else "student")
    assert given_away(for_students) == set()
    seen = {file for _, file in given_away(for_teachers)}  # the search finds them
    answers = [path for path in LESSONS
               if any(has(cell, "solution") for cell in cells_of(read(path)))]
    assert {inner(path).as_posix() for path in answers} <= seen and len(secrets()) > 800

    exercises = all_exercises()
    done = subprocess.run([sys.executable, "-c", USES.format(language())], cwd=for_students,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    wrong = editions.t(exercises["four-heads"].reasons["b"])
    assert said[:2] == [f"{len(exercises)} right", f"✗ {wrong} right"]
    assert said[-1] == str(editions.LAST_HINT)


@pytest.mark.parametrize("path", [*LESSONS, *notebooks("zh")],
                         ids=lambda path: inner(path).as_posix())
def test_a_students_lesson_has_all_but_the_answers(path):
    lesson = read(path)
    made = editions.for_student(lesson)["cells"]
    assert lesson == read(path)
    old = [cell for cell in cells_of(lesson) if not has(cell, "solution")]
    for cell, was in zip(made, old, strict=True):
        assert cell["id"] == was["id"]
        if cell["cell_type"] == "code":
            assert cell["source"] == was["source"]
            assert cell["outputs"] == ([] if has(cell, "exercise") else was["outputs"])
            assert not has(cell, "exercise") or editions.asked(cell)[1] in all_exercises()
        else:
            assert not re.search("colab|[Ss]olutions? (is|are)|解答|折叠在下面", cell["source"])
            folds = re.findall(r"<summary>(?:<b>)?(\w+)", cell["source"])
            assert not {"Answer", "Answers", "Reasons", "What", "答案", "理由"} & {*folds}


def test_nbgrader_gets_a_locked_test_behind_each_answer(tmp_path, monkeypatch):
    """Nothing else of the student's lesson is changed, and a test has the points that the heading
    says in minutes."""
    path = LESSONS[12]
    monkeypatch.setattr(editions, "notebooks", lambda language: [path])
    editions.main(["nbgrader"], tmp_path)
    folder = tmp_path / "nbgrader/source" / path.stem
    cells = cells_of(read(folder / path.name))
    plain = editions.for_student(read(path))["cells"]
    assert [cell for cell in cells if "nbgrader" not in cell["metadata"]] == plain
    found, minutes = [], []
    for answer, test in zip(cells, cells[1:]):
        minutes += re.findall(r"^## .* · (\d+) minutes?\b", answer["source"], re.M)
        if grading := test["metadata"].get("nbgrader"):
            name, given = re.search(r'check\("(.*?)", (.*)\)$', answer["source"]).groups()
            assert f'result = check("{name}", {given})\n' in test["source"]
            assert grading["grade_id"] == f"test-{name}" and grading["grade"] and grading["locked"]
            assert str(grading["points"]) == minutes[-1]
            found.append(name)
    asked = [cell for cell in plain if has(cell, "exercise") and "check(" in cell["source"]]
    assert len({*found}) == len(found) == len(asked) > 2
    assert given_away(folder) == set() and (folder / "d2l_ext/__init__.py").is_file()


def test_words_that_mean_nothing_get_a_sentence():
    with pytest.raises(SystemExit, match="ARGS may be en, zh and nbgrader; got anna"):
        editions.main(["anna"])


def test_teachers_see_answers_what_checks_know_and_notes():
    cells = editions.for_teacher(read(LESSONS[3]), "03")["cells"]
    made = {cell["id"]: cell["source"] for cell in cells}
    names = [*made]
    solutions = [name for name in names if name.startswith("solution-")]
    assert len(solutions) > 2
    for name in solutions:
        about = f"known-{name}"
        assert names[names.index(name) + 1] == about and made[name].startswith("<details open>")
        exercise = all_exercises()[name.removeprefix("solution-")]
        for words in [*editions.misconceptions(exercise), *exercise.hints, exercise.praise]:
            assert editions.plain(words) in made[about]
    assert not any("folded below" in text for text in made.values())
    plan = teacher_pages.teaching("03")
    assert plan["board"] in made["notes-title"]
    asked = {name: said for name, said in plan["ask"].items() if name in made}
    cured = [each for each in plan["expect"] if each["cure"] in made]  # others in deeper notebooks
    assert asked and cured
    for name, said in asked.items():
        assert names[names.index(name) - 1] == f"notes-{name}"
        assert all(words in made[f"notes-{name}"] for words in said)
    for each in cured:
        assert each["thinks"] in made[f"notes-{each['cure']}"]
