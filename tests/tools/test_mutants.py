"""The mistakes made by hand still fit the code, name tests that there are, and the tool that makes them tells caught from overlooked."""
import importlib.util
import json
import re
from collections import Counter

import pytest
from readme import ROOT

spec = importlib.util.spec_from_file_location("mutants_script", ROOT / "tools/mutants.py")
mutants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)

MISTAKES = mutants.mistakes()
GOOD = {"what": "subtracts", "file": "sums.py", "old": "a + b", "new": "a - b", "test": "test_sums.py::test_sum"}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["what"])
def test_a_mistake_fits_the_code_and_names_a_test(mistake):
    wrong = mutants.made(mistake, ROOT)
    if mistake["file"].endswith(".py"):
        compile(wrong, mistake["file"], "exec")
    elif mistake["file"].endswith((".json", ".ipynb")):
        json.loads(wrong)
    path, _, name = mistake["test"].partition("::")
    assert (ROOT / path).is_file() and (not name or re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M))


def test_there_are_enough_and_each_is_another():
    shown = [mistake for mistake in MISTAKES if mistake["test"].endswith(".ipynb")]
    assert len(MISTAKES) >= 15 and len(shown) >= 10
    assert len({mistake["what"] for mistake in MISTAKES}) == len(MISTAKES)
    assert not any(mistake["new"] == mistake["old"] for mistake in MISTAKES)


@pytest.mark.parametrize("text", ["a * b", "a + b; a + b"])
def test_a_mistake_that_no_longer_fits_is_noticed(tmp_path, text):
    (tmp_path / "sums.py").write_text(text)
    with pytest.raises(ValueError, match="subtracts: 'a \\+ b' stands [02] times in sums.py, not once"):
        mutants.made(GOOD, tmp_path)


@pytest.mark.parametrize("test, state", [("assert add(2, 3) == 5", "caught"), ("assert add(2, 0) == 2", "SURVIVED"),
                                         ("pytest.skip()", "without the mistake: skipped")])
def test_caught_is_told_from_overlooked(tmp_path, monkeypatch, test, state):
    source = tmp_path / "source"
    (source / "d2l_ext").mkdir(parents=True)
    (source / "d2l_ext/__init__.py").write_text("")
    (source / "pytest.ini").write_text("[pytest]\n")  # no settings from folders above
    (source / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    (source / "test_sums.py").write_text(f"import pytest\nfrom sums import add\n\n\ndef test_sum():\n    {test}\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in a third of the time
    monkeypatch.setattr(mutants, "ROOT", source)
    monkeypatch.setattr(mutants, "COPY", tmp_path / "copy")
    monkeypatch.setattr(mutants, "mistakes", lambda: [GOOD])
    assert mutants.by_hand() == [("subtracts", "test_sums.py::test_sum", state)]
    assert "a + b" in (tmp_path / "copy/sums.py").read_text()  # put back


def test_a_survivor_needs_its_reason(tmp_path, monkeypatch):
    (tmp_path / "equivalent.toml").write_text("[[mutant]]\ndiff = '''\n- a + 0\n+ a - 0'''\nwhy = \"0 is 0\"\n")
    monkeypatch.setattr(mutants, "HERE", tmp_path)
    counts = {"sums": Counter(killed=8, timeout=1, survived=1), "zeros": Counter(killed=10)}
    known, unknown = ({"module": "sums", "diff": f"- a + {n}\n+ a - {n}"} for n in (0, 1))
    assert mutants.store_by_machine(counts, [known])
    text = (tmp_path / "results.md").read_text()
    assert "| sums | 10 | 8 | 1 | 1 | 0 | 90.0 |" in text and "| **all** | 20 | 18 | 1 | 1 | 0 | 95.0 |" in text and "sums: 0 is 0" in text
    assert mutants.store_by_hand([("what", "test", "caught")]) and not mutants.store_by_machine(counts, [known, unknown])
    text = (tmp_path / "results.md").read_text()
    assert text.count("# M") == 2 and "1 of 1 caught" in text and "NO REASON GIVEN" in text


def test_every_survivor_has_its_reason():
    results = (ROOT / "tests/mutants/results.md").read_text(encoding="utf-8")
    assert "SURVIVED" not in results and "NO REASON" not in results
