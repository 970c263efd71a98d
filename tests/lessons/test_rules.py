"""The notebooks keep every rule of rules/, and each rule rejects them with one thing changed."""
from functools import partial

import pytest
from rules import OF_ALL, RULES
from rules.notebook import Notebook, all_notebooks

from tools.notebooks import nbtext, readme

NOTEBOOKS = all_notebooks()


@pytest.mark.parametrize("rule", RULES)
def test_notebooks_keep(rule):
    complaints = RULES[rule](NOTEBOOKS)
    assert not complaints, "\n" + "\n".join(complaints)


def test_set_up_minutes_and_tables_are_true():
    assert readme.main(["--check"]) == 0, "make readme"


# ---- one thing changed, mostly in lesson 02 ------------------------------------------------------

def edited(change, number=2):
    """All notebooks, with another content of one."""
    return [Notebook(each.name, change(each.content)) if each.number == number else each
            for each in NOTEBOOKS]


def swap(old, new, count=1, number=2):
    def change(content):
        text = nbtext.unpack(content)
        assert old in text
        return nbtext.pack(text.replace(old, new, count), content)
    return partial(edited, change, number)


def add(cells):
    """More cells, before `# Exercises`."""
    return swap("%% md exercises core", f"{cells}\n\n%% md exercises core")


def code(text):
    return add(f"%% code new core\n{text}")


def words(text):
    return add(f"%% md new core\n{text}")


def stored(name, **fields):
    """Other fields of a cell of the lesson."""
    return partial(edited, lambda content: content | {"cells": [
        cell | fields if cell["id"] == name else cell for cell in content["cells"]]})


def shows(text, kind="text/html"):
    return [{"output_type": "display_data", "data": {kind: text}, "metadata": {}}]


PROOF = "[two-rows-proof](#cell-id=two-rows-proof)"
SYMBOL = "| $h$ | `num_heads` | a number of heads | 02 |"
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}
STDERR = {"output_type": "stream", "name": "stderr", "text": "oh"}
BAD = [  # rule, what is changed, words of the complaint: cell, what is wrong
    # layout
    ("slug_ids", stored("twin", id="rank"), "rank: two cells"),
    ("known_tags", swap("one-way core", "one-way core idea"), "one-way: unknown tags ['idea']"),
    ("fixed_cells", swap("%% md exit core exit", "%% md out core"), "title: these cells"),
    ("fits_a_class", swap("5 minutes · level", "50 minutes · level"), "title: the core takes 7"),
    ("one_screen", stored("one-screen-proof", source="assert X"), "proof: assert"),
    ("folded", swap("core setup folded", "core setup"), "setup: its source"),
    ("stored_by_the_tools", stored("rank", metadata={"tags": ["deeper", "predict"]}), "rank: f"),
    ("headings", swap("## A head, by", "# A head, by"), "head-words: `A head, by hand` is of the"),
    ("headings", words("#### Far below"), "new: `Far below` skips a level"),
    ("deeper_is_marked", add("%% md new deeper\n## More"), "new: `· deeper` is missing"),
    # words
    ("short_words", words("word " * 91), "new: 91 words"),
    ("plain_words", words("Simply words"), "new: `Simply`"),
    ("no_pictures_in_words", words("![a picture](https://a.b/c.png)"), "new: a picture"),
    ("links_lead_somewhere", words("[masks](../d2l_ext/masks.py)"), "new: ../d2l_ext"),
    # code
    ("plain_python", code("%matplotlib inline"), "new: not Python"),
    ("fits_the_screen", code("\n".join(["x = 1"] * 16)), "new: 16 lines"),
    ("core_runs_alone", add("%% code a deeper\ni = 1\n\n%% code new core\ni += 1"),
     "new: `i` comes from the deeper cell `a`"),
    ("core_runs_alone", add("%% code a core proof folded\ni = 1\n\n%% code new core\nprint(i)"),
     "new: `i` comes from the proof `a`"),
    ("proofs_stand_apart", swap("# @title Proof: they", "# They"), "two-rows-proof: no title"),
    ("no_machine_paths", words("See /home/me/notes."), "new: `/home/`"),
    ("sentence", swap("0., 3.]])", "0., 2.]])"), "sentence: missing"),
    # outputs
    ("run_in_order", stored("rank", execution_count=None), "rank: its number is None"),
    ("clean_outputs", stored("rank", outputs=[ERROR]), "rank: it raises"),
    ("clean_outputs", stored("rank", outputs=[STDERR]), "rank: it writes"),
    ("picture_cells", swap('block")', 'block")\nX = 1'), "picture-block: tag and code"),
    ("alt_text", stored("grow", outputs=shows("iVBORw0KGgo=", "image/png")), "grow: a bare"),
    ("alt_text", stored("grow", outputs=shows('<img alt="A map">')), "grow: words of at least"),
    ("figures_have_words", swap('"02-grow"', '"02-x"'), "grow: a figure is named `02-x`"),
    ("predictions", swap("**Predict** how many", "See how many"), "ones: the cell before"),
    ("few_exemptions", code("'NBVAL_IGNORE_OUTPUT because'"), "new: no reason"),
    # numbers
    ("numbers_have_sources", words("In 9 of 12 cases."), "new: 9: 1 in sentences, 0"),
    ("numbers_have_sources", swap("more than 0.3.", "more."), "0.3: 0 in sentences, 1 listed"),
    ("numbers_have_sources", stored("seeds", outputs=[]), "seeds: it shows no 0.39"),
    # exercises
    ("exercise_cells", swap("code answer-mixed-up", "code mine"), "solution-mixed-up: not"),
    ("exercise_cells", swap("md pencil-page", "md page"), "pencil: not one of three"),
    ("exercise_kinds", swap("## Break: who", "## Mend: who"), "exercise-mixed-up: not a heading"),
    ("every_exercise_is_used", swap("split-heads", "four-heads", -1), "split-heads: no notebook"),
    ("written_from_scratch", swap("md homework", "md more"), "class: not the last"),
    ("folded_answers", swap("does attention return?", "is returned."), "recall: not"),
    ("questions", swap("- **D** depends", "- depends"), "question-1: not of this form"),
    ("questions", swap("- **D** Right: head", "- **D** Head"), "question-2: exactly"),
    ("questions", swap("**D** Heads get", "**D** All of the heads get"), "question-2: the right o"),
    # sources
    ("claims", swap(PROOF, "[head-words](#cell-id=head-words)"), "claims: `two rows read both"),
    ("sources", swap("abs/1706.03762", "abs/1234.56789"), "references: https://arxiv"),
    ("sources", words("As Nobody et al. (1999) say."), "new: Nobody 1999 is not in the cell"),
    ("every_source_is_cited", swap("abs/2002.07028", "abs/0"), "bhojanapalli2020: no lesson"),
    ("symbols", swap(SYMBOL, SYMBOL.replace("`", ""), number=0), "symbols: `$h$` is not of this"),
    ("symbols", swap("`num_heads`", "`heads_there`", number=0), "`heads_there` does not occur"),
]


@pytest.mark.parametrize("rule, notebooks, complaint", BAD)
def test_rule_rejects(rule, notebooks, complaint):
    changed = notebooks()
    if rule not in OF_ALL:
        changed = [notebook for notebook in changed if notebook not in NOTEBOOKS]
    complaints = RULES[rule](changed)
    assert any(complaint in each for each in complaints), complaints


def test_every_rule_was_seen_to_reject():
    assert {rule for rule, *_ in BAD} == set(RULES)
