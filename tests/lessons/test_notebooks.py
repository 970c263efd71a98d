"""The notebooks keep every rule of rules/. That the rules notice mistakes: test_rules.py."""
import pytest
from tools.notebooks import readme
from rules import RULES
from rules.notebook import all_notebooks

NOTEBOOKS = all_notebooks()


@pytest.mark.parametrize("rule", RULES)
def test_notebooks_keep(rule):
    complaints = RULES[rule](NOTEBOOKS)
    assert not complaints, "\n" + "\n".join(complaints)


def test_minutes_tables_and_addresses_are_true():
    assert readme.main(["--check"]) == 0, "make readme"
