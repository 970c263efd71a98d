"""Mistakes made by hand fit the code; the tool that makes mutants tells caught from alive."""
import json
import re
import tomllib

import mutants
import pytest

ROOT = mutants.ROOT
MISTAKES = mutants.mistakes()
GOOD = {"what": "subtracts", "file": "sums.py", "old": "a + b", "new": "a - b",
        "test": "test_sums.py::test_sum"}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["what"])
def test_a_mistake_fits_the_code_and_names_a_test(mistake):
    wrong = mutants.made(mistake, ROOT)
    assert mistake["new"] != mistake["old"]
    if mistake["file"].endswith(".py"):
        compile(wrong, mistake["file"], "exec")
    elif mistake["file"].endswith((".json", ".ipynb")):
        json.loads(wrong)
    path, _, name = mistake["test"].partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"^def {name}\(", text, re.M)


@pytest.mark.parametrize("text", ["a * b", "a + b; a + b"])
def test_a_mistake_that_no_longer_fits_is_noticed(tmp_path, text):
    (tmp_path / "sums.py").write_text(text)
    message = "subtracts: 'a \\+ b' occurs [02] times in sums.py, not once"
    with pytest.raises(ValueError, match=message):
        mutants.made(GOOD, tmp_path)


@pytest.mark.parametrize("test, row", [
    ("assert add(2, 3) == 5", "1 | 1 | 1 | 0 | 0 | 100.0"),
    ("assert add(2, 0) == 2", "1 | 1 | 0 | 0 | 1 | 0.0"),
    ("pytest.skip()", "1 | 1 | 0 | 0 | 1 | 0.0")])
def test_caught_is_told_from_alive(tmp_path, monkeypatch, test, row):
    source = tmp_path / "source"
    source.mkdir()
    (source / "pytest.ini").write_text("[pytest]\n")  # no settings from folders above
    (source / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    (source / "test_sums.py").write_text(
        f"import pytest\nfrom sums import add\n\n\ndef test_sum():\n    {test}\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in a third of the time
    monkeypatch.setattr(mutants, "ROOT", source)
    monkeypatch.setattr(mutants, "HERE", tmp_path)
    monkeypatch.setattr(mutants, "COPY", tmp_path / "copy")
    monkeypatch.setattr(mutants, "mistakes", lambda: [GOOD])
    mutants.by_hand()
    assert f"| by hand | {row} | " in (tmp_path / "results.md").read_text()
    assert "a + b" in (tmp_path / "copy/sums.py").read_text()  # put back


def test_results_keep_other_rows_and_list_what_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "HERE", tmp_path)
    monkeypatch.setattr(mutants.time, "strftime", lambda form: "2026-01-31")
    mutants.store("sums.py", 10, 4, 3, 0, ["- a + 1\n+ a - 1"])
    monkeypatch.setattr(mutants.time, "strftime", lambda form: "2026-02-01")
    mutants.store("heads.js, drawing", 20, 20, 18, 2, [])
    text = (tmp_path / "results.md").read_text()
    assert "| sums.py | 10 | 4 | 3 | 0 | 1 | 75.0 | 2026-01-31 |\n" in text
    assert "| heads.js, drawing | 20 | 20 | 18 | 2 | 0 | 100.0 | 2026-02-01 |\n" in text
    assert text.endswith("## sums.py\n\n```diff\n- a + 1\n+ a - 1\n```\n")
    mutants.store("sums.py", 10, 4, 4, 0, [])
    text = (tmp_path / "results.md").read_text()
    assert "diff" not in text and text.count("sums.py") == 1


def test_a_reason_belongs_to_one_difference(tmp_path, monkeypatch):
    known = "[[mutant]]\ndiff = '''\n- a + 0\n+ a - 0'''\nwhy = \"0 is 0\"\n"
    (tmp_path / "equivalent.toml").write_text(known)
    monkeypatch.setattr(mutants, "HERE", tmp_path)
    assert mutants.reason("- a + 0\n+ a - 0") == "0 is 0"
    assert mutants.reason("- a + 1\n+ a - 1") is None


def test_a_module_meets_the_tests_of_its_room():
    """Or, in the core, those that name it."""
    tasks = "d2l_ext/laboratory/tasks.py"
    *files, last = mutants.tests_of(tasks)
    assert last == tasks and files == [f"tests/laboratory/test_{name}.py" for name in (
        "dates", "encodings", "refusals", "tasks", "training")]
    of_clock = mutants.tests_of("d2l_ext/explorers/clock.py")
    assert "tests/explorers/test_every_explorer.py" in of_clock
    assert "tests/explorers/test_drawn_clock.py" not in of_clock
    of_masks = mutants.tests_of("d2l_ext/masks.py")
    assert "tests/core/test_masks.py" in of_masks and "tests/core/test_drawn.py" not in of_masks
    for module, file in (("translation", "tools/test_translation"),
                         ("__main__", "tools/test_packaging"), ("_validate", "core/test_linear")):
        assert f"tests/{file}.py" in mutants.tests_of(f"d2l_ext/{module}.py")


def test_what_draws_is_told_from_what_computes():
    text = "const a = 1;\n// ---- on the screen ----\nb;\n// ---- words ----\nc;\n"
    assert mutants.drawing_lines(text) == {2, 3}


def test_tests_that_run_javascript_are_found(tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text(
        "def both(x):\n    return compute(x)\n\n\ndef test_near():\n    both(1)\n\n\n"
        "def test_far():\n    near = 1\n\n\ndef test_fixture(both):\n    pass\n")
    monkeypatch.setattr(mutants, "COPY", tmp_path)
    found = ["test_a.py::test_fixture", "test_a.py::test_near"]
    assert mutants.tests_that_use({"compute"}, "test_a.py") == found


def test_a_reason_is_for_a_line_that_is_there():
    def stale(known, whole):
        return [mutant["diff"] for mutant in known for line in mutant["diff"].splitlines()
                if line[:1] == "-" and " ".join(line[1:].split()) not in whole]

    files = [path for kind in ("py", "js") for path in (ROOT / "d2l_ext").rglob(f"*.{kind}")]
    whole = " ".join(" ".join(path.read_text(encoding="utf-8") for path in files).split())
    known = tomllib.loads((ROOT / "tests/mutants/equivalent.toml").read_text(encoding="utf-8"))
    assert stale(known["mutant"], whole) == []
    assert stale(known["mutant"], whole.replace("(", "[")) != []
