"""Every rule accepts two tiny lessons, and rejects them with one thing changed."""
import pytest
from rules import RULES, exercises, numbers, outputs, sources
from tiny_lessons import (GOOD, LESSON, NAMES, add, code, lessons, prints, shows,
                          stored, swap, words)

ERROR = [{"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}]
WIDE = "1 + " * 20 + "1"
PROOF = "[proof](#cell-id=proof)"
X = "| $X$ | `X` | (3, 4) | 02 |"
BAD = [  # rule, what is changed, words of the complaint: cell, what is wrong
    # layout
    ("slug_ids", stored("aside", id="proof"), "proof: two cells"),
    ("known_tags", swap("idea core", "idea core idea"), "idea: unknown tags ['idea']"),
    ("fixed_cells", swap("%% md exit core exit\nWhat now?", ""), "exit: this cell is missing"),
    ("fixed_cells", swap("%% md exercises", "%% md exit core\n\n%% md exercises"), "order"),
    ("title_form", swap("**Afterwards you can** tell", "You can tell"), "title: write"),
    ("fits_a_class", swap("3 minutes", "9 minutes", -1), "the core takes 50 minutes"),
    ("one_screen", swap("- Three\n", ""), "one-screen: a formula"),
    ("one_screen", swap("**Cost.** Nothing.", "It costs nothing."), "one-screen: a formula"),
    ("folded", swap("core setup folded", "core setup"), "setup: its source"),
    ("stored_by_the_tools", stored("ones", metadata={"tags": ["core", "predict"]}), "ones: f"),
    ("headings", swap("## A claim", "# A claim"), "idea: `A claim` is of the first"),
    ("deeper_is_marked", add("%% md new deeper\n## More"), "new: `· deeper` is missing"),
    # words
    ("short_words", words("word " * 91), "new: 91 words"),
    ("plain_words", swap("Few words", "Simply words"), "idea: `Simply`"),
    ("no_pictures_in_words", words("![a picture](https://a.b/c.png)"), "new: a picture"),
    ("links_lead_somewhere", swap("01_attention_pooling.ipynb", "01.ipynb"), "idea: 01.ipynb"),
    ("links_lead_somewhere", words("[masks](../d2l_ext/masks.py)"), "new: ../d2l_ext"),
    # code
    ("plain_python", code("%matplotlib inline"), "new: not Python"),
    ("fits_the_screen", code("\n".join(["x = 1"] * 16)), "new: 16 lines"),
    ("no_padding", code("for x in (1, 2):\n    print(f'{x:.1f} {x:8.2f}')"), "new: `:8.2f` pads"),
    ("core_runs_alone", swap("assert extra", "assert total"), "proof: `total` comes from"),
    ("core_runs_alone", swap("def total", "X = X + 1\ndef total"), "proof: `X` comes from"),
    ("core_runs_alone", add("%% code a deeper\ni = 1\n\n%% code new core\ni += 1"), "new: `i`"),
    ("proofs_stand_apart", swap("# @title Proof: the numbers", "# The numbers"), "proof: no title"),
    ("frameworks_are_tagged", code("%%framework jax\nx = 1"), "new: tagged [], not ['needs-jax']"),
    ("same_setup", swap("Colab, Kaggle", "elsewhere"), "setup: not the set-up"),
    ("offline", code("import requests"), "new: `requests`"),
    ("no_machine_paths", words("See /home/me/notes."), "new: `/home/`"),
    ("no_machine_paths", stored("aside", outputs=prints(f"{sources.ROOT}/images")), "aside: `/"),
    ("ones_once", swap("code ones core predict", "code ones core"), "ones: `torch.ones(2, 4)`"),
    ("sentence", lessons(GOOD.replace("0., 3.]", "0., 2.]")), "sentence: missing"),
    # outputs
    ("run_in_order", stored("proof", execution_count=None), "proof: its number is None"),
    ("clean_outputs", stored("aside", outputs=ERROR), "aside: it raises"),
    ("clean_outputs", stored("aside", outputs=prints("oh", name="stderr")), "aside: it writes"),
    ("small_outputs", stored("aside", outputs=prints("x" * 400 * 1024)), "aside: the largest"),
    ("picture_cells", swap('block")', 'block")\nX = 1'), "picture-block: tag and code"),
    ("alt_text", stored("sentence", outputs=shows("iVBORw0KGgo=", "image/png")), "sentence: a"),
    ("figures_have_words", swap('name="02-sentence"', 'name="02-x"'), "sentence: a figure"),
    ("predictions", swap("**Predict** how they look.", "They are ones."), "ones: the cell before"),
    ("predictions", swap("**Predict** what", "See what"), "explorer: the cell before"),
    ("explorers", swap("code explorer core explorer", "code explorer core"), "explorer: there"),
    ("few_exemptions", code("'NBVAL_IGNORE_OUTPUT because'"), "new: no reason"),
    # numbers
    ("numbers_have_sources", words("In 9 of 12 cases."), "new: without a source: {'9': 1, '12'"),
    ("numbers_have_sources", swap("up to 7 | [", "up to 8 | ["), "{'8': 1}; listed, but not said"),
    ("numbers_have_sources", lessons(GOOD.replace("up to 7\n", "up\n").replace("== 7", "> 6")),
     "claims: proof shows no 7"),
    # exercises
    ("exercise_cells", swap("code answer-mixed-up", "code mine"), "solution-mixed-up: not"),
    ("exercise_cells", swap("md pencil-page", "md page"), "pencil: not one of three"),
    ("exercise_kinds", swap("## Break: try", "## Mend: try"), "exercise-mixed-up: not a heading"),
    ("every_exercise_is_used", swap("split-heads", "four-heads", -1), "split-heads: no notebook"),
    ("written_from_scratch", swap("multi-head-class", "multi-head", -1), "exercises: 0 here"),
    ("folded_answers", swap("<details>That.</details>", "That."), "recall: not"),
    ("questions", swap("- **D** D thing\n", ""), "question-1: not of this form"),
    ("questions", swap("Right: it is", "It is"), "question-1: exactly"),
    # sources
    ("claims", swap(PROOF, "[idea](#cell-id=idea)"), "claims: `the numbers"),
    ("claims", swap(PROOF, "[proof](#cell-id=sum)"), "claims: `the numbers"),
    ("sources", swap("abs/1706.03762", "abs/1234.56789"), "references: https://arxiv"),
    ("every_source_is_cited", swap("abs/1706.03762", "abs/1"), "vaswani2017: nothing"),
    ("what_is_taught_is_shown", swap("d2l_ext.square(3)", "9"), "one-screen-proof: no assert"),
    ("symbols", swap(X, "| $X$ | `X` | (3, 4) |"), "symbols: `$X$` is not of this form"),
    ("symbols", swap(X, "| $X$ | X | (3, 4) | 02 |"), "symbols: `$X$` is not of this form"),
]


@pytest.fixture(autouse=True)
def tiny_world(tmp_path, monkeypatch):
    """What the rules compare notebooks with: as little as the tiny lessons have."""
    (tmp_path / "lesson_02").mkdir()
    alt = tmp_path / "lesson_02/alt.toml"
    alt.write_text('sentence = "Three tokens and their numbers"', "utf-8")
    names = {*NAMES, "pencil", "multi-head-class"}
    few = {name: each for name, each in exercises.all_exercises().items() if name in names}
    own = {"name": "square", "notebook": LESSON, "cell": "one-screen-code",
           "proof": "one-screen-proof"}
    entries = {"vaswani2017": ("Vaswani", "2017", "https://arxiv.org/abs/1706.03762"),
               "gers2000": ("Gers", "2000", "https://doi.org/10.1162/089976600300015015")}
    monkeypatch.setattr(outputs, "LESSONS", tmp_path)
    said = {"one-screen": [("said above", ["two", "three"])], "claims": [("proof", ["7"])],
            "alt/sentence": [("its rows", ["three"])]}
    listed = {("02", cell): rows for cell, rows in said.items()}
    monkeypatch.setattr(numbers, "sources", lambda: listed)
    monkeypatch.setattr(exercises, "all_exercises", lambda: few)
    monkeypatch.setattr(sources, "shown", lambda: [own])
    monkeypatch.setattr(sources.d2l_ext, "__all__", ["square"])
    monkeypatch.setattr(sources, "references", lambda: entries)
    monkeypatch.setattr(sources, "docstrings", lambda: {"sequence.py": "Gers et al. 2000"})


@pytest.mark.parametrize("rule", RULES)
def test_rule_accepts_good_notebooks(rule):
    assert RULES[rule](lessons()) == []


@pytest.mark.parametrize("rule, notebooks, complaint", BAD)
def test_rule_rejects_bad_ones(rule, notebooks, complaint):
    complaints = RULES[rule](notebooks)
    assert any(complaint in each for each in complaints), complaints


def test_every_rule_was_seen_to_reject():
    assert {rule for rule, *_ in BAD} == set(RULES)


def test_what_the_package_has_is_compared_as_well(monkeypatch):
    monkeypatch.setattr(sources, "docstrings", lambda: {"masks.py": "Nobody et al. 1999"})
    assert "masks.py, docstring: Nobody 1999" in RULES["every_source_is_cited"](lessons())[-1]
    monkeypatch.setattr(sources.d2l_ext, "__all__", ["square", "window"])
    assert "window: no lesson" in RULES["what_is_taught_is_shown"](lessons())[0]
