"""The notebooks keep every rule of rules/, and each rule rejects tiny ones with one thing changed.
"""
from functools import partial

import pytest
import tiny
from rules import RULES, limits, notebook, numbers, outputs
from rules.notebook import Notebook, all_notebooks
from tiny import shows

from tools.notebooks import nbtext, readme


@pytest.mark.parametrize("rule", RULES)
def test_notebooks_keep(rule):
    complaints = RULES[rule](all_notebooks())
    assert not complaints, "\n" + "\n".join(complaints)


def test_what_make_readme_writes_is_up_to_date():
    assert readme.main(["--check"]) == 0, "make readme"


# ---- one thing changed --------------------------------------------------------------------------

def edited(change, place):
    """The tiny notebooks, with another content of one."""
    return [Notebook(each.name, change(each.content)) if each.place == place else each
            for each in tiny.NOTEBOOKS]


def swap(old, new, count=1, place="02"):
    def change(content):
        text = nbtext.unpack(content)
        assert old in text
        return nbtext.pack(text.replace(old, new, count), content)
    return partial(edited, change, place)


deeper = partial(swap, place="deeper/02")


def add(cells):
    return swap("%% md exercises\n", f"{cells}\n\n%% md exercises\n")


def code(text):
    return add(f"%% md new-words\nThis is why.\n\n%% code new\n{text}")


def words(text):
    return add(f"%% md new\n{text}")


def stored(name, **fields):
    """Other fields of a cell."""
    return partial(edited, lambda content: content | {"cells": [
        cell | fields if cell["id"] == name else cell for cell in content["cells"]]}, "02")


def cells(count):
    return "\n\n".join(f"%% md new-{i}\nWords." for i in range(count))


def proofs(count):
    return swap("%% code one-screen-proof", "\n\n".join(
        f"%% code new-{i} proof folded\n# @title Proof: it\nassert X" for i in range(count))
        + "\n\n%% code one-screen-proof")


MORE = tiny.trio("kernel", "## Predict: it · 3 minutes · level 1", "answer = ''")
BELOW = "../02_tiny.ipynb"
PROOF = "[idea-proof](#cell-id=idea-proof)"
LEVEL = "[picture] A map.\ncolumns a, b\n   a 0.25 0.25\n   b 0.00 1.00"
SHIFTED = LEVEL.replace("0.25 0.25", "0.25 0.50")
STDERR = {"output_type": "stream", "name": "stderr", "text": "oh"}
BAD = [  # rule, what is changed, words of the complaint: cell, what is wrong
    # layout
    ("slug_ids", stored("weights", id="idea"), "idea: two cells"),
    ("ids_of_both", deeper("md so", "md idea"), "idea: the lesson has this id"),
    ("known_tags", swap("md idea", "md idea core"), "idea: unknown tags ['core']"),
    ("fixed_cells", swap("%% md exit exit", "%% md out"), "title: these cells"),
    ("fixed_cells", swap("md exit exit", "md exit"), "exit: id and tag differ"),
    ("fixed_cells", swap("%% md references references", "%% md claims-2\nMore.\n\n"
                         "%% md references references"), "title: end with claims"),
    ("fixed_cells", deeper("%% md contents", "%% md list"), "title: these cells"),
    ("fits_a_sitting", swap("5 minutes · level", "55 minutes · level"), "title: 60 minutes, 50"),
    ("fits_a_sitting", words("word " * 6000), "title: 49 minutes without"),
    ("fits_a_sitting", add(cells(50)), "title: 69 cells in the sitting, 65"),
    ("fits_a_sitting", add(cells(50)), "title: 85 cells on the page, 80"),
    ("fits_a_sitting", words("word " * 2700), "title: 2727 words, 2700"),
    ("light", words("word " * 150_000), "title: 75"),
    ("exercises_of_the_sitting", swap("%% md question-1", f"{MORE}\n%% md question-1"),
     "exercises: 3 exercises, not 2"),
    ("exercises_of_the_sitting", swap("5 minutes · level", "8 minutes · level"),
     "exercises: 10 minutes, 9"),
    ("exercises_of_the_sitting", swap("%% md homework", f"{MORE}\n{MORE.replace('kernel', 'keeps')}"
                                      "\n%% md homework"), "at-home: 4 exercises, 3"),
    ("one_screen", swap("It is this:", "<details>It is this:</details>"), "one-screen: up to 250"),
    ("one_screen", swap("one-screen-code\nimport torch", "one-screen-code folded\nimport torch"),
     "one-screen-code: up to 20 lines, open"),
    ("one_screen", swap("assert torch and d2l_ext", "assert torch"), "proof: assert that"),
    ("proofs_at_the_end", swap("%% code one-screen-proof", "%% md words\nSo.\n\n"
                               "%% code one-screen-proof"), "words: no proof"),
    ("proofs_at_the_end", proofs(5), "proofs: 7 proofs, 5 and one"),
    ("proofs_at_the_end", swap("weights predict", "weights predict proof"), "weights: a proof"),
    ("folded", swap("setup setup folded", "setup setup"), "setup: its source"),
    ("folded", deeper("so-recap folded", "so-recap"), "so-recap: its source"),
    ("stored_by_the_tools", stored("weights", metadata={"tags": ["predict"]}), "weights: fields"),
    ("headings", swap("## An idea", "# An idea"), "idea: `An idea` is of the first level"),
    ("headings", words("#### Far below"), "new: `Far below` skips a level"),
    ("headings", swap("# At home", "## At home"), "at-home: no heading of the first"),
    ("leads_back", deeper(f"[lesson 02]({BELOW})", "the lesson"), "title: no"),
    ("section_form", deeper("Is it so? ·", "It is so ·"), "so: its heading"),
    ("section_form", deeper(" · 1 minute", ""), "so: its heading"),
    ("section_form", deeper(f"[Lesson 02]({BELOW}#cell-id=idea)", "It"), "so: no link to a lesson"),
    ("section_form", deeper("%% md why", f"%% md new\n## Alone? · 1 minute\n\n[02]({BELOW}) asks."
                            "\n\n%% md why"), "new: 1 cells, 2 to 25"),
    ("section_form", deeper("%% md why", f"{cells(25)}\n\n%% md why"), "so: 30 cells, 2 to 25"),
    ("section_form", deeper("%% md so\n", "%% md astray\nWords.\n\n%% md so\n"), "astray: in no"),
    ("section_form", deeper("code why-code", "code why-code\n1\n\n%% code why-recap"),
     "why-recap: not right below"),
    # words
    ("short_words", words("word " * (limits.CELL_WORDS + 1)), "new: 111 words"),
    ("plain_words", words("Simply words"), "new: `Simply`"),
    ("no_pictures_in_words", words("![a picture](https://a.b/c.png)"), "new: a picture"),
    ("links_lead_somewhere", words("[masks](../d2l_ext/masks.py)"), "new: ../d2l_ext"),
    ("links_lead_somewhere", words("[so](deeper/02_tiny_deeper.ipynb#cell-id=no)"), "id=no leads"),
    ("links_lead_somewhere", deeper(f"({BELOW}#", "(02_tiny.ipynb#"), "so: 02_tiny.ipynb#cell-id"),
    ("links_lead_where_they_say", deeper("(#cell-id=so)", "(#cell-id=why)"),
     "contents: [Is it so?]"),
    # code
    ("plain_python", code("%matplotlib inline"), "new: not Python"),
    ("fits_the_screen", code("\n".join(["x = 1"] * 16)), "new: 16 lines"),
    ("code_is_announced", add("%% code a\n1\n\n%% code new\n" + "\n".join(["x = 1"] * 7)),
     "new: 7 lines after another code cell"),
    ("story_needs_no_proof", add("%% code a proof folded\ni = 1\n\n%% code new\nprint(i)"),
     "new: `i` comes from the proof `a`"),
    ("proofs_have_titles", swap("# @title Proof: an idea", "# An idea"), "idea-proof: no title"),
    ("no_assert_in_the_story", code("assert X"), "new: an assert"),
    ("no_machine_paths", words("See /home/me/notes."), "new: `/home/`"),
    ("sentence", swap("0., 3.]])", "0., 2.]])"), "sentence: missing"),
    # outputs
    ("run_in_order", stored("weights", execution_count=None), "weights: its number is None"),
    ("clean_outputs", stored("weights", outputs=shows("A UserWarning")), "`UserWarning` in its"),
    ("clean_outputs", stored("weights", outputs=[STDERR]), "weights: it writes"),
    ("picture_cells", swap('block")', 'block")\nX = 1'), "picture-block: tag and code"),
    ("alt_text", stored("weights", outputs=shows("iVBORw0KGgo=", "image/png")), "weights: a bare"),
    ("alt_text", stored("weights", outputs=shows('<img alt="A map">')), "weights: words of at lea"),
    ("figures_are_named", swap('"02-weights"', '"02-x"'), "weights: a figure is named `02-x`"),
    ("words_have_figures", swap('"02-weights"', '"02-x"'), "weights: nothing draws this entry"),
    ("axes_are_what_they_are_called", code('heatmaps(X, row_label="key", column_label="query", '
                                           'name="02-new")'), "new: axes ['key', 'query'], not"),
    ("figures_show_what_they_say", stored("weights", outputs=shows(SHIFTED, "text/plain")),
     "weights: the figure 02-weights doesn't show ['a', 'b', 0.25]"),
    ("figures_show_what_they_say", stored("weights", outputs=shows(LEVEL, "text/plain")),
     "weights: 02-weights would show its claims mirrored, too"),
    ("predictions", swap("**Predict** the", "See the"), "weights: the cell before"),
    ("few_exemptions", code("'NBVAL_IGNORE_OUTPUT because'"), "new: no reason"),
    # numbers
    ("numbers_have_sources", words("In 9 of 12 cases."), "new: 9: 1 in sentences, 0"),
    ("numbers_have_sources", swap("0.39", "little"), "02: 0.39: 0 in sentences, 1 listed"),
    ("numbers_have_sources", stored("weights", outputs=[]), "weights: it shows no 0.39"),
    # exercises
    ("exercise_cells", swap("code answer-mixed-up", "code mine"), "solution-mixed-up: not"),
    ("exercise_headings", swap("## Break: it", "## Mend: it"), "exercise-mixed-up: not a heading"),
    ("exercise_headings", deeper("### Explain", "## Explain"), "lengths: not"),
    ("exercise_kinds", swap("## Build: ", "## Break: ", -1), "['Build']"),
    ("exercise_kinds", deeper("### Explain", "### Predict"), "['Explain']"),
    ("every_exercise_is_used", swap("split-heads", "four-heads", -1), "split-heads: no notebook"),
    ("written_from_scratch", swap("%% md at-home\n# At home",
                                  f"%% md at-home\n# At home\n\n{MORE}"), "class: not the first"),
    ("written_from_scratch", swap("'What it does.'", "'It.'\n    x = 1"), "class: it gives"),
    ("folded_answers", swap("What is returned?", "It is returned."), "recall: not"),
    ("questions", swap("- **D** both", "- both"), "question-1: not of this form"),
    ("questions", swap("**B** Right", "**B** Wrong"), "question-1: exactly"),
    ("questions", swap("**B** no, it", "**B** no, it really"), "question-1: the right o"),
    # sources
    ("claims", swap(PROOF, "[idea](#cell-id=idea)"), "claims: `an idea`"),
    ("claims_fit_their_proofs", swap(
        f"| an idea | {PROOF} |",
        f"| an idea | [one-screen-proof](#cell-id=one-screen-proof) |\n| one screen | {PROOF} |"),
     "claims: `an idea` and `one screen` could"),
    ("sources", swap("abs/1706.03762", "abs/1234.56789"), "references: https://arxiv"),
    ("sources", words("As Nobody et al. (1999) say."), "new: Nobody 1999 is not in the cell"),
    ("every_source_is_cited", swap("abs/1706.03762", "abs/0"), "vaswani2017: no lesson cites"),
    ("symbols", swap("`num_heads`", "num_heads", place="00"), "symbols: `$h$` is not of this"),
    ("symbols", swap("`num_heads`", "`heads_there`", place="00"), "`heads_there` does not occur"),
]


@pytest.fixture
def tables(monkeypatch):
    """What stands beside the tiny notebooks."""
    monkeypatch.setattr(numbers, "table", lambda: tiny.NUMBERS)
    monkeypatch.setattr(outputs, "CLAIMS", {"02-weights": [["a", "b", 0.25]]})
    for module in notebook, outputs:
        monkeypatch.setattr(module, "alt_of", lambda number: tiny.ALT if number == "02" else {})


@pytest.mark.parametrize("rule", RULES)
def test_tiny_notebooks_keep(rule, tables):
    elsewhere = {"every_exercise_is_used", "every_source_is_cited"}  # most are other notebooks'
    assert rule in elsewhere or RULES[rule](tiny.NOTEBOOKS) == []


@pytest.mark.parametrize("rule, notebooks, complaint", BAD)
def test_rule_rejects(rule, notebooks, complaint, tables):
    complaints = RULES[rule](notebooks())
    assert any(complaint in each for each in complaints), complaints


def test_every_rule_was_seen_to_reject():
    assert {rule for rule, *_ in BAD} == set(RULES)
